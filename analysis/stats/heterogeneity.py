"""How varied recommendations are, raw and rarefied, and how far apart two sources are; for a whole prompt at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import (
    FEWEST_UNITS,
    NO_WIDTH_OF_DRAWS,
    Floats,
    Interval,
    TestedDifference,
    clustered_shares,
    interval_of_error,
    mean_of_known,
    p_value,
    redrawn_interval,
    splits_of,
    t_quantile,
    tail_p,
    why_no_interval,
    wilson_interval,
)
from analysis.stats.item_measures import (
    ITEM_MEASURES,
    MEASURES,
    Counted,
    Measured,
    counted_once,
    errors,
    in_cache,
    measure,
    rarefied_errors,
    rarefied_measures,
)
from analysis.stats.resampling import (
    DRAWS,
    ItemSample,
    Redrawn,
    SharedDraws,
    Splits,
    batches,
    bootstrap_weights,
    number_units,
    pool,
    redraw,
    share_units,
    split,
)
from analysis.stats.simultaneous import no_surer, student_p

# --- one source, and two of them compared

NO_ITEMS = "No response names an item."
Chance = tuple[float | None, float | None]  # a p by draws, and by its tail


@dataclass(frozen=True)
class Heterogeneity:
    """The three measures over `n` responses to one prompt from one source and model; None if undefined, see `why`.

    `unknown` of the sample's responses name nothing; the sample has `units` independent units. `ci` is value ± t
    `error` with units - 1 degrees of freedom, where `error` leaves out each unit in turn (`jackknife`). In simulations
    with 5 to 400 units of long-tailed items, alike or in clusters, it contains the mean of such samples in 92 to 98 of
    100. `ci_why` gives the reason for each measure that has a value but no interval. Rarefied measures are of n units,
    one response of each; `error` and `units` are still the sample's.
    """

    n: int
    unknown: int
    units: int
    values: dict[str, float | None]
    ci: dict[str, Interval | None]
    ci_why: dict[str, str]
    error: dict[str, float | None]
    why: str | None


@dataclass(frozen=True, kw_only=True)
class Difference(TestedDifference):
    """A measure of one source minus that of another, both rarefied to `n` units; None if undefined."""

    n: int
    value: float | None
    other: float | None


def describe(sample: ItemSample) -> Heterogeneity:
    """Measure all responses, with intervals over units."""
    return _heterogeneity(sample, sample.n, _values(sample), errors(sample.counts(), sample.by_unit))


def share_intervals(sample: ItemSample) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of each item's share of responses, shape (size,); NaN for one unit."""
    if sample.clusters:
        return clustered_shares(sample.by_unit.toarray().astype(float), sample.clusters.sizes)
    lows, highs = wilson_interval(sample.counts(), sample.n)
    return (lows, highs) if sample.n > 1 else (np.full_like(lows, np.nan), np.full_like(highs, np.nan))


def rarefy(sample: ItemSample, n: int, subsets: NDArray[np.float32] | None) -> Heterogeneity:
    """Average the measures of `n` units, one response of each, over draws without replacement.

    `subsets`: item counts of such draws, shape (draws, size), needed unless n is all and each unit has one response.
    `unique` then agrees with its closed form in `rarefied_measures`.
    """
    if subsets is None:
        return describe(sample)
    values = {name: _mean(found) for name, found in measure(subsets).items()}
    return _heterogeneity(sample, n, values, rarefied_errors(sample.chances, n))


def differences(a: Heterogeneity, b: Heterogeneity, chances: dict[str, Chance]) -> dict[str, Difference]:
    """Subtract `b` from `a`, both rarefied to the same n; p is no smaller than that of the interval."""
    return {name: _difference(a, b, name, chances[name]) for name in MEASURES}


def permutation_test(splits: Splits, n: int) -> dict[str, Chance]:
    """Test, two-sided, whether each measure differs after rarefaction to `n` units: p by permutation, and by its tail
    (`tail_p`).

    If all units were of one source, every split of the pool into parts of the two sizes would be as likely as the
    observed one; this makes the test valid for any statistic of a split. The statistic is the difference between the
    rarefied measures of the two parts, which follow from their counts without further draws (`rarefied_measures`). If
    the parts differ in size, the statistic is centred on its mean over all splits, since rarefying the larger part does
    not wholly remove the influence of size on the top five. p = (1 + hits) / (1 + draws). If each draw takes other
    responses of the units, the observed statistic is its mean over the draws.
    """
    observed = _split_difference(splits, splits.seen, n)
    drawn = _split_difference(splits, splits.drawn, n)
    return {name: _two_sided_p(observed[name], drawn[name], splits) for name in MEASURES}


