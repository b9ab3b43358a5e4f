"""Tables for some kinds of annotation only: ratings, Maybe read four ways, sides, and published values."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from analysis.agreement.tables import (
    F1_OF_ALL,
    OF_PARTS,
    RAW,
    SCORES,
    aside,
    count,
    estimate,
    groups_of,
    in_order,
    make_table,
    mean_cell,
    read_estimate,
    share_in,
)
from analysis.charts.tables import FINE, FINE_SHARE, PLAIN, SHARE, Cell, Column, Row, Table
from analysis.stats.agreement.estimates import FEW, FEWEST
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.labels import is_worded_as_published

MEAN = estimate("mean", "Mean rating")
NO_BETTER = estimate("no_better", "Ratings no better than generic", SHARE)
LOW_MEANS = estimate("no_better_means", "Responses whose mean is no better", SHARE)
OF_WRITERS = (MEAN, LOW_MEANS, NO_BETTER, estimate("mention_rate", "Name the attribute", SHARE))
OF_RATERS = (
    *(MEAN, LOW_MEANS, NO_BETTER),
    estimate("spearman", "ρ with people", missing="judges are compared with people"),
    estimate("gap", "Gap"),
)
AGAINST_PEOPLE = estimate("difference", "Mean minus people’s", missing="what the others are held against")
OF_CONDITIONS = (MEAN, LOW_MEANS, NO_BETTER, AGAINST_PEOPLE)
OF_BOTH = (estimate("mention_rate", "Names the attribute, as a writer", SHARE), estimate("gap", "Gap, as a judge"))
UNNAMED = "no model named"
RATER, RATINGS = Column("rater", "Rater"), count("Ratings")
WRITER = Column("generator", "Model", nothing=UNNAMED)

OF_ORDERS = (
    estimate("consistent", "Same response", SHARE),
    estimate("left", "Left twice", SHARE),
    estimate("right", "Right twice", SHARE),
    estimate("mixed", "A side once", SHARE),
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
    """Tables of ratings. `answer`: the numbers in a sentence; `mentions`: who decided which attributes are named;
    `intervals`: how they are made.
    """

    answer: str
    mentions: str
    intervals: str
    generators: Table
    raters: Table
    habits: Table | None
    habit: Cell
    conditions: Table | None  # None unless models chose some attributes
    gaps: Table | None  # by writer, the gap of each rater; None for one writer


def make_ratings(question: Row) -> RatingTables | None:
    """Make the tables of ratings; None for questions without two responses side by side."""
    found = question.get("ratings")
    if not found:
        return None
    writers, raters, both = found["generators"], found["raters"], found["habits"]["models"]
    return RatingTables(
        answer=_summarise_ratings(found, {rater["rater"]: rater["kind"] for rater in question["raters"]}),
        mentions=_summarise_mentions(found["mentions"]),
        intervals=_say_intervals(found["units"], found["drawn"], question["draws"]),
        generators=make_table([WRITER, *OF_WRITERS, RATINGS], writers, "By the model that wrote the response"),
        raters=make_table([RATER, *OF_RATERS, RATINGS], raters, "Judges beside people", is_broad=True),
        habits=make_table([replace(RATER, label="Judge"), *OF_BOTH], both) if both else None,
        habit=read_estimate(found["habits"]["spearman"]),
        conditions=_conditions(found.get("conditions", ())),
        gaps=_gaps(writers, [row["rater"] for row in raters]) if len(writers) > 1 else None,
    )


def _say_intervals(units: int, drawn: str, draws: int) -> str:
    things = "users" if drawn == "users" else "pairs of responses"
    if units < FEWEST:
        return f"95 % intervals take at least {FEWEST} {things}."
    if units < FEW:
        return f"95 % intervals: {units} {things}, each left out once, by Student’s t."
    return f"{units} {things} are drawn {draws} times for the 95 % intervals."


def _conditions(rows: Sequence[Row]) -> Table | None:
    """Make the table of personalised responses by who called their attributes relevant."""
    columns = [Column("relevant_by", "Relevant by"), *OF_CONDITIONS, RATINGS]
    return make_table(columns, rows, "By who called the attributes relevant", is_broad=True) if rows else None


def _gaps(writers: Sequence[Row], raters: Sequence[str]) -> Table:
    columns = [WRITER, *(estimate(rater, rater, missing="no rating") for rater in raters)]
    return make_table(columns, [{"generator": row["generator"], **row["gaps"]} for row in writers], is_broad=True)


def _summarise_ratings(found: Row, kinds: Mapping[str, str]) -> str:
    """Say how often people (or, without any, the first model) find personalised responses no better."""
    first = found["raters"][0]
    average, low_means, low = (column.cell(first) for column in (MEAN, LOW_MEANS, NO_BETTER))
    what = "trained model" if (kind := kinds.get(first["rater"])) == "trained" else kind or "judge"
    who = f"The {what} {first['rater']} finds" if first["is_model"] else "People find"
    answer = f"{who} the personalised response no better than the generic one, by the mean of their ratings, for "
    answer += f"{low_means.text} of the attributes rated{aside(low_means)}, and in {low.text} of ratings{aside(low)}"
    return f"{answer}; the mean rating is {average.text}{aside(average)}."


def _summarise_mentions(counts: Row) -> str:
    decided = counts["named"] + counts["not_named"]
    told = f"{counts['given']:,} by the items’ own word, all others by rule {counts['rule']}"
    said = f"Responses that name the attribute they are rated for: {counts['named']:,} of {decided:,} ({told})."
    return f"{said} Of {counts['undecided']:,} it cannot be told; they are in no gap." if counts["undecided"] else said


# Maybe, and sides ------------------------------------------------------------------------------------------


def make_maybe(question: Row) -> Table | None:
    """Make the table of coefficients that depend on how Maybe is read; None for questions without it."""
    views = question.get("maybe", {})
    rows = [{"view": label, **views[name]} for name, label in VIEWS.items() if name in views]
    return make_table([Column("view", "Maybe read as"), *OF_PARTS], rows, is_broad=True) if rows else None


def make_verification(question: Row) -> list[Table]:
    """Make the tables of how well each rater finds unsupported statements, with Maybe as either."""
    views = question.get("maybe", {})
    columns = [RATER, *SCORES, F1_OF_ALL, count("Compared", "compared")]
    return [
        make_table(
            columns, [{"rater": TOGETHER, **view["together"]}, *in_order(view["raters"])], caption, is_broad=True
        )
        for name, caption in VERIFIED.items()
        if (view := views.get(name))
    ]


def make_orders(question: Row) -> Table | None:
    """Make the table of judges asked in both orders: how often they choose the same response, or the same side."""
    rows = question.get("orders", ())
    columns = [replace(RATER, label="Judge"), *OF_ORDERS, count("Asked twice", "pairs")]
    return make_table(columns, rows) if rows else None


def make_trained(question: Row) -> Table | None:
    """Make the table of trained models and the best prompted judge; None unless there are both."""
    rows = question.get("trained", ())
    if not rows:
        return None
    columns = [
        Column(
            "rater",
            "Beats the best prompted judge",
            value=lambda row: f"{row['rater']} beats {row['judge']}: {row['beats']}",
        ),
        estimate("own", "Its F1" if rows[0]["measure"] == "f1" else "Its accuracy"),
        estimate("judges", "Best judge’s"),
        estimate("difference", "Difference"),
        count("Compared"),
    ]
    return make_table(columns, rows, is_broad=True)


def make_sides(question: Row) -> Table | None:
    """Make the table of how often all raters and each rater prefer the left side; None for kinds without sides."""
    found = question.get("sides", {}).get("left", {})
    rows = [
        {"rater": "All raters" if name == "all" else name, "left": each, "n": each["n"]}
        for name, each in sorted(found.items(), key=lambda entry: (entry[0] != "all", entry[0]))
    ]
    columns = [RATER, estimate("left", "Share for the left", SHARE), count("Preferences")]
    return make_table(columns, rows) if rows else None


# Beside what was published ---------------------------------------------------------------------------------


class Published(NamedTuple):
    """A published value, `where` it is in the paper, and the `group` and `measure` of our number beside it.

    After a colon, a group has part of a name: `rater:bm25`. `needs`: one of NEEDS, without which ours was measured
    another way and is left out.
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


