"""A source's runs on a benchmark taken together: rank among published scores, majority, reward models' choice."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.charts.figure import Options, Report, Row
from analysis.charts.rows import by_group, rows_of
from analysis.charts.tables import COUNT, FINE_SHARE, POINTS, SHARE, Column
from analysis.report import columns as col
from analysis.report.columns import TableSpec, intervals
from analysis.report.questions.benchmark_letters import BenchmarkRuns
from analysis.report.samples import interval_cells
from analysis.stats import benchmark_runs
from analysis.stats.benchmark_runs import ALL_ALIKE, FEW_UNITS, FEWEST
from analysis.stats.intervals import ONE_UNIT
from analysis.stats.repeated_runs import SIZES, Together, best_of, majorities, rank_flips

QUESTIONS, SUBJECTS = "questions", "subjects"
FEWEST_VOTERS = SIZES[1]
UNSCORED = "{name} has not scored {lacking:,} of {replies:,} replies yet; predict --replies does."


def rank_rows(
    runs: BenchmarkRuns, key: NDArray[np.int8], subjects: Mapping[int, str], lines: Iterable[float]
) -> list[Row]:
    """Rank by the mean over questions and, if there are several, over subjects, as leaderboards do. Empty without
    published scores.
    """
    published = np.array(list(lines))
    right = runs.letters == key
    rows = [rank_row(runs, QUESTIONS, right.mean(axis=1), published)] if right.size else []
    names, of = np.unique([subjects.get(item, "") for item in runs.questions.tolist()], return_inverse=True)
    if right.size and len(names) > 1:
        by_subject = right @ np.eye(len(names))[of] / np.bincount(of)
        rows.append(rank_row(runs, SUBJECTS, by_subject.mean(axis=1), published) | {"subjects": len(names)})
    return rows if len(published) else []


def rank_row(runs: BenchmarkRuns, aggregate: str, scores: NDArray[np.float64], lines: NDArray[np.float64]) -> Row:
    found = rank_flips(scores, lines, runs.units)
    ci, units = benchmark_runs.mean_interval(scores, 0.0, 1.0, runs.units), len(np.unique(runs.units))
    row: Row = {"aggregate": aggregate, "mean": float(scores.mean()), "lines": len(lines), "units": units}
    row |= interval_cells("ci_mean", ci, ALL_ALIKE if units >= FEWEST else FEW_UNITS)
    if found is None:
        return row
    ranks = {"rank": found.rank, "best": found.best, "worst": found.worst, "pairs": found.pairs, "flips": found.share}
    return row | ranks | interval_cells("ci_flips", found.ci, ONE_UNIT)


def majority_rows(runs: BenchmarkRuns, key: NDArray[np.int8], rng: np.random.Generator) -> list[Row]:
    """A row for each of SIZES up to the number of runs; none if too few can have a majority."""
    if len(runs.labels) < FEWEST_VOTERS:
        return []
    return [together_row(one, len(key)) for one in majorities(runs.letters, key, rng)]


def together_row(one: Together, questions: int) -> Row:
    few = benchmark_runs.FEW_QUESTIONS if questions < FEWEST else benchmark_runs.QUESTIONS_ALIKE
    return {
        "k": one.k,
        "accuracy": one.accuracy,
        **interval_cells("ci", one.ci, few),
        "gain": one.gain if one.k > 1 else None,
        **interval_cells("ci_gain", one.ci_gain if one.k > 1 else None, few if one.k > 1 else None),
    }


def best_rows(
    runs: BenchmarkRuns, key: NDArray[np.int8], scores: Mapping[int, NDArray[np.float64]], scorers: Mapping[int, str]
) -> list[Row]:
    """Like `majority_rows`, for each reward model; a single row says why if it has not scored all replies."""
    found: list[Row] = []
    for model, name in scorers.items():
        if model not in scores or len(runs.labels) < FEWEST_VOTERS:
            continue
        lacking = int(np.isnan(scores[model]).sum())
        rows = [] if lacking else [together_row(one, len(key)) for one in best_of(runs.letters, key, scores[model])]
        why = UNSCORED.format(lacking=lacking, replies=int((scores[model] > -np.inf).sum()) + lacking, name=name)
        found += [{"by": name} | row for row in rows or [{"k": None, "accuracy": None, "gain": None, "why": why}]]
    return found


# --- in tables and in a figure's numbers

IN_ROWS = (
    *intervals("t", "run", "ranks.ci_mean"),
    *intervals("wilson", "run", "ranks.ci_flips"),
    *intervals("wilson", "question", "majority.ci"),
    *intervals("t", "question", "majority.ci_gain"),
    *intervals("wilson", "question", "best_of.ci"),
    *intervals("t", "question", "best_of.ci_gain"),
)
DEFINED = {
    "rank_flips": "Of all pairs of a run and a published score the share whose order is not that of the runs’ mean and "
    "that score; over questions, and over the means of subjects, which leaderboards publish.",
    "majority": "Accuracy of the letter that most of k runs give, over all sets of k runs or 500 random ones; equally "
    "frequent letters share the vote, unknown is none. Gain: minus the accuracy of one run.",
    "best_of": "Accuracy of the reply that a reward model scores highest among those of n runs, over all sets of n "
    "runs; equal scores share. Gain: minus the accuracy of one run.",
}


def shown_rows(report: Report, options: Options) -> list[Row]:
    """Rows by benchmark, with models in the order of their chatbots."""
    return sorted(by_group(report, rows_of(report, "benchmarks")), key=lambda row: str(row["benchmark"]))


def inside(name: str, wanted: Sequence[str]) -> Any:
    """Return a reader of the rows nested in benchmarks' rows, each with `wanted` values of its parent."""

    def rows(report: Report, options: Options) -> list[Row]:
        found = shown_rows(report, options)
        return [{part: row.get(part) for part in wanted} | each for row in found for each in row.get(name) or ()]

    return rows


