"""Marks that figures share: dots with intervals, stacked shares, words over a grid, rows, scales, legend and key."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import altair as alt

from analysis.charts.figure import Options, Row, Spec, below, heading, of_kind, panel, specs_of
from analysis.charts.rows import shown_model, shown_source
from analysis.charts.theme import LIGHT, Series, text_width
from surveys.studies.wording import percent, sized, span

LONGEST = 150  # px for names; longer ones are cut off with an ellipsis
AXIS = 40  # px kept for the labels of a y axis
PERCENT = "format(100 * datum.value, '~r') + '\u202f%'"  # Vega's expression for the labels of an axis of shares
Channel = Callable[[str], Any]  # the position of a field, as alt.X or alt.Y


@dataclass(frozen=True)
class Strips:
    """The named rows of a panel, `step` px apart, the share `padding` of that free.

    `lined`: with lines between rows, for rows of several marks.
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
        """px by which to raise a title, to align it with that of a panel with lined names."""
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
    """A legend on top, with as many columns of its longest name as fit to the right of the axis."""
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


# --- a key above a figure, for signs that Vega's legends lack: hatching, lines, bands ---

# Vega has no patterns, so hatching is drawn as the shape of a point mark: lines cut off at a bar's edges. Vega scales
# shapes by half the root of their size, so that a mark of size 4 has its shape in px.
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
    """A sign and its meaning. Hatching may cover any colour."""

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


UNKNOWN = "unknown"
COUNTS, BARE_COUNTS, GAP = 56, 28, 18  # px for n, and between columns
OPTION_COLOURS, PAPER_STEP = 8, 12
FOR_QUARTERS = 160  # least px of an axis with five numbers


