"""The same plan again on other days: how far its answers are from those of the first run."""

from collections.abc import Sequence
from datetime import date
from typing import Any

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
from analysis.charts.panels import AXIS, colour_scale, make_legend, shape_scale
from analysis.charts.rows import (
    Span,
    in_order,
    interval_of,
    n_words,
    number,
    plural,
    rows_of,
    shown_model,
    shown_source,
    sorted_by_prompt,
    write_caption,
)
from analysis.charts.theme import LIGHT, Series, printable, series_of_groups

TITLE = "Drift: the same prompts on another day"
NOTHING = "No run has been repeated on another day yet: there is no drift to show."
LIMIT = 0.05
MOST_DAYS = 6  # labels along x
# What is drawn of prompts of each kind.
MEASURES = {
    "recommendation": ("jsd_bits", "Distance from the first run, bits"),
    "choice": ("effect", "Change of the correct share"),
}
COLUMNS = [
    ("prompt", "prompt", ""),
    ("model", "model", ""),
    ("source", "source", ""),
    ("first_date", "first day", ""),
    ("date", "day", ""),
    ("first", "first run", ""),
    ("again", "run", ""),
    ("n_first", "first answers", ""),
    ("n", "answers", ""),
    ("jsd_bits", "Jensen–Shannon divergence", "bits"),
    ("effect", "change of the correct share", "share"),
    ("low", "from", ""),
    ("high", "to", ""),
    ("p", "p", ""),
    ("p_holm", "p, Holm over prompts", ""),
    ("why", "why undefined", ""),
]


def draw_drift(report: Report, options: Options) -> Figure:
    rows = sorted_by_prompt(report, rows_of(report, "drift"))
    table = [table_row(row) for row in rows]
    names = name_runs(rows, options)
    points = [point_of(row, name, options) for row, name in zip(rows, names, strict=True) if value_of(row) is not None]
    if not points:
        return empty_figure("drift", TITLE, NOTHING, COLUMNS, options, table)
    series = series_of_groups(in_order(point["series"] for point in points))
    sections = [
        spec
        for kind in MEASURES
        if (here := [point for point in points if point["kind"] == kind])
        for spec in draw_section(kind, here, series, options)
    ]
    words = Words(TITLE, caption(report, table, rows), describe(points))
    return make_figure("drift", words, below(sections, 14), points, table, COLUMNS, options)


def kind_of(row: Row) -> str:
    return "choice" if row.get("kind") == "choice" else "recommendation"


def value_of(row: Row) -> float | None:
    return number(row.get(MEASURES[kind_of(row)][0]))


def table_row(row: Row) -> Row:
    low, high = interval_of(row, MEASURES[kind_of(row)][0]) or (None, None)
    found = {name: row.get(name) for name, _, _ in COLUMNS}
    numbers = {name: number(row.get(name)) for name in ("jsd_bits", "effect", "p", "p_holm")}
    return found | numbers | {"low": low, "high": high, "why": row.get("why", "")}


def name_runs(rows: Sequence[Row], options: Options) -> list[str]:
    """The model, and the source where there are several."""
    several = len({row["source"] for row in rows}) > 1
    return [
        ", ".join([shown_model(row["model"], options), *([shown_source(row["source"])] if several else [])])
        for row in rows
    ]


def point_of(row: Row, name: str, options: Options) -> Row:
    low, high = interval_of(row, MEASURES[kind_of(row)][0]) or (None, None)
    p = next((p for key in ("p_holm", "p") if (p := number(row.get(key))) is not None), None)
    value, prompt, day = value_of(row), options.name(row["prompt"]), printable(row["date"])
    told = f"{prompt}, {name}, {day}: {value:.3f}" + (f", p = {p:.3f}" if p is not None else "")
    where = {"prompt": prompt, "series": name, "date": day, "kind": kind_of(row), "text": told}
    return where | {"value": value, "low": low, "high": high, "clear": p is not None and p < LIMIT}


