"""A key above a figure, for what Vega's own legends cannot show: hatching, lines, bands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import altair as alt

from analysis.charts.figure import Options, Row, Spec, of_kind, panel, specs_of
from analysis.charts.theme import LIGHT, text_width

# Vega has no patterns, so the lines of a hatching, cut off at a bar's edges, are drawn as the shape of a point mark.
# It scales shapes by half the root of their size, so a mark of size 4 has its shape in px.
SPACING = 6.0  # px between lines
PIXELS = 4

Line = tuple[float, float, float, float]


def hatch_lines(left: float, right: float, top: float, bottom: float, spacing: float = SPACING) -> list[Line]:
    """Lines (x, y, x2, y2) that rise at 45 degrees through the rectangle, in px with y downwards.

    A line that starts at `left + offset` on the lower edge has gone t · (bottom - top) both up and to the right at t;
    only the t inside the rectangle are kept.
    """
    width, height = right - left, bottom - top
    lines = []
    offset = spacing / 2 - height
    while offset < width and height > 0:
        enters, leaves = max(0.0, -offset / height), min(1.0, (width - offset) / height)
        if enters < leaves:
            ends = [(left + offset + t * height, bottom - t * height) for t in (enters, leaves)]
            lines.append((*ends[0], *ends[1]))
        offset += spacing
    return lines


def hatch_path(width: float, height: float) -> str:
    """The hatching of a rectangle as one path, relative to the middle of its left edge."""
    return "".join(
        f"M{x:.1f},{y:.1f}L{x2:.1f},{y2:.1f}" for x, y, x2, y2 in hatch_lines(0, width, -height / 2, height / 2)
    )


class Sizes(NamedTuple):
    """Sizes in px: line height, width and height of a swatch, font size, and the gap between entries."""

    line: int
    width: int
    height: int
    letters: int
    gap: int


ON_SCREEN, ON_PAPER = Sizes(22, 22, 12, 12, 18), Sizes(16, 16, 10, 11, 12)


@dataclass(frozen=True)
class KeyEntry:
    """A sign and its meaning. A hatching may cover any colour and has none of its own."""

    text: str
    colour: str = LIGHT["unknown"]
    sign: str = "box"  # or hatch, tick, line, dashed, dot


def draw_key(entries: Sequence[KeyEntry], options: Options, indent: int) -> tuple[Spec, list[Row]]:
    """Returns a panel that draws the rows of kind `key-…`, and these rows.

    The key starts `indent` px left of the axis of the panels below, in line with their labels.
    """
    width, sizes = options.width - 20, ON_PAPER if options.column else ON_SCREEN
    rows: list[Row] = []
    x, y = 0.0, 0
    for entry in entries:
        room = sizes.width + 8 + 1.08 * text_width(entry.text, sizes.letters) + sizes.gap
        if x and x + room > width:
            x, y = 0.0, y + sizes.line
        rows += entry_rows(entry, x - indent, y, sizes)
        x += room
    height = y + sizes.line
    return panel(specs_of(layers(width - indent, height, sizes.letters)), width - indent, height), rows


def entry_rows(entry: KeyEntry, x: float, y: float, sizes: Sizes) -> list[Row]:
    line, swatch, high, *_ = sizes
    top, bottom, middle = y + (line - high) / 2, y + (line + high) / 2, y + line / 2
    box = {"x": x, "x2": x + swatch, "y": top, "y2": bottom}
    signs: dict[str, list[Row]] = {
        "box": [{"kind": "key-box", **box}],
        "hatch": [
            {"kind": "key-box", **box},
            {"kind": "key-hatch", "x": x, "y": middle, "path": hatch_path(swatch, high)},
        ],
        "tick": [{"kind": "key-tick", "x": x + swatch / 2, "y": top, "y2": bottom}],
        "line": [{"kind": "key-line", "x": x, "x2": x + swatch, "y": middle}],
        "dashed": [{"kind": "key-dashed", "x": x, "x2": x + swatch, "y": middle}],
        "dot": [{"kind": "key-dot", "x": x + swatch / 2, "y": middle}],
    }
    text = {"kind": "key-text", "x": x + swatch + 7, "y": middle, "text": entry.text}
    return [*({"colour": entry.colour} | sign for sign in signs[entry.sign]), text]


def layers(width: int, height: int, letters: int) -> list[alt.Chart]:
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, width], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, height], nice=False, reverse=True), axis=None)
    colour = alt.Color("colour:N", scale=None)

    def placed(kind: str) -> alt.Chart:
        return of_kind(f"key-{kind}").encode(x=x, y=y)

    return [
        placed("box").mark_rect().encode(x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), color=colour),
        placed("hatch").mark_point(stroke=LIGHT["on-option"], strokeWidth=1, opacity=0.6, size=PIXELS)
        .encode(shape=alt.Shape("path:N", scale=None)),
        placed("tick").mark_rule(strokeWidth=2).encode(y2=alt.Y2("y2:Q"), color=colour),
        placed("line").mark_rule(strokeWidth=2).encode(x2=alt.X2("x2:Q"), color=colour),
        placed("dashed").mark_rule(strokeWidth=1.4, strokeDash=[4, 3]).encode(x2=alt.X2("x2:Q"), color=colour),
        placed("dot").mark_point(filled=True, size=26, opacity=1).encode(color=colour),
        placed("text").mark_text(align="left", fontSize=letters, fill=LIGHT["ink"]).encode(text=alt.Text("text:N")),
    ]  # fmt: skip
