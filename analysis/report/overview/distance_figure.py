"""How far each source is from the field, above chance: the one figure that Compare opens with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt

from analysis.charts import figure
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import Strips, along, dots, room_for, words_on_grid
from analysis.charts.panels import GAP
from analysis.charts.rows import (
    AMOUNT_COLUMNS,
    WHY,
    amount_words,
    by_group,
    drawn_row,
    ends_in,
    in_order,
    label_variants,
    rows_of,
    shown_model,
    shown_source,
    without_amount,
    write_caption,
)
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, Series, series_of_sources
from analysis.report import columns as col
from analysis.report.claims.enough import too_few
from analysis.report.claims.gate import said_of
from analysis.report.parts.calibration import EXCESS
from surveys.console.wording import INTERVAL, Span, count_range, decimal, join_words, number, plural, span


@dataclass(frozen=True)
class OverviewFigure:
    """A figure of the first screen: the question it answers, its sentence, and the page that shows more."""

    name: str
    page: str
    question: str
    say: Callable[[Report], str]
    draw: Callable[[Report, Options], Figure]


QUESTION = "How far is each source from the field?"
NOTHING = "No prompt has answers of both the field and another source yet."
STEP, ON_PAPER, VALUE, LONGEST = 24, 14, 40, 190  # px: of a row, for the number at its end, and for names
COLUMNS = [
    Column("model", "model"),
    Column("source", "source"),
    *AMOUNT_COLUMNS,
    Column("units", "units of the source"),
    Column(EXCESS.name, EXCESS.heading, unit=EXCESS.unit),
    *ends_in("bits"),
    Column(col.DISTANCE.name, f"mean {col.DISTANCE.heading}", unit=col.DISTANCE.unit),
    Column("chance", "by chance", unit="bits"),
    Column("prompts", "prompts"),
    WHY,
]


def variant_names(rows: Sequence[Row]) -> list[str]:
    """A source with its history size, and with whatever else sets it apart."""
    names = label_variants([without_amount(row) for row in rows])
    return [", ".join(filter(None, (name, amount_words(row)))) for name, row in zip(names, rows, strict=True)]


def draw(report: Report, options: Options) -> Figure:
    rows = by_group(report, rows_of(report, "calibration"))
    table = [drawn_row(row, COLUMNS) for row in rows]
    known = [row for row in rows if number(row.get(EXCESS.name)) is not None]
    if not known:
        return figure.empty_figure("far", QUESTION, NOTHING, COLUMNS, options, table)
    marks = [mark_of(name, row, options) for name, row in zip(variant_names(known), known, strict=True)]
    words = Words(QUESTION, caption(report, rows, known), describe(marks))
    return figure.make_figure("far", words, draw_panels(marks, known, options), marks, table, COLUMNS, options)


def mark_of(name: str, row: Row, options: Options) -> Row:
    model = shown_model(row["model"], options)
    ends, value = span(row.get("ci")), row[EXCESS.name]
    interval = f", {INTERVAL} {decimal(ends[0])} to {decimal(ends[1])}" if ends else ""
    low, high = ends or (None, None)
    told = f"{name}, {model}: {decimal(value)} bits farther from the field than chance{interval}"
    where = {"row": name, "model": model, "series": shown_source(row["source"]), "text": told}
    return where | {
        "value": value,
        "low": low,
        "high": high,
        "said": decimal(value),
        "start": value if low is None else low,
        "end": high if high is not None else value,
    }


def draw_panels(marks: Sequence[Row], known: Sequence[Row], options: Options) -> Spec:
    models = in_order(mark["model"] for mark in marks)
    across = 1 if options.narrow else min(len(models), 2)
    on_phone = options.narrow and not options.column
    room = room_for([mark["row"] for mark in marks], 110 if on_phone else LONGEST, 11 if options.column else 12)
    width = (options.width - 20 - (across - 1) * GAP) // across - room - VALUE
    step = ON_PAPER if options.column else 36 if on_phone else STEP
    ends = min(0.0, *(mark["start"] for mark in marks)), max(0.0, *(mark["end"] for mark in marks))
    series = series_of_sources(row["source"] for row in known)
    columns = []
    for model in models:
        names = tuple(mark["row"] for mark in marks if mark["model"] == model)
        strips = Strips(
            tuple(dict.fromkeys(names)),
            width,
            room,
            step=step,
            padding=0.0,
        )
        drawn = figure.specs_of(layers(strips, ends, series, options))
        columns.append(figure.below([figure.panel(drawn, width, strips.height, model=model)], title=model))
    return figure.in_rows(columns, across, 14)


def layers(strips: Strips, ends: Span, series: Series, options: Options) -> list[alt.Chart]:
    """A line at what chance gives, then interval, mark and number."""
    axis = alt.Axis(
        title="bits above chance, which is the line", tickCount=4, format=".2~f", grid=True, ticks=False, domain=False
    )
    scale = alt.Scale(domain=list(ends), nice=True)
    y = strips.axis("row")
    if options.narrow and not options.column:
        y["axis"]["labelExpr"] = "split(datum.label, ', ')"  # the settings in a line of their own

    x = along(alt.X, scale, axis)
    base = alt.Chart().encode(y=y)
    return [
        alt.Chart().mark_rule(stroke=LIGHT["soft"], strokeWidth=1.4).encode(x=alt.X(datum=0, scale=scale, axis=axis)),
        *dots(base, x, series, None, 40 if options.column else 85, 2.0),
        *words_on_grid(base.encode(x=x("end"), text="said:N"), 11 if options.column else 12, align="left", dx=9),
    ]  # fmt: skip


def caption(report: Report, rows: Sequence[Row], known: Sequence[Row]) -> str:
    few = in_order(
        f"{name} with {plural(int(row.get('units') or 0), str(row.get('unit') or 'answer'))}"
        for name, row in zip(variant_names(rows), rows, strict=True)
        if row not in known
    )
    return write_caption(
        report,
        f"Means over {count_range(*(int(row['prompts']) for row in known))} prompts of the distance beyond what "
        "sampling alone gives samples of these sizes, with 95 % intervals; no source has a say in another’s.",
        f"Left out without a common prompt: {join_words(few)}." if few else "",
        definitions=[EXCESS.name],
        sizes=False,
    )


def describe(marks: Sequence[Row]) -> str:
    found = []
    for model in in_order(mark["model"] for mark in marks):
        here = [f"{mark['row']} {mark['said']}" for mark in marks if mark["model"] == model]
        found.append(f"{model}: bits away from the field above chance: {join_words(here)}.")
    return " ".join(found)


def say(report: Report) -> str:
    """For each model the sock puppet that is surely nearest, or why none is looked for."""
    return said_of(report, ("nearest",)) or too_few(rows_of(report, "heterogeneity"))


DISTANCE_FIGURE = OverviewFigure("far", "distances", QUESTION, say, draw)
