"""Figures of agreement and ratings: who agrees with whom, label shares, scores, and what naming the attribute does."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple

import altair as alt

from analysis.agreement.kind_tables import MEAN, OF_BOTH, UNNAMED
from analysis.agreement.tables import FEW_RATERS, MEASURES, MOST_RATERS, clustered
from analysis.charts.figure import (
    SIMULATED,
    Columns,
    Figure,
    Options,
    Row,
    Spec,
    Words,
    below,
    empty_figure,
    make_figure,
    of_kind,
    panel,
    specs_of,
)
from analysis.charts.rows import ends_in
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, printable
from surveys.studies.wording import decimal, percent, plural, sized

Question = dict[str, Any]
Draw = Callable[[Question, Options], Figure]
ROW, CELL, FOR_TEXT = 22, 54, 34  # px: of a row, of a cell at most, and of a cell with room for its number
ROOM, TEXT = 150, 60  # for names on the left, and for the number at the end
TEXT_WITH_N = 110
NOTHING = "There is nothing to draw yet."
MATRIX: Columns = [
    Column("a", "rater"),
    Column("b", "other rater"),
    Column("n", "items both labelled"),
    Column("kappa", "Cohen’s κ"),
    *ends_in(),
]
VALUES: Columns = [
    Column("panel", "of"),
    Column("row", "who or what"),
    Column("n", "n"),
    Column("value", "value"),
    *ends_in(),
]


def draw_matrix(question: Question, options: Options) -> Figure:
    """Draw κ, or `options.measure`, of each pair with enough items; people before judges, many raters in clusters.

    Beyond MOST_RATERS, only those with the most labels.
    """
    title, everybody = f"Who agrees with whom: {question['question']}", len(question["raters"])
    question = keep_busiest(question)
    measure, least = options.measure or "kappa", question.get("least", 1)
    pairs = [pair for pair in question.get("pairs", ()) if pair["n"] >= least and is_known(pair[measure])]
    table = [matrix_row(pair, measure) for pair in pairs]
    columns = [Column(measure, MEASURES[measure]) if column.name == "kappa" else column for column in MATRIX]
    if not table:
        nothing = f"{MEASURES[measure]} can be told of no two raters with {plural(least, 'item')} or more in common."
        return empty_figure("matrix", title, nothing if question.get("pairs") else NOTHING, columns, options)
    names = [printable(rater["rater"]) for rater in clustered(question, measure)]
    cells = [cell for row in table for cell in (cell_of(row, "a", "b", measure), cell_of(row, "b", "a", measure))]
    step = max(1, min(CELL, (options.width - ROOM) // len(names)))
    side = step * len(names)
    x = alt.X("x:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, orient="top", labelAngle=-40))
    y = alt.Y("y:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, labelLimit=ROOM))
    shade = alt.Opacity("value:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 0.75], clamp=True), legend=None)
    layers = [
        of_kind("cell")
        .mark_rect(fill=LIGHT["sp-profile"], aria=True)
        .encode(x=x, y=y, opacity=shade, description=alt.Description("text:N"))
    ]
    if step >= FOR_TEXT:
        layers.append(
            of_kind("cell").mark_text(fontSize=11, fill=LIGHT["ink"]).encode(x=x, y=y, text=alt.Text("short:N"))
        )
    low, high = format_ends([(row[measure], f"{row['a']} and {row['b']}") for row in table])
    each = f" for each of {len(table)} pairs" if len(table) > 1 else ""
    told = f"goes from {low} to {high}" if high else f"is {low}{each}"
    caption = (
        f"{MEASURES[measure]} over the items that both labelled, where these are {least} or more: the darker, the "
        "better."
    )
    if len(names) > FEW_RATERS:
        caption += " Raters who agree stand beside one another."
    if everybody > MOST_RATERS:
        caption += f" Of {everybody} raters, the {MOST_RATERS} who gave the most labels."
    words = Words(title, caption, f"{MEASURES[measure]} {told}.")
    return make_figure("matrix", words, panel(specs_of(layers), side, side), cells, table, columns, options)


def keep_busiest(question: Question) -> Question:
    raters = sorted(question["raters"], key=lambda rater: -rater["n"])[:MOST_RATERS]
    names = {rater["rater"] for rater in raters}
    return question | {
        "raters": [rater for rater in question["raters"] if rater["rater"] in names],
        "pairs": [pair for pair in question.get("pairs", ()) if {pair["a"], pair["b"]} <= names],
    }


def matrix_row(pair: Mapping[str, Any], measure: str) -> Row:
    low, high = pair[measure]["ci"] or (None, None)
    names = {side: printable(pair[side]) for side in "ab"}
    return {**names, "n": pair["n"], measure: pair[measure]["value"], "low": low, "high": high}


def cell_of(row: Row, x: str, y: str, measure: str) -> Row:
    text = f"{row['a']} and {row['b']}: {MEASURES[measure]} {row[measure]:.2f}, {sized(row['n'])}"
    places = {"x": row[x], "y": row[y], "value": row[measure]}
    return {"kind": "cell", **places, "short": f"{row[measure]:.2f}", "text": text}


# Values with intervals -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """The ends and ticks of an axis, and the value at which a line marks no difference."""

    low: float
    high: float
    ticks: tuple[float, ...]
    line: float | None = None


SHARES = Axis(0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1))


def draw_shares(question: Question, options: Options) -> Figure:
    """Draw the share of each rater's labels that each label takes."""
    table = [
        estimate_row(label, rater["rater"], rater["shares"][label])
        for label in question.get("values", ())
        for rater in question.get("raters", ())
    ]
    title = f"How often each label is given: {question['question']}"
    return draw_values("shares", title, "Share of each rater’s labels, with 95 % intervals.", table, options)


