"""Each source's answers to questions with choices, and how far they are from the field's."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np

from analysis.charts import figure, marks
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words
from analysis.charts.marks import draw_key
from analysis.charts.tables import CHANGE, ENDS, PLAIN, SHARE, Column
from analysis.report import columns as col
from analysis.report.beyond import OF_MISSING_SHARES, SHARE_WITH_MISSING, missing_share_row, missing_share_words
from analysis.report.claims.enough import TO_CHOICES, held_back, is_read, may_turn, too_few
from analysis.report.columns import Part, TableSpec, intervals, rows_in, tested
from analysis.report.dataset import LETTERS
from analysis.report.samples import (
    Data,
    Group,
    Source,
    correct_over_prompts,
    difference_in,
    effect_cells,
    generator_for,
    low_high,
    reasons,
)
from analysis.stats import choices
from analysis.stats.choices import ChoiceDifference, Choices
from analysis.stats.resampling import ChoiceSample
from surveys.studies.wording import join_words, number, percent, sized

TESTS = (col.CORRECT.key, "tv", col.ENTROPY.key)


def compute(data: Data) -> list[Row]:
    rows_of_cell = rows_by_cell(data)
    found = [row for prompt in data.choices for group in data.groups for row in rows_of_cell[group, prompt]]
    correct_over_prompts(found, *(difference_in("against_field", test) for test in TESTS))
    return [row for row in found if row["source"] != "field" or data.shows_field]


def rows_by_cell(data: Data) -> dict[tuple[Group, str], list[Row]]:
    """The rows of each group and prompt."""
    cells = [(group, prompt) for group in data.groups for prompt in data.choices]
    return data.once(("choices",), lambda: {cell: group_rows(data, *cell) for cell in cells})


def group_rows(data: Data, group: Group, prompt: str) -> list[Row]:
    found: list[Row] = []
    for source in group.sources:
        if not data.options(source, prompt).n:
            continue
        row = source_row(data, source, prompt)
        if not source.is_field and data.options(group.field, prompt).n:
            row["against_field"] = beside_field(data, group, source, prompt, row, found[0])
        found.append(row)
    return found


def beside_field(data: Data, group: Group, source: Source, prompt: str, row: Row, field: Row) -> Row:
    """Differences from the field. `held`: why they are held back, if so many unknown answers could reverse them."""
    samples = data.options(group.field, prompt), data.options(source, prompt)
    n = min(sample.unit_count for sample in samples)
    shares = [each[col.CORRECT.key] for each in (row, field)]
    turns = None in shares or may_turn(row, shares[0], field, shares[1])
    return {
        **difference_row(against_field(data, group, source, prompt), n),
        "new_letters": new_letters(*samples, generator_for(data, "new letters", source, prompt), data.draws),
        **reasons(held=held_back(row, field) if turns else ""),
    }


def source_row(data: Data, source: Source, prompt: str) -> Row:
    found = described(data, source, prompt)
    letters = LETTERS[: len(found.counts)]
    return {
        "prompt": prompt,
        **source.key,
        "chatbot": source.chatbot,
        "n": found.n,
        **data.unit_row(source, found.units),
        "counts": dict(zip(letters, found.counts, strict=True)) | {"unknown": found.unknown},
        "correct": None if found.correct is None else LETTERS[found.correct],
        **letter_row(found),
        **missing_share_row(data.missing(source, prompt), found),
        "simulated": data.simulated_in(source, data.rows_of(source, prompt)),
        **source.settings,
    }


def letter_row(found: Choices) -> Row:
    """The measures of letters with their intervals, and the reasons for missing ones."""
    return {
        col.CORRECT.key: found.correct_share,
        "ci": low_high(found.ci),
        col.ENTROPY.key: found.entropy,
        "ci_entropy": low_high(found.entropy_ci),
        "bounds": low_high(found.bounds),
        "shares": option_shares(found),
        "unknown": found.unknown,
        **reasons(ci_why=found.ci_why, ci_entropy_why=found.entropy_ci_why, why=found.why),
    }


def new_letters(field: ChoiceSample, source: ChoiceSample, rng: np.random.Generator, draws: int) -> Row:
    """The mean number of letters that only the field gives among equally many answers of each side; and by chance."""
    found = choices.new_letters(field.counts(), field.n, source.counts(), source.n, rng, draws)
    return {"n": found.n, "value": found.value, "chance": found.chance, "ci_chance": low_high(found.expected)}


def option_shares(found: Choices) -> dict[str, Row]:
    letters = [*LETTERS[: len(found.counts)], "unknown"]
    shares, low_highs = [*found.shares, found.unknown_share], [*found.share_ci, found.unknown_ci]
    return {
        letter: {"share": share, "ci": low_high(ci), **reasons(ci_why=found.ci_why)}
        for letter, share, ci in zip(letters, shares, low_highs, strict=True)
    }


def described(data: Data, source: Source, prompt: str) -> Choices:
    def compute() -> Choices:
        return choices.describe(data.options(source, prompt))

    return data.once(("choices", source, prompt), compute)


def against_field(data: Data, group: Group, source: Source, prompt: str) -> ChoiceDifference:
    """Field minus source; positive when the field is right more often."""

    def compute() -> ChoiceDifference:
        rng = generator_for(data, "choices against field", source, prompt)
        return choices.compare(data.options(group.field, prompt), data.options(source, prompt), rng, data.draws)

    return data.once(("choices against field", source, prompt), compute)


def difference_row(found: ChoiceDifference, n: int) -> Row:
    """The differences as a row; `n`: the units of the smaller side."""
    tests = {col.CORRECT.key: found, "tv": found.tv, col.ENTROPY.key: found.bits}
    return {name: effect_cells(test, n) for name, test in tests.items() if test} | reasons(why=found.why)


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "What is answered to questions with choices"
NOTHING = "No answers to questions with choices yet: there is nothing to compare."


def draw_choices(report: Report, options: Options) -> Figure:
    rows = [row for row in read.line_up(report, read.rows_of(report, "choices")) if number(row.get("n"))]
    rows = read.sorted_by_prompt(report, rows)
    letters = sorted({letter for row in rows for letter in row["counts"]} - {marks.UNKNOWN})
    columns = table_columns(letters)
    table = [read.drawn_row(row, columns) for row in rows]
    if not rows:
        return figure.empty_figure("choices", TITLE, NOTHING, columns, options)
    there = {row["source"] for row in rows}
    sources = tuple(read.shown_source(source) for source in read.all_sources(report) if source in there)
    models = read.in_order(row["model"] for row in rows)
    bars, across = marks.bars_for(sources, models, options)
    room = bars.room
    columns_of = [
        marks.draw_column(rows, model, each, letters, options)
        for model, each in zip(models, cycle(bars.side_by_side(across, 1 if options.column else across)), strict=False)
    ]
    key, key_rows = draw_key(marks.key_entries(letters, rows), options, room)
    drawn = [*key_rows, *(part for row in rows for part in marks.parts_of(row, bars, options))]
    words = Words(TITLE, caption(report, rows), describe(rows, options))
    spacing = 5 if options.column else 16
    spec = figure.below([key, figure.in_rows(columns_of, across, spacing, marks.GAP)], spacing)
    return figure.make_figure("choices", words, spec, drawn, table, columns, options)


def count_of(letter: str) -> Column:
    return Column(f"count_{letter}", letter, unit="answers", value=lambda row: row["counts"].get(letter, 0))


def table_columns(letters: Sequence[str]) -> list[Column]:
    return [
        *read.PLACE,
        Column("n", "answers"),
        Column("correct", "correct answer"),
        Column(col.CORRECT.name, "answered correctly", unit=col.CORRECT.unit),
        *read.ends_in("share", name="correct_"),
        *(count_of(letter) for letter in (*letters, marks.UNKNOWN)),
        Column("missing", "people without an answer"),
        Column("missing_low", "correct if theirs were wrong", unit="share", value=read.end_of("bounds_missing", 0)),
        Column("missing_high", "correct if theirs were right", unit="share", value=read.end_of("bounds_missing", 1)),
        Column(col.ENTROPY.name, "entropy of known answers", unit=col.ENTROPY.unit),
        read.WHY,
    ]


# In words --------------------------------------------------------------------------------------------------


def caption(report: Report, rows: Sequence[Row]) -> str:
    unknown = sum(row["counts"].get(marks.UNKNOWN, 0) for row in rows)
    answers = sum(sum(row["counts"].values()) for row in rows)
    return read.write_caption(
        report,
        f"{read.n_words(rows)} answers a bar; {unknown:,} of all {answers:,} are unknown and count as wrong.",
        "The line below a bar is the 95 % interval (Wilson) of the share that is correct, over people, simulated users "
        "or repeats." * any(row.get("ci") for row in rows),
        rows=rows,
        definitions=[col.CORRECT.name],
        missing=sum(row.get(col.CORRECT.key) is None for row in rows),
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    """Write the shares of right answers in the field and offline, by prompt and model."""
    told = [
        row
        for row in rows
        if row["source"] in ("field", "offline") and number(row.get(col.CORRECT.key)) is not None and is_read(row)
    ]
    found, models = [], read.in_order(row["model"] for row in rows)
    for prompt, asked in read.grouped(told, "prompt").items():
        for model, here in sorted(read.grouped(asked, "model").items(), key=lambda entry: models.index(entry[0])):
            shares = [f"{read.shown_source(row['source'])} {percent(row[col.CORRECT.key])}" for row in here]
            question = f"{options.name(prompt)}, {read.shown_model(model, options)}"
            found.append(f"{question}: correct in {join_words(shares)}.")
    return " ".join(found) or f"{TITLE}: shares of each answer by source and model."


# In tables --------------------------------------------------------------------------------------------------

RIGHT = col.CORRECT.column(label="Right")
BOUNDS = Column("bounds", "Bounds", ENDS, short="if unknown wrong to right")
ENTROPY_OF_LETTERS = Column(col.ENTROPY.name, col.ENTROPY.label, col.ENTROPY.format, "ci_entropy", why="why")


def counted(row: Row) -> str:
    return "  ".join(f"{letter} {count}" for letter, count in sorted(row["counts"].items()) if letter != marks.UNKNOWN)


def page_columns(rows: list[Row], options: Options) -> list[Column]:
    letters = sorted({letter for row in rows for letter in row["counts"]} - {marks.UNKNOWN})
    bounds = replace(BOUNDS, value=lambda row: row["bounds"] if row["unknown"] else None, nothing="")
    there = [bounds] if any(row["unknown"] for row in rows) else []
    there += [SHARE_WITH_MISSING] if any(row.get("missing") for row in rows) else []
    return [*col.WHO, col.N, RIGHT, *there, *map(letter_column, (*letters, marks.UNKNOWN)), ENTROPY_OF_LETTERS]


def letter_column(letter: str) -> Column:
    return Column(
        f"shares.{letter}.share",
        letter.capitalize(),
        SHARE,
        f"shares.{letter}.ci",
        texts=lambda row: {"letter": "" if letter == marks.UNKNOWN else letter},
        mark=lambda row: " ✓" if letter == row["correct"] else "",
        nothing="",
    )


def page_note(rows: list[Row]) -> str:
    bounds = " Bounds: if every unknown answer were wrong, and if every one were right."
    return "✓ marks the right letter." + bounds * any(row["unknown"] for row in rows) + missing_share_words(rows)


NEW_LETTERS = Column(
    "against_field.new_letters.value", "Letters only of the field", PLAIN, soft=lambda row: letters_among(row)
)
NEW_BY_CHANCE = Column("against_field.new_letters.chance", "By chance", PLAIN, "against_field.new_letters.ci_chance")


def letters_among(row: Row) -> str:
    return sized(row["against_field"]["new_letters"]["n"]) if "new_letters" in row.get("against_field", {}) else ""


ENTROPY_DIFFERENCE = tested(f"against_field.{col.ENTROPY.key}", "Entropy: field minus source, bits", CHANGE)
TABLE = TableSpec(
    "choices",
    "Questions with choices",
    (
        *(col.PROMPT, col.SOURCE, col.COMPARED, col.SETTINGS, col.SIZE, col.UNKNOWN),
        *(Column("counts", "Answers", value=counted), Column("correct", "Key"), RIGHT, BOUNDS, ENTROPY_OF_LETTERS),
        *col.CORRECT.differences("against_field"),
        *col.by_label(*ENTROPY_DIFFERENCE),
        *(NEW_LETTERS, NEW_BY_CHANCE),
    ),
    rows_in("choices"),
    (col.CORRECT.name, "bounds", "unknown", "ci", "against_field", "entropy_difference", "new_letters"),
)
ANSWERS = TableSpec(
    "answers",
    "The numbers in the figure",
    page_columns,
    rows_in("choices"),
    (col.CORRECT.name, "bounds", "unknown", col.ENTROPY.name, "ci"),
    page_note,
)
AGAINST = TableSpec(
    "choices-against",
    "The field against each other source",
    (
        *(*col.WHO, col.N, *col.CORRECT.differences("against_field", "Right: field minus source, points")),
        *(NEW_LETTERS, NEW_BY_CHANCE, *tested("against_field.tv", "Distance of the letters", PLAIN)),
        *ENTROPY_DIFFERENCE,
    ),
    rows_in("choices", lambda row: "against_field" in row),
    ("tv", "entropy_difference", "new_letters"),
    col.CORRECTED,
)

PART = Part(
    "choices",
    "choices",
    compute,
    {
        col.CORRECT.name: col.DEFINITIONS[col.CORRECT.name],
        "bounds": "The share if all unknown answers were wrong, and if all were right.",
        **OF_MISSING_SHARES,
        "new_letters": "How many letters only the field gives among as many answers of each side, on average; chance "
        "is that of two such samples of both together.",
        "entropy_difference": "Entropy of the field’s known letters minus the source’s, each rid of the bias of its "
        "size; p by permuting units, two-sided, no smaller than Student’s t of the interval, Holm over all tests of "
        "the page.",
    },
    intervals=(
        *(*col.OF_LETTERS, *intervals("wilson", "unit", f"against_field.{col.CORRECT.key}.ci")),
        *intervals("bootstrap", "unit", "against_field.tv.ci"),
        *intervals("welch", "unit", f"against_field.{col.ENTROPY.key}.ci"),
        *intervals("simulation", "sample", "against_field.new_letters.ci_chance"),
    ),
    tables=(TABLE,),
    pages=(ANSWERS, AGAINST),
    draw=draw_choices,
    say=lambda report: too_few(report["choices"], TO_CHOICES),
    is_brief=True,
)
