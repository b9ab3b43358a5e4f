"""One difference with its interval and p, whether it lies within bounds, and which tests of a family pass at a look."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtr
from scipy.stats import hypergeom

from analysis.stats.intervals import (
    CLOSE,
    FEW_UNITS,
    FEWEST_UNITS,
    Floats,
    Interval,
    interval_of_error,
    share_difference,
    t_quantile,
    why_no_interval,
)
from analysis.stats.simultaneous import student_p


@dataclass(frozen=True)
class Tested:
    """A difference with two-sided `p`; `freedom` is that of Student's t behind the interval, `why` there is none."""

    value: float | None
    ci: Interval | None
    p: float | None
    freedom: float = np.inf
    why: str | None = None

    def p_of_bounds(self, bound: float) -> float | None:
        """Within ±`bound`, p of a difference of `bound` or more, either way; beyond it, of one of `bound` or less.

        Each is the larger of two one-sided tests, doubled: at most 0.05 if the 95 % interval lies within the bounds
        (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657-680, at half the usual level), or all beyond one of them.
        """
        if self.value is None or self.ci is None:
            return None
        low, high = self.value - self.ci[0], self.ci[1] - self.value
        if abs(self.value) > bound:
            return end_p(abs(self.value) - bound, low if self.value > 0 else high, self.freedom)
        return max(end_p(self.value + bound, low, self.freedom), end_p(bound - self.value, high, self.freedom))


def end_p(room: float, end: float, freedom: float) -> float:
    """Two-sided p of a number `room` away, if the 95 % interval ends after `end`: 0.05 if both are equal."""
    step = room / end * float(t_quantile(freedom)) if end > 0 else np.sign(room) * np.inf
    return float(min(1.0, 2 * stdtr(freedom, -step)))


def of_interval(value: float | None, ci: Interval | None, freedom: float, reference: float) -> Tested:
    """A value minus its reference; p by how far the reference lies beyond the interval's end on its side."""
    if value is None or ci is None:
        return Tested(None if value is None else value - reference, None, None, freedom, "")
    room, end = (value - reference, value - ci[0]) if value > reference else (reference - value, ci[1] - value)
    ends = (ci[0] - reference, ci[1] - reference)
    return Tested(value - reference, ends, end_p(room, end, freedom), freedom)


@dataclass(frozen=True, eq=False)
class Share:
    """`hits` of `n` answers; `units` is each unit's share, if units have several answers."""

    hits: int
    n: int
    ci: Interval | None
    units: Floats | None = None

    @property
    def value(self) -> float:
        return self.hits / self.n


def compare_shares(one: Share, other: Share) -> Tested:
    """Interval by Newcombe. For single answers p is exact, over all splits into the two sizes; if units have several,
    by Student's t, with one fewer degree of freedom than the smaller side has units, or if each side's units are all
    alike, exact over all splits of the units.
    """
    value, ci = one.value - other.value, share_difference(one.value, one.ci, other.value, other.ci)
    why = None if ci else FEW_UNITS
    if one.units is None and other.units is None:
        return Tested(value, ci, split_p(one.hits, one.n, other.hits, other.n), np.inf, why)
    error = float(np.hypot(_error_of(one), _error_of(other)))
    units = [each.n if each.units is None else len(each.units) for each in (one, other)]
    if error == 0 and value:
        return Tested(value, ci, split_p(units[0], units[0], 0, units[1]), np.inf, why)
    freedom = min(units) - 1
    return Tested(value, ci, student_p(value, error, freedom) if freedom > 0 else None, np.inf, why)


def _error_of(share: Share) -> float:
    if share.units is None:
        return float(np.sqrt(share.value * (1 - share.value) / share.n))
    return float(np.sqrt(share.units.var(ddof=1) / len(share.units))) if len(share.units) > 1 else np.nan


def split_p(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """Share of all splits of the answers into the two sizes that differ as much: the first part's hits are
    hypergeometric.
    """
    both, all_hits = n + other_n, hits + other_hits
    first = np.arange(max(0, all_hits - other_n), min(all_hits, n) + 1)
    gaps = np.abs(first / n - (all_hits - first) / other_n)
    chance = hypergeom.pmf(first, both, all_hits, n)
    return float(min(1.0, chance[gaps >= abs(hits / n - other_hits / other_n) - CLOSE].sum()))


def of_error(value: float, error: float | None, units: int, least: float = -np.inf, most: float = np.inf) -> Tested:
    """value ± t error, with one fewer degree of freedom than the smaller side has units; without an error no p."""
    if error is None or np.isnan(error) or units < FEWEST_UNITS:
        return Tested(value, None, None, max(units - 1, 0), FEW_UNITS)
    ci = interval_of_error(value, error, units - 1, least, most)
    p = student_p(value, error, units - 1) if ci else None
    return Tested(value, ci, p, units - 1, why_no_interval(ci, units))


GRID = 1601  # points of the density between two looks
REACH = 8.0  # standard deviations of the last look


def level_at(look: int, times: tuple[float, ...], alpha: float) -> float:
    """The two-sided p up to which the k-th look (from 0) rejects, so that all looks together keep alpha.

    `times`: the share of all people at each look, rising, the last of them 1. Each side spends α/2 by the function of
    O'Brien and Fleming's kind, 2 - 2 Φ(z / √t) with Φ(z) = 1 - α/4 (Lan and DeMets 1983, Biometrika 70:659-663).
    """
    return float(2 * ndtr(-boundaries(times, alpha)[look]))


def spent_at(time: float, alpha: float) -> float:
    """Alpha that looks up to this share of all people may spend, on both sides together."""
    return float(4 * ndtr(ndtri(alpha / 4) / time**0.5))


@lru_cache(maxsize=256)
def boundaries(times: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """Strength at each look beyond which alpha is spent, by the density of what stayed within all earlier ones."""
    spent = [spent_at(time, alpha) for time in times]
    x = np.linspace(-REACH, REACH, GRID)
    step = x[1] - x[0]
    density, before, at, found = np.zeros(GRID), 0.0, 0.0, []
    for number, time in enumerate(times):
        spread = (time - at) ** 0.5
        if number:
            moves = np.exp(-(((x[:, None] - x) / spread) ** 2) / 2) / (spread * (2 * np.pi) ** 0.5)
            density = moves @ density * step
        else:
            density = np.exp(-((x / spread) ** 2) / 2) / (spread * (2 * np.pi) ** 0.5)
        beyond = np.append(0.0, np.cumsum((density[:-1] + density[1:])[::-1] / 2 * step))  # from the far end inwards
        tail = np.maximum(2 * beyond[: GRID // 2 + 1], 1e-300)
        ends = x[::-1][: GRID // 2 + 1]
        end = float(np.interp(np.log(max(spent[number] - before, 1e-300)), np.log(tail), ends))
        found.append(end / time**0.5)
        density, before, at = np.where(np.abs(x) < end, density, 0.0), spent[number], time
    return tuple(found)


def passed(p_values: Sequence[float | None], level: Callable[[float], float], alpha: float) -> list[bool]:
    """Mark those that pass by Holm's steps: the smallest p at the level of alpha / m, the next at alpha / (m - 1), …

    m includes tests without a p. `level` gives what a look may spend of an alpha.
    """
    found = [False] * len(p_values)
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    for step, (p, at) in enumerate(known):
        if p > level(alpha / (len(p_values) - step)):
            break
        found[at] = True
    return found
