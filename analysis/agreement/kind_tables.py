"""Tables that only some kinds of annotation have: ratings, Maybe read four ways, sides, and published values."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from analysis.agreement.tables import (
    OF_PARTS,
    SCORES,
    VOTES,
    Number,
    NumberColumn,
    NumberLine,
    NumberTable,
    aside,
    coefficient,
    in_order,
    labels_of,
    mean,
    read_estimate,
    read_estimates,
    read_number,
    read_scores,
    share_in,
)
from surveys.studies.files.schema import AnnotationWork, is_worded_as_published

Shape = Mapping[str, Any]
MEAN = NumberColumn("mean", "Mean rating")
NO_BETTER = NumberColumn("no_better", "Ratings no better than generic", is_share=True)
LOW_MEANS = NumberColumn("no_better_means", "Responses whose mean is no better", is_share=True)
OF_WRITERS = (MEAN, LOW_MEANS, NO_BETTER, NumberColumn("mention_rate", "Name the attribute", is_share=True))
OF_RATERS = (MEAN, LOW_MEANS, NO_BETTER, NumberColumn("spearman", "ρ with people"), NumberColumn("gap", "Gap"))
OF_CONDITIONS = (MEAN, LOW_MEANS, NO_BETTER, NumberColumn("difference", "Mean minus people’s"))
OF_BOTH = (
    NumberColumn("mention_rate", "Names the attribute, as a writer", is_share=True),
    NumberColumn("gap", "Gap, as a judge"),
)
UNNAMED = "no model named"
# What stands where a row has no such number.
MISSING = {"spearman": {"value": None, "ci": None, "n": None, "why": "judges are compared with people"}}

OF_ORDERS = (
    NumberColumn("consistent", "Same response", is_share=True),
    NumberColumn("left", "Left twice", is_share=True),
    NumberColumn("right", "Right twice", is_share=True),
    NumberColumn("mixed", "A side once", is_share=True),
)
TOGETHER = "All who make the majority, each against the others"
VERIFIED = {
    "maybe_is_no": "Unsupported is positive; Maybe counts as unsupported",
    "maybe_is_yes": "Unsupported is positive; Maybe counts as supported",
}

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
    units: int
    drawn: str
    generators: NumberTable
    raters: NumberTable
    habits: NumberTable | None
    habit: Number
    conditions: NumberTable | None  # where models chose the attributes of some
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
        units=found["units"],
        drawn=found["drawn"],
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
        conditions=_conditions(found.get("conditions", ())),
        gaps=_gaps(writers, [row["rater"] for row in raters]) if len(writers) > 1 else None,
    )


def _conditions(rows: Sequence[Shape]) -> NumberTable | None:
    """The personalised arm by who called the attributes relevant that it was written with."""
    first = {"difference": {"value": None, "ci": None, "n": None, "why": "what the others are held against"}}
    lines = [
        NumberLine(row["relevant_by"], read_estimates({**first, **row}, OF_CONDITIONS), f"{row['n']:,}") for row in rows
    ]
    caption = "By who called the attributes relevant"
    return NumberTable("Relevant by", labels_of(OF_CONDITIONS), lines, "Ratings", caption, True) if lines else None


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
    average, low_means, low = read_estimates(first, (MEAN, LOW_MEANS, NO_BETTER))
    who = "Judges" if first["is_model"] else "People"
    answer = f"{who} find the personalised response no better than the generic one, by the mean of their ratings, for "
    answer += f"{low_means.text} of the attributes rated{aside(low_means)}, and in {low.text} of ratings{aside(low)}"
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


def make_verification(question: Shape) -> list[NumberTable]:
    """Each rater as a verifier: how well it finds statements that are not supported, with Maybe as either."""
    return [
        NumberTable(
            first="Rater",
            heads=[*labels_of(SCORES), "F1 against all"],
            lines=list(_verification_lines(views[name])),
            last="Compared",
            caption=caption,
            is_broad=True,
        )
        for views in [question.get("maybe", {})]
        for name, caption in VERIFIED.items()
        if name in views
    ]


def _verification_lines(view: Shape) -> Iterator[NumberLine]:
    missing = Number(None, why=VOTES)
    together = view["together"]
    yield NumberLine(TOGETHER, [*read_scores(together), missing], f"{together['compared']:,}")
    for row in in_order(view["raters"]):
        whole = row.get("against_all")
        of_all = read_number(whole, "f1", whole["compared"]) if whole else missing
        yield NumberLine(row["rater"], [*read_scores(row), of_all], f"{row['compared']:,}")


def make_orders(question: Shape) -> NumberTable | None:
    """Judges that were asked in both orders: how often the response decides, and how often the side."""
    rows = question.get("orders", ())
    lines = [NumberLine(row["rater"], read_estimates(row, OF_ORDERS), f"{row['pairs']:,}") for row in rows]
    return NumberTable("Judge", labels_of(OF_ORDERS), lines, "Asked twice") if lines else None


def make_trained(question: Shape) -> NumberTable | None:
    """Models that learned from people beside the best prompted judge; nothing where there are not both."""
    rows = question.get("trained", ())
    heads = ("Its F1" if rows and rows[0]["measure"] == "f1" else "Its accuracy", "Best judge’s", "Difference")
    lines = [
        NumberLine(
            f"{row['rater']} beats {row['judge']}: {row['beats']}",
            [read_estimate(row[name]) for name in ("own", "judges", "difference")],
            f"{row['n']:,}",
        )
        for row in rows
    ]
    return NumberTable("Beats the best prompted judge", heads, lines, "Compared", is_broad=True) if lines else None


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

    A group with a colon is found by a part of a name: `rater:bm25`. `needs`: what must hold for the two to have been
    measured the same way, one of NEEDS; else ours is left out, with the reason.
    """

    name: str
    value: float
    where: str
    group: str
    measure: str
    pilot: bool = False
    needs: str = ""


