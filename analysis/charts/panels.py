"""Small multiples: dots with intervals, prompts along x; and rows with names, values along x."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from analysis.charts.figure import Options, Row, Spec, below, beside, panel, specs_of, split, split_evenly
from analysis.charts.theme import LIGHT, Series, text_width

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
    named: bool = True  # else the panel beside it has the names

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


def room_for(names: Sequence[str], most: int = LONGEST) -> int:
    """What the longest name takes, within limits."""
    return round(min(most, max((text_width(name, 12) for name in names), default=0) + 16))


AXIS = 40  # px kept for the labels of a y axis
GAP = 22  # px between columns
FINEST, FINEST_NARROW = 5.2, 6.4  # px that one dodged mark needs at least; on a phone nothing shows numbers on hover
MOST_COLUMNS = 3
WIDEST, LEAST = 38, 220  # px that one mark gets at most, and a panel at least: a few marks do not fill a page
PERCENT = "format(100 * datum.value, '~r') + '\u202f%'"  # Vega's expression for the labels of an axis of shares


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

    @property
    def spoken(self) -> str:
        """Its name in a sentence, without the unit."""
        return self.title.partition(",")[0].lower()


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
    finest = FINEST_NARROW if grid.options.narrow and not grid.options.column else FINEST
    grid = for_paper(grid)
    per_row = max(1, int(width / (finest * (len(grid.series.names) + 1))))
    chunks = split_evenly(grid.prompts, per_row)
    width = min(width, max(LEAST, int(WIDEST * (len(grid.series.names) + 1) * max(map(len, chunks), default=1))))
    rows = split(grid.models, across)
    blocks = []
    for models in rows:
        # On paper the names of the same prompts stand once, below the last row.
        named = not grid.options.column or len(chunks) > 1 or models is rows[-1]
        for prompts in chunks:
            drawn = {
                measure: specs_of(layers(grid, measure, prompts, width, named and measure is grid.measures[-1]))
                for measure in grid.measures
            }
            blocks.append(beside([draw_column(grid, model, prompts, width, drawn) for model in models], GAP))
    return below(blocks, 12 if grid.options.column else 18)


PAPER_HEIGHT, LEAST_HEIGHT = 300, 62  # px for all panels below one another in a journal's column, and for each


def for_paper(grid: Grid) -> Grid:
    """As high as fits a part of a page; on a screen nothing is changed."""
    if not grid.options.column:
        return grid
    rows = len(grid.measures) * -(-len(grid.models) // count_columns(grid))
    return replace(grid, height=min(grid.height, max(LEAST_HEIGHT, PAPER_HEIGHT // rows)))


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
        xOffset=alt.XOffset("series:N", scale=alt.Scale(domain=list(grid.series.names), paddingOuter=0.5)),
    )
    pitch = 0.84 * width / max(len(prompts) * len(grid.series.names), 1)
    y, legend = y_channel(measure), make_legend(grid.series, grid.options)
    colour = alt.Color("series:N", scale=colour_scale(grid.series), legend=legend)
    shape = alt.Shape("series:N", scale=shape_scale(grid.series), legend=legend)
    side = min(9.5, 0.92 * pitch)
    zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"]).encode(y=alt.datum(0))
    drawn = [zero] if measure.bottom < 0 else []
    drawn += [base.mark_rule(strokeWidth=1.6).encode(y=y("low"), y2="high:Q", color=colour)]
    if grid.with_chance:
        tick = base.mark_tick(
            color=LIGHT["soft"], thickness=1.4, size=min(16.0, max(4.0, pitch)), orient="horizontal", opacity=1
        )
        drawn.append(tick.encode(y=y("chance")))
    marks = base.mark_point(filled=True, opacity=1, size=0.79 * side**2, aria=True)
    drawn.append(marks.encode(y=y("value"), color=colour, shape=shape, description="text:N"))
    return drawn


def y_channel(measure: Panel) -> Callable[[str], alt.Y]:
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
    return lambda field: alt.Y(f"{field}:Q", axis=axis, scale=scale)


def colour_scale(series: Series) -> alt.Scale:
    return alt.Scale(domain=list(series.names), range=list(series.colours))


def shape_scale(series: Series) -> alt.Scale:
    return alt.Scale(domain=list(series.names), range=list(series.shapes))


def make_legend(series: Series, options: Options, indent: int = AXIS) -> alt.Legend:
    """On top, in as many columns as the longest name leaves room for right of the axis."""
    size = 12 if options.narrow else 13
    longest = max((text_width(name, size) for name in series.names), default=0) + 34
    columns = max(1, min(len(series.names), int((options.width - indent) / longest)))
    return alt.Legend(
        orient="top", direction="horizontal", title=None, columns=columns, labelFontSize=size, symbolSize=80,
        labelLimit=options.width - 40, offset=10, columnPadding=18,
    )  # fmt: skip


def prompt_axis(prompts: Sequence[str], width: int, labelled: bool) -> alt.Axis:
    """Names of prompts, turned where they would meet."""
    room = width / max(len(prompts), 1)
    turned = any(text_width(name, 12) > room - 6 for name in prompts)
    return alt.Axis(
        title=None, labels=labelled, ticks=False, grid=True, tickBand="extent", labelPadding=6, labelLimit=118,
        labelAngle=-40 if turned else 0, labelAlign="right" if turned else "center",
        labelBaseline="middle" if turned else "top", labelOverlap=False,
    )  # fmt: skip
