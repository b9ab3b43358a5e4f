"""The blend of sources nearest to the field, without the bias of small samples.

How unlike the answers of several sides are, as means over pairs of different units, and each unit's part in them; from
these a blend's weights, its distance to the field, held against people it was not fitted to, and the chance of luck.

The distance of distributions P and Q is 2 E δ(P, Q) − E δ(P, P′) − E δ(Q, Q′) (the energy distance, Székely and Rizzo
2013, J. Stat. Plan. Inference 143:1249-1272), 0 if both give all items equally often. 1 − δ is positive definite:
shared items are an inner product, 1 / max(a, b) is the smaller of 1 / a and 1 / b, and products of such kernels are. So
δ is of negative type, the distance a squared one (Sejdinovic et al. 2013, Ann. Stat. 41:2263-2291), convex in weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtr

from analysis.stats.intervals import (
    ALIKE,
    FEWEST_UNITS,
    Bools,
    Floats,
    Interval,
    Ints,
    Z,
    interval_of_error,
    t_quantile,
    why_no_interval,
)
from analysis.stats.persons.numbers import PersonEstimate

AT_ONCE = 200  # draws: with more, their weights leave the processor's cache
NO_PAIR = "Without one of its units a side has no two answers to compare."


@dataclass(frozen=True, eq=False)
class PromptAnswers:
    """Answers to one prompt: `said` (k, features) of each unit on each side, and its `side` and `unit` (k,).

    1 − δ of two answers is the inner product of what they said. A unit may answer for several sides, as a simulated
    user does that two runs share; `alike` (pairs,) are the products of what it said with itself, at `own` (2, pairs).
    Answers are sorted by side.
    """

    said: csr_matrix
    side: Ints
    unit: Ints
    own: Ints
    alike: Floats

    def where(self, kept: Bools) -> "PromptAnswers":
        mine, place = kept[self.own].all(axis=0), np.cumsum(kept) - 1
        own = place[self.own[:, mine]]
        return PromptAnswers(self.said[kept], self.side[kept], self.unit[kept], own, self.alike[mine])


def compare(named: csr_matrix, side: Ints, unit: Ints) -> PromptAnswers:
    """From answers (n, items), 1 if one names an item or takes a letter; leaves out answers that name nothing.

    δ = 1 − |A ∩ B| / max(|A|, |B|), as in `unlike_lists`: 1 / max is the sum over lengths l no smaller than either of 1
    / l minus 1 / the next length, so each item is a feature for each l that is no smaller than its answer.
    """
    lengths = np.asarray(named.sum(axis=1)).ravel()
    kept = lengths > 0
    named, lengths, side, unit = named[kept], lengths[kept], side[kept], unit[kept]
    levels = np.unique(lengths)
    steps = 1 / levels - 1 / np.append(levels[1:], np.inf)
    blocks = [
        named.multiply((lengths <= level)[:, None] * np.sqrt(step)) for level, step in zip(levels, steps, strict=True)
    ]
    units = int(unit.max(initial=0)) + 1
    pairs, place, given = np.unique(side * units + unit, return_inverse=True, return_counts=True)
    mean = csr_matrix((1 / given[place], (place, np.arange(len(place)))), (len(pairs), len(place)))
    said = csr_matrix(mean @ csr_matrix(hstack(blocks))) if blocks else csr_matrix((0, 1))
    said = said[:, said.getnnz(axis=0) > 1]  # what only one unit names is shared with no other
    held = csr_matrix((np.ones(len(pairs)), (np.arange(len(pairs)), pairs % units)))
    one, other = (held @ held.T).nonzero()  # which two are one unit's, each with itself among them
    alike = np.asarray(said[one].multiply(said[other]).sum(axis=1)).ravel()
    return PromptAnswers(said, pairs // units, pairs % units, np.stack([one, other]).astype(np.int64), alike)


@dataclass(frozen=True, eq=False)
class BlendSides:
    """Answers of `sides` sides to some prompts, which count the same; side 0 is the field. Units are 0 … units-1."""

    prompts: Sequence[PromptAnswers]
    sides: int
    units: int

    @cached_property
    def answered(self) -> csr_matrix:
        """Which unit answered for which side (units, sides)."""
        places = [np.concatenate([getattr(prompt, name) for prompt in self.prompts]) for name in ("unit", "side")]
        return csr_matrix((np.ones(len(places[0])), places), (self.units, self.sides)) > 0

    @cached_property
    def group_of(self) -> Ints:
        """The group of each unit (units,): its side, or several that share units; -1 for a unit without answers."""
        held = self.answered.astype(np.int64)
        groups = connected_components(held.T @ held, directed=False)[1]
        known, found = held.getnnz(axis=1) > 0, np.full(self.units, -1)
        found[known] = groups[held.indices[held.indptr[:-1][known]]]
        return found

    @cached_property
    def counts(self) -> Ints:
        """Units of each side in all, and at least per prompt: shape (2, sides)."""
        of_prompts = [np.bincount(prompt.side, minlength=self.sides) for prompt in self.prompts]
        return np.stack([self.answered.getnnz(axis=0), np.min(of_prompts, axis=0)])

    def where(self, units: Bools) -> "BlendSides":
        """Only these units."""
        return BlendSides([prompt.where(units[prompt.unit]) for prompt in self.prompts], self.sides, self.units)

    def means(self, weights: Floats) -> Floats:
        """Mean unlikeness of the sides (draws, sides, sides), each unit counted with its weight (draws, units).

        Σ w_i w_j δ_ij / Σ w_i w_j over pairs of different units, averaged over prompts (a U-statistic: its expectation
        is that of the populations for samples of any size). NaN if a side has no pair.
        """
        parts = (np.ascontiguousarray(weights[at : at + AT_ONCE].T) for at in range(0, len(weights), AT_ONCE))
        sums = [reduce(np.add, (_means(prompt, self.sides, part) for prompt in self.prompts)) for part in parts]
        return np.concatenate(sums) / len(self.prompts)

    @cached_property
    def measured(self) -> "SideMeans":
        """The means with all units counted alike, and without each."""
        found = reduce(np.add, (_without_each(prompt, self.sides, self.units) for prompt in self.prompts))
        found = found / len(self.prompts)
        return SideMeans(found[-1], found[:-1], self.group_of)


def _means(prompt: PromptAnswers, sides: int, weights: Floats) -> Floats:
    """The means of one prompt, (draws, sides, sides), with weights (units, draws)."""
    given = weights[prompt.unit]
    of_side = [slice(*ends) for ends in pairwise(np.searchsorted(prompt.side, np.arange(sides + 1)))]
    said = [prompt.said[mine].T @ given[mine] for mine in of_side]
    total = [given[mine].sum(axis=0) for mine in of_side]
    one, other = prompt.own
    both = given**2 if len(one) == len(given) else given[one] * given[other]  # nobody answers for two sides
    places = (prompt.side[one] * sides + prompt.side[other], np.arange(len(one)))
    own, alike = (
        csr_matrix((each, places), (sides * sides, len(one))) @ both for each in (np.ones(len(one)), prompt.alike)
    )
    found = np.empty((weights.shape[1], sides, sides))
    for a in range(sides):
        for b in range(a, sides):
            pairs = total[a] * total[b] - own[a * sides + b]
            shared = np.einsum("fd,fd->d", said[a], said[b]) - alike[a * sides + b]
            found[:, a, b] = found[:, b, a] = _unlike(shared, pairs)
    return found


def _unlike(shared: Floats, pairs: Floats) -> Floats:
    return 1 - shared / np.where(pairs > 1e-9, pairs, np.nan)


def _without_each(prompt: PromptAnswers, sides: int, units: int) -> Floats:
    """The means without each unit, and last those of all units (units + 1, sides, sides)."""
    k = len(prompt.side)
    whose = csr_matrix((np.ones(k), (np.arange(k), prompt.side)), (k, sides))
    sums = (prompt.said @ (prompt.said.T @ whose)).toarray(), np.tile(np.bincount(prompt.side, minlength=sides), (k, 1))
    found = []
    for summed, of_own in zip(sums, (prompt.alike, np.ones(len(prompt.alike))), strict=True):
        to_others = summed.astype(float)
        to_others[prompt.own[0], prompt.side[prompt.own[1]]] -= of_own  # a unit has one row on each side
        of_unit = np.zeros((units + 1, sides, sides))
        of_unit[prompt.unit, prompt.side] = to_others
        found.append(of_unit.sum(axis=0) - of_unit - of_unit.transpose(0, 2, 1))
    return _unlike(*found)


@dataclass(frozen=True, eq=False)
class SideMeans:
    """Means (sides, sides), those `without` each unit (units, sides, sides), and each unit's group (units,)."""

    means: Floats
    without: Floats
    group_of: Ints

    def linear(self, weights: Floats) -> tuple[float, Floats]:
        """Σ weights (sides, sides) × means, and its change without each unit (units,)."""
        value = float((weights * self.means).sum())
        return value, (weights * self.without).sum(axis=(1, 2)) - value

    def estimate(self, weights: Floats, least: float = -np.inf) -> PersonEstimate:
        return estimate(*self.linear(weights), self.group_of, least)


