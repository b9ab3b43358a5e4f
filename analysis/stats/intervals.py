"""Every 95 % interval: of shares (Wilson), of other statistics (jackknife or bootstrap over units), of percentiles.

docs/methods.md says which interval each number has, over which unit. Also p-values by draws, with Holm's correction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtrit
from scipy.stats import binom

LEVEL = 0.95
MOST_UNDEFINED = 1 - LEVEL  # share of the draws; an interval over the others would hide the doubt
NO_WIDTH = 1e-12
NO_WIDTH_OF_DRAWS = 1e-6  # some draws are computed in single precision
Z = float(ndtri((1 + LEVEL) / 2))
FEWEST_UNITS = 5  # with fewer, simulated intervals contain the truth too seldom
FEW_UNITS = f"Fewer than {FEWEST_UNITS} independent units: too few for an interval."
ONE_UNIT = "One independent unit: nothing shows how far another one would be."
ALIKE = "Without any one unit the value stays the same: that shows no spread."
UNDEFINED = "More than one bootstrap draw in twenty has no value."

Interval = tuple[float, float]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class TestedDifference:
    """A difference with its interval, or why there is none, and its p; None if undefined. `p_tail` is the same p, as
    fine as a correction for many tests needs it.
    """

    effect: float | None = None
    ci: Interval | None = None
    ci_why: str | None = None
    p: float | None = None
    p_tail: float | None = None


# --- shares of independent cases --------------------------------------------


def wilson_interval(hits: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Ends of the score interval of hits / n, shapes broadcast; NaN for n = 0."""
    cases = np.asarray(n, dtype=float)
    counted = np.where(cases > 0, cases, np.nan)
    return _score_interval(np.asarray(hits, dtype=float) / counted, counted, Z)


def _score_interval(p: Floats, n: Floats, z: float | Floats) -> tuple[Floats, Floats]:
    """Of a share p of n cases: centre ± half, with centre = (p + z²/2n) / (1 + z²/n) and half = z sqrt(p (1 - p)/n +
    z²/4n²) / (1 + z²/n) (Wilson 1927, JASA 22:209-212). It contains the share and has a width at 0 and 1 too.
    """
    z2 = z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # Contains p whatever the rounding: at 0 and 1 an end is p itself.
    return np.clip(centre - half, 0.0, p), np.clip(centre + half, p, 1.0)


def share_interval(hits: int, n: int) -> Interval | None:
    """Wilson's interval of one share; None without cases."""
    low, high = wilson_interval(hits, n)
    return (float(low), float(high)) if n else None


EXTRA_UNITS = 2  # as extreme as units are on average; Agresti and Coull's two failures and two successes do the same


def clustered_shares(hits: NDArray, sizes: NDArray) -> tuple[Floats, Floats]:
    """Ends of the intervals of k shares over units of several cases; NaN for one unit.

    `hits` (k, units) counts the cases of each unit that have the k-th property, `sizes` (units,) its cases. A share is
    p = Σ hits / Σ sizes. Wilson's interval is taken at the number of independent cases that would give the same
    precision, p (1 - p) / v with the ratio estimator's variance v over units, times (z / t)² for so few units (Korn and
    Graubard 1998, Survey Methodology 24:193-201), at most Σ sizes; if all or none are hits, at the number of units. If
    users differ strongly, a sample of ten often lacks the one who would show it, and v is too small. So v gets what two
    further units, as unlike as units are, would add: 2 ρ p (1 - p) / units², where ρ is the intraclass correlation over
    all k. For 10 users with 40 answers each, users alike to very unlike, the intervals then contain the share in 93 to
    97 of 100 samples (without it in 87 to 97), those for 5 users in 97 to 99.
    """
    n, units = float(sizes.sum()), len(sizes)
    if units < 2:
        nothing = np.full(len(hits), np.nan)
        return nothing, nothing
    p = hits.sum(axis=1) / n
    between = (hits * hits / sizes).sum(axis=1) - p * p * n
    within = n * p - (hits * hits / sizes).sum(axis=1)
    correlation = _intraclass(float(between.sum()), float(within.sum()), sizes)
    spread = (hits * hits).sum(axis=1) - 2 * p * (hits @ sizes) + p * p * float(sizes @ sizes)
    alone = p * (1 - p)
    variance = units / (units - 1) * spread / n**2 + EXTRA_UNITS * correlation * alone / units**2
    cases = np.where(alone > 0, n, float(units))
    np.divide(alone, variance, out=cases, where=(alone > 0) & (variance > 0))
    cases = np.minimum(cases, n) * (Z / t_quantile(units - 1)) ** 2
    return wilson_interval(p * cases, cases)


