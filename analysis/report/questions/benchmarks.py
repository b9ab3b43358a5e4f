"""Benchmark runs: the accuracy of every run, their range, and how much of that offline evaluation misses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, below, empty_figure, make_figure
from analysis.charts.marks import draw_key, room_for
from analysis.charts.ranges import bound_of, draw_benchmark, key_entries
from analysis.charts.tables import COUNT, FINE_ENDS, FINE_SHARE, PLAIN, POINTS, SHARE, Column, NumberFormat
from analysis.charts.theme import printable
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, intervals, rows_in
from analysis.report.dataset import LETTERS
from analysis.report.filters import OF_SETTINGS
from analysis.report.questions import together
from analysis.report.questions.benchmark_letters import (
    BenchmarkRuns,
    load_keys,
    load_runs,
    load_scorers,
    load_scores,
    load_subjects,
)
from analysis.report.questions.choices import BOUNDS, ENTROPY_OF_LETTERS
from analysis.report.samples import Data, generator_for, interval_cells, low_high, reasons
from analysis.stats import benchmark_runs
from analysis.stats.intervals import Interval
from analysis.stats.item_measures import entropy
from analysis.stats.resampling import UNKNOWN
from surveys.studies.wording import number, percent, plural, sized

NO_OFFLINE = "There is no offline run at temperature 1 on these questions."
OTHER_FORM = "No offline run at temperature 1 was asked these questions in the same form."


def compute(data: Data) -> list[Row]:
    """Rows for the runs that pass the filters; their offline references count even if a filter hides them."""
    found = load_runs(data.narrowed(source=(), **dict.fromkeys(OF_SETTINGS, ())))
    benchmarks = {runs.benchmark for runs in found}
    keys, subjects, scorers = load_keys(benchmarks), load_subjects(benchmarks), load_scorers(data.study)
    shown = [runs for runs in found if data.filters.wants_source(runs.source)]
    rows = [benchmark_row(data, runs, keys, reference_for(runs, found)) for runs in shown]
    return [row | together_row(data, runs, row, keys, subjects, scorers) for row, runs in zip(rows, shown, strict=True)]


def together_row(
    data: Data,
    runs: BenchmarkRuns,
    row: Row,
    keys: Mapping[int, int],
    subjects: Mapping[int, str],
    scorers: Mapping[int, str],
) -> Row:
    """Results of a row's runs together: ranks, majorities, and reward models' choices."""
    key = np.array([keys[item] for item in runs.questions], dtype=np.int8)
    lines = [line["accuracy"] for line in row["references"]]
    return {
        "ranks": together.rank_rows(runs, key, subjects, lines),
        "majority": together.majority_rows(runs, key, random_for(data, runs, "majority")),
        "best_of": together.best_rows(runs, key, load_scores(runs, scorers), scorers),
    }


def reference_for(runs: BenchmarkRuns, found: list[BenchmarkRuns]) -> BenchmarkRuns | str:
    """Offline runs to compare with, or why there are none: preferably of the same form, never of another known one."""
    mine = runs.source
    same = [
        other
        for other in found
        if (other.benchmark, other.source.model) == (runs.benchmark, mine.model) and other.is_reference and other.labels
    ]
    able = [one for one in same if len({one.source.asked_with, mine.asked_with} - {""}) < 2]

    def doubts(one: BenchmarkRuns) -> tuple[bool, bool]:
        return one.source.asked_with != mine.asked_with, one.source.temperature is None

    return min(able, key=doubts, default=OTHER_FORM if same else NO_OFFLINE)


def benchmark_row(data: Data, runs: BenchmarkRuns, keys: Mapping[int, int], offline: BenchmarkRuns | str) -> Row:
    key = np.array([keys[item] for item in runs.questions], dtype=np.int8)
    found = benchmark_runs.describe(runs.letters, key, runs.units)
    row: Row = {
        "benchmark": runs.benchmark,
        **runs.source.key,
        "chatbot": runs.source.chatbot,
        **runs.source.settings,
        "run_ids": runs.run_ids,
        "questions": found.questions,
        "runs": run_rows(runs, found),
        "min": found.minimum,
        "max": found.maximum,
        "mean": found.mean,
        "unit": runs.unit,
        "units": found.units,
        "ci": low_high(found.ci),
        **over_questions("ci_questions", found.mean, found.ci_questions, found.questions),
        "sd": found.sd,
        "range": found.range,
        "unknown": found.unknown_share,
        "unknown_answers": int((runs.letters == UNKNOWN).sum()),
        "bounds": low_high(found.bounds),
        "incomplete": runs.incomplete,
        "simulated": runs.source.simulated,
        **leaderboard(data, runs.benchmark),
        **spread_of_letters(runs),
        **beside_offline(data, runs, offline, keys),
    }
    why = "No run has an answer to every question yet." if runs.incomplete and not found.runs else found.why
    return row | reasons(ci_why=found.ci_why, why=why if found.why else None)


def random_for(data: Data, runs: BenchmarkRuns, what: str) -> np.random.Generator:
    return generator_for(data, what, runs.source, runs.benchmark)


def run_rows(runs: BenchmarkRuns, found: benchmark_runs.RunScores) -> list[Row]:
    return [
        {"run": label, "accuracy": accuracy, "low": accuracy, "high": upper, "unknown": unknown}
        for label, accuracy, upper, unknown in zip(runs.labels, found.accuracy, found.upper, found.unknown, strict=True)
    ]


def leaderboard(data: Data, benchmark: str) -> Row:
    """Published scores of the benchmark's family with their differences from the top one, or why none of them fits."""
    lines = [line for line in data.definition.references if family_of(line.benchmark) == family_of(benchmark)]
    top = max((float(line.accuracy) for line in lines), default=0.0)
    rows = [
        {"name": line.name, "accuracy": accuracy, "to_top": accuracy - top, "source": line.source}
        for line in lines
        for accuracy in [float(line.accuracy)]
    ]
    others = list(dict.fromkeys(line.benchmark for line in data.definition.references))
    if rows or not others:
        return {"references": rows}
    return {
        "references": [],
        "why_references": f"The study's references are scores on {', '.join(others)}: none fits {benchmark}.",
    }