def draw_corpora(question: Question, options: Options) -> Figure:
    """Draw the share of each label in each corpus."""
    table = [
        estimate_row(label, row["corpus"] or "no corpus named", row["shares"][label])
        for label in question.get("values", ())
        for row in question.get("by_corpus", ())
    ]
    title = f"Labels by corpus: {question['question']}"
    caption = "Share of the labels that people gave, or judges where nobody else labels, with 95 % intervals."
    return draw_values("corpora", title, caption, table, options)


def draw_scores(question: Question, options: Options) -> Figure:
    """Draw the F1 of each rater against the majority of the others."""
    table = [
        estimate_row("F1", rater["rater"], rater["f1"]) for rater in question.get("raters", ()) if is_known(rater["f1"])
    ]
    title = f"Each rater against the majority of the others: {question['question']}"
    caption = "F1 over the items where the others have a majority."
    if len({row["n"] for row in table}) > 1:  # such as retrieval, which rates half of the prompts
        caption += " Not all were held against the same items: n stands beside each value."
    return draw_values("scores", title, caption, table, options, with_n=True)


def estimate_row(part: str, name: str, found: Mapping[str, Any]) -> Row:
    low, high = found["ci"] or (None, None)
    ends = {"value": found["value"], "low": low, "high": high}
    return {"panel": printable(part), "row": printable(name), "n": found["n"], **ends}


def is_known(found: Mapping[str, Any]) -> bool:
    return found["value"] is not None


def draw_values(
    name: str,
    title: str,
    caption: str,
    table: list[Row],
    options: Options,
    axes: Mapping[str, Axis] | None = None,
    *,
    with_n: bool = False,
) -> Figure:
    """Draw each panel of the table. `axes`: for panels whose values are not shares; `with_n`: n beside each value."""
    if not table:
        return empty_figure(name, title, NOTHING, VALUES, options)
    parts = [part for row in table for part in parts_of(row, with_n)]
    panels = dict.fromkeys(row["panel"] for row in table)
    specs = [draw_panel(part, table, options, (axes or {}).get(part, SHARES), with_n) for part in panels]
    words = Words(title, caption, summarise_ends(table))
    return make_figure(name, words, below(specs, 14), parts, table, VALUES, options)


def summarise_ends(table: Sequence[Row]) -> str:
    low, high = format_ends([(row["value"], f"{row['row']}, {row['panel']}") for row in table])
    if not high:
        return f"The value is {low}." if len(table) == 1 else f"All values are {low}."
    return f"Values go from {low} to {high}."


def format_ends(found: Sequence[tuple[float, str]]) -> tuple[str, str]:
    """Format the lowest and the highest of (value, name), each with its first name and the number of others.

    If all values look the same, the highest is empty, and so are the names unless there is one value only.
    """
    by_value: dict[str, list[str]] = {}
    for value, name in sorted(found, key=lambda each: each[0]):
        by_value.setdefault(decimal(value), []).append(name)
    if len(by_value) == 1 < len(found):
        return next(iter(by_value)), ""
    ends = [
        f"{value} ({', '.join([names[0], *([f'{len(names) - 1} more'] if len(names) > 1 else [])])})"
        for value, names in by_value.items()
    ]
    return ends[0], ends[-1] if len(ends) > 1 else ""


