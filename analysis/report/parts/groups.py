"""The field's measures in parts of the people: by demographic cell, by chatbot context, and by what is left out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure, prompt_name
from analysis.charts.panels import Grid, Panel, draw_grid, with_axes
from analysis.charts.rows import (
    INTERVAL_WORDS,
    WHY,
    ends_in,
    in_order,
    n_words,
    prompts_in_order,
    rows_of,
    shown_model,
    told_ends,
    write_caption,
)
from analysis.charts.theme import printable, series_of_groups
from analysis.report import columns as col
from analysis.report.columns import (
    Column,
    Columns,
    Finder,
    Listing,
    Measure,
    Part,
    intervals,
    is_choice,
    is_list,
    rows_in,
)
from analysis.report.parts.choices import BOUNDS, RIGHT, TESTS, letter_row
from analysis.report.parts.choices import difference_row as choice_difference_row
from analysis.report.parts.heterogeneity import difference_rows, measured, rarefied_row
from analysis.report.samples import (
    Data,
    Drawn,
    Rows,
    Source,
    common_n,
    correct_over_prompts,
    difference_in,
    generator_for,
)
from analysis.report.sentences import FEWEST as FEWEST_TOLD
from analysis.report.sentences import SIGNIFICANT, chatbot_name, finding
from analysis.stats import choices
from analysis.stats.item_measures import MEASURES
from surveys.console.wording import join_words, plural, sized

CONTEXTS = ("memory", "plan", "model_shown")
Parts = dict[str, Rows]
FEWEST = 5  # people of a context value; a product's name that one person typed is no group


def cells(data: Data) -> list[Row]:
    names = {cell.slug: cell.name for cell in data.definition.cells}
    found = [
        {"cell": value, "name": names.get(value, value), **row}
        for value, row in parted(data, "cell", [*names, *sorted(set(values_of(data, "cell")) - set(names))])
    ]
    return corrected(found, ("cell",))


def contexts(data: Data) -> list[Row]:
    found = [
        {"context": context, "value": value, **row}
        for context in CONTEXTS
        for value, row in parted(data, context, frequent(data, context))
    ]
    return corrected(found, ("context", "value"))


def values_of(data: Data, column: str) -> list[str]:
    return [str(value) for value in data.people[column].dropna().unique() if value != ""]


def frequent(data: Data, column: str) -> list[str]:
    counts = data.people[column].value_counts()
    return sorted(str(value) for value, people in counts.items() if people >= FEWEST and value != "")


def parted(data: Data, column: str, values: list[str]) -> list[tuple[str, Row]]:
    """Each chatbot's field in parts by a column of its people; a part without answers has no row."""
    cells = [(column, values, group.field, prompt) for group in data.groups for prompt in data.prompts]
    return [row for rows in data.each(part_rows, cells) for row in rows]


def part_rows(data: Data, cell: tuple[str, list[str], Source, str]) -> list[tuple[str, Row]]:
    column, values, field, prompt = cell
    given = data.once_for_all(("people's", column), partial(given_by_answer, data, column))
    rows = data.rows_of(field, prompt)
    parts = {value: part for value in values if len(part := rows[given[rows] == value])}
    split = choice_parts if prompt in data.choices else item_parts
    found = split(data, field, prompt, rows, parts)
    return [(value, common(data, field, prompt, parts[value]) | measures) for value, measures in found]


def given_by_answer(data: Data, column: str) -> NDArray[np.object_]:
    """What stands in this column of the person who gave each answer of the field."""
    answered_by = data.frames.field.columns["unit"]
    return np.asarray(data.frames.people[column].reindex(answered_by).to_numpy(object))


def item_parts(data: Data, source: Source, prompt: str, rows: Rows, parts: Parts) -> Iterable[tuple[str, Row]]:
    """The parts rarefied to a common n, and each against all other answers of the same chatbot."""
    n = common_n(map(len, parts.values()))
    drawn = Drawn(data, prompt)
    for value, part in parts.items():
        rarefied = drawn.rarefied(part, n) if len(part) >= n else None
        row = measured(drawn.described(part))
        row["rarefied"] = rarefied_row(rarefied, data.unit_row(source, len(part)))
        rest = rows_without(rows, part)
        if len(rest):
            row["against_rest"] = difference_rows(drawn.compared(part, rest))
        yield value, row


