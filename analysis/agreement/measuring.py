"""What numbers of agreement are made with: the labels that were chosen, and the draws of the bootstrap."""

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from analysis.agreement.annotations import EVERYTHING, LabelChoice, QuestionLabels
from analysis.stats.agreement.agreement import THRESHOLD, Agreement, measure_agreement
from analysis.stats.agreement.labels import Labels, Scale
from analysis.stats.resampling import generator
from surveys.models import Study

DRAWS = 1000


@dataclass(frozen=True)
class Measuring:
    """`threshold`: items that a pair must share to count in a mean. `in_parts`: with the parts of the labels and what
    stands beside them, which a gate is not about: without, the same numbers take much less time.
    """

    study: Study
    choice: LabelChoice = EVERYTHING
    seed: int = 0
    draws: int = DRAWS
    threshold: int = THRESHOLD
    in_parts: bool = True

    @property
    def settings(self) -> list[Any]:
        return [*astuple(self.choice), self.seed, self.draws, self.threshold]

    def rng(self, asked: QuestionLabels, *names: str) -> np.random.Generator:
        return generator(self.seed, self.study.slug, asked.question.name, *names)

    def measure(self, labels: Labels, scale: Scale, rng: np.random.Generator, positive: int | None = None) -> Agreement:
        return measure_agreement(labels, rng, scale, self.threshold, self.draws, positive)
