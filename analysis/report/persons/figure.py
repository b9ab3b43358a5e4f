"""The figure of person or dice: what the API's dice, the product's and the person make of how unlike answers are."""

from collections.abc import Iterator, Sequence

import altair as alt

from analysis.charts import figure
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import Strips, colour_scale, make_legend, room_for
from analysis.charts.paper import HIGH, LEAST_STEP
from analysis.charts.rows import (
    WHY,
    counts_in,
    drawn_row,
    ends_in,
    in_order,
    n_words,
    prompts_in_order,
    rows_of,
    shown_model,
    write_caption,
)
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, Series
from analysis.report.dataset import FIELD
from surveys.console.wording import INTERVAL, Span, count_range, decimal, number, plural, span

TITLE = "Is it the person or the dice?"
NOTHING = "Nobody was asked a prompt twice yet: the person cannot be told from the dice."
API, PRODUCT, PERSON = "the API’s dice", "the product’s extra dice", "the person"
ALL_DICE = "the product’s dice"  # where no stateless calls stand beside them
LOOKS = {API: "offline", PRODUCT: "option-1", ALL_DICE: "option-1", PERSON: "field"}
PARTS = {"dice": PRODUCT, "person": PERSON}
STEP, STEP_ON_PAPER = 24, 18  # px from row to row, at most
AROUND, TITLED = 100, 34  # px on paper for legend, headings and axis, and for the name of a chatbot
GAP, TOLD, LONGEST = 18, 112, 150  # px between panels, for a part in words, and for names
DRAWN_COLUMNS = [
    Column("prompt", "prompt", value=lambda row: row["prompt"] or "mean"),
    Column("model", "chatbot"),
    Column("units", "people"),
    Column("repeated", "people asked twice"),
    Column("n_offline", "calls"),
    Column("offline", "two calls", unit="unlikeness"),
    Column("within", "one person twice", unit="unlikeness"),
    Column("between", "two people", unit="unlikeness"),
    Column("dice", "product’s extra dice", unit="unlikeness"),
    *ends_in("unlikeness", "ci_dice", "dice_"),
    Column("person", "person", unit="unlikeness"),
    *ends_in("unlikeness", "ci_person", "person_"),
    Column("share", "person’s share"),
    *ends_in("", "ci_share", "share_"),
    Column("p", "p"),
    Column("p_holm", "p, Holm over the page"),
    WHY,
]


