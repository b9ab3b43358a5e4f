"""The multiverse in a bundle: a row for each universe of a hypothesis, and what they say together."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.charts.figure import Row
from analysis.exports.codebook import ExportTable, boolean, integer, number, text
from analysis.report.multiverse.choices import CHOICES
from analysis.report.multiverse.curve import say_curve, taken_in
from analysis.report.multiverse.kept import find_multiverse, is_whole
from analysis.report.multiverse.universes import changed_in, curves_of
from surveys.models import Study

OF_ROWS = ("planned", "rows", "alone")  # of a curve what stands in the table
UNIVERSES = ExportTable(
    "multiverse",
    "one hypothesis in one universe, or one of its prompts where they are not pooled",
    (
        text("hypothesis", "the hypothesis in the study file"),
        text("prompts", "the prompts that it is about, with commas"),
        integer("universe", "its number; 1 is as planned, then come those with one choice otherwise"),
        *(text(name, f"{each.label}: the option taken; empty where nothing varies") for name, each in CHOICES.items()),
        number("value", "the estimate, a minus b, or a alone: a share, or bits of entropy_bits and jsd_excess"),
        number("low", "lower end of its 95 % interval"),
        number("high", "upper end of its 95 % interval"),
        number("p", "of this universe alone, not corrected"),
        integer("n_a", "independent units of a"),
        integer("n_b", "independent units of b"),
        boolean("same_sign", "whether the estimate has the sign of the planned one; empty where one of them has none"),
        boolean("significant", "whether p is at most the hypothesis' alpha"),
        boolean("simulated", "whether answers of it are made up"),
    ),
)


def whole_multiverse(study: Study) -> dict[str, Any] | None:
    """That of today's answers, which are the bundle's; None where it is not all computed."""
    found, is_today = find_multiverse(study)
    return found if found and is_today and is_whole(found) else None


def universe_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    for entry in document["hypotheses"]:
        planned = {tuple(row["prompts"]): row["value"] for row in entry["rows"] if not changed_in(entry, row)}
        for row in entry["rows"]:
            value, way = row["value"], planned[tuple(row["prompts"])]
            low, high = row["ci"] or (None, None)
            yield {
                "hypothesis": entry["hypothesis"],
                "prompts": ",".join(row["prompts"]),
                "universe": entry["universes"].index(row["options"]) + 1,
                **dict.fromkeys(CHOICES, ""),
                **taken_in(entry, row),
                **{"value": value, "low": low, "high": high},
                **{name: row[name] for name in ("p", "n_a", "n_b")},
                "same_sign": value * way > 0 if value is not None and way else None,
                "significant": row["p"] <= entry["alpha"] if row["p"] is not None else None,
                "simulated": row["simulated"],
            }


def said_together(document: Mapping[str, Any]) -> Row:
    """As it stands in the bundle's report."""
    curves = [{name: curve[name] for name in curve if name not in OF_ROWS} for curve in curves_of(document)]
    return {"seed": document["seed"], "draws": document["draws"], "curves": curves}


def multiverse_lines(report: Mapping[str, Any]) -> str:
    """What the README says of it, if it is computed."""
    curves = report.get("multiverse", {}).get("curves", ())
    lines = [f"- `{curve['hypothesis']}` ({', '.join(curve['prompts'])}): {say_curve(curve)}" for curve in curves]
    return "\n".join(["## Multiverse", "", *lines, "", ABOUT, ""]) if lines else ""


ABOUT = """\
Each hypothesis was tested under every combination of choices that could have been made otherwise. Universes share
answers, so neither share is a p. `data/multiverse.csv` has a row for each, `report.json` under `multiverse` what they
say together; `recompute.py` takes the shares, the median and the extremes anew from the rows, and holds the universe
as planned against `as_planned`. Estimates of the other universes are not recomputed."""
