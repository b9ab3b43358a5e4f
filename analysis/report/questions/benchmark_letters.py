"""Benchmark runs as arrays: the letter of each repeat or simulated user to each question, and reward models' scores."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from django.db.models import Exists, OuterRef
from numpy.typing import NDArray

from analysis.answers.compared import simulated_users
from analysis.models import Completion, ReplyScore, Run, TrainedModel
from analysis.models.training import hash_reply
from analysis.report.dataset import LETTERS, OFFLINE
from analysis.report.samples import Data, Source, source_of, source_order
from analysis.stats.resampling import UNKNOWN
from surveys.models import BenchmarkItem, Study

CALLS = ("run", "user", "repeat", "item", "status", "answer", "letter")
PENDING = -2  # a question without an answer yet, or whose answer was not read


@dataclass(frozen=True, eq=False)
class BenchmarkRuns:
    """The complete runs of one source on one benchmark: `letters` (runs, questions), none of them PENDING.

    `units` (runs,): one number for all runs of a simulated user, and one for each repeat without a user. `calls`
    identify each run: its run, the number of its simulated user or -1, and its repeat.
    """

    benchmark: str
    source: Source
    calls: list[tuple[int, int, int]]
    labels: list[str]
    unit: str
    units: NDArray[np.int64]
    letters: NDArray[np.int8]
    questions: NDArray[np.int64]
    incomplete: int
    run_ids: list[int]

    @property
    def is_reference(self) -> bool:
        return is_reference(self.source)

    def letters_to(self, questions: NDArray[np.int64]) -> NDArray[np.int8]:
        """The letters to these questions, in the order given."""
        order = np.argsort(self.questions)
        return self.letters[:, order[np.searchsorted(self.questions, questions, sorter=order)]]


def is_reference(source: Source) -> bool:
    """Whether it can be a reference: stateless, at temperature 1 or an unknown one."""
    return source.name == OFFLINE and source.temperature in (None, 1)


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
    table = pd.DataFrame(list(rows), columns=list(CALLS))
    table["user"] = table["user"].fillna(-1).astype(int)
    table["code"] = table["letter"].map({letter: code for code, letter in enumerate(LETTERS)}).fillna(UNKNOWN)
    open_calls = (table["status"] != Completion.Status.FAILED) & table["answer"].isna()
    table.loc[open_calls, "code"] = PENDING
    return table


def collect(benchmark: str, source: Source, runs: list[Run], calls: pd.DataFrame) -> BenchmarkRuns:
    """Count each repeat of each simulated user as one run, and a failed call as an unknown answer."""
    by_id = {run.pk: run for run in runs}
    wide = calls.pivot_table("code", ["run", "user", "repeat"], "item", fill_value=PENDING, sort=False)
    letters = wide.to_numpy(np.int8)
    complete = (letters != PENDING).all(axis=1)
    there = list(wide.index[complete])
    labels = [run_label(by_id[run], user, repeat, len(by_id)) for run, user, repeat in there]
    known = {(user.run, user.number): user.who for user in simulated_users(by_id) if user.who}
    units, _ = pd.factorize(pd.Series([known.get(row[:2], row) for row in there], dtype=object))
    unit = "simulated user" if any(row[:2] in known for row in wide.index) else "repeat"
    questions = wide.columns.to_numpy(np.int64)
    whole = letters[complete], questions, int((~complete).sum())
    return BenchmarkRuns(benchmark, source, there, labels, unit, units, *whole, [*by_id])


def run_label(run: Run, user: int, repeat: int, runs: int) -> str:
    name = run.imported_run or (f"run {run.pk}" if runs > 1 else "")
    part = f"user {user}" if user >= 0 else ""
    number = f"repeat {repeat}" if user < 0 and not run.imported_run or repeat else ""
    return ", ".join(words for words in (name, part, number) if words)


def load_keys(benchmarks: set[str]) -> dict[int, int]:
    items = BenchmarkItem.objects.filter(benchmark__in=benchmarks).values_list("pk", "answer")
    return {pk: LETTERS.find(answer) for pk, answer in items}


def load_subjects(benchmarks: set[str]) -> dict[int, str]:
    return dict(BenchmarkItem.objects.filter(benchmark__in=benchmarks).values_list("pk", "subject"))


# --- reward models' scores of replies


def load_scorers(study: Study) -> dict[int, str]:
    """Names of the study's own or shared reward models that have scored replies, the last trained first."""
    scored = TrainedModel.objects.of_study(study).filter(Exists(ReplyScore.objects.filter(model=OuterRef("pk"))))
    return dict(scored.order_by("-ended_at", "-pk").values_list("pk", "name"))


def load_scores(runs: BenchmarkRuns, scorers: Collection[int]) -> dict[int, NDArray[np.float64]]:
    """Scores (runs, questions) by model that scored any of these replies: -inf without a reply, NaN without a score."""
    calls = Completion.objects.filter(run__in=runs.run_ids, item__isnull=False, status=Completion.Status.DONE)
    rows = calls.exclude(reply="").values_list(
        "run_id", "user__index", "repeat", "item_id", "item__question", "item__choices", "reply"
    )
    row_of, column_of = (
        {key: place for place, key in enumerate(keys)} for keys in (runs.calls, runs.questions.tolist())
    )
    places: dict[str, list[tuple[int, int]]] = {}
    for run, user, repeat, item, *said in rows if scorers and runs.labels else ():
        if (row := row_of.get((run, -1 if user is None else user, repeat))) is not None:
            places.setdefault(hash_reply(*said), []).append((row, column_of[item]))
    found: dict[int, NDArray[np.float64]] = {}
    nothing = np.full(runs.letters.shape, -np.inf)
    for there in places.values():
        nothing[tuple(zip(*there, strict=True))] = np.nan
    scores = ReplyScore.objects.filter(model__in=scorers, sha256__in=list(places))
    for model, sha256, value in scores.values_list("model_id", "sha256", "value"):
        found.setdefault(model, nothing.copy())[tuple(zip(*places[sha256], strict=True))] = value
    return found
