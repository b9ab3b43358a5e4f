"""How varied each source's recommendations are: raw, rarefied, and the field against every other source."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Grid, draw_grids, with_axes
from analysis.charts.tables import COUNT, Column
from analysis.report import columns as col
from analysis.report.beyond import OF_POPULATION, POPULATION_DRAWN, population_columns, population_row
from analysis.report.claims.enough import NOTHING_FOUND, TO_LISTS, too_few, too_few_people
from analysis.report.columns import Measure, Part, TableSpec, intervals, rows_in
from analysis.report.dataset import FIELD
from analysis.report.samples import (
    Data,
    Group,
    Source,
    against_field,
    comparison,
    correct_over_prompts,
    difference_in,
    effect_cells,
    interval_cells,
    item_gaps,
    low_highs,
    name_of,
    reasons,
)
from analysis.stats.heterogeneity import Comparison, Difference, Heterogeneity, mean_difference, share_intervals
from analysis.stats.intervals import ONE_UNIT
from analysis.stats.item_measures import MEASURES
from surveys.studies.wording import percent, plural, sized

TOP = 10
STRONGEST = 3  # items per source and prompt that may be named for their difference


def compute(data: Data) -> list[Row]:
    rows_of_cell = rows_by_cell(data)
    found = [row for prompt in data.lists for group in data.groups for row in rows_of_cell[group, prompt]]
    correct_over_prompts(found, *(difference_in("against_field", measure) for measure in MEASURES))
    effects = pooled_rows(data)
    for row in found:
        if (key := (row["source"], row["model"])) in effects:
            row["pooled"] = effects[key]
    return [row for row in found if row["source"] != "field" or data.shows_field]


def rows_by_cell(data: Data) -> dict[tuple[Group, str], list[Row]]:
    """The rows of each group and prompt."""
    return data.once(("heterogeneity",), lambda: {cell: group_rows(data, *cell) for cell in cells_of(data)})


def cells_of(data: Data) -> list[tuple[Group, str]]:
    return [(group, prompt) for group in data.groups for prompt in data.lists]


def group_rows(data: Data, group: Group, prompt: str) -> list[Row]:
    """The field and the sources compared with it; those without answers have no row."""
    found = []
    for source in group.sources:
        if not data.items(source, prompt).n:
            continue
        row = source_row(data, group, source, prompt)
        if differences := against_field(data, group, source, prompt):
            row["against_field"] = difference_rows(differences)
            row["item_gaps"] = strongest_gaps(data, group.field, source, prompt)
        found.append(row)
    return found


def source_row(data: Data, group: Group, source: Source, prompt: str) -> Row:
    compared, name = comparison(data, group, prompt), name_of(source)
    raw = compared.raw[name]
    units = data.unit_row(source, raw.units)
    return {
        "prompt": prompt,
        **source.key,
        "chatbot": source.chatbot,
        "n": raw.n,
        **units,
        **measured(raw),
        "missing": data.missing(source, prompt),
        "population": population_row(data, source, prompt),
        "rarefied": beside_field(compared, name, units),
        "top_items": top_items(data, source, prompt, TOP),
        "typical": typical_answer(data, source, prompt),
        "simulated": data.simulated_in(source, data.rows_of(source, prompt)),
        **source.settings,
    }


def measured(found: Heterogeneity) -> Row:
    """The three measures with their intervals, and the reasons for missing ones."""
    return {
        **found.values,
        "ci": low_highs(found.ci),
        "unknown": found.unknown,
        **reasons(ci_why=found.ci_why, why=found.why),
    }


def beside_field(compared: Comparison, name: str, units: Row) -> Row:
    """The measures at the smaller number of units of source and field, and the field's own under `field`."""
    row, field = rarefied_row(compared.rarefied.get(name), units), compared.beside.get(name)
    return row if field is None else row | {"field": {**field.values, "ci": low_highs(field.ci)}}


def rarefied_row(found: Heterogeneity | None, units: Row) -> Row:
    """The measures rarefied to a common n; None, with the reason, if there are fewer units."""
    if found is None:
        why = f"{plural(units['units'], units['unit'])}: too few to draw the others down to so many."
        return {"n": None, **dict.fromkeys(MEASURES), "ci": dict.fromkeys(MEASURES), "why": why}
    return {"n": found.n, **found.values, "ci": low_highs(found.ci), **reasons(ci_why=found.ci_why)}


def difference_rows(differences: dict[str, Difference]) -> dict[str, Row]:
    return {
        name: {"effect": found.effect, "value": found.value, "other": found.other} | effect_cells(found, found.n)
        for name, found in differences.items()
    }


