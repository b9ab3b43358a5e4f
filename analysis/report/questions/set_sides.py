"""Who answered the questions of a study's set: people in the field, and runs that were asked the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.report.benchmark_letters import BenchmarkRuns, load_runs
from analysis.report.dataset import LETTERS
from analysis.report.samples import Data, Row, Source
from analysis.stats.persons.accuracy import ScoredQuestions, accuracy
from analysis.stats.persons.numbers import PersonEstimate
from surveys.models import BenchmarkItem
from surveys.studies.files.matrix import Matrix


@dataclass(frozen=True, eq=False)
class SetSide:
    """The answers of people, or of runs, to the study's questions; `letters` are codes, UNKNOWN among them."""

    source: Source
    unit: str
    letters: NDArray[np.int8]
    scored: ScoredQuestions
    simulated: bool
    settings: Row

    @property
    def kind(self) -> tuple[Any, ...]:
        """What two models have to have in common for their order to be compared."""
        return (self.source.name, *sorted((name, repr(value)) for name, value in self.settings.items()))

    @cached_property
    def estimate(self) -> PersonEstimate:
        return accuracy(self.scored)


def side_of_field(data: Data, matrix: Matrix, source: Source) -> SetSide:
    """Each person's answers to the questions that were drawn for them."""
    found = [data.rows_of(source, slug) for slug in matrix.by_slug]
    rows = np.concatenate([np.empty(0, np.int64), *found])
    question = np.repeat(np.arange(len(found)), [len(each) for each in found])
    letters = data.frames.field.columns["option"][rows]
    scored = score(matrix, question, data.frames.field.who[rows], letters)
    return SetSide(source, "person", letters, scored, bool(data.simulated_in(source, rows)), {})


def sides_of_runs(data: Data, matrix: Matrix) -> Iterator[SetSide]:
    """Of the benchmark's complete runs, their answers to those questions that still are what people were asked."""
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
    """An unknown answer is wrong."""
    keys = np.array([LETTERS.index(asked.answer) for asked in matrix.questions], dtype=np.int8)
    return ScoredQuestions(question, unit, letters == keys[question], len(keys))
