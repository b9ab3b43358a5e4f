"""Grids of panels in a journal's column: prompts as rows, their names once at the left, models and measures beside."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from analysis.charts import panels
from analysis.charts.figure import BESIDE, Spec, below, beside, heading, panel, specs_of, split_evenly, wrap
from analysis.charts.marks import Strips, along, dots, make_legend, room_for
from analysis.charts.panels import Grid, Panel
from analysis.charts.theme import LIGHT, text_width

# px. 110 mm of any column are at least 430; beside names a panel has a least width, and letters are of one size.
HIGH, NARROWEST, WIDEST, GAP, LETTERS = 410, 56, 250, 12, 11
LINE = 14  # of words
LEAST_STEP, MOST_STEP = 11, 26


def draw_grids(grids: Sequence[Grid], spacing: int = 20) -> Spec:
    """Below one another: on a screen each as its own, in a journal's column all together as high as a page allows."""
    if not grids[0].options.column:
        drawn = [panels.draw_grid(grid) for grid in grids]
        return drawn[0] if len(drawn) == 1 else below(drawn, spacing)
    layouts = [lay_out(grid, grids) for grid in grids]
    taken = LINE * (2 + legend_lines(grids[0])) + sum(layout.overhead for layout in layouts)
    step = (HIGH - taken) // sum(layout.rows for layout in layouts)
    return below([draw(layout, min(max(step, LEAST_STEP), most_step(layout.grid))) for layout in layouts], 12)


def most_step(grid: Grid) -> int:
    return min(MOST_STEP, 10 + 4 * len(grid.series.names))


def legend_lines(grid: Grid) -> int:
    columns = make_legend(grid.series, grid.options).columns
    return -(-len(grid.series.names) // columns)


@dataclass(frozen=True)
class Layout:
    """Which models stand side by side in each row of blocks, and which measures in each row of a block."""

    grid: Grid
    room: int  # px for the names of prompts
    width: int  # px of a panel
    models: list[Sequence[str]]
    measures: list[Sequence[Panel]]

    @property
    def rows(self) -> int:
        return len(self.grid.prompts) * len(self.models) * len(self.measures)

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
    """As many panels side by side as have their least width; all grids have the same room for names."""
    room = room_for([prompt for each in grids for prompt in each.prompts], 110, LETTERS)
    inside = grid.options.width - 14 - room
    fitting = max(1, (inside + GAP) // (NARROWEST + GAP))
    measures = split_evenly(grid.measures, fitting)
    models = split_evenly(grid.models, max(1, fitting // len(measures[0])))
    across = max(map(len, models)) * len(measures[0])
    return Layout(grid, room, min(WIDEST, (inside - (across - 1) * GAP) // across), models, measures)


def draw(layout: Layout, step: int) -> Spec:
    grid, rows = layout.grid, []
    for models in layout.models:
        # Values of one measure have one axis: its numbers stand once, below the last panel of a column.
        covered = 0 if models is layout.models[-1] else len(layout.models[-1])
        groups = [draw_group(layout, model, step, place == 0, place >= covered) for place, model in enumerate(models)]
        rows.append(beside(groups, GAP))
    spec = below(rows, 10)
    return spec | {"title": heading(title_lines(layout, grid.measures[0]), offset=8)} if layout.is_single else spec


def draw_group(layout: Layout, model: str, step: int, named: bool, labelled: bool) -> Spec:
    """One model: its measures side by side; these are named above the first models."""
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
        rows.append(beside(found, GAP))
    name, _, behind = model.partition(BESIDE)
    shown = model if text_width(model, 12) < layout.width * len(layout.measures[0]) else name
    bold = {"fontSize": 12, "fontWeight": "bold", "color": LIGHT["ink"]}
    return below(rows, 10) | {"title": heading(shown, offset=6 + (0 if named or titled else Strips.OVERHANG)) | bold}


def title_lines(layout: Layout, measure: Panel) -> list[str]:
    """A single measure's over all panels, else over its own."""
    width = layout.grid.options.width - layout.room if layout.is_single else layout.width
    text = measure.title if layout.is_single else measure.short or measure.title
    return wrap(text, max(8, int(width / text_width("n", LETTERS))))


def row_layers(grid: Grid, measure: Panel, strips: Strips, labelled: bool) -> list[alt.Chart]:
    """A rule at 0 where values go below it, the tick of chance, and the dots with their intervals."""
    base = strips.rows_of("prompt", grid.series)
    axis = alt.Axis(
        title=None, tickCount=3 if strips.width > 90 else 2, format=measure.format, labels=labelled, ticks=False,
        domain=False, grid=True, labelFlush=True,
    )  # fmt: skip
    if measure.integers:
        axis.tickMinStep = 1
    scale = alt.Scale(domain=[measure.bottom, measure.top], nice=measure.top != 1)

    x = along(alt.X, scale, axis)
    pitch = strips.bar / len(grid.series.names)
    drawn = []
    if measure.bottom < 0:
        drawn.append(
            alt.Chart().mark_rule(stroke=LIGHT["strong-line"]).encode(x=alt.X(datum=0, scale=scale, axis=axis))
        )
    if grid.with_chance:
        tick = base.mark_tick(color=LIGHT["soft"], thickness=1.4, size=max(3.0, pitch), orient="vertical", opacity=1)
        drawn.append(tick.encode(x=x("chance")))
    side = min(7.0, max(4.4, 0.9 * pitch))
    return [*drawn, *dots(base, x, grid.series, make_legend(grid.series, grid.options, 0), 0.79 * side**2, 1.1)]