def family_of(benchmark: str) -> str:
    """`mmlu` of `mmlu-514`, a subset of that many of its questions."""
    return re.sub(r"-\d+$", "", benchmark)


def spread_of_letters(runs: BenchmarkRuns) -> Row:
    """How far apart the runs' letters are, as means over questions; entropy leaves out those without a known letter."""
    found = benchmark_runs.spread(runs.letters)
    counts = np.stack([(runs.letters == code).sum(axis=0) for code in range(len(LETTERS))], axis=-1)
    bits = entropy(counts[counts.sum(axis=-1) > 0])
    known = len(runs.labels) > 1 and len(bits) > 0
    mean = float(bits.mean()) if known else None
    return {
        "unanimous": found.unanimous,
        "ci_unanimous": low_high(found.ci_unanimous),
        "distinct_letters": found.distinct,
        **over_questions("ci_distinct", found.distinct, found.ci_distinct, len(runs.questions)),
        col.ENTROPY.key: mean,
        **over_questions("ci_entropy", mean, benchmark_runs.mean_interval(bits, 0.0) if known else None, len(bits)),
    }


def over_questions(name: str, value: float | None, found: Interval | None, questions: int) -> Row:
    why = benchmark_runs.why_not_over_questions(found, questions)
    return interval_cells(name, found, None if value is None else why)


