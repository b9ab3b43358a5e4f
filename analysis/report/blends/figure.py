"""The figure of a blend: the weight of each source beside how far it and the blend are from the field."""

from collections.abc import Sequence

import altair as alt

from analysis.charts import figure
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import PERCENT, Strips, along, colour_scale, dots, room_for
from analysis.charts.rows import (
    WHY,
    drawn_row,
    ends_in,
    in_order,
    label_variants,
    rows_of,
    shown_model,
    shown_source,
    write_caption,
)
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, Series, series_of_sources
from analysis.report.dataset import ALL
from surveys.console.wording import INTERVAL, count_range, decimal, join_words, number, percent, plural, sized, span

TITLE = "Which blend of sources comes nearest to the field?"
NOTHING = "No chatbot has two sources with answers to the prompts that people answered: there is nothing to blend."
BLEND = "Blend"
STEP, ON_PHONE, ON_PAPER, GAP, LONGEST = 26, 36, 16, 22, 190  # px: of a row, between panels, and for names
DRAWN_COLUMNS = [
    Column("chatbot", "field of", value=lambda row: row["chatbot"] or ALL),
    Column("source", "source", value=lambda row: row["source"] or "blend"),
    Column("model", "model"),
    Column("name", "name"),
    Column("units", "people, simulated users or repeats"),
    Column("weight", "weight", unit="share"),
    *ends_in("share", "ci_weight", "weight_"),
    Column("distance", "distance to the field; of the blend held out"),
    *ends_in("", "ci_distance", "distance_"),
    Column("p", "p"),
    Column("p_holm", "p, Holm over chatbots"),
    WHY,
]


def draw_blend(report: Report, options: Options) -> Figure:
    rows = named(rows_of(report, "blend"))
    table = [drawn_row(row, DRAWN_COLUMNS) for row in rows]
    marks = [mark for row in rows for mark in marks_of(row, options)]
    if not marks:
        return figure.empty_figure("blend", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    series = series_of_sources(row["source"] for row in rows if row["source"])
    series = Series((*series.names, BLEND), (*series.colours, LIGHT["ink"]), (*series.shapes, "diamond"))
    models = in_order(mark["model"] for mark in marks)
    spec = figure.below([draw_chatbot(marks, model, models, series, options) for model in models], 16)
    words = Words(TITLE, caption(report, rows), describe(rows, options))
    return figure.make_figure("blend", words, spec, marks, table, DRAWN_COLUMNS, options)


def named(rows: Sequence[Row]) -> list[Row]:
    """Of each chatbot the sources, by weight, and their blend below them."""
    names = label_variants(rows)
    rows = [row | {"name": name if row["source"] else BLEND} for row, name in zip(rows, names, strict=True)]
    order = in_order(row["chatbot"] for row in rows)
    return sorted(
        rows, key=lambda row: (order.index(str(row["chatbot"])), not row["source"], -(row.get("weight") or 0))
    )


def marks_of(row: Row, options: Options) -> list[Row]:
    series = shown_source(row["source"]) if row["source"] else BLEND
    where = {"row": row["name"], "model": shown_model(row["chatbot"] or ALL, options), "series": series}
    found = []
    for kind, write in (("weight", percent), ("distance", lambda value: decimal(value, 3))):
        value, ends = number(row.get(kind)), span(row.get(f"ci_{kind}"))
        if value is not None:
            low, high = ends or (value, value)
            told = f", {INTERVAL} {write(low)} to {write(high)}" if ends else ""
            text = f"{row['name']}, {where['model']}: {kind} {write(value)}{told}"
            found.append(where | {"kind": kind, "value": value, "low": low, "high": high, "text": text})
    return found


def draw_chatbot(marks: Sequence[Row], model: str, models: Sequence[str], series: Series, options: Options) -> Spec:
    here = [mark for mark in marks if mark["model"] == model]
    names = tuple(in_order(mark["row"] for mark in here))
    room = room_for(names, 120 if options.narrow else LONGEST, 11 if options.column else 12)
    width = (options.width - 24 - room - GAP) // 2
    on_phone = options.narrow and not options.column
    step = ON_PAPER if options.column else ON_PHONE if on_phone else STEP
    titles = ("Weight in the blend", "Distance to the field")
    panels = []
    for place, (kind, title) in enumerate(zip(("weight", "distance"), titles, strict=True)):
        strips = Strips(names, width, room, step, 0.4, named=not place)
        layers = figure.specs_of(layers_of(strips, kind, marks, series, on_phone))
        panels.append(figure.panel(layers, width, strips.height, title, model=model, kind=kind))
    return figure.below([figure.beside(panels, GAP)], title=model if len(models) > 1 else "")


def layers_of(strips: Strips, kind: str, marks: Sequence[Row], series: Series, on_phone: bool) -> list[alt.Chart]:
    """Bars of weights with their intervals; dots of distances, which begin at 0."""
    y = strips.axis("row")
    if on_phone and strips.named:
        y["axis"]["labelExpr"] = "split(datum.label, ', ')"  # the settings in a line of their own
    base = alt.Chart().encode(y=y)
    shown = [mark for mark in marks if mark["kind"] == kind]
    low, high = min(0.0, *(mark["low"] for mark in shown)), max(mark["high"] for mark in shown)
    is_weight = kind == "weight"
    scale = alt.Scale(domain=[0, 1] if is_weight else [low, high], nice=not is_weight)
    axis = alt.Axis(title=None, tickCount=4, grid=True, ticks=False, domain=False, format=".2~f")
    if is_weight:
        axis["labelExpr"] = PERCENT
    x = along(alt.X, scale, axis)
    if not is_weight:
        zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1).encode(x=alt.X(datum=0, scale=scale))
        return [zero, *dots(base, x, series, None, 70)]
    colour = alt.Color("series:N", scale=colour_scale(series), legend=None)
    bar = base.mark_bar(height=strips.bar, stroke=LIGHT["soft"], strokeWidth=0.5, aria=True)
    return [
        bar.encode(x=x("value"), x2=alt.datum(0), color=colour, description="text:N"),
        base.mark_rule(stroke=LIGHT["ink"], strokeWidth=1.4).encode(x=x("low"), x2="high:Q"),
    ]


def caption(report: Report, rows: Sequence[Row]) -> str:
    people = [int(row["units"]) for row in rows if not row["source"] and row["units"]]
    units = [int(row["units"]) for row in rows if row["source"] and row["units"]]
    return write_caption(
        report,
        f"{sized(*people)} people, {count_range(*units)} simulated users or repeats a source. Weights are the "
        "same for all prompts; the blend’s distance is in people and simulated users that it was not fitted to.",
        f"Lines are {INTERVAL}s over people, simulated users and repeats.",
        definitions=["blend_distance"],
        missing=sum(row.get("distance") is None for row in rows if row["source"]),
        rows=rows,
        sizes=False,
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    found = []
    for blended in (row for row in rows if not row["source"]):
        same = [row for row in rows if row["source"] and row["chatbot"] == blended["chatbot"] and row.get("weight")]
        if same:
            parts = join_words(
                [f"{row['name']} {percent(row['weight'])}, {decimal(row['distance'], 3)} away" for row in same]
            )
            away = "" if blended["distance"] is None else f"; the blend {decimal(blended['distance'], 3)} away"
            model = shown_model(blended["chatbot"] or ALL, options)
            found.append(f"{model}, over {plural(blended['prompts'], 'prompt')}: {parts}{away}.")
    return " ".join(found)
