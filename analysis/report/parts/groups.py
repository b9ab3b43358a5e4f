"""The field's measures in parts of its people: by demographic group, chatbot context and excluded answers."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure, prompt_name
from analysis.charts.panels import Panel, draw_grids, grid_of, with_axes
from analysis.charts.tables import SHARE, Column
from analysis.charts.theme import printable, series_of_groups
from analysis.report import columns as col
from analysis.report.claims.enough import FEWEST as FEWEST_TOLD
from analysis.report.columns import Columns, Measure, Part, TableSpec, intervals, is_choice, is_list, rows_in
from analysis.report.dataset import TOLD
from analysis.report.filters import FILTERS
from analysis.report.parts.heterogeneity import difference_rows, measured, rarefied_row
from analysis.report.questions.choices import BOUNDS, RIGHT, TESTS, letter_row
from analysis.report.questions.choices import difference_row as choice_difference_row
from analysis.report.samples import Data, Rows, Source, common_n, correct_over_prompts, difference_in, generator_for
from analysis.stats import choices, heterogeneity
from analysis.stats.heterogeneity import Chance, Difference, Heterogeneity
from analysis.stats.item_measures import MEASURES
from analysis.stats.resampling import ItemSample
from analysis.stats.speed import Memo
from surveys.studies.wording import join_words, sized

CONTEXTS = ("memory", "personalisation", "plan", "model_shown", "device")
Parts = dict[str, Rows]
FEWEST = 5  # people per context value: a product that one person named is no group


def cells(data: Data) -> list[Row]:
    names = {cell.slug: cell.name for cell in data.definition.cells}
    found = [
        {"cell": value, "name": names.get(value, value), **row}
        for value, row in parted(data, "cell", [*names, *sorted(set(values_of(data, "cell")) - set(names))])
    ]
    return corrected(found)


def contexts(data: Data) -> list[Row]:
    """Rows by how the chatbot was set up, and by people's answers to the study's background questions."""
    told = [column for column in data.people.columns if column.startswith(TOLD)]
    found = [
        {"context": context, "value": value, **row}
        for context in (*CONTEXTS, *told)
        for value, row in parted(data, context, frequent(data, context))
    ]
    return corrected(found)


def values_of(data: Data, column: str) -> list[str]:
    return [str(value) for value in data.people[column].dropna().unique() if value != ""]


def frequent(data: Data, column: str) -> list[str]:
    counts = data.people[column].value_counts()
    return sorted(str(value) for value, people in counts.items() if people >= FEWEST and value != "")


def parted(data: Data, column: str, values: list[str]) -> list[tuple[str, Row]]:
    """Split each chatbot's field by a column of its people; parts without answers have no row."""
    return [
        row
        for group in data.groups
        for prompt in data.prompts
        for row in part_rows(data, column, values, group.field, prompt)
    ]


def part_rows(data: Data, column: str, values: list[str], field: Source, prompt: str) -> list[tuple[str, Row]]:
    given = data.once_for_all(("people's", column), partial(given_by_answer, data, column))
    rows = data.rows_of(field, prompt)
    parts = {value: part for value in values if len(part := rows[given[rows] == value])}
    split = choice_parts if prompt in data.choices else item_parts
    found = split(data, field, prompt, rows, parts)
    return [(value, common(data, field, prompt, parts[value]) | measures) for value, measures in found]


def given_by_answer(data: Data, column: str) -> NDArray[np.object_]:
    """The value in this column of the person behind each answer of the field."""
    answered_by = data.frames.field.columns["unit"]
    return np.asarray(data.frames.people[column].reindex(answered_by).to_numpy(object))


def item_parts(data: Data, source: Source, prompt: str, rows: Rows, parts: Parts) -> Iterable[tuple[str, Row]]:
    """Yield each part raw, rarefied to a common n, and against all other answers with the same chatbot."""
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
            row = row | {
                "against_rest": choice_difference_row(choices.compare(one, other, rng, data.draws), min(one.n, other.n))
            }
        yield value, row