def parts_of(row: Row, with_n: bool = False) -> list[Row]:
    where = {"panel": row["panel"], "row": row["row"]}
    value, n = decimal(row["value"]), sized(row["n"])
    text, short = f"{row['row']}, {row['panel']}: {value}, {n}", f"{value}, {n}" if with_n else value
    parts = [{**where, "kind": "value", "start": row["value"], "text": text, "short": short}]
    if row["low"] is not None:
        parts.append({**where, "kind": "ci", "start": row["low"], "end": row["high"]})
    return parts


def draw_panel(part: str, table: Sequence[Row], options: Options, axis: Axis, with_n: bool = False) -> Spec:
    room = TEXT_WITH_N if with_n else TEXT
    names = list(dict.fromkeys(row["row"] for row in table if row["panel"] == part))
    y = alt.Y("row:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, labelLimit=ROOM, minExtent=ROOM))
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False)
    x = alt.X("start:Q", scale=scale, axis=alt.Axis(title=None, values=list(axis.ticks), format="~g"))
    layers = [
        of_kind("ci").mark_rule(stroke=LIGHT["ink"], strokeWidth=1.5).encode(y=y, x=x, x2=alt.X2("end:Q")),
        of_kind("value").mark_point(fill=LIGHT["sp-profile"], stroke=LIGHT["sp-profile"], size=55, opacity=1, aria=True)
        .encode(y=y, x=x, description=alt.Description("text:N")),
        of_kind("value").mark_text(fontSize=11, fill=LIGHT["soft"], align="left")
        .encode(y=y, x=alt.XValue(options.width - ROOM - room + 10), text=alt.Text("short:N")),
    ]  # fmt: skip
    if axis.line is not None:
        line = alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeDash=[4, 3])
        layers.insert(0, line.encode(x=alt.XDatum(axis.line, scale=scale)))
    return panel(specs_of(layers), options.width - ROOM - room, ROW * len(names), part, panel=part)


# Ratings ---------------------------------------------------------------------------------------------------

LOW = "Share no better than generic"
LEAST_WRITTEN = 0.05  # of a bar: narrower parts have no room for a label
HABITS: Columns = [
    Column("generator", "model that wrote"),
    Column("judge", "judge"),
    Column("rate", "share of its responses that name the attribute"),
    *ends_in(name="rate_"),
    Column("gap", "its gap as a judge"),
    *ends_in(name="gap_"),
]


# By the model that wrote ----------------------------------------------------------------------------------


def draw_ratings(question: Question, options: Options) -> Figure:
    """Draw the ratings of each model's responses: their distribution, mean, and share no better than generic."""
    rows = [row for row in question.get("ratings", {}).get("generators", ()) if row["n"]]
    title = "Ratings by the model that wrote the response"
    if not rows:
        return empty_figure("ratings", title, NOTHING, VALUES, options)
    labels = question["values"]
    named = [(row["generator"] or UNNAMED, row) for row in rows]
    shares = [estimate_row(label, name, row["shares"][label]) for name, row in named for label in labels]
    means = [estimate_row(MEAN.label, name, row["mean"]) for name, row in named]
    low = [estimate_row(LOW, name, row["no_better"]) for name, row in named]
    middle = (float(labels[0]) + float(labels[-1])) / 2
    axis = Axis(float(labels[0]), float(labels[-1]), tuple(map(float, labels)), middle)
    specs = [
        draw_bars(shares, options),
        draw_panel(MEAN.label, means, options, axis),
        draw_panel(LOW, low, options, SHARES),
    ]
    parts = [*bars_of(shares), *(part for row in (*means, *low) for part in parts_of(row))]
    ends = f"{labels[0]}: the generic response is preferred, {labels[-1]}: the personalised one"
    caption = f"{ends}; the dashed line: neither. Lines are 95 % intervals."
    words = Words(title, caption, summarise_ends(means))
    return make_figure("ratings", words, below(specs, 14), parts, [*shares, *means, *low], VALUES, options)


BARS = "Share of each rating"


