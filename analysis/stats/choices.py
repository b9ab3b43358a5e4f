"""Which option people and models choose: counts, shares, correct share, and how far two sources differ."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from analysis.stats.intervals import (
    FEW_UNITS,
    FEWEST_UNITS,
    ONE_UNIT,
    Bools,
    Floats,
    Interval,
    Ints,
    TestedDifference,
    clustered_shares,
    interval_of_error,
    p_value,
    redrawn_interval,
    share_difference,
    splits_of,
    tail_p,
    why_no_interval,
    wilson_interval,
)
from analysis.stats.item_measures import entropy, standard_error
from analysis.stats.resampling import (
    DRAWS,
    ChoiceSample,
    batches,
    bootstrap_weights,
    choose_responses,
    number_units,
    share_units,
    shuffle_within,
)
from analysis.stats.simultaneous import no_surer
from analysis.stats.speed import subset_weights

NO_RESPONSES = "There are no responses."
ALL_UNKNOWN = "No response names an option."
Shares = Floats


@dataclass(frozen=True)
class Choices:
    """The answers to one prompt from one source and model; None if undefined, with the reason in `why`.

    `counts`, `shares` and `share_ci` have one entry per option; shares are of all `n` answers, unknown ones included,
    from `units` independent units. `correct_share` counts unknown answers as wrong; `bounds` are its values if they
    were all wrong and if all were right. `entropy` is over the known answers. Numbers that need a correct option are
    None if the prompt has none. `ci_why` and `entropy_ci_why` say why shares and entropy have no interval.
    """

    n: int
    units: int
    counts: tuple[int, ...]
    shares: tuple[float | None, ...]
    share_ci: tuple[Interval | None, ...]
    unknown: int
    unknown_share: float | None
    unknown_ci: Interval | None
    correct: int | None
    correct_share: float | None
    ci: Interval | None
    ci_why: str | None
    bounds: Interval | None
    entropy: float | None
    entropy_ci: Interval | None
    entropy_ci_why: str | None
    why: str | None


@dataclass(frozen=True, kw_only=True)
class ChoiceDifference(TestedDifference):
    """Correct share of one source minus that of another, and total variation of their options, unknown included.

    `bits`: entropy of the one's known letters minus that of the other's, each freed of its sample-size bias by leaving
    out each unit in turn.
    """

    tv: TestedDifference = TestedDifference()
    bits: TestedDifference | None = None
    why: str | None = None


def describe(sample: ChoiceSample) -> Choices:
    """Count options, with Wilson's intervals of shares, in their clustered form if units have several responses; the
    entropy's interval leaves out each unit in turn.
    """
    counts, n, units = _counts(sample), sample.n, sample.unit_count
    shares = [int(count) / n if n else None for count in counts]
    cis = _share_intervals(sample)
    key = sample.correct if n else None
    bits = float(entropy(counts[:-1])) if n > sample.unknown else None
    found = _entropy_interval(sample, bits)
    return Choices(
        n=n,
        units=units,
        counts=tuple(int(count) for count in counts[:-1]),
        shares=tuple(shares[:-1]),
        share_ci=tuple(cis[:-1]),
        unknown=sample.unknown,
        unknown_share=shares[-1],
        unknown_ci=cis[-1],
        correct=sample.correct,
        correct_share=None if key is None else shares[key],
        ci=None if key is None else cis[key],
        ci_why=ONE_UNIT if units == 1 else None,
        bounds=None if key is None else (int(counts[key]) / n, int(counts[key] + counts[-1]) / n),
        entropy=bits,
        entropy_ci=found,
        entropy_ci_why=None if bits is None else why_no_interval(found, units),
        why=NO_RESPONSES if not n else ALL_UNKNOWN if n == sample.unknown else None,
    )


def compare(a: ChoiceSample, b: ChoiceSample, rng: np.random.Generator, draws: int = DRAWS) -> ChoiceDifference:
    """Compare the correct shares, a minus b, and the total variation Σ |p - q|/2 over options and unknown.

    Interval of the difference: Newcombe's, from those of both shares; if the two share units, ± t over the units'
    differences. Interval of the total variation: bootstrap over the units of both, shared ones drawn together. p:
    permutes units between the two, with one response of each if they have several, or responses within units if the two
    share some; two-sided for the correct share, one-sided for the total variation, which a difference can only enlarge.
    Raises ValueError if the two have different options or keys.
    """
    if (a.options, a.correct) != (b.options, b.correct):
        raise ValueError("Two sources can be compared when they have the same options and the same correct one.")
    if not (a.n and b.n):
        return ChoiceDifference(why=NO_RESPONSES)
    shares = [_counts(sample) / sample.n for sample in (a, b)]
    units = min(a.unit_count, b.unit_count)
    observed, split = _split(a, b, draws, rng)
    value = float(_variation(*shares))
    ci_tv = redrawn_interval(_variation(*_redrawn_both(a, b, draws, rng)), value, units, 0.0, 1.0)
    ways = 1.0 if share_units(a, b) else splits_of(a.unit_count, b.unit_count)
    off = float(_variation(*observed).mean()), _variation(*split)
    tv = _tested(value, ci_tv, why_no_interval(ci_tv, units), *off, ways)
    found = ChoiceDifference(tv=tv, bits=_entropy_difference(a, b, observed, split, ways))
    if (key := a.correct) is None:
        return found
    one, two = (float(share[key]) for share in shares)
    if share_units(a, b):
        ci = _paired_interval(a, b, key)
        why = why_no_interval(ci, units)
    else:
        ci = share_difference(one, _share_intervals(a)[key], two, _share_intervals(b)[key])
        why = None if ci else ONE_UNIT
    gaps = [part[0][..., key] - part[1][..., key] for part in (observed, split)]
    return replace(found, **vars(_tested(one - two, ci, why, abs(float(gaps[0].mean())), np.abs(gaps[1]), ways)))


def _tested(
    value: float, ci: Interval | None, why: str | None, observed: float, drawn: Shares, ways: float
) -> TestedDifference:
    p, tail = p_value(observed, drawn), tail_p(observed, drawn, ways)
    return TestedDifference(effect=value, ci=ci, ci_why=why, p=p, p_tail=tail)


def _entropy_difference(
    a: ChoiceSample, b: ChoiceSample, observed: "Parts", split: "Parts", ways: float
) -> TestedDifference:
    """Difference of the unbiased entropies. Interval: Welch's, from the errors of both; none if they share units. p:
    the larger of Welch's and that of the splits of `compare`, two-sided about their mean, since the smaller side's
    entropy is lower by chance.
    """
    (one, error), (two, other) = (_unbiased_entropy(sample) for sample in (a, b))
    units = min(a.unit_count, b.unit_count)
    if one is None or two is None:
        return TestedDifference(ci_why=FEW_UNITS if units < FEWEST_UNITS else None)
    effect, ci, welch = one - two, None, (0.0, 1.0)
    if not (error is None or other is None or share_units(a, b)):
        parts = np.array([error, other]) ** 2
        freedom = parts**2 / (np.array([a.unit_count, b.unit_count]) - 1)
        if (total := float(parts.sum())) > 0:
            welch = total**0.5, total**2 / float(freedom.sum())
            ci = interval_of_error(effect, *welch)
    gaps = [_bits(part[0]) - _bits(part[1]) for part in (observed, split)]
    seen, drawn = float(np.nanmean(gaps[0])), gaps[1][~np.isnan(gaps[1])]
    centre = float(np.append(drawn, seen).mean())
    found = _tested(effect, ci, why_no_interval(ci, units), abs(seen - centre), np.abs(drawn - centre), ways)
    if ci is None:
        return found
    return replace(found, p=no_surer(found.p, effect, *welch), p_tail=no_surer(found.p_tail, effect, *welch))


def _unbiased_entropy(sample: ChoiceSample) -> tuple[float | None, float | None]:
    """m H - (m - 1) mean(H without each unit), which has no bias of the order 1/m (Quenouille 1956), and its error;
    None below FEWEST_UNITS, where it is too rough, or if undefined.
    """
    counts, m = _counts(sample), sample.unit_count
    if m < FEWEST_UNITS or sample.n == sample.unknown:
        return None, None
    left_out = entropy((counts[:, None] - _by_unit(sample))[:-1].T)
    if np.isnan(left_out).any():
        return None, None
    bits = float(entropy(counts[:-1]))
    return float(np.clip(m * bits - (m - 1) * left_out.mean(), 0.0, np.log2(sample.options))), standard_error(left_out)


def _bits(shares: Shares) -> Shares:
    """Entropy of the known letters, from shares (..., options + 1) with unknown ones last."""
    known = shares[..., :-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = known / known.sum(axis=-1, keepdims=True)
        return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1))


def _counts(sample: ChoiceSample) -> Ints:
    """Responses per option, and unknown ones last; shape (options + 1,)."""
    return np.append(sample.counts(), sample.unknown)


def _by_unit(sample: ChoiceSample, of: Ints | None = None, units: int = 0) -> Ints:
    """`_counts` by unit, shape (options + 1, units); `of` gives each response's unit, below `units`."""
    if of is None:
        of = np.arange(sample.n) if sample.clusters is None else sample.clusters.of
    count = units or sample.unit_count
    cells = (sample.codes.astype(np.int64) % (sample.options + 1)) * count + of  # -1 becomes the last option
    return np.bincount(cells, minlength=(sample.options + 1) * count).reshape(sample.options + 1, -1)