def compare_published(work: AnnotationWork, question: Row, pilot: bool) -> list[list[Cell]]:
    """Return rows of measure, place, published value and ours; empty for kinds of which nothing is published."""
    rows = PUBLISHED.get(work.kind, ()) if question["labels"] else ()
    of_pilot = pilot and any(row.pilot for row in rows)
    other = "" if is_worded_as_published(work) else f"; {OTHER_WORDING}"
    return [
        [
            Cell(row.name),
            Cell(f"{row.where}{other}"),
            Cell(row.value, FINE_SHARE if row.measure.startswith(SHARES) else FINE),
            Cell(why=f"left out: {NEEDS[row.needs].why}")
            if row.needs and not NEEDS[row.needs].holds(question)
            else _ours(question, row.group, row.measure),
        ]
        for row in rows
        if row.pilot == of_pilot
    ]


class Need(NamedTuple):
    """A condition for our number to be measured as the published one, and why it is left out otherwise."""

    holds: Callable[[Row], bool]
    why: str


def _says_mentions(question: Row) -> bool:
    """Whether a model, or the items themselves, decided which responses name the attribute."""
    if question.get("ratings", {}).get("mentions", {}).get("models"):
        return True
    counts = question.get("ratings", {}).get("mentions", {"given": 0, "named": 0, "not_named": 0, "undecided": 1})
    return bool(counts["given"] == counts["named"] + counts["not_named"] + counts["undecided"])


