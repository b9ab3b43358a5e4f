"""Tables of models' replies about a study's items, beside people's labels; and all tables for the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.agreement.kind_tables import (
    PUBLISHED,
    WRITER,
    make_maybe,
    make_orders,
    make_ratings,
    make_sides,
    make_trained,
    make_verification,
)
from analysis.agreement.tables import count, estimate, make_table
from analysis.charts.tables import COUNT, FINE_SHARE, SHARE, Cell, Column, Table
from surveys.studies.files.kinds import ERROR
from surveys.studies.wording import plural

Row = Mapping[str, Any]
OF_CHANGES = (
    estimate("before", "Before", SHARE),
    estimate("after", "After", SHARE),
    estimate("change", "Change", SHARE),
)
OF_REASONINGS = (estimate("before", "Before", SHARE), estimate("after", "After", SHARE))
OF_RULE = (estimate("agreement", "Same as the rule", SHARE), estimate("kappa", "κ with the rule"))
ACCEPTANCE = {"accepted": "Share of its labels, mean over attributes", "majority": "Attributes that most accept"}


def make_revisions(question: Row) -> list[Table]:
    """Make a table for each revising model: attributes accepted before and after."""
    columns = [Column("words", "“Makes sense”"), *OF_CHANGES, count("Attributes")]
    return [
        make_table(
            columns,
            [{"words": words, "n": row["compared"], **row[name]} for name, words in ACCEPTANCE.items()],
            summarise_revisions(row),
        )
        for row in question.get("revisions", ())
    ]


def summarise_revisions(row: Row) -> str:
    waiting = row["revised"] - row["compared"]
    said = f"{row['generator'] or 'no model named'}: {row['revised']:,} revised, {row['withdrawn']:,} withdrawn"
    said += f", {waiting:,} without labels yet" if waiting else ""
    chosen = ", ".join(f"{each['rater']} ({each['n']:,})" for each in row["flagged_by"])
    return f"{said}; flagged by {chosen}" if chosen else said


def make_reasonings(question: Row) -> list[tuple[Table, list[Row]]]:
    """Make a table for each reasoning model of how often it names the attribute before and after; with its words."""
    columns = [Column("words", "Reasoning"), *OF_REASONINGS]
    words = {"words": "Names the attribute, by the rule of words"}
    return [
        (make_table(columns, [words | row["named"]], summarise_reasonings(row)), row["rows"])
        for row in question.get("reasonings", ())
    ]


def summarise_reasonings(row: Row) -> str:
    said = f"{row['rater']}: {row['n']:,} asked before and after, {row['changed']:,} with another label after"
    return f"{said}, of these {row['changed_to_people']:,} with that of most people"


def make_categories(question: Row) -> Table | None:
    """Make the table of how often each model names each kind of mistake, beside the published shares."""
    rows = question.get("categories", {}).get("models")
    if not rows:
        return None
    published = {row.measure.removeprefix("share:"): row.value for row in PUBLISHED[ERROR.name]}
    kinds = [
        {"label": choice.label, "published": published.get(choice.value)}
        | {row["model"]: row["shares"][choice.value] for row in rows}
        for choice in ERROR.choices
    ]
    columns = [
        Column("label", "Mistake"),
        *(estimate(row["model"], f"{row['model']} (n = {row['n']:,})", SHARE) for row in rows),
        Column("published", "Table 5 of the paper", FINE_SHARE, why=lambda row: "not published"),
    ]
    return make_table(columns, kinds, summarise_categories(question["categories"]), is_broad=len(rows) > 1)


def summarise_categories(found: Row) -> str:
    reasons = "; ".join(f"{row['n']:,} by {row['model']}" for row in found["reasons"])
    said = f"Of {plural(found['doubted'], 'attribute')} that somebody doubts"
    return f"{said}; reasons: {reasons}" if reasons else said


def make_mention_models(question: Row) -> Table | None:
    """Make the table of models beside the word rule; the gap is people's, or else the first judge's."""
    rows = question.get("ratings", {}).get("mentions", {}).get("models")
    if not rows:
        return None
    columns = [Column("model", "Model"), *OF_RULE, estimate("gap", "Gap by its word"), count("Attributes")]
    gaps = [row | {"gap": row["gaps"][0]["gap"]} for row in rows]
    return make_table(columns, gaps, "Models beside the word rule", is_broad=True)


def make_mention_writers(question: Row) -> Table | None:
    """Make the table of how often each writer's responses name the attribute, by the rule and by each model."""
    rows = question.get("ratings", {}).get("mentions", {}).get("models")
    if not rows:
        return None
    rates = {row["model"]: {each["generator"]: each["mention_rate"] for each in row["generators"]} for row in rows}
    writers = [
        writer | {model: each[writer["generator"]] for model, each in rates.items()}
        for writer in question["ratings"]["generators"]
    ]
    columns = [
        replace(WRITER, label="Written by"),
        estimate("mention_rate", "As in the first table", SHARE),
        *(estimate(model, model, SHARE) for model in rates),
    ]
    return make_table(columns, writers, "Responses that name the attribute", is_broad=True)


def format_tables(question: dict[str, Any]) -> list[str]:
    """Format `tables_of` for the terminal: each number with its interval, or the reason why there is none."""
    made = filter(None, tables_of(question))
    return ["\n".join([f"  {table.title}", *(format_row(table, row) for row in table.rows)]) for table in made]


def tables_of(question: dict[str, Any]) -> list[Table | None]:
    """Make the tables below the page's coefficients; None if the question has no such numbers."""
    ratings = make_ratings(question)
    found = [
        titled("Maybe, read in four ways", make_maybe(question)),
        *make_verification(question),
        titled("Judges asked in both orders", make_orders(question)),
        titled("How often the left one is preferred", make_sides(question)),
        titled("Models that learned, beside the best prompted judge", make_trained(question)),
        *make_revisions(question),
        make_categories(question),
    ]
    if ratings:
        found += [ratings.raters, ratings.generators, titled("Models that both write and judge", ratings.habits)]
        found += [ratings.conditions, titled("Gap by the model that wrote the response", ratings.gaps)]
    found += [make_mention_models(question), make_mention_writers(question)]
    return [*found, *(table for table, _ in make_reasonings(question))]


def titled(title: str, table: Table | None) -> Table | None:
    return replace(table, title=title) if table else None


def format_row(table: Table, row: Sequence[Cell]) -> str:
    numbers = zip(table.columns[1:], row[1:], strict=True)
    said = [f"{column.label} {cell.words}" for column, cell in numbers if column.format is not COUNT]
    return f"    {row[0].text}: {'; '.join(said)}"