def beside_offline(data: Data, runs: BenchmarkRuns, offline: BenchmarkRuns | str, keys: Mapping[int, int]) -> Row:
    """Compare runs with offline ones of the same model on shared questions. `offline` in the row: the settings of
    these, or None with the reason.
    """
    of_offline = ("offline", "offline_runs", "overlaps_offline", "offline_mean", "noise_floor")
    of_letters = (col.NOVEL.key, "novel_ci", "novel_chance", "novel_excess", "novel_excess_ci")
    nothing: Row = dict.fromkeys((*of_offline, *of_letters))
    if isinstance(offline, str):
        return nothing | {"why_offline": offline}
    shared = np.intersect1d(runs.questions, offline.questions if runs.labels else [])
    if not len(shared):
        return nothing | {"why_offline": NO_OFFLINE}
    key = np.array([keys[item] for item in shared], dtype=np.int8)
    mine, theirs = (part.letters_to(shared) for part in (runs, offline))
    scores, others = ((letters == key).mean(axis=1) for letters in (mine, theirs))
    row = nothing | {
        "offline": offline.source.settings,
        "offline_runs": len(theirs),
        "offline_mean": float(others.mean()),
        "noise_floor": noise_floor(data, runs, theirs, key, scores),
    }
    if row["noise_floor"]:
        warmth = "at an unknown temperature" if offline.source.temperature is None else "at temperature 1"
        row["noise_floor"]["of"] = f"{plural(len(theirs), 'offline run')} {warmth}"
    if offline is runs:
        return row
    row["overlaps_offline"] = benchmark_runs.overlap(ends_of(others), ends_of(scores))
    if len(shared) < len(runs.questions):
        row["shared_min"], row["shared_max"] = ends_of(scores)
    return row | {"shared_questions": len(shared)} | novel_letters(data, runs, theirs, mine)


def novel_letters(data: Data, runs: BenchmarkRuns, offline: NDArray[np.int8], mine: NDArray[np.int8]) -> Row:
    """Share of questions with a letter that no offline run gives, and its excess over held-out offline runs."""
    share = benchmark_runs.novel_share(offline, mine)
    found = benchmark_runs.novel_excess(offline, mine, random_for(data, runs, "novel letters"), runs.units)
    return {
        col.NOVEL.key: share.share,
        "novel_ci": low_high(share.ci),
        "novel_chance": found.chance,
        "novel_excess": found.excess,
        **over_questions("novel_excess_ci", found.excess, found.ci, mine.shape[1]),
        "novel_runs": found.runs,
        "novel_reference": found.reference,
        **reasons(novel_why=found.why),
    }


def ends_of(scores: NDArray[np.float64]) -> tuple[float, float]:
    return float(scores.min()), float(scores.max())


def noise_floor(
    data: Data, runs: BenchmarkRuns, offline: NDArray[np.int8], key: NDArray[np.int8], scores: NDArray[np.float64]
) -> Row | None:
    """The range that as many offline repeats would have; None for fewer than two runs."""
    if len(runs.labels) < 2:
        return None
    observed = float(np.ptp(scores))
    rng = random_for(data, runs, "noise floor")
    found = benchmark_runs.noise_floor(offline, key, len(runs.labels), rng, data.draws, observed)
    return {
        "low": found.low,
        "high": found.high,
        "range": found.range,
        "ci": low_high(found.ci),
        "p": found.p,
        "runs": found.runs,
        **reasons(why=found.why),
    }


# In a figure -----------------------------------------------------------------------------------------------

ACCURACY = "accuracy: Questions answered correctly in one run, unknown ones counted as wrong."
TITLE = "How far benchmark scores range"
NOTHING = "No complete benchmark runs yet: there is nothing to compare."
DRAWN_COLUMNS = [
    *read.plain("benchmark", "model", "source", "temperature"),
    *read.AMOUNT_COLUMNS,
    Column("runs", "runs", value=lambda row: len(row["runs"])),
    Column("questions", "questions"),
    Column("min", "lowest accuracy", unit="share"),
    Column("mean", "mean accuracy", unit="share"),
    *read.ends_in("share", name="mean_"),
    Column("questions_low", "over questions from", unit="share", value=read.end_of("ci_questions", 0)),
    Column("questions_high", "to", unit="share", value=read.end_of("ci_questions", 1)),
    Column("max", "highest accuracy", unit="share"),
    Column("sd", "standard deviation", unit="share"),
    Column("highest_bound", "highest if unknown were right", unit="share", value=lambda row: bound_of(row)),
    Column("floor_low", "lowest of as many repeats", unit="share", value=read.end_of("noise_floor", 0)),
    Column("floor_high", "highest of as many repeats", unit="share", value=read.end_of("noise_floor", 1)),
    Column(col.NOVEL.key, "questions with a new answer", unit="share"),
    Column("novel_chance", "of held-out offline runs", unit="share"),
    Column("novel_excess", "more than these", unit="share"),
    *together.DRAWN,
    read.WHY,
]


