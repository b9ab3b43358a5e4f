"""The weights of a blend, its distance to the field, held against people it was not fitted to, and the chance of luck.

The distance of distributions P and Q is 2 E δ(P, Q) − E δ(P, P′) − E δ(Q, Q′) (the energy distance, Székely and Rizzo
2013, J. Stat. Plan. Inference 143:1249-1272), 0 where both give all items equally often. 1 − δ is positive definite:
shared items are an inner product, 1 / max(a, b) is the smaller of 1 / a and 1 / b, and products of such kernels are. So
δ is of negative type, the distance a squared one (Sejdinovic et al. 2013, Ann. Stat. 41:2263-2291), convex in weights.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from analysis.stats.blends.sides import BlendSides, SideMeans, estimate
from analysis.stats.intervals import ALIKE, FEWEST_UNITS, Floats, Interval, Ints, Z, t_quantile
from analysis.stats.persons.numbers import PersonEstimate

FEWEST_TESTED = 10  # people, below which there are numbers and no test
FOLDS = 5
FEW_PEOPLE = f"Fewer than {FEWEST_TESTED} people: too few to hold a blend against luck."
FEW_TO_SPLIT = "Too few people, simulated users or repeats to fit a blend to some and hold it against others."
STEPS, SETTLED = 2_000, 1e-9


def contrast(weights: Floats) -> Floats:
    """The coefficients of a blend's distance, (…, sides, sides) of weights (…, sources): −v vᵀ with v = (−1, w)."""
    whole = np.concatenate([np.full((*weights.shape[:-1], 1), -1.0), weights], axis=-1)
    return -whole[..., :, None] * whole[..., None, :]


def distances(means: Floats, weights: Floats) -> Floats:
    """Of blends (…, sources) by means (…, sides, sides)."""
    return np.asarray((contrast(weights) * means).sum(axis=(-2, -1)))


def fit(means: Floats) -> Floats:
    """The weights (draws, sources), none below 0 and 1 together, with which means (draws, sides, sides) are nearest.

    From the nearest single source on, weight moves from the source where it does least to the one where it would do
    most, as far as it helps (sequential minimal optimisation, Platt 1998). Samples may lack the convexity of what they
    are drawn from: then all that there is moves.
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
    """Distances of the `blend`, of the `single` source that is nearest where the weights were fitted, and of a source
    that is named; and how much nearer the blend is than either.
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
    blend looks as much nearer than each single source where in truth some single one is the nearest.
    """

    weights: Floats
    weights_ci: list[Interval | None]
    distances: list[PersonEstimate]
    fitted: float
    held_out: HeldOut
    p: float | None
    why: str | None


def blend(sides: BlendSides, rng: np.random.Generator, draws: int, named: int | None = None) -> Blend:
    """Of two sources or more, with at least two units to each prompt, and two people; `named` is one of the sources."""
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
    """Where 95 in 100 weights lie that are fitted anew, each unit counted with an exponential weight in all prompts at
    once (the Bayesian bootstrap, Rubin 1981, Ann. Stat. 9:130-134), and √(m / (m − 1)) t / z times as far off for m
    units of the smallest side.
    """
    drawn = fit(sides.means(rng.exponential(size=(draws, sides.units))))
    units = int(sides.counts[0].min())
    if units < FEWEST_UNITS:
        return [None] * len(weights)
    factor = float(np.sqrt(units / (units - 1)) * t_quantile(units - 1) / Z)
    ends = np.clip(weights + factor * (np.percentile(drawn, [2.5, 97.5], axis=0) - weights), 0.0, 1.0)
    return [(min(low, weight), max(high, weight)) for low, high, weight in zip(*ends, weights, strict=True)]


def cross_validate(sides: BlendSides, rng: np.random.Generator, named: int | None) -> HeldOut | None:
    """Distances in people and simulated users without whom blend and nearest single source were chosen.

    Each side is split at random, into FOLDS parts or into as many as leave four units in each. Given the choices, parts
    are independent; their mean has an interval by leaving out each unit (as Bayle et al. 2020, NeurIPS 33:16339-16350,
    have it over cases). None where there are too few for two parts.
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
    """The part of each unit (units,), as many of each group in every part."""
    part = np.zeros(sides.units, dtype=np.int64)
    for group in range(sides.sides):
        mine = np.flatnonzero(sides.group_of == group)
        part[rng.permutation(mine)] = np.arange(len(mine)) % parts
    return part


def chance_of_luck(measured: SideMeans) -> float | None:
    """p of: some single source is as near to the field as any blend.

    The distance is convex in the weights, so source s is the nearest of all blends where weight that moves from it to
    any other does not bring it nearer. That slope is unbiased, and over its error (leaving out each unit) Student's t;
    the steepest of the others by Bonferroni. Where s may be any source, the largest of their p holds (an intersection
    of unions, Berger 1982, Technometrics 24:295-300): nothing is assumed of how far the field is from the nearest.
    None where the error of a slope is not known.
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
    """The chance of one as far below 0; None without its error, unless that is 0."""
    if not slope.error or slope.value is None:
        return 1.0 if slope.why == ALIKE else None
    return float(stdtr(slope.freedom, slope.value / slope.error))


def _slope(towards: Floats, here: Floats) -> Floats:
    """Coefficients (sides, sides) of half the change of the distance at `here` with weight that moves `towards`."""
    return -(towards[:, None] * here + here[:, None] * towards) / 2