def _split_difference(splits: Splits, parts: tuple[Counted, Counted], n: int) -> Measured:
    a, b = rarefied_measures(parts[0], splits.n_first, n), rarefied_measures(parts[1], splits.n_second, n)
    return {name: a[name] - b[name] for name in MEASURES}


def _two_sided_p(observed: Floats, drawn: Floats, splits: Splits) -> Chance:
    if np.isnan(observed).all():
        return None, None
    seen = mean_of_known(observed)
    centre = 0.0 if splits.n_first == splits.n_second else mean_of_known(np.append(drawn, seen))
    off, all_off = abs(seen - centre), np.abs(drawn - centre)
    return p_value(off, all_off), tail_p(off, all_off, splits_of(splits.n_first, splits.n_second))


def _difference(a: Heterogeneity, b: Heterogeneity, name: str, chance: Chance) -> Difference:
    value, other = a.values[name], b.values[name]
    if value is None or other is None:
        return Difference(n=a.n, value=value, other=other)
    one, two, units = a.error[name], b.error[name], min(a.units, b.units)
    error = None if one is None or two is None or units < FEWEST_UNITS else (one * one + two * two) ** 0.5
    # Fewer degrees of freedom than Welch's: the errors of few unlike users are too small as often as too large.
    effect = value - other
    ci = interval_of_error(effect, error, units - 1)
    why = why_no_interval(ci, units)
    p, tail = (no_surer(each, effect, error, units - 1) if ci and error else each for each in chance)
    return Difference(n=a.n, value=value, other=other, effect=effect, ci=ci, ci_why=why, p=p, p_tail=tail)


def _heterogeneity(
    sample: ItemSample, n: int, values: dict[str, float | None], error: dict[str, float | None]
) -> Heterogeneity:
    units = sample.unit_count
    ci = {
        name: interval_of_error(values[name], error[name], units - 1, 0.0, ITEM_MEASURES[name].most)
        if units >= FEWEST_UNITS
        else None
        for name in MEASURES
    }
    reasons = {name: why_no_interval(ci[name], units) for name in MEASURES if values[name] is not None}
    ci_why = {name: why for name, why in reasons.items() if why}
    return Heterogeneity(n, sample.unknown, units, values, ci, ci_why, error, None if len(sample.codes) else NO_ITEMS)


def _values(sample: ItemSample) -> dict[str, float | None]:
    return {name: None if isnan(value) else float(value) for name, value in measure(sample.counts()).items()}


def _mean(drawn: Floats) -> float | None:
    """Average the draws in which something is named; None if there are none."""
    return None if np.isnan(drawn).all() else mean_of_known(drawn)


def mean_difference(found: Sequence[Difference], drawn: Sequence[Floats], units: int) -> TestedDifference:
    """Mean difference; its error is sqrt(Σ ρ_jk e_j e_k)/prompts: e_j that of each difference, ρ_jk the correlation of
    `drawn` ones, whose units are drawn together for all prompts. By Student's t with units - 1 degrees of freedom; no
    mean if one difference is undefined, no interval or p if one has no interval.
    """
    effects = [each.effect for each in found if each.effect is not None]
    errors = np.array([(each.ci[1] - each.ci[0]) / 2 / t_quantile(each.n - 1) for each in found if each.ci])
    if len(effects) < len(found):
        return TestedDifference()
    effect = float(np.mean(effects))
    if len(errors) < len(found):
        return TestedDifference(effect=effect, ci_why=why_no_interval(None, units))
    draws = np.stack(drawn)
    together = np.corrcoef(draws[:, ~np.isnan(draws).any(axis=0)])
    error = float(np.sqrt(max(0.0, errors @ np.nan_to_num(together) @ errors))) / len(found)
    ci = interval_of_error(effect, error, units - 1)
    p = student_p(effect, error, units - 1) if ci else None
    return TestedDifference(effect=effect, ci=ci, ci_why=why_no_interval(ci, units), p=p)


# --- distances: Jensen-Shannon divergence, total variation

Pair = tuple[str, str]
NONE_TO_COMPARE = "One of the two sources names no item."
NO_SHARE = np.float32(1e-30)  # below any actual share