# By kind of annotation, for its first question.
PUBLISHED: dict[str, tuple[Published, ...]] = {
    kind: tuple(Published(**row) for row in rows)
    for kind, rows in tomllib.loads(Path(__file__).with_name("published.toml").read_text()).items()
}
SHARES = ("share:", "no_better", "mention_rate")
NOT_THERE = "not among the raters"
OTHER_WORDING = "other wording"


def compare_published(work: AnnotationWork, question: Shape, pilot: bool) -> list[NumberLine]:
    """Published beside ours, with where it stands; nothing for kinds of which nothing is published."""
    rows = PUBLISHED.get(work.kind, ()) if question["labels"] else ()
    of_pilot = pilot and any(row.pilot for row in rows)
    other = "" if is_worded_as_published(work) else f"; {OTHER_WORDING}"
    return [
        NumberLine(
            row.name,
            [
                Number(row.value, is_share=row.measure.startswith(SHARES), digits=3),
                Number(None, why=f"left out: {NEEDS[row.needs].why}")
                if row.needs and not NEEDS[row.needs].holds(question)
                else _ours(question, row.group, row.measure),
            ],
            f"{row.where}{other}",
        )
        for row in rows
        if row.pilot == of_pilot
    ]


class Need(NamedTuple):
    """What must hold for our number to have been measured as the published one was, and why it is left out else."""

    holds: Callable[[Shape], bool]
    why: str


def _says_mentions(question: Shape) -> bool:
    """Whether a model told what names the attribute, or the items say so themselves."""
    if question.get("ratings", {}).get("mentions", {}).get("models"):
        return True
    counts = question.get("ratings", {}).get("mentions", {"given": 0, "named": 0, "not_named": 0, "undecided": 1})
    return bool(counts["given"] == counts["named"] + counts["not_named"] + counts["undecided"])


def _is_doubted(question: Shape) -> bool:
    """Whether all items are what somebody rejected or doubted, as `push_rejected --rule doubt` tags them."""
    return set(question.get("rejected_by", ())) == {"doubt"}


NEEDS = {
    "judges": Need(
        lambda question: _is_doubted(question) and any(rater["kind"] == "judge" for rater in question["raters"]),
        "in the paper a model named the errors of all that was uncertain or rejected (push_rejected --rule doubt)",
    ),
    "mentions": Need(
        _says_mentions, "in the paper a model told which responses name the attribute; here a rule of words did"
    ),
}


def _ours(question: Shape, group: str, measure: str) -> Number:
    kind, _, name = group.partition(":")
    if kind in _NAMED:
        return _NAMED[kind](question, name, measure)
    groups = question["groups"]
    if group == "models" and group not in groups:
        return Number(None, why=NOT_THERE)
    kinds = {rater["kind"] for rater in question["raters"]} - {"baseline"}
    only = {"humans": {"person"}, "models": {"judge"}}
    found = groups["all" if kinds == only.get(group) else group]
    if not measure.startswith("share:"):
        return mean(found, measure)
    if "n" not in found:
        return coefficient(found, "raw")
    return share_in(found, measure.removeprefix("share:"))


def _rater_score(question: Shape, name: str, measure: str) -> Number:
    for rater in question["raters"]:
        if rater["is_model"] and name in rater["rater"].lower():
            # The paper's reference is the majority of all people.
            scores = rater.get("against_all", rater)
            return read_number(scores, measure, scores["compared"])
    return Number(None, why=NOT_THERE)


def _rating(part: str, key: str) -> Callable[[Shape, str, str], Number]:
    """The number of the first one with this in its name."""

    def find(question: Shape, name: str, measure: str) -> Number:
        for row in question.get("ratings", {}).get(part, ()):
            if name in row[key].lower() and measure in row:
                return read_estimate(row[measure], is_share=measure.startswith(SHARES))
        return Number(None, why=NOT_THERE)

    return find


def _written(question: Shape, name: str, measure: str) -> Number:
    """How often a writer names attributes is as the first model told it says, as in the paper, where one was asked."""
    told = question.get("ratings", {}).get("mentions", {}).get("models") if measure == "mention_rate" else None
    for row in told[0]["generators"] if told else ():
        if name in row["generator"].lower():
            return read_estimate(row["mention_rate"], is_share=True)
    return _rating("generators", "generator")(question, name, measure)


# How a group that is known by a part of a name is found.
_NAMED: dict[str, Callable[[Shape, str, str], Number]] = {
    "rater": _rater_score,
    "rated by": _rating("raters", "rater"),
    "written by": _written,
}
