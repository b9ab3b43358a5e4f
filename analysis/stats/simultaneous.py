"""Differences of shares tested all at once: how often chance alone gives one as strong anywhere in their family."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from analysis.stats.intervals import Bools, Floats

LEVEL = 0.04  # for all that one page could say: at most 5 in 100, also as counted in some hundreds of studies
LEAST, STEP, NODES = 2.0, 0.25, 25  # strengths at which tails are kept: 2 to 8
STRENGTHS = LEAST + STEP * np.arange(NODES)
FAR = 10  # standard errors beyond which nothing is counted
RARE = 0.02  # share of all units of both sides below which an item is never strong


@dataclass(frozen=True, eq=False)
class ShareGaps:
    """Shares of one side minus those of the other, by item; `strength` is in units of `width`.

    For items a width is a quarter the standard error of that share and three quarters that of a half. So a rare item's
    difference has to be surer than a frequent one's: the question is how many people get something else, not which rare
    item differs. For letters, which are few, it is the standard error. `tail`: how many of the family chance is
    expected to make so strong, at each of STRENGTHS. `tested`: those that both together name often enough.
    """

    gaps: Floats
    widths: Floats
    strength: Floats
    tail: Floats
    tested: Bools


PART_WAY = 0.75


def share_gaps(one: ArrayLike, units: int, other: ArrayLike, other_units: int, level: float = PART_WAY) -> ShareGaps:
    """Gaps between shares (items,) of this many units each; the tail is over those both together name often enough.

    If all units were of one source, every split of them into the two sizes would be as likely: of K units that name an
    item the first side has a hypergeometric number. A unit's several answers count as one, their mean, which varies
    less than one answer does.
    """
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    widths = share_width((a * units + b * other_units) / (units + other_units), units, other_units, level)
    gaps = a - b
    named = np.rint(a * units + b * other_units).astype(int)
    least = RARE * (units + other_units) if level else 1
    tested = named >= max(1, least)
    able = tested & (named < units + other_units)  # what all name differs in no split
    strength = np.divide(np.abs(gaps), widths, out=np.zeros(len(gaps)), where=able)
    return ShareGaps(gaps, widths, strength, _tail(named[able], units, other_units, level), tested)


def share_width(share: ArrayLike, units: int, other_units: int, level: float = PART_WAY) -> Floats:
    """Width for a share of both together; `level` is how far it goes from its own standard error to that of a half."""
    p = np.clip(np.asarray(share, dtype=float), 0.0, 1.0)
    own = (1 - level) * np.sqrt(p * (1 - p)) + level / 2
    return np.asarray(own * np.sqrt(1 / units + 1 / other_units))


def _tail(named: NDArray[np.int_], units: int, other_units: int, level: float) -> Floats:
    """Σ over items of the chance that a split of the units gives a difference of at least each strength."""
    if not len(named):
        return np.zeros(NODES)
    if units > other_units:
        units, other_units = other_units, units
    total, logs = units + other_units, _log_factorials(units + other_units)
    kinds, times = np.unique(named, return_counts=True)
    far = int(np.ceil(FAR * np.sqrt(units * other_units / total / 4))) + 1  # around the smaller side's expected number
    middle = np.rint(kinds * units / total).astype(int)
    x = middle[:, None] + np.arange(-far, far + 1)
    k = kinds[:, None]
    able = (x >= np.maximum(0, k - other_units)) & (x <= np.minimum(k, units))
    x = np.where(able, x, np.maximum(0, k - other_units))
    ways = logs[k] - logs[x] - logs[k - x] + logs[total - k] - logs[units - x] - logs[other_units - k + x]
    chance = np.where(able, np.exp(ways + logs[units] + logs[other_units] - logs[total]), 0.0) * times[:, None]
    strength = np.abs(x / units - (k - x) / other_units) / share_width(k / total, units, other_units, level)
    place = np.clip(np.floor((strength - LEAST) / STEP + 1e-9).astype(int), -1, NODES - 1)
    at = np.bincount((place + 1).ravel(), chance.ravel(), minlength=NODES + 1)[1:]
    return np.asarray(at[::-1].cumsum()[::-1])


@lru_cache(maxsize=64)
def _log_factorials(most: int) -> Floats:
    return np.asarray(gammaln(np.arange(most + 1) + 1.0))


# --- tests whose statistic is normal, or Student's


def strength_of(p: float) -> float:
    """The normal deviate that is exceeded, on either side, with this probability."""
    return float(-ndtri(max(p, 1e-300) / 2))


def student_p(value: float, error: float, freedom: float) -> float:
    return float(2 * stdtr(freedom, -abs(value) / error)) if error > 0 else 1.0


def no_surer(p: float | None, value: float, error: float, freedom: float) -> float | None:
    """Raise a p of splits to at least that of Student's t: sides whose answers differ are no random splits, even if
    both have the same measure.
    """
    return p if p is None else max(p, student_p(value, error, freedom))


def reach(strength: float, freedom: float) -> float:
    """Standard errors that an interval reaches if it excludes 0 exactly when a test is stronger than this."""
    return float(-stdtrit(freedom, ndtr(-strength)))


# --- a family of them


@dataclass(frozen=True, eq=False)
class Family:
    """`normal` tests with a normal statistic, and the tails of shares; the family has this `share` of a page's LEVEL.

    By Bonferroni's inequality, so nothing is assumed about how tests depend on each other.
    """

    normal: int
    tails: Sequence[Any]
    share: float

    @property
    def expected(self) -> Floats:
        """How many tests of the family chance makes so strong, at each of STRENGTHS."""
        found = 2.0 * self.normal * ndtr(-STRENGTHS)
        return np.asarray(sum((np.asarray(tail, dtype=float) for tail in self.tails), found))

    def p(self, strength: float) -> float:
        """Bound on the chance that anything in the family is as strong, divided by the family's share."""
        if strength < LEAST:
            return 1.0
        found = float(np.exp(np.interp(strength, STRENGTHS, self._logs)))
        return min(1.0, found / self.share)

    @property
    def _logs(self) -> Floats:
        return np.log(np.maximum(self.expected, 1e-300))

    @property
    def critical(self) -> float:
        """The strength from which a page asserts a difference."""
        return float(np.interp(-np.log(LEVEL * self.share), -self._logs, STRENGTHS))