def choice_parts(data: Data, source: Source, prompt: str, rows: Rows, parts: Parts) -> Iterable[tuple[str, Row]]:
    for value, part in parts.items():
        row = choice_values(data, source, prompt, part)
        rest = rows_without(rows, part)
        if len(rest):
            rng = generator_for(data, "against rest", source, prompt, value)
            one, other = (data.options_in(True, prompt, some) for some in (part, rest))
            row = row | {"against_rest": choice_difference_row(choices.compare(one, other, rng, data.draws))}
        yield value, row


def rows_without(rows: Rows, part: Rows) -> Rows:
    """Both in ascending order."""
    return np.delete(rows, np.searchsorted(rows, part))


def corrected(found: list[Row], by: tuple[str, ...]) -> list[Row]:
    """The same rows with Holm's correction over prompts within each part of the people."""
    for name in (*MEASURES, *TESTS):
        correct_over_prompts(found, difference_in("against_rest", name), (*by, "model"))
    return found


def common(data: Data, source: Source, prompt: str, rows: Rows) -> Row:
    return {
        "prompt": prompt,
        "kind": data.prompts[prompt].kind,
        **source.key,
        "n": len(rows),
        **data.unit_row(source, len(rows)),
        "simulated": data.simulated_in(source, rows),
    }


def item_values(data: Data, source: Source, prompt: str, rows: Rows) -> Row:
    return measured(Drawn(data, prompt).described(rows))


def choice_values(data: Data, source: Source, prompt: str, rows: Rows) -> Row:
    def describe() -> Row:
        return letter_row(choices.describe(data.options_in(source.is_field, prompt, rows)))

    return data.once_for_all(("part", prompt, rows.tobytes()), describe)


# In a figure -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupFigure:
    """What a figure of this family compares: rows of one part of the report, told apart by `name_of`."""

    name: str
    part: str
    title: str
    nothing: str
    word: str
    name_of: Callable[[Row], str]

    def draw(self, report: Report, options: Options) -> Figure:
        measure = col.ASKED.get(options.measure, col.DEFAULT)
        columns = table_columns(self.word, measure)
        table = [self.table_row(row, measure, options) for row in rows_of(report, self.part) if fits(row, measure)]
        known = [row for row in table if row[measure.name] is not None]
        if not known:
            return empty_figure(self.name, self.title, self.nothing, columns, options, table)
        points = [point_of(row, self.word, measure, options) for row in known]
        grid = Grid(
            (measure_axis(measure, points),),
            tuple(in_order(point["model"] for point in points)),
            tuple(options.name(prompt) for prompt in prompts_in_order(report, known)),
            series_of_groups(point["series"] for point in points),
            options,
            height=170,
        )
        words = Words(self.title, self.caption(report, table, measure, options), self.describe(known, measure, options))
        return make_figure(self.name, words, draw_grid(grid), points, table, columns, options)

    def table_row(self, row: Row, measure: Measure, options: Options) -> Row:
        rarefied = options.rarefied and measure is not col.CORRECT
        values = row.get("rarefied") or {} if rarefied else row
        low, high = measure.interval(values) or (None, None)
        where = {"prompt": row["prompt"], "model": row["model"], self.word: self.name_of(row), "n": values.get("n")}
        return where | {measure.name: measure.value(values), "low": low, "high": high, "why": row.get("why", "")}

    def caption(self, report: Report, table: Sequence[Row], measure: Measure, options: Options) -> str:
        drawn_down = options.rarefied and measure is not col.CORRECT
        return write_caption(
            report,
            f"Field answers only; {n_words(table)} responses a mark{', rarefied' if drawn_down else ', not rarefied'}.",
            INTERVAL_WORDS,
            "The axis need not begin at 0.",
            definitions=[measure.name],
            missing=sum(row[measure.name] is None for row in table),
        )

    def describe(self, rows: Sequence[Row], measure: Measure, options: Options) -> str:
        """For each chatbot which part is highest for how many prompts, and how far apart the parts are at most."""
        models = in_order(row["model"] for row in rows)
        found = [self.describe_model([r for r in rows if r["model"] == model], measure, options) for model in models]
        return " ".join(sentence for sentence in found if sentence) or f"{self.title}: {measure.spoken} by prompt."

    def describe_model(self, rows: Sequence[Row], measure: Measure, options: Options) -> str:
        prompts = {
            prompt: [row for row in rows if row["prompt"] == prompt] for prompt in in_order(r["prompt"] for r in rows)
        }
        several = {prompt: here for prompt, here in prompts.items() if len(here) > 1}
        if not several:
            return ""
        highest_of = [max(here, key=lambda row: row[measure.name])[self.word] for here in several.values()]
        counts = [f"{part} for {highest_of.count(part)}" for part in in_order(highest_of)]
        gaps = {
            p: max(r[measure.name] for r in here) - min(r[measure.name] for r in here) for p, here in several.items()
        }
        widest = max(gaps, key=lambda prompt: gaps[prompt])
        most = f"{measure.spoken} is highest in {join_words(counts)} of {plural(len(several), 'prompt')}"
        gap = f"the parts differ most for {options.name(widest)}, by {gaps[widest]:.2f}"
        return f"{shown_model(rows[0]['model'], options)}: {most}; {gap}."


