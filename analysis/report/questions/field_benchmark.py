"""The benchmark in the field: how accurate the chatbot is for people, beside runs on the same questions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words
from analysis.charts.marks import Strips, along, dots, make_legend, room_for
from analysis.charts.tables import COUNT, FINE_SHARE, POINTS, SHARE, Column, P
from analysis.charts.theme import series_of_groups
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.dataset import FIELD, LETTERS
from analysis.report.planned.verdicts import many
from analysis.report.questions.benchmark_letters import BenchmarkRuns, load_runs
from analysis.report.samples import Data, Source, correct_over_prompts, low_high, reasons
from analysis.stats.persons.numbers import PersonEstimate, ScoredQuestions, accuracy, difference, flip_chance
from analysis.stats.resampling import UNKNOWN
from surveys.models import BenchmarkItem
from surveys.studies.files.matrix import Matrix
from surveys.studies.wording import INTERVAL, percent, plural

NOT_ASKED = (
    "Nobody is asked questions of a benchmark, so how right the chatbot is for people on a whole set is not known: "
    "[matrix] in the study file asks each person some of them."
)
NO_ANSWERS = "Nobody has answered a question of the benchmark yet."
FILTERED = "The filters leave out the field."
UNREAD = "Nothing is known yet: {} still to be read."


@dataclass(frozen=True, eq=False)
class SetSide:
    """Answers of people or runs to the study's questions; `letters` are codes, some of them UNKNOWN."""

    source: Source
    unit: str
    letters: NDArray[np.int8]
    scored: ScoredQuestions
    simulated: bool
    settings: Row

    @property
    def kind(self) -> tuple[Any, ...]:
        """The source and settings, which two models must share for their order to be compared."""
        return (self.source.name, *sorted((name, repr(value)) for name, value in self.settings.items()))

    @cached_property
    def estimate(self) -> PersonEstimate:
        return accuracy(self.scored)


def compute(data: Data) -> list[Row]:
    """A row for each chatbot's field, and one for each source's runs on the same questions."""
    matrix = data.definition.matrix
    if matrix is None:
        return []
    runs = [side for side in sides_of_runs(data, matrix) if side.scored.asked.any()]
    chatbots = [group.chatbot for group in data.groups]
    chatbots += [None] * (None not in chatbots and any(side.source.chatbot is None for side in runs))
    fields = {chatbot: side_of_field(data, matrix, data.group_of(chatbot).field) for chatbot in chatbots}
    rows = [
        row
        for chatbot, field in fields.items()
        for row in (
            *([row_of(matrix, field, None, why_nothing(data, matrix, chatbot))] * data.shows_field),
            *(row_of(matrix, side, field) for side in runs if side.source.chatbot == chatbot),
        )
    ]
    add_orders(rows, runs, fields)
    correct_over_prompts(rows, lambda row: row.get("against_field"))
    return rows


def why_nothing(data: Data, matrix: Matrix, chatbot: str | None) -> str:
    """The reason for a chatbot without answers of people."""
    frame = data.frames.field
    found = [frame.prompt_rows[slug] for slug in matrix.by_slug if slug in frame.prompt_rows]
    rows = np.concatenate([np.empty(0, np.int64), *found])
    theirs = rows if chatbot is None else rows[data.frames.field_chatbots[rows] == chatbot]
    if len(theirs) and data.filters.of_field.values():
        return FILTERED
    unread = data.frames.unread_of_field
    return UNREAD.format(plural(unread, "text")) if unread else NO_ANSWERS


def row_of(matrix: Matrix, side: SetSide, field: SetSide | None, why: str = NO_ANSWERS) -> Row:
    found, source = side.estimate, side.source
    return {
        "benchmark": matrix.set,
        **source.key,
        "chatbot": source.chatbot,
        **side.settings,
        "n": len(side.letters),
        "unit": side.unit,
        "units": found.units,
        "questions": int(side.scored.asked.sum()),
        "size": side.scored.size,
        "accuracy": found.value,
        "ci": low_high(found.ci),
        "unknown": float((side.letters == UNKNOWN).mean()) if len(side.letters) else None,
        "against_field": against(field, side) if field else None,
        "orders": [],
        "simulated": side.simulated,
        **reasons(why=None if found.value is not None else why, ci_why=None if found.value is None else found.why),
    }