def strongest_gaps(data: Data, field: Source, source: Source, prompt: str) -> Row:
    """The strongest differences in shares of units, field minus source, and how strong chance makes them.

    `tail`: over all items of the prompt, at each of STRENGTHS.
    """
    samples = data.items(field, prompt), data.items(source, prompt)
    (shares, found), vocabulary = item_gaps(samples), data.frames.vocabulary(prompt)
    strongest = (-found.strength).argsort(kind="stable")[:STRONGEST]
    rows = [
        {
            "item": vocabulary[code],
            "name": data.frames.name_of(prompt, vocabulary[code]),
            "value": shares[0][code],
            "other": shares[1][code],
            "effect": found.gaps[code],
            "width": found.widths[code],
            "strength": found.strength[code],
        }
        for code in strongest
        if found.strength[code]
    ]
    return {"units": [sample.unit_count for sample in samples], "strongest": rows, "tail": found.tail}


def top_items(data: Data, source: Source, prompt: str, most: int) -> list[Row]:
    """The items that most responses name; ties in alphabetical order."""
    count = data.items(source, prompt).counts()
    named = [code for code in (-count).argsort(kind="stable")[:most] if count[code]]
    return item_rows(data, source, prompt, named)


def typical_answer(data: Data, source: Source, prompt: str) -> int | None:
    """Id of the response or completion that shares most items with the others, first of ties; None without items."""
    sample = data.items(source, prompt)
    if not len(sample.codes):
        return None
    common = np.bincount(sample.rows, weights=sample.counts()[sample.codes] - 1, minlength=sample.n)
    rows = data.by_unit(source, data.rows_of(source, prompt))
    return int(data.frame(source.is_field).table["id"].to_numpy()[rows[common.argmax()]])


def item_rows(data: Data, source: Source, prompt: str, codes: Sequence[int]) -> list[Row]:
    sample, vocabulary = data.items(source, prompt), data.frames.vocabulary(prompt)
    lows, highs = data.once(("item shares", source, prompt), partial(share_intervals, sample))
    counts = sample.counts().tolist()
    return [
        {
            "item": vocabulary[code],
            "name": data.frames.name_of(prompt, vocabulary[code]),
            "count": counts[code],
            "share": counts[code] / sample.n,
            **interval_cells("ci", (lows[code], highs[code]) if sample.unit_count > 1 else None, ONE_UNIT),
        }
        for code in codes
    ]


def pooled_rows(data: Data) -> dict[tuple[str, str], Row]:
    """For each source and model with two prompts or more, one effect: the mean of the field minus the source."""
    found = {
        (source.name, source.model): row
        for group in data.groups
        for source in group.others
        if (row := pooled_row(data, group, source))
    }
    correct_over_prompts([*found.values()], *(difference_in("effects", measure) for measure in MEASURES))
    return found


def pooled_row(data: Data, group: Group, source: Source) -> Row:
    by_prompt = {prompt: found for prompt in data.lists if (found := against_field(data, group, source, prompt))}
    if len(by_prompt) < 2:
        return {}
    drawn = [redrawn_differences(data, group, source, prompt) for prompt in by_prompt]
    units = min(data.items(side, prompt).unit_count for side in (group.field, source) for prompt in by_prompt)
    effects = {}
    for name in MEASURES:
        values, draws = [found[name] for found in by_prompt.values()], [each[name] for each in drawn]
        mean = mean_difference(values, draws, units)
        ends = interval_cells("ci", mean.ci, mean.ci_why)
        effects[name] = {"n": units, "effect": mean.effect, **ends, "p": mean.p, "p_holm": None}
    return {"prompts": len(by_prompt), "n": units, **data.unit_row(source, units), "effects": effects}


def redrawn_differences(data: Data, group: Group, source: Source, prompt: str) -> dict[str, Any]:
    """Field minus source in draws shared by all prompts, which keep the correlation of a person's answers."""
    drawn = comparison(data, group, prompt).drawn
    field, other = drawn[name_of(group.field)], drawn[name_of(source)]
    return {name: field[name] - other[name] for name in MEASURES}


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "How varied the answers are"


def drawn_columns(rarefied: bool) -> list[Column]:
    def values(row: Row) -> Row:
        return row.get("rarefied") or {} if rarefied else row

    def of_measure(measure: Measure) -> list[Column]:
        field = Column(
            f"{measure.name}_field",
            "field with as many",
            unit=measure.unit,
            value=lambda row: measure.value(values(row).get("field")),
        )
        return [*measure.drawn(values, f"{measure.name}_", measure.unit), field]

    return [
        *read.PLACE,
        Column("n", "responses", value=lambda row: values(row).get("n")),
        Column("unknown", "of them without items"),
        Column("missing", "people without an answer"),
        *(column for measure in col.OF_LISTS for column in of_measure(measure)),
        *POPULATION_DRAWN,
        read.WHY,
    ]


