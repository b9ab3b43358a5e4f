"""Noisy variants of a prompt beside the original: how much typos, slang or another language change the answers."""

from collections.abc import Sequence

from analysis.charts.figure import Figure, Options, Report, Row, Words, below, empty_figure, make_figure
from analysis.charts.panels import Grid, Measure, draw_grid
from analysis.charts.rows import (
    all_sources,
    bootstrap_words,
    in_order,
    interval_of,
    line_up,
    n_words,
    number,
    rows_of,
    shown_model,
    shown_source,
    sorted_by_prompt,
    write_caption,
)
from analysis.charts.theme import printable, series_of_sources

TITLE = "What noisy variants of a prompt change"
NOTHING = "No prompt of this study has variants with answers: there is nothing to compare."
# What is drawn of prompts of each kind.
MEASURES = {
    "recommendation": Measure("jsd_bits", "Distance from the original, bits; grey ticks: by chance", format=".2~f"),
    "choice": Measure("effect", "Change of the correct share", format=".2~f"),
}
COLUMNS = [
    ("prompt", "prompt", ""),
    ("variant", "variant", ""),
    ("model", "model", ""),
    ("source", "source", ""),
    ("n_original", "answers to the original", ""),
    ("n", "answers to the variant", ""),
    ("jsd_bits", "Jensen–Shannon divergence", "bits"),
    ("effect", "change of the correct share", "share"),
    ("low", "from", ""),
    ("high", "to", ""),
    ("p", "p", ""),
    ("p_holm", "p, Holm over prompts", ""),
    ("why", "why undefined", ""),
]


def draw_variants(report: Report, options: Options) -> Figure:
    rows = sorted_by_prompt(report, line_up(report, rows_of(report, "variants")))
    table = [table_row(row) for row in rows]
    points = [point_of(row, options) for row in rows if value_of(row) is not None]
    if not points:
        return empty_figure("variants", TITLE, NOTHING, COLUMNS, options, table)
    specs = [
        draw_grid(grid_of(measure, here, report, options))
        for measure in MEASURES.values()
        if (here := [point for point in points if point["panel"] == measure.name])
    ]
    words = Words(TITLE, caption(report, table, rows), describe(points))
    return make_figure("variants", words, below(specs, 20), points, table, COLUMNS, options)


def measure_of(row: Row) -> Measure:
    return MEASURES["choice" if row.get("kind") == "choice" else "recommendation"]


def value_of(row: Row) -> float | None:
    return number(row.get(measure_of(row).name))


def grid_of(measure: Measure, points: Sequence[Row], report: Report, options: Options) -> Grid:
    values = [
        v for point in points for v in (point["value"], point["low"], point["high"], point["chance"]) if v is not None
    ]
    fitted = Measure(measure.name, measure.title, max(0.0, *values) or 1.0, min(0.0, *values), measure.format)
    return Grid(
        (fitted,),
        tuple(in_order(point["model"] for point in points)),
        tuple(in_order(point["prompt"] for point in points)),
        series_of_sources(all_sources(report)).only(point["series"] for point in points),
        options,
        with_chance=measure.name == "jsd_bits",
        height=150,
    )


def table_row(row: Row) -> Row:
    low, high = interval_of(row, measure_of(row).name) or (None, None)
    numbers = {name: number(row.get(name)) for name in ("jsd_bits", "effect", "p", "p_holm")}
    found = {name: row.get(name) for name, _, _ in COLUMNS} | numbers
    return found | {"low": low, "high": high, "why": row.get("why", "")}


def point_of(row: Row, options: Options) -> Row:
    low, high = interval_of(row, measure_of(row).name) or (None, None)
    source, model = shown_source(row["source"]), shown_model(row["model"], options)
    prompt, value = f"{options.name(row['prompt'])}: {printable(row['variant'])}", value_of(row)
    interval = f", 95 % interval {low:.3f} to {high:.3f}" if low is not None else ""
    told = f"{source}, {prompt}, {model}: {value:.3f}{interval}, n = {row.get('n')}"
    where = {"panel": measure_of(row).name, "model": model, "prompt": prompt, "series": source, "text": told}
    return where | {"value": value, "low": low, "high": high, "chance": number(row.get("chance"))}


def caption(report: Report, table: Sequence[Row], rows: Sequence[Row]) -> str:
    original = n_words(table, "n_original").removeprefix("n = ")
    return write_caption(
        report,
        f"{n_words(table)} answers to a variant, against {original} to the original.",
        bootstrap_words(report),
        definitions=["jsd_bits", "chance"],
        missing=sum(value_of(row) is None for row in rows),
    )


def describe(points: Sequence[Row]) -> str:
    """For each source and measure the variant that changes most."""
    found = []
    for measure in MEASURES.values():
        for source in in_order(point["series"] for point in points):
            here = [point for point in points if (point["panel"], point["series"]) == (measure.name, source)]
            if here:
                far = max(here, key=lambda point: abs(point["value"]))
                found.append(f"{source}: {far['prompt']} ({far['model']}) changes most, by {told_size(far)}.")
    return " ".join(found)


def told_size(point: Row) -> str:
    return f"{point['value']:.3f} bits" if point["panel"] == "jsd_bits" else f"{100 * point['value']:+.1f} points"
