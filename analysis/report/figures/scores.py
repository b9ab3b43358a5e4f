"""Whether offline scores foretell the field's: rank correlations with intervals."""

from collections.abc import Sequence

import altair as alt

from analysis.charts.figure import (
    Figure,
    Options,
    Report,
    Row,
    Spec,
    Words,
    below,
    beside,
    empty_figure,
    make_figure,
    panel,
    specs_of,
    split,
)
from analysis.charts.panels import Strips, colour_scale, make_legend, room_for, shape_scale
from analysis.charts.rows import (
    all_sources,
    in_order,
    n_words,
    number,
    rows_of,
    shown_model,
    shown_source,
    span,
    write_caption,
)
from analysis.charts.theme import LIGHT, Series, printable, series_of_sources

TITLE = "Whether other sources foretell the field"
NOTHING = "Too few prompts and models have scores of both the field and another source: no correlation can be shown."
MEASURES = {
    "unique": "Distinct items",
    "top5_coverage": "Share of the five most frequent items",
    "entropy_bits": "Entropy",
    "correct_share": "Share answered correctly",
}
COLUMNS = [
    ("measure", "measure", ""),
    ("over", "over", ""),
    ("model", "model", ""),
    ("source", "source", ""),
    ("n", "pairs", ""),
    ("spearman", "Spearman's rho", ""),
    ("low", "from", ""),
    ("high", "to", ""),
    ("kendall", "Kendall's tau-b", ""),
    ("why", "why undefined", ""),
]


def draw_scores(report: Report, options: Options) -> Figure:
    rows = [row for row in rows_of(report, "scores") if row.get("measure") in MEASURES]
    table = [table_row(row) for row in rows]
    known = [row for row in table if row["spearman"] is not None]
    if not known:
        return empty_figure("scores", TITLE, NOTHING, COLUMNS, options, table)
    points = [point_of(row, options) for row in known]
    series = series_of_sources(all_sources(report)).only(point["series"] for point in points)
    words = Words(TITLE, caption(report, table), describe(points))
    return make_figure("scores", words, draw_panels(points, series, options), points, table, COLUMNS, options)


def table_row(row: Row) -> Row:
    low, high = span(row.get("ci_spearman")) or (None, None)
    found = {name: row.get(name) for name, _, _ in COLUMNS}
    numbers = {name: number(row.get(name)) for name in ("spearman", "kendall")}
    return found | numbers | {"low": low, "high": high, "why": row.get("why", "")}


def point_of(row: Row, options: Options) -> Row:
    source, where = shown_source(row["source"]), place_of(row, options)
    interval = f", 95 % interval {row['low']:.2f} to {row['high']:.2f}" if row["low"] is not None else ""
    measure = MEASURES[row["measure"]]
    told = f"{measure}, {source}, {where}: rho {row['spearman']:.2f}{interval}, n = {row['n']}"
    found = {"measure": row["measure"], "row": where, "series": source, "text": told}
    return found | {"value": row["spearman"], "low": row["low"], "high": row["high"]}


def place_of(row: Row, options: Options) -> str:
    """A model's name stands for the correlation over its prompts."""
    return shown_model(row["model"], options) if row.get("model") else printable(row["over"]).capitalize()


def draw_panels(points: Sequence[Row], series: Series, options: Options) -> Spec:
    names = tuple(in_order(point["row"] for point in points))
    room, across = room_for(names), 1 if options.narrow else 2
    width = (options.width - 20 - (across - 1) * 22) // across - room
    strips = Strips(names, width, room, step=max(22, 11 * len(series.names) + 6), padding=0.1, lined=True)
    layers = specs_of(dot_layers(strips, series, options))
    shown = [measure for measure in MEASURES if measure in {point["measure"] for point in points}]
    panels = [panel(layers, width, strips.height, MEASURES[measure], measure=measure) for measure in shown]
    return below([beside(some) for some in split(panels, across)], 14)


def dot_layers(strips: Strips, series: Series, options: Options) -> list[alt.Chart]:
    axis = alt.Axis(title=None, values=[-1, -0.5, 0, 0.5, 1], format="~f", ticks=False, grid=True)
    scale = alt.Scale(domain=[-1, 1], nice=False)
    legend = make_legend(series, options, strips.room)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=legend)
    offset = alt.YOffset("series:N", scale=alt.Scale(domain=list(series.names), paddingOuter=0.5))
    base = alt.Chart().encode(y=strips.axis("row"), yOffset=offset, color=colour)
    marks = base.mark_point(filled=True, opacity=1, size=60, aria=True)
    return [
        alt.Chart().mark_rule(stroke=LIGHT["strong-line"]).encode(x=alt.datum(0, scale=scale, axis=axis)),
        base.mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"),
        marks.encode(
            x=alt.X("value:Q", scale=scale, axis=axis),
            shape=alt.Shape("series:N", scale=shape_scale(series), legend=legend),
            description="text:N",
        ),
    ]


def caption(report: Report, table: Sequence[Row]) -> str:
    return write_caption(
        report,
        f"Spearman's rank correlation of each source's scores with the field's; {n_words(table)} pairs a mark.",
        "A row that is named after a model is over its prompts.",
        "Lines are 95 % bootstrap intervals over pairs. 1: the same order; 0: no relation; -1: the opposite order.",
        missing=sum(row["spearman"] is None for row in table),
    )


def describe(points: Sequence[Row]) -> str:
    """For each measure and source the lowest and highest correlation."""
    found = []
    for measure, title in MEASURES.items():
        for source in in_order(point["series"] for point in points):
            values = [p["value"] for p in points if (p["measure"], p["series"]) == (measure, source)]
            if values:
                ends = dict.fromkeys(f"{value:.2f}" for value in (min(values), max(values)))
                found.append(f"{title}, {source}: rho {' to '.join(ends)}.")
    return " ".join(found)
