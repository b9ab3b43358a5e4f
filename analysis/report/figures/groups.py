"""One measure in parts of the field: by group of people, by chatbot context, and by what is left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Grid, Measure, draw_grid
from analysis.charts.rows import (
    bootstrap_words,
    in_order,
    join_words,
    n_words,
    plural,
    prompts_in_order,
    rows_of,
    shown_model,
    write_caption,
)
from analysis.charts.theme import printable, series_of_groups
from analysis.report.figures.heterogeneity import MEASURES, value_of, with_axes

CORRECT = Measure("correct_share", "Share answered correctly", format=".1~f")
KINDS = {measure.name: measure for measure in (*MEASURES, CORRECT)}
DEFAULT = "entropy_bits"


@dataclass(frozen=True)
class Parts:
    """What a figure of this family compares: rows of one part of the report, told apart by `name_of`."""

    name: str
    part: str
    title: str
    nothing: str
    word: str
    name_of: Callable[[Row], str]

    def draw(self, report: Report, options: Options) -> Figure:
        measure = KINDS.get(options.measure, KINDS[DEFAULT])
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
        rarefied = options.rarefied and measure is not CORRECT
        values = row.get("rarefied") or {} if rarefied else row
        value, bounds = value_of(values, measure.name)
        low, high = bounds or (None, None)
        where = {"prompt": row["prompt"], "model": row["model"], self.word: self.name_of(row), "n": values.get("n")}
        return where | {measure.name: value, "low": low, "high": high, "why": row.get("why", "")}

    def caption(self, report: Report, table: Sequence[Row], measure: Measure, options: Options) -> str:
        drawn_down = options.rarefied and measure is not CORRECT
        return write_caption(
            report,
            f"Field answers only; {n_words(table)} responses a mark{', rarefied' if drawn_down else ', not rarefied'}.",
            bootstrap_words(report),
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
    return (row.get("kind", "recommendation") == "choice") == (measure is CORRECT)


def measure_axis(measure: Measure, points: Sequence[Row]) -> Measure:
    """From a little below the lowest value: parts of the field are near each other, and marks are read by position."""
    upper = measure if measure is CORRECT else with_axes([measure], points)[0]
    lowest = min(point["value"] if point["low"] is None else point["low"] for point in points)
    return replace(upper, bottom=max(0.0, lowest - 0.15 * (upper.top - lowest)))


def table_columns(word: str, measure: Measure) -> list[tuple[str, str, str]]:
    return [
        ("prompt", "prompt", ""),
        ("model", "chatbot", ""),
        (word, word, ""),
        ("n", "responses", ""),
        (measure.name, measure.spoken, ""),
        ("low", "from", ""),
        ("high", "to", ""),
        ("why", "why undefined", ""),
    ]


def point_of(row: Row, word: str, measure: Measure, options: Options) -> Row:
    prompt, model, value = options.name(row["prompt"]), shown_model(row["model"], options), row[measure.name]
    interval = f", 95 % interval {row['low']:.2f} to {row['high']:.2f}" if row["low"] is not None else ""
    told = f"{row[word]}, {prompt}, {model}: {measure.spoken} {value:.2f}{interval}, n = {row['n']}"
    where = {"panel": measure.name, "model": model, "prompt": prompt, "series": row[word], "text": told}
    return where | {"value": value, "low": row["low"], "high": row["high"]}


CELLS = Parts(
    "demographics",
    "cells",
    "The field by group of people",
    "No group of people has answers yet: there is nothing to compare.",
    "group",
    lambda row: printable(row.get("name") or row["cell"]),
)
CONTEXTS = Parts(
    "contexts",
    "contexts",
    "The field by chatbot context",
    "Nobody has said yet how their chatbot was set up: there is nothing to compare.",
    "context",
    lambda row: f"{printable(row['context']).replace('_', ' ')}: {printable(row['value'])}",
)
SENSITIVITY = Parts(
    "sensitivity",
    "sensitivity",
    "The field with other answers left out",
    "No field answers yet: there is nothing to compare.",
    "answers",
    lambda row: printable(row["set"]),
)
