"""From a sample to its population: items nobody named yet, missing answers, another mix, a larger study."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import exp1, psi

from analysis.stats.intervals import (
    FEWEST_UNITS,
    Floats,
    Interval,
    interval,
    interval_of_error,
    why_no_interval,
    wilson_interval,
)
from analysis.stats.item_measures import EachOnce, drawn_entropies, standard_error
from analysis.stats.resampling import ChoiceSample, ItemSample, bootstrap_weights

# --- the entropy of all that would be named

SEVERAL = "Units have several answers each: what other units would name cannot be told from how often items come up."
TOO_NEW = "Every item is named only once: what else would be named cannot be estimated."


@dataclass(frozen=True)
class Population:
    """The estimated entropy (bits) of what all people would name, and the share of their mentions that go to items in
    the sample (`coverage`). None if undefined, with the reason in `why`.

    `ci` leaves out each unit in turn.
    """

    bits: float | None
    ci: Interval | None
    ci_why: str | None
    coverage: float | None
    why: str | None


def population_entropy(sample: ItemSample) -> Population:
    """Estimate it from C mentions, c_i of item i, f1 and f2 items named once and twice (Chao, Wang and Jost 2013,
    Methods in Ecology and Evolution 4:1091-1100):

    H ln 2 = Σ (c_i/C) (ψ(C) - ψ(c_i)) + (f1/C) Σ_(r ≥ C) B^(r + 1 - C) / r, where coverage is 1 - B f1/C and 1 - B is 2
    f2 / ((C - 1) f1 + 2 f2), or with f2 = 0 2 / ((C - 1)(f1 - 1) + 2). The first sum is what is known without bias from
    samples of C, the second extrapolates to all others. `python -m benchmarks.coverage population` says how often the
    interval contains the entropy of the population.
    """
    if sample.clusters:
        return Population(None, None, None, None, SEVERAL)
    each = EachOnce(sample.by_unit)
    most = int(each.counts.max(initial=0))
    if most < 2:
        return Population(None, None, None, None, TOO_NEW)
    number = np.arange(most + 1, dtype=float)
    tables = number * np.append(0.0, psi(number[1:])), (number == 1).astype(float), (number == 2).astype(float)
    mentions = np.array(float(len(each.items)))
    bits, coverage = _extrapolated(mentions, *(each.sum_of(table) for table in tables))
    left_out, _ = _extrapolated(each.mentions_left, *(each.sum_left(table) for table in tables))
    value, units = float(bits), sample.unit_count
    ci = interval_of_error(value, standard_error(left_out), units - 1, 0.0) if units >= FEWEST_UNITS else None
    return Population(value, ci, why_no_interval(ci, units), float(coverage), None)


def _extrapolated(mentions: Floats, terms: Floats, once: Floats, twice: Floats) -> tuple[Floats, Floats]:
    several = np.where(twice > 0, 2 * twice, 2.0)
    others = np.where(twice > 0, once, np.maximum(once - 1, 0))
    b = (mentions - 1) * others / ((mentions - 1) * others + several)
    unseen = once / mentions * b * _power_sum(b, mentions)
    return (psi(mentions) - terms / mentions + unseen) / log(2), 1 - b * once / mentions


SUMMED = 16  # terms summed before Euler and Maclaurin's formula is exact to nine digits
FAR = 500.0  # beyond this E1 nearly leaves the range of floats, and its expansion is as good


def _power_sum(b: Floats, first: Floats) -> Floats:
    """Σ_(k ≥ 0) b^k / (first + k) for 0 ≤ b < 1: some terms, then ∫ b^x / (first + x) dx = b^-first E1(-ln b (first +
    x)) and corrections by the derivatives at its beginning.
    """
    rate, end = -np.log(np.maximum(b, 1e-300)), first + SUMMED
    head = sum(b**k / (first + k) for k in range(SUMMED))
    z = rate * end
    near = np.exp(np.minimum(rate * first, FAR)) * exp1(np.minimum(z, FAR))
    far = np.exp(-rate * SUMMED) / z * (1 - 1 / z + 2 / z**2)
    at = np.exp(-rate * SUMMED) / end
    slope = rate + 1 / end
    bend = rate**3 + 3 * rate**2 / end + 6 * rate / end**2 + 6 / end**3
    return np.asarray(head + np.where(z < FAR, near, far) + at * (1 / 2 + slope / 12 - bend / 720))


# --- missing answers, whatever they would have been


def share_bounds(hits: int, n: int, missing: int) -> Interval:
    """Bound the share among n + missing answers: none of the missing ones a hit, and all (Manski 1989, Journal of
    Human Resources 24:343-360).
    """
    return hits / (n + missing), (hits + missing) / (n + missing)


def divergence_bounds(counts: NDArray, others: NDArray, missing: int, named: int) -> Interval:
    """Bound the divergence (bits) from `others`, whatever the `missing` answers name: up to `named` items each, none
    twice in an answer.

    The divergence is a sum over items and convex in the shares. So it is largest if all missing answers name the same k
    items, for some k, and these are the ones that add most, items that nobody else names among them. It is least if
    what they name fills up the items that `others` have most of in proportion, as far as mentions go; this ignores that
    one answer cannot name an item twice, so the least may be a little too small.
    """
    q = np.append(others / others.sum(), np.zeros(named))
    c = np.append(counts, np.zeros(named)).astype(float)
    most = 0.0
    for k in range(named + 1):
        total = c.sum() + k * missing
        less, more = _divergence_terms(c / total, q), _divergence_terms((c + missing) / total, q)
        gained = np.sort(more - less)[::-1][:k].sum()
        most = max(most, float(less.sum() + gained))
    return _least_divergence(c, q, missing * named), min(most, 1.0)


def _least_divergence(c: Floats, q: Floats, mentions: int) -> float:
    total = c.sum() + mentions
    a, there = c / total, q > 0
    order = np.argsort(a[there] / q[there])
    first, wanted = a[there][order], q[there][order]
    # Items with a / q below the level t are filled up to it: Σ (t q - a) over them is what there is to give.
    level = (mentions / total + np.cumsum(first)) / np.cumsum(wanted)
    beyond = np.append(first[1:] / wanted[1:], np.inf)
    t = level[np.argmax(level <= beyond)]
    filled = np.where(there, np.maximum(a, t * q), a)
    return max(float(_divergence_terms(filled, q).sum()), 0.0)


def _divergence_terms(p: Floats, q: Floats) -> Floats:
    """Compute each item's term of the divergence: (p log2(p/m) + q log2(q/m)) / 2 with m = (p + q) / 2."""
    m = np.where(p + q > 0, (p + q) / 2, 1.0)
    return np.asarray(sum(share * np.log2(np.where(share > 0, share, m) / m) for share in (p, q)) / 2)


