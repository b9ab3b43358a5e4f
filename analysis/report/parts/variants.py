"""Noisy variants of a prompt (typos, slang, other languages) compared with the original."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Grid, Panel, draw_grids, grid_of
from analysis.charts.tables import COUNT, SHARE, Column
from analysis.charts.theme import printable
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, intervals, is_list, rows_in
from analysis.report.parts.distances import distance_values
from analysis.report.parts.drift import CHANGE
from analysis.report.samples import Data, Source, correct_over_prompts, generator_for, low_high, reasons
from analysis.stats import heterogeneity
from analysis.stats.resampling import UNKNOWN, ItemSample
from analysis.stats.scores import paired_difference
from surveys.studies.wording import count_range, decimal, number, sized

UNIT = ["unit", "user", "repeat"]


def compute(data: Data) -> list[Row]:
    variants = {prompt.slug: prompt for prompt in data.definition.prompts if prompt.variant_of}
    found = []
    for slug, prompt in variants.items():
        if not {slug, prompt.variant_of} <= data.frames.prompts.keys() or slug not in data.prompts:
            continue
        for source in (source for group in data.groups for source in group.sources):
            sizes = [len(data.rows_of(source, part)) for part in (prompt.variant_of, slug)]
            if all(sizes):
                head: Row = {"prompt": prompt.variant_of, "variant_prompt": slug, "variant": prompt.variant}
                counts = {"n_original": sizes[0], "n": sizes[1]}
                compare = compare_choices if prompt.kind == "choice" else compare_items
                head |= {"kind": prompt.kind, **source.key, **counts}
                found.append(head | compare(data, source, prompt.variant_of, slug))
    correct_over_prompts(found, lambda row: row, tables=2)  # the page shows drift too
    return found


def compare_items(data: Data, source: Source, original: str, variant: str) -> Row:
    """The distance between the items of both, which share the original's vocabulary."""
    rng = generator_for(data, "variant", source, variant)
    before, after = (items_by_person(data, source, prompt) for prompt in (original, variant))
    units = data.unit_row(source, after.unit_count)
    return units | distance_values(heterogeneity.compare(before, after, rng, data.draws))


def items_by_person(data: Data, source: Source, prompt: str) -> ItemSample:
    """Items by unit; in the field by person, since the same people answered both prompts."""
    sample = data.items(source, prompt)
    if not source.is_field:
        return sample
    rows = data.by_unit(source, data.rows_of(source, prompt))
    return replace(sample, units=data.frames.field.table["unit"].to_numpy()[rows])


def compare_choices(data: Data, source: Source, original: str, variant: str) -> Row:
    """Compare correct answers to both prompts by the same person, or the same repeat of a simulated user."""
    before, after = (scores_by_unit(data, source, prompt) for prompt in (original, variant))
    both = sorted(before.keys() & after.keys())
    rng = generator_for(data, "variant", source, variant)
    one, other = ([side[unit] for unit in both] for side in (before, after))
    whose = respondents(data, source, original)
    found = paired_difference(one, other, rng, data.draws, [whose[unit] for unit in both])
    return {
        **data.unit_row(source, found.units),
        "pairs": found.n,
        f"{col.CORRECT.key}_original": found.original,
        col.CORRECT.key: found.variant,
        "effect": found.effect,
        "ci": low_high(found.ci),
        "p": found.p,
        "p_holm": None,
        "changed": changed(data, source, original, variant),
        **reasons(ci_why=found.ci_why, why=found.why),
    }


def scores_by_unit(data: Data, source: Source, prompt: str) -> dict[tuple[int, ...], float]:
    sample = data.options(source, prompt)
    return dict(zip(units_of(data, source, prompt), (sample.codes == sample.correct).astype(float), strict=True))


def respondents(data: Data, source: Source, prompt: str) -> dict[tuple[int, ...], int]:
    """The number of the unit (a person, simulated user or repeat) behind each answer."""
    pairs, units = units_of(data, source, prompt), data.units(source, prompt)
    return dict(zip(pairs, range(len(pairs)) if units is None else units.tolist(), strict=True))


def units_of(data: Data, source: Source, prompt: str) -> list[tuple[int, ...]]:
    table = data.frame(source.is_field).table.iloc[data.rows_of(source, prompt)]
    if source.is_field:  # a person answers once; `repeat` is the revision
        return [(unit,) for unit in table["unit"]]
    return list(table[UNIT].itertuples(index=False, name=None))


def changed(data: Data, source: Source, original: str, variant: str) -> float | None:
    """Share of pairs of known letters that differ; None if there are none."""
    before, after = (letters_by_unit(data, source, prompt) for prompt in (original, variant))
    both = before.keys() & after.keys()
    known: NDArray[np.bool_] = np.array([UNKNOWN not in (before[unit], after[unit]) for unit in both], dtype=bool)
    differ = np.array([before[unit] != after[unit] for unit in both], dtype=bool)
    return float(differ[known].mean()) if known.any() else None