def draw_section(kind: str, points: Sequence[Row], series: Series, options: Options) -> list[Spec]:
    """A panel for each prompt, all with the same axes."""
    across = 1 if options.narrow else 3
    width = (options.width - 20 - across * (AXIS + 14)) // across
    layers = specs_of(day_layers(series, points, kind, options))
    prompts = in_order(point["prompt"] for point in points)
    panels = [panel(layers, width, 92, prompt, prompt=prompt, kind=kind) for prompt in prompts]
    rows = [beside(some, 14) for some in split(panels, across)]
    return [below(rows, 8, MEASURES[kind][1])]


def axis_ends(points: Sequence[Row]) -> Span:
    values = [value for point in points for value in (point["value"], point["low"], point["high"]) if value is not None]
    return min(0.0, *values), max(0.0, *values) or 1.0


def day_layers(series: Series, points: Sequence[Row], kind: str, options: Options) -> list[alt.Chart]:
    """Days along x; marks that could be chance are hollow."""
    ends, shown = axis_ends(points), shown_days(sorted({point["date"] for point in points}))
    days = alt.Axis(title=None, format="%-d %b", values=shown, grid=False, labelFontSize=11, labelOverlap=True)
    # Days are days of the study, not of whoever draws them: no time zone may move them.
    x = alt.X("date:T", scale=alt.Scale(type="utc", padding=12), axis=days)
    form = ".1~f" if ends[1] - ends[0] > 0.5 else ".2~f"
    axis = alt.Axis(title=None, tickCount=3, format=form, domain=False, ticks=False, minExtent=AXIS, maxExtent=AXIS)
    scale, legend = alt.Scale(domain=list(ends), nice=True), make_legend(series, options)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=legend)
    shape = alt.Shape("series:N", scale=shape_scale(series), legend=legend)
    base = alt.Chart().encode(x=x, color=colour)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=axis)

    zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1).encode(y=alt.datum(0))
    marks: dict[str, Any] = {"opacity": 1, "size": 50, "aria": True}
    clear, chance = (
        base.transform_filter(alt.FieldEqualPredicate(field="clear", equal=is_clear)) for is_clear in (True, False)
    )
    return [
        *([zero] if kind == "choice" else []),
        base.mark_line(strokeWidth=1, opacity=0.5).encode(y=y("value")),
        base.mark_rule(strokeWidth=1.4).encode(y=y("low"), y2="high:Q"),
        clear.mark_point(filled=True, **marks).encode(y=y("value"), shape=shape, description="text:N"),
        chance.mark_point(filled=False, fill=LIGHT["paper"], strokeWidth=1.5, **marks)
        .encode(y=y("value"), shape=shape, description="text:N"),
    ]  # fmt: skip


def shown_days(days: Sequence[str]) -> list[alt.DateTime]:
    """At most six of the days, the first and the last among them."""
    places = (
        range(len(days))
        if len(days) <= MOST_DAYS
        else [round(k * (len(days) - 1) / (MOST_DAYS - 1)) for k in range(MOST_DAYS)]
    )
    return [moment(days[place]) for place in places]


def moment(day: str) -> alt.DateTime:
    found = date.fromisoformat(day)
    return alt.DateTime(year=found.year, month=found.month, date=found.day, utc=True)


def caption(report: Report, table: Sequence[Row], rows: Sequence[Row]) -> str:
    first = n_words(table, "n_first").removeprefix("n = ")
    return write_caption(
        report,
        f"{n_words(table)} answers a mark, against {first} of the first run.",
        f"Hollow marks could be chance (Holm-corrected p of at least {LIMIT}). Lines are 95 % bootstrap intervals.",
        definitions=["jsd_bits"],
        missing=sum(value_of(row) is None for row in rows),
    )


def describe(points: Sequence[Row]) -> str:
    """For each run how many of its marks are more than chance, and which is the largest."""
    found = []
    for name in in_order(point["series"] for point in points):
        here = [point for point in points if point["series"] == name]
        clear = sum(point["clear"] for point in here)
        far = max(here, key=lambda point: abs(point["value"]))
        compared = plural(len(here), "comparison")
        found.append(
            f"{name}: {clear} of {compared} with the first run differ by more than chance; {told_largest(far)}."
        )
    return " ".join(found)


def told_largest(point: Row) -> str:
    if point["kind"] == "choice":
        return f"the largest change is {100 * point['value']:+.1f} points, {point['prompt']} on {point['date']}"
    return f"the largest distance is {point['value']:.3f} bits, {point['prompt']} on {point['date']}"
