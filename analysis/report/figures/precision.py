"""How wide the field's intervals will be with a planned number of answers."""

from collections.abc import Sequence

from analysis.charts.figure import Figure, Options, Report, Row, Words, below, empty_figure, make_figure
from analysis.charts.panels import Grid, Measure, draw_grid
from analysis.charts.rows import in_order, n_words, number, prompts_in_order, rows_of, shown_model, span, write_caption
from analysis.charts.theme import series_of_groups
from analysis.report.figures.heterogeneity import with_axes

TITLE = "How wide intervals will be"
NOTHING = "No field answers yet: nothing says how wide intervals will be."
MEASURES = (
    Measure("entropy_bits", "Width for entropy, bits", format=".2~f"),
    Measure("item_share", "Width for the share of the most frequent item", format=".2~f"),
    Measure("correct_share", "Width for the share answered correctly", format=".2~f"),
)
OF_CHOICES = {"correct_share"}
COLUMNS = [
    ("prompt", "prompt", ""),
    ("model", "chatbot", ""),
    ("measure", "measure", ""),
    ("n", "answers so far", ""),
    ("planned_n", "planned answers", ""),
    ("width", "expected width of the interval", ""),
    ("low", "from", ""),
    ("high", "to", ""),
    ("why", "why undefined", ""),
]


def draw_precision(report: Report, options: Options) -> Figure:
    rows = rows_of(report, "precision")
    table = [table_row(row) for row in rows]
    known = [row for row in table if row["width"] is not None]
    shown = [m for m in MEASURES if options.measure in ("", m.name) and m.name in {row["measure"] for row in known}]
    if not shown:
        return empty_figure("precision", TITLE, NOTHING, COLUMNS, options, table)
    points = [point_of(row, options) for row in known]
    sizes = sorted({int(row["planned_n"]) for row in known})
    # Prompts with choices have other measures than those with lists.
    halves = [[m for m in shown if (m.name in OF_CHOICES) == of_choices] for of_choices in (False, True)]
    grids = [
        Grid(
            with_axes(measures, points),
            tuple(in_order(point["model"] for point in points)),
            tuple(options.name(prompt) for prompt in prompts_in_order(report, asked)),
            series_of_groups(planned(size) for size in sizes),
            options,
            height=130,
        )
        for measures in halves
        if (asked := [row for row in known if row["measure"] in {measure.name for measure in measures}])
    ]
    words = Words(TITLE, caption(report, table), describe(known))
    return make_figure(
        "precision", words, below([draw_grid(grid) for grid in grids], 20), points, table, COLUMNS, options
    )


def planned(size: int) -> str:
    return f"n = {size:,}"


def table_row(row: Row) -> Row:
    low, high = span(row.get("ci")) or (None, None)
    found = {name: row.get(name) for name, _, _ in COLUMNS}
    return found | {"width": number(row.get("width")), "low": low, "high": high, "why": row.get("why", "")}


def point_of(row: Row, options: Options) -> Row:
    prompt, model, series = options.name(row["prompt"]), shown_model(row["model"], options), planned(row["planned_n"])
    told = f"{prompt}, {model}: with {series} the interval is {row['width']:.3f} wide"
    where = {"panel": row["measure"], "model": model, "prompt": prompt, "series": series, "text": told}
    return where | {"value": row["width"], "low": row["low"], "high": row["high"]}


def caption(report: Report, table: Sequence[Row]) -> str:
    return write_caption(
        report,
        f"Judged from the answers so far, {n_words(table)} a prompt, drawn again with replacement.",
        "Width of 95 % intervals; lines are 95 % intervals of that width.",
        missing=sum(row["width"] is None for row in table),
    )


def describe(rows: Sequence[Row]) -> str:
    """The mean width at the smallest and the largest planned number."""
    found = []
    for measure in MEASURES:
        here = [row for row in rows if row["measure"] == measure.name]
        if here:
            sizes = sorted({int(row["planned_n"]) for row in here})
            ends = [f"{mean_width(here, size):.3f} at {planned(size)}" for size in dict.fromkeys((sizes[0], sizes[-1]))]
            found.append(f"{measure.title}: {' and '.join(ends)}, on average over prompts.")
    return " ".join(found)


def mean_width(rows: Sequence[Row], size: int) -> float:
    widths = [row["width"] for row in rows if row["planned_n"] == size]
    return sum(widths) / len(widths)