@dataclass(frozen=True)
class Distance:
    """Distance of two item distributions: divergence in bits and total variation, both 0 … 1; None if undefined.

    Sampling alone makes distributions differ: `chance_*` is the mean distance if the units of both are split at random
    into two such samples; a distance not above it is none. If units have several responses, splits take one of each;
    `even_*` is the mean distance of such samples, to compare with `chance_*`, and otherwise the distance itself. `ci_*`
    are bootstrap intervals over the units of both, moved by the draws' bias, since redrawn distances are larger still;
    `ci_why` and `ci_tv_why` say why there is none. `drawn_jsd` are the draws, for `mean_excess`, `split_jsd` the
    distances of the splits, and `units` the number of units of the smaller side.
    """

    jsd_bits: float | None
    tv: float | None
    ci_jsd: Interval | None
    ci_tv: Interval | None
    even_jsd: float | None
    even_tv: float | None
    chance_jsd: float | None
    chance_tv: float | None
    p: float | None
    p_tail: float | None
    why: str | None
    ci_why: str | None
    ci_tv_why: str | None
    units: int
    drawn_jsd: Floats = field(repr=False, compare=False)
    split_jsd: Floats = field(repr=False, compare=False)


def measure_distance(a: NDArray[Any] | Counted, b: NDArray[Any] | Counted) -> tuple[Floats, Floats]:
    """Divergence (bits) and total variation of item counts of shape (..., size), as arrays (...); NaN if C is 0.

    With p = a/Σa, q = b/Σb, m = (p + q)/2: jsd = H(m) - (H(p) + H(q))/2 = Σ (p log2(p/m) + q log2(q/m))/2 (Lin 1991,
    IEEE Trans. Inf. Theory 37:145-151), tv = Σ |p - q|/2. Counts in single precision, as draws are, are computed in it:
    several times as fast, and good to about a millionth of a bit.
    """
    one, other = counted_once(a), counted_once(b)
    bits = (one.bits + other.bits) / 2
    if one.counts.ndim == other.counts.ndim == 2 and len(one.counts) == len(other.counts):
        parts = [_mixed(one.shares_of(some), other.shares_of(some)) for some in in_cache(one.counts)]
        mixed, gaps = (np.concatenate(each) for each in zip(*parts, strict=True))
    else:
        mixed, gaps = _mixed(one.shares_of(...), other.shares_of(...))
    return np.clip(mixed - bits, 0.0, 1.0), np.minimum(gaps, 1.0)


def _mixed(p: NDArray[Any], q: NDArray[Any]) -> tuple[Floats, Floats]:
    """H(m) in bits, and the total variation, of shares."""
    middle = p + q
    middle /= 2
    terms = middle + NO_SHARE  # 0 log 0 is 0; any other share stays what it is
    np.log(terms, out=terms)
    terms *= middle
    gaps = np.abs(np.subtract(p, q, out=middle), out=middle)
    return -terms.sum(axis=-1, dtype=np.float64) / log(2), gaps.sum(axis=-1, dtype=np.float64) / 2


def compare(a: ItemSample, b: ItemSample, rng: np.random.Generator, draws: int = DRAWS) -> Distance:
    """Measure the distance between the items of `a` and of `b`.

    Units that are in both are drawn together. p: permutes units between the two, or responses within units if they
    share any; the statistic is the divergence, which a difference can only enlarge, so the test is one-sided by nature.
    p = (1 + hits) / (1 + draws). Raises ValueError if the vocabularies differ in size.
    """
    first, second = pool(a, b).compacted().parts(a.n)
    if not (len(first.codes) and len(second.codes)):
        return _undefined(draws)
    drawn = _redraw_both(first, second, draws, rng)
    return compare_redrawn(*drawn, split(first, second, draws, rng))


def _redraw_both(a: ItemSample, b: ItemSample, draws: int, rng: np.random.Generator) -> tuple[Redrawn, Redrawn]:
    if not share_units(a, b):
        return redraw(a, draws, rng), redraw(b, draws, rng)
    of = number_units(a, b)
    units = int(of.max()) + 1
    by_unit = a.by_units(of[: a.n], units), b.by_units(of[a.n :], units)
    drawn = []
    for batch in batches(draws, units, a.size):
        weights = bootstrap_weights(units, batch, rng)
        drawn.append([(counts @ weights).T for counts in by_unit])
    one, other = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    return Redrawn(a, one), Redrawn(b, other)