def letters_by_unit(data: Data, source: Source, prompt: str) -> dict[tuple[int, ...], int]:
    return dict(zip(units_of(data, source, prompt), data.options(source, prompt).codes.tolist(), strict=True))


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "What noisy variants of a prompt change"
NOTHING = "No prompt of this study has variants with answers: there is nothing to compare."
# The measure drawn for each kind of prompt.
MEASURES = {
    "recommendation": Panel(
        col.DISTANCE.name, "Distance from the original, bits; grey ticks: by chance", format=".2~f"
    ),
    "choice": Panel("effect", "Change of the correct share", format=".2~f"),
}
DRAWN_COLUMNS = [
    *read.plain("prompt", "variant", "model", "source"),
    Column("n_original", "answers to the original"),
    Column("n", "answers to the variant"),
    Column(col.DISTANCE.name, col.DISTANCE.heading, unit=col.DISTANCE.unit),
    Column("effect", "change of the correct share", unit="share"),
    *(*read.ends_in(), *read.TESTED, read.WHY),
]


def draw_variants(report: Report, options: Options) -> Figure:
    rows = read.sorted_by_prompt(report, read.line_up(report, read.rows_of(report, "variants")))
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    points = [point_of(row, options) for row in rows if value_of(row) is not None]
    if not points:
        return empty_figure("variants", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    grids = [
        grid_of_measure(measure, here, report, options)
        for measure in MEASURES.values()
        if (here := [point for point in points if point["panel"] == measure.name])
    ]
    words = Words(TITLE, caption(report, rows), describe(points))
    return make_figure("variants", words, draw_grids(grids), points, table, DRAWN_COLUMNS, options)


def measure_of(row: Row) -> Panel:
    return MEASURES["choice" if row.get("kind") == "choice" else "recommendation"]


def value_of(row: Row) -> float | None:
    return number(row.get(measure_of(row).name))


def grid_of_measure(measure: Panel, points: Sequence[Row], report: Report, options: Options) -> Grid:
    values = [0.0, *read.reach(points), *(point["chance"] for point in points if point["chance"] is not None)]
    fitted = Panel(measure.name, measure.title, max(values) or 1.0, min(values), measure.format)
    with_chance, series = measure.name == col.DISTANCE.name, read.series_in(report, points)
    return grid_of([fitted], points, series, options, height=150, with_chance=with_chance)


def point_of(row: Row, options: Options) -> Row:
    ends, value = row.get("ci"), value_of(row)
    said = f"{value:.3f}{read.told_ends(ends, '{:.3f}'.format)}, {sized(row['n'])}"
    prompt = f"{options.name(row['prompt'])}: {printable(row['variant'])}"
    where = read.shown_model(row["model"], options), prompt, read.shown_source(row["source"])
    return read.mark_at(measure_of(row).name, *where, value or 0.0, ends, said, number(row.get("chance")))


def caption(report: Report, rows: Sequence[Row]) -> str:
    drawn = [row for row in rows if value_of(row) is not None]
    original = count_range(*read.counts_in(drawn, "n_original"))
    return read.write_caption(
        report,
        f"{read.n_words(drawn)} answers to a variant, against {original} to the original.",
        read.INTERVAL_WORDS,
        definitions=[col.DISTANCE.name, "chance"],
        missing=sum(value_of(row) is None for row in rows),
        rows=rows,
    )


def describe(points: Sequence[Row]) -> str:
    ways = {
        col.DISTANCE.name: ("bits from the original", "{:.3f}".format),
        "effect": ("change of the correct share, points", lambda value: decimal(100 * value, 1, sign=True)),
    }
    found = ([point for point in points if point["panel"] == name] for name in ways)
    return " ".join(read.describe_marks(here, *ways[here[0]["panel"]]) for here in found if here)


# In tables --------------------------------------------------------------------------------------------------

NAME = Column("variant", "Variant")
TABLE = TableSpec(
    "variants",
    "Variants of prompts",
    (
        *(col.PROMPT, NAME, col.SOURCE, col.COMPARED, Column("n_original", "n original", COUNT), col.SIZE),
        col.DISTANCE.column(),
        Column(f"{col.CORRECT.name}_original", "Right, original", SHARE),
        Column(col.CORRECT.name, "Right, variant", SHARE),
        *(replace(CHANGE, short="difference, points"), Column("changed", "Changed", SHARE), col.P_HOLM),
    ),
    rows_in("variants"),
    ("variants", col.DISTANCE.name),
)
PAGE = TableSpec(
    "variants",
    "Variants of a prompt beside the original",
    (
        *(col.PROMPT, NAME, col.SOURCE, replace(col.COMPARED, label="Model")),
        replace(col.N, texts=lambda row: {"prompt": row["variant_prompt"]}),
        replace(col.DISTANCE.column(), why=lambda row: row.get("why", "") if is_list(row) else ""),
        *(CHANGE, col.P_HOLM),
    ),
    rows_in("variants"),
    empty="No prompt of this study is a variant of another one.",
)
PART = Part(
    "variants",
    "variants of prompts",
    compute,
    {"variants": "A noisy variant of a prompt beside the original: distance, or correct answers pair by pair."},
    intervals=(
        *intervals("bootstrap", "unit", *col.OF_DISTANCES, of="recommendation"),
        *intervals("t", "unit", "ci", of="choice"),
    ),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_variants,
    is_brief=True,
)