class Drawn:
    """Cached random draws from parts of the field's answers to one prompt; two parts share their test."""

    def __init__(self, data: Data, prompt: str) -> None:
        self.data, self.prompt = data, prompt
        self.found = Memo()

    def name(self, rows: Rows) -> str:
        """The name of the draws, the same for all prompts that the same people answered."""
        units = np.sort(self.data.frames.field.columns["unit"][rows])
        return hashlib.sha256(units.tobytes()).hexdigest()

    def sample(self, rows: Rows) -> ItemSample:
        return self.found.get(("sample", rows.tobytes()), lambda: self.data.items_in(True, self.prompt, rows))

    def described(self, rows: Rows) -> Heterogeneity:
        key = ("part", self.prompt, rows.tobytes())
        return self.data.once_for_all(key, lambda: heterogeneity.describe(self.sample(rows)))

    def rarefied(self, rows: Rows, n: int) -> Heterogeneity:
        """The measures rarefied to n of these people."""
        if n == len(rows):
            return self.described(rows)

        def compute() -> Heterogeneity:
            sample = self.sample(rows)
            return heterogeneity.rarefy(sample, n, self.data.shared_draws.subsets(sample, n, self.name(rows)))

        return self.found.get(("rarefied", n, rows.tobytes()), compute)

    def compared(self, part: Rows, rest: Rows) -> dict[str, Difference]:
        """Part minus rest, both rarefied to the smaller one's people. Rest minus part has the same test."""
        n = min(len(part), len(rest))

        def compute() -> dict[str, Chance]:
            samples, names = (self.sample(part), self.sample(rest)), (self.name(part), self.name(rest))
            splits = self.data.shared_draws.split(*samples, *names)
            return heterogeneity.permutation_test(splits, n)

        chances = self.found.get(frozenset((part.tobytes(), rest.tobytes())), compute)
        return heterogeneity.differences(self.rarefied(part, n), self.rarefied(rest, n), chances)


def rows_without(rows: Rows, part: Rows) -> Rows:
    """The rows outside `part`; both must be in ascending order."""
    return np.delete(rows, np.searchsorted(rows, part))


def corrected(found: list[Row]) -> list[Row]:
    """Correct the rows' p (Holm) over all of them and over both tables of the page; return the rows."""
    tests = (difference_in("against_rest", name) for name in dict.fromkeys((*MEASURES, *TESTS)))
    correct_over_prompts(found, *tests, tables=2)
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


QUESTION = "question"


