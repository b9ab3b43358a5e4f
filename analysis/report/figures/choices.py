"""What each source answers to questions with choices: stacked bars, the correct answer hatched, unknown apart."""

from collections.abc import Sequence

import altair as alt

from analysis.charts.figure import (
    Figure,
    Options,
    Report,
    Row,
    Spec,
    Words,
    below,
    beside,
    empty_figure,
    make_figure,
    of_kind,
    panel,
    specs_of,
    split,
)
from analysis.charts.keys import PIXELS, Entry, draw_key, hatch_path
from analysis.charts.panels import PERCENT, Strips, room_for
from analysis.charts.rows import (
    all_sources,
    in_order,
    join_words,
    line_up,
    n_words,
    number,
    percent,
    rows_of,
    shown_model,
    shown_source,
    sorted_by_prompt,
    span,
    write_caption,
)
from analysis.charts.theme import LIGHT, text_width

TITLE = "What is answered to questions with choices"
NOTHING = "No answers to questions with choices yet: there is nothing to compare."
UNKNOWN = "unknown"
COUNTS, GAP = 56, 22  # px for n, and between columns
OPTION_COLOURS = 8


def draw_choices(report: Report, options: Options) -> Figure:
    rows = [row for row in line_up(report, rows_of(report, "choices")) if number(row.get("n"))]
    rows = sorted_by_prompt(report, rows)
    letters = sorted({letter for row in rows for letter in row["counts"]} - {UNKNOWN})
    table, columns = [table_row(row, letters) for row in rows], table_columns(letters)
    if not rows:
        return empty_figure("choices", TITLE, NOTHING, columns, options)
    there = {row["source"] for row in rows}
    sources = tuple(shown_source(source) for source in all_sources(report) if source in there)
    models = in_order(row["model"] for row in rows)
    across = 1 if options.narrow else min(len(models), 3)
    room = room_for(sources)
    bars = Strips(sources, (options.width - 12 - (across - 1) * GAP) // across - room - COUNTS, room)
    layers = bar_layers(letters, bars)
    columns_of = [
        beside([draw_column(rows, model, bars, layers, options) for model in some], GAP)
        for some in split(models, across)
    ]
    key, key_rows = draw_key(key_entries(letters, rows), options, room)
    drawn = [*key_rows, *(part for row in rows for part in parts_of(row, bars, options))]
    words = Words(TITLE, caption(report, rows), describe(rows, options))
    return make_figure("choices", words, below([key, *columns_of], 16), drawn, table, columns, options)


def table_row(row: Row, letters: Sequence[str]) -> Row:
    low, high = span(row.get("ci")) or (None, None)
    found = {key: row.get(key) for key in ("prompt", "model", "source", "n", "correct", "correct_share")}
    counts = {f"count_{letter}": row["counts"].get(letter, 0) for letter in (*letters, UNKNOWN)}
    rest = {"correct_low": low, "correct_high": high, **counts, "entropy_bits": row.get("entropy_bits")}
    return {**found, **rest, "why": row.get("why", "")}


def table_columns(letters: Sequence[str]) -> list[tuple[str, str, str]]:
    return [
        ("prompt", "prompt", ""),
        ("model", "model", ""),
        ("source", "source", ""),
        ("n", "answers", ""),
        ("correct", "correct answer", ""),
        ("correct_share", "answered correctly", "share"),
        ("correct_low", "from", "share"),
        ("correct_high", "to", "share"),
        *((f"count_{letter}", letter, "answers") for letter in (*letters, UNKNOWN)),
        ("entropy_bits", "entropy of known answers", "bits"),
        ("why", "why undefined", ""),
    ]


# What is drawn of a bar ------------------------------------------------------------------------------------


def parts_of(row: Row, bars: Strips, options: Options) -> list[Row]:
    """Everything that is drawn of one bar, each part with its `kind`."""
    source, n = shown_source(row["source"]), sum(row["counts"].values())
    where = {"prompt": options.name(row["prompt"]), "model": shown_model(row["model"], options), "source": source}
    parts: list[Row] = [{"kind": "n", "start": 1, "text": f"n = {n:,}"}]
    start = 0.0
    for letter in in_stack(row):
        end = start + row["counts"][letter] / n
        if end > start:
            parts += segment(row, letter, start, end, bars)
        start = end
    if bounds := span(row.get("ci")):
        parts.append({"kind": "ci", "start": bounds[0], "end": bounds[1]})
    return [where | part for part in parts]


def in_stack(row: Row) -> list[str]:
    """The correct answer first, so that its share can be read off the axis; unknown last."""
    return sorted(row["counts"], key=lambda letter: (letter == UNKNOWN, letter != row.get("correct"), letter))


def segment(row: Row, letter: str, start: float, end: float, bars: Strips) -> list[Row]:
    """The piece of a bar, its hatching if it is the correct answer, and its letter where there is room."""
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
    """The letter with its share, the letter, or nothing: what the piece has room for."""
    name = "?" if letter == UNKNOWN else letter
    words, room = f"{name} {percent(share)}", share * width
    return words if room > text_width(words, 11) + 8 else name if room > 13 else ""


# How -------------------------------------------------------------------------------------------------------


def draw_column(rows: Sequence[Row], model: str, bars: Strips, layers: Sequence[Spec], options: Options) -> Spec:
    """One model: a panel for each prompt."""
    name = shown_model(model, options)
    correct = {options.name(row["prompt"]): row.get("correct") for row in rows}
    panels = [
        panel(layers, bars.width, bars.height, question_title(prompt, letter), model=name, prompt=prompt)
        for prompt, letter in correct.items()
    ]
    return below(panels, 14, name)


def question_title(prompt: str, correct: str | None) -> str:
    return f"{prompt}: {correct} is correct" if correct else prompt


def bar_layers(letters: Sequence[str], bars: Strips) -> list[Spec]:
    base = {"y": bars.axis("source"), "x": share_axis()}
    colour = option_colour(letters)
    layers = [
        of_kind("segment").mark_bar(stroke=LIGHT["paper"], strokeWidth=1, aria=True)
        .encode(**base, x2="end:Q", color=colour, description="text:N"),
        of_kind("hatch").mark_point(stroke=LIGHT["on-option"], strokeWidth=1, opacity=0.6, size=PIXELS)
        .encode(**base, shape=alt.Shape("path:N", scale=None)),
        of_kind("plate").mark_bar().encode(**base, x2="end:Q", color=colour),
        of_kind("letter").mark_text(fontSize=11, fill=LIGHT["on-option"]).encode(**base, text="text:N"),
        of_kind("n").mark_text(fontSize=11, fill=LIGHT["soft"], align="left", dx=6).encode(**base, text="text:N"),
        of_kind("ci").mark_rule(stroke=LIGHT["ink"], strokeWidth=1.8, yOffset=bars.bar / 2 + 3)
        .encode(**base, x2="end:Q"),
    ]  # fmt: skip
    return specs_of(layers)


def share_axis() -> alt.X:
    axis = alt.Axis(title=None, values=[0, 0.25, 0.5, 0.75, 1], labelExpr=PERCENT, grid=False, labelFontSize=11)
    return alt.X("start:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)


def option_colour(letters: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=[*letters, UNKNOWN], range=[*map(colour_of, range(len(letters))), LIGHT["unknown"]])
    return alt.Color("option:N", scale=scale, legend=None)


def colour_of(place: int) -> str:
    return LIGHT[f"option-{place % OPTION_COLOURS + 1}"]


def key_entries(letters: Sequence[str], rows: Sequence[Row]) -> list[Entry]:
    found = [Entry(letter, colour_of(place)) for place, letter in enumerate(letters)]
    if any(row["counts"].get(UNKNOWN) for row in rows):
        found.append(Entry("? unknown", LIGHT["unknown"]))
    if any(row.get("correct") for row in rows):
        found += [Entry("correct answer", sign="hatch"), Entry("its 95 % interval", LIGHT["ink"], sign="line")]
    return found


# In words --------------------------------------------------------------------------------------------------


def caption(report: Report, rows: Sequence[Row]) -> str:
    unknown = sum(row["counts"].get(UNKNOWN, 0) for row in rows)
    answers = sum(sum(row["counts"].values()) for row in rows)
    return write_caption(
        report,
        f"{n_words(rows)} answers a bar; {unknown:,} of all {answers:,} are unknown and count as wrong.",
        "The line below a bar is the 95 % bootstrap interval of the share that is correct.",
        definitions=["correct_share"],
        missing=sum(row.get("correct_share") is None for row in rows),
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    """Who is right how often in the field and offline, and which answers only the field sees."""
    found = [
        sentence
        for prompt in in_order(row["prompt"] for row in rows)
        for model in in_order(row["model"] for row in rows)
        if (sentence := describe_question([r for r in rows if (r["prompt"], r["model"]) == (prompt, model)], options))
    ]
    return " ".join(found) or f"{TITLE}: shares of each answer by source and model."


def describe_question(rows: Sequence[Row], options: Options) -> str:
    shares = [
        f"{shown_source(row['source'])} {percent(row['correct_share'])}"
        for row in rows
        if row["source"] in ("field", "offline") and number(row.get("correct_share")) is not None
    ]
    if not shares:
        return ""
    head = (
        f"{options.name(rows[0]['prompt'])}, {shown_model(rows[0]['model'], options)}: correct in {join_words(shares)}"
    )
    only = only_in_field(rows)
    return f"{head}; {join_words(only)} given in the field but not offline." if only else f"{head}."


def only_in_field(rows: Sequence[Row]) -> list[str]:
    given = {row["source"]: {letter for letter, count in row["counts"].items() if count} for row in rows}
    return sorted(given["field"] - given["offline"] - {UNKNOWN}) if {"field", "offline"} <= given.keys() else []
