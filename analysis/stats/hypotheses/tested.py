"""One difference with its interval, how likely chance makes one as large, and whether it lies within bounds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import hypergeom

from analysis.stats.intervals import (
    CLOSE,
    FEW_UNITS,
    FEWEST_UNITS,
    Interval,
    interval_of_error,
    share_difference,
    t_quantile,
)
from analysis.stats.simultaneous import student_p

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tested:
    """`p` is two-sided, of no difference. `freedom` is that of Student's t behind the interval; `why` there is none."""

    value: float | None
    ci: Interval | None
    p: float | None
    freedom: float = np.inf
    why: str | None = None

    def p_within(self, bound: float) -> float | None:
        """Of a difference of `bound` or more, either way: the larger of two one-sided tests, doubled.

        So it is at most 0.05 where the 95 % interval lies within the bounds (Schuirmann 1987, J. Pharmacokinet.
        Biopharm. 15:657-680, at half the usual level).
        """
        if self.value is None or self.ci is None:
            return None
        ends = (self.value - self.ci[0], self.ci[1] - self.value)
        rooms = (self.value + bound, bound - self.value)
        return max(end_p(room, end, self.freedom) for room, end in zip(rooms, ends, strict=True))


def end_p(room: float, end: float, freedom: float) -> float:
    """Two-sided p of a number that lies `room` away, where the 95 % interval ends after `end`: 0.05 if both are one."""
    step = room / end * float(t_quantile(freedom)) if end > 0 else np.sign(room) * np.inf
    return float(min(1.0, 2 * stdtr(freedom, -step)))


def of_interval(value: float | None, ci: Interval | None, freedom: float, reference: float, why: str = "") -> Tested:
    """A value minus what it is held against; p by how far that lies beyond the interval's end on its side."""
    if value is None or ci is None:
        return Tested(None if value is None else value - reference, None, None, freedom, why)
    room, end = (value - reference, value - ci[0]) if value > reference else (reference - value, ci[1] - value)
    ends = (ci[0] - reference, ci[1] - reference)
    return Tested(value - reference, ends, end_p(room, end, freedom), freedom)


@dataclass(frozen=True, eq=False)
class Share:
    """`hits` of `n` answers; `units` is each unit's share, where units have several answers."""

    hits: int
    n: int
    ci: Interval | None
    units: Floats | None = None

    @property
    def value(self) -> float:
        return self.hits / self.n


def compare_shares(one: Share, other: Share) -> Tested:
    """Interval by Newcombe. Of single answers p is that of all splits into the two sizes, exactly; of units that have
    several, Welch's.
    """
    value, ci = one.value - other.value, share_difference(one.value, one.ci, other.value, other.ci)
    why = None if ci else FEW_UNITS
    if one.units is None and other.units is None:
        return Tested(value, ci, split_p(one.hits, one.n, other.hits, other.n), np.inf, why)
    error = float(np.hypot(_error_of(one), _error_of(other)))
    freedom = min(each.n if each.units is None else len(each.units) for each in (one, other)) - 1
    return Tested(value, ci, student_p(value, error, freedom) if freedom > 0 else None, np.inf, why)


def _error_of(share: Share) -> float:
    if share.units is None:
        return float(np.sqrt(share.value * (1 - share.value) / share.n))
    return float(np.sqrt(share.units.var(ddof=1) / len(share.units))) if len(share.units) > 1 else np.nan


def split_p(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """Of all splits of the answers into the two sizes, how many differ as much: the first part's hits are
    hypergeometric.
    """
    both, all_hits = n + other_n, hits + other_hits
    first = np.arange(max(0, all_hits - other_n), min(all_hits, n) + 1)
    gaps = np.abs(first / n - (all_hits - first) / other_n)
    chance = hypergeom.pmf(first, both, all_hits, n)
    return float(min(1.0, chance[gaps >= abs(hits / n - other_hits / other_n) - CLOSE].sum()))


def of_error(value: float, error: float | None, units: int, least: float = -np.inf, most: float = np.inf) -> Tested:
    """value ± t error, with one fewer degree of freedom than the smaller side has units."""
    if error is None or np.isnan(error) or units < FEWEST_UNITS:
        return Tested(value, None, None, max(units - 1, 0), FEW_UNITS)
    ci = interval_of_error(value, error, units - 1, least, most)
    return Tested(value, ci, student_p(value, error, units - 1), units - 1, None if ci else FEW_UNITS)