def fits(row: Row, measure: Measure) -> bool:
    """Whether the row's prompt is of the kind that the measure belongs to."""
    return (row.get("kind", "recommendation") == "choice") == (measure is col.CORRECT)


def measure_axis(measure: Measure, points: Sequence[Row]) -> Panel:
    """From a little below the lowest value: parts of the field are near each other, and marks are read by position."""
    upper = with_axes([measure.panel], points)[0]
    lowest = min(point["value"] if point["low"] is None else point["low"] for point in points)
    return replace(upper, bottom=max(0.0, lowest - 0.15 * (upper.top - lowest)))


def table_columns(word: str, measure: Measure) -> list[tuple[str, str, str]]:
    return [
        ("prompt", "prompt", ""),
        ("model", "chatbot", ""),
        (word, word, ""),
        ("n", "responses", ""),
        (measure.name, measure.spoken, ""),
        *(*ends_in(), WHY),
    ]


def point_of(row: Row, word: str, measure: Measure, options: Options) -> Row:
    prompt, model, value = options.name(row["prompt"]), shown_model(row["model"], options), row[measure.name]
    told = f"{row[word]}, {prompt}, {model}: {measure.spoken} {value:.2f}{told_ends(row, 2)}, {sized(row['n'])}"
    where = {"panel": measure.name, "model": model, "prompt": prompt, "series": row[word], "text": told}
    return where | {"value": value, "low": row["low"], "high": row["high"]}


# In tables --------------------------------------------------------------------------------------------------

CONTEXT_NAMES = {"memory": "Memory", "plan": "Plan", "model_shown": "Model shown"}


def group_name(row: Row) -> str:
    return row["name"] if "cell" in row else f"{CONTEXT_NAMES[row['context']]}: {row['value']}"


def only(row: Row) -> Row:
    """The filter that leaves these people."""
    return {"cell": row["cell"]} if "cell" in row else {row["context"]: row["value"]}


WHOSE = (col.PROMPT, col.CHATBOT, Column("name", "Who", value=group_name, short="group"))
N_OF_GROUP = replace(col.N, texts=only)
SHARE_UNKNOWN = Column(
    "unknown", "Unknown", col.SHARE, value=lambda row: row["unknown"] / row["n"] if row["n"] else None
)


def list_columns(rows: list[Row], options: Options) -> Columns:
    inside = "rarefied" if options.rarefied else ""
    against = col.ENTROPY.differences("against_rest", "Entropy minus the rest's")
    return [*WHOSE, N_OF_GROUP, *(measure.column(inside) for measure in col.OF_LISTS), *against]


CHOICE_COLUMNS = (
    *(*WHOSE, N_OF_GROUP, RIGHT, SHARE_UNKNOWN),
    *col.CORRECT.differences("against_rest", "Minus the rest's, points"),
)


def documents(part: str, word: str, title: str) -> tuple[Listing, Listing]:
    measured_columns = (*(measure.column() for measure in col.OF_LISTS), col.ENTROPY.rarefied())
    return (
        Listing(
            part,
            f"{title}: recommendations",
            (*WHOSE, col.SIZE, col.UNKNOWN, *measured_columns, *col.ENTROPY.differences("against_rest")),
            rows_in(part, is_list),
            (word, col.ENTROPY.name, "ci", "against_rest"),
        ),
        Listing(
            part,
            f"{title}: questions with choices",
            (*WHOSE, col.SIZE, col.UNKNOWN, RIGHT, BOUNDS, *col.CORRECT.differences("against_rest")),
            rows_in(part, is_choice),
            (word, col.CORRECT.name, "against_rest"),
        ),
    )


