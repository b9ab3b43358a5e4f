"""Every number of agreement as a row of its own: what it is about, whose, which measure, and how sure it is."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

WHOSE = ("group", "a", "b", "generator", "rater", "judge", "model", "relevant_by", "corpus", "user", "tag", "statement")
BY_LABEL = ("shares", "gaps", "left")  # what holds an estimate for each label, or each rater


class Number(NamedTuple):
    """`part`: the place in the published JSON that it stands in; `other`: of a pair the second one."""

    question: str
    part: str
    who: str
    other: str
    measure: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    units: int
    unit: str
    why: str


class NumberPlace(NamedTuple):
    part: tuple[str, ...] = ()
    who: str = ""
    other: str = ""
    measure: tuple[str, ...] = ()
    unit: str = ""


def list_numbers(question: Mapping[str, Any]) -> Iterator[Number]:
    """Those of one question, in the order in which it holds them."""
    for place, found in find_estimates(question, NumberPlace(unit=question.get("unit", ""))):
        *names, last = place.measure
        measure, label = (names, last) if names and names[-1] in BY_LABEL else ([*names, last], "")
        low, high = found["ci"] or (None, None)
        about = question["question"], ".".join(place.part), place.who, place.other, ".".join(measure), label
        sizes = found["n"], found["units"], place.unit, found.get("why", "")
        yield Number(*about, found["value"], low, high, *sizes)


def find_estimates(node: Mapping[str, Any], place: NumberPlace) -> Iterator[tuple[NumberPlace, Mapping[str, Any]]]:
    """Rows of a list say whose they are; what else has a name is a part until there is somebody, then a measure."""
    if "value" in node and "ci" in node:
        yield place, node
        return
    names = [str(node[name]) for name in WHOSE if isinstance(node.get(name), str)]
    if place.part and names:
        place = place._replace(who=names[0], other=names[1] if len(names) > 1 else "")
    place = place._replace(unit=node.get("unit", place.unit))
    for name, each in node.items():
        for entry in each if isinstance(each, list) else [each]:
            if isinstance(entry, Mapping):
                is_measure = not isinstance(each, list) and (place.who or "value" in entry or name in BY_LABEL)
                measured = place._replace(measure=(*place.measure, name))
                inner = measured if is_measure else place._replace(part=(*place.part, name))
                yield from find_estimates(entry, inner)
