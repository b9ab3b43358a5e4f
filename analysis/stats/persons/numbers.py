"""Means over persons with their values without each person, so that differences and ratios have intervals; and accuracy
on a set of questions of which each person was asked a few, standardised to the whole set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from scipy.special import ndtr

from analysis.stats.intervals import (
    ALIKE,
    FEW_UNITS,
    FEWEST_UNITS,
    NO_WIDTH,
    Bools,
    Floats,
    Interval,
    Ints,
    clustered_share_interval,
    interval_of_error,
    jackknife_error,
    t_quantile,
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


NO_ANSWERS = "No answers to these questions."
PAIR = 0.5  # s² of two answers that differ


@dataclass(frozen=True, eq=False)
class ScoredQuestions:
    """Answers to the `size` questions of a set, (n,): each one's question, its unit (a person, a simulated user or a
    repeat) and whether it is right.
    """

    question: Ints
    unit: Ints
    right: Bools
    size: int

    @cached_property
    def counts(self) -> Floats:
        """(size,) number of answers to each question."""
        return np.bincount(self.question, minlength=self.size).astype(float)

    @property
    def asked(self) -> Bools:
        return self.counts > 0

    @cached_property
    def shares(self) -> Floats:
        """(size,) share of right answers to each question; NaN if there are none."""
        hits = np.bincount(self.question, self.right, minlength=self.size)
        return np.divide(hits, self.counts, out=np.full(self.size, np.nan), where=self.counts > 0)

    def units_on(self, questions: Bools) -> int:
        return len(np.unique(self.unit[questions[self.question]]))

    def by_chance(self, questions: Bools) -> tuple[float, float]:
        """Variance of the mean of these questions' shares from answers to the same questions, NaN if no question has
        two answers; and what a unit's answers to several questions add to it.

        Of question j with n answers it is s² / n with s² = p (1 - p) n / (n - 1); questions with one answer take the
        mean s². Covariances come from a unit's products of residuals from the share of all *other* answers to the same
        question (from the mean of all questions if there are none): from the share of all, which includes the answer
        itself, they would be far too small, since a question has few answers.
        """
        n, p, count = self.counts, self.shares, int(questions.sum())
        several = questions & (n > 1)
        spread = p * (1 - p) * n / np.maximum(n - 1, 1)
        spread[questions & (n == 1)] = spread[several].mean() if several.any() else np.nan
        least = PAIR / (n[several].sum() - several.sum() + 1)  # s² if one more answer differed from another's
        alone = max(float((spread[questions] / n[questions]).sum()), least * float((1 / n[questions]).sum())) / count**2
        here = questions[self.question]
        of, at = self.question[here], self.unit[here]
        middle = np.where(n[of] > 1, p[of], p[questions].mean())
        wide = np.where(n[of] > 1, n[of] / np.maximum(n[of] - 1, 1), 1.0)
        residual = wide * (self.right[here] - middle) / n[of] / count
        of_unit = np.bincount(np.unique(at, return_inverse=True)[1], residual)
        return alone, float((of_unit**2).sum() - (residual**2).sum())


def accuracy(scored: ScoredQuestions) -> PersonEstimate:
    """Estimate the share of right answers to the whole set: the mean over questions of each one's share.

    It is what logistic regression with an effect for every question predicts, averaged over the questions; no fit is
    needed, and none fails if everybody answered a question correctly. The interval is Wilson's at the number of
    independent answers of the same precision, over units.
    """
    return estimate_shares(scored.asked, scored.size, [(scored, 1)])


def difference(one: ScoredQuestions, other: ScoredQuestions, questions: Bools | None = None) -> PersonEstimate:
    """Estimate the accuracy of one minus that of the other, on the questions asked of both; their persons differ."""
    shared = one.asked & other.asked
    asked = shared if questions is None else shared & questions
    return estimate_shares(asked, one.size, [(one, 1), (other, -1)])


def estimate_shares(questions: Bools, size: int, sides: Sequence[tuple[ScoredQuestions, int]]) -> PersonEstimate:
    """Estimate the mean over questions of the signed shares of one or two sides.

    Variance in two stages (Cochran 1977, Sampling Techniques, ch. 10): (1 - f) s² / k + f v + c, where f = k / size of
    the questions were asked, s² is the variance of the questions' values, v that of answers to the same questions, c
    the part that units share. If all questions were asked, only chance in their answers is left; if none was answered
    twice, v is unknown and s² / k replaces both, which is no smaller.
    """
    units = min(scored.units_on(questions) for scored, _ in sides)
    count = int(questions.sum())
    if not count:
        return PersonEstimate(None, None, units, why=NO_ANSWERS)
    values = np.sum([sign * scored.shares[questions] for scored, sign in sides], axis=0)
    value = float(values.mean())
    if units < FEWEST_UNITS:
        return PersonEstimate(value, None, units, why=FEW_UNITS)
    alone, together = np.sum([scored.by_chance(questions) for scored, _ in sides], axis=0)
    between, share = float(values.var(ddof=1)) / count if count > 1 else 0.0, count / size
    variance = between if np.isnan(alone) else (1 - share) * between + share * alone
    error = sqrt(max(variance + together, variance / 2))
    ci: Interval | None
    if len(sides) == 1:
        low, high = clustered_share_interval(value, error, np.inf, units)
        ci = float(low), float(high)
    else:
        half = float(t_quantile(units - 1)) * error
        ci = (max(-1.0, value - half), min(1.0, value + half)) if error > NO_WIDTH else None
    return PersonEstimate(value, ci, units, error, units - 1, None if ci else ALIKE)


def flip_chance(one: PersonEstimate, other: PersonEstimate) -> float | None:
    """Chance that two differences have different signs, each normal around its estimate; None without their errors."""
    if one.value is None or other.value is None or not one.error or not other.error:
        return None
    first, second = float(ndtr(one.value / one.error)), float(ndtr(other.value / other.error))
    return first * (1 - second) + second * (1 - first)
