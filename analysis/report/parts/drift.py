"""Drift: the distance of the answers of a run repeated on another day from those of the first run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import altair as alt

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import AXIS, along, colour_scale, make_legend, shape_scale
from analysis.charts.tables import COUNT, FINE, POINTS, Column
from analysis.charts.theme import LIGHT, Series, printable, series_of_groups
from analysis.models import Run
from analysis.report import columns as col
from analysis.report.claims.enough import FEWEST, is_enough
from analysis.report.columns import Part, TableSpec, intervals, is_choice, rows_in
from analysis.report.parts.distances import VARIATION, distance_values
from analysis.report.samples import Data, Source, correct_over_prompts, generator_for, low_high, reasons, source_of
from analysis.stats import choices, heterogeneity
from surveys.studies.wording import count_range, number, plural


def compute(data: Data) -> list[Row]:
    found = [
        row
        for again in data.frames.runs.values()
        if again.first_run_id in data.frames.runs and data.filters.wants_source(source_of(again, data.definition))
        for row in run_rows(data, data.frames.runs[again.first_run_id], again)
    ]
    correct_over_prompts(found, lambda row: row, tables=2)  # the page shows variants too
    tested = sum(row["p"] is not None for row in found)
    for row in found:
        row["p_page"] = None if row["p"] is None else min(1.0, row["p"] * tested)
    return found


def run_rows(data: Data, first: Run, again: Run) -> list[Row]:
    """Compare both runs by prompt, without prompts that either did not answer."""
    old, new = (source_of(run, data.definition).of_run(run.pk) for run in (first, again))
    found = []
    for prompt, asked in data.prompts.items():
        sizes = [len(data.rows_of(source, prompt)) for source in (old, new)]
        if not all(sizes):
            continue
        compare = compare_choices if prompt in data.choices else compare_items
        head = {
            "prompt": prompt,
            "kind": asked.kind,
            **new.key,
            **new.settings,
            "first": first.pk,
            "again": again.pk,
            "first_date": day_of(first),
            "date": day_of(again),
            "n_first": sizes[0],
            "n": sizes[1],
            **data.unit_row(new, units_in(data, new, prompt)),
            "simulated": sizes[1] if new.simulated else 0,
        }
        found.append(head | compare(data, old, new, prompt))
    return found


def units_in(data: Data, source: Source, prompt: str) -> int:
    return (data.options if prompt in data.choices else data.items)(source, prompt).unit_count


def day_of(run: Run) -> str:
    return (run.began_at or run.created_at).date().isoformat()


def compare_items(data: Data, old: Source, new: Source, prompt: str) -> Row:
    rng = generator_for(data, "drift", new, prompt, old.runs, new.runs)
    return distance_values(heterogeneity.compare(data.items(old, prompt), data.items(new, prompt), rng, data.draws))


def compare_choices(data: Data, old: Source, new: Source, prompt: str) -> Row:
    """Correct share of the repetition minus that of the first run, and the distance of their letters."""
    rng = generator_for(data, "drift", new, prompt, old.runs, new.runs)
    before, now = data.options(old, prompt), data.options(new, prompt)
    found = choices.compare(now, before, rng, data.draws)
    return {
        f"{col.CORRECT.key}_first": choices.describe(before).correct_share,
        col.CORRECT.key: choices.describe(now).correct_share,
        "effect": found.effect,
        "ci": low_high(found.ci),
        "tv": found.tv.effect,
        "ci_tv": low_high(found.tv.ci),
        "p": found.tv.p,
        "p_tail": found.tv.p_tail,
        "p_holm": None,
        **reasons(ci_why=found.ci_why, ci_tv_why=found.tv.ci_why, why=found.why),
    }


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Drift: the same prompts on another day"
NOTHING = "No run has been repeated on another day yet: there is no drift to show."
LIMIT = 0.05
TIMES = "p times the number of comparisons"  # as for claims; Holm's p also allows for variants
MOST_DAYS = 6  # labels along x
OVERHANG = 5  # px of an axis's highest number above its panel
# The measure drawn for each kind of prompt.
MEASURES = {
    "recommendation": (col.DISTANCE.name, "Distance from the first run, bits"),
    "choice": ("effect", "Change of the correct share"),
}
DRAWN_COLUMNS = [
    *read.PLACE,
    Column("first_date", "first day"),
    Column("date", "day"),
    Column("first", "first run"),
    Column("again", "run"),
    Column("n_first", "first answers"),
    Column("n", "answers"),
    Column(col.DISTANCE.name, col.DISTANCE.heading, unit=col.DISTANCE.unit),
    Column("effect", "change of the correct share", unit="share"),
    *(*read.ends_in(), *read.TESTED, read.WHY),
]


def draw_drift(report: Report, options: Options) -> Figure:
    rows = read.sorted_by_prompt(report, read.rows_of(report, "drift"))
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    names = name_runs(rows, options)
    known = [(row, name) for row, name in zip(rows, names, strict=True) if value_of(row) is not None]
    points = [point_of(row, name, options) for row, name in known]
    if not points:
        return figure.empty_figure("drift", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    series = series_of_groups(read.in_order(point["series"] for point in points))
    by_kind = read.grouped(points, "kind")
    sections = [s for kind in MEASURES if kind in by_kind for s in draw_section(kind, by_kind[kind], series, options)]
    told = [point for point, (row, _) in zip(points, known, strict=True) if has_enough(row)]
    words = Words(TITLE, caption(report, rows, points), describe(points, told))
    return figure.make_figure(
        "drift", words, figure.below(sections, 8 if options.column else 14), points, table, DRAWN_COLUMNS, options
    )


def has_enough(row: Row) -> bool:
    return is_enough(row, {"n": row["n_first"]})


def kind_of(row: Row) -> str:
    return "choice" if row.get("kind") == "choice" else "recommendation"


def value_of(row: Row) -> float | None:
    return number(row.get(MEASURES[kind_of(row)][0]))


def name_runs(rows: Sequence[Row], options: Options) -> list[str]:
    """The model of each row, and the source if there are several."""
    several = len({row["source"] for row in rows}) > 1
    return [
        ", ".join([read.shown_model(row["model"], options), *([read.shown_source(row["source"])] if several else [])])
        for row in rows
    ]


def point_of(row: Row, name: str, options: Options) -> Row:
    p = number(row.get("p_page"))
    value, prompt, day = value_of(row), options.name(row["prompt"]), printable(row["date"])
    told = f"{prompt}, {name}, {day}: {value:.3f}" + (f", {TIMES} = {p:.3f}" if p is not None else "")
    where = {"prompt": prompt, "series": name, "date": day, "kind": kind_of(row), "text": told}
    is_clear = p is not None and p < LIMIT and has_enough(row)
    return read.make_mark(value, row.get("ci"), **where, clear=is_clear)


def draw_section(kind: str, points: Sequence[Row], series: Series, options: Options) -> list[Spec]:
    """A panel for each prompt, all with the same axes."""
    prompts = read.in_order(point["prompt"] for point in points)
    if not options.column:
        across = 1 if options.narrow else 3
        width = (options.width - 20 - across * (AXIS + 14)) // across
        layers = figure.specs_of(day_layers(series, points, kind, options))
        panels = [figure.panel(layers, width, 92, prompt, prompt=prompt, kind=kind) for prompt in prompts]
        return [figure.in_rows(panels, across, 8, 14, MEASURES[kind][1])]
    # On paper, axes have numbers only at the left and below the last panel of a column.
    across = max(3, options.width // 110)
    width, rows = (options.width - 20 - AXIS - (across - 1) * 16) // across, []
    for start in range(0, len(prompts), across):
        some = prompts[start : start + across]
        drawn = []
        for place, prompt in enumerate(some):
            axes = (place == 0, start + place + across >= len(prompts))
            layers = figure.specs_of(day_layers(series, points, kind, options, *axes))
            spec = figure.panel(layers, width, 30, prompt=prompt, kind=kind)
            drawn.append(spec | {"title": figure.heading(prompt, 3 if place == 0 else 3 + OVERHANG)})
        rows.append(figure.beside(drawn, 16) | {"bounds": "flush"})  # day labels do not push panels apart
    return [figure.below(rows, 3, MEASURES[kind][1])]


def day_layers(
    series: Series, points: Sequence[Row], kind: str, options: Options, has_values: bool = True, has_days: bool = True
) -> list[alt.Chart]:
    """Days along x; marks that could be chance are hollow."""
    ends = min(0.0, *read.reach(points)), max(0.0, *read.reach(points)) or 1.0
    shown = shown_days(sorted({point["date"] for point in points}))
    days = alt.Axis(
        title=None, format="%-d %b", values=shown, grid=False, labelFontSize=11, labelOverlap=True, labels=has_days
    )
    # Days are the study's, not the reader's: no time zone may move them.
    x = alt.X("date:T", scale=alt.Scale(type="utc", padding=12), axis=days)
    form = ".1~f" if ends[1] - ends[0] > 0.5 else ".2~f"
    room = {"minExtent": AXIS, "maxExtent": AXIS} if has_values else {"labels": False}
    axis = alt.Axis(title=None, tickCount=3, format=form, domain=False, ticks=False, **room)
    scale, legend = alt.Scale(domain=list(ends), nice=True), make_legend(series, options)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=legend)
    shape = alt.Shape("series:N", scale=shape_scale(series), legend=legend)
    base = alt.Chart().encode(x=x, color=colour)

    y = along(alt.Y, scale, axis)
    zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1).encode(y=alt.YDatum(0))
    marks: dict[str, Any] = {"opacity": 1, "size": 50, "aria": True}
    clear, chance = (
        base.transform_filter(alt.FieldEqualPredicate(field="clear", equal=is_clear)) for is_clear in (True, False)
    )
    return [
        *([zero] if kind == "choice" else []),
        base.mark_line(strokeWidth=1, opacity=0.5).encode(y=y("value")),
        base.mark_rule(strokeWidth=1.4).encode(y=y("low"), y2=alt.Y2("high:Q")),
        clear.mark_point(filled=True, **marks).encode(y=y("value"), shape=shape, description=alt.Description("text:N")),
        chance.mark_point(filled=False, fill=LIGHT["paper"], strokeWidth=1.5, **marks)
        .encode(y=y("value"), shape=shape, description=alt.Description("text:N")),
    ]  # fmt: skip


def shown_days(days: Sequence[str]) -> list[alt.DateTime]:
    """At most MOST_DAYS of the days, including the first and the last."""
    shown = min(len(days), MOST_DAYS)
    found = [date.fromisoformat(days[round(k * (len(days) - 1) / max(1, shown - 1))]) for k in range(shown)]
    return [alt.DateTime(year=day.year, month=day.month, date=day.day, utc=True) for day in found]


def caption(report: Report, rows: Sequence[Row], points: Sequence[Row]) -> str:
    drawn = [row for row in rows if value_of(row) is not None]
    first = count_range(*read.counts_in(drawn, "n_first"))
    return read.write_caption(
        report,
        f"{read.n_words(drawn)} answers a mark, against {first} of the first run.",
        f"All marks are more than chance: {TIMES} is below {LIMIT}."
        if all(point["clear"] for point in points)
        else f"Hollow marks could be chance: {TIMES} is at least {LIMIT}, or under {FEWEST} answers.",
        "Tables have Holm’s p, over all tests of the page.",
        "Lines are 95 % intervals.",
        definitions=[col.DISTANCE.name],
        missing=sum(value_of(row) is None for row in rows),
    )


def describe(points: Sequence[Row], told: Sequence[Row]) -> str:
    """For each run, the number of its marks beyond chance, among those with enough answers (`told`)."""
    found, counted = [], read.grouped(told, "series")
    for name in read.in_order(point["series"] for point in points):
        here = counted.get(name, [])
        clear = sum(point["clear"] for point in here)
        said = f"{clear} of {plural(len(here), 'comparison')} with the first run differ by more than chance."
        found.append(f"{name}: {said if here else f'under {FEWEST} answers, too few to tell drift.'}")
    return " ".join(found)


# In tables --------------------------------------------------------------------------------------------------

N_FIRST = Column("n_first", "n first", COUNT, texts=lambda row: {"run": [row["first"]]})
N_AGAIN = replace(col.SIZE, label="n again", texts=lambda row: {"run": [row["again"]]})
FIRST = Column(
    "first_date",
    "First",
    value=lambda row: f"{row['first_date']}, run {row['first']}",
    run=lambda row: row["first"],
)
AGAIN = Column("date", "Again", value=lambda row: f"{row['date']}, run {row['again']}", run=lambda row: row["again"])
CHANGE = Column(
    "effect",
    "Right: change in points",
    POINTS,
    lambda row: row["ci"] if is_choice(row) else None,
    value=lambda row: row["effect"] if is_choice(row) else None,
    ci_why=lambda row: row.get("ci_why"),
)


def distance_of(row: Row) -> float | None:
    return row["tv"] if is_choice(row) else col.DISTANCE.value(row)


TABLE = TableSpec(
    "drift",
    "The same again on another day",
    (
        *(col.PROMPT, col.SOURCE, col.COMPARED, replace(FIRST, value=None), replace(AGAIN, value=None), N_FIRST),
        *(col.SIZE, col.DISTANCE.column(), VARIATION, col.P_HOLM),
    ),
    rows_in("drift"),
    ("drift", col.DISTANCE.name, "tv"),
)
PAGE = TableSpec(
    "drift",
    "The same run again, by prompt",
    (
        *(col.PROMPT, col.VARIANT, replace(col.COMPARED, label="Model"), FIRST, AGAIN, N_FIRST, N_AGAIN),
        Column(
            "distance",
            "Distance",
            FINE,
            lambda row: row["ci_tv"] if is_choice(row) else col.DISTANCE.interval(row),
            lambda row: row.get("ci_tv_why"),
            value=distance_of,
            why="why",
        ),
        *(CHANGE, col.P_HOLM),
    ),
    rows_in("drift"),
    (col.DISTANCE.name, "tv"),
    f"Distance: of recommendations in bits, of choices total variation. {col.CORRECTED}",
    "No run has been repeated on another day yet.",
)

# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    if not report["drift"]:
        return "No run has been repeated on another day yet."
    return f"No run and its repetition have {FEWEST} answers each to a prompt: too few to tell drift."


PART = Part(
    "drift",
    "repetitions",
    compute,
    {
        "drift": "The same run again on another day against its first: distance, p by permutation, within "
        "simulated users who were asked both times, Holm over all tests of the page."
    },
    intervals=(
        *intervals("bootstrap", "unit", "ci", of="recommendation"),
        *intervals("wilson", "unit", "ci", of="choice"),
        *intervals("t", "unit", "ci", of="choice of the same users"),
        *intervals("bootstrap", "unit", "ci_tv"),
    ),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_drift,
    say=say,
    is_brief=True,
)