def bars_of(shares: Sequence[Row]) -> list[Row]:
    """Stack each model's shares, the lowest rating first and palest."""
    labels = list(dict.fromkeys(row["panel"] for row in shares))
    ends: dict[str, float] = {}
    parts = []
    for row in shares:
        start = ends.get(row["row"], 0.0)
        ends[row["row"]] = end = start + row["value"]
        where = {"panel": BARS, "row": row["row"], "start": start, "end": end, "middle": (start + end) / 2}
        text = f"{row['row']}, rating {row['panel']}: {percent(row['value'])} of {row['n']:,}"
        depth = (labels.index(row["panel"]) + 1) / len(labels)
        parts.append({**where, "kind": "bar", "text": text, "depth": depth})
        if row["value"] >= LEAST_WRITTEN:
            parts.append({**where, "kind": "label", "short": row["panel"]})
    return parts


def draw_bars(shares: Sequence[Row], options: Options) -> Spec:
    names = list(dict.fromkeys(row["row"] for row in shares))
    y = alt.Y("row:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, labelLimit=ROOM, minExtent=ROOM))
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("start:Q", scale=scale, axis=alt.Axis(title=None, format="%", values=list(SHARES.ticks), grid=False))
    depth = alt.Opacity("depth:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 0.75]), legend=None)
    layers = [
        of_kind("bar").mark_bar(fill=LIGHT["sp-profile"], height=ROW - 6, aria=True)
        .encode(y=y, x=x, x2=alt.X2("end:Q"), opacity=depth, description=alt.Description("text:N")),
        of_kind("label").mark_text(fontSize=11, fill=LIGHT["ink"])
        .encode(y=y, x=alt.X("middle:Q", scale=scale), text=alt.Text("short:N")),
    ]  # fmt: skip
    return panel(specs_of(layers), options.width - ROOM - TEXT, ROW * len(names), BARS, panel=BARS)


# What naming the attribute does ---------------------------------------------------------------------------

ALL_RESPONSES, BY_WRITER = "All responses, by who rates", "By the model that wrote, rated by"


def draw_mentions(question: Question, options: Options) -> Figure:
    """Draw each rater's mean rating of responses that name the attribute minus that of the others."""
    found = question.get("ratings", {})
    table = [
        estimate_row(ALL_RESPONSES, row["rater"], row["gap"]) for row in found.get("raters", ()) if is_known(row["gap"])
    ]
    raters = dict.fromkeys(rater for row in found.get("generators", ()) for rater in sorted(row["gaps"]))
    table += [
        estimate_row(f"{BY_WRITER} {rater}", row["generator"] or UNNAMED, row["gaps"][rater])
        for rater in sorted(raters, key=lambda name: name != "people")
        for row in found.get("generators", ())
        if rater in row["gaps"] and is_known(row["gaps"][rater])
    ]
    ends = [abs(row[name]) for row in table for name in ("value", "low", "high") if row[name] is not None]
    reach = max(1, ceil(max(ends, default=1)))
    axis = Axis(-reach, reach, tuple(float(tick) for tick in range(-reach, reach + 1)), 0)
    axes = {row["panel"]: axis for row in table}
    title = "What naming the attribute does to ratings"
    caption = "Mean rating of responses that name the attribute minus that of those that do not. 95 % intervals."
    return draw_values("mentions", title, caption, table, options, axes)


def draw_habits(question: Question, options: Options) -> Figure:
    """Draw how often models that write and judge name the attribute, against their gap as judges."""
    found = question.get("ratings", {}).get("habits", {"models": ()})
    table = [habit_row(row) for row in found["models"] if is_known(row["mention_rate"]) and is_known(row["gap"])]
    title = "Do models that name attributes also reward it?"
    if not table:
        nothing = (
            "No model both wrote and judged responses: the tag generator must be named as the judge’s endpoint is."
        )
        return empty_figure("habits", title, nothing, HABITS, options)
    caption = (
        "Across: share of a model’s responses that name the attribute. Up: its gap as a judge of all responses. "
        f"Lines are 95 % intervals. {format_correlation(found['spearman'])}"
    )
    words = Words(title, caption, " ".join(row["text"] for row in table))
    return make_figure("habits", words, draw_points(table, options), table, table, HABITS, options)


def habit_row(row: Question) -> Row:
    rate, gap = row["mention_rate"], row["gap"]
    (rate_low, rate_high), (gap_low, gap_high) = (each["ci"] or (None, None) for each in (rate, gap))
    name, judge = printable(row["generator"]), printable(row["rater"])
    signed = decimal(gap["value"], sign=True)
    text = f"{judge}: names the attribute in {percent(rate['value'])} of its responses, gap {signed}."
    ends = {"rate_low": rate_low, "rate_high": rate_high, "gap_low": gap_low, "gap_high": gap_high}
    return {"generator": name, "judge": judge, "rate": rate["value"], "gap": gap["value"], **ends, "text": text}


def format_correlation(estimate: Mapping[str, Any]) -> str:
    if estimate["value"] is None:
        return f"No rank correlation: {estimate['why']}."
    interval = f" ({estimate['ci'][0]:.2f} to {estimate['ci'][1]:.2f})" if estimate["ci"] else ""
    return f"Spearman’s ρ over {estimate['n']} models: {estimate['value']:.2f}{interval}."


def draw_points(table: Sequence[Row], options: Options) -> Spec:
    ends = [abs(row[name]) for row in table for name in ("gap", "gap_low", "gap_high") if row[name] is not None]
    reach = max(1.0, ceil(max(ends) * 2) / 2)
    x = alt.Scale(domain=[0, 1], nice=False)
    y = alt.Scale(domain=[-reach, reach], nice=False)
    across = alt.X("rate:Q", scale=x, axis=alt.Axis(title=OF_BOTH[0].label, format="%", values=list(SHARES.ticks)))
    up = alt.Y("gap:Q", scale=y, axis=alt.Axis(title=OF_BOTH[1].label))
    whole, colour = alt.Chart(), LIGHT["sp-profile"]
    layers = [
        whole.mark_rule(stroke=LIGHT["strong-line"], strokeDash=[4, 3]).encode(y=alt.YDatum(0, scale=y)),
        whole.mark_rule(stroke=LIGHT["ink"]).encode(x=alt.X("rate_low:Q", scale=x), x2=alt.X2("rate_high:Q"), y=up),
        whole.mark_rule(stroke=LIGHT["ink"]).encode(x=across, y=alt.Y("gap_low:Q", scale=y), y2=alt.Y2("gap_high:Q")),
        whole.mark_point(fill=colour, stroke=colour, size=60, opacity=1, aria=True)
        .encode(x=across, y=up, description=alt.Description("text:N")),
        whole.mark_text(fontSize=11, fill=LIGHT["ink"], align="left", dx=8, dy=-8)
        .encode(x=across, y=up, text=alt.Text("judge:N")),
    ]  # fmt: skip
    return panel(specs_of(layers), options.width - 2 * TEXT, 300)


class TitledDraw(NamedTuple):
    """A figure's title in a list of files, and the function that draws it."""

    title: str
    draw: Draw


AGREEMENT_FIGURES = {
    "matrix": TitledDraw("κ of each two raters", draw_matrix),
    "shares": TitledDraw("How often each rater gives each label", draw_shares),
    "corpora": TitledDraw("Labels by corpus", draw_corpora),
    "scores": TitledDraw("F1 of each rater against the majority", draw_scores),
}
RATING_FIGURES = {
    "ratings": TitledDraw("Ratings by the model that wrote the response", draw_ratings),
    "mentions": TitledDraw("What naming the attribute does to ratings", draw_mentions),
    "habits": TitledDraw("Models that name attributes, and that reward it", draw_habits),
}
FIGURES = AGREEMENT_FIGURES | RATING_FIGURES


def draw_figure(name: str, question: Question, options: Options, simulated: Collection[str]) -> Figure:
    """Draw one of FIGURES; mark the drawing and the rows of its table that rest on simulated raters, if any."""
    drawn, made_up = FIGURES[name].draw(question, options), {printable(rater) for rater in simulated}
    if not made_up or not drawn.table:
        return drawn
    known = {printable(rater["rater"]) for rater in question["raters"]}
    # A row that names no rater, such as that of all people, rests on the simulated ones too.
    table = [row | {"simulated": bool(made_up & {*row.values()}) or not known & {*row.values()}} for row in drawn.table]
    columns, spec = [*drawn.columns, Column("simulated", "simulated")], {"usermeta": {"mark": SIMULATED}}
    return replace(drawn, table=table, columns=columns, spec=drawn.spec | spec, mark=SIMULATED)
