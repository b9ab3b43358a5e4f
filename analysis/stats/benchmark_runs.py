"""Benchmark scores over runs: accuracy and its range, the range of mere repeats, letters nobody gave before."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import Interval, interval, share_interval
from analysis.stats.resampling import DRAWS, UNKNOWN, p_value

NO_RUNS = "There are no runs."
ONE_RUN = "One run alone has no spread."
FEW_REPEATS = "A noise floor needs at least two repeats of one context."
NO_QUESTIONS = "There are no questions."

Letters = NDArray[np.int8]


@dataclass(frozen=True)
class RunScores:
    """Accuracy of each run (one repeat, or one simulated user) and over runs; None where undefined, `why` says so.

    Unknown answers count as wrong. `upper` is the accuracy of each run if its unknown answers were all right; if they
    were all wrong it is `accuracy` itself. `ci` is the percentile bootstrap interval of the mean over runs, `sd` the
    standard deviation over runs (n - 1 in the denominator), `bounds` the mean if all unknown were wrong, and right.
    """

    runs: int
    questions: int
    accuracy: NDArray[np.float64]
    upper: NDArray[np.float64]
    unknown: NDArray[np.float64]
    minimum: float | None
    maximum: float | None
    mean: float | None
    ci: Interval | None
    sd: float | None
    range: float | None
    bounds: Interval | None
    unknown_share: float | None
    why: str | None


@dataclass(frozen=True)
class NoiseFloor:
    """The range, maximum minus minimum accuracy, that `runs` repeats of one context have when nothing else differs.

    `ci` holds 95 of 100 such ranges; `low` and `high` are the minimum and maximum accuracy to expect, `p` the chance of
    a range at least as large as the one observed, when one was given.
    """

    runs: int
    range: float | None
    ci: Interval | None
    low: float | None
    high: float | None
    p: float | None
    why: str | None


@dataclass(frozen=True)
class NovelShare:
    """Share of `questions` on which a sock puppet gives a letter that no offline run gives, with interval."""

    questions: int
    novel: int
    share: float | None
    ci: Interval | None
    why: str | None


def describe(letters: Letters, key: NDArray[np.int8], rng: np.random.Generator, draws: int = DRAWS) -> RunScores:
    """Scores of answers (runs, questions), UNKNOWN where there is no letter, against the key (questions,).

    ValueError when the shapes don't fit.
    """
    runs, questions = _shape(letters, key)
    correct, unknown = (letters == key).sum(axis=1), (letters == UNKNOWN).sum(axis=1)
    accuracy, missing = correct / max(1, questions), unknown / max(1, questions)
    if not (runs and questions):
        why = NO_QUESTIONS if runs else NO_RUNS
        return RunScores(
            runs, questions, accuracy, accuracy, missing, None, None, None, None, None, None, None, None, why
        )
    return RunScores(
        runs=runs,
        questions=questions,
        accuracy=accuracy,
        upper=accuracy + missing,
        unknown=missing,
        minimum=float(accuracy.min()),
        maximum=float(accuracy.max()),
        mean=float(accuracy.mean()),
        ci=interval(accuracy[rng.integers(0, runs, (draws, runs))].mean(axis=1)) if runs > 1 else None,
        sd=float(accuracy.std(ddof=1)) if runs > 1 else None,
        range=float(np.ptp(accuracy)) if runs > 1 else None,
        bounds=(float(accuracy.mean()), float((accuracy + missing).mean())),
        unknown_share=float(missing.mean()),
        why=None if runs > 1 else ONE_RUN,
    )


def overlap(offline: Interval, other: Interval) -> bool:
    """Whether two ranges (minimum, maximum) have a point in common."""
    return max(offline[0], other[0]) <= min(offline[1], other[1])


def noise_floor(
    letters: Letters,
    key: NDArray[np.int8],
    runs: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
    observed: float | None = None,
) -> NoiseFloor:
    """The range to expect of `runs` repeats of the one context whose repeats are given, shape (repeats, questions).

    Calls know nothing of each other, so a further run answers question j rightly with the share p_j of repeats that
    did, independently of its other answers; its correct answers have the distribution of a sum of such draws
    (Poisson-binomial, by convolution). Of it the minimum and maximum of `runs` runs are drawn. Since p_j comes from R
    repeats, Σ p_j (1 - p_j) is too small by (R - 1)/R on average; deviations from the mean are enlarged by
    sqrt(R / (R - 1)). ValueError when the shapes don't fit or `runs` is below 2.
    """
    repeats, questions = _shape(letters, key)
    if runs < 2:
        raise ValueError("A range needs at least two runs.")
    if repeats < 2 or not questions:
        return NoiseFloor(runs, None, None, None, None, None, FEW_REPEATS if questions else NO_QUESTIONS)
    chances = (letters == key).mean(axis=0)
    stretch = (repeats / (repeats - 1)) ** 0.5 / questions
    low, high = ((part - chances.sum()) * stretch + chances.mean() for part in _extremes(chances, runs, rng, draws))
    ranges = high - low
    return NoiseFloor(
        runs=runs,
        range=float(ranges.mean()),
        ci=interval(ranges),
        low=max(0.0, float(low.mean())),
        high=min(1.0, float(high.mean())),
        p=None if observed is None else p_value(observed, ranges),
        why=None,
    )


def novel_share(offline: Letters, puppets: Letters) -> NovelShare:
    """Share of questions with a letter from a puppet run (runs, questions) that no run of `offline` gives.

    UNKNOWN is no letter. Interval: Wilson's, over questions. ValueError when the two were asked different numbers of
    questions.
    """
    if offline.shape[1] != puppets.shape[1]:
        raise ValueError(f"{offline.shape[1]} and {puppets.shape[1]} questions: both must have answered the same ones.")
    questions = offline.shape[1]
    if not (questions and len(offline) and len(puppets)):
        return NovelShare(questions, 0, None, None, NO_RUNS if questions else NO_QUESTIONS)
    known = [letter for letter in np.unique(puppets) if letter != UNKNOWN]
    new = [(puppets == letter).any(axis=0) & ~(offline == letter).any(axis=0) for letter in known]
    novel = int(np.count_nonzero(np.any(new, axis=0))) if new else 0
    return NovelShare(questions, novel, novel / questions, share_interval(novel, questions), None)


def _shape(letters: Letters, key: NDArray[np.int8]) -> tuple[int, int]:
    if letters.ndim != 2 or key.shape != letters.shape[1:]:
        raise ValueError(f"Answers of shape {letters.shape} don't fit a key of shape {key.shape}.")
    if np.any(key < 0):
        raise ValueError("The key has a question without an answer.")
    return letters.shape[0], letters.shape[1]


def _extremes(
    chances: NDArray[np.float64], runs: int, rng: np.random.Generator, draws: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fewest and most correct answers among `runs` runs, drawn `draws` times.

    The largest of k uniform numbers is U^(1/k); below it the others are uniform, so that the smallest is one minus the
    largest of k - 1.
    """
    most = rng.random(draws) ** (1 / runs)
    least = most * (1 - rng.random(draws) ** (1 / (runs - 1)))
    below = np.cumsum(_correct_distribution(chances))[:-1]
    return np.searchsorted(below, least), np.searchsorted(below, most)


def _correct_distribution(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(k answers right) for k = 0 … questions, when question j is right with probability chances[j]."""
    found = np.ones(1)
    for chance in chances:
        found = np.convolve(found, [1 - chance, chance])
    return found
