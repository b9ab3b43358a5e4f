"""Means over persons with their values without each person, so that differences and ratios have intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.stats.intervals import (
    FEWEST_UNITS,
    Bools,
    Floats,
    Interval,
    Ints,
    interval_of_error,
    jackknife_error,
    why_no_interval,
)

NO_PAIRS = "No two answers to compare."


@dataclass(frozen=True, eq=False)
class Jackknifed:
    """A statistic of persons: its `value`, its value without each of them (persons,), and on whom it rests.

    Over several prompts a person is left out of all at once, so the error is over persons, whatever their answers to
    different prompts have in common.
    """

    value: float
    left_out: Floats
    rests_on: Bools

    @property
    def units(self) -> int:
        return int(np.count_nonzero(self.rests_on))

    @property
    def error(self) -> float:
        """Standard error, from leaving out each person in turn (Tukey 1958, Ann. Math. Stat. 29:614)."""
        if self.units < 2:
            return np.nan
        return float(jackknife_error(np.array([self.value]), self.left_out[None], self.units)[0])


@dataclass(frozen=True)
class PersonEstimate:
    """A number with its 95 % interval over `units` persons; `why` it is undefined or has no interval."""

    value: float | None
    ci: Interval | None
    units: int
    error: float | None = None
    freedom: float = 0.0
    why: str | None = None


def mean_of(who: Ints, values: Floats, persons: int) -> Jackknifed:
    """Mean of one value per person, without persons whose value is NaN."""
    known = ~np.isnan(values)
    rests_on = np.zeros(persons, dtype=bool)
    rests_on[who[known]] = True
    n, total = int(known.sum()), float(values[known].sum())
    value = total / n if n else np.nan
    left_out = np.full(persons, value)
    if n:
        left_out[who[known]] = (total - values[known]) / (n - 1) if n > 1 else np.nan
    return Jackknifed(value, left_out, rests_on)


def mean_of_pairs(who: Ints, others: Floats, persons: int) -> Jackknifed:
    """Mean over pairs of persons, from each person's mean to everybody else in `others`.

    Without person i the mean of the other pairs is (Σ r - 2 r_i) / ((k - 1)(k - 2)), r_i being a person's sum.
    """
    rests_on, k = np.zeros(persons, dtype=bool), len(who)
    rests_on[who] = True
    sums = others * (k - 1)
    value = float(others.mean()) if k > 1 else np.nan
    left_out = np.full(persons, value)
    if k > 1:
        left_out[who] = (sums.sum() - 2 * sums) / ((k - 1) * (k - 2)) if k > 2 else np.nan
    return Jackknifed(value, left_out, rests_on)


def mean_over(numbers: Sequence[Jackknifed]) -> Jackknifed:
    """Mean over prompts, each counting the same."""
    left_out = np.mean([number.left_out for number in numbers], axis=0)
    rests_on = np.any([number.rests_on for number in numbers], axis=0)
    return Jackknifed(float(np.mean([number.value for number in numbers])), left_out, rests_on)


def minus(one: Jackknifed, other: Jackknifed) -> Jackknifed:
    """One minus the other, of the same persons; rests on those of the one with fewer."""
    return Jackknifed(one.value - other.value, one.left_out - other.left_out, _fewer(one, other))


def one_minus_ratio(one: Jackknifed, other: Jackknifed) -> Jackknifed:
    """1 - one / other, of the same persons."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, left_out = 1 - np.divide(one.value, other.value), 1 - one.left_out / other.left_out
    return Jackknifed(float(value), left_out, _fewer(one, other))


def _fewer(one: Jackknifed, other: Jackknifed) -> Bools:
    return one.rests_on if one.units <= other.units else other.rests_on


def estimate(number: Jackknifed | None, least: float = -1.0, most: float = 1.0) -> PersonEstimate:
    """value ± t error with Student's t of persons - 1 degrees of freedom."""
    if number is None or np.isnan(number.value):
        return PersonEstimate(None, None, 0 if number is None else number.units, why=NO_PAIRS)
    return _between(number.value, number.error, number.units - 1, number.units, least, most)


def apart(one: Jackknifed | None, other: Jackknifed | None, least: float = -1.0, most: float = 1.0) -> PersonEstimate:
    """One minus the other if they have no person in common: their variances add up.

    Degrees of freedom are Welch's (1947, Biometrika 34:28-35).
    """
    if one is None or other is None or np.isnan(one.value) or np.isnan(other.value):
        return PersonEstimate(None, None, 0, why=NO_PAIRS)
    parts = np.array([one.error, other.error]) ** 2
    freedom = np.array([one.units, other.units]) - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = float(parts.sum() ** 2 / (parts**2 / freedom).sum())
    error = float(np.sqrt(parts.sum()))
    return _between(one.value - other.value, error, welch, min(one.units, other.units), least, most)


def _between(value: float, error: float, freedom: float, units: int, least: float, most: float) -> PersonEstimate:
    few = why_no_interval(None, units)
    known = None if np.isnan(error) or units < FEWEST_UNITS else error
    found = interval_of_error(value, known, freedom, least, most)
    return PersonEstimate(value, found, units, known, freedom, None if found else few)
