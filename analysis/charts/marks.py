"""Marks that figures share: dots with intervals, words over a grid, rows of names, scales, the legend and the key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import altair as alt

from analysis.charts.figure import Options, Row, Spec, of_kind, panel, specs_of
from analysis.charts.theme import LIGHT, Series, text_width

LONGEST = 150  # px for names; longer ones are cut off with an ellipsis
AXIS = 40  # px kept for the labels of a y axis
PERCENT = "format(100 * datum.value, '~r') + '\u202f%'"  # Vega's expression for the labels of an axis of shares
Channel = Callable[[str], Any]  # the position of a field, as alt.X or alt.Y


@dataclass(frozen=True)
class Strips:
    """The named rows of a panel, `step` px apart, of which the share `padding` stays free.

    `lined` draws a line between rows, for rows of several marks.
    """

    names: tuple[str, ...]
    width: int
    room: int
    step: int = 26
    padding: float = 0.4
    lined: bool = False
    named: bool = True  # else the panel beside it has the names
    OVERHANG: ClassVar[int] = 6  # px by which lined names are assumed to begin above the first row

    @property
    def above(self) -> int:
        """px by which to raise a title, to align it with that of a panel with names."""
        return self.OVERHANG * (self.lined and not self.named)

    @property
    def height(self) -> int:
        return self.step * len(self.names)

    @property
    def bar(self) -> float:
        return self.step * (1 - self.padding)

    def axis(self, field: str) -> alt.Y:
        scale = alt.Scale(domain=list(self.names), paddingInner=self.padding, paddingOuter=self.padding / 2)
        extent: dict[str, Any] = {"minExtent": self.room, "maxExtent": self.room, "labelLimit": self.room - 4}
        if not self.named:
            extent = {"labels": False}
        grid: dict[str, Any] = {"grid": True, "tickBand": "extent"} if self.lined else {}
        axis = alt.Axis(
            title=None,
            ticks=False,
            domain=False,
            labelPadding=10 if self.lined else 6,
            labelOverlap=False,
            **extent,
            **grid,
        )
        return alt.Y(f"{field}:N", scale=scale, axis=axis)

    def rows_of(self, field: str, series: Series) -> alt.Chart:
        """A base chart whose rows hold one mark per series, one below the other."""
        return alt.Chart().encode(y=self.axis(field), yOffset=alt.YOffset("series:N", scale=beside_each_other(series)))

    def side_by_side(self, count: int, names: int) -> list["Strips"]:
        """`count` panels side by side, of which only the first `names` show the row names."""
        return [replace(self, named=place < names) for place in range(count)]


def room_for(names: Sequence[str], most: int = LONGEST, size: int = 12) -> int:
    """px for the longest name, limited to `most`."""
    return round(min(most, max((text_width(name, size) for name in names), default=0) + 16))


# Scales ----------------------------------------------------------------------------------------------------


def colour_scale(series: Series) -> alt.Scale:
    return alt.Scale(domain=list(series.names), range=list(series.colours))


def shape_scale(series: Series) -> alt.Scale:
    return alt.Scale(domain=list(series.names), range=list(series.shapes))


def beside_each_other(series: Series) -> alt.Scale:
    """A scale that places the marks of one row or column side by side."""
    return alt.Scale(domain=list(series.names), paddingOuter=0.5)


def make_legend(series: Series, options: Options, indent: int = AXIS) -> alt.Legend:
    """A legend on top, with as many columns as its longest name lets fit to the right of the axis."""
    size = 11 if options.column else 12 if options.narrow else 13
    longest = max((text_width(name, size) for name in series.names), default=0) + 34
    columns = max(1, min(len(series.names), int((options.width - indent) / longest)))
    return alt.Legend(
        orient="top", direction="horizontal", title=None, columns=columns, labelFontSize=size,
        symbolSize=50 if options.column else 80, labelLimit=options.width - 40, offset=10, columnPadding=18,
    )  # fmt: skip


def along(axis_of: type[alt.X] | type[alt.Y], scale: alt.Scale, axis: alt.Axis) -> Channel:
    """A channel that positions any field on the same scale and axis."""
    return lambda field: axis_of(f"{field}:Q", scale=scale, axis=axis)


# Marks -----------------------------------------------------------------------------------------------------


def dots(
    base: alt.Chart, at: Channel, series: Series, legend: alt.Legend | None, size: float, line: float = 1.6
) -> list[alt.Chart]:
    """Draw each row's `value`, in its series' colour and shape, over a line from `low` to `high`."""
    low, value = at("low"), at("value")
    high = alt.X2("high:Q") if isinstance(low, alt.X) else alt.Y2("high:Q")
    colour = alt.Color("series:N", scale=colour_scale(series), legend=legend)
    shape = alt.Shape("series:N", scale=shape_scale(series), legend=legend)
    return [
        base.mark_rule(strokeWidth=line).encode(low, high, colour),
        base.mark_point(filled=True, opacity=1, size=size, aria=True).encode(
            value, colour, shape, alt.Description("text:N")
        ),
    ]


def words_on_grid(base: alt.Chart, size: int, colour: str = LIGHT["ink"], **how: Any) -> list[alt.Chart]:
    """Text over grid lines, which stop at a rim in the background colour."""
    rim = base.mark_text(fontSize=size, fill=LIGHT["paper"], stroke=LIGHT["paper"], strokeWidth=4, **how)
    return [rim, base.mark_text(fontSize=size, fill=colour, **how)]


# --- a key above a figure, for what Vega's own legends cannot show: hatching, lines, bands ---

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
    """Return a panel that draws the rows of kind `key-…`, and these rows.

    The key starts `indent` px left of the axis of the panels below, in line with their labels.
    """
    width, sizes = options.width - 20, ON_PAPER if options.column else ON_SCREEN
    rows: list[Row] = []
    x, y = 0.0, 0
    for entry in entries:
        room = sizes.width + 8 + 1.08 * text_width(entry.text, sizes.letters) + sizes.gap
        if x and x + room > width:
            x, y = 0.0, y + sizes.line
        rows += key_rows(entry, x - indent, y, sizes)
        x += room
    height = y + sizes.line
    return panel(specs_of(key_layers(width - indent, height, sizes.letters)), width - indent, height), rows


def key_rows(entry: KeyEntry, x: float, y: float, sizes: Sizes) -> list[Row]:
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


def key_layers(width: int, height: int, letters: int) -> list[alt.Chart]:
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