@dataclass(frozen=True)
class GroupFigure:
    """A figure that compares rows of one part of the report, named by `name_of`."""

    name: str
    part: str
    title: str
    nothing: str
    word: str
    name_of: Callable[[Row], str]
    asked: str = ""  # the rows' key of a question, if each question has a panel of its own

    def draw(self, report: Report, options: Options) -> Figure:
        measure = col.ASKED.get(options.measure, col.DEFAULT)
        rows = [row for row in read.rows_of(report, self.part) if fits(row, measure)]
        if not any(row.get("rarefied") for row in rows):
            options = replace(options, rarefied=False)  # as in sensitivity, whose sets differ in size
        columns = self.columns(measure, options)
        table = [
            read.drawn_row(row, columns) for row in rows if not self.asked or len(self.answers_beside(row, rows)) > 1
        ]
        known = [row for row in table if row[measure.name] is not None]
        if not known:
            return empty_figure(self.name, self.title, self.nothing, columns, options, table)
        points = [
            point_of(row, self.word, measure, options) | ({"panel": row[QUESTION]} if self.asked else {})
            for row in known
        ]
        series = series_of_groups(point["series"] for point in points)
        prompts = read.prompt_names(report, known, options)
        grid = grid_of(self.panels(measure, points), points, series, options, prompts, 170)
        words = Words(
            self.title, self.caption(report, table, measure, options), read.describe_marks(points, measure.spoken)
        )
        return make_figure(self.name, words, draw_grids([grid]), points, table, columns, options)

    def answers_beside(self, row: Row, rows: Sequence[Row]) -> list[Row]:
        """The rows of the same question, chatbot and prompt; a single one has nothing to compare with."""
        return [other for other in rows if all(other[name] == row[name] for name in (self.asked, "model", "prompt"))]

    def panels(self, measure: Measure, points: Sequence[Row]) -> tuple[Panel, ...]:
        """One panel, or one for each question, all with the same axis."""
        axis = measure_axis(measure, [point | {"panel": measure.name} for point in points])
        if not self.asked:
            return (axis,)
        names = read.in_order(point["panel"] for point in points)
        heads = {name: f"{context_name(name)}: {axis.title.lower()}" for name in names}
        return tuple(replace(axis, name=name, title=head, short=head) for name, head in heads.items())

    def columns(self, measure: Measure, options: Options) -> list[Column]:
        rarefied = options.rarefied and measure is not col.CORRECT

        def values(row: Row) -> Row:
            return row.get("rarefied") or {} if rarefied else row

        return [
            Column("prompt", "prompt"),
            Column("model", "chatbot"),
            Column(self.word, self.word, value=self.name_of),
            *([Column(QUESTION, QUESTION, value=lambda row: row[self.asked])] if self.asked else []),
            Column("n", "responses", value=lambda row: values(row).get("n")),
            *(*measure.drawn(values), read.WHY),
        ]

    def caption(self, report: Report, table: Sequence[Row], measure: Measure, options: Options) -> str:
        drawn_down = options.rarefied and measure is not col.CORRECT
        how = "rarefied" if drawn_down else "not rarefied"
        if self.asked and drawn_down:
            how = "the answers to one question drawn down to one n"
        drawn = [row for row in table if row[measure.name] is not None]
        return read.write_caption(
            report,
            f"Field answers only; {self.sizes(drawn)} responses a mark, {how}.",
            "Lines are 95 % intervals over people.",
            "The axis need not begin at 0.",
            definitions=[measure.name],
            missing=sum(row[measure.name] is None for row in table),
        )

    def sizes(self, table: Sequence[Row]) -> str:
        """n in words, by question if the rows are answers to questions."""
        if not self.asked:
            return read.n_words(table)
        by_question = read.grouped(table, QUESTION).items()
        return join_words([f"{context_name(name)} {read.n_words(rows)}" for name, rows in by_question])


def fits(row: Row, measure: Measure) -> bool:
    """Whether the measure applies to the kind of the row's prompt."""
    return (row.get("kind", "recommendation") == "choice") == (measure is col.CORRECT)


def measure_axis(measure: Measure, points: Sequence[Row]) -> Panel:
    """An axis that starts a little below the lowest value, since parts differ little."""
    upper = with_axes([measure.panel], points)[0]
    lowest = min(point["value"] if point["low"] is None else point["low"] for point in points)
    return replace(upper, bottom=max(0.0, lowest - 0.15 * (upper.top - lowest)))


def point_of(row: Row, word: str, measure: Measure, options: Options) -> Row:
    said = f"{measure.spoken} {row[measure.name]:.2f}{read.told_ends(row)}, {sized(row['n'])}"
    where = read.shown_model(row["model"], options), options.name(row["prompt"]), row[word]
    return read.mark_at(measure.name, *where, row[measure.name], row, said)


# In tables --------------------------------------------------------------------------------------------------


def context_name(context: str) -> str:
    """The label of a setting's filter, or a question's slug in words."""
    return FILTERS[context].label if context in FILTERS else prompt_name(context.removeprefix(TOLD))


def group_name(row: Row) -> str:
    return row["name"] if "cell" in row else f"{context_name(row['context'])}: {row['value']}"


def only(row: Row) -> Row:
    """The filter that selects these people."""
    if "cell" in row:
        return {"cell": row["cell"]}
    context, value = row["context"], row["value"]
    return {"answer": f"{context.removeprefix(TOLD)}:{value}"} if context.startswith(TOLD) else {context: value}


WHOSE = (col.PROMPT, col.CHATBOT, Column("name", "Who", value=group_name, short="group"))
N_OF_GROUP = replace(col.N, texts=only)
SHARE_UNKNOWN = Column("unknown", "Unknown", SHARE, value=lambda row: row["unknown"] / row["n"] if row["n"] else None)


