"""Scores over units: rank correlation, accuracy within a step, paired differences, percentiles of waiting times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.intervals import (
    FEWEST_UNITS,
    Floats,
    Interval,
    Ints,
    TestedDifference,
    clustered_shares,
    interval_of_error,
    p_value,
    percentile_interval,
    redrawn_interval,
    share_interval,
    why_no_interval,
)
from analysis.stats.resampling import DRAWS, batches, bootstrap_weights

FEW = "A rank correlation needs at least three pairs."
CONSTANT = "All values of one side are the same."
NOTHING = "There is nothing to count."


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho and Kendall's tau-b over `n` pairs, with bootstrap intervals over pairs, or why there are none."""

    n: int
    spearman: float | None
    kendall: float | None
    ci_spearman: Interval | None
    ci_kendall: Interval | None
    ci_why: str | None
    why: str | None


@dataclass(frozen=True)
class Accuracy:
    """Share of `n` labels of `units` units that are right, and that are at most `within` steps off; unknown labels
    count as wrong.
    """

    n: int
    units: int
    unknown: int
    within: int
    exact: float | None
    ci_exact: Interval | None
    near: float | None
    ci_near: Interval | None
    why: str | None


@dataclass(frozen=True, kw_only=True)
class PairedDifference(TestedDifference):
    """Mean of variant minus original over `n` pairs of `units` units."""

    n: int
    units: int
    original: float | None = None
    variant: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class Percentile:
    """The value below which `share` of `n` values lie."""

    n: int
    share: float
    value: float | None
    ci: Interval | None


def rank_correlation(x: ArrayLike, y: ArrayLike, rng: np.random.Generator, draws: int = DRAWS) -> RankCorrelation:
    """Correlate the ranks of x and y, shape (n,); leaves out pairs in which one is NaN.

    Spearman: Pearson's correlation of mid-ranks. Kendall's tau-b: (concordant - discordant) / sqrt(pairs not tied in x
    times pairs not tied in y). Draws in which one side is constant are undefined; if they are more than one in twenty,
    as with very few pairs, there is no interval. Holds all n² pairs: for some thousand units at most.
    """
    left, right = _complete(x, y)
    n = len(left)
    if n < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return RankCorrelation(n, None, None, None, None, None, FEW if n < 3 else CONSTANT)
    rho, tau = correlations_of_draws(left, right, np.ones((n, 1)))
    parts = [correlations_of_draws(left, right, bootstrap_weights(n, batch, rng)) for batch in batches(draws, n)]
    drawn_rho, drawn_tau = (np.concatenate(part) for part in zip(*parts, strict=True))
    found, drawn = (float(rho[0]), float(tau[0])), (drawn_rho, drawn_tau)
    one, other = (redrawn_interval(some, value, n, -1.0, 1.0) for some, value in zip(drawn, found, strict=True))
    return RankCorrelation(n, *found, one, other, why_no_interval(one, n, drawn_rho), None)


def accuracy_within(labels: ArrayLike, key: ArrayLike, within: int = 1, units: ArrayLike | None = None) -> Accuracy:
    """Measure ordinal labels (n,) against the key (n,), both steps of a scale; a NaN label is unknown.

    Intervals: Wilson's, in its clustered form if some of the `units` (n,), given by any numbers, have several labels.
    """
    steps = np.abs(np.asarray(labels, dtype=float) - np.asarray(key, dtype=float))
    n, unknown = len(steps), int(np.count_nonzero(np.isnan(steps)))
    if not n:
        return Accuracy(0, 0, 0, within, None, None, None, None, NOTHING)
    of = np.arange(n) if units is None else np.unique(np.asarray(units), return_inverse=True)[1]
    hits = np.stack([steps == 0, steps <= within])
    sizes, (exact, near) = np.bincount(of), (int(found) for found in hits.sum(axis=1))
    if len(sizes) == n > 1:
        cis = share_interval(exact, n), share_interval(near, n)
    else:
        lows, highs = clustered_shares(np.stack([np.bincount(of, each) for each in hits]), sizes)
        one, other = (None if len(sizes) < 2 else (float(lows[k]), float(highs[k])) for k in (0, 1))
        cis = one, other
    return Accuracy(n, len(sizes), unknown, within, exact / n, cis[0], near / n, cis[1], None)


