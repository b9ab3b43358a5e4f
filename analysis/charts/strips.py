"""Figures whose rows have names: the axis of names on the left, values along x, a word at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from analysis.charts.theme import text_width

LONGEST = 150  # px for names; what is longer is cut off with an ellipsis


@dataclass(frozen=True)
class Strips:
    """The names of a panel's rows, `step` px apart, of which the part `padding` is left free.

    `lined` draws a line between rows that hold several marks.
    """

    names: tuple[str, ...]
    width: int
    room: int
    step: int = 26
    padding: float = 0.4
    lined: bool = False

    @property
    def height(self) -> int:
        return self.step * len(self.names)

    @property
    def bar(self) -> float:
        return self.step * (1 - self.padding)

    def axis(self, field: str) -> alt.Y:
        scale = alt.Scale(domain=list(self.names), paddingInner=self.padding, paddingOuter=self.padding / 2)
        extent: dict[str, Any] = {"minExtent": self.room, "maxExtent": self.room, "labelLimit": self.room - 4}
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


def room_for(names: Sequence[str], most: int = LONGEST) -> int:
    """What the longest name takes, within limits."""
    return round(min(most, max((text_width(name, 12) for name in names), default=0) + 16))
