"""Figures of agreement: who agrees with whom, label shares by corpus, and each rater against the others' majority."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from analysis.charts.figure import (
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
from analysis.charts.theme import LIGHT, printable

Question = Mapping[str, Any]
Draw = Callable[[Question, Sequence[str], Options], Figure]
ROW, CELL = 22, 54  # px
ROOM, TEXT = 150, 60  # for names on the left, and for the number at the end
NOTHING = "There is nothing to draw yet."
MATRIX: Columns = [
    ("a", "rater", ""),
    ("b", "other rater", ""),
    ("n", "items both labelled", ""),
    ("kappa", "Cohen’s κ", ""),
    ("low", "from", ""),
    ("high", "to", ""),
]
VALUES: Columns = [
    ("panel", "of", ""),
    ("row", "who or what", ""),
    ("n", "n", ""),
    ("value", "value", ""),
    ("low", "from", ""),
    ("high", "to", ""),
]


def draw_matrix(question: Question, labels: Sequence[str], options: Options) -> Figure:
    """Cohen's kappa of each two raters, people before judges."""
    title = f"Who agrees with whom: {question['question']}"
    table = [matrix_row(pair) for pair in question.get("pairs", ()) if pair["kappa"] is not None]
    if not table:
        return empty_figure("matrix", title, NOTHING, MATRIX, options)
    names = [printable(rater["rater"]) for rater in sorted(question["raters"], key=lambda rater: rater["is_model"])]
    cells = [cell for row in table for cell in (both(row, "a", "b"), both(row, "b", "a"))]
    side = min(CELL, (options.width - ROOM) // len(names)) * len(names)
    x = alt.X("x:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, orient="top", labelAngle=-40))
    y = alt.Y("y:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, labelLimit=ROOM))
    shade = alt.Opacity("value:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 0.75], clamp=True), legend=None)
    layers = [
        of_kind("cell")
        .mark_rect(fill=LIGHT["sp-profile"], aria=True)
        .encode(x=x, y=y, opacity=shade, description="text:N"),
        of_kind("cell").mark_text(fontSize=11, fill=LIGHT["ink"]).encode(x=x, y=y, text="short:N"),
    ]
    low, high = (pick(table, key=lambda row: row["kappa"]) for pick in (min, max))
    least, most = (f"{row['kappa']:.2f} ({row['a']} and {row['b']})" for row in (low, high))
    caption = "Cohen’s κ over the items that both labelled; intervals and n stand in the table."
    words = Words(title, caption, f"κ goes from {least} to {most}.")
    return make_figure("matrix", words, panel(specs_of(layers), side, side), cells, table, MATRIX, options)


def matrix_row(pair: Mapping[str, Any]) -> Row:
    low, high = pair["ci"].get("kappa") or (None, None)
    names = {side: printable(pair[side]) for side in "ab"}
    return {**names, "n": pair["n"], "kappa": pair["kappa"], "low": low, "high": high}


def both(row: Row, x: str, y: str) -> Row:
    text = f"{row['a']} and {row['b']}: κ {row['kappa']:.2f}, n {row['n']:,}"
    return {
        "kind": "cell",
        "x": row[x],
        "y": row[y],
        "value": row["kappa"],
        "short": f"{row['kappa']:.2f}",
        "text": text,
    }


# Values with intervals -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """From where to where values go, which numbers stand below, and where a line says that nothing differs."""

    low: float
    high: float
    ticks: tuple[float, ...]
    line: float | None = None


SHARES = Axis(0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1))


def draw_shares(question: Question, labels: Sequence[str], options: Options) -> Figure:
    """What share of its labels each rater gives to each label."""
    table = [
        value_row(label, rater["rater"], rater["n"], rater["distribution"][label], rater["ci"]["distribution"][label])
        for label in labels
        for rater in question.get("raters", ())
    ]
    title = f"How often each label is given: {question['question']}"
    return draw_values("shares", title, "Share of each rater’s labels, with 95 % intervals.", table, options)


def draw_corpora(question: Question, labels: Sequence[str], options: Options) -> Figure:
    """What share of the labels each label takes in each corpus."""
    table = [
        value_row(label, row["corpus"] or "no corpus named", row["n"], row["shares"][label], row["ci"]["shares"][label])
        for label in labels
        for row in question.get("by_corpus", ())
    ]
    title = f"Labels by corpus: {question['question']}"
    caption = "Share of the labels that people gave, or judges where nobody else labels, with 95 % intervals."
    return draw_values("corpora", title, caption, table, options)


def draw_scores(question: Question, labels: Sequence[str], options: Options) -> Figure:
    """F1 of each rater against the majority of the others."""
    table = [
        value_row("F1", rater["rater"], rater["compared"], rater["f1"], rater["ci"].get("f1"))
        for rater in question.get("raters", ())
        if rater["f1"] is not None
    ]
    title = f"Each rater against the majority of the others: {question['question']}"
    return draw_values("scores", title, "F1 over the items where the others have a majority.", table, options)


def value_row(part: str, name: str, n: int, value: float, ci: Sequence[float] | None) -> Row:
    low, high = ci or (None, None)
    return {"panel": printable(part), "row": printable(name), "n": n, "value": value, "low": low, "high": high}


def draw_values(
    name: str, title: str, caption: str, table: list[Row], options: Options, axes: Mapping[str, Axis] | None = None
) -> Figure:
    """A panel for each of the table's; `axes` by panel, where values are no shares."""
    if not table:
        return empty_figure(name, title, NOTHING, VALUES, options)
    parts = [part for row in table for part in parts_of(row)]
    panels = dict.fromkeys(row["panel"] for row in table)
    specs = [draw_panel(part, table, options, (axes or {}).get(part, SHARES)) for part in panels]
    words = Words(title, caption, say_ends(table))
    return make_figure(name, words, below(specs, 14), parts, table, VALUES, options)


def say_ends(table: Sequence[Row]) -> str:
    low, high = (pick(table, key=lambda row: row["value"]) for pick in (min, max))
    ends = [f"{row['value']:.2f} ({row['row']}, {row['panel']})" for row in (low, high)]
    return f"Values go from {ends[0]} to {ends[1]}."


def parts_of(row: Row) -> list[Row]:
    where = {"panel": row["panel"], "row": row["row"]}
    short = f"{row['value']:.2f}".replace("-", "−")
    text = f"{row['row']}, {row['panel']}: {short}, n {row['n']:,}"
    parts = [{**where, "kind": "value", "start": row["value"], "text": text, "short": short}]
    if row["low"] is not None:
        parts.append({**where, "kind": "ci", "start": row["low"], "end": row["high"]})
    return parts


def draw_panel(part: str, table: Sequence[Row], options: Options, axis: Axis) -> Spec:
    names = list(dict.fromkeys(row["row"] for row in table if row["panel"] == part))
    y = alt.Y("row:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, labelLimit=ROOM, minExtent=ROOM))
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False)
    x = alt.X("start:Q", scale=scale, axis=alt.Axis(title=None, values=list(axis.ticks), format="~g"))
    layers = [
        of_kind("ci").mark_rule(stroke=LIGHT["ink"], strokeWidth=1.5).encode(y=y, x=x, x2="end:Q"),
        of_kind("value").mark_point(fill=LIGHT["sp-profile"], stroke=LIGHT["sp-profile"], size=55, opacity=1, aria=True)
        .encode(y=y, x=x, description="text:N"),
        of_kind("value").mark_text(fontSize=11, fill=LIGHT["soft"], align="left")
        .encode(y=y, x=alt.value(options.width - ROOM - TEXT + 10), text="short:N"),
    ]  # fmt: skip
    if axis.line is not None:
        line = alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeDash=[4, 3])
        layers.insert(0, line.encode(x=alt.datum(axis.line, scale=scale)))
    return panel(specs_of(layers), options.width - ROOM - TEXT, ROW * len(names), part, panel=part)


AGREEMENT_FIGURES: dict[str, Draw] = {
    "matrix": draw_matrix,
    "shares": draw_shares,
    "corpora": draw_corpora,
    "scores": draw_scores,
}