def draw_heterogeneity(report: Report, options: Options) -> Figure:
    rows = read.line_up(report, read.rows_of(report, "heterogeneity"))
    columns = drawn_columns(options.rarefied)
    table = [read.drawn_row(row, columns) for row in rows]
    points = [point for row in table for point in points_of(row, options)]
    if not points:
        sentence = "No answers with recommendations yet: there is nothing to compare."
        return empty_figure("heterogeneity", TITLE, sentence, columns, options, table)
    panels = with_axes([measure.panel for measure in col.OF_LISTS], points)
    models = tuple(read.in_order(read.shown_model(row["model"], options) for row in table))
    prompts, series = read.prompt_names(report, table, options), read.series_in(report, points)
    grid = Grid(panels, models, prompts, series, options, with_chance=options.rarefied)
    entropies = [point for point in points if point["panel"] == col.ENTROPY.name]
    told = read.describe_marks(entropies, "bits of entropy") or f"{TITLE}, by prompt, source and model."
    words = Words(TITLE, caption(report, table, options), told)
    return make_figure("heterogeneity", words, draw_grids([grid]), points, table, columns, options)


def points_of(row: Row, options: Options) -> list[Row]:
    return [point_of(row, measure, options) for measure in col.OF_LISTS if row[measure.name] is not None]


def point_of(row: Row, measure: Measure, options: Options) -> Row:
    value, field = row[measure.name], row[f"{measure.name}_field"]
    digits = 0 if measure.is_whole and not options.rarefied else 2
    ends = [row[f"{measure.name}_{end}"] for end in ("low", "high")]
    said = f"{measure.spoken} {value:.{digits}f}{read.told_ends(ends, f'{{:.{digits}f}}'.format)}, {sized(row['n'])}"
    said += f"; field with as many {field:.{digits}f}" if field is not None else ""
    where = read.shown_model(row["model"], options), options.name(row["prompt"]), read.shown_source(row["source"])
    return read.mark_at(measure.name, *where, value, ends, said, field)


def caption(report: Report, table: Sequence[Row], options: Options) -> str:
    has_ticks = any(row[f"{measure.name}_field"] is not None for row in table for measure in col.OF_LISTS)
    ticks = "; grey ticks: the field with as many" * has_ticks
    of_smaller = f"of as many units as the smaller of the source and the field has{ticks}"
    if not has_ticks and all(row["source"] != FIELD for row in table):
        of_smaller = "of as many units as the smallest source with 20 or more has"
    kind = of_smaller if options.rarefied else "raw, not rarefied"
    missing = sum(row[measure.name] is None for row in table for measure in col.OF_LISTS)
    drawn = [row for row in table if any(row[measure.name] is not None for measure in col.OF_LISTS)]
    return read.write_caption(
        report,
        f"Values are {kind}; {read.n_words(drawn)} {'units' if options.rarefied else 'responses'} a mark.",
        read.INTERVAL_WORDS,
        definitions=[*(measure.name for measure in col.OF_LISTS)],
        missing=missing,
        rows=table,
    )


# In tables --------------------------------------------------------------------------------------------------


def top_item(row: Row) -> Row:
    return row["top_items"][0] if row["top_items"] else {}


def top_share(row: Row) -> str:
    top = top_item(row)
    if not top:
        return ""
    return percent(top["share"]) + (f" ({100 * top['ci'][0]:.0f}–{100 * top['ci'][1]:.0f})" if top["ci"] else "")


TOP_ITEM = Column(
    "top_items",
    "Named most often",
    value=lambda row: top_item(row).get("name"),
    texts=lambda row: {"item": top_item(row)["item"]},
    soft=top_share,
)


def page_columns(rows: list[Row], options: Options) -> list[Column]:
    inside = "rarefied" if options.rarefied else ""
    drawn_down = [Column("rarefied.n", "Drawn down to", COUNT)] if options.rarefied else []
    without = replace(col.UNKNOWN, label="Without items")
    measures = [measure.column(inside) for measure in col.OF_LISTS]
    return [*col.WHO, col.N, *drawn_down, *measures, TOP_ITEM, without, *population_columns(rows)]


def difference_columns(inside: str) -> list[Column]:
    """The columns of each measure's difference, with the default measure first."""
    measures = sorted(col.OF_LISTS, key=lambda measure: measure is not col.DEFAULT)
    return col.differences_of(measures, inside)