def draw_split(report: Report, options: Options) -> Figure:
    rows = [row for row in rows_of(report, "person_or_dice") if row["source"] == FIELD]
    table = [drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in rows if number(row["within"]) is not None and number(row["between"]) is not None]
    if not known:
        return figure.empty_figure("person_or_dice", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    points = [point for row in ordered(report, known) for point in points_of(row, options)]
    words = Words(TITLE, caption(report, known, len(rows) - len(known), options), describe(known, options))
    models = in_order(point["model"] for point in points)
    blocks = [draw_chatbot(points, model, models, options) for model in models]
    spec = figure.below(blocks, 10 if options.column else 18)
    return figure.make_figure("person_or_dice", words, spec, points, table, DRAWN_COLUMNS, options)


def ordered(report: Report, rows: Sequence[Row]) -> list[Row]:
    """Of each chatbot the prompts by how much the person adds, and their mean below them."""
    order = prompts_in_order(report, rows)
    return sorted(rows, key=lambda row: (row["model"], not row["prompt"], -row["person"], order.index(row["prompt"])))


def name_of(row: Row, options: Options) -> str:
    return options.name(row["prompt"]) if row["prompt"] else f"Mean of {row['prompts']}"


def points_of(row: Row, options: Options) -> Iterator[Row]:
    """A bar for each part that adds something, a bracket for one that takes away, and both parts with intervals."""
    name, model = name_of(row, options), shown_model(row["model"], options)
    where = {"row": name, "model": model, "is_mean": not row["prompt"]}
    offline, within, between = number(row.get("offline")), row["within"], row["between"]
    steps = [(ALL_DICE, 0.0, within), (PERSON, within, between)]
    if offline is not None:
        steps = [(API, 0.0, offline), (PRODUCT, offline, within), (PERSON, within, between)]
    for series, start, end in steps:
        told = f"{name}, {model}: {series} {end - start:+.2f}" if start else f"{name}, {model}: {series} {end:.2f}"
        kind = "bar" if end >= start else "bracket"
        yield where | {"kind": kind, "series": series, "from": start, "to": end, "text": told}
    for key, series in PARTS.items():
        value, ends = number(row.get(key)), span(row.get(f"ci_{key}"))
        if value is None:
            continue
        low, high = ends or (None, None)
        told = f"{name}, {model}: {series} {value:+.2f}" + (f", {INTERVAL} {low:.2f} to {high:.2f}" if ends else "")
        said = decimal(value, 2) + (f" ({low:.2f} to {high:.2f})".replace("-", "−") if ends else "")
        marks = {"kind": key, "series": series, "value": value, "low": low, "high": high, "said": said}
        yield where | marks | {"text": told}
        if key == "person" and ends:
            # Round the end of the last bar, whose length is the person's part.
            yield where | {"kind": "whisker", "from": within + ends[0], "to": within + ends[1]}


def step_on_paper(points: Sequence[Row], models: Sequence[str]) -> int:
    """As high as a part of a page allows."""
    rows = len({(point["model"], point["row"]) for point in points})
    return min(STEP_ON_PAPER, max(LEAST_STEP, (HIGH - AROUND - TITLED * len(models)) // rows))


def draw_chatbot(points: Sequence[Row], model: str, models: Sequence[str], options: Options) -> Spec:
    """The bars; beside them both added parts with their intervals, or, where there is little room, one in words.

    On paper panels are named above the first chatbot and axes below the last.
    """
    here = [point for point in points if point["model"] == model]
    names = tuple(dict.fromkeys(point["row"] for point in here))
    parts = [key for key in PARTS if any(point["kind"] == key for point in points)] if not options.narrow else []
    room = room_for(names, 110 if options.narrow else LONGEST)
    step = step_on_paper(points, models) if options.column else STEP
    headed, labelled = (not options.column or model == models[place] for place in (0, -1))
    free = options.width - 24 - room - (TOLD if options.narrow else 0)
    beside = round(0.24 * free)
    left = free - len(parts) * (beside + GAP)
    strips = Strips(names, left, room, step, 0.36)
    bars = figure.specs_of(bar_layers(strips, options, points, labelled))
    title = "How unlike are two answers to one prompt?" if headed else ""
    panels = [figure.panel(bars, left, strips.height, title, model=model)]
    for part in parts:
        plain = Strips(names, beside, room, step, 0.36, named=False)
        layers = figure.specs_of(part_layers(plain, part, points, labelled))
        panels.append(figure.panel(layers, beside, strips.height, PARTS[part] if headed else "", model=model))
    return figure.below([figure.beside(panels, GAP)], title=model if len(models) > 1 else "")


def rows_axis(strips: Strips) -> alt.Y:
    """With the mean, which stands below the prompts, in bold."""
    axis = strips.axis("row")
    is_mean = {"test": f"datum.value == {strips.names[-1]!r} && {'true' if len(strips.names) > 1 else 'false'}"}
    axis["axis"]["labelFontWeight"] = {"condition": {**is_mean, "value": "bold"}, "value": "normal"}
    return axis


def line_above_mean(strips: Strips) -> alt.Chart:
    rule = alt.Chart().transform_filter(alt.FieldEqualPredicate(field="is_mean", equal=True))
    return rule.mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1, yOffset=-strips.step / 2).encode(
        y=rows_axis(strips), x=alt.value(0), x2=alt.value(strips.width)
    )


def series_in(points: Sequence[Row]) -> Series:
    found = [name for name in LOOKS if name in {point.get("series") for point in points}]
    return Series(tuple(found), tuple(LIGHT[LOOKS[name]] for name in found), ("square",) * len(found))


def bar_layers(strips: Strips, options: Options, points: Sequence[Row], labelled: bool) -> list[alt.Chart]:
    """Bars one after the other, a bracket below where a part takes away, the person's interval at the end."""
    series = series_in(points)
    top = max(point["to"] for point in points if point["kind"] in ("bar", "whisker"))
    scale = alt.Scale(domain=[0, min(1.0, top)], nice=True)
    axis = axis_below("unlikeness, 0 to 1", 5, labelled)
    x, y = alt.X("from:Q", scale=scale, axis=axis), rows_axis(strips)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=make_legend(series, options, strips.room))
    bar, bracket, whisker = (figure.of_kind(kind).encode(y=y, x=x, x2="to:Q") for kind in ("bar", "bracket", "whisker"))
    ticks = figure.of_kind("whisker").encode(y=y)
    person = figure.of_kind("person").encode(y=y, x=alt.value(strips.width), text="said:N")
    return [
        bar.mark_bar(height=strips.bar, stroke=LIGHT["soft"], strokeWidth=0.5, aria=True)
        .encode(color=colour, description="text:N"),
        bracket.mark_rule(strokeWidth=2, yOffset=strips.bar / 2 + 2, aria=True)
        .encode(color=colour, description="text:N"),
        whisker.mark_rule(stroke=LIGHT["ink"], strokeWidth=1.4),
        *(
            ticks.mark_tick(color=LIGHT["ink"], thickness=1.4, size=7, orient="vertical", opacity=1)
            .encode(x=alt.X(f"{end}:Q", scale=scale, axis=axis))
            for end in ("from", "to")
        ),
        *([line_above_mean(strips)] if any(point["is_mean"] for point in points) else []),
        *([person.mark_text(align="left", dx=8, fontSize=11, fill=LIGHT["ink"])] if options.narrow else []),
    ]  # fmt: skip


def part_layers(strips: Strips, part: str, points: Sequence[Row], labelled: bool) -> list[alt.Chart]:
    """One of the two added parts with its interval; both have the same axis."""
    low, high = ends_of(points)
    scale = alt.Scale(domain=[low, high], nice=True)
    axis = axis_below("unlikeness added", 3, labelled)
    base = figure.of_kind(part).encode(y=rows_axis(strips))
    shape = "triangle-up" if part == "dice" else "square"
    marks: Row = {"shape": shape, "filled": True, "size": 60, "opacity": 1, "fill": LIGHT[LOOKS[PARTS[part]]]}
    x = alt.X("value:Q", scale=scale, axis=axis)
    return [
        alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1).encode(x=alt.datum(0)),
        base.mark_rule(stroke=LIGHT["soft"], strokeWidth=1.6).encode(
            x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"
        ),
        base.mark_point(stroke=LIGHT["soft"], strokeWidth=0.5, aria=True, **marks).encode(x=x, description="text:N"),
        *([line_above_mean(strips)] if any(point["is_mean"] for point in points) else []),
    ]