def against(field: SetSide, side: SetSide) -> Row:
    """Field minus runs, on the questions that both answered."""
    found = difference(field.scored, side.scored)
    p = None
    if found.ci is not None and found.value is not None and found.error:
        p = float(2 * stdtr(found.freedom, -abs(found.value) / found.error))
    questions = int((field.scored.asked & side.scored.asked).sum())
    return {"value": found.value, "questions": questions, "p": p, "p_holm": None} | {
        "ci": low_high(found.ci),
        **reasons(why=found.why),
    }


def add_orders(rows: Sequence[Row], runs: Sequence[SetSide], fields: dict[str | None, SetSide]) -> None:
    """Add to each model's row its order with each later one, by runs and by people, on the same questions."""
    by_row = {id(side): row for side in runs for row in rows if is_of(row, side)}
    for one, other in combinations(runs, 2):
        mine, theirs = fields.get(one.source.chatbot), fields.get(other.source.chatbot)
        chatbots = {one.source.chatbot, other.source.chatbot}
        if one.kind != other.kind or len(chatbots) < 2 or None in chatbots or not (mine and theirs):
            continue  # a model without a chatbot is compared with all people, including the other's
        same = mine.scored.asked & theirs.scored.asked & one.scored.asked & other.scored.asked
        if not same.any():
            continue
        by_runs, by_people = (difference(a.scored, b.scored, same) for a, b in ((one, other), (mine, theirs)))
        by_row[id(one)]["orders"].append(
            {
                "other_model": other.source.model,
                "other_chatbot": other.source.chatbot,
                "questions": int(same.sum()),
                "runs": by_runs.value,
                "ci_runs": low_high(by_runs.ci),
                "field": by_people.value,
                "ci_field": low_high(by_people.ci),
                "units_field": by_people.units,
                "flips": flip_chance(by_runs, by_people),
                **reasons(why=by_people.why or by_runs.why),
            }
        )


def is_of(row: Row, side: SetSide) -> bool:
    keys = side.source.key | side.settings
    return row["source"] != FIELD and all(row[name] == value for name, value in keys.items())


# --- answers to the questions of a study's set: people's, and those of runs


def side_of_field(data: Data, matrix: Matrix, source: Source) -> SetSide:
    """Each person's answers to the questions drawn for them."""
    found = [data.rows_of(source, slug) for slug in matrix.by_slug]
    rows = np.concatenate([np.empty(0, np.int64), *found])
    question = np.repeat(np.arange(len(found)), [len(each) for each in found])
    letters = data.frames.field.columns["option"][rows]
    scored = score(matrix, question, data.frames.field.who[rows], letters)
    return SetSide(source, "person", letters, scored, bool(data.simulated_in(source, rows)), {})


def sides_of_runs(data: Data, matrix: Matrix) -> Iterator[SetSide]:
    """Yield the benchmark's complete runs, with answers to questions unchanged since people were asked."""
    fields = ("pk", "item", "question", "choices")
    now = {row[1]: row for row in BenchmarkItem.objects.filter(benchmark=matrix.set).values_list(*fields)}
    place = {
        now[asked.item][0]: at
        for at, asked in enumerate(matrix.questions)
        if asked.item in now and now[asked.item][2:] == (asked.question, list(asked.choices))
    }
    for runs in load_runs(data):
        if runs.benchmark == matrix.set and runs.labels:
            yield side_of_runs(matrix, runs, place)


def side_of_runs(matrix: Matrix, runs: BenchmarkRuns, place: dict[int, int]) -> SetSide:
    there = np.array([item in place for item in runs.questions.tolist()], dtype=bool)
    questions = np.array([place[item] for item in runs.questions[there].tolist()], dtype=np.int64)
    letters = runs.letters[:, there]
    of = np.tile(questions, len(letters))
    scored = score(matrix, of, np.repeat(runs.units, len(questions)), letters.ravel())
    return SetSide(runs.source, runs.unit, letters.ravel(), scored, runs.source.simulated, runs.source.settings)


def score(matrix: Matrix, question: NDArray, unit: NDArray, letters: NDArray[np.int8]) -> ScoredQuestions:
    """Mark letters right or wrong by the key; an unknown answer is wrong."""
    keys = np.array([LETTERS.index(asked.answer) for asked in matrix.questions], dtype=np.int8)
    return ScoredQuestions(question, unit, letters == keys[question], len(keys))


