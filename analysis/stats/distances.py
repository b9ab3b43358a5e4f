"""How far two sources are apart: Jensen-Shannon divergence, total variation; and all sources of a prompt at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.stats.heterogeneity import (
    Difference,
    Heterogeneity,
    describe_redrawn,
    differences,
    permutation_test,
    rarefy_redrawn,
)
from analysis.stats.intervals import Interval, centred, interval
from analysis.stats.item_measures import entropy
from analysis.stats.resampling import DRAWS, Redrawn, SharedDraws, Splits, p_value, redraw, split
from analysis.stats.samples import ItemSample, pool

Pair = tuple[str, str]
NO_ITEMS = "One of the two sources names no item."


@dataclass(frozen=True)
class Distance:
    """Distance of two item distributions: divergence in bits and total variation, both 0 … 1; None where undefined.

    `ci_*` are percentile bootstrap intervals over responses of both. Sampling alone makes distributions differ, so that
    redrawn distances are larger than the observed one; `around_*` are the intervals moved by this bias to lie around
    the value. `chance_*` is the mean distance when the responses of both are split at random into two such samples: a
    distance that is not above it is none. `drawn_jsd` are the bootstrap draws, for `average`.
    """

    jsd_bits: float | None
    tv: float | None
    ci_jsd: Interval | None
    ci_tv: Interval | None
    around_jsd: Interval | None
    around_tv: Interval | None
    chance_jsd: float | None
    chance_tv: float | None
    p: float | None
    why: str | None
    drawn_jsd: NDArray[np.float64] = field(repr=False, compare=False)


@dataclass(frozen=True)
class MeanDistance:
    """The mean divergence over `prompts` prompts, with the percentile interval and the one around the value."""

    jsd_bits: float | None
    ci: Interval | None
    around: Interval | None
    prompts: int


def measure(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Divergence (bits) and total variation of item counts of shape (..., size), as arrays (...); NaN where C is 0.

    With p = a/Σa, q = b/Σb, m = (p + q)/2: jsd = H(m) - (H(p) + H(q))/2 = Σ (p log2(p/m) + q log2(q/m))/2
    (Lin 1991, IEEE Trans. Inf. Theory 37:145-151), tv = Σ |p - q|/2. Counts in single precision, as draws are, are
    computed in it: several times as fast, and good to about a millionth of a bit.
    """
    p, q = _shares(a), _shares(b)
    middle = (p + q) / 2
    logs = np.log(np.where(middle > 0, middle, 1))
    mixed = -(middle * logs).sum(axis=-1, dtype=np.float64) / log(2)
    divergence = np.clip(mixed - (entropy(a) + entropy(b)) / 2, 0.0, 1.0)
    return divergence, np.abs(p - q).sum(axis=-1, dtype=np.float64) / 2


def compare(a: ItemSample, b: ItemSample, rng: np.random.Generator, draws: int = DRAWS) -> Distance:
    """The distance between the items of `a` and of `b`.

    p: responses are permuted between the two; the statistic is the divergence, which a difference can only enlarge, so
    the test is one-sided by nature. p = (1 + hits) / (1 + draws). ValueError when the vocabularies differ in size.
    """
    first, second = pool(a, b).compacted().parts(a.n)
    if not (len(first.codes) and len(second.codes)):
        return _undefined(draws)
    return compare_redrawn(redraw(first, draws, rng), redraw(second, draws, rng), split(first, second, draws, rng))