def estimate(value: float, change: Floats, group: Ints, least: float = -np.inf) -> PersonEstimate:
    """A number with its interval: leaving out each unit (Tukey 1958), errors of independent groups of units added up.

    `change` (units,): the change without each unit; a `group` below 0 means none. Degrees of freedom are Welch's (1947,
    Biometrika 34:28-35) over the groups that the number rests on; `units` are those of the smallest of them.
    """
    groups = [change[group == one] for one in np.unique(group[group >= 0])]
    sizes = np.array([len(part) for part in groups], dtype=float)
    parts = np.array([(len(part) - 1) / len(part) * float(part @ part) for part in groups])
    used = parts > 1e-18
    fewest = int((sizes[used] if used.any() else sizes).min())
    error = float(np.sqrt(parts.sum()))
    if not used.any() or np.isnan(error) or fewest < FEWEST_UNITS:
        why = NO_PAIR if np.isnan(change).any() else why_no_interval(None, fewest)
        return PersonEstimate(None if np.isnan(value) else value, None, fewest, why=why)
    freedom = float(parts.sum() ** 2 / (parts[used] ** 2 / (sizes[used] - 1)).sum())
    ci = interval_of_error(value, error, freedom, least)
    return PersonEstimate(value, ci, fewest, error, freedom, None if ci else why_no_interval(None, fewest))