# --- in a figure

TITLE = "How right is the chatbot for the people who use it?"
NOTHING = "There is no answer to a question of a benchmark here, so there is nothing to compare."
DRAWN_COLUMNS = [
    *read.plain("benchmark", "model", "source"),
    Column("n", "answers"),
    Column("units", "people, simulated users or repeats"),
    Column("questions", "questions answered"),
    Column("accuracy", "accuracy", unit="share"),
    *read.ends_in("share"),
    Column(
        "difference", "field minus source", unit="share", value=lambda row: (row["against_field"] or {}).get("value")
    ),
    *read.ends_in("share", "against_field.ci", "difference_"),
    read.WHY,
]


def shown_rows(report: Report, options: Options) -> list[Row]:
    return read.by_group(report, read.rows_of(report, "field_benchmark"))


def draw(report: Report, options: Options) -> Figure:
    rows = shown_rows(report, options)
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in rows if row["accuracy"] is not None]
    if not known:
        return figure.empty_figure("field_benchmark", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    series_in = one_a_chatbot(known)
    points = [
        point_of(name, row, read.shown_model(series_in.get(row["chatbot"]) or row["model"], options))
        for name, row in zip(read.label_variants(known), known, strict=True)
    ]
    names = tuple(read.in_order(point["row"] for point in points))
    series = series_of_groups(read.in_order(point["series"] for point in points))
    room = room_for(names, 130 if options.narrow else 220)
    width = options.width - 24 - room
    strips = Strips(names, width, room, step=max(24, 12 * len(series.names) + 8), padding=0.1, lined=True)
    axis = alt.Axis(title=None, tickCount=5, format=".0%", ticks=False, grid=True)
    ends = [max(0.0, min(read.reach(points)) - 0.02), min(1.0, max(read.reach(points)) + 0.02)]
    x = along(alt.X, alt.Scale(domain=ends, nice=True, zero=False), axis)
    layers = dots(strips.rows_of("row", series), x, series, make_legend(series, options, room), 70)
    heading = {"title": figure.panel_title(f"Accuracy on {known[0]['benchmark']}")}
    panel = figure.panel(figure.specs_of(layers), width, strips.height) | heading
    words = Words(TITLE, caption(report, rows, known), describe(known, options))
    return figure.make_figure("field_benchmark", words, panel, points, table, DRAWN_COLUMNS, options)


def one_a_chatbot(rows: Sequence[Row]) -> dict[str | None, str]:
    """Chatbots with exactly one model asked, whose people and runs share a colour."""
    models = {(row["chatbot"], row["model"]) for row in rows if row["source"] != FIELD}
    chatbots = [chatbot for chatbot, _ in models]
    return {chatbot: chatbot for chatbot in chatbots if chatbot and chatbots.count(chatbot) == 1}


def point_of(name: str, row: Row, model: str) -> Row:
    ends = read.told_ends(row["ci"], partial(percent, digits=1))
    told = f"{name}, {model}: {percent(row['accuracy'], 1)}{ends}, {plural(row['n'], 'answer')}"
    return read.make_mark(row["accuracy"], row["ci"], row=name, series=model, text=told)


def caption(report: Report, rows: Sequence[Row], known: Sequence[Row]) -> str:
    field = [row for row in known if row["source"] == FIELD]
    people = f"{read.n_words(field, 'units')} people, {read.n_words(field)} answers a field." if field else ""
    return read.write_caption(
        report,
        people,
        "The axis does not begin at 0.",
        "Lines are 95 % intervals over people, simulated users or repeats, whichever gave the answers.",
        definitions=["field_accuracy"],
        missing=len(rows) - len(known),
        rows=known,
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    found = [
        f"{name}, {read.shown_model(row['model'], options)} {percent(row['accuracy'], 1)}"
        for name, row in zip(read.label_variants(rows), rows, strict=True)
    ]
    return f"{rows[0]['benchmark']}: {'; '.join(found)}."


# --- in tables and sentences


def orders_in(report: Report, options: Options) -> list[Row]:
    return [row | order for row in shown_rows(report, options) for order in row["orders"]]


ACCURACY = Column("accuracy", "Accuracy", FINE_SHARE, "ci", why="why")
ANSWERS = Column("n", "Answers", COUNT)
QUESTIONS = Column("questions", "Questions", COUNT, soft=lambda row: f"of {row['size']:,}")
UNITS = Column("units", "Units", COUNT, soft=lambda row: many(row["unit"]))
AGAINST = (
    Column("against_field.value", "Field minus it, points", POINTS, "against_field.ci", why="against_field.why"),
    Column("against_field.p_holm", "p", P, short="p (Holm)"),
)
UNKNOWN_SHARE = Column("unknown", "Unknown", SHARE)
TABLE = TableSpec(
    "field_benchmark",
    "The benchmark in the field",
    (
        *(Column("benchmark", "Benchmark"), col.SOURCE, col.MODEL, col.SETTINGS, QUESTIONS, ANSWERS, UNITS),
        *(ACCURACY, UNKNOWN_SHARE, *AGAINST),
    ),
    lambda report, options: read.rows_of(report, "field_benchmark"),
    ("field_accuracy", "field_minus_runs"),
    empty=NOTHING,
)
PAGE = replace(
    TABLE,
    name="field-benchmark",
    title="The numbers in the figure",
    columns=(
        *(col.VARIANT, col.COMPARED, QUESTIONS),
        replace(ANSWERS, soft=lambda row: f"of {row['units']:,} {many(row['unit'])}"),
        *(ACCURACY, *AGAINST),
    ),
    rows=shown_rows,
)
ORDERS = TableSpec(
    "orders",
    "Which of two models is better, by runs and by people",
    (
        *(col.VARIANT, col.MODEL, Column("other_model", "Other model"), Column("questions", "Questions", COUNT)),
        Column("runs", "By runs, points", POINTS, "ci_runs", why="why"),
        Column("field", "By people, points", POINTS, "ci_field", why="why"),
        Column("units_field", "People", COUNT),
        Column("flips", "Chance that the order is another", SHARE, why="why"),
    ),
    orders_in,
    ("order_flips",),
    "Model minus other model, on the questions that runs of both and people of both answered; people of the smaller "
    "field.",
    optional=True,
)


def say(report: Report) -> str:
    fields = [row for row in report["field_benchmark"] if row["source"] == FIELD]
    known = [row for row in fields if row["accuracy"] is not None]
    if not known:
        return say_nothing(report, fields)
    of_chatbots = [row for row in known if row["chatbot"]]  # everybody stands there for models of no chatbot
    return " ".join(say_field(row, (report.get("chatbots") or {}).get(row["chatbot"])) for row in of_chatbots or known)


def say_nothing(report: Report, fields: Sequence[Row]) -> str:
    """Why the field has no accuracy."""
    if not report.get("asks_set"):
        return NOT_ASKED
    whys = [row["why"] for row in fields]
    return FILTERED if not whys or FILTERED in whys else whys[0]


def say_field(row: Row, chatbot: str | None) -> str:
    benchmark = row["benchmark"]
    asked = f"all {row['size']:,}" if row["questions"] == row["size"] else f"{row['questions']:,} of {row['size']:,}"
    n = f"n = {plural(row['units'], 'person', 'people')}, {plural(row['n'], 'answer')} to {asked} questions"
    if not row["ci"]:
        return f"How often {chatbot or 'the chatbot'} is right on {benchmark} cannot be said yet ({n}). {row['ci_why']}"
    ends = f"{INTERVAL} {percent(row['ci'][0])} to {percent(row['ci'][1])}"
    return f"{chatbot or 'The chatbot'} is right on {percent(row['accuracy'])} of {benchmark} ({ends}, {n})."


PART = Part(
    "field_benchmark",
    "the benchmark in the field",
    compute,
    {
        "field_accuracy": "`accuracy` of the field, and of runs on the same questions: mean over questions of the "
        "share of right answers, unknown ones counted as wrong, so that every question counts the same. For people it "
        "stands for the whole set, of which each was asked a few.",
        "field_minus_runs": "Accuracy of the field minus that of the source, on the questions that both answered.",
        "order_flips": "`flips`: chance that the order of two models is another for people than by runs, if the errors "
        "of both differences are normal.",
    },
    intervals=(
        *intervals("wilson", "unit", "ci"),
        *intervals("t", "unit", "against_field.ci", "orders.ci_runs", "orders.ci_field"),
    ),
    tables=(TABLE, ORDERS),
    pages=(PAGE, ORDERS),
    draw=draw,
    say=say,
    is_brief=True,
)
