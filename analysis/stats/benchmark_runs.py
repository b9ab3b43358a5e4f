"""Benchmark scores over runs: accuracy and its range, the range of mere repeats, agreement of letters, and novel
letters beside those that as many repeats would give.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import (
    NO_WIDTH,
    Bools,
    Floats,
    Interval,
    Ints,
    clustered_share,
    interval,
    p_value,
    share_interval,
    t_quantile,
)
from analysis.stats.resampling import DRAWS, UNKNOWN, batches

NO_RUNS = "There are no runs."
ONE_RUN = "One run alone has no spread."
FEW_REPEATS = "A noise floor needs at least two repeats of one context."
NO_QUESTIONS = "There are no questions."
FEWEST = 3  # units for an interval of their mean
FEW_UNITS = f"An interval over runs needs {FEWEST} of them, each of another simulated user or repeat."
ALL_ALIKE = "All runs score alike: they do not show how far others would lie from them."
FEW_QUESTIONS = f"An interval over questions needs {FEWEST} of them."
QUESTIONS_ALIKE = "All questions have the same value: that shows no spread."
ONE_OFFLINE = "What chance gives takes two offline runs at temperature 1: one to compare with, one held out."
SPLITS = 500

Letters = NDArray[np.int8]


@dataclass(frozen=True)
class RunScores:
    """Accuracy of each run (one repeat, or one simulated user) and over runs; None if undefined, and `why` says so.

    Unknown answers count as wrong. `upper` is each run's accuracy if its unknown answers were all right; if all were
    wrong it is `accuracy` itself. `ci`, of the mean over the runs' `units`, tells whether these runs are typical;
    `ci_why` gives the reason if there is none. `ci_questions`, over questions, tells whether this benchmark is typical.
    `sd` is the standard deviation over runs (n - 1 in the denominator), `bounds` the mean if all unknown answers were
    wrong, and right.
    """

    runs: int
    questions: int
    accuracy: Floats
    upper: Floats
    unknown: Floats
    minimum: float | None
    maximum: float | None
    mean: float | None
    units: int
    ci: Interval | None
    ci_why: str | None
    ci_questions: Interval | None
    sd: float | None
    range: float | None
    bounds: Interval | None
    unknown_share: float | None
    why: str | None


@dataclass(frozen=True)
class NoiseFloor:
    """The range, maximum minus minimum accuracy, of `runs` repeats of one context in which nothing else differs.

    `ci` contains 95 of 100 such ranges; `low` and `high` are the expected minimum and maximum accuracy, and `p` is the
    chance of a range at least as large as the observed one, if one was given.
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
    """Share of `questions` on which a sock puppet gives a letter that no offline run gives, with its interval."""

    questions: int
    novel: int
    share: float | None
    ci: Interval | None
    why: str | None


@dataclass(frozen=True)
class NovelExcess:
    """Novel letters of puppets beside those of as many offline runs, `runs` each, against `reference` offline runs.

    `chance` is the share of questions on which held-out offline runs give a letter that the reference lacks, `excess`
    the puppets' share minus it; both are means over random splits. `ci` is over questions.
    """

    runs: int
    reference: int
    chance: float | None
    excess: float | None
    ci: Interval | None
    why: str | None


@dataclass(frozen=True)
class RunSpread:
    """How far the runs' known letters lie apart: the share of `unanimous` questions, on which all runs give the same
    letter, and the mean number of `distinct` letters per question; intervals over questions.

    None for fewer than two runs, since a run agrees with itself, and without questions.
    """

    unanimous: float | None
    ci_unanimous: Interval | None
    distinct: float | None
    ci_distinct: Interval | None


def mean_interval(
    values: Floats, least: float = -np.inf, most: float = np.inf, units: NDArray[np.integer] | None = None
) -> Interval | None:
    """Interval of a mean: mean ± t √v with v = m/(m - 1) Σ_u (Σ_{i in u} (x_i - mean) / n)² over m independent units.

    Each value is its own unit, so that v = sd²/m, unless `units` groups them by any numbers. None for fewer than FEWEST
    units, or if all values are alike: then they don't show how far others would lie.
    """
    mean = float(values.sum()) / max(1, len(values))
    of = np.arange(len(values)) if units is None else np.unique(units, return_inverse=True)[1]
    parts = np.bincount(of, (values - mean) / max(1, len(values)))
    if (m := len(parts)) < FEWEST or np.ptp(values) < NO_WIDTH:
        return None
    half = float(t_quantile(m - 1)) * (m / (m - 1) * float(parts @ parts)) ** 0.5
    return max(mean - half, least), min(mean + half, most)