def compare_redrawn(a: Redrawn, b: Redrawn, splits: Splits) -> Distance:
    """As `compare`, from draws of the two that are there already."""
    if not (len(a.sample.codes) and len(b.sample.codes)):
        return _undefined(len(a.counts))
    jsd, tv = (float(value) for value in measure(a.sample.counts(), b.sample.counts()))
    drawn_jsd, drawn_tv = measure(a.counts, b.counts)
    chance_jsd, chance_tv = measure(splits.first, splits.total - splits.first)
    return Distance(
        jsd_bits=jsd,
        tv=tv,
        ci_jsd=interval(drawn_jsd),
        ci_tv=interval(drawn_tv),
        around_jsd=centred(drawn_jsd, jsd, 0.0, 1.0),
        around_tv=centred(drawn_tv, tv, 0.0, 1.0),
        chance_jsd=float(np.nanmean(chance_jsd)),
        chance_tv=float(np.nanmean(chance_tv)),
        p=p_value(jsd, chance_jsd),
        why=None,
        drawn_jsd=drawn_jsd,
    )


def average(distances: Sequence[Distance]) -> MeanDistance:
    """The mean divergence over the prompts for which it is defined, with intervals from their bootstrap draws.

    It is over people where the prompts were drawn together, response by response (`SharedDraws`), and everybody
    answered every prompt; drawn apart, it takes no account of answers that belong together. ValueError when the
    distances have different numbers of draws.
    """
    known = [(distance.jsd_bits, distance.drawn_jsd) for distance in distances if distance.jsd_bits is not None]
    if not known:
        return MeanDistance(None, None, None, 0)
    value = float(np.mean([jsd for jsd, _ in known]))
    drawn = np.mean(np.stack([draws for _, draws in known]), axis=0)
    return MeanDistance(value, interval(drawn), centred(drawn, value, 0.0, 1.0), len(known))


# --- all sources of one prompt ----------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """What `compare_sources` found, by source and by pair; differences are of measures rarefied to `n` responses."""

    n: int
    raw: dict[str, Heterogeneity]
    rarefied: dict[str, Heterogeneity]
    differences: dict[Pair, dict[str, Difference]]
    distances: dict[Pair, Distance]


def compare_sources(
    samples: Mapping[str, ItemSample], pairs: Sequence[Pair], shared: SharedDraws, n: int | None = None
) -> Comparison:
    """Measures of each source of a prompt, and for each pair (a, b) their differences a - b and their distance.

    All samples share one vocabulary. Measures and differences are rarefied to `n` responses, by default those of the
    smallest source that has any. Sources with fewer than n have no rarefied measures and no differences; those without
    responses are left out. Each source is redrawn once and each pair split once for all of its numbers, so that this
    takes less than half the time of the single functions. What is drawn depends on the names of the source or pair
    and their numbers of responses, not on what else is compared.
    """
    some = {name: sample for name, sample in samples.items() if sample.n}
    size = min((sample.n for sample in some.values()), default=0) if n is None else n
    drawn = {name: shared.redraw(sample, name) for name, sample in some.items()}
    found = Comparison(size, {name: describe_redrawn(draw) for name, draw in drawn.items()}, {}, {}, {})
    for name in [name for name in some if some[name].n >= size]:
        subsets = shared.subsets(some[name], size, name) if size < some[name].n else None
        found.rarefied[name] = rarefy_redrawn(drawn[name], size, subsets)
    for a, b in [(a, b) for a, b in pairs if a in some and b in some]:
        splits = shared.split(some[a], some[b], a, b)
        found.distances[a, b] = compare_redrawn(drawn[a], drawn[b], splits)
        if a in found.rarefied and b in found.rarefied:
            chances = permutation_test(splits, size)
            found.differences[a, b] = differences(found.rarefied[a], found.rarefied[b], chances)
    return found


def _undefined(draws: int) -> Distance:
    undrawn = np.full(draws, np.nan)
    return Distance(None, None, None, None, None, None, None, None, None, NO_ITEMS, undrawn)


def _shares(counts: NDArray[Any]) -> NDArray[Any]:
    numbers = counts if counts.dtype == np.float32 else counts.astype(np.float64)
    total = numbers.sum(axis=-1, keepdims=True)
    return numbers / np.where(total > 0, total, np.nan).astype(numbers.dtype)
