"""Small multiples of dots with intervals: prompts along x on a screen, as rows in a journal column.

On paper, prompt names appear once, on the left; models and measures are side by side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from analysis.charts.figure import (
    BESIDE,
    Options,
    Row,
    Spec,
    below,
    beside,
    heading,
    panel,
    specs_of,
    split,
    split_evenly,
    wrap,
)
from analysis.charts.marks import AXIS, Channel, Strips, along, beside_each_other, dots, make_legend, room_for
from analysis.charts.theme import LIGHT, Series, text_width

GAP = 22  # px between columns
FINEST, FINEST_NARROW = 5.2, 6.4  # least px per dodged mark; more on a phone, which has no hover
MOST_COLUMNS = 3
WIDEST, LEAST = 38, 220  # most px per mark and least px per panel, so that few marks do not fill a page


@dataclass(frozen=True)
class Panel:
    """The measure of a row of panels, and the range of its axis; a `top` of 1 is not rounded up."""

    name: str
    title: str
    top: float = 1.0
    bottom: float = 0.0
    format: str = "~s"
    integers: bool = False
    bounded: bool = False  # by 1
    short: str = ""  # the title if several are side by side


def with_axes(panels: Sequence[Panel], points: Sequence[Row]) -> tuple[Panel, ...]:
    """Extend each panel's axis to the highest value or interval end of all columns, unless bounded by 1."""
    return tuple(panel if panel.bounded else replace(panel, top=_highest(points, panel.name)) for panel in panels)


def _highest(points: Sequence[Row], panel: str) -> float:
    here = [max(point["value"], point["high"] or 0) for point in points if point["panel"] == panel]
    return max(here, default=0) or 1.0


@dataclass(frozen=True)
class Grid:
    """The panels of a figure: models as columns, measures as rows, prompts along x."""

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


def grid_of(
    measures: Sequence[Panel],
    points: Sequence[Row],
    series: Series,
    options: Options,
    prompts: Sequence[str] = (),
    height: int = 118,
    with_chance: bool = False,
) -> Grid:
    """A grid of the points' models and prompts, in their order, or of these `prompts`."""
    models, there = (tuple(dict.fromkeys(point[name] for point in points)) for name in ("model", "prompt"))
    return Grid(tuple(measures), models, tuple(prompts or there), series, options, with_chance, height)


def draw_grid(grid: Grid) -> Spec:
    """Draw rows of panel (a measure's name), model, prompt, series, value, low, high, text and, optionally, chance."""
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
    """The most models side by side that leave each mark enough room."""
    most = 1 if grid.options.narrow else min(len(grid.models), MOST_COLUMNS)
    fitting = [count for count in range(1, most + 1) if panel_width(count, grid.options) / grid.slots >= FINEST]
    return max(fitting, default=1)


def panel_width(across: int, options: Options) -> int:
    return (options.width - 14 - across * AXIS - (across - 1) * GAP) // across


def draw_column(
    grid: Grid, model: str, prompts: Sequence[str], width: int, drawn: Mapping[Panel, Sequence[Spec]]
) -> Spec:
    """Draw one model's measures below each other."""
    where: Any = {"model": model, "prompt": prompts}
    panels = [
        panel(specs, width, grid.height, measure.title, panel=measure.name, **where) for measure, specs in drawn.items()
    ]
    return below(panels, title=model)