def draw_benchmarks(report: Report, options: Options) -> Figure:
    rows = together.shown_rows(report, options)
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    drawn = [row for row in rows if number(row.get("min")) is not None and number(row.get("max")) is not None]
    if not drawn:
        return empty_figure("benchmarks", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    names = read.label_variants(drawn)
    key, parts = draw_key(key_entries(drawn), options, indent := room_for(names))
    specs = [key]
    pairs = list(zip(names, drawn, strict=True))
    for benchmark in read.in_order(row["benchmark"] for row in drawn):
        here = [pair for pair in pairs if pair[1]["benchmark"] == benchmark]
        spec, more = draw_benchmark(benchmark, here, indent, options)
        specs.append(spec)
        parts += more
    words = Words(TITLE, caption(report, rows, drawn), describe(pairs, options))
    return make_figure("benchmarks", words, below(specs, 18), parts, table, DRAWN_COLUMNS, options)


# In words --------------------------------------------------------------------------------------------------


def caption(report: Report, rows: Sequence[Row], drawn: Sequence[Row]) -> str:
    runs = [len(row["runs"]) for row in drawn]
    questions = sorted({int(row["questions"]) for row in drawn if number(row.get("questions"))})
    asked = f" of {' and '.join(f'{count:,}' for count in questions)} questions" if questions else ""
    return read.write_caption(
        report,
        f"{sized(*runs)} runs{asked} a row; one run is one repeat, or one simulated user.",
        "The axis does not begin at 0.",
        *leaderboard_words(drawn),
        definitions=[ACCURACY, "noise_floor"],
        rows=drawn,
        missing=len(rows) - len(drawn),
    )


def leaderboard_words(rows: Sequence[Row]) -> list[str]:
    """Explain the numbers at the lines' names, or why there are no lines."""
    told = ["Behind a leaderboard model's score: its difference from the top one, in points."]
    return told * any(row.get("references") for row in rows) + unmatched(rows)


def unmatched(rows: Sequence[Row]) -> list[str]:
    """Why benchmarks have no lines although the study has references."""
    return read.in_order(row["why_references"] for row in rows if row.get("why_references"))


def describe(rows: Sequence[tuple[str, Row]], options: Options) -> str:
    """The range of each row."""
    ranges: dict[tuple[str, str], list[str]] = {}
    for name, row in rows:
        said = f"{name} {percent(row['min'], 1)} to {percent(row['max'], 1)}"
        ranges.setdefault((row["benchmark"], row["model"]), []).append(said)
    order = read.in_order(benchmark for benchmark, _ in ranges)
    return " ".join(
        f"{printable(benchmark)}, {read.shown_model(model, options)}: {'; '.join(said)}."
        for (benchmark, model), said in sorted(ranges.items(), key=lambda entry: order.index(entry[0][0]))
    )


# In tables --------------------------------------------------------------------------------------------------

NOVELTY = (col.NOVEL.name, "novel_excess")
BENCHMARK, QUESTIONS = Column("benchmark", "Benchmark"), Column("questions", "Questions", COUNT)
RUNS = Column(
    "runs",
    "Runs",
    COUNT,
    value=lambda row: len(row["runs"]),
    texts=lambda row: {"prompt": "", "benchmark": row["benchmark"], "run": row.get("run_ids", [])},
)
MEAN_ACCURACY = Column("mean", "Mean accuracy", FINE_SHARE, short="mean", why="why")
OVER_RUNS = Column("ci", "95 % over runs", FINE_ENDS, why="ci_why")
OVER_QUESTIONS = Column("ci_questions", "95 % over questions", FINE_ENDS, why="ci_questions_why")
RANGE = Column(
    "range",
    "Lowest to highest",
    FINE_ENDS,
    value=lambda row: None if row["min"] is None else [row["min"], row["max"]],
    key=lambda row: -1 if row["range"] is None else row["range"],
)
FLOOR = Column(
    "noise_floor.range",
    "Range by chance, points",
    NumberFormat(digits=1, scale=100),
    "noise_floor.ci",
    why="noise_floor.why",
)
UNKNOWN_SHARE = Column("unknown", "Unknown", FINE_SHARE)
OVERLAP = Column(
    "overlaps_offline", "Overlaps offline", value=lambda row: {True: "yes", False: "no"}.get(row["overlaps_offline"])
)
NEW_LETTERS = Column(col.NOVEL.key, col.NOVEL.label, col.NOVEL.format, "novel_ci", why="why_offline")
BY_CHANCE = Column("novel_chance", "Novel by chance", SHARE, why="novel_why")
ABOVE_CHANCE = Column("novel_excess", "Above chance, points", POINTS, "novel_excess_ci", why="novel_why")
UNANIMOUS = Column("unanimous", "Unanimous", SHARE, "ci_unanimous")
DISTINCT = Column("distinct_letters", "Distinct letters", PLAIN, "ci_distinct")
TABLE = TableSpec(
    "benchmarks",
    "Benchmark runs",
    (
        *(BENCHMARK, col.SOURCE, col.MODEL, col.SETTINGS, QUESTIONS, RUNS, RANGE, MEAN_ACCURACY, OVER_RUNS),
        OVER_QUESTIONS,
        Column("sd", "SD", FINE_SHARE, short="SD"),
        *(FLOOR, UNKNOWN_SHARE, BOUNDS, NEW_LETTERS, BY_CHANCE, ABOVE_CHANCE, OVERLAP),
        *(UNANIMOUS, DISTINCT, ENTROPY_OF_LETTERS),
    ),
    rows_in("benchmarks"),
    ("benchmark_run", "bounds", "noise_floor", *NOVELTY, "overlaps_offline", "unanimous", "distinct_letters"),
)
PAGE = TableSpec(
    "benchmarks",
    "The numbers in the figure",
    (
        *(BENCHMARK, col.VARIANT, col.MODEL, RUNS, QUESTIONS, MEAN_ACCURACY, OVER_RUNS, OVER_QUESTIONS, RANGE, FLOOR),
        replace(UNKNOWN_SHARE, ci=lambda row: row["bounds"] if row["unknown"] else None),
        *(OVERLAP, NEW_LETTERS, BY_CHANCE, ABOVE_CHANCE, UNANIMOUS, DISTINCT),
    ),
    together.shown_rows,
    ("benchmark_run", "noise_floor", "overlaps_offline", *NOVELTY, "unanimous", "distinct_letters"),
    lambda rows: " ".join(
        ["Beside unknown: the accuracy if all of them were wrong, and if all were right.", *unmatched(rows)]
    ),
    "No benchmark has been run with this study's models yet.",
)

# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    known = [row for row in report["benchmarks"] if row["mean"] is not None]
    if not known:
        return "No benchmark has been run yet."
    first = [row for row in known if row["benchmark"] == known[0]["benchmark"]]
    low, high = min(row["min"] for row in first), max(row["max"] for row in first)
    return f"Single runs score {100 * low:.0f} to {percent(high)} of {first[0]['benchmark']}."


PART = Part(
    "benchmarks",
    "benchmark runs",
    compute,
    {
        "benchmark_run": "Accuracy of one repeat, or of one simulated user, over all questions; unknown counts as "
        "wrong.",
        "noise_floor": "The range, highest minus lowest, that as many offline repeats have though nothing differs.",
        "overlaps_offline": "Whether the range of the runs meets the range of the offline runs at temperature 1.",
        col.NOVEL.name: col.DEFINITIONS[col.NOVEL.name],
        "novel_excess": "How much larger that share is among as many runs as offline runs were held out, and among "
        "these: what chance gives, both against the other offline runs.",
        "unanimous": "Share of questions to which all runs of a source give one and the same letter.",
        "distinct_letters": "Mean number of different letters that the runs of a source give to a question.",
        **together.DEFINED,
    },
    intervals=(
        *intervals("t", "run", "ci"),
        *intervals("wilson", "question", "ci_questions", "novel_ci", "ci_unanimous"),
        *intervals("t", "question", "ci_entropy", "ci_distinct", "novel_excess_ci"),
        *intervals("simulation", "run", "noise_floor.ci"),
        *together.IN_ROWS,
    ),
    tables=(TABLE, together.RANKS, together.MAJORITIES, together.BEST),
    pages=(PAGE, together.RANKS, together.MAJORITIES, together.BEST),
    draw=draw_benchmarks,
    say=say,
    is_brief=True,
)
