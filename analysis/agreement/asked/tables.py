"""What models were asked about a study's items, as tables beside what people say."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.agreement.kind_tables import PUBLISHED, UNNAMED
from analysis.agreement.tables import (
    Number,
    NumberColumn,
    NumberLine,
    NumberTable,
    labels_of,
    read_estimate,
    read_estimates,
)
from surveys.studies.files.kinds import ERROR

Shape = Mapping[str, Any]
OF_CHANGES = (
    NumberColumn("before", "Before", is_share=True),
    NumberColumn("after", "After", is_share=True),
    NumberColumn("change", "Change", is_share=True),
)
OF_REASONINGS = (NumberColumn("before", "Before", is_share=True), NumberColumn("after", "After", is_share=True))
OF_TOLD = (NumberColumn("agreement", "Same as the rule", is_share=True), NumberColumn("kappa", "κ with the rule"))
ACCEPTANCE = {"accepted": "Share of its labels, mean over attributes", "majority": "Attributes that most accept"}


def make_revisions(question: Shape) -> list[NumberTable]:
    """Of each model that revised attributes how many are accepted before and after."""
    return [
        NumberTable(
            first="“Makes sense”",
            heads=labels_of(OF_CHANGES),
            lines=[
                NumberLine(words, read_estimates(row[name], OF_CHANGES), f"{row['compared']:,}")
                for name, words in ACCEPTANCE.items()
            ],
            last="Attributes",
            caption=say_revised(row),
        )
        for row in question.get("revisions", ())
    ]


def say_revised(row: Shape) -> str:
    waiting = row["revised"] - row["compared"]
    said = f"{row['generator'] or 'no model named'}: {row['revised']:,} revised, {row['withdrawn']:,} withdrawn"
    said += f", {waiting:,} without labels yet" if waiting else ""
    chosen = ", ".join(f"{each['rater']} ({each['n']:,})" for each in row["flagged_by"])
    return f"{said}; flagged by {chosen}" if chosen else said


def make_reasonings(question: Shape) -> list[tuple[NumberTable, list[Shape]]]:
    """Of each model that reasons how often it names the attribute, before and after it learned; and what it says."""
    words = "Names the attribute, by the rule of words"
    return [
        (
            NumberTable(
                first="Reasoning",
                heads=labels_of(OF_REASONINGS),
                lines=[NumberLine(words, read_estimates(row["named"], OF_REASONINGS))],
                caption=say_reasonings(row),
            ),
            row["rows"],
        )
        for row in question.get("reasonings", ())
    ]


def say_reasonings(row: Shape) -> str:
    said = f"{row['rater']}: {row['n']:,} asked before and after, {row['changed']:,} with another label after"
    return f"{said}, of these {row['changed_to_people']:,} with that of most people"


def make_categories(question: Shape) -> NumberTable | None:
    """Of each model how often it names each kind of mistake, beside what was published."""
    rows = question.get("categories", {}).get("models")
    if not rows:
        return None
    published = {row.measure.removeprefix("share:"): row.value for row in PUBLISHED[ERROR.name]}
    lines = [
        NumberLine(
            choice.label,
            [
                *(read_estimate(row["shares"][choice.value], is_share=True) for row in rows),
                Number(published.get(choice.value), why="not published", is_share=True, digits=3),
            ],
        )
        for choice in ERROR.choices
    ]
    heads = [*(f"{row['model']} (n = {row['n']:,})" for row in rows), "Table 5 of the paper"]
    return NumberTable("Mistake", heads, lines, caption=say_categories(question["categories"]), is_broad=len(heads) > 2)


def say_categories(found: Shape) -> str:
    reasons = "; ".join(f"{row['n']:,} by {row['model']}" for row in found["reasons"])
    said = f"Of {found['doubted']:,} attributes that somebody doubts"
    return f"{said}; reasons: {reasons}" if reasons else said


def make_told(question: Shape) -> NumberTable | None:
    """Models that say which attributes a response names, beside the word rule."""
    rows = question.get("ratings", {}).get("mentions", {}).get("models")
    if not rows:
        return None
    lines = [NumberLine(row["model"], [*read_estimates(row, OF_TOLD), find_gap(row)], f"{row['n']:,}") for row in rows]
    heads = [*labels_of(OF_TOLD), "Gap by its word"]
    return NumberTable("Model", heads, lines, "Attributes", "Models beside the word rule", is_broad=True)


def make_told_writers(question: Shape) -> NumberTable | None:
    """Of each writer how often its responses name the attribute, as each model says, and as the rule does."""
    rows = question.get("ratings", {}).get("mentions", {}).get("models")
    if not rows:
        return None
    rates = [{each["generator"]: each["mention_rate"] for each in row["generators"]} for row in rows]
    lines = [
        NumberLine(
            writer["generator"] or UNNAMED,
            [
                read_estimate(rate, is_share=True)
                for rate in (writer["mention_rate"], *(each[writer["generator"]] for each in rates))
            ],
        )
        for writer in question["ratings"]["generators"]
    ]
    heads = ["As in the first table", *(row["model"] for row in rows)]
    return NumberTable("Written by", heads, lines, caption="Responses that name the attribute", is_broad=True)


def find_gap(row: Shape) -> Number:
    """Of people, or of the first judge where nobody else rates."""
    return read_estimate(row["gaps"][0]["gap"])


def say_tables(tables: Sequence[NumberTable | None]) -> list[str]:
    """For the terminal: each number with its interval, or the reason why there is none."""
    return [
        "\n".join(
            [
                f"  {table.caption}",
                *(f"    {line.label}: {say_numbers(table.heads, line.numbers)}" for line in table.lines),
            ]
        )
        for table in tables
        if table
    ]


def say_numbers(heads: Sequence[str], numbers: Sequence[Number]) -> str:
    return "; ".join(f"{head} {number.words}" for head, number in zip(heads, numbers, strict=True))