def list_columns(rows: list[Row], options: Options) -> Columns:
    inside = "rarefied" if options.rarefied else ""
    against = col.ENTROPY.differences("against_rest", "Entropy minus the rest's")
    return [*WHOSE, N_OF_GROUP, *(measure.column(inside) for measure in col.OF_LISTS), *against]


CHOICE_COLUMNS = (
    *(*WHOSE, N_OF_GROUP, RIGHT, SHARE_UNKNOWN),
    *col.CORRECT.differences("against_rest", "Minus the rest's, points"),
)


def documents(part: str, word: str, title: str) -> tuple[TableSpec, TableSpec]:
    measured_columns = (*(measure.column() for measure in col.OF_LISTS), col.ENTROPY.rarefied())
    return (
        TableSpec(
            part,
            f"{title}: recommendations",
            (*WHOSE, col.SIZE, col.UNKNOWN, *measured_columns, *col.ENTROPY.differences("against_rest")),
            rows_in(part, is_list),
            (word, col.ENTROPY.name, "ci", "against_rest"),
        ),
        TableSpec(
            part,
            f"{title}: questions with choices",
            (*WHOSE, col.SIZE, col.UNKNOWN, RIGHT, BOUNDS, *col.CORRECT.differences("against_rest")),
            rows_in(part, is_choice),
            (word, col.CORRECT.name, "against_rest"),
        ),
    )


def pages(part: str, names: tuple[str, str], title: str) -> tuple[TableSpec, TableSpec]:
    return (
        TableSpec(
            names[0],
            f"Recommendations, {title}",
            list_columns,
            rows_in(part, is_list),
            ("cell", "rarefied", col.ENTROPY.name),
            f"The rest is everybody else with the same chatbot. {col.CORRECTED}",
        ),
        TableSpec(names[1], f"Choices, {title}", CHOICE_COLUMNS, rows_in(part, is_choice), (col.CORRECT.name,)),
    )


# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    if not report["cells"]:
        return "Nobody has answered in a group."
    return (
        f"No group can be compared: that takes {FEWEST_TOLD} answers to a prompt in the group, and as many from "
        "everybody else with its chatbot."
    )


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
    "To no question about the chatbot’s set-up are there two answers yet: there is nothing to compare.",
    "context",
    lambda row: f"{context_name(row['context'])}: {printable(row['value'])}",
    "context",
)
OF_GROUPS = (
    *(*col.OF_ITEMS, *col.OF_LETTERS, *intervals("jackknife", "unit", "against_rest.*.ci", of="recommendation")),
    *intervals("wilson", "unit", f"against_rest.{col.CORRECT.key}.ci", of="choice"),
    *intervals("bootstrap", "unit", "against_rest.tv.ci", of="choice"),
    *intervals("welch", "unit", f"against_rest.{col.ENTROPY.key}.ci", of="choice"),
)
CELLS = Part(
    "cells",
    "groups of people",
    cells,
    {
        "cell": "The field's measures in one demographic group of the study.",
        "against_rest": "This group minus all other answers of the same chatbot, both of as many people as the smaller "
        "has; p by permutation, Holm over all tests of the page.",
    },
    intervals=OF_GROUPS,
    tables=documents("cells", "cell", "By group of people"),
    pages=pages("cells", ("groups", "group-choices"), "by group"),
    draw=DRAWN_CELLS.draw,
    figure="demographics",
    say=say,
)
BY_CONTEXT = Part(
    "contexts",
    "ways to set up the chatbot",
    contexts,
    {
        "contexts": "The field's measures by how people's chatbots were set (memory, custom instructions, plan, model "
        "shown, device) and by what they answered to background questions."
    },
    intervals=OF_GROUPS,
    tables=documents("contexts", "contexts", "By the chatbot's context"),
    pages=pages("contexts", ("contexts", "context-choices"), "by how the chatbot was set up"),
    draw=DRAWN_CONTEXTS.draw,
)