def compare_redrawn(a: Redrawn, b: Redrawn, splits: Splits) -> Distance:
    """Compare as `compare` does, from existing draws of the two."""
    if not (len(a.sample.codes) and len(b.sample.codes)):
        return _undefined(len(a.counts))
    jsd, tv = (float(value) for value in measure_distance(a.sample.counts(), b.sample.counts()))
    drawn_jsd, drawn_tv = measure_distance(a.counted, b.counted)
    chance_jsd, chance_tv = measure_distance(*splits.drawn)
    even_jsd, even_tv = np.array(jsd), np.array(tv)
    if splits.observed.ndim > 1:
        even_jsd, even_tv = measure_distance(*splits.seen)
    units = min(a.sample.unit_count, b.sample.unit_count)
    ci_jsd, ci_tv = (redrawn_interval(*of, units, 0.0, 1.0) for of in ((drawn_jsd, jsd), (drawn_tv, tv)))
    seen, by_chance = mean_of_known(even_jsd), p_value(mean_of_known(even_jsd), chance_jsd)
    # If units of both are split within themselves, there are fewer ways than to split all.
    tail = (
        by_chance
        if share_units(a.sample, b.sample)
        else tail_p(seen, chance_jsd, splits_of(splits.n_first, splits.n_second))
    )
    return Distance(
        jsd_bits=jsd,
        tv=tv,
        ci_jsd=ci_jsd,
        ci_tv=ci_tv,
        even_jsd=seen,
        even_tv=mean_of_known(even_tv),
        chance_jsd=mean_of_known(chance_jsd),
        chance_tv=mean_of_known(chance_tv),
        p=by_chance,
        p_tail=tail,
        why=None,
        ci_why=why_no_interval(ci_jsd, units, drawn_jsd),
        ci_tv_why=why_no_interval(ci_tv, units, drawn_tv),
        units=units,
        drawn_jsd=drawn_jsd,
        split_jsd=chance_jsd,
    )


@dataclass(frozen=True)
class EvenDistance:
    """Mean divergence (bits) of `n` units of each side, one response of each, and of two such samples by chance."""

    n: int
    jsd_bits: float
    chance: float


def distance_at(a: ItemSample, b: ItemSample, n: int, shared: SharedDraws, names: Pair) -> EvenDistance | None:
    """Measure the distance of `n` units of each side, drawn without replacement, and by chance: of two random halves of
    twice as many units of both together. None if a side has fewer, or draws name no item.
    """
    if not n or min(a.unit_count, b.unit_count) < n:
        return None
    parts = [_drawn_down(sample, n, shared, name) for sample, name in zip((a, b), names, strict=True)]
    own, mixed = (measure_distance(*pair)[0] for pair in (parts, shared.halves(a, b, n, *names)))
    if np.isnan(own).all() or np.isnan(mixed).all():
        return None
    return EvenDistance(n, mean_of_known(own), mean_of_known(mixed))


def _drawn_down(sample: ItemSample, n: int, shared: SharedDraws, name: str) -> NDArray[np.float32]:
    """Item counts of n units, one row per draw; a single row if n is all and each unit has one response."""
    if n == sample.unit_count and not sample.clusters:
        return sample.counts()[None].astype(np.float32)
    return shared.subsets(sample, n, name)


# --- how far above chance, and which of two sources is farther


@dataclass(frozen=True)
class MeanExcess:
    """The mean divergence over `prompts` prompts, and how far it lies above chance; None if undefined.

    Small samples lie farther apart than large ones even if nothing differs, so only the `excess` compares sources of
    different sizes: divergence of one answer per unit minus `chance`, that of random splits of such answers into the
    same sizes. In simulations with long-tailed items it is on average within .005 bits of the populations' divergence
    for n = 40 and 400, near and far. Intervals are over units, of which the smaller side has `units`; `ci_why` says why
    there is none. `drawn` are the divergence's draws, shape (draws,).
    """

    jsd_bits: float | None
    ci_jsd: Interval | None
    chance: float | None
    excess: float | None
    ci: Interval | None
    ci_why: str | None
    prompts: int
    units: int
    drawn: Floats = field(repr=False, compare=False)