FEWEST_TESTED = 10  # with fewer people, there are numbers but no test
FOLDS = 5
FEW_PEOPLE = f"Fewer than {FEWEST_TESTED} people: too few to hold a blend against luck."
FEW_TO_SPLIT = "Too few people, simulated users or repeats to fit a blend to some and hold it against others."
STEPS, SETTLED = 2_000, 1e-9


def contrast(weights: Floats) -> Floats:
    """The coefficients of a blend's distance, (…, sides, sides) for weights (…, sources): −v vᵀ with v = (−1, w)."""
    whole = np.concatenate([np.full((*weights.shape[:-1], 1), -1.0), weights], axis=-1)
    return -whole[..., :, None] * whole[..., None, :]


def distances(means: Floats, weights: Floats) -> Floats:
    """Distances of blends with weights (…, sources), by means (…, sides, sides)."""
    return np.asarray((contrast(weights) * means).sum(axis=(-2, -1)))


def fit(means: Floats) -> Floats:
    """Find the nearest weights (draws, sources), none below 0 and summing to 1, by means (draws, sides, sides).

    Starting from the nearest single source, moves weight from the source where it does least to the one where it would
    do most, as far as that helps (sequential minimal optimisation, Platt 1998). Samples may lack the convexity of their
    populations: then all of a source's weight moves.
    """
    to_field, among = means[:, 0, 1:], means[:, 1:, 1:]
    draws, sources = to_field.shape
    every = np.arange(draws)
    alone = 2 * to_field - np.einsum("dss->ds", among)
    weights = np.eye(sources)[np.argmin(alone, axis=1)]
    for _ in range(STEPS):
        slope = 2 * (to_field - np.einsum("dst,dt->ds", among, weights))
        to, out = np.argmin(slope, axis=1), np.argmax(np.where(weights > 0, slope, -np.inf), axis=1)
        gain = slope[every, out] - slope[every, to]
        if not (gain > SETTLED).any():
            break
        curve = 2 * among[every, to, out] - among[every, to, to] - among[every, out, out]
        held = weights[every, out]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(curve > 0, np.minimum(gain / (2 * curve), held), held)
        step = np.where(gain > SETTLED, step, 0.0)
        weights[every, to] += step
        weights[every, out] = np.where(step >= held, 0.0, held - step)
    return np.asarray(weights)


@dataclass(frozen=True)
class HeldOut:
    """Distances of the `blend`, of the `single` source that is nearest where the weights were fitted, and of a named
    source; and how much nearer the blend is than either.
    """

    blend: PersonEstimate
    single: PersonEstimate
    named: PersonEstimate
    gain: PersonEstimate
    gain_on_named: PersonEstimate


@dataclass(frozen=True)
class Blend:
    """`weights` (sources,) with intervals; each source's distance to the field, and the `fitted` blend's.

    `held_out` are distances in people and simulated users that the weights were not fitted to. `p`: the chance that a
    blend looks as much nearer than each single source if in truth some single one is the nearest.
    """

    weights: Floats
    weights_ci: list[Interval | None]
    distances: list[PersonEstimate]
    fitted: float
    held_out: HeldOut
    p: float | None
    why: str | None


def blend(sides: BlendSides, rng: np.random.Generator, draws: int, named: int | None = None) -> Blend:
    """Blend of two sources or more, with two units or more for each prompt, and two people; `named` is a source."""
    measured, sources = sides.measured, sides.sides - 1
    weights = fit(measured.means[None])[0]
    people = int(sides.counts[0, 0])
    few = FEW_PEOPLE if people < FEWEST_TESTED else None
    nothing = PersonEstimate(None, None, people, why=few or FEW_TO_SPLIT)
    held_out = None if few else cross_validate(sides, rng, named)
    return Blend(
        weights,
        [None] * sources if few else weight_intervals(sides, weights, rng, draws),
        [measured.estimate(contrast(alone), 0.0) for alone in np.eye(sources)],
        float(distances(measured.means, weights)),
        held_out or HeldOut(*[nothing] * 5),
        None if few else chance_of_luck(measured),
        few or (None if held_out else FEW_TO_SPLIT),
    )