# --- another mix of strata


@dataclass(frozen=True)
class StratumShare:
    """A share with its interval."""

    value: float
    ci: Interval | None


def weighted(weights: Sequence[float], shares: Sequence[StratumShare]) -> StratumShare:
    """Σ w s over strata that are drawn apart, with the weights taken as known.

    Interval: from those of the shares, value - sqrt(Σ w² (s - low)²) and + sqrt(Σ w² (high - s)²), for weights of
    either sign (Zou and Donner 2008, Statistics in Medicine 27:1693-1702), which for one share minus another is
    Newcombe's.
    """
    value = sum(weight * share.value for weight, share in zip(weights, shares, strict=True))
    down = up = 0.0
    for weight, share in zip(weights, shares, strict=True):
        if share.ci is None:
            return StratumShare(value, None)
        below, above = share.value - share.ci[0], share.ci[1] - share.value
        down += (weight * (below if weight > 0 else above)) ** 2
        up += (weight * (above if weight > 0 else below)) ** 2
    return StratumShare(value, (value - down**0.5, value + up**0.5))


# --- precision of a planned study

SAMPLES = 40  # future samples to draw
DRAWS = 400  # the same for shares, which cost less
NO_PILOT = "The pilot has no answer to judge from."
ALIKE = "The answers so far are too much alike to show a spread."


@dataclass(frozen=True)
class ExpectedWidth:
    """The mean width of the 95 % interval of samples of `n`, from `pilot` responses; 95 in 100 widths lie in `ci`."""

    n: int
    pilot: int
    width: float | None
    ci: Interval | None
    why: str | None


def entropy_width(pilot: ItemSample, n: int, rng: np.random.Generator, samples: int = SAMPLES) -> ExpectedWidth:
    """Estimate the width for the entropy: draws future samples from the pilot with replacement and their intervals."""
    if not len(pilot.codes):
        return ExpectedWidth(n, pilot.n, None, None, NO_PILOT)
    times = np.hstack([bootstrap_weights(pilot.n, 1, rng, n) for _ in range(samples)]).astype(np.int64)
    drawn = zip(*drawn_entropies(pilot.by_item, times), strict=True)
    found = [interval_of_error(*each, n - 1, 0.0) if n >= FEWEST_UNITS else None for each in drawn]
    widths = [np.nan if ends is None else ends[1] - ends[0] for ends in found]
    return _expected(n, pilot.n, np.array(widths))


def item_share_width(pilot: ItemSample, item: int, n: int, rng: np.random.Generator) -> ExpectedWidth:
    """Estimate the width for the share of responses that name the item with this code."""
    return _share_width(int(pilot.counts()[item]), pilot.n, n, rng)


def correct_share_width(pilot: ChoiceSample, n: int, rng: np.random.Generator) -> ExpectedWidth:
    """Estimate the width for the share of correct answers, unknown ones being wrong. ValueError without a key."""
    if pilot.correct is None:
        raise ValueError("The pilot's prompt has no correct option.")
    return _share_width(int(pilot.counts()[pilot.correct]), pilot.n, n, rng)


def _share_width(count: int, pilot: int, n: int, rng: np.random.Generator) -> ExpectedWidth:
    """Estimate the width for a share, with binomial counts of future samples."""
    if not pilot:
        return ExpectedWidth(n, pilot, None, None, NO_PILOT)
    low, high = wilson_interval(rng.binomial(n, count / pilot, DRAWS), n)
    return _expected(n, pilot, high - low)


def _expected(n: int, pilot: int, widths: Floats) -> ExpectedWidth:
    found = interval(widths)
    if found is None:
        return ExpectedWidth(n, pilot, None, None, ALIKE)
    return ExpectedWidth(n, pilot, float(np.nanmean(widths)), found, None)