def bars_for(sources: tuple[str, ...], models: Sequence[str], options: Options) -> tuple[Strips, int]:
    """The bars, and the number of models side by side: at most 3; if narrow 1, on paper 2. Paper names sources once."""
    if not options.column:
        across, room = 1 if options.narrow else min(len(models), 3), room_for(sources)
        return Strips(sources, (options.width - 12 - (across - 1) * GAP) // across - room - COUNTS, room), across
    across, room = min(len(models), 2 if options.narrow else 3), room_for(sources, size=11)
    inside = options.width - 14 - room - across * count_room(options) - (across - 1) * GAP
    return Strips(sources, inside // across, room, step=PAPER_STEP, padding=0.3), across


def count_room(options: Options) -> int:
    """px for n, which is a bare number in a narrow journal column."""
    return BARE_COUNTS if options.column and options.narrow else COUNTS


# Parts of a bar --------------------------------------------------------------------------------------------


def parts_of(row: Row, bars: Strips, options: Options) -> list[Row]:
    """All parts of one bar, each with its `kind`."""
    source, n = shown_source(row["source"]), sum(row["counts"].values())
    where = {"prompt": options.name(row["prompt"]), "model": shown_model(row["model"], options), "source": source}
    is_bare = count_room(options) == BARE_COUNTS
    parts: list[Row] = [{"kind": "n", "start": 1, "text": f"{n:,}" if is_bare else sized(n)}]
    for letter, start, end in stacked(row):
        parts += segment(row, letter, start, end, bars)
    if bounds := span(row.get("ci")):
        parts.append({"kind": "ci", "start": bounds[0], "end": bounds[1]})
    return [where | part for part in parts]


def stacked(row: Row) -> Iterator[tuple[str, float, float]]:
    """Yield each letter given with its start and end: the correct one first, at the axis's 0, unknown last."""
    n, counts, start = sum(row["counts"].values()), row["counts"], 0.0
    for letter in sorted(counts, key=lambda letter: (letter == UNKNOWN, letter != row.get("correct"), letter)):
        if counts[letter]:
            yield letter, start, start + counts[letter] / n
        start += counts[letter] / n


def segment(row: Row, letter: str, start: float, end: float, bars: Strips) -> list[Row]:
    """A bar's piece for one letter, hatched if correct, with the letter if there is room."""
    is_correct, words = letter == row.get("correct"), fitting(letter, end - start, bars.width)
    told = f"{shown_source(row['source'])}: {letter} {percent(end - start, 1)}, {row['counts'][letter]} of {row['n']}"
    piece = {"start": start, "end": end, "option": letter}
    parts = [{"kind": "segment", **piece, "text": told + ", correct" * is_correct}]
    if is_correct:
        parts.append({"kind": "hatch", "start": start, "path": hatch_path((end - start) * bars.width, bars.bar)})
    if is_correct and words:
        half, middle = (text_width(words, 11) / 2 + 3) / bars.width, (start + end) / 2
        parts.append({"kind": "plate", **piece, "start": max(start, middle - half), "end": min(end, middle + half)})
    if words:
        parts.append({"kind": "letter", "start": (start + end) / 2, "text": words})
    return parts


def fitting(letter: str, share: float, width: int) -> str:
    """The letter with its share, the letter alone, or nothing, as the piece has room."""
    name = "?" if letter == UNKNOWN else letter
    words, room = f"{name} {percent(share)}", share * width
    return words if room > text_width(words, 11) + 8 else name if room > 13 else ""


# Columns of bars -------------------------------------------------------------------------------------------


def draw_column(rows: Sequence[Row], model: str, bars: Strips, letters: Sequence[str], options: Options) -> Spec:
    """Draw one model, with a panel for each prompt."""
    name, on_paper = shown_model(model, options), bool(options.column)
    correct = {options.name(row["prompt"]): row.get("correct") for row in rows}
    is_correct = "correct" if on_paper else "is correct"
    titles = {prompt: f"{prompt}: {letter} {is_correct}" if letter else prompt for prompt, letter in correct.items()}
    layers = bar_layers(letters, bars)
    unlabelled = bar_layers(letters, bars, labelled=False) if on_paper else layers
    limit = {"limit": bars.width + count_room(options) + GAP - 4}
    panels = [
        panel(drawn, bars.width, bars.height, "" if on_paper else title, model=name, prompt=prompt)
        | ({"title": heading(title) | limit} if on_paper else {})
        for drawn, (prompt, title) in zip([*[unlabelled] * (len(titles) - 1), layers], titles.items(), strict=True)
    ]
    return below(panels, 4 if on_paper else 14, name)


def bar_layers(letters: Sequence[str], bars: Strips, *, labelled: bool = True) -> list[Spec]:
    base = {"y": bars.axis("source"), "x": share_axis(labelled, bars.width)}
    colour, below = option_colour(letters), 3 if bars.step > PAPER_STEP else 2
    layers = [
        of_kind("segment").mark_bar(stroke=LIGHT["paper"], strokeWidth=1, aria=True)
        .encode(**base, x2=alt.X2("end:Q"), color=colour, description=alt.Description("text:N")),
        of_kind("hatch").mark_point(stroke=LIGHT["on-option"], strokeWidth=1, opacity=0.6, size=PIXELS)
        .encode(**base, shape=alt.Shape("path:N", scale=None)),
        of_kind("plate").mark_bar().encode(**base, x2=alt.X2("end:Q"), color=colour),
        of_kind("letter").mark_text(fontSize=11, fill=LIGHT["on-option"]).encode(alt.Text("text:N"), **base),
        of_kind("n").mark_text(fontSize=11, fill=LIGHT["soft"], align="left", dx=6)
        .encode(**base, text=alt.Text("text:N")),
        of_kind("ci").mark_rule(stroke=LIGHT["ink"], strokeWidth=1.8, yOffset=bars.bar / 2 + below)
        .encode(**base, x2=alt.X2("end:Q")),
    ]  # fmt: skip
    return specs_of(layers)


def share_axis(labelled: bool, width: int) -> alt.X:
    values = [0, 0.5, 1] if width < FOR_QUARTERS else [0, 0.25, 0.5, 0.75, 1]
    axis = alt.Axis(
        title=None, values=values, labelExpr=PERCENT, grid=False, labelFontSize=11, labels=labelled, ticks=labelled
    )
    return alt.X("start:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)


def option_colour(letters: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=[*letters, UNKNOWN], range=[*map(colour_of, range(len(letters))), LIGHT["unknown"]])
    return alt.Color("option:N", scale=scale, legend=None)


def colour_of(place: int) -> str:
    return LIGHT[f"option-{place % OPTION_COLOURS + 1}"]


def key_entries(letters: Sequence[str], rows: Sequence[Row]) -> list[KeyEntry]:
    found = [KeyEntry(letter, colour_of(place)) for place, letter in enumerate(letters)]
    if any(row["counts"].get(UNKNOWN) for row in rows):
        found.append(KeyEntry("? unknown", LIGHT["unknown"]))
    if any(row.get("correct") for row in rows):
        found += [KeyEntry("correct answer", sign="hatch"), KeyEntry("its 95 % interval", LIGHT["ink"], sign="line")]
    return found