def describe(letters: Letters, key: NDArray[np.int8], units: NDArray[np.integer] | None = None) -> RunScores:
    """Scores of answers (runs, questions), UNKNOWN if there is no letter, against the key (questions,).

    `units` groups the runs of one simulated user by any numbers; None: each run is its own unit. Raises ValueError if
    the shapes don't fit or the key lacks an answer.
    """
    runs, questions = _shape(letters, key)
    right = letters == key
    correct, unknown = right.sum(axis=1), (letters == UNKNOWN).sum(axis=1)
    accuracy, missing = correct / max(1, questions), unknown / max(1, questions)
    of = len(accuracy if units is None else np.unique(units))
    if not (runs and questions):
        why, nothing = NO_QUESTIONS if runs else NO_RUNS, (None,) * 3
        return RunScores(runs, questions, accuracy, accuracy, missing, *nothing, of, *nothing, *nothing, None, why)
    ci = mean_interval(accuracy, 0.0, 1.0, units)
    return RunScores(
        runs=runs,
        questions=questions,
        accuracy=accuracy,
        upper=accuracy + missing,
        unknown=missing,
        minimum=float(accuracy.min()),
        maximum=float(accuracy.max()),
        mean=float(accuracy.mean()),
        units=of,
        ci=ci,
        ci_why=None if ci else ALL_ALIKE if of >= FEWEST else FEW_UNITS,
        ci_questions=over_questions(right),
        sd=float(accuracy.std(ddof=1)) if runs > 1 else None,
        range=float(np.ptp(accuracy)) if runs > 1 else None,
        bounds=(float(accuracy.mean()), float((accuracy + missing).mean())),
        unknown_share=float(missing.mean()),
        why=None if runs > 1 else ONE_RUN,
    )


def over_questions(right: Bools) -> Interval | None:
    """Interval of the mean accuracy over questions, from `right` (runs, questions); None below FEWEST of them."""
    runs, questions = right.shape
    found = clustered_share(right.sum(axis=0).astype(float), np.full(questions, float(runs)))
    return found if questions >= FEWEST else None


def why_not_over_questions(found: Interval | None, questions: int) -> str | None:
    """Why a mean over questions has no interval; None if it has one."""
    return None if found else FEW_QUESTIONS if questions < FEWEST else QUESTIONS_ALIKE


def overlap(offline: Interval, other: Interval) -> bool:
    """Whether two ranges (minimum, maximum) have a point in common."""
    return max(offline[0], other[0]) <= min(offline[1], other[1])


def chance_apart(one: int, other: int) -> float:
    """Greatest chance that the ranges of this many runs of one kind have no point in common: 2 m! n! / (m + n)!."""
    return 2 / comb(one + other, one)