def paired_difference(
    original: ArrayLike,
    variant: ArrayLike,
    rng: np.random.Generator,
    draws: int = DRAWS,
    units: ArrayLike | None = None,
) -> PairedDifference:
    """Score of a variant minus that of the original, pair by pair (n,), such as a person's answers to a prompt and to
    its wording with typos.

    Leaves out pairs in which one is NaN; `units` groups pairs by any numbers (default: each pair is its own unit).
    Interval: mean ± t times the ratio estimator's standard error over units. p: two-sided; if the two were alike, a
    unit's differences would be as likely with the other sign, so signs are drawn at random. p = (1 + hits) / (1 +
    draws).
    """
    before, after = _complete(original, variant)
    known = ~np.isnan(np.asarray(original, dtype=float) - np.asarray(variant, dtype=float))
    n = len(before)
    if not n:
        return PairedDifference(n=0, units=0, why=NOTHING)
    change = after - before
    of = np.arange(n) if units is None else np.unique(np.asarray(units)[known], return_inverse=True)[1]
    sums, sizes = np.bincount(of, change).astype(float), np.bincount(of)
    effect, count = float(change.mean()), len(sizes)
    ci = interval_of_error(effect, _ratio_error(sums, sizes) if count >= FEWEST_UNITS else None, count - 1)
    return PairedDifference(
        n=n,
        units=count,
        original=float(before.mean()),
        variant=float(after.mean()),
        effect=effect,
        ci=ci,
        ci_why=why_no_interval(ci, count),
        p=p_value(abs(effect), np.abs(_flipped_means(sums, n, rng, draws))),
    )


def percentiles(values: ArrayLike, shares: Sequence[float] = (0.5, 0.95)) -> list[Percentile]:
    """Percentiles of values such as seconds of waiting, shape (n,), by linear interpolation; leaves out NaN.

    Intervals: exact, between two of the values; None if there are too few values for one.
    """
    numbers = np.sort(np.asarray(values, dtype=float))
    known = numbers[~np.isnan(numbers)]
    return [_percentile(known, share) for share in shares]


def _percentile(ordered: Floats, share: float) -> Percentile:
    value = float(np.quantile(ordered, share)) if len(ordered) else None
    return Percentile(len(ordered), share, value, percentile_interval(ordered, share))


def _complete(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    left, right = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError(f"Values of shapes {left.shape} and {right.shape} are not pairs.")
    known = ~(np.isnan(left) | np.isnan(right))
    return left[known], right[known]


def correlations_of_draws(x: Floats, y: Floats, weights: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Spearman and Kendall for each column of weights (n, draws), in which unit i counts weights[i] times."""
    signs_x, signs_y = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
    return _spearman(signs_x, signs_y, weights), _kendall(signs_x, signs_y, weights)


def _spearman(signs_x: Floats, signs_y: Floats, weights: NDArray[np.floating]) -> Floats:
    """A unit's rank, up to a constant and a factor, is the number of units below it minus that of units above it.

    The mean of these over all units is 0.
    """
    rank_x, rank_y = signs_x @ weights, signs_y @ weights
    return _ratio(
        (weights * rank_x * rank_y).sum(axis=0), (weights * rank_x**2).sum(axis=0), (weights * rank_y**2).sum(axis=0)
    )


def _kendall(signs_x: Floats, signs_y: Floats, weights: NDArray[np.floating]) -> Floats:
    agreeing, untied_x, untied_y = (
        (weights * (signs @ weights)).sum(axis=0) for signs in (signs_x * signs_y, signs_x**2, signs_y**2)
    )
    return _ratio(agreeing, untied_x, untied_y)


def _ratio(joint: Floats, x: Floats, y: Floats) -> Floats:
    """joint / sqrt(x y), NaN if one side does not vary."""
    scale = np.sqrt(x * y)
    return np.divide(joint, scale, out=np.full_like(joint, np.nan), where=scale > 0)


def _ratio_error(sums: Floats, sizes: Ints) -> float:
    """Standard error of Σ sums / Σ sizes over units."""
    m, n = len(sizes), sizes.sum()
    off = sums - sums.sum() / n * sizes
    return float(np.sqrt(m / (m - 1) * (off @ off)) / n)


def _flipped_means(sums: Floats, n: int, rng: np.random.Generator, draws: int) -> Floats:
    """Means of n differences with a random sign for each unit's sum, shape (draws,)."""
    signs = np.array([-1.0, 1.0])
    return np.concatenate([sums @ rng.choice(signs, (len(sums), batch)) / n for batch in batches(draws, len(sums))])
