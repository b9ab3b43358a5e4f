"""Marks that figures share: dots with intervals, words over a grid, rows of names, scales and the legend."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import altair as alt

from analysis.charts.figure import Options
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
    """Draws each row's `value`, in its series' colour and shape, over a line from `low` to `high`."""
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