def layers(grid: Grid, measure: Panel, prompts: Sequence[str], width: int, labelled: bool) -> list[alt.Chart]:
    """Layers from the bottom: a rule at 0 if values are negative, ticks of chance if there are any, intervals, dots."""
    axis = prompt_axis(prompts, width, labelled)
    base = alt.Chart().encode(
        x=alt.X("prompt:N", axis=axis, scale=alt.Scale(domain=list(prompts), paddingInner=0.16, paddingOuter=0.08)),
        xOffset=alt.XOffset("series:N", scale=beside_each_other(grid.series)),
    )
    pitch = 0.84 * width / max(len(prompts) * len(grid.series.names), 1)
    room: Any = {"minExtent": AXIS - 8, "maxExtent": AXIS - 8}
    values = alt.Axis(title=None, tickCount=4, **room, format=measure.format, domain=False, ticks=False)
    y, side = channel_of(measure, alt.Y, values), min(9.5, 0.92 * pitch)
    zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"]).encode(y=alt.YDatum(0))
    drawn = [zero] if measure.bottom < 0 else []
    if grid.with_chance:
        tick = base.mark_tick(
            color=LIGHT["soft"], thickness=1.4, size=min(16.0, max(4.0, pitch)), orient="horizontal", opacity=1
        )
        drawn.append(tick.encode(y=y("chance")))
    return [*drawn, *dots(base, y, grid.series, make_legend(grid.series, grid.options), 0.79 * side**2)]


def channel_of(measure: Panel, axis_of: type[alt.X] | type[alt.Y], axis: alt.Axis) -> Channel:
    """A channel with the same scale in every column of a measure."""
    if measure.integers:
        axis.tickMinStep = 1
    return along(axis_of, alt.Scale(domain=[measure.bottom, measure.top], nice=measure.top != 1), axis)


def prompt_axis(prompts: Sequence[str], width: int, labelled: bool) -> alt.Axis:
    """An axis of prompt names, slanted if they would collide."""
    room = width / max(len(prompts), 1)
    turned = any(text_width(name, 12) > room - 6 for name in prompts)
    return alt.Axis(
        title=None, labels=labelled, ticks=False, grid=True, tickBand="extent", labelPadding=6, labelLimit=118,
        labelAngle=-40 if turned else 0, labelAlign="right" if turned else "center",
        labelBaseline="middle" if turned else "top", labelOverlap=False,
    )  # fmt: skip


# --- in a journal's column

# px: 110 mm of any column are at least 430. NARROWEST: of a panel beside names; LETTERS: the only font size.
HIGH, NARROWEST, BROADEST, CLOSE, LETTERS = 410, 56, 250, 12, 11
LINE = 14  # of words
LEAST_STEP, MOST_STEP = 11, 26