def _by_shared_unit(a: ChoiceSample, b: ChoiceSample) -> tuple[Ints, Ints]:
    """`_by_unit` of both samples over the units of both, shapes (options + 1, units)."""
    of = number_units(a, b)
    units = int(of.max()) + 1
    return _by_unit(a, of[: a.n], units), _by_unit(b, of[a.n :], units)


def _paired_interval(a: ChoiceSample, b: ChoiceSample, key: int) -> Interval | None:
    """Interval of the share of `key` in `a` minus that in `b`, from what each unit adds to the two ratios."""
    parts, one, two = _by_shared_unit(a, b), _counts(a)[key] / a.n, _counts(b)[key] / b.n
    units = parts[0].shape[1]
    added = [(part[key] - share * part.sum(axis=0)) / part.sum() for part, share in zip(parts, (one, two), strict=True)]
    off = added[0] - added[1]
    error = float(np.sqrt(units / (units - 1) * (off @ off))) if units >= FEWEST_UNITS else None
    return interval_of_error(float(one - two), error, units - 1, -1.0, 1.0)


def _share_intervals(sample: ChoiceSample) -> list[Interval | None]:
    if sample.unit_count < 2:
        return [None] * (sample.options + 1)
    if sample.clusters is None:
        ends = wilson_interval(_counts(sample), sample.n)
    else:
        ends = clustered_shares(_by_unit(sample).astype(float), sample.clusters.sizes)
    return [(float(low), float(high)) for low, high in zip(*ends, strict=True)]