def weight_intervals(sides: BlendSides, weights: Floats, rng: np.random.Generator, draws: int) -> list[Interval | None]:
    """Intervals of the weights: 95 in 100 weights fitted anew, each unit counted with an exponential weight in all
    prompts at once (the Bayesian bootstrap, Rubin 1981, Ann. Stat. 9:130-134), and √(m / (m − 1)) t / z times as far
    off for m units of the smallest side.
    """
    drawn = fit(sides.means(rng.exponential(size=(draws, sides.units))))
    units = int(sides.counts[0].min())
    if units < FEWEST_UNITS:
        return [None] * len(weights)
    factor = float(np.sqrt(units / (units - 1)) * t_quantile(units - 1) / Z)
    ends = np.clip(weights + factor * (np.percentile(drawn, [2.5, 97.5], axis=0) - weights), 0.0, 1.0)
    return [(min(low, weight), max(high, weight)) for low, high, weight in zip(*ends, weights, strict=True)]


def cross_validate(sides: BlendSides, rng: np.random.Generator, named: int | None) -> HeldOut | None:
    """Measure distances in people and simulated users left out when blend and nearest single source were chosen.

    Each side is split at random, into FOLDS parts or as many as leave four units in each. Given the choices, parts are
    independent; their mean has an interval by leaving out each unit (as Bayle et al. 2020, NeurIPS 33:16339-16350, have
    it over cases). None if there are too few units for two parts.
    """
    parts = min(FOLDS, int(sides.counts[1].min()) // 4)
    if parts < 2:
        return None
    part, found, alone = parts_of(sides, parts, rng), [], np.eye(sides.sides - 1)
    without = sides.means(np.stack([part != number for number in range(parts)]).astype(float))
    for number, means in enumerate(without):
        held = sides.where(part == number)
        if held.counts[1].min() < 3:
            return None
        kinds = [fit(means[None])[0], alone[np.argmin(distances(means, alone))], alone[named or 0]]
        ours, single, other = map(contrast, kinds)
        of_part = [held.measured.linear(each) for each in (ours, single, other, single - ours, other - ours)]
        found.append(of_part)
    estimates = []
    for place in range(5):
        value = float(np.mean([each[place][0] for each in found]))
        change = np.sum([each[place][1] for each in found], axis=0) / parts
        estimates.append(estimate(value, change, sides.group_of, 0.0 if place < 3 else -np.inf))
    if named is None:
        estimates[2] = estimates[4] = PersonEstimate(None, None, 0)
    return HeldOut(*estimates)


def parts_of(sides: BlendSides, parts: int, rng: np.random.Generator) -> Ints:
    """Assign each unit to a part (units,), with each group spread evenly over the parts."""
    part = np.zeros(sides.units, dtype=np.int64)
    for group in range(sides.sides):
        mine = np.flatnonzero(sides.group_of == group)
        part[rng.permutation(mine)] = np.arange(len(mine)) % parts
    return part


def chance_of_luck(measured: SideMeans) -> float | None:
    """p of some single source being as near to the field as any blend.

    The distance is convex in the weights, so source s is the nearest of all blends if moving weight from it to any
    other does not bring it nearer. That slope is unbiased, and over its error (leaving out each unit) Student's t; the
    steepest of the others by Bonferroni. Since s may be any source, the largest of their p holds (an intersection of
    unions, Berger 1982, Technometrics 24:295-300): nothing is assumed about how far the field is from the nearest. None
    if the error of a slope is unknown.
    """
    sides = len(measured.means)
    alone, found = np.eye(sides), []
    for one in range(1, sides):
        others = [alone[other] - alone[one] for other in range(1, sides) if other != one]
        tails = [_tail(measured.estimate(_slope(towards, alone[one] - alone[0]))) for towards in others]
        known = [tail for tail in tails if tail is not None]
        if len(known) < len(tails):
            return None
        found.append(min(1.0, len(known) * min(known)))
    return max(found)


def _tail(slope: PersonEstimate) -> float | None:
    """Chance of a slope as far below 0; None without its error, unless that is 0."""
    if not slope.error or slope.value is None:
        return 1.0 if slope.why == ALIKE else None
    return float(stdtr(slope.freedom, slope.value / slope.error))


def _slope(towards: Floats, here: Floats) -> Floats:
    """Coefficients (sides, sides) of half the change of the distance at `here` as weight moves `towards`."""
    return -(towards[:, None] * here + here[:, None] * towards) / 2
