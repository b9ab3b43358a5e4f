"""Which sock puppet, at which history size, is nearest to the field: mean distance over prompts."""

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
from analysis.charts.panels import GAP, colour_scale, make_legend, panel_width, shape_scale
from analysis.charts.rows import (
    in_order,
    interval_of,
    label_variants,
    number,
    plural,
    rows_of,
    shown_model,
    shown_source,
    write_caption,
)
from analysis.charts.theme import LIGHT, Series, look_of, printable, series_of_sources

TITLE = "Which sock puppet is nearest to the field"
NOTHING = "No prompt has answers of both the field and a sock puppet yet: nothing can be calibrated."
NO_HISTORY = "none"
HEIGHT, MARK = 190, 16  # px: of a panel, and what one mark takes along x
COLUMNS = [
    ("model", "model", ""),
    ("source", "source", ""),
    ("history_size", "history size", "conversations"),
    ("temperature", "temperature", ""),
    ("corpus", "corpus", ""),
    ("personas", "personas", ""),
    ("jsd_bits", "mean Jensen–Shannon divergence", "bits"),
    ("low", "from", "bits"),
    ("high", "to", "bits"),
    ("prompts", "prompts", ""),
    ("nearest", "nearest sock puppet", ""),
    ("why", "why undefined", ""),
]


def draw_calibration(report: Report, options: Options) -> Figure:
    rows = rows_of(report, "calibration")
    table = [table_row(row) for row in rows]
    known = [row for row in rows if number(row.get("jsd_bits")) is not None]
    if not known:
        return empty_figure("calibration", TITLE, NOTHING, COLUMNS, options, table)
    # The size of the history is the x axis; a name says only what else sets a source apart.
    names = label_variants([row | {"history_size": None} for row in known])
    points = [point_of(name, row, options) for name, row in zip(names, known, strict=True)]
    sizes = sorted({int(row["history_size"]) for row in known if row.get("history_size") is not None})
    steps = [NO_HISTORY] * any(row.get("history_size") is None for row in known) + [f"{size:,}" for size in sizes]
    spec = draw_panels(points, steps, series_of_variants(names, known), options)
    words = Words(TITLE, caption(report, table), describe(known, options))
    return make_figure("calibration", words, spec, points, table, COLUMNS, options)


def table_row(row: Row) -> Row:
    low, high = interval_of(row, "jsd_bits") or (None, None)
    found = {name: row.get(name) for name, _, _ in COLUMNS}
    return found | {"jsd_bits": number(row.get("jsd_bits")), "low": low, "high": high, "why": row.get("why", "")}


def point_of(name: str, row: Row, options: Options) -> Row:
    low, high = interval_of(row, "jsd_bits") or (None, None)
    size, model = row.get("history_size"), shown_model(row["model"], options)
    step = NO_HISTORY if size is None else f"{int(size):,}"
    asked = "" if size is None else f", {plural(int(size), 'conversation')}"
    told = f"{name}{asked}, {model}: {row['jsd_bits']:.3f} bits over {plural(int(row.get('prompts') or 0), 'prompt')}"
    point = {"model": model, "series": name, "size": step, "value": row["jsd_bits"], "low": low, "high": high}
    return point | {
        "text": told + ", the nearest" * bool(row.get("nearest")),
        "nearest": bool(row.get("nearest")),
        "below": row["jsd_bits"] if low is None else low,
    }


def series_of_variants(names: Sequence[str], rows: Sequence[Row]) -> Series:
    """A source's first variant looks like the source; others keep its colour and take another shape."""
    looks: dict[str, tuple[str, str]] = {}
    taken: dict[str, int] = {}
    base = series_of_sources(str(row["source"]) for row in rows)
    for name, row in zip(names, rows, strict=True):
        if name in looks:
            continue
        place, variant = base.names.index(shown_source(row["source"])), taken.get(row["source"], 0)
        shape = base.shapes[place] if not variant else look_of(variant - 1)[1]
        looks[name], taken[row["source"]] = (base.colours[place], shape), variant + 1
    return Series(tuple(looks), tuple(look[0] for look in looks.values()), tuple(look[1] for look in looks.values()))


def draw_panels(points: Sequence[Row], steps: Sequence[str], series: Series, options: Options) -> Spec:
    models = in_order(point["model"] for point in points)
    across = 1 if options.narrow else min(len(models), 3)
    width = panel_width(across, options)
    top = max(max(point["value"], point["high"] or 0) for point in points)
    layers = specs_of(size_layers(steps, series, top, width, options))
    columns = [
        below(
            [panel(layers, width, HEIGHT, "Mean Jensen–Shannon divergence, bits", model=model)], title=printable(model)
        )
        for model in models
    ]
    return below([beside(some, GAP) for some in split(columns, across)], 18)


def size_layers(steps: Sequence[str], series: Series, top: float, width: int, options: Options) -> list[alt.Chart]:
    """Sizes along x, lines from size to size of one source, a ring round the nearest."""
    axis = alt.Axis(title="Conversations in front of the prompt", labelAngle=0, ticks=False, labelPadding=6)
    taken = min(0.8, MARK * len(series.names) * len(steps) / width)
    x = alt.X("size:O", scale=alt.Scale(domain=list(steps), paddingInner=1 - taken, paddingOuter=0.5), axis=axis)
    offset = alt.XOffset("series:N", scale=alt.Scale(domain=list(series.names), paddingOuter=0.5))
    y_axis = alt.Axis(title=None, tickCount=5, format=".2~f", domain=False, ticks=False, minExtent=32, maxExtent=32)
    scale = alt.Scale(domain=[0, top], nice=True)
    legend = make_legend(series, options)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=legend)
    base = alt.Chart().encode(x=x, xOffset=offset)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=y_axis)

    marks = base.mark_point(filled=True, opacity=1, size=64, aria=True)
    ring = base.transform_filter(alt.FieldEqualPredicate(field="nearest", equal=True))
    return [
        base.mark_line(strokeWidth=1, opacity=0.6).encode(y=y("value"), color=colour),
        base.mark_rule(strokeWidth=1.6).encode(y=y("low"), y2="high:Q", color=colour),
        marks.encode(
            y=y("value"),
            color=colour,
            shape=alt.Shape("series:N", scale=shape_scale(series), legend=legend),
            description="text:N",
        ),
        ring.mark_point(shape="circle", size=260, stroke=LIGHT["ink"], strokeWidth=1.4).encode(y=y("value")),
        ring.mark_text(dy=20, fontSize=11, fill=LIGHT["ink"], text="nearest").encode(y=y("below")),
    ]


def caption(report: Report, table: Sequence[Row]) -> str:
    counts = sorted({int(row["prompts"]) for row in table if number(row["prompts"])})
    over = "–".join(str(count) for count in dict.fromkeys([counts[0], counts[-1]])) if counts else "0"
    return write_caption(
        report,
        f"Means over n = {over} prompts. A ring marks each model's nearest sock puppet.",
        "Lines are 95 % bootstrap intervals.",
        definitions=["jsd_bits"],
        missing=sum(row["jsd_bits"] is None for row in table),
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    found = [describe_nearest(row, options) for row in rows if row.get("nearest")]
    return " ".join(found) or f"{TITLE}: mean distance by source and history size."


def describe_nearest(row: Row, options: Options) -> str:
    size = row.get("history_size")
    with_size = f" with {plural(int(size), 'conversation')}" if size is not None else ""
    return (
        f"{shown_model(row['model'], options)}: nearest to the field is {shown_source(row['source'])}{with_size}, "
        f"{row['jsd_bits']:.3f} bits away on average."
    )