def _entropy_interval(sample: ChoiceSample, bits: float | None) -> Interval | None:
    if bits is None or sample.unit_count < FEWEST_UNITS:
        return None
    left_out = (_counts(sample)[:, None] - _by_unit(sample))[:-1].T
    most = float(np.log2(sample.options))
    return interval_of_error(bits, standard_error(entropy(left_out)), sample.unit_count - 1, 0.0, most)


def _redrawn(sample: ChoiceSample, draws: int, rng: np.random.Generator) -> Shares:
    """Shares of the options among as many units drawn with replacement, shape (draws, options + 1)."""
    if sample.clusters is None:  # they are multinomial
        counts = _counts(sample)
        return rng.multinomial(sample.n, counts / sample.n, size=draws) / sample.n
    by_unit, units = _by_unit(sample).astype(np.float32), sample.unit_count
    parts = [by_unit @ bootstrap_weights(units, width, rng) for width in batches(draws, units)]
    found = np.concatenate(parts, axis=1).T.astype(float)
    return found / found.sum(axis=1, keepdims=True)


Parts = tuple[Shares, Shares]


def _redrawn_both(a: ChoiceSample, b: ChoiceSample, draws: int, rng: np.random.Generator) -> Parts:
    """`_redrawn` of two samples, with shared units drawn together."""
    if not share_units(a, b):
        return _redrawn(a, draws, rng), _redrawn(b, draws, rng)
    one, two = (part.astype(np.float32) for part in _by_shared_unit(a, b))
    widths = batches(draws, units := one.shape[1])
    drawn = [(one @ weights, two @ weights) for weights in (bootstrap_weights(units, each, rng) for each in widths)]
    found = [np.concatenate(part, axis=1).T.astype(float) for part in zip(*drawn, strict=True)]
    return found[0] / _totals(found[0]), found[1] / _totals(found[1])


def _totals(counts: Shares) -> Shares:
    """Sum of each draw's counts; NaN if the draw has only units of the other side."""
    sums = counts.sum(axis=1, keepdims=True)
    return np.where(sums > 0, sums, np.nan)