OF_ROW = ("benchmark", "source", "model", "simulated", "temperature", "history_size", "settings", "questions", "unit")
WHICH = (Column("benchmark", "Benchmark"), col.VARIANT, col.MODEL)
RANKS = TableSpec(
    "ranks",
    "Rank among published scores",
    (
        *WHICH,
        Column("aggregate", "Mean over", value=lambda row: row["aggregate"]),
        Column("mean", "Mean accuracy", FINE_SHARE, "ci_mean"),
        Column("units", "Runs", COUNT),
        Column("lines", "Published", COUNT),
        Column("rank", "Rank", COUNT, soft=lambda row: f"{row['best']} to {row['worst']}" if row.get("rank") else ""),
        Column("flips", "Order flips", SHARE, "ci_flips"),
    ),
    inside("ranks", OF_ROW),
    ("rank_flips",),
    "1 is above all published scores; beside it the best and the worst run’s rank. Order flips: of all pairs of a run "
    "and a published score, those whose order is another than the mean’s.",
    optional=True,
)
MAJORITIES = TableSpec(
    "majorities",
    "What most of several runs answer",
    (
        *WHICH,
        Column("k", "Runs that vote", COUNT),
        Column("questions", "Questions", COUNT),
        Column("accuracy", "Accuracy", FINE_SHARE, "ci"),
        Column("gain", "Gain over one run, points", POINTS, "ci_gain", nothing=""),
    ),
    inside("majority", OF_ROW),
    ("majority",),
    optional=True,
)
BEST = TableSpec(
    "best_of",
    "Which of several replies a reward model likes best",
    (
        *WHICH,
        Column("by", "Reward model"),
        Column("k", "Replies to choose from", COUNT),
        Column("questions", "Questions", COUNT),
        Column("accuracy", "Accuracy", FINE_SHARE, "ci", why="why"),
        Column("gain", "Gain over one run, points", POINTS, "ci_gain", nothing=""),
    ),
    inside("best_of", OF_ROW),
    ("best_of",),
    optional=True,
)


def rank_of(aggregate: str, name: str) -> Any:
    return lambda row: next((one.get(name) for one in row.get("ranks") or () if one["aggregate"] == aggregate), None)


def accuracy_of(part: str, k: int) -> Any:
    return lambda row: next((one["accuracy"] for one in row.get(part) or () if one["k"] == k), None)


def last_trained(row: Row) -> str | None:
    """The reward model of a figure's numbers: the last trained of those that have scored all replies."""
    return next((one["by"] for one in row.get("best_of") or () if one["k"]), None)


DRAWN = (
    Column("subject_mean", "mean accuracy over subjects", unit="share", value=rank_of(SUBJECTS, "mean")),
    Column("flips", "order flips beside published scores", unit="share", value=rank_of(QUESTIONS, "flips")),
    Column("subject_flips", "order flips, over subjects", unit="share", value=rank_of(SUBJECTS, "flips")),
    *(
        Column(f"majority_{k}", f"accuracy of the majority of {k}", unit="share", value=accuracy_of("majority", k))
        for k in SIZES[1:]
    ),
    Column("best_of_by", "reward model that chooses", value=last_trained),
    *(
        Column(f"best_of_{k}", f"accuracy of the best of {k}", unit="share", value=accuracy_of("best_of", k))
        for k in SIZES[1:]
    ),
)
