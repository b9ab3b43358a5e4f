"""Benchmark runs: the accuracy of every run, their range, and what offline evaluation does not see of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.models import Completion, Run
from analysis.report.dataset import LETTERS
from analysis.report.rows import Row, generator_for, span
from analysis.report.samples import Data, Source, source_of, source_order
from analysis.stats import benchmark_runs
from analysis.stats.intervals import interval
from analysis.stats.item_measures import entropy_bits
from analysis.stats.samples import UNKNOWN
from surveys.models import BenchmarkItem

OFFLINE = "offline"
COLUMNS = ("run", "user", "repeat", "item", "status", "answer", "letter")
PENDING = -2  # a question that has no answer yet, or one that was not read
NO_OFFLINE = "There is no offline run at temperature 1 on these questions."


@dataclass(frozen=True, eq=False)
class BenchmarkRuns:
    """The complete runs of one source on one benchmark: `letters` (runs, questions), PENDING nowhere."""

    benchmark: str
    source: Source
    labels: list[str]
    letters: NDArray[np.int8]
    questions: NDArray[np.int64]
    incomplete: int

    @property
    def is_reference(self) -> bool:
        """Whether it is what others are compared with: stateless, at temperature 1."""
        return self.source.name == OFFLINE and self.source.temperature in (None, 1)


def rows(data: Data) -> list[Row]:
    """The runs that the filters leave; those that they are compared with count though a filter hides them."""
    found = load_runs(data.narrowed(source=(), temperature=(), history_size=()))
    keys = load_keys({runs.benchmark for runs in found})
    shown = [runs for runs in found if data.filters.wants_source(runs.source)]
    return [benchmark_row(data, runs, keys, reference_for(runs, found)) for runs in shown]


def load_runs(data: Data) -> list[BenchmarkRuns]:
    asked: dict[tuple[str, Source], list[Run]] = {}
    for run in data.frames.runs.values():
        source = source_of(run, data.definition)
        if run.benchmark and data.filters.wants_source(source):
            asked.setdefault((run.benchmark, source), []).append(run)
    calls = load_calls([run.pk for runs in asked.values() for run in runs])
    found = [
        collect(benchmark, source, runs, calls[calls["run"].isin([run.pk for run in runs])])
        for (benchmark, source), runs in asked.items()
    ]
    return sorted(found, key=lambda runs: (runs.benchmark, source_order(runs.source)))


def load_calls(runs: list[int]) -> pd.DataFrame:
    calls = Completion.objects.filter(run__in=runs, item__isnull=False).order_by("run_id", "user__index", "repeat")
    rows = calls.values_list("run_id", "user__index", "repeat", "item_id", "status", "answer__id", "answer__letter")
    table = pd.DataFrame(list(rows), columns=list(COLUMNS))
    table["user"] = table["user"].fillna(-1).astype(int)
    table["code"] = table["letter"].map({letter: code for code, letter in enumerate(LETTERS)}).fillna(UNKNOWN)
    open_calls = (table["status"] != Completion.Status.FAILED) & table["answer"].isna()
    table.loc[open_calls, "code"] = PENDING
    return table


def collect(benchmark: str, source: Source, runs: list[Run], calls: pd.DataFrame) -> BenchmarkRuns:
    """One run is one repeat of one simulated user of one run; a call that failed for good is an unknown answer."""
    by_id = {run.pk: run for run in runs}
    wide = calls.pivot_table("code", ["run", "user", "repeat"], "item", fill_value=PENDING, sort=False)
    letters = wide.to_numpy(np.int8)
    complete = (letters != PENDING).all(axis=1)
    labels = [run_label(by_id[run], user, repeat, len(by_id)) for run, user, repeat in wide.index[complete]]
    questions = wide.columns.to_numpy(np.int64)
    return BenchmarkRuns(benchmark, source, labels, letters[complete], questions, int((~complete).sum()))


def run_label(run: Run, user: int, repeat: int, runs: int) -> str:
    name = run.imported_run or (f"run {run.pk}" if runs > 1 else "")
    part = f"user {user}" if user >= 0 else ""
    number = f"repeat {repeat}" if user < 0 and not run.imported_run or repeat else ""
    return ", ".join(words for words in (name, part, number) if words)


def load_keys(benchmarks: set[str]) -> dict[int, int]:
    items = BenchmarkItem.objects.filter(benchmark__in=benchmarks).values_list("pk", "answer")
    return {pk: LETTERS.find(answer) for pk, answer in items}


def reference_for(runs: BenchmarkRuns, found: list[BenchmarkRuns]) -> BenchmarkRuns | None:
    same = [other for other in found if (other.benchmark, other.source.model) == (runs.benchmark, runs.source.model)]
    return next((other for other in same if other.is_reference and other.labels), None)


def benchmark_row(data: Data, runs: BenchmarkRuns, keys: Mapping[int, int], offline: BenchmarkRuns | None) -> Row:
    key = np.array([keys[item] for item in runs.questions], dtype=np.int8)
    found = benchmark_runs.describe(runs.letters, key, random_for(data, runs, "benchmark"), data.draws)
    row: Row = {
        "benchmark": runs.benchmark,
        **runs.source.key,
        "chatbot": runs.source.chatbot,
        **runs.source.settings,
        "questions": found.questions,
        "runs": run_rows(runs, found),
        "min": found.minimum,
        "max": found.maximum,
        "mean": found.mean,
        "ci": span(found.ci),
        "sd": found.sd,
        "range": found.range,
        "unknown": found.unknown_share,
        "unknown_answers": int((runs.letters == UNKNOWN).sum()),
        "bounds": span(found.bounds),
        "incomplete": runs.incomplete,
        "simulated": runs.source.simulated,
        "references": reference_lines(data, runs.benchmark),
        **question_entropy(runs, random_for(data, runs, "entropy"), data.draws),
        **beside_offline(data, runs, offline, keys),
    }
    if found.why:
        row["why"] = "No run has an answer to every question yet." if runs.incomplete and not found.runs else found.why
    return row


def random_for(data: Data, runs: BenchmarkRuns, what: str) -> np.random.Generator:
    return generator_for(data, what, runs.source, runs.benchmark)


def run_rows(runs: BenchmarkRuns, found: benchmark_runs.RunScores) -> list[Row]:
    return [
        {"run": label, "accuracy": accuracy, "low": accuracy, "high": upper, "unknown": unknown}
        for label, accuracy, upper, unknown in zip(runs.labels, found.accuracy, found.upper, found.unknown, strict=True)
    ]


def reference_lines(data: Data, benchmark: str) -> list[Row]:
    lines = [line for line in data.definition.references if line.benchmark == benchmark]
    return [{"name": line.name, "accuracy": float(line.accuracy), "source": line.source} for line in lines]


def question_entropy(runs: BenchmarkRuns, rng: np.random.Generator, draws: int) -> Row:
    """Mean over questions of the entropy of the runs' known letters; questions without any are left out."""
    counts = np.stack([(runs.letters == code).sum(axis=0) for code in range(len(LETTERS))], axis=-1)
    bits = entropy_bits(counts[counts.sum(axis=-1) > 0])
    if len(runs.labels) < 2 or not len(bits):
        return {"entropy_bits": None, "ci_entropy": None}
    drawn = bits[rng.integers(0, len(bits), (draws, len(bits)))].mean(axis=1)
    return {"entropy_bits": float(bits.mean()), "ci_entropy": span(interval(drawn))}


