"""Small multiples of dots with intervals: on a screen prompts along x, in a journal's column prompts as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from analysis.charts.figure import Options, Row, Spec, below, beside, panel, specs_of, split, split_evenly
from analysis.charts.marks import AXIS, Channel, along, beside_each_other, dots, make_legend
from analysis.charts.theme import LIGHT, Series, text_width

GAP = 22  # px between columns
FINEST, FINEST_NARROW = 5.2, 6.4  # px that one dodged mark needs at least; on a phone nothing shows numbers on hover
MOST_COLUMNS = 3
WIDEST, LEAST = 38, 220  # px that one mark gets at most, and a panel at least: a few marks do not fill a page


@dataclass(frozen=True)
class Panel:
    """What a row of panels shows, and from where to where its axis goes; a bound of 1 is kept as it is."""

    name: str
    title: str
    top: float = 1.0
    bottom: float = 0.0
    format: str = "~s"
    integers: bool = False
    bounded: bool = False  # by 1
    short: str = ""  # the title where several stand side by side


def with_axes(panels: Sequence[Panel], points: Sequence[Row]) -> tuple[Panel, ...]:
    """Each with an axis up to the highest value of all columns, unless what it shows ends at 1."""
    return tuple(panel if panel.bounded else replace(panel, top=_highest(points, panel.name)) for panel in panels)


def _highest(points: Sequence[Row], panel: str) -> float:
    here = [max(point["value"], point["high"] or 0) for point in points if point["panel"] == panel]
    return max(here, default=0) or 1.0


@dataclass(frozen=True)
class Grid:
    """Which panels there are: columns of models, rows of measures, prompts along x."""

    measures: tuple[Panel, ...]
    models: tuple[str, ...]
    prompts: tuple[str, ...]
    series: Series
    options: Options
    with_chance: bool = False
    height: int = 118

    @property
    def slots(self) -> float:
        """Places along x: one for each mark, and one between prompts."""
        return len(self.prompts) * (len(self.series.names) + 1)


def draw_grid(grid: Grid) -> Spec:
    """Rows drawn: panel (a measure's name), model, prompt, series, value, low, high, text; `chance` if there is one."""
    across = count_columns(grid)
    width = panel_width(across, grid.options)
    finest = FINEST_NARROW if grid.options.narrow else FINEST
    per_row = max(1, int(width / (finest * (len(grid.series.names) + 1))))
    chunks = split_evenly(grid.prompts, per_row)
    width = min(width, max(LEAST, int(WIDEST * (len(grid.series.names) + 1) * max(map(len, chunks), default=1))))
    blocks = []
    for models in split(grid.models, across):
        for prompts in chunks:
            drawn = {
                measure: specs_of(layers(grid, measure, prompts, width, measure is grid.measures[-1]))
                for measure in grid.measures
            }
            blocks.append(beside([draw_column(grid, model, prompts, width, drawn) for model in models], GAP))
    return below(blocks, 18)


def count_columns(grid: Grid) -> int:
    """As many models side by side as leave each mark its room."""
    most = 1 if grid.options.narrow else min(len(grid.models), MOST_COLUMNS)
    fitting = [count for count in range(1, most + 1) if panel_width(count, grid.options) / grid.slots >= FINEST]
    return max(fitting, default=1)


def panel_width(across: int, options: Options) -> int:
    return (options.width - 14 - across * AXIS - (across - 1) * GAP) // across


def draw_column(
    grid: Grid, model: str, prompts: Sequence[str], width: int, drawn: Mapping[Panel, Sequence[Spec]]
) -> Spec:
    """One model: its measures below each other."""
    where: Any = {"model": model, "prompt": prompts}
    panels = [
        panel(specs, width, grid.height, measure.title, panel=measure.name, **where) for measure, specs in drawn.items()
    ]
    return below(panels, title=model)


def layers(grid: Grid, measure: Panel, prompts: Sequence[str], width: int, labelled: bool) -> list[alt.Chart]:
    """Interval below, the tick of chance where there is one, and the mark on top."""
    axis = prompt_axis(prompts, width, labelled)
    base = alt.Chart().encode(
        x=alt.X("prompt:N", axis=axis, scale=alt.Scale(domain=list(prompts), paddingInner=0.16, paddingOuter=0.08)),
        xOffset=alt.XOffset("series:N", scale=beside_each_other(grid.series)),
    )
    pitch = 0.84 * width / max(len(prompts) * len(grid.series.names), 1)
    y, side = y_channel(measure), min(9.5, 0.92 * pitch)
    zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"]).encode(y=alt.datum(0))
    drawn = [zero] if measure.bottom < 0 else []
    if grid.with_chance:
        tick = base.mark_tick(
            color=LIGHT["soft"], thickness=1.4, size=min(16.0, max(4.0, pitch)), orient="horizontal", opacity=1
        )
        drawn.append(tick.encode(y=y("chance")))
    return [*drawn, *dots(base, y, grid.series, make_legend(grid.series, grid.options), 0.79 * side**2)]


def y_channel(measure: Panel) -> Channel:
    """The same scale for every column of a measure."""
    axis = alt.Axis(
        title=None,
        tickCount=4,
        minExtent=AXIS - 8,
        maxExtent=AXIS - 8,
        format=measure.format,
        domain=False,
        ticks=False,
    )
    if measure.integers:
        axis.tickMinStep = 1
    scale = alt.Scale(domain=[measure.bottom, measure.top], nice=measure.top != 1)
    return along(alt.Y, scale, axis)


def prompt_axis(prompts: Sequence[str], width: int, labelled: bool) -> alt.Axis:
    """Names of prompts, turned where they would meet."""
    room = width / max(len(prompts), 1)
    turned = any(text_width(name, 12) > room - 6 for name in prompts)
    return alt.Axis(
        title=None, labels=labelled, ticks=False, grid=True, tickBand="extent", labelPadding=6, labelLimit=118,
        labelAngle=-40 if turned else 0, labelAlign="right" if turned else "center",
        labelBaseline="middle" if turned else "top", labelOverlap=False,
    )  # fmt: skip
