"""Models as raters: what a judge is called, and how far it keeps to what it said when the order is turned."""

from collections import Counter
from typing import Any

from analysis.models import Run
from surveys.models import Annotation, Study
from surveys.study_files.kinds import SIDES


def rater_of(run: Run) -> str:
    """A judge's name among raters: its endpoint, its instruction, and the temperature where it is not 0."""
    warm = f" t={run.temperature:g}" if run.temperature else ""
    return f"{run.endpoint.name} {run.instruction}{warm}"


# --- the order shown --------------------------------------------------------


def position_bias(study: Study, judge: str) -> dict[str, Any]:
    """Of the things that this judge saw in both orders: how often the same side won, whatever stood there.

    Returns {"pairs", "consistent", "left", "right"}: shares of the pairs in which the two orders agree about the
    response, and in which the label favours the left, or the right, both times. Null shares where there are no pairs.
    """
    rows = Annotation.objects.filter(item__study=study, judge=judge, state=Annotation.State.GIVEN).exclude(left="")
    newest: dict[tuple[int, str], dict[str, str]] = {}
    for item, left, labels in rows.order_by("revision").values_list("item", "left", "labels"):
        newest[item, left] = labels
    counts: Counter[str] = Counter()
    for item, left in newest:
        if left == SIDES[0] and (item, SIDES[1]) in newest:
            other = newest[item, SIDES[1]]
            counts.update(
                compare_orders(newest[item, left][name], other[name]) for name in newest[item, left] if name in other
            )
    pairs = counts.total()
    return {"pairs": pairs} | {
        name: counts[name] / pairs if pairs else None for name in ("consistent", "left", "right")
    }


def compare_orders(first: str, second: str) -> str:
    """Two labels from 1 (left) to 5 (right): the same response both times, or the same side."""
    one, two = int(first) - 3, int(second) - 3
    if one * two > 0:
        return "left" if one < 0 else "right"
    return "consistent" if one * two < 0 or one == two == 0 else "mixed"
