"""Distances of each source's recommendations from the field's."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Panel, draw_grids, grid_of
from analysis.charts.tables import COUNT, FINE, PLAIN, Column
from analysis.report import columns as col
from analysis.report.claims.enough import NOTHING_FOUND, TO_LISTS, is_enough, too_few
from analysis.report.columns import Part, TableSpec, intervals, rows_in
from analysis.report.dataset import ALL, FIELD
from analysis.report.samples import Data, correct_over_prompts, low_high, reasons, to_field
from analysis.stats.heterogeneity import Distance
from surveys.studies.wording import count_range, decimal, join_words, number, plural, sized


def compute(data: Data) -> list[Row]:
    found = [
        {
            "prompt": prompt,
            "model": source.model,
            "source": source.name,
            "chatbot": group.chatbot,
            "n": data.items(source, prompt).n,
            **data.unit_row(source, data.items(source, prompt).unit_count),
            "n_field": data.items(group.field, prompt).n,
            **distance_values(distance),
            **source.settings,
        }
        for prompt in data.lists
        for group in data.groups
        for source in group.others
        if (distance := to_field(data, group, source, prompt))
    ]
    correct_over_prompts(found, lambda row: row)
    return found


def distance_values(found: Distance) -> Row:
    values = {
        col.DISTANCE.name: found.jsd_bits,
        "tv": found.tv,
        "ci": low_high(found.ci_jsd),
        "ci_tv": low_high(found.ci_tv),
        "even": found.even_jsd,
        "even_tv": found.even_tv,
        "chance": found.chance_jsd,
        "chance_tv": found.chance_tv,
        "p": found.p,
        "p_tail": found.p_tail,
        "p_holm": None,
    }
    return values | reasons(ci_why=found.ci_why, ci_tv_why=found.ci_tv_why, why=found.why)


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "How far each source is from the field"
NOTHING = "No prompt has answers of both the field and another source that can be compared."
DRAWN_COLUMNS = [
    *read.PLACE,
    Column("n", "responses"),
    Column("n_field", "field responses"),
    Column(col.DISTANCE.name, col.DISTANCE.heading, unit=col.DISTANCE.unit),
    *read.ends_in("bits"),
    Column("chance", "by chance", unit="bits"),
    Column("excess", "above chance", unit="bits", value=lambda row: above_chance(row)),
    Column("tv", "total variation", unit="share"),
    *(*read.TESTED, read.WHY),
]


def draw_distances(report: Report, options: Options) -> Figure:
    rows = read.rows_of(report, "distances")
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in table if row[col.DISTANCE.name] is not None]
    if not known:
        return empty_figure("distances", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    points = [point_of(row, options) for row in known]
    top = max(max(row[col.DISTANCE.name], row["high"] or 0, row["chance"] or 0) for row in known)
    panel = Panel(col.DISTANCE.name, "Jensen–Shannon divergence, bits; grey ticks: by chance", top, format=".2~f")
    prompts, series = read.prompt_names(report, known, options), read.series_in(report, points)
    grid = grid_of([panel], points, series, options, prompts, 170, with_chance=True)
    words = Words(TITLE, caption(report, table, known), describe(known, options))
    return make_figure("distances", words, draw_grids([grid]), points, table, DRAWN_COLUMNS, options)


def point_of(row: Row, options: Options) -> Row:
    said = f"{row[col.DISTANCE.name]:.3f} bits from the field{read.told_ends(row, '{:.3f}'.format)}, {sized(row['n'])}"
    where = read.shown_model(row["model"], options), options.name(row["prompt"]), read.shown_source(row["source"])
    return read.mark_at(col.DISTANCE.name, *where, row[col.DISTANCE.name], row, said, row["chance"])


def caption(report: Report, table: Sequence[Row], known: Sequence[Row]) -> str:
    field = count_range(*read.counts_in(known, "n_field"))
    return read.write_caption(
        report,
        f"{read.n_words(known)} responses a mark, against {field} of the field.",
        read.INTERVAL_WORDS,
        definitions=[col.DISTANCE.name, "chance"],
        missing=sum(row[col.DISTANCE.name] is None for row in table),
        rows=table,
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    """Write for each model and source the mean distance above chance over prompts."""
    found = []
    for model, here in read.grouped(rows, "model").items():
        words = []
        for source, some in read.grouped((row for row in here if row["excess"] is not None), "source").items():
            mean = decimal(fmean(row["excess"] for row in some), 3)
            words.append(f"{read.shown_source(source)} {mean} over {plural(len(some), 'prompt')}")
        found.append(f"{read.shown_model(model, options)}: mean distance above chance, in bits: {join_words(words)}.")
    return " ".join(found)


def above_chance(row: Row) -> float | None:
    """Distance minus chance, both at equal sample sizes; None if either is undefined."""
    even, chance = number(row.get("even")), number(row.get("chance"))
    return None if even is None or chance is None else even - chance


# In tables --------------------------------------------------------------------------------------------------

N_FIELD = Column("n_field", "n field", COUNT, texts=lambda row: {"source": FIELD, "model": row["chatbot"] or ALL})
CHANCE = Column("chance", "By chance", FINE)
VARIATION = Column("tv", "Total variation", PLAIN, "ci_tv", why="why")
TABLE = TableSpec(
    "distances",
    "How far from the field",
    (
        *(col.PROMPT, col.SOURCE, col.COMPARED, col.SETTINGS, col.SIZE, N_FIELD),
        *(col.DISTANCE.column(), CHANCE, VARIATION, col.P_HOLM),
    ),
    rows_in("distances"),
    (col.DISTANCE.name, "ci", "chance", "tv"),
)
PAGE = replace(
    TABLE,
    title="Distance to the field, by prompt",
    columns=(*col.WHO, col.N, N_FIELD, col.DISTANCE.column(), CHANCE, VARIATION, col.P_HOLM),
    definitions=(col.DISTANCE.name, "chance", "tv", "ci"),
    note=col.CORRECTED,
)


def say(report: Report) -> str:
    sides = [(row, {"source": FIELD, "n": row["n_field"]}) for row in report["distances"]]
    both = [(row, field) for row, field in sides if above_chance(row) is not None]
    if not sides:
        return "No prompt for recommendations has answers of both the field and a model."
    if not both:
        return too_few([side for pair in sides for side in pair], TO_LISTS) or NOTHING_FOUND
    known = [above_chance(row) or 0.0 for row, field in both if is_enough(row, field)]
    if not known:
        return too_few([side for pair in both for side in pair], TO_LISTS)
    ends = dict.fromkeys(decimal(end(known)) for end in (min, max))  # one if they are equal
    what = "By prompt and source, distances to the field lie" if len(known) > 1 else "The distance to the field is"
    return f"{what} {' to '.join(ends)} bits above chance."


PART = Part(
    "distances",
    "distances",
    compute,
    {
        col.DISTANCE.name: col.DEFINITIONS[col.DISTANCE.name],
        "tv": "Total variation: half the sum of the absolute differences of shares, 0 to 1.",
        "chance": "The distance that one source, split at random into two such samples, shows on average; of simulated "
        "users with several answers one answer each, as in `even`.",
        "even": "The distance of as many units on both sides, one answer each, which `chance` is held against.",
    },
    intervals=intervals("bootstrap", "unit", *col.OF_DISTANCES),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_distances,
    say=say,
    is_brief=True,
)