def draw_grids(grids: Sequence[Grid]) -> Spec:
    """Stack grids: on a screen independently, in a journal column as tall together as a page allows."""
    if not grids[0].options.column:
        drawn = [draw_grid(grid) for grid in grids]
        return drawn[0] if len(drawn) == 1 else below(drawn, 20)
    layouts, series = [lay_out(grid, grids) for grid in grids], grids[0].series
    legend_lines = -(-len(series.names) // make_legend(series, grids[0].options).columns)
    taken = LINE * (2 + legend_lines) + sum(layout.overhead for layout in layouts)
    step = max((HIGH - taken) // sum(layout.rows for layout in layouts), LEAST_STEP)
    return below([draw_layout(layout, min(step, layout.most_step)) for layout in layouts], 12)


@dataclass(frozen=True)
class Layout:
    """The models in each row of blocks, and the measures in each row of a block."""

    grid: Grid
    room: int  # px for the names of prompts
    width: int  # px of a panel
    models: list[Sequence[str]]
    measures: list[Sequence[Panel]]

    @property
    def rows(self) -> int:
        return len(self.grid.prompts) * self.rows_of_panels

    @property
    def most_step(self) -> int:
        return min(MOST_STEP, 10 + 4 * len(self.grid.series.names))

    @property
    def is_single(self) -> bool:
        return len(self.grid.measures) == 1

    @property
    def overhead(self) -> int:
        """px for titles and axes."""
        titles = max(len(title_lines(self, measure)) for measure in self.grid.measures)
        return (len(self.models) + titles + 2 * len(self.measures)) * LINE + 12 * (self.rows_of_panels - 1)

    @property
    def rows_of_panels(self) -> int:
        return len(self.models) * len(self.measures)


def lay_out(grid: Grid, grids: Sequence[Grid]) -> Layout:
    """Put as many panels side by side as their least width allows; all grids have the same room for names."""
    room = room_for([prompt for each in grids for prompt in each.prompts], 110, LETTERS)
    inside = grid.options.width - 14 - room
    fitting = max(1, (inside + CLOSE) // (NARROWEST + CLOSE))
    measures = split_evenly(grid.measures, fitting)
    models = split_evenly(grid.models, max(1, fitting // len(measures[0])))
    across = max(map(len, models)) * len(measures[0])
    return Layout(grid, room, min(BROADEST, (inside - (across - 1) * CLOSE) // across), models, measures)


def draw_layout(layout: Layout, step: int) -> Spec:
    grid, rows = layout.grid, []
    for models in layout.models:
        # All panels of a measure share an axis, whose numbers appear once, below the last panel of a column.
        covered = 0 if models is layout.models[-1] else len(layout.models[-1])
        groups = [draw_group(layout, model, step, place == 0, place >= covered) for place, model in enumerate(models)]
        rows.append(beside(groups, CLOSE))
    spec = below(rows, 10)
    return spec | {"title": heading(title_lines(layout, grid.measures[0]), offset=8)} if layout.is_single else spec


def draw_group(layout: Layout, model: str, step: int, named: bool, labelled: bool) -> Spec:
    """Draw one model's measures side by side, with titles only above the first models unless the measures wrap."""
    grid, rows = layout.grid, []
    titled = not layout.is_single and (model in layout.models[0] or len(layout.measures) > 1)
    for measures in layout.measures:
        found = []
        for place, measure in enumerate(measures):
            strips = Strips(grid.prompts, layout.width, layout.room, step, 0.14, lined=True, named=named and place == 0)
            layers = specs_of(row_layers(grid, measure, strips, labelled or len(layout.measures) > 1))
            where: Any = {"panel": measure.name, "model": model, "prompt": grid.prompts}
            spec = panel(layers, layout.width, strips.height, **where)
            if titled:
                spec["title"] = heading(title_lines(layout, measure), offset=4 + strips.above)
            found.append(spec)
        rows.append(beside(found, CLOSE))
    name, _, behind = model.partition(BESIDE)
    shown = model if text_width(model, 12) < layout.width * len(layout.measures[0]) else name
    bold = {"fontSize": 12, "fontWeight": "bold", "color": LIGHT["ink"]}
    return below(rows, 10) | {"title": heading(shown, offset=6 + (0 if named or titled else Strips.OVERHANG)) | bold}


def title_lines(layout: Layout, measure: Panel) -> list[str]:
    """A measure's wrapped title: as wide as all panels if it is the only one, else as its own panel."""
    width = layout.grid.options.width - layout.room if layout.is_single else layout.width
    text = measure.title if layout.is_single else measure.short or measure.title
    return wrap(text, max(8, int(width / text_width("n", LETTERS))))


def row_layers(grid: Grid, measure: Panel, strips: Strips, labelled: bool) -> list[alt.Chart]:
    """The layers of `layers`, along x in a journal column."""
    base = strips.rows_of("prompt", grid.series)
    axis = alt.Axis(
        title=None, tickCount=3 if strips.width > 90 else 2, format=measure.format, labels=labelled, ticks=False,
        domain=False, grid=True, labelFlush=True,
    )  # fmt: skip
    x, pitch = channel_of(measure, alt.X, axis), strips.bar / len(grid.series.names)
    zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"])
    drawn = [zero.encode(x=alt.X(datum=0, scale=x("low")["scale"], axis=axis))] if measure.bottom < 0 else []
    if grid.with_chance:
        tick = base.mark_tick(color=LIGHT["soft"], thickness=1.4, size=max(3.0, pitch), orient="vertical", opacity=1)
        drawn.append(tick.encode(x=x("chance")))
    side = min(7.0, max(4.4, 0.9 * pitch))
    return [*drawn, *dots(base, x, grid.series, make_legend(grid.series, grid.options, 0), 0.79 * side**2, 1.1)]
