"""A plan for registries: texts for OSF and AsPredicted, and a PDF with the simulations."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typst
from django.template.loader import render_to_string

from analysis.plans.kept import find_frozen, say_simulated
from analysis.plans.simulating import alphas_of
from analysis.plans.texts import costs_lines, curves_of, looks_lines, opening_of, smallest_lines, tables_of
from analysis.report.planned.part import LABELS
from analysis.report.planned.verdicts import say_alphas, say_wanted, unit_of, unit_word
from surveys.models import Participant, Study
from surveys.studies.access import Role
from surveys.studies.exclusions import rules_of
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys
from surveys.studies.keeping import MADE_UP
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import join_words, percent, plural

TESTS = (
    "Each hypothesis is tested once, two-sided, as docs/methods.md of Field Study defines: shares by all splits of the "
    "answers into both sides, with Newcombe’s interval; means over prompts by leaving out each person; distances by "
    "splitting people anew; the person’s share by giving second answers to other people; unlikeness to everybody else "
    "by a regression that leaves out each person. Intervals hold 95 %."
)
VERDICTS = (
    "Supported: the corrected p is at most alpha, the difference is on the planned side and its interval reaches the "
    "smallest difference that matters. Equal: both one-sided tests against the bounds pass. Else not told apart, "
    "contradicted, or there but too small to matter."
)


def say_hypothesis(definition: Definition, hypothesis: Hypothesis) -> str:
    row = {"measure": hypothesis.measure, "expected": hypothesis.expected, "smallest": hypothesis.smallest}
    sides = " minus ".join(filter(None, (hypothesis.a, hypothesis.b)))
    of = f" of {hypothesis.item or hypothesis.letter}" if hypothesis.item or hypothesis.letter else ""
    asked = definition.asked_by(hypothesis)
    over = "mean over" if hypothesis.pooled and len(asked) > 1 else "each of" if len(asked) > 1 else "prompt"
    return (
        f"{hypothesis.slug}: {hypothesis.text} Measure: {hypothesis.measure}{of}, {sides}, {over} {join_words(asked)}; "
        f"expected: {say_wanted(row)}. Family {hypothesis.family}."
    )


def say_manipulated(definition: Definition) -> str:
    """Write arms and variants; empty if people use their own chatbot as it is."""
    arms = [f"state of the account: {arm.name} ({join_words(arm.prompts)})" for arm in definition.arms]
    variants = [
        f"{prompt.slug} as a variant of {prompt.variant_of}" for prompt in definition.prompts if prompt.variant_of
    ]
    return join_words([*arms, *variants])


def say_asked(definition: Definition) -> str:
    """Write the prompts of a person, and their order."""
    repeats, matrix = definition.repeats, definition.matrix
    found = [f"Everybody is asked every prompt, in an order by the scheme “{definition.order_scheme}”."]
    found += [
        f"In another state of the account, {arm.name}, everybody is asked {join_words(arm.prompts)} once more."
        for arm in definition.arms
    ]
    if repeats:
        found.append(f"{percent(repeats.people)} of people are asked twice: {join_words(repeats.prompts)}.")
    if matrix:
        found.append(
            f"Everybody is asked {matrix.each} of the {plural(len(matrix.questions), 'question')} of {matrix.set}."
        )
    return " ".join(found)


def say_drawn(definition: Definition) -> str:
    found = [
        f"The order of prompts is drawn by the scheme “{definition.order_scheme}” for the person’s place in a cell."
    ]
    if definition.repeats:
        found.append("So is who is asked something again, and when.")
    elif definition.arms:
        found.append("So is when something is asked again.")
    if definition.matrix:
        found.append("Questions are drawn so that each is asked equally often, and stand at random places.")
    return " ".join(found)


def say_blinding(study: Study) -> str:
    blinded = study.memberships.filter(role=Role.BLINDED).count()
    if not blinded:
        return "No blinding is involved."
    whom = plural(blinded, "member of the team", "members of the team")
    if study.unblinded_at:
        return f"Comparisons were hidden from {whom} until an owner lifted the blinding, {study.unblinded_at:%Y-%m-%d}."
    return f"Comparisons are hidden from {whom} until an owner lifts the blinding."


def say_measure(hypothesis: Hypothesis) -> str:
    words = LABELS[hypothesis.measure].format(of=hypothesis.item or hypothesis.letter)
    return f"{hypothesis.measure}: {words} ({'bits' if unit_of(hypothesis.measure) == 'bits' else 'shares in points'})."


def say_index(definition: Definition, hypothesis: Hypothesis) -> str:
    asked = definition.asked_by(hypothesis)
    if len(asked) == 1:
        return f"{hypothesis.slug}: one prompt, no index."
    how = "the mean over" if hypothesis.pooled else "each by itself of"
    return f"{hypothesis.slug}: {how} {plural(len(asked), 'prompt')}."


def answers_of(study: Study) -> dict[str, str]:
    """Answers to OSF's questions, from the study file and the study's state. The study must have a definition."""
    assert study.current is not None
    definition = definition_of(study.current.pk)
    plan = definition.plan or PlanKeys()
    cells = [f"{name}, {cell.name}: {cell.places}" for _, name in definition.branches for cell in definition.cells]
    exclusions = [f"{rule.text} ({rule.words})" for rule in rules_of(study)]
    piloted = study.participants.filter(pilot=True, state=Participant.State.COMPLETED)
    pilot, manipulated = piloted.exclude(origin__in=MADE_UP).count(), say_manipulated(definition)
    alphas = say_alphas(alphas_of(definition.hypotheses, definition))
    looks = f"Looks at {join_words([str(at) for at in plan.looks])} people" if plan.looks else "No look before the end"
    return {
        "Title": definition.title,
        "Description": f"People copy {plural(len(definition.prompts), 'prompt')} into their own chatbot and give its "
        f"answers; models are asked the same. Study file {study.slug}, version {study.current.number}, sha256 "
        f"{study.current.sha256}.",
        "Hypotheses": "\n".join(say_hypothesis(definition, each) for each in definition.hypotheses),
        "Study type": "Experiment within people: everybody is asked in each of the states and wordings that are "
        "manipulated, with the chatbot that they have."
        if manipulated
        else "Observational study: people use the chatbot that they have.",
        "Blinding": say_blinding(study),
        "Study design": f"Quota cells: {'; '.join(cells)}. {say_asked(definition)}",
        "Randomization": say_drawn(definition),
        "Existing data": "Registration before the collection of data."
        if not study.is_launched
        else "The study is launched; the plan was frozen at its launch.",
        "Explanation of existing data": f"{plural(pilot, 'person', 'people')} completed a pilot, which is no part of "
        "the analysis."
        if pilot
        else "Nobody completed a pilot.",
        "Data collection procedures": f"People are recruited on Prolific and paid {definition.pay.currency} "
        f"{definition.pay.amount} for about {definition.minutes} minutes.",
        "Sample size": plural(definition.planned_people, "person", "people"),
        "Sample size rationale": "See the simulated plan: widths of intervals and chances by number of people.",
        "Stopping rule": f"Each cell closes when its places are filled. {looks}; looks spend alpha by the function of "
        "O’Brien and Fleming’s kind.",
        "Manipulated variables": f"{manipulated or 'None: people use the chatbot that they have, as they have it'}.",
        "Measured variables": "\n".join(dict.fromkeys(say_measure(each) for each in definition.hypotheses)),
        "Indices": "\n".join(say_index(definition, each) for each in definition.hypotheses),
        "Statistical models": TESTS,
        "Transformations": "Lists are read from the texts by rules, and people decide where these are in doubt; "
        "spellings of one item are joined. Entropy and distance are in bits. No other number is transformed.",
        "Inference criteria": f"{alphas.capitalize()}, corrected by Holm. {VERDICTS}",
        "Data exclusion": "\n".join(exclusions) or "Nobody who completed is left out.",
        "Missing data": "Answers in which nothing is found count in n. A person without an answer to a prompt counts "
        "in the other prompts.",
        "Exploratory analysis": "All other numbers of the report are headed “explored”.",
    }


def as_osf(study: Study) -> dict[str, Any]:
    """The answers for OSF, with the questions as its template spells them."""
    assert study.current is not None
    return {
        "template": "OSF Preregistration",
        "study": study.slug,
        "version_sha256": study.current.sha256,
        "frozen_at": study.launched_at.isoformat(timespec="seconds") if study.launched_at else None,
        "answers": answers_of(study),
    }


ASKED = (
    ("Have any data been collected for this study already?", ("Existing data",)),
    ("What's the main question being asked or hypothesis being tested?", ("Hypotheses",)),
    ("Describe the key dependent variable(s) specifying how they will be measured.", ("Measured variables",)),
    ("How many and which conditions will participants be assigned to?", ("Study design",)),
    ("Specify exactly which analyses you will conduct.", ("Statistical models", "Inference criteria")),
    ("Describe exactly how outliers will be defined and handled.", ("Data exclusion", "Missing data")),
    ("How many observations will be collected?", ("Sample size", "Stopping rule")),
    ("Anything else you would like to pre-register?", ("Exploratory analysis", "Description")),
)


def as_predicted(study: Study) -> str:
    return "\n".join(lines_of(answers_of(study)))


def lines_of(answers: dict[str, str]) -> Iterator[str]:
    yield f"AsPredicted: {answers['Title']}"
    for number, (question, names) in enumerate(ASKED, 1):
        yield ""
        yield f"{number}) {question}"
        yield from (answers[name] for name in names)


PAGE = Path(__file__).with_name("registration.typ")
# OSF's sections, with the questions that a study file answers.
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
# For a drawing in a file of its own; pages have the same in their style sheet.
STYLE = """
text { font-family: "DejaVu Sans"; font-size: 13px; fill: #595959; text-anchor: end }
text.size { text-anchor: middle } text.scenario { text-anchor: start }
text.thick { fill: #000; font-weight: bold } .level { stroke: #ccc } .planned { stroke: #1b5fc4; stroke-width: 2 }
polyline { fill: none; stroke: #595959; stroke-width: 1.8 } polyline.hopeful { stroke-dasharray: 2 4 }
polyline.cautious { stroke-dasharray: 6 4 } polyline.thick { stroke: #000; stroke-width: 2.6 }
.error { stroke: #595959 } circle { fill: #000 }
"""


def write_registration(study: Study, found: dict[str, Any] | None) -> bytes:
    """The PDF; the same plan gives the same bytes. `found`: the simulated plan, if any; after the launch only a frozen
    one counts.
    """
    source: Any = PAGE.read_bytes()
    return bytes(typst.compile(source, sys_inputs={"data": json.dumps(page_data(study, found))}, root=str(PAGE.parent)))


def page_data(study: Study, found: dict[str, Any] | None) -> dict[str, Any]:
    assert study.current is not None
    answers, simulated = answers_of(study), "Simulated"
    if kept := find_frozen(study):
        found, simulated = kept.value, say_simulated(kept)
    elif study.launched_at:
        found = None  # simulated too late to be a reason for what was decided
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
    """The page's drawing as a file of its own, with its styles."""
    page = render_to_string("plans/_curve.html", {"curve": curve})
    drawn = page[page.index("<svg") : page.rindex("</svg>") + len("</svg>")]
    whole = drawn.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" width="372" height="214"', 1)
    return whole.replace(">", f"><style>{STYLE}</style>", 1)
