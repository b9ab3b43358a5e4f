"""How wide the field's intervals will be at planned numbers of answers, judged from the answers so far."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, median

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Panel, draw_grids, grid_of, with_axes
from analysis.charts.tables import COUNT, FINE, Column, NumberFormat
from analysis.charts.theme import series_of_groups
from analysis.report import columns as col
from analysis.report.claims.enough import is_enough, too_few_people
from analysis.report.columns import Part, TableSpec, intervals, rows_in
from analysis.report.samples import Data, Source, generator_for, low_high, reasons
from analysis.stats import population
from analysis.stats.population import ExpectedWidth
from surveys.studies.wording import sized

TOP_SHARE = "item_share"
PLANNED = (50, 100, 200, 400, 800)
SAMPLES = 6  # simulated ones: enough to know the mean width to a few per cent


def compute(data: Data) -> list[Row]:
    """Rows from the answers that pass the filters: the main study's so far, or the pilot's if they choose it."""
    return [row for prompt in data.prompts for group in data.groups for row in width_rows(data, group.field, prompt)]


def width_rows(data: Data, field: Source, prompt: str) -> list[Row]:
    return [
        {
            "prompt": prompt,
            "kind": data.prompts[prompt].kind,
            **field.key,
            "measure": measure,
            "n": found.pilot,
            **data.unit_row(field, found.pilot),
            "planned_n": found.n,
            "width": found.width,
            "ci": low_high(found.ci),
            **reasons(why=found.why),
        }
        for measure, found in (widths(data, field, prompt) if len(data.rows_of(field, prompt)) else ())
    ]


def widths(data: Data, field: Source, prompt: str) -> Iterator[tuple[str, ExpectedWidth]]:
    expect = choice_widths if prompt in data.choices else item_widths
    for n in PLANNED:
        yield from expect(data, field, prompt, n)


def item_widths(data: Data, field: Source, prompt: str, n: int) -> Iterator[tuple[str, ExpectedWidth]]:
    pilot, rng = data.items(field, prompt), generator_for(data, "precision", field, prompt, n)
    yield col.ENTROPY.name, population.entropy_width(pilot, n, rng, SAMPLES)
    if len(pilot.codes):
        yield TOP_SHARE, population.item_share_width(pilot, int(pilot.counts().argmax()), n, rng)


def choice_widths(data: Data, field: Source, prompt: str, n: int) -> Iterator[tuple[str, ExpectedWidth]]:
    pilot, rng = data.options(field, prompt), generator_for(data, "precision", field, prompt, n)
    if pilot.correct is not None:
        yield col.CORRECT.name, population.correct_share_width(pilot, n, rng)


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "How wide intervals will be"
NOTHING = "No answers of people that can be counted: nothing says how wide intervals will be."
UNKNOWN = "The answers so far do not say how wide this measure’s intervals will be."
MEASURES = (
    Panel(col.ENTROPY.name, "Width for entropy, bits", format=".2~f", short=col.ENTROPY.label),
    Panel(TOP_SHARE, "Width for the share of the most frequent item", format=".2~f", short="Share of the top item"),
    Panel(col.CORRECT.name, "Width for the share answered correctly", format=".2~f"),
)
DRAWN_COLUMNS = [
    Column("prompt", "prompt"),
    Column("model", "chatbot"),
    Column("measure", "measure"),
    Column("n", "answers so far"),
    Column("planned_n", "planned answers"),
    Column("width", "expected width of the interval"),
    *(*read.ends_in(), read.WHY),
]


def draw_precision(report: Report, options: Options) -> Figure:
    rows = read.rows_of(report, "precision")
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in table if row["width"] is not None]
    shown = [m for m in MEASURES if options.measure in ("", m.name) and m.name in {row["measure"] for row in known}]
    if not shown:
        return empty_figure("precision", TITLE, UNKNOWN if rows else NOTHING, DRAWN_COLUMNS, options, table)
    points = [point_of(row, options) for row in known]
    sizes = sorted({int(row["planned_n"]) for row in known})
    # Prompts with choices and those with lists have different measures.
    halves = [[m for m in shown if (m.name == col.CORRECT.name) == of_choices] for of_choices in (False, True)]
    series = series_of_groups(map(sized, sizes))
    grids = [
        grid_of(with_axes(measures, points), points, series, options, read.prompt_names(report, asked, options), 130)
        for measures in halves
        if (asked := [row for row in known if row["measure"] in {measure.name for measure in measures}])
    ]
    words = Words(TITLE, caption(report, table), describe(known))
    return make_figure("precision", words, draw_grids(grids), points, table, DRAWN_COLUMNS, options)


def point_of(row: Row, options: Options) -> Row:
    where = read.shown_model(row["model"], options), options.name(row["prompt"]), sized(row["planned_n"])
    said = f"the interval is {row['width']:.3f} wide"
    return read.mark_at(row["measure"], *where, row["width"], row, said)


def caption(report: Report, table: Sequence[Row]) -> str:
    return read.write_caption(
        report,
        f"Judged from the answers so far, {read.n_words(table)} a prompt, drawn again with replacement.",
        "Width of 95 % intervals; lines are 95 % intervals of that width.",
        missing=sum(row["width"] is None for row in table),
    )


def describe(rows: Sequence[Row]) -> str:
    """The mean width at the smallest and the largest planned number."""
    found, by_measure = [], read.grouped(rows, "measure")
    for measure in MEASURES:
        if here := by_measure.get(measure.name):
            sizes = {end(int(row["planned_n"]) for row in here): None for end in (min, max)}
            widths = {size: fmean(row["width"] for row in here if row["planned_n"] == size) for size in sizes}
            ends = [f"{width:.3f} at {sized(size)}" for size, width in widths.items()]
            found.append(f"{measure.title}: {' and '.join(ends)}, on average over prompts.")
    return " ".join(found)


# In tables --------------------------------------------------------------------------------------------------

NAMES = {col.ENTROPY.name: col.ENTROPY.label, TOP_SHARE: "Share of the top item", col.CORRECT.name: col.CORRECT.label}
WHICH = (col.PROMPT, col.CHATBOT, Column("measure", "Measure", value=lambda row: NAMES[row["measure"]]))
TABLE = TableSpec(
    "precision",
    "Expected width of the interval with more answers",
    (*(*WHICH, Column("n", "n now", COUNT), Column("planned_n", "planned n", COUNT)), Column("width", "Width", FINE)),
    rows_in("precision"),
    ("precision",),
)


def by_planned(report: Report, options: Options) -> list[Row]:
    """A row for each prompt, chatbot and measure; the planned numbers as columns."""
    entries: dict[tuple[str, ...], Row] = {}
    for row in report["precision"]:
        entry = entries.setdefault((row["prompt"], row["model"], row["measure"]), row | {"by": {}})
        entry["by"][str(row["planned_n"])] = row
    return list(entries.values())


def planned_columns(rows: list[Row], options: Options) -> list[Column]:
    sizes = sorted({int(size) for row in rows for size in row["by"]})
    return [*WHICH, replace(col.N, label="n now"), *map(width_column, sizes)]


def width_column(size: int) -> Column:
    def form(entry: Row) -> NumberFormat:
        return NumberFormat() if entry["measure"] == col.ENTROPY.name else NumberFormat(digits=0, scale=100)

    by = f"by.{size}"
    return Column(f"{by}.width", f"{size:,} answers", FINE, f"{by}.ci", why=f"{by}.why", format_of=form)


PAGE = TableSpec(
    "precision",
    "How wide the 95 % intervals will be",
    planned_columns,
    by_planned,
    note="The whole width, from end to end: of entropy in bits, of shares in percentage points.",
    empty="No answer of a person is counted: the width is judged from those that are.",
)


def say(report: Report) -> str:
    known = [
        row
        for row in report["precision"]
        if row["measure"] == col.ENTROPY.name and row["planned_n"] == 400 and row["width"] is not None
        if is_enough(row)
    ]
    if not known:
        few = too_few_people(report["precision"], "say how wide the intervals will be")
        return few or "How wide the intervals will be stands below; no entropy of a list can be judged yet."
    width = median(row["width"] for row in known)
    so_far = sized(*(row["n"] for row in known))
    return f"With 400 answers a prompt, the interval of the entropy will be about {width:.2f} bits wide, by {so_far}."


PART = Part(
    "precision",
    "precision",
    compute,
    {"precision": "Mean width of the 95 % interval with this many answers, drawn from the answers so far."},
    intervals=intervals("simulation", "sample", "ci"),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_precision,
    say=say,
)