MEASURED = tuple(measure.name for measure in col.OF_LISTS)
TABLE = TableSpec(
    "heterogeneity",
    "How varied the recommendations are",
    (
        *(col.PROMPT, col.SOURCE, col.COMPARED, col.SETTINGS, col.SIZE, col.UNKNOWN),
        *(measure.column() for measure in col.OF_LISTS),
        *(col.ENTROPY.rarefied(), *col.ENTROPY.differences("against_field")),
    ),
    rows_in("heterogeneity"),
    (*MEASURED, "ci", "unit", "rarefied", "against_field"),
)
VARIETY = TableSpec(
    "variety",
    "The numbers in the figure",
    page_columns,
    rows_in("heterogeneity"),
    (*MEASURED, "rarefied", "population", "ci", "unknown"),
    "Every n leads to the texts it counts. Values and their intervals are those of samples of this size, which name "
    "fewer items than larger ones would; in the population: what all such people or calls would have, estimated.",
)
AGAINST = TableSpec(
    "against",
    "The field against each other source",
    (
        *col.WHO,
        replace(col.SIZE, name=f"against_field.{col.DEFAULT.key}.n"),
        *difference_columns("against_field"),
    ),
    rows_in("heterogeneity", lambda row: "against_field" in row),
    ("against_field",),
    f"Field minus source, both drawn down to as many units as the smaller has, one answer each. {col.CORRECTED}",
)


def once_each(report: Report, options: Options) -> list[Row]:
    """One row for each source and model with an effect over prompts."""
    found = {(row["source"], row["model"]): row for row in report.get("heterogeneity") or [] if row.get("pooled")}
    return list(found.values())


POOLED = TableSpec(
    "pooled",
    "One effect over all prompts",
    (
        *(col.SOURCE, col.COMPARED, Column("pooled.prompts", "Prompts", COUNT), Column("pooled.n", "n", COUNT)),
        *difference_columns("pooled.effects"),
    ),
    once_each,
    ("pooled",),
    "The mean over prompts of the field minus the source, each prompt counting the same; n is that of the smaller side "
    "where it is smallest. p is corrected over sources, models and measures (Holm).",
    optional=True,
)

# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    said = say_alone(report) or too_few(report["heterogeneity"], TO_LISTS)
    return said if said or known_in(report) else NOTHING_FOUND


def known_in(report: Report) -> list[Row]:
    return [row for row in report["heterogeneity"] if col.ENTROPY.value(row) is not None]


def say_alone(report: Report) -> str:
    """Say how varied people's answers are, if enough have answered but no model has; else empty."""
    known = known_in(report)
    if too_few_people(known) or any(row["source"] != FIELD for row in known):
        return ""
    values, n = [row[col.ENTROPY.key] for row in known], [row["n"] for row in known]
    ends = dict.fromkeys(f"{end(values):.1f}" for end in (min, max))  # one if they are equal
    return f"The field’s recommendations have {' to '.join(ends)} bits of entropy, by prompt, {sized(*n)} people."


PART = Part(
    "heterogeneity",
    "heterogeneity",
    compute,
    {name: col.DEFINITIONS[name] for name in (*(measure.key for measure in col.OF_LISTS), *MEASURED)}
    | {
        "rarefied": "The measure that so many units have on average, one answer each: as many as the smaller of the "
        "source and the field has; field: the field’s at the same n.",
        "ci": "95 % interval over units: Wilson's for shares, in its clustered form where units have several answers, "
        "else by leaving out each unit in turn; none below five units.",
        **OF_POPULATION,
        "unit": "What is independent in the answers: a person, a simulated user with all repeats, or a repeat.",
        "against_field": "Field minus source, both of as many units as the smaller has, one answer each; p by "
        "permuting units, two-sided, no smaller than Student’s t of the interval, Holm over all tests of the page.",
        "pooled": "Mean over prompts of the field minus the source, with an interval over people and the source’s "
        "units, whose answers to all prompts go together.",
        **col.HOLM,
        "simultaneous": "95 % intervals that hold all at once for whatever a page could have claimed; that of a claim "
        "leaves out 0.",
        "unknown": "Answers in which no item or no single letter was found; nothing is guessed.",
    },
    intervals=(
        *(*col.OF_ITEMS, *intervals("jackknife", "unit", "against_field.*.ci")),
        *intervals("jackknife", "unit", "population.ci", "rarefied.field.ci.*"),
        *intervals("wilson", "unit", "top_items.ci"),
        *intervals("jackknife", "respondent", "pooled.effects.*.ci"),
    ),
    tables=(TABLE, POOLED),
    pages=(VARIETY, AGAINST, POOLED),
    draw=draw_heterogeneity,
    say=say,
    is_brief=True,
)