def beside_offline(data: Data, runs: BenchmarkRuns, offline: BenchmarkRuns | None, keys: Mapping[int, int]) -> Row:
    """What the offline runs at temperature 1 of the same model, on the same questions, say of these."""
    nothing: Row = {
        "overlaps_offline": None,
        "offline_mean": None,
        "novel_share": None,
        "novel_ci": None,
        "noise_floor": None,
    }
    if offline is None or not runs.labels:
        return nothing | {"why_offline": NO_OFFLINE}
    shared = np.intersect1d(runs.questions, offline.questions)
    if not len(shared):
        return nothing | {"why_offline": NO_OFFLINE}
    key = np.array([keys[item] for item in shared], dtype=np.int8)
    mine, theirs = (letters_to(part, shared) for part in (runs, offline))
    scores, others = ((letters == key).mean(axis=1) for letters in (mine, theirs))
    row = nothing | {"offline_mean": float(others.mean()), "noise_floor": noise_floor(data, runs, theirs, key, scores)}
    if offline is runs:
        return row
    novel = benchmark_runs.novel_share(theirs, mine)
    row["overlaps_offline"] = benchmark_runs.overlap(ends_of(others), ends_of(scores))
    return row | {"novel_share": novel.share, "novel_ci": span(novel.ci), "shared_questions": len(shared)}


def letters_to(runs: BenchmarkRuns, questions: NDArray[np.int64]) -> NDArray[np.int8]:
    """The runs' letters to these questions, in their order; a run may have been asked in any other."""
    order = np.argsort(runs.questions)
    return runs.letters[:, order[np.searchsorted(runs.questions, questions, sorter=order)]]


def ends_of(scores: NDArray[np.float64]) -> tuple[float, float]:
    return float(scores.min()), float(scores.max())


def noise_floor(
    data: Data, runs: BenchmarkRuns, offline: NDArray[np.int8], key: NDArray[np.int8], scores: NDArray[np.float64]
) -> Row | None:
    """The range that as many offline repeats would have."""
    if len(runs.labels) < 2:
        return None
    observed = float(np.ptp(scores))
    rng = random_for(data, runs, "noise floor")
    found = benchmark_runs.noise_floor(offline, key, len(runs.labels), rng, data.draws, observed)
    return {
        "low": found.low,
        "high": found.high,
        "range": found.range,
        "ci": span(found.ci),
        "p": found.p,
        "runs": found.runs,
        "of": f"{len(offline)} offline runs at temperature 1",
        **({"why": found.why} if found.why else {}),
    }