def pages(part: str, names: tuple[str, str], title: str) -> tuple[Listing, Listing]:
    return (
        Listing(
            names[0],
            f"Recommendations, {title}",
            list_columns,
            rows_in(part, is_list),
            ("cell", "rarefied", col.ENTROPY.name),
            "The rest is everybody else with the same chatbot. p is corrected over prompts (Holm).",
        ),
        Listing(names[1], f"Choices, {title}", CHOICE_COLUMNS, rows_in(part, is_choice), (col.CORRECT.name,)),
    )


# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    if not report["cells"]:
        return "Nobody has answered in a group yet."
    if max(row["n"] for row in report["cells"]) < FEWEST_TOLD:
        return f"No group has {FEWEST_TOLD} answers to a prompt yet: too few to tell groups apart."
    return (
        "For no group is a difference from everybody else’s answers significant; that does not say that there is none."
    )


def find_cells(report: Report) -> Iterator[Row]:
    for row in report.get("cells", ()):
        measure = col.CORRECT if is_choice(row) else col.ENTROPY
        test = row.get("against_rest", {}).get(measure.key, {})
        if test.get("p_holm") is None or test["p_holm"] >= SIGNIFICANT or row["n"] < FEWEST_TOLD:
            continue
        effect = test["effect"]
        what = "right {} often" if is_choice(row) else "{} varied"
        much = f"{100 * abs(effect):.0f} percentage points" if is_choice(row) else f"{abs(effect):.2f} bits"
        words = (
            f"Answers of {row['name']} to “{prompt_name(row['prompt'])}” ({chatbot_name(report, row)}) are "
            f"{what.format('more' if effect > 0 else 'less')} than everybody else's: {much} ({sized(row['n'])})."
        )
        size = abs(effect) if is_choice(row) else min(1.0, abs(effect) / max(row[col.ENTROPY.key], 1e-9))
        params = {"prompt": row["prompt"], "cell": row["cell"]}
        yield finding(report, "demographics", size, words, ["cell", measure.name], **params)


DRAWN_CELLS = GroupFigure(
    "demographics",
    "cells",
    "The field by group of people",
    "No group of people has answers yet: there is nothing to compare.",
    "group",
    lambda row: printable(row.get("name") or row["cell"]),
)
DRAWN_CONTEXTS = GroupFigure(
    "contexts",
    "contexts",
    "The field by chatbot context",
    "Nobody has said yet how their chatbot was set up: there is nothing to compare.",
    "context",
    lambda row: f"{printable(row['context']).replace('_', ' ')}: {printable(row['value'])}",
)
OF_GROUPS = (
    *(*col.OF_ITEMS, *col.OF_LETTERS, *intervals("jackknife", "unit", "against_rest.*.ci", of="recommendation")),
    *intervals("wilson", "unit", f"against_rest.{col.CORRECT.key}.ci", of="choice"),
    *intervals("bootstrap", "unit", "against_rest.tv.ci", of="choice"),
)
CELLS = Part(
    "cells",
    "groups of people",
    cells,
    {
        "cell": "The field's measures in one demographic group of the study.",
        "against_rest": "This group minus all other answers of the same chatbot, both of as many people as the smaller "
        "has; p by permutation, Holm over prompts.",
    },
    intervals=OF_GROUPS,
    tables=documents("cells", "cell", "By group of people"),
    pages=pages("cells", ("groups", "group-choices"), "by group"),
    draw=DRAWN_CELLS.draw,
    figure="demographics",
    say=say,
    finders=(Finder(5, find_cells),),
)
BY_CONTEXT = Part(
    "contexts",
    "ways to set up the chatbot",
    contexts,
    {"contexts": "The field's measures by how people's chatbots were set: memory, plan, model shown."},
    intervals=OF_GROUPS,
    tables=documents("contexts", "contexts", "By the chatbot's context"),
    pages=pages("contexts", ("contexts", "context-choices"), "by how the chatbot was set up"),
    draw=DRAWN_CONTEXTS.draw,
)
