"""Stacked shares: a bar for each source, the right answer first and hatched, with its interval below."""

from collections.abc import Iterator, Sequence

import altair as alt

from analysis.charts import figure
from analysis.charts.figure import Options, Row, Spec
from analysis.charts.marks import PERCENT, PIXELS, KeyEntry, Strips, hatch_path, room_for
from analysis.charts.rows import shown_model, shown_source
from analysis.charts.theme import LIGHT, text_width
from surveys.studies.wording import percent, sized, span

UNKNOWN = "unknown"
COUNTS, BARE_COUNTS, GAP = 56, 28, 18  # px for n, and between columns
OPTION_COLOURS, PAPER_STEP = 8, 12
FOR_QUARTERS = 160  # least px of an axis with five numbers


def bars_for(sources: tuple[str, ...], models: Sequence[str], options: Options) -> tuple[Strips, int]:
    """The bars and how many models are side by side: at most 3; if narrow 1, on paper 2. Paper names sources once."""
    if not options.column:
        across, room = 1 if options.narrow else min(len(models), 3), room_for(sources)
        return Strips(sources, (options.width - 12 - (across - 1) * GAP) // across - room - COUNTS, room), across
    across, room = min(len(models), 2 if options.narrow else 3), room_for(sources, size=11)
    inside = options.width - 14 - room - across * count_room(options) - (across - 1) * GAP
    return Strips(sources, inside // across, room, step=PAPER_STEP, padding=0.3), across


def count_room(options: Options) -> int:
    """px for n, which is a bare number in a narrow journal column."""
    return BARE_COUNTS if options.column and options.narrow else COUNTS


# What is drawn of a bar ------------------------------------------------------------------------------------


def parts_of(row: Row, bars: Strips, options: Options) -> list[Row]:
    """All parts drawn for one bar, each with its `kind`."""
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
    """Yield each letter given with its start and end: the correct one first, to be read off the axis, unknown last."""
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


# How -------------------------------------------------------------------------------------------------------


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
        figure.panel(drawn, bars.width, bars.height, "" if on_paper else title, model=name, prompt=prompt)
        | ({"title": figure.heading(title) | limit} if on_paper else {})
        for drawn, (prompt, title) in zip([*[unlabelled] * (len(titles) - 1), layers], titles.items(), strict=True)
    ]
    return figure.below(panels, 4 if on_paper else 14, name)


def bar_layers(letters: Sequence[str], bars: Strips, *, labelled: bool = True) -> list[Spec]:
    base = {"y": bars.axis("source"), "x": share_axis(labelled, bars.width)}
    colour, below = option_colour(letters), 3 if bars.step > PAPER_STEP else 2
    layers = [
        figure.of_kind("segment").mark_bar(stroke=LIGHT["paper"], strokeWidth=1, aria=True)
        .encode(**base, x2=alt.X2("end:Q"), color=colour, description=alt.Description("text:N")),
        figure.of_kind("hatch").mark_point(stroke=LIGHT["on-option"], strokeWidth=1, opacity=0.6, size=PIXELS)
        .encode(**base, shape=alt.Shape("path:N", scale=None)),
        figure.of_kind("plate").mark_bar().encode(**base, x2=alt.X2("end:Q"), color=colour),
        figure.of_kind("letter").mark_text(fontSize=11, fill=LIGHT["on-option"]).encode(alt.Text("text:N"), **base),
        figure.of_kind("n").mark_text(fontSize=11, fill=LIGHT["soft"], align="left", dx=6)
        .encode(**base, text=alt.Text("text:N")),
        figure.of_kind("ci").mark_rule(stroke=LIGHT["ink"], strokeWidth=1.8, yOffset=bars.bar / 2 + below)
        .encode(**base, x2=alt.X2("end:Q")),
    ]  # fmt: skip
    return figure.specs_of(layers)


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