def mean_excess(distances: Sequence[Distance]) -> MeanExcess:
    """Average over the prompts that have a distance, with intervals from their bootstrap draws.

    These are over people if the prompts were drawn together, unit by unit (`SharedDraws`), and everybody answered every
    prompt; drawn apart, they ignore which answers belong together. Raises ValueError if the distances have different
    numbers of draws.
    """
    known = [found for found in distances if found.jsd_bits is not None]
    if not known:
        return MeanExcess(None, None, None, None, None, None, 0, 0, np.full(1, np.nan))
    numbers = np.array([(found.jsd_bits, found.chance_jsd, found.even_jsd) for found in known], dtype=float)
    jsd, chance, even = numbers.mean(axis=0)
    drawn = np.mean(np.stack([found.drawn_jsd for found in known]), axis=0)
    units, excess = min(found.units for found in known), float(even - chance)
    ci_jsd, ci = redrawn_interval(drawn, float(jsd), units, 0.0, 1.0), redrawn_interval(drawn, excess, units, -1.0, 1.0)
    why = why_no_interval(ci, units, drawn)
    return MeanExcess(float(jsd), ci_jsd, float(chance), excess, ci, why, len(known), units, drawn)


def p_farther(near: MeanExcess, far: MeanExcess) -> float:
    """Two-sided p of so large a difference between two sources equally far from one field, by Student's t.

    1 if there are too few units for an interval.
    """
    units = min(near.units, far.units)
    if near.excess is None or far.excess is None or units < FEWEST_UNITS:
        return 1.0
    apart = far.drawn - near.drawn
    error = float(np.nanstd(apart)) * (units / (units - 1)) ** 0.5
    return student_p(far.excess - near.excess, error, units - 1) if error > NO_WIDTH_OF_DRAWS else 1.0


# --- all sources of one prompt


@dataclass(frozen=True)
class Comparison:
    """The results of `compare_sources`, by source and by pair.

    In a pair, the second's `rarefied` measures are of as many units as the smaller of the two has, and `beside` has
    those of the first at that n. The first's are of all its units, one response of each; those of sources in no pair
    are of as many units as these are rarefied to. `drawn` has the measures of the draws of each source in a pair.
    """

    raw: dict[str, Heterogeneity]
    rarefied: dict[str, Heterogeneity]
    beside: dict[str, Heterogeneity]
    differences: dict[Pair, dict[str, Difference]]
    distances: dict[Pair, Distance]
    drawn: dict[str, Measured]


def compare_sources(
    samples: Mapping[str, ItemSample], pairs: Sequence[Pair], shared: SharedDraws, n: int | None = None
) -> Comparison:
    """Measure each source of a prompt, and for each pair (a, b) their differences a - b and their distance.

    All samples share one vocabulary; those without responses are left out. Each pair is rarefied to the smaller of its
    own two sides; a source in no pair, to `n` units, by default all of its own, with no rarefied measures if it has
    fewer. Each source is redrawn once and each pair split once for all of its numbers. Draws depend on the names of the
    source or pair and their numbers of responses, not on what else is compared.
    """
    some = {name: sample for name, sample in samples.items() if sample.n}
    found = Comparison({name: describe(sample) for name, sample in some.items()}, {}, {}, {}, {}, {})
    rarefied: dict[tuple[str, int], Heterogeneity] = {}

    def rarefy_to(name: str, units: int) -> Heterogeneity:
        if (name, units) not in rarefied:
            sample = some[name]
            is_whole = units == sample.unit_count and not sample.clusters
            subsets = None if is_whole else shared.subsets(sample, units, name)
            rarefied[name, units] = found.raw[name] if is_whole else rarefy(sample, units, subsets)
        return rarefied[name, units]

    compared = [(a, b) for a, b in pairs if a in some and b in some]
    apart = {name: n or some[name].unit_count for name in some if all(name not in pair for pair in compared)}
    found.rarefied.update({a: rarefy_to(a, some[a].unit_count) for a, _ in compared})
    found.rarefied.update({name: rarefy_to(name, m) for name, m in apart.items() if some[name].unit_count >= m})
    drawn = {
        name: shared.redraw(some[name], name) for name in dict.fromkeys(name for pair in compared for name in pair)
    }
    found.drawn.update({name: measure(each.counted) for name, each in drawn.items()})
    for a, b in compared:
        splits = shared.split(some[a], some[b], a, b)
        found.distances[a, b] = compare_redrawn(drawn[a], drawn[b], splits)
        smaller = min(some[a].unit_count, some[b].unit_count)
        chances = permutation_test(splits, smaller)
        found.beside[b], found.rarefied[b] = rarefy_to(a, smaller), rarefy_to(b, smaller)
        found.differences[a, b] = differences(found.beside[b], found.rarefied[b], chances)
    return found


def _undefined(draws: int) -> Distance:
    undrawn = np.full(draws, np.nan)
    return Distance(*(None,) * 10, NONE_TO_COMPARE, None, None, 0, undrawn, undrawn)
