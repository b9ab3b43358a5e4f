"""A plan as a registration on paper: what OSF's template asks, and what the simulation says, marked as such."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typst
from django.template.loader import render_to_string

from analysis.plans.curves import curves_of
from analysis.plans.kept import find_frozen
from analysis.plans.outputs.frozen import say_simulated
from analysis.plans.registries import answers_of
from analysis.plans.texts import costs_lines, looks_lines, opening_of, smallest_lines, tables_of
from analysis.report.planned.verdicts import unit_word
from surveys.console.wording import plural
from surveys.models import Study

PAGE = Path(__file__).with_name("registration.typ")
# OSF's sections with their questions; those that a study file does not answer are the researchers' own.
SECTIONS = {
    "Study information": ("Title", "Description", "Hypotheses"),
    "Design plan": ("Study type", "Blinding", "Study design", "Randomization"),
    "Sampling plan": (
        "Existing data",
        "Explanation of existing data",
        "Data collection procedures",
        "Sample size",
        "Sample size rationale",
        "Stopping rule",
    ),
    "Variables": ("Manipulated variables", "Measured variables", "Indices"),
    "Analysis plan": (
        "Statistical models",
        "Transformations",
        "Inference criteria",
        "Data exclusion",
        "Missing data",
        "Exploratory analysis",
    ),
}
HEADS = ("Scenario", "People", "n of a and b", "Interval, ±", "Told apart, alone", "Supported, with Holm", "95 % of it")
CELLS = ("scenario", "people", "n", "width", "told_apart", "supported", "between")
# Of a drawing by itself; its page takes the same from the style sheet.
STYLE = """
text { font-family: "DejaVu Sans"; font-size: 13px; fill: #595959; text-anchor: end }
text.size { text-anchor: middle } text.scenario { text-anchor: start }
text.thick { fill: #000; font-weight: bold } .level { stroke: #ccc } .planned { stroke: #1b5fc4; stroke-width: 2 }
polyline { fill: none; stroke: #595959; stroke-width: 1.8 } polyline.hopeful { stroke-dasharray: 2 4 }
polyline.cautious { stroke-dasharray: 6 4 } polyline.thick { stroke: #000; stroke-width: 2.6 }
.error { stroke: #595959 } circle { fill: #000 }
"""


def write_registration(study: Study, found: dict[str, Any] | None) -> bytes:
    """The bytes of the PDF, the same for the same plan. `found`: the plan as it was simulated, if it was; after the
    launch only one that is frozen counts.
    """
    source: Any = PAGE.read_bytes()
    return bytes(typst.compile(source, sys_inputs={"data": json.dumps(page_data(study, found))}, root=str(PAGE.parent)))


def page_data(study: Study, found: dict[str, Any] | None) -> dict[str, Any]:
    assert study.current is not None
    answers, simulated = answers_of(study), "Simulated"
    if kept := find_frozen(study):
        found, simulated = kept.value, say_simulated(kept)
    elif study.launched_at:
        found = None  # no reason for what was decided before
    if found:
        rationale = [opening_of(found), *smallest_lines(found), "The tables below have all that was simulated."]
        answers |= {"Sample size rationale": f"{simulated}. {' '.join(rationale)}"}
        answers["Stopping rule"] += "".join(f"\nSimulated: {line}" for line in looks_lines(found))
    frozen = f"frozen at the launch, {study.launched_at:%Y-%m-%d %H:%M} UTC" if study.launched_at else "not frozen yet"
    return {
        "title": answers["Title"],
        "footer": f"{study.slug} · version {study.current.number} · sha256 {study.current.sha256}",
        "frozen": f"Version {study.current.number}, {frozen}; sha256 {study.current.sha256}.",
        "sections": [[name, [[asked, answers[asked]] for asked in asks]] for name, asks in SECTIONS.items()],
        "simulated": simulated_data(found) if found else None,
    }


def simulated_data(found: dict[str, Any]) -> dict[str, Any]:
    told = (
        f"{plural(found['replicates'], 'study', 'studies')} for each number of people and scenario, seed "
        f"{found['seed']}; no answer behind these numbers is real."
    )
    return {
        "told": told,
        "costs": costs_lines(found),
        "scenarios": [[scenario["name"], scenario["words"]] for scenario in found["scenarios"]],
        "heads": HEADS,
        "hypotheses": [
            {
                "text": table["text"],
                "unit": unit_word(hypothesis["measure"]),
                "curves": [{"title": curve["title"], "svg": svg_of(curve), "alt": curve["alt"]} for curve in curves],
                "notes": table["notes"],
                "rows": [[row[name] for name in CELLS] for row in table["rows"]],
            }
            for hypothesis, table in zip(found["hypotheses"], tables_of(found), strict=True)
            for curves in [curves_of(found, hypothesis)]
        ],
    }


def svg_of(curve: Mapping[str, Any]) -> str:
    """The page's drawing with its own styles."""
    page = render_to_string("plans/_curve.html", {"curve": curve})
    drawn = page[page.index("<svg") : page.rindex("</svg>") + len("</svg>")]
    whole = drawn.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" width="372" height="214"', 1)
    return whole.replace(">", f"><style>{STYLE}</style>", 1)
