"""Whether answers change along the survey: means and trends by position, items carried over, and attrition."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Panel, draw_grid, grid_of
from analysis.charts.tables import COUNT, FINE, FINE_SHARE, Column, NumberFormat
from analysis.charts.theme import series_of_groups
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.dataset import FIELD
from analysis.report.persons import askings
from analysis.report.persons.askings import Floats, Ints, counted, fields_of, place_of
from analysis.report.persons.explanations import carried
from analysis.report.persons.person_or_dice import P_HOLM
from analysis.report.samples import Data, correct_over_prompts, low_high, reasons
from analysis.stats.intervals import share_interval
from analysis.stats.persons.explaining import by_step, demean, explain
from analysis.stats.persons.numbers import estimate, mean_of
from surveys.models import Participant
from surveys.studies.wording import decimal, number

# Measures along the survey, with their labels.
MEASURES = {
    "distance": "Unlikeness to all others",
    "items": "Items named",
    "correct_share": "Right answers",
    "unknown_share": "Nothing found",
    "rating": "Rating, 1 to 5",
}
SHARES = ("distance", "correct_share", "unknown_share")  # between 0 and 1
WORKING = (Participant.State.SCREENING, Participant.State.ACTIVE)


@dataclass(frozen=True, eq=False)
class Along:
    """All first answers of people with an order: person, number of the pair of prompt and chatbot (`fixed`), position,
    and `values` by measure.
    """

    persons: Ints
    fixed: Ints
    position: Ints
    values: dict[str, Floats]


def compute(data: Data) -> list[Row]:
    found = gather(data)
    trends = [row for name in MEASURES for row in trend_rows(found, name)]
    correct_over_prompts(trends, lambda row: row)
    by_position = [row for name in MEASURES for row in position_rows(found, name)]
    return [*by_position, *trends, *carry_rows(data), *attrition_rows(data)]


def gather(data: Data) -> Along:
    orders, everybody = data.frames.people["order"].to_dict(), askings.gather(data)
    distances = np.full(len(data.frames.field.table), np.nan)
    distances[everybody.rows] = everybody.y
    parts: list[tuple[Ints, Ints, Ints, dict[str, Floats]]] = []
    for block, group in enumerate(fields_of(data)):
        for number_of, prompt in enumerate(data.prompts):
            rows = data.rows_of(group.field, prompt)
            who = data.frames.field.who[rows]
            places = np.array([place_of(orders.get(one) or [], prompt, {})[0] for one in who.tolist()], dtype=float)
            kept = ~np.isnan(places)
            values = counted(data, prompt, rows)
            values["distance"] = distances[rows]
            same = np.full(int(kept.sum()), block * len(data.prompts) + number_of)
            parts.append((who[kept], same, places[kept].astype(np.int64), {k: v[kept] for k, v in values.items()}))
    persons, fixed, position = (
        np.concatenate([np.empty(0, np.int64), *(part[at] for part in parts)]) for at in range(3)
    )
    whole = {
        name: np.concatenate([np.empty(0), *(part[3].get(name, np.full(len(part[0]), np.nan)) for part in parts)])
        for name in MEASURES
    }
    return Along(persons, fixed, position, whole)


def trend_rows(found: Along, name: str) -> Iterator[Row]:
    """Change with each further step, whatever the prompt."""
    known = ~np.isnan(found.values[name])
    steps = by_step("position", found.position[known].astype(float)) if known.any() else None
    if steps is None or len(np.unique(found.persons[known])) < 2 or not np.ptp(found.values[name][known]):
        return
    people = len(np.unique(found.persons[known]))
    for explained in explain(found.values[name][known], found.fixed[known], found.persons[known], [steps]):
        for effect in explained.effects:
            told = {"value": effect.value, "ci": low_high(effect.ci), "p": explained.p, "p_holm": None}
            yield head("trend", name, int(known.sum()), people) | told


def position_rows(found: Along, name: str) -> Iterator[Row]:
    """Mean at each position, adjusted for its prompts; nothing if the measure does not vary."""
    known = ~np.isnan(found.values[name])
    if not known.any() or not np.ptp(found.values[name][known]):
        return
    values, position = found.values[name][known], found.position[known]
    level = demean(values[:, None], found.fixed[known])[:, 0] + values.mean()
    for place in np.unique(position).tolist():
        here = level[position == place]
        most = 1.0 if name in SHARES else np.inf
        told = estimate(mean_of(np.arange(len(here)), here, len(here)), 0.0, most)
        yield head("position", name, len(here), len(here)) | {
            "position": int(place),
            "value": told.value,
            "ci": low_high(told.ci),
            **reasons(ci_why=told.why if told.ci is None else None),
        }


def head(kind: str, measure: str, n: int, people: int) -> Row:
    return {"kind": kind, "measure": measure, "source": FIELD, "n": n, "unit": "person", "units": people}


def carry_rows(data: Data) -> list[Row]:
    found = carried(data)[0]
    if not found.answers:
        return []
    told = found.excess
    return [
        head("carry_over", "repeats", found.answers, told.units)
        | {"share": found.share, "chance": found.chance, "value": told.value, "ci": low_high(told.ci)}
        | reasons(ci_why=told.why if told.ci is None else None)
    ]


def attrition_rows(data: Data) -> list[Row]:
    """Of people with an order who answered this many prompts, how many stopped there; not those still at work."""
    people = data.narrowed(people="all").people
    table = data.frames.field.table
    done = table.groupby("unit")["id"].count().reindex(people.index, fill_value=0).to_numpy()
    state = people["state"].to_numpy()
    ended = ~np.isin(state, [str(one) for one in WORKING]) & np.array([bool(order) for order in people["order"]], bool)
    completed = state == str(Participant.State.COMPLETED)
    rows = []
    for count in range(int(done[ended].max(initial=0)) + 1):
        reached, left = int((ended & (done >= count)).sum()), int((ended & ~completed & (done == count)).sum())
        if reached and (left or not count):
            ci = share_interval(left, reached)
            rows.append(
                head("attrition", "left", reached, reached)
                | {"done": count, "left": left, "value": left / reached, "ci": low_high(ci)}
            )
    return rows


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Do answers change along the survey?"
NOTHING = "Nobody answered prompts in an order that was drawn: there are no positions to compare."
DRAWN_COLUMNS = [
    *read.plain("kind", "measure", "position"),
    Column("done", "prompts done"),
    Column("n", "answers, or people who came so far"),
    Column("value", "value"),
    *read.ends_in(),
    Column("p", "p"),
    Column("p_holm", "p, Holm over measures"),
    read.WHY,
]


def draw_positions(report: Report, options: Options) -> Figure:
    every = read.rows_of(report, "positions")
    rows = [row for row in every if row["kind"] == "position"]
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in every]
    if not rows:
        return empty_figure("positions", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    points = [point_of(row) for row in rows]
    there = {row["measure"] for row in rows}
    shown = [name for name in ("distance", "correct_share", "unknown_share") if name in there]
    by_panel = read.grouped(points, "panel")
    panels = [panel_of(name, read.reach(by_panel[name])) for name in shown]
    positions = [str(place) for place in sorted({row["position"] for row in rows})]
    grid = grid_of(panels, points, series_of_groups(["mean"]), options, positions, 100)
    words = Words(TITLE, caption(report, rows), describe(report))
    drawn = [point for point in points if point["panel"] in shown]
    return make_figure("positions", words, draw_grid(grid), drawn, table, DRAWN_COLUMNS, options)


def panel_of(name: str, ends: Sequence[float]) -> Panel:
    return Panel(name, f"{MEASURES[name]}, by position", max(ends), min(0.0, *ends), ".2~f")


def point_of(row: Row) -> Row:
    told = (
        f"{MEASURES[row['measure']]} at position {row['position']}: {decimal(row['value'])}{read.told_ends(row['ci'])}"
    )
    where = {"panel": row["measure"], "model": "", "prompt": str(row["position"]), "series": "mean", "text": told}
    return read.make_mark(row["value"], row["ci"], **where)


def caption(report: Report, rows: Sequence[Row]) -> str:
    return read.write_caption(
        report,
        f"{read.n_words(rows)} answers a mark. Prompts are held equal, so that a position is not its prompts.",
        "Lines are 95 % intervals over people.",
        definitions=["position_trend"],
        sizes=False,
    )


def describe(report: Report) -> str:
    trends = [row for row in report["positions"] if row["kind"] == "trend" and number(row["value"]) is not None]
    told = [f"{MEASURES[row['measure']].lower()} {decimal(row['value'], 3, '', True)}" for row in trends]
    return f"Change with each further step: {'; '.join(told)}." if told else TITLE


# In tables --------------------------------------------------------------------------------------------------


def of_kind(kind: str) -> Callable[[Report, Options], list[Row]]:
    return lambda report, options: [row for row in report.get("positions") or [] if row["kind"] == kind]


MEASURE = Column("measure", "Measure", value=lambda row: MEASURES.get(row["measure"], row["measure"]))
STEP = NumberFormat(digits=4, sign=True)
PEOPLE = Column("units", "People", COUNT)
ANSWERS = Column("n", "n", COUNT)
TRENDS = TableSpec(
    "position-trends",
    "Along the survey: change with each further step",
    (MEASURE, ANSWERS, PEOPLE, Column("value", "Change a step", STEP, "ci"), P_HOLM),
    of_kind("trend"),
    ("position_trend",),
    "Orders are drawn, so a trend is an effect of the position. p is corrected over measures (Holm).",
    NOTHING,
)
BY_POSITION = TableSpec(
    "positions",
    "By position in the survey",
    (MEASURE, Column("position", "Position", COUNT), ANSWERS, Column("value", "Mean", FINE, "ci")),
    of_kind("position"),
    ("position_trend",),
    optional=True,
)
CARRIED = TableSpec(
    "carry-over",
    "Carry-over: an answer names an item of an earlier answer",
    (
        ANSWERS,
        PEOPLE,
        Column("share", "Share", FINE_SHARE),
        Column("chance", "By chance", FINE_SHARE),
        Column("value", "Above chance", NumberFormat(digits=1, scale=100, unit="%", sign=True), "ci"),
    ),
    of_kind("carry_over"),
    ("carry_over",),
    "Chance: other people’s answers to the same prompt, beside this person’s earlier ones.",
    optional=True,
)
ATTRITION = TableSpec(
    "attrition",
    "Who stops, by the number of prompts done",
    (
        Column("done", "Prompts done", COUNT),
        Column("n", "Came so far", COUNT),
        Column("left", "Stopped here", COUNT),
        Column("value", "Share", FINE_SHARE, "ci"),
    ),
    of_kind("attrition"),
    ("attrition",),
    "People who are still at work are left out; everybody whom the filters leave counts, completed or not.",
    optional=True,
)
PART = Part(
    "positions",
    "positions and carry-over",
    compute,
    {
        "position_trend": "How much a measure changes with each further prompt, whichever it is: orders are drawn, and "
        "each prompt has a level of its own.",
        "carry_over": "Share of later answers that name an item of an earlier answer of the same person, minus the "
        "share of other people’s answers to the same prompt that do.",
        "attrition": "Share of the people who had answered so many prompts that stopped there.",
    },
    intervals=(
        *intervals("jackknife", "unit", "ci", of="position"),
        *intervals("regression", "unit", "ci", of="trend"),
        *intervals("jackknife", "unit", "ci", of="carry_over"),
        *intervals("wilson", "unit", "ci", of="attrition"),
    ),
    tables=(TRENDS, CARRIED, ATTRITION),
    pages=(TRENDS, BY_POSITION, CARRIED, ATTRITION),
    draw=draw_positions,
)
