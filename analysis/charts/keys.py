"""A key above a figure, for what Vega's own legends cannot show: hatching, lines, bands."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from analysis.charts.figure import Options, Row
from analysis.charts.hatching import PIXELS, hatch_path
from analysis.charts.layout import Spec, of_kind, panel, specs_of
from analysis.charts.theme import LIGHT, text_width

LINE, SWATCH, HIGH, SIZE = 22, 22, 12, 12  # px: line height, width and height of a swatch, size of the letters


@dataclass(frozen=True)
class Entry:
    """One sign and what it means. A hatching may stand over any colour and has none itself."""

    text: str
    colour: str = LIGHT["unknown"]
    sign: str = "box"  # or hatch, tick, line, dashed, dot


def draw_key(entries: Sequence[Entry], options: Options, indent: int) -> tuple[Spec, list[Row]]:
    """A panel that draws the rows of kind `key-…`, and these rows.

    It begins `indent` px left of where panels below have their axis, as their labels do.
    """
    width = options.width - 20
    rows: list[Row] = []
    x, y = 0.0, 0
    for entry in entries:
        room = SWATCH + 8 + 1.08 * text_width(entry.text, SIZE) + 18
        if x and x + room > width:
            x, y = 0.0, y + LINE
        rows += entry_rows(entry, x - indent, y)
        x += room
    return panel(specs_of(layers(width - indent, y + LINE)), width - indent, y + LINE), rows


def entry_rows(entry: Entry, x: float, y: float) -> list[Row]:
    top, bottom, middle = y + (LINE - HIGH) / 2, y + (LINE + HIGH) / 2, y + LINE / 2
    box = {"x": x, "x2": x + SWATCH, "y": top, "y2": bottom}
    signs: dict[str, list[Row]] = {
        "box": [{"kind": "key-box", **box}],
        "hatch": [
            {"kind": "key-box", **box},
            {"kind": "key-hatch", "x": x, "y": middle, "path": hatch_path(SWATCH, HIGH)},
        ],
        "tick": [{"kind": "key-tick", "x": x + SWATCH / 2, "y": top, "y2": bottom}],
        "line": [{"kind": "key-line", "x": x, "x2": x + SWATCH, "y": middle}],
        "dashed": [{"kind": "key-dashed", "x": x, "x2": x + SWATCH, "y": middle}],
        "dot": [{"kind": "key-dot", "x": x + SWATCH / 2, "y": middle}],
    }
    text = {"kind": "key-text", "x": x + SWATCH + 7, "y": middle, "text": entry.text}
    return [*({"colour": entry.colour} | sign for sign in signs[entry.sign]), text]


def layers(width: int, height: int) -> list[alt.Chart]:
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, width], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, height], nice=False, reverse=True), axis=None)
    colour = alt.Color("colour:N", scale=None)

    def placed(kind: str) -> alt.Chart:
        return of_kind(f"key-{kind}").encode(x=x, y=y)

    return [
        placed("box").mark_rect().encode(x2="x2:Q", y2="y2:Q", color=colour),
        placed("hatch").mark_point(stroke=LIGHT["on-option"], strokeWidth=1, opacity=0.6, size=PIXELS)
        .encode(shape=alt.Shape("path:N", scale=None)),
        placed("tick").mark_rule(strokeWidth=2).encode(y2="y2:Q", color=colour),
        placed("line").mark_rule(strokeWidth=2).encode(x2="x2:Q", color=colour),
        placed("dashed").mark_rule(strokeWidth=1.4, strokeDash=[4, 3]).encode(x2="x2:Q", color=colour),
        placed("dot").mark_point(filled=True, size=26, opacity=1).encode(color=colour),
        placed("text").mark_text(align="left", fontSize=SIZE, fill=LIGHT["ink"]).encode(text="text:N"),
    ]  # fmt: skip
