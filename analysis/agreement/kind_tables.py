"""Tables that only some kinds of annotation have: ratings, Maybe read four ways, sides, and published values."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from analysis.agreement.tables import (
    OF_PARTS,
    Number,
    NumberColumn,
    NumberLine,
    NumberTable,
    aside,
    coefficient,
    labels_of,
    mean,
    read_estimate,
    read_estimates,
    share_in,
)

Shape = Mapping[str, Any]
MEAN = NumberColumn("mean", "Mean rating")
NO_BETTER = NumberColumn("no_better", "No better than generic", is_share=True)
OF_WRITERS = (MEAN, NO_BETTER, NumberColumn("mention_rate", "Name the attribute", is_share=True))
OF_RATERS = (MEAN, NO_BETTER, NumberColumn("spearman", "ρ with people"), NumberColumn("gap", "Gap"))
OF_BOTH = (
    NumberColumn("mention_rate", "Names the attribute, as a writer", is_share=True),
    NumberColumn("gap", "Gap, as a judge"),
)
UNNAMED = "no model named"
# What stands where a row has no such number.
MISSING = {"spearman": {"value": None, "ci": None, "n": None, "why": "judges are compared with people"}}

VIEWS = {
    "nominal": "Three labels",
    "ordinal": "Three labels in order",
    "maybe_is_no": "Maybe counts as no",
    "maybe_is_yes": "Maybe counts as yes",
}


# Ratings of personalised responses: by writer, by rater, and models in both roles --------------------------


@dataclass(frozen=True)
class RatingTables:
    """`answer`: the numbers in a sentence or two; `mentions`: how was told what names the attribute."""

    answer: str
    mentions: str
    units: str
    drawn: int
    generators: NumberTable
    raters: NumberTable
    habits: NumberTable | None
    habit: Number
    gaps: NumberTable | None  # where several models wrote: of each the gap of each rater


def make_ratings(question: Shape) -> RatingTables | None:
    """Nothing for questions without two responses side by side."""
    found = question.get("ratings")
    if not found:
        return None
    writers, raters, both = found["generators"], found["raters"], found["habits"]["models"]
    return RatingTables(
        answer=_say_ratings(found),
        mentions=_say_mentions(found["mentions"]),
        units=found["drawn"],
        drawn=found["units"],
        generators=NumberTable(
            first="Model",
            heads=labels_of(OF_WRITERS),
            lines=[
                NumberLine(row["generator"] or UNNAMED, read_estimates(row, OF_WRITERS), f"{row['n']:,}")
                for row in writers
            ],
            last="Ratings",
            caption="By the model that wrote the response",
        ),
        raters=NumberTable(
            first="Rater",
            heads=labels_of(OF_RATERS),
            lines=[
                NumberLine(row["rater"], read_estimates(MISSING | row, OF_RATERS), f"{row['n']:,}") for row in raters
            ],
            last="Ratings",
            caption="Judges beside people",
            is_broad=True,
        ),
        habits=_table("Judge", labels_of(OF_BOTH), [(row["rater"], read_estimates(row, OF_BOTH)) for row in both]),
        habit=read_estimate(found["habits"]["spearman"]),
        gaps=_gaps(writers, [row["rater"] for row in raters]) if len(writers) > 1 else None,
    )


def _table(first: str, heads: Sequence[str], rows: Sequence[tuple[str, list[Number]]]) -> NumberTable | None:
    return NumberTable(first, heads, [NumberLine(*row) for row in rows]) if rows else None


def _gaps(writers: Sequence[Shape], raters: Sequence[str]) -> NumberTable:
    missing = Number(None, why="no rating")
    lines = [
        NumberLine(
            row["generator"] or UNNAMED,
            [read_estimate(row["gaps"][rater]) if rater in row["gaps"] else missing for rater in raters],
        )
        for row in writers
    ]
    return NumberTable("Model", raters, lines, is_broad=True)


def _say_ratings(found: Shape) -> str:
    """Whether personalised responses are worth more than generic ones, and whether judges see it as people do."""
    first = found["raters"][0]
    average, low = read_estimates(first, (MEAN, NO_BETTER))
    who = "Judges" if first["is_model"] else "People"
    answer = f"{who} find the personalised response no better than the generic one in {low.text} of ratings{aside(low)}"
    return f"{answer}; the mean rating is {average.text}{aside(average)}."


def _say_mentions(counts: Shape) -> str:
    decided = counts["named"] + counts["not_named"]
    told = f"{counts['given']:,} by the items’ own word, all others by rule {counts['rule']}"
    said = f"Responses that name the attribute they are rated for: {counts['named']:,} of {decided:,} ({told})."
    return f"{said} Of {counts['undecided']:,} it cannot be told; they are in no gap." if counts["undecided"] else said


# Maybe, and sides ------------------------------------------------------------------------------------------


def make_maybe(question: Shape) -> NumberTable | None:
    """What depends on how Maybe is read; nothing for questions without it."""
    views = question.get("maybe", {})
    lines = [NumberLine(label, read_estimates(views[name], OF_PARTS)) for name, label in VIEWS.items() if name in views]
    return NumberTable("Maybe read as", labels_of(OF_PARTS), lines, is_broad=True) if lines else None


def make_sides(question: Shape) -> NumberTable | None:
    """How often what stands on the left is preferred, of all and of each rater; nothing for kinds without sides."""
    found = question.get("sides", {}).get("left", {})
    lines = [
        NumberLine("All raters" if name == "all" else name, [read_estimate(each, is_share=True)], str(each["n"]))
        for name, each in sorted(found.items(), key=lambda entry: (entry[0] != "all", entry[0]))
    ]
    return NumberTable("Rater", ["Share for the left"], lines, "Preferences") if lines else None


# Beside what was published ---------------------------------------------------------------------------------


class Published(NamedTuple):
    """`where` in the paper a value stands, and of which raters which number of ours it is beside.

    A group with a colon is found by a part of a name: `rater:bm25`.
    """

    name: str
    value: float
    where: str
    group: str
    measure: str
    pilot: bool = False


# By kind of annotation, for its first question.
PUBLISHED: dict[str, tuple[Published, ...]] = {
    kind: tuple(Published(**row) for row in rows)
    for kind, rows in tomllib.loads(Path(__file__).with_name("published.toml").read_text()).items()
}
SHARES = ("share:", "no_better", "mention_rate")
NOT_THERE = "not among the raters"


def compare_published(kind: str, question: Shape, pilot: bool) -> list[NumberLine]:
    """Published beside ours, with where it stands; nothing for kinds of which nothing is published."""
    rows = PUBLISHED.get(kind, ()) if question["labels"] else ()
    of_pilot = pilot and any(row.pilot for row in rows)
    return [
        NumberLine(
            row.name,
            [
                Number(row.value, is_share=row.measure.startswith(SHARES), digits=3),
                _ours(question, row.group, row.measure),
            ],
            row.where,
        )
        for row in rows
        if row.pilot == of_pilot
    ]


def _ours(question: Shape, group: str, measure: str) -> Number:
    kind, _, name = group.partition(":")
    if kind in _NAMED:
        return _NAMED[kind](question, name, measure)
    groups = question["groups"]
    found = groups[group if "n" in groups.get("humans", {}) else "all" if group == "humans" else group]
    if not measure.startswith("share:"):
        return mean(found, measure)
    if "n" not in found:
        return coefficient(found, "raw")
    return share_in(found, measure.removeprefix("share:"))


def _rater_score(question: Shape, name: str, measure: str) -> Number:
    for rater in question["raters"]:
        if rater["is_model"] and name in rater["rater"].lower():
            return Number(rater[measure], rater["ci"].get(measure), rater["compared"])
    return Number(None, why=NOT_THERE)


def _rating(part: str, key: str) -> Callable[[Shape, str, str], Number]:
    """The number of the first one with this in its name."""

    def find(question: Shape, name: str, measure: str) -> Number:
        for row in question.get("ratings", {}).get(part, ()):
            if name in row[key].lower() and measure in row:
                return read_estimate(row[measure], is_share=measure.startswith(SHARES))
        return Number(None, why=NOT_THERE)

    return find


# How a group that is known by a part of a name is found.
_NAMED: dict[str, Callable[[Shape, str, str], Number]] = {
    "rater": _rater_score,
    "rated by": _rating("raters", "rater"),
    "written by": _rating("generators", "generator"),
}