def noise_floor(
    letters: Letters,
    key: NDArray[np.int8],
    runs: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
    observed: float | None = None,
) -> NoiseFloor:
    """The range to expect of `runs` repeats of one context, given some of its repeats, shape (repeats, questions).

    Calls know nothing of each other, so a further run answers question j correctly with probability p_j, the share of
    repeats that did, independently of its other answers; its number of correct answers is a sum of such draws
    (Poisson-binomial, by convolution). The minimum and maximum of `runs` runs are drawn from this distribution. Since
    p_j comes from R repeats, Σ p_j (1 - p_j) is too small by the factor (R - 1)/R on average; deviations from the mean
    are enlarged by sqrt(R / (R - 1)). Raises ValueError if the shapes don't fit or `runs` is below 2.
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
    """Share of questions on which a puppet run (runs, questions) gives a letter that no run of `offline` gives.

    UNKNOWN is no letter. Interval: Wilson's, over questions. Raises ValueError if the numbers of questions differ.
    """
    questions = _same_questions(offline, puppets)
    if not (questions and len(offline) and len(puppets)):
        return NovelShare(questions, 0, None, None, NO_RUNS if questions else NO_QUESTIONS)
    new = [(puppets == letter).any(axis=0) & ~(offline == letter).any(axis=0) for letter in _known(puppets)]
    novel = int(np.count_nonzero(np.any(new, axis=0))) if new else 0
    return NovelShare(questions, novel, novel / questions, share_interval(novel, questions), None)


def novel_excess(
    offline: Letters,
    puppets: Letters,
    rng: np.random.Generator,
    units: NDArray[np.integer] | None = None,
    splits: int = SPLITS,
) -> NovelExcess:
    """How much more often puppets give a novel letter than as many further offline runs would.

    With R offline runs (R, questions) and P simulated users in the puppet runs (runs, questions), each split holds out
    s = min(P, R // 2) offline runs at random, keeps the other R - s as the reference, and draws s users with one run
    each (`units` as in `describe`). If puppets answer as offline runs do, both shares are equal on average. Raises
    ValueError if the numbers of questions differ.
    """
    questions = _same_questions(offline, puppets)
    of = np.arange(len(puppets)) if units is None else np.unique(units, return_inverse=True)[1]
    users = int(of.max(initial=-1)) + 1
    runs = min(users, len(offline) // 2)
    if not (questions and runs):
        why = NO_QUESTIONS if not questions else ONE_OFFLINE if users else NO_RUNS
        return NovelExcess(runs, len(offline) - runs, None, None, None, why)
    chance, more = np.zeros(questions), np.zeros(questions)
    for batch in batches(splits, questions):
        held = _chosen(batch, len(offline), runs, rng)
        drawn = _one_each(_chosen(batch, users, runs, rng), of, rng)
        new, newer = _new_letters(offline, puppets, held, drawn)
        chance += new.sum(axis=0)
        more += newer.sum(axis=0) - new.sum(axis=0, dtype=float)
    excess, share = more / splits, float(chance.mean()) / splits
    found = mean_interval(excess, -1.0, 1.0)
    return NovelExcess(runs, len(offline) - runs, share, float(excess.mean()), found, None)


def _new_letters(offline: Letters, puppets: Letters, held: Bools, drawn: Bools) -> tuple[Bools, Bools]:
    """Whether a held-out offline run, and whether a drawn puppet run, gives a letter that the other offline runs lack;
    shapes (splits, questions). The masks `held` and `drawn` are of shape (splits, runs).
    """
    new = np.zeros((len(held), offline.shape[1]), dtype=bool)
    newer = new.copy()
    for letter in _known(np.concatenate([offline, puppets])):
        theirs, mine = ((part == letter).astype(np.float32) for part in (offline, puppets))
        lacks = ~held @ theirs == 0
        new |= lacks & (held @ theirs > 0)
        newer |= lacks & (drawn @ mine > 0)
    return new, newer


def spread(letters: Letters) -> RunSpread:
    """How far the letters (runs, questions) lie apart; UNKNOWN is no letter, so it agrees with none."""
    runs, questions = letters.shape
    if runs < 2 or not questions:
        return RunSpread(None, None, None, None)
    distinct = np.zeros(questions)
    for letter in _known(letters):
        distinct += (letters == letter).any(axis=0)
    agreed = int(((letters == letters[0]).all(axis=0) & (letters[0] != UNKNOWN)).sum())
    return RunSpread(
        agreed / questions, share_interval(agreed, questions), float(distinct.mean()), mean_interval(distinct, 0.0)
    )


def _same_questions(offline: Letters, puppets: Letters) -> int:
    if offline.shape[1] != puppets.shape[1]:
        raise ValueError(f"{offline.shape[1]} and {puppets.shape[1]} questions: both must have answered the same ones.")
    return int(offline.shape[1])


def _known(letters: Letters) -> list[int]:
    return [int(letter) for letter in np.unique(letters) if letter != UNKNOWN]


def _chosen(draws: int, n: int, size: int, rng: np.random.Generator) -> Bools:
    """Random subsets of `size` of n, shape (draws, n)."""
    places = rng.random((draws, n)).argsort(axis=1).argsort(axis=1)
    return places < size


def _one_each(users: Bools, of: NDArray[np.intp], rng: np.random.Generator) -> Bools:
    """One random run of each chosen user, users (draws, users), as a mask (draws, runs); `of` is each run's user."""
    order = rng.random((len(users), len(of)))
    first = np.full(users.shape, np.inf)
    for run, user in enumerate(of):
        first[:, user] = np.minimum(first[:, user], order[:, run])
    return (order == first[:, of]) & users[:, of]


def _shape(letters: Letters, key: NDArray[np.int8]) -> tuple[int, int]:
    if letters.ndim != 2 or key.shape != letters.shape[1:]:
        raise ValueError(f"Answers of shape {letters.shape} don't fit a key of shape {key.shape}.")
    if np.any(key < 0):
        raise ValueError("The key has a question without an answer.")
    return letters.shape[0], letters.shape[1]


def _extremes(chances: Floats, runs: int, rng: np.random.Generator, draws: int) -> tuple[Ints, Ints]:
    """Fewest and most correct answers among `runs` runs, drawn `draws` times.

    The largest of k uniform numbers is U^(1/k); below it the others are uniform, so the smallest, as a share of it, is
    one minus the largest of k - 1.
    """
    most = rng.random(draws) ** (1 / runs)
    least = most * (1 - rng.random(draws) ** (1 / (runs - 1)))
    below = np.cumsum(_correct_distribution(chances))[:-1]
    return np.searchsorted(below, least), np.searchsorted(below, most)


def _correct_distribution(chances: Floats) -> Floats:
    """P(k answers right) for k = 0 … questions, if question j is right with probability chances[j]."""
    found = np.ones(1)
    for chance in chances:
        found = np.convolve(found, [1 - chance, chance])
    return found