def _is_doubted(question: Row) -> bool:
    """Whether all items were rejected or doubted by somebody, as `push_rejected --rule doubt` tags them."""
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


def _ours(question: Row, group: str, measure: str) -> Cell:
    kind, _, name = group.partition(":")
    if kind in _NAMED:
        return _NAMED[kind](question, name, measure)
    groups = groups_of(question)
    if group == "models" and group not in groups:
        return Cell(why=NOT_THERE)
    kinds = {rater["kind"] for rater in question["raters"]} - {"baseline"}
    only = {"humans": {"person"}, "models": {"judge"}}
    found = groups["all" if kinds == only.get(group) else group]
    if not measure.startswith("share:"):
        return mean_cell(found, measure)
    if "n" not in found:
        return RAW.cell(found)
    return share_in(found, measure.removeprefix("share:"))


def _rater_score(question: Row, name: str, measure: str) -> Cell:
    for rater in question["raters"]:
        if rater["is_model"] and name in rater["rater"].lower():
            # The paper's reference is the majority of all people.
            return read_estimate(rater.get("against_all", rater)[measure])
    return Cell(why=NOT_THERE)


def _rating(part: str, key: str) -> Callable[[Row, str, str], Cell]:
    """Return a function that finds the measure in the first row with `name` in its key."""

    def find(question: Row, name: str, measure: str) -> Cell:
        for row in question.get("ratings", {}).get(part, ()):
            if name in row[key].lower() and measure in row:
                return read_estimate(row[measure], SHARE if measure.startswith(SHARES) else PLAIN)
        return Cell(why=NOT_THERE)

    return find


def _written(question: Row, name: str, measure: str) -> Cell:
    """Return a writer's number; as in the paper, the first model asked decides the mention rate, if any was."""
    told = question.get("ratings", {}).get("mentions", {}).get("models") if measure == "mention_rate" else None
    for row in told[0]["generators"] if told else ():
        if name in row["generator"].lower():
            return read_estimate(row["mention_rate"], SHARE)
    return _rating("generators", "generator")(question, name, measure)


# How to find a group by a part of its name.
_NAMED: dict[str, Callable[[Row, str, str], Cell]] = {
    "rater": _rater_score,
    "rated by": _rating("raters", "rater"),
    "written by": _written,
}
