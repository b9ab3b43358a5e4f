"""How often the field's accuracy on a benchmark is estimated rightly from people who are asked six questions each.

    python -m benchmarks.field_benchmark [--studies 400]

Worlds of 514 questions whose accuracies are known, and of people who differ in ability or not: with enough answers for
every question, with one chatbot of two, and with too few people for all questions. Needs no database.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

from analysis.stats.persons.numbers import ScoredQuestions, accuracy, difference

SIZE, EACH = 514, 6
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Questions whose accuracies follow this Beta distribution, and people whose log odds differ by `ability`."""

    hard: float = 0.6
    easy: float = 0.25
    ability: float = 0.0

    def odds(self, rng: np.random.Generator) -> Floats:
        """Draw the (SIZE,) log odds of a right answer."""
        p = np.clip(rng.beta(self.hard, self.easy, SIZE), 0.001, 0.999)
        return np.log(p / (1 - p))

    def truth(self, odds: Floats) -> float:
        """Compute the mean accuracy over questions and people."""
        nodes, weights = hermegauss(41)
        right = 1 / (1 + np.exp(-(odds[:, None] + self.ability * nodes)))
        return float((right @ (weights / weights.sum())).mean())

    def study(self, odds: Floats, people: int, rng: np.random.Generator, of_two: bool = False) -> ScoredQuestions:
        """Draw people's answers; `of_two` keeps only a random half of the people, who use one of two chatbots."""
        order, who = rng.permutation(len(odds)), np.repeat(np.arange(people), EACH)
        question = order[np.arange(people * EACH) % len(odds)]
        ability = rng.normal(0, 1, people) * self.ability
        right = rng.random(len(who)) < 1 / (1 + np.exp(-(odds[question] + ability[who])))
        kept = (rng.random(people) < 0.5)[who] if of_two else np.ones(len(who), dtype=bool)
        return ScoredQuestions(question[kept], who[kept], right[kept], len(odds))

    def runs(self, odds: Floats, repeats: int, rng: np.random.Generator) -> ScoredQuestions:
        right = rng.random((repeats, len(odds))) < 1 / (1 + np.exp(-odds))
        question, unit = np.tile(np.arange(len(odds)), repeats), np.repeat(np.arange(repeats), len(odds))
        return ScoredQuestions(question, unit, right.ravel(), len(odds))


def coverage(world: World, people: int, studies: int, of_two: bool = False) -> tuple[float, float, float, float]:
    """Return how often the intervals of the accuracy and of its difference from ten runs hold the truth, how far the
    mean is off, and half the interval's width.
    """
    odds = world.odds(np.random.default_rng(7))
    truth, of_runs = world.truth(odds), float((1 / (1 + np.exp(-odds))).mean())
    held, held_difference, values, halves = [], [], [], []
    for study in range(studies):
        rng = np.random.default_rng([study, people])
        field, runs = world.study(odds, people, rng, of_two), world.runs(odds, 10, rng)
        found, beside = accuracy(field), difference(field, runs)
        assert found.value is not None and found.ci is not None and beside.ci is not None
        held.append(found.ci[0] <= truth <= found.ci[1])
        held_difference.append(beside.ci[0] <= truth - of_runs <= beside.ci[1])
        values.append(found.value)
        halves.append((found.ci[1] - found.ci[0]) / 2)
    return float(np.mean(held)), float(np.mean(held_difference)), float(np.mean(values)) - truth, float(np.mean(halves))


def lines(studies: int) -> Iterator[str]:
    for ability in (0.0, 0.5, 1.0):
        for words, hard, easy in (("most right or wrong", 0.6, 0.25), ("hard and easy", 3.0, 2.0)):
            for people, of_two in ((200, False), (400, True), (50, False), (20, False)):
                held, beside, off, half = coverage(World(hard, easy, ability), people, studies, of_two)
                yield (
                    f"{words}, ability {ability}, {people} people{' of two chatbots' * of_two}: intervals hold the "
                    f"accuracy in {held:.3f}, the difference in {beside:.3f}; off by {off:+.4f}; ± {half:.3f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400)
    for line in lines(parser.parse_args().studies):
        print(line, flush=True)


if __name__ == "__main__":
    main()