def _split(a: ChoiceSample, b: ChoiceSample, draws: int, rng: np.random.Generator) -> tuple[Parts, Parts]:
    """Shares of the two, and of two parts of the same sizes into which all responses are split at random.

    If units have several responses, each draw takes one of each, and the observed shares are of those too; samples that
    share units are split within them.
    """
    n, m, one, two = a.n, b.n, _counts(a), _counts(b)
    if share_units(a, b):
        first = _split_within(a, b, draws, rng)
    elif a.clusters or b.clusters:
        n, m = a.unit_count, b.unit_count
        one, two, first = _split_evened(a, b, draws, rng)
    else:
        first = rng.multivariate_hypergeometric(one + two, n, size=draws, method="marginals")
    return (one / n, two / m), (first / n, (one + two - first) / m)


def _split_evened(a: ChoiceSample, b: ChoiceSample, draws: int, rng: np.random.Generator) -> Iterator[Ints]:
    sizes = a.unit_count, b.unit_count
    tallies: list[list[Ints]] = [[], [], []]  # for the two, and for the first part of a random split
    for width in batches(draws, sum(sizes)):
        chosen = [s.codes[choose_responses(s.clusters, s.unit_count, width, rng)] for s in (a, b)]
        masks = subset_weights(sum(sizes), sizes[0], width, rng) > 0
        found = *(_tally(some, a.options) for some in chosen), _tally(np.concatenate(chosen), a.options, masks)
        for tally, some in zip(tallies, found, strict=True):
            tally.append(some)
    return map(np.concatenate, tallies)


def _split_within(a: ChoiceSample, b: ChoiceSample, draws: int, rng: np.random.Generator) -> Ints:
    """Counts of the first part after each unit's responses are permuted between its two parts."""
    codes = np.concatenate([a.codes, b.codes])
    is_first, shuffles = shuffle_within(number_units(a, b), a.n, batches(draws, a.n + b.n), rng)
    return np.concatenate([_tally(codes[some[is_first]], a.options) for some in shuffles])


def _tally(codes: NDArray[np.int8], options: int, masks: Bools | None = None) -> Ints:
    """How often each option occurs in each column of codes (responses, draws), unknown last; (draws, options + 1)."""
    counts = [((codes == option) & (True if masks is None else masks)).sum(axis=0) for option in (*range(options), -1)]
    return np.stack(counts, axis=1)


def _variation(p: Shares, q: Shares) -> Shares:
    return np.asarray(np.minimum(np.abs(p - q).sum(axis=-1) / 2, 1.0))  # rounding may push a sum past 1


@dataclass(frozen=True)
class NewLetters:
    """Number of options that one of two samples of `n` answers has and the other lacks: `value` is its mean over draws
    without replacement, `chance` that of two such samples from both together; 95 in 100 of these are in `expected`.
    """

    n: int
    value: float
    chance: float
    expected: Interval


def new_letters(
    one: Ints, n: int, other: Ints, other_n: int, rng: np.random.Generator, draws: int = DRAWS
) -> NewLetters:
    """Estimate the options that `one` has and `other` lacks, from their counts among `n` and `other_n` answers."""
    size, both = min(n, other_n), one + other
    value = (1 - _none_among(one, n, size)) * _none_among(other, other_n, size)
    chance = _none_among(both, n + other_n, size) - _none_among(both, n + other_n, 2 * size)
    all_of = np.append(both, n + other_n - both.sum())  # unknown ones last
    drawn = rng.multivariate_hypergeometric(all_of, 2 * size, size=draws)
    new, left, wanted = np.zeros(draws, np.int64), np.full(draws, 2 * size), np.full(draws, size)
    for option in drawn.T[:-1]:  # each draw split into two halves, option by option
        left = left - option
        first = rng.hypergeometric(option, left, wanted)
        wanted = wanted - first
        new += (first > 0) & (first == option)
    low, high = np.quantile(new, [0.025, 0.975], method="inverted_cdf")
    return NewLetters(size, float(value.sum()), max(0.0, float(chance.sum())), (float(low), float(high)))


def _none_among(count: Ints, n: int, size: int) -> Floats:
    """Chance that none of `size` of n answers, drawn without replacement, is among `count` of them."""
    left = n - count - size
    ways = gammaln(n - count + 1) + gammaln(n - size + 1) - gammaln(n + 1) - gammaln(np.maximum(left, 0) + 1)
    return np.where(left < 0, 0.0, np.exp(ways))