def axis_below(title: str, ticks: int, labelled: bool) -> alt.Axis:
    shown = title if labelled else None
    return alt.Axis(title=shown, labels=labelled, tickCount=ticks, grid=True, ticks=False, domain=False, format=".1~f")


def ends_of(points: Sequence[Row]) -> Span:
    added = [point for point in points if point["kind"] in PARTS]
    ends = [end for point in added for end in (point["value"], point["low"], point["high"]) if end is not None]
    return min(0.0, *ends), max(0.0, *ends) or 0.1


def caption(report: Report, rows: Sequence[Row], missing: int, options: Options) -> str:
    calls = [count for count in counts_in(rows, "n_offline") if count]
    beside = f", {count_range(*calls)} calls" if calls else ""
    told = " At the right what the person adds." if options.narrow else ""
    below = " A line below a bar is a part that takes away." if any((row.get("dice") or 0) < 0 for row in rows) else ""
    return write_caption(
        report,
        f"{n_words(rows, 'repeated')} people asked twice a row{beside}.",
        f"The whole bar is how unlike the answers of two people are.{below}{told}",
        "Lines are 95 % intervals over people, and over people and calls.",
        definitions=["unlikeness", "dice", "person"],
        missing=missing,
        rows=rows,
        sizes=False,
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    """For each chatbot the mean, or its only prompt."""
    found = []
    for model in in_order(row["model"] for row in rows):
        here = [row for row in rows if row["model"] == model]
        row = next((one for one in here if not one["prompt"]), here[0])
        first = "" if row.get("offline") is None else f"two calls {row['offline']:.2f}, "
        found.append(
            f"{shown_model(model, options)}, over {plural(int(row['prompts']), 'prompt')}: {first}one person twice "
            f"{row['within']:.2f}, two people {row['between']:.2f}."
        )
    return " ".join(found)