def clustered_share(hits: NDArray, sizes: NDArray) -> Interval | None:
    """Interval of one share, from its hits in each unit; None for one unit."""
    low, high = (float(ends[0]) for ends in clustered_shares(hits[None], sizes))
    return None if np.isnan(low) else (low, high)


def _intraclass(between: float, within: float, sizes: NDArray) -> float:
    """Intraclass correlation, from 0 to 1, from sums of squares between and within units (analysis of variance)."""
    n, units = float(sizes.sum()), len(sizes)
    if n <= units:
        return 0.0
    usual = (n - float(sizes @ sizes) / n) / (units - 1)
    one, other = between / (units - 1), within / (n - units)
    total = one + (usual - 1) * other
    return min(max((one - other) / total, 0.0), 1.0) if total > 0 else 0.0


def clustered_share_interval(
    share: ArrayLike, error: ArrayLike, cases: ArrayLike, units: ArrayLike
) -> tuple[Floats, Floats]:
    """Ends of the score interval of shares whose cases come in independent units of several; shapes broadcast.

    Wilson's with p (1 - p) / error² cases in place of n, at most `cases`, and with Student's t of units - 1 in place of
    z (as Korn and Graubard 1998, Surv. Methodol. 24:193-201, do with Clopper and Pearson's). A share of 0 or 1 has no
    error, and each unit counts as one case: all cases of a unit may be alike. `error`: the share's standard error over
    units. NaN below two units.
    """
    p, n = np.asarray(share, dtype=float), np.asarray(units, dtype=float)
    spread = p * (1 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.minimum(np.asarray(cases, dtype=float), spread / np.square(np.asarray(error, dtype=float)))
        effective = np.where(spread < NO_WIDTH, n, np.maximum(effective, 1.0))
        return _score_interval(p, effective, t_quantile(n - 1))


def share_difference(one: float, ci_one: Interval | None, two: float, ci_two: Interval | None) -> Interval | None:
    """Interval of share one minus share two, from those of both: it has a width even if both are 0 or 1.

    Ends: d - sqrt((one - low one)² + (high two - two)²), d + sqrt((high one - one)² + (two - low two)²) (Newcombe 1998,
    Statistics in Medicine 17:873-890, method 10).
    """
    if ci_one is None or ci_two is None:
        return None
    down = np.hypot(one - ci_one[0], ci_two[1] - two)
    up = np.hypot(ci_one[1] - one, two - ci_two[0])
    return float(max(one - two - down, -1.0)), float(min(one - two + up, 1.0))


# --- statistics of independent units ----------------------------------------


def t_quantile(freedom: ArrayLike) -> Floats:
    """Student's t in place of a normal interval's 1.96, with this many degrees of freedom; NaN below one."""
    known = np.asarray(freedom, dtype=float)
    return np.asarray(stdtrit(np.where(known > 0, known, np.nan), (1 + LEVEL) / 2))


@lru_cache(maxsize=1024)
def _t_quantile(freedom: float) -> float:
    return float(t_quantile(freedom))


def interval_of_error(
    value: float | None, error: float | None, freedom: float, least: float = -np.inf, most: float = np.inf
) -> Interval | None:
    """value ± t error, kept within the possible range; None without an error, or if it is 0."""
    if value is None or error is None or not error > NO_WIDTH:
        return None
    half = _t_quantile(freedom) * error
    return max(value - half, min(least, value)), min(value + half, max(most, value))


def why_no_interval(found: Interval | None, units: int, draws: Floats | None = None) -> str | None:
    """Say why a value of this many units has no interval, None if it has one; `draws` are those of a bootstrap."""
    if found or units < FEWEST_UNITS:
        return None if found else FEW_UNITS
    return UNDEFINED if draws is not None and interval(draws) is None else ALIKE


def redrawn_interval(
    draws: Floats, value: float | None, units: int, least: float = -np.inf, most: float = np.inf
) -> Interval | None:
    """Make an interval from draws of a value's units with replacement; None below FEWEST_UNITS, or without width.

    It is the percentile interval of the draws, moved by their bias, since drawing with replacement repeats units; its
    ends are then sqrt(m / (m - 1)) t / z times as far off for m units: with few, draws vary less than new units would.
    """
    found = centred(draws, value) if units >= FEWEST_UNITS else None
    if found is None or value is None or found[1] - found[0] <= NO_WIDTH_OF_DRAWS:
        return None
    factor = (units / (units - 1)) ** 0.5 * _t_quantile(units - 1) / Z
    low, high = (value + factor * (end - value) for end in found)
    return min(max(low, least), value), max(min(high, most), value)


def jackknife_interval(values: Floats, left_out: Floats, units: ArrayLike) -> tuple[Floats, Floats]:
    """Ends of value ± t `jackknife_error`, t Student's with u - 1 degrees of freedom.

    For few units, whose draws with replacement are too much alike.
    """
    half = t_quantile(np.asarray(units, dtype=float) - 1) * jackknife_error(values, left_out, units)
    return values - half, values + half


def jackknife_error(values: Floats, left_out: Floats, units: ArrayLike) -> Floats:
    """√((u - 1) / u Σ (left out - value)²) (Tukey 1958, Ann. Math. Stat. 29:614).

    `values`: (numbers,), `left_out`: (numbers, units) each without one unit; `units`: (numbers,) u, how many units a
    number rests on (without any other it is unchanged). NaN if a number is undefined without one of its units.
    """
    n = np.asarray(units, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((n - 1) / n * np.square(left_out - values[:, None]).sum(axis=1)))


def mean_of_known(values: Floats) -> float:
    """Do as numpy's `nanmean`, which takes four times as long for one list."""
    total = values.sum()
    return float(np.nanmean(values) if np.isnan(total) else total / values.size)


def interval(draws: ArrayLike) -> Interval | None:
    """Percentile interval of drawn statistics, shape (draws,): their quantiles 2.5 % and 97.5 %.

    Leaves out undefined draws (NaN); None if they are more than one in twenty, or nothing was drawn.
    """
    values = np.asarray(draws, dtype=float)
    known = np.sort(values[~np.isnan(values)])
    if len(known) < max(1.0, LEVEL * len(values)):
        return None
    return _quantile(known, (1 - LEVEL) / 2), _quantile(known, (1 + LEVEL) / 2)


def centred(draws: Floats, value: float | None) -> Interval | None:
    """Move the percentile interval by the draws' bias, mean(draws) - value."""
    found = interval(draws)
    if found is None or value is None:
        return None
    bias = mean_of_known(draws) - value
    return found[0] - bias, found[1] - bias


def corrected_intervals(values: Floats, drawn: Floats, reach: ArrayLike = Z) -> tuple[Floats, Floats, Floats]:
    """Ends of the bias-corrected percentile intervals over the defined draws, and the share of undefined ones.

    `values`: (numbers,), `drawn`: (numbers, draws). The quantiles are Φ(2 z ∓ reach), where Φ(z) is the share of draws
    below the value (Efron 1981, Can. J. Stat. 9:139-158). With z = 0 they are 2.5 % and 97.5 %; but kappa of a few
    items comes out too low in most draws, and in a mean over many small pairs that adds up.
    """
    ordered = np.sort(drawn, axis=1)  # NaN comes last
    defined = ordered.shape[1] - np.isnan(ordered).sum(axis=1)
    tied = np.abs(ordered - values[:, None]) < NO_WIDTH
    below = ((ordered < values[:, None]) & ~tied).sum(axis=1) + tied.sum(axis=1) / 2
    z = ndtri(np.clip(below, 0.5, np.maximum(defined - 0.5, 0.5)) / np.maximum(defined, 1))
    low, high = (_quantiles(ordered, defined, ndtr(2 * z + side * np.asarray(reach))) for side in (-1, 1))
    return low, high, 1 - defined / ordered.shape[1]


def _quantile(ordered: Floats, share: float) -> float:
    """Linear between the two nearest values; numpy's `quantile` takes ten times as long for one list."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def _quantiles(ordered: Floats, defined: NDArray[np.intp], share: Floats) -> Floats:
    """`_quantile` of each row, of which only the first `defined` values count."""
    last = np.maximum(defined - 1, 0)
    place = share * last
    below = place.astype(np.intp)
    above = np.minimum(below + 1, last)
    rows = np.arange(len(ordered))
    return ordered[rows, below] + (place - below) * (ordered[rows, above] - ordered[rows, below])


# --- order statistics -------------------------------------------------------


def percentile_interval(ordered: Floats, share: float) -> Interval | None:
    """Interval of the value below which `share` of all lie, from n independent values in order; None if n is too small.

    The number of the n values below it is binomial (n, share). So it lies between the l-th and the u-th smallest value
    with at least 95 %, where P(fewer than l) and P(u or more) are at most 2.5 % each, whatever the distribution
    (Conover 1999, Practical Nonparametric Statistics, 3.2). A median needs 6 values, a 95th percentile 72.
    """
    n = len(ordered)
    if not n:
        return None
    low, high = _ranks_around(n, share)
    return (float(ordered[low - 1]), float(ordered[high])) if low > 0 and high < n else None


@lru_cache(maxsize=256)
def _ranks_around(n: int, share: float) -> tuple[int, int]:
    low, high = (int(binom.ppf(tail, n, share)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return low, high


# --- p-values by draws

CLOSE = 1e-6  # a drawn statistic this near to the observed one is equal to it except for rounding


def p_value(observed: float, drawn: Floats) -> float | None:
    """(1 + draws at least as large as observed) / (1 + draws), so never 0; None if the observed one is NaN.

    A draw with an undefined statistic counts as large: it is no evidence.
    """
    if np.isnan(observed):
        return None
    smaller = int(np.count_nonzero(drawn < observed - CLOSE * max(1.0, abs(observed))))
    return (1 + len(drawn) - smaller) / (1 + len(drawn))


FEW_HITS = 10  # with fewer draws above the observed statistic, their number says little
TAIL = 20  # one draw in so many is in the tail


def tail_p(observed: float, drawn: Floats, splits: float) -> float | None:
    """`p_value`, but finer than one draw if fewer than FEW_HITS draws are as large; for correction for many tests.

    Beyond the largest twentieth of the draws the tail is taken as exponential with their mean: (1/20) exp(-(observed -
    threshold) / mean). Statistics of many units have lighter tails (normal or bounded ones), so it is too large rather
    than too small. Never below 1 / `splits`, the number of all possible splits, nor above `p_value`.
    """
    p, n = p_value(observed, drawn), len(drawn)
    if p is None or p * (1 + n) - 1 >= FEW_HITS or n < TAIL * FEW_HITS or np.isnan(drawn).any():
        return p
    most = np.partition(drawn, n - n // TAIL - 1)[n - n // TAIL - 1 :]
    threshold = most[0]
    mean = float(most[1:].mean() - threshold)
    if mean <= NO_WIDTH:
        return p
    return min(p, max(float(np.exp((threshold - observed) / mean)) / TAIL, 1 / splits))


def splits_of(one: int, other: int) -> float:
    """Count the ways to split one + other units into parts of the two sizes; at most what a float can hold."""
    return float(np.exp(min(gammaln(one + other + 1) - gammaln(one + 1) - gammaln(other + 1), 700.0)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979, Scand. J. Stat. 6:65-70).

    With p_(1) ≤ … ≤ p_(m) the m known ones: adjusted p_(k) = max over j ≤ k of min(1, (m - j + 1) p_(j)). None stays
    None and does not count in m.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    largest = 0.0
    for passed, (p, at) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - passed) * p))
        adjusted[at] = largest
    return adjusted
