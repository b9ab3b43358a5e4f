"""Whether offline scores predict the field's: rank correlations over prompts and models; labels nearly right."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import Strips, along, dots, make_legend, room_for
from analysis.charts.tables import PLAIN, SHARE, Column
from analysis.charts.theme import LIGHT, Series, printable
from analysis.report import columns as col
from analysis.report.columns import Measure, Part, TableSpec, intervals, rows_in
from analysis.report.dataset import FIELD
from analysis.report.parts import heterogeneity
from analysis.report.questions import choices
from analysis.report.samples import Data, interval_cells, reasons
from analysis.stats.intervals import ONE_UNIT
from analysis.stats.resampling import UNKNOWN, generator
from analysis.stats.scores import accuracy_within, rank_correlation
from surveys.studies.wording import decimal, sized

NO_SCALE = "No choice prompt of this study has options that are rising numbers."
LEADING_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
Pair = tuple[str, str, str, str, float, float]  # measure, source, model, prompt, its value, the field's


def compute(data: Data) -> list[Row]:
    pairs = list(pairs_of(data))
    return [*over_prompts(data, pairs), *over_models(data, pairs), *over_all(data, pairs), *near(data)]


def pairs_of(data: Data) -> Iterable[Pair]:
    """Each source's value beside its field's: rarefied measures of lists, correct shares of choices."""
    of_items, of_letters = heterogeneity.rows_by_cell(data), choices.rows_by_cell(data)
    for group in data.groups:
        for prompt in data.lists:
            yield from of_lists(of_items[group, prompt], prompt)
        for prompt in data.choices:
            yield from of_choices(of_letters[group, prompt], prompt)


def of_lists(found: list[Row], prompt: str) -> Iterable[Pair]:
    """Measures with both sides rarefied to the smaller one."""
    for row in found:
        for name, test in row.get("against_field", {}).items():
            if test["effect"] is not None:
                yield name, row["source"], row["model"], prompt, test["other"], test["value"]


def of_choices(found: list[Row], prompt: str) -> Iterable[Pair]:
    field = next((row for row in found if row["source"] == FIELD), {})
    for row in found:
        if row is not field and row[col.CORRECT.key] is not None and field.get(col.CORRECT.key) is not None:
            yield col.CORRECT.key, row["source"], row["model"], prompt, row[col.CORRECT.key], field[col.CORRECT.key]


def over_prompts(data: Data, pairs: list[Pair]) -> list[Row]:
    """For each model: are prompts with varied answers offline also those with varied ones in the field?"""
    families = values_by(pairs, lambda pair: pair[:3]).items()
    return [correlated(data, name, "prompts", source, model, values) for (name, source, model), values in families]


def over_models(data: Data, pairs: list[Pair]) -> list[Row]:
    """Over means of prompts: do offline scores rank the models as the field does?"""
    means: dict[tuple[str, str], list[Any]] = {}
    for (name, source, _), values in values_by(pairs, lambda pair: pair[:3]).items():
        means.setdefault((name, source), []).append(np.mean(values, axis=0))
    return [correlated(data, name, "models", source, None, values) for (name, source), values in means.items()]


def over_all(data: Data, pairs: list[Pair]) -> list[Row]:
    families = values_by(pairs, lambda pair: pair[:2]).items()
    return [correlated(data, name, "prompts and models", source, None, values) for (name, source), values in families]


def values_by(pairs: Iterable[Pair], key: Callable[[Pair], Any]) -> dict[Any, list[tuple[float, float]]]:
    found: dict[Any, list[tuple[float, float]]] = {}
    for pair in pairs:
        found.setdefault(key(pair), []).append(pair[4:])
    return found


def correlated(data: Data, measure: str, over: str, source: str, model: str | None, values: Iterable[Any]) -> Row:
    both = np.array(list(values), dtype=float).reshape(-1, 2)
    rng = generator(data.seed, "scores", measure, over, source, model)
    found = rank_correlation(both[:, 0], both[:, 1], rng, data.draws)
    return {
        "measure": measure,
        "over": over,
        "source": source,
        "model": model,
        "n": found.n,
        "unit": "pair",
        "units": found.n,
        "spearman": found.spearman,
        **interval_cells("ci_spearman", found.ci_spearman, found.ci_why),
        "kendall": found.kendall,
        **interval_cells("ci_kendall", found.ci_kendall, found.ci_why),
        **reasons(why=found.why),
    }


# --- labels on a scale


def near(data: Data) -> list[Row]:
    """Accuracy, exact and within one step, for choices with a key whose options are a scale of numbers."""
    scales = [slug for slug in data.choices if data.prompts[slug].answer and is_scale(data.prompts[slug].choices)]
    if not scales:
        nobody = {"measure": "accuracy_within_1", "over": "answers", "source": None, "model": None}
        return [nobody | {"n": 0, "within_1": None, "why": NO_SCALE}]
    return [
        near_row(data, prompt, source)
        for prompt in scales
        for group in data.groups
        for source in group.sources
        if data.options(source, prompt).n
    ]


def is_scale(options: list[str]) -> bool:
    """Whether all options, at least three, begin with rising numbers: 1, 2, 3 or "1 – poor", "2 – fair", …"""
    found = [LEADING_NUMBER.match(option.strip()) for option in options]
    numbers = [float(match[0]) for match in found if match]
    return len(numbers) == len(options) > 2 and numbers == sorted(set(numbers))


def near_row(data: Data, prompt: str, source: Any) -> Row:
    sample = data.options(source, prompt)
    labels = np.where(sample.codes == UNKNOWN, np.nan, sample.codes)
    found = accuracy_within(labels, np.full(sample.n, sample.correct), units=sample.units)
    return {
        "measure": "accuracy_within_1",
        "over": "answers",
        "prompt": prompt,
        **source.key,
        "n": found.n,
        **data.unit_row(source, found.units),
        "unknown": found.unknown,
        "exact": found.exact,
        **interval_cells("ci_exact", found.ci_exact, ONE_UNIT),
        "within_1": found.near,
        **interval_cells("ci", found.ci_near, ONE_UNIT),
        **reasons(why=found.why),
    }


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Whether other sources predict the field"
NOTHING = "Too few prompts and models have scores of both the field and another source: no correlation can be shown."
DRAWN_COLUMNS = [
    *read.plain("measure", "over", "model", "source"),
    Column("n", "pairs"),
    Column("spearman", "Spearman's rho"),
    *read.ends_in(ci="ci_spearman"),
    Column("kendall", "Kendall's tau-b"),
    read.WHY,
]


def draw_scores(report: Report, options: Options) -> Figure:
    rows = [row for row in read.rows_of(report, "scores") if row.get("measure") in col.IN_ROWS]
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in table if row["spearman"] is not None]
    if not known:
        return figure.empty_figure("scores", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    points = [point_of(row, options) for row in known]
    series = read.series_in(report, points)
    words = Words(TITLE, caption(report, table), describe(points))
    return figure.make_figure(
        "scores", words, draw_panels(points, series, options), points, table, DRAWN_COLUMNS, options
    )


def point_of(row: Row, options: Options) -> Row:
    source, where = read.shown_source(row["source"]), place_of(row, options)
    measure = col.IN_ROWS[row["measure"]].heading
    told = f"{measure}, {source}, {where}: rho {decimal(row['spearman'])}{read.told_ends(row)}, {sized(row['n'])}"
    return read.make_mark(row["spearman"], row, measure=row["measure"], row=where, series=source, text=told)


def place_of(row: Row, options: Options) -> str:
    """The name of the model whose prompts are correlated; else the units correlated."""
    return read.shown_model(row["model"], options) if row.get("model") else printable(row["over"]).capitalize()


def draw_panels(points: Sequence[Row], series: Series, options: Options) -> Spec:
    names = tuple(read.in_order(point["row"] for point in points))
    on_paper = bool(options.column)
    room, across = room_for(names), 1 if options.narrow and not on_paper else 2
    rooms, pitch = (1, 5) if on_paper else (across, 11)  # px
    width = (options.width - 20 - (across - 1) * 22 - rooms * room) // across
    strips = Strips(names, width, room, step=max(22, pitch * len(series.names) + 6), padding=0.1, lined=True)
    columns = strips.side_by_side(across, rooms)
    drawn = [figure.specs_of(dot_layers(each, series, options)) for each in columns]
    shown = [measure for measure in col.IN_ROWS if measure in {point["measure"] for point in points}]
    panels = [
        figure.panel(drawn[place % across], width, strips.height, measure=measure)
        | {"title": title_of(col.IN_ROWS[measure], columns[place % across], on_paper)}
        for place, measure in enumerate(shown)
    ]
    return figure.in_rows(panels, across, 14)


def title_of(measure: Measure, strips: Strips, on_paper: bool) -> Spec:
    return figure.heading(measure.label, 5 + strips.above) if on_paper else figure.panel_title(measure.heading)


def dot_layers(strips: Strips, series: Series, options: Options) -> list[alt.Chart]:
    ticks = [-1, 0, 1] if options.column and options.narrow else [-1, -0.5, 0, 0.5, 1]
    axis = alt.Axis(title=None, values=ticks, format="~f", ticks=False, grid=True)
    scale = alt.Scale(domain=[-1, 1], nice=False)
    legend = make_legend(series, options, strips.room)

    x = along(alt.X, scale, axis)
    zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"]).encode(x=alt.XDatum(0, scale=scale, axis=axis))
    return [zero, *dots(strips.rows_of("row", series), x, series, legend, 30 if options.column else 60)]


def caption(report: Report, table: Sequence[Row]) -> str:
    drawn = [row for row in table if row["spearman"] is not None]
    return read.write_caption(
        report,
        f"Spearman's rank correlation of each source's scores with the field's; {read.n_words(drawn)} pairs a mark.",
        "A row that is named after a model is over its prompts.",
        "Lines are 95 % bootstrap intervals over pairs. 1: the same order; 0: no relation; -1: the opposite order.",
        missing=sum(row["spearman"] is None for row in table),
        rows=table,
    )


def describe(points: Sequence[Row]) -> str:
    """For each measure and source, the lowest and highest correlation."""
    found = []
    for measure, title in ((name, known.heading) for name, known in col.IN_ROWS.items()):
        for source in read.in_order(point["series"] for point in points):
            if values := [p["value"] for p in points if (p["measure"], p["series"]) == (measure, source)]:
                found.append(f"{title}, {source}: rho {read.from_to(values)}.")
    return " ".join(found)


# In tables --------------------------------------------------------------------------------------------------


def measure_label(row: Row) -> str:
    return col.IN_ROWS[row["measure"]].label if row["measure"] in col.IN_ROWS else row["measure"]


WHICH = (
    *(Column("measure", "Measure", value=measure_label), Column("over", "Over"), col.SOURCE),
    *(Column("model", "Model", value=lambda row: row["model"] or "all"), col.SIZE),
)
CORRELATIONS = (
    Column("spearman", "Spearman", PLAIN, "ci_spearman", short="Spearman", why="why"),
    Column("kendall", "Kendall", PLAIN, "ci_kendall", short="Kendall", why="why"),
)
LABELS = (
    Column("exact", "Exactly right", SHARE, "ci_exact", why="why"),
    Column("within_1", "Within one step", SHARE, "ci", why="why"),
)
TABLE = TableSpec(
    "scores", "Do scores predict the field's", (*WHICH, *CORRELATIONS, *LABELS), rows_in("scores"), ("scores", "ci")
)
PAGE = TableSpec(
    "scores",
    "Would scores without people rank things as the field does?",
    (*WHICH, *CORRELATIONS),
    rows_in("scores", lambda row: "spearman" in row),
    note="Rank correlation of a source's value with the field's, with 95 % intervals. 1 is the same order.",
)
NEAR = TableSpec(
    "near",
    "Right, and nearly right",
    (*col.WHO, col.N, *LABELS, col.UNKNOWN),
    rows_in("scores", lambda row: "within_1" in row and bool(row.get("prompt"))),
    optional=True,
)
PART = Part(
    "scores",
    "rank correlations",
    compute,
    {
        "scores": "Spearman's and Kendall's rank correlation of a source's measures with the field's.",
        "accuracy_within_1": "Answers at most one step of the scale from the key, divided by all answers.",
    },
    intervals=(
        *intervals("bootstrap", "pair", "ci_spearman", "ci_kendall"),
        *intervals("wilson", "unit", "ci_exact", "ci"),
    ),
    tables=(TABLE,),
    pages=(PAGE, NEAR),
    draw=draw_scores,
)
