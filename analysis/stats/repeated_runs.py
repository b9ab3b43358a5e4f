"""Several runs over the same questions: ranks, majority and best-scoring answers, questions answered differently."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, log2

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb as combs
from scipy.stats import rankdata

from analysis.stats.benchmark_runs import SPLITS, Letters, mean_interval
from analysis.stats.intervals import FEWEST_UNITS as FEWEST_REPEATS
from analysis.stats.intervals import Floats, Interval, Ints, clustered_share, interval_of_error, why_no_interval
from analysis.stats.item_measures import entropy
from analysis.stats.resampling import UNKNOWN

SIZES = (1, 3, 5, 10)  # numbers of runs taken together


@dataclass(frozen=True)
class RankFlips:
    """The `share` of pairs of a run and a published score whose order differs from that of the runs' mean.

    `best` and `worst` are the runs' ranks among the scores, 1 being above all, `rank` that of their mean. The interval
    is over units; None for one unit.
    """

    pairs: int
    flips: int
    share: float
    ci: Interval | None
    rank: int
    best: int
    worst: int


def rank_flips(scores: Floats, lines: Floats, units: NDArray[np.integer]) -> RankFlips | None:
    """Rank flips of runs among published scores; None without either. A run with the same score ranks above it."""
    if not (len(scores) and len(lines)):
        return None
    above, mean = lines[None] > scores[:, None], lines > scores.mean()
    flipped = above != mean
    of = np.unique(units, return_inverse=True)[1]
    hits = np.bincount(of, flipped.sum(axis=1))
    ci = clustered_share(hits, np.bincount(of) * float(len(lines)))
    ranks = 1 + above.sum(axis=1)
    found = int(flipped.sum())
    share = found / flipped.size
    return RankFlips(flipped.size, found, share, ci, 1 + int(mean.sum()), int(ranks.min()), int(ranks.max()))


@dataclass(frozen=True)
class Together:
    """Accuracy of the joint answer of `k` runs, and its `gain` over that of one run; intervals are over questions."""

    k: int
    accuracy: float
    ci: Interval | None
    gain: float
    ci_gain: Interval | None


def majorities(letters: Letters, key: NDArray[np.int8], rng: np.random.Generator) -> list[Together]:
    """Accuracy of the letter that most of k runs give, for each feasible k of SIZES, over all sets of k runs, or SPLITS
    random ones.

    Tied letters share the vote; UNKNOWN is no letter.
    """
    single, runs = (letters == key).mean(axis=0), len(letters)
    return [
        _together(k, single if k == 1 else _right_by_majority(letters, key, _sets(runs, k, rng)), single, runs)
        for k in _sizes(letters)
    ]


def best_of(letters: Letters, key: NDArray[np.int8], scores: Floats) -> list[Together]:
    """Accuracy of the answer with the highest of `scores` (runs, questions) among k runs, for each feasible k of SIZES,
    over all sets of k runs; tied answers are chosen equally often. -inf is no answer.

    An answer is chosen from comb(not above it, k) - comb(below it, k) of all sets, shared with those that equal it.
    """
    single, runs = (letters == key).mean(axis=0), len(letters)
    most, least = (rankdata(scores, method, axis=0) for method in ("max", "min"))
    found = []
    for k in _sizes(letters):
        chosen = (combs(most, k) - combs(least - 1, k)) / combs(runs, k) / (most - least + 1)
        found.append(_together(k, (chosen * (letters == key)).sum(axis=0), single, runs))
    return found


def _sizes(letters: Letters) -> list[int]:
    return [size for size in SIZES if size <= len(letters)] if letters.size else []


def _together(k: int, right: Floats, single: Floats, runs: int) -> Together:
    """From each question's share of right answers, and that of single runs."""
    ci, gain = clustered_share(right * runs, np.full(len(right), float(runs))), right - single
    return Together(k, float(right.mean()), ci, float(gain.mean()), mean_interval(gain, -1.0, 1.0))


def _sets(runs: int, k: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Which runs are in each set, shape (sets, runs)."""
    if comb(runs, k) <= SPLITS:
        chosen = np.array(list(combinations(range(runs), k)))
    else:
        chosen = rng.random((SPLITS, runs)).argsort(axis=1)[:, :k]
    found = np.zeros((len(chosen), runs), dtype=np.float32)
    np.put_along_axis(found, chosen, 1.0, axis=1)
    return found


def _right_by_majority(letters: Letters, key: NDArray[np.int8], sets: NDArray[np.float32]) -> Floats:
    """Share of sets whose majority is right, by question."""
    most = np.zeros((len(sets), letters.shape[1]), dtype=np.float32)
    given = [int(letter) for letter in np.unique(letters) if letter != UNKNOWN]
    for letter in given:
        np.maximum(most, sets @ (letters == letter), out=most)
    first = np.zeros_like(most)
    for letter in given:
        first += sets @ (letters == letter) == most
    votes = sets @ (letters == key).astype(np.float32)
    won = (votes == most) & (most > 0)
    return np.asarray((won / np.maximum(first, 1)).mean(axis=0), dtype=float)


@dataclass(frozen=True)
class Variability:
    """Entropy (bits) of the letters that repeats give to one question; None if none gives any."""

    entropy: float | None
    ci: Interval | None
    ci_why: str | None


def variabilities(counts: Ints, unknown: Ints, options: Sequence[int]) -> list[Variability]:
    """Variability from counts of each letter, shape (questions, letters); intervals leave out each repeat in turn."""
    bits, m = entropy(counts), counts.sum(axis=1) + unknown
    errors = _errors(counts, unknown, bits, m)
    return [
        _variability(float(value), float(error), int(units), most)
        for value, error, units, most in zip(bits, errors, m, options, strict=True)
    ]


def _variability(value: float, error: float, units: int, options: int) -> Variability:
    if np.isnan(value):
        return Variability(None, None, None)
    known = None if np.isnan(error) or units < FEWEST_REPEATS else error
    ci = interval_of_error(value, known, units - 1, 0.0, log2(max(2, options)))
    return Variability(value, ci, why_no_interval(ci, units))


def _errors(counts: Ints, unknown: Ints, bits: Floats, m: Ints) -> Floats:
    """sqrt((m - 1)/m Σ (v - mean)²) of the entropies v without each repeat; repeats with equal letters have equal v."""
    left = np.stack([*_without_each(counts), bits], axis=1)
    times = np.column_stack([counts, unknown])
    left = np.where(times > 0, left, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (times * left).sum(axis=1) / m
        return np.asarray(np.sqrt((m - 1) / m * (times * np.square(left - mean[:, None])).sum(axis=1)))


def _without_each(counts: Ints) -> Iterator[Floats]:
    for letter in range(counts.shape[1]):
        less = counts.copy()
        less[:, letter] = np.maximum(less[:, letter] - 1, 0)
        yield entropy(less)
