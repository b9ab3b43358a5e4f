"""What each source recommends to one prompt, side by side: the share of responses that name each item."""

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
from analysis.charts.panels import GAP, PERCENT, Strips, colour_scale, make_legend, room_for, shape_scale
from analysis.charts.rows import (
    all_sources,
    bootstrap_words,
    in_order,
    join_words,
    line_up,
    n_words,
    number,
    percent,
    plural,
    prompts_in_order,
    rows_of,
    shown_model,
    shown_source,
    span,
    write_caption,
)
from analysis.charts.theme import Series, printable, series_of_sources

TITLE = "What each source recommends"
NOTHING = "No items to compare yet: no source has named any to this prompt."
COLUMNS = [
    ("prompt", "prompt", ""),
    ("model", "model", ""),
    ("source", "source", ""),
    ("item", "item", ""),
    ("n", "responses", ""),
    ("count", "of them name it", "responses"),
    ("share", "share", "share"),
    ("low", "from", "share"),
    ("high", "to", "share"),
]


def draw_items(report: Report, options: Options) -> Figure:
    rows = line_up(report, rows_of(report, "items"))
    prompt = options.prompt or next(iter(prompts_in_order(report, rows)), "")
    rows = [row for row in rows if row["prompt"] == prompt and number(row.get("share")) is not None]
    chosen = choose_items(rows, options.top)
    shown = [row for row in rows if row["item"] in chosen]
    if not shown:
        return empty_figure("items", TITLE, NOTHING, COLUMNS, options)
    series = series_of_sources(all_sources(report)).only(shown_source(row["source"]) for row in shown)
    names = {item: name_of(item, shown) for item in chosen}
    models = in_order(shown_model(row["model"], options) for row in shown)
    spec = draw_dots(tuple(names.values()), models, series, axis_end(shown), options)
    table = [table_row(row) for row in shown]
    points = [point_of(row, names[row["item"]], options) for row in shown]
    title = f"{TITLE}: {options.name(prompt)}"
    words = Words(title, caption(report, rows, shown, chosen), describe(shown, names, options))
    return make_figure("items", words, spec, points, table, COLUMNS, options)


def choose_items(rows: Sequence[Row], top: int) -> list[str]:
    """The items that some source names most; those the field names most come first."""
    largest: dict[str, float] = {}
    field: dict[str, float] = {}
    for row in rows:
        largest[row["item"]] = max(row["share"], largest.get(row["item"], 0))
        if row["source"] == "field":
            field[row["item"]] = max(row["share"], field.get(row["item"], 0))
    named = [item for item in largest if largest[item] > 0]
    chosen = sorted(named, key=lambda item: (-largest[item], item))[:top]
    return sorted(chosen, key=lambda item: (-field.get(item, 0), -largest[item], item))


def name_of(item: str, rows: Sequence[Row]) -> str:
    return next(printable(row.get("name") or item) for row in rows if row["item"] == item)


def axis_end(rows: Sequence[Row]) -> float:
    return max(max(row["share"], (span(row.get("ci")) or (0, 0))[1]) for row in rows)


def table_row(row: Row) -> Row:
    low, high = span(row.get("ci")) or (None, None)
    found = {name: row.get(name) for name in ("prompt", "model", "source", "n", "count", "share")}
    return {"item": printable(row.get("name") or row["item"]), "low": low, "high": high} | found


def point_of(row: Row, name: str, options: Options) -> Row:
    low, high = span(row.get("ci")) or (None, None)
    model, source = shown_model(row["model"], options), shown_source(row["source"])
    interval = f", 95 % interval {percent(low)} to {percent(high)}" if low is not None and high is not None else ""
    told = f"{name}, {source}, {model}: {percent(row['share'])}{interval}, {row['count']} of {row['n']}"
    return {
        "item": name,
        "model": model,
        "series": source,
        "share": row["share"],
        "low": low,
        "high": high,
        "text": told,
    }


def draw_dots(items: tuple[str, ...], models: Sequence[str], series: Series, end: float, options: Options) -> Spec:
    room = room_for(items, 110 if options.narrow else 170)
    across = 1 if options.narrow else min(len(models), 2)
    width = (options.width - 24 - (across - 1) * GAP) // across - room
    strips = Strips(items, width, room, step=max(20, 7 * len(series.names) + 8), padding=0.14, lined=True)
    layers = specs_of(dot_layers(strips, series, end, options))
    blocks = [
        beside([below([panel(layers, width, strips.height, model=model)], title=model) for model in some], GAP)
        for some in split(models, across)
    ]
    return below(blocks, 18)


def dot_layers(strips: Strips, series: Series, end: float, options: Options) -> list[alt.Chart]:
    scale = alt.Scale(domain=[0, min(1.0, end)], nice=end < 0.9)
    axis = alt.Axis(title=None, labelExpr=PERCENT, tickCount=5, grid=True, ticks=False)
    legend = make_legend(series, options, strips.room)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=legend)
    base = alt.Chart().encode(
        y=strips.axis("item"),
        yOffset=alt.YOffset("series:N", scale=alt.Scale(domain=list(series.names), paddingOuter=0.5)),
    )
    side = min(8.5, strips.bar / len(series.names))
    return [
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", color=colour),
        base.mark_point(filled=True, opacity=1, size=0.79 * side**2, aria=True).encode(
            x=alt.X("share:Q", scale=scale, axis=axis),
            color=colour,
            shape=alt.Shape("series:N", scale=shape_scale(series), legend=legend),
            description="text:N",
        ),
    ]


def caption(report: Report, rows: Sequence[Row], shown: Sequence[Row], chosen: Sequence[str]) -> str:
    among = len({row["item"] for row in rows})
    left_out = f" of {among}" if among > len(chosen) else ""
    return write_caption(
        report,
        f"The {plural(len(chosen), 'item')}{left_out} that some source names most.",
        f"{n_words(shown)} responses a source.",
        bootstrap_words(report),
        definitions=["item_share"],
    )


def describe(rows: Sequence[Row], names: dict[str, str], options: Options) -> str:
    """For each model the item on which field and offline differ most."""
    found = [
        sentence
        for model in in_order(row["model"] for row in rows)
        if (sentence := describe_model([row for row in rows if row["model"] == model], names, options))
    ]
    return (
        " ".join(found) or f"{TITLE}: shares of responses that name {join_words(list(names.values())[:3])} and others."
    )


def describe_model(rows: Sequence[Row], names: dict[str, str], options: Options) -> str:
    shares = {(row["source"], row["item"]): row["share"] for row in rows}
    both = [item for source, item in shares if source == "field" and ("offline", item) in shares]
    if not both:
        return ""
    item = max(both, key=lambda item: abs(shares["field", item] - shares["offline", item]))
    field, offline = percent(shares["field", item]), percent(shares["offline", item])
    return (
        f"{shown_model(rows[0]['model'], options)}: the largest difference is {names[item]}, "
        f"named in {offline} of offline responses and {field} of the field's."
    )
