"""Ratings of personalised responses as a page shows them: by writer, by rater, and models in both roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.agreement.tables import Line, Number, aside, read_estimate

Shape = Mapping[str, Any]


@dataclass(frozen=True)
class RatingTables:
    """`answer`: the numbers in a sentence or two; `mentions`: how was told what names the attribute."""

    answer: str
    mentions: str
    units: str
    drawn: int
    generators: list[Line]
    raters: list[Line]
    habits: list[Line]
    habit: Number
    names: list[str]  # of the raters whose gap each generator's line has
    gaps: list[Line]


def make_ratings(question: Shape) -> RatingTables | None:
    """Nothing for questions without two responses side by side."""
    found = question.get("ratings")
    if not found:
        return None
    names = [rater["rater"] for rater in found["raters"]]
    return RatingTables(
        say_ratings(found),
        say_mentions(found["mentions"]),
        found["drawn"],
        found["units"],
        [make_generator(row) for row in found["generators"]],
        [make_rater(row) for row in found["raters"]],
        [make_habit(row) for row in found["habits"]["models"]],
        read_estimate(found["habits"]["spearman"]),
        names,
        [make_gaps(row, names) for row in found["generators"]] if len(found["generators"]) > 1 else [],
    )


def make_generator(row: Shape) -> Line:
    numbers = [
        read_estimate(row["mean"]),
        read_estimate(row["no_better"], True),
        read_estimate(row["mention_rate"], True),
    ]
    return Line(row["generator"] or "no model named", numbers, f"{row['n']:,}")


def make_rater(row: Shape) -> Line:
    ranks = read_estimate(row["spearman"]) if "spearman" in row else Number(None, why="judges are compared with people")
    numbers = [read_estimate(row["mean"]), read_estimate(row["no_better"], True), ranks, read_estimate(row["gap"])]
    return Line(row["rater"], numbers, f"{row['n']:,}")


def make_habit(row: Shape) -> Line:
    return Line(row["rater"], [read_estimate(row["mention_rate"], True), read_estimate(row["gap"])])


def make_gaps(row: Shape, names: Sequence[str]) -> Line:
    missing = Number(None, why="no rating")
    numbers = [read_estimate(row["gaps"][name]) if name in row["gaps"] else missing for name in names]
    return Line(row["generator"] or "no model named", numbers)


def say_ratings(found: Shape) -> str:
    """Whether personalised responses are worth more than generic ones, and whether judges see it as people do."""
    first = found["raters"][0]
    mean, low = read_estimate(first["mean"]), read_estimate(first["no_better"], True)
    who = "Judges" if first["is_model"] else "People"
    answer = f"{who} find the personalised response no better than the generic one in {low.text} of ratings{aside(low)}"
    return f"{answer}; the mean rating is {mean.text}{aside(mean)}."


def say_mentions(counts: Shape) -> str:
    decided = counts["named"] + counts["not_named"]
    told = f"{counts['given']:,} by the items’ own word, all others by rule {counts['rule']}"
    said = f"Responses that name the attribute they are rated for: {counts['named']:,} of {decided:,} ({told})."
    return f"{said} Of {counts['undecided']:,} it cannot be told; they are in no gap." if counts["undecided"] else said
