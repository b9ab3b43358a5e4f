"""How unlike the answers of several sides are, as means over pairs of different units, and what hangs on each unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.sparse.csgraph import connected_components

from analysis.stats.intervals import FEWEST_UNITS, Bools, Floats, Ints, interval_of_error, why_no_interval
from analysis.stats.persons.numbers import PersonEstimate

AT_ONCE = 100  # draws
NO_PAIR = "Without one of its units a side has no two answers to compare."


@dataclass(frozen=True, eq=False)
class PromptAnswers:
    """Answers to one prompt: `said` (k, features) of each unit on each side, and which `side` and `unit` (k,) it is.

    1 − δ of two answers is the inner product of what they said. A unit may answer for several sides, as a simulated
    user does whom two runs share; `alike` (pairs,) are the products of what it said with itself, at `own` (2, pairs).
    """

    said: csr_matrix
    side: Ints
    unit: Ints

    @cached_property
    def own(self) -> Ints:
        """Which two of k are one unit's, each with itself among them."""
        k = len(self.unit)
        held = csr_matrix((np.ones(k), (np.arange(k), self.unit)))
        return np.stack((held @ held.T).nonzero()).astype(np.int64)

    @cached_property
    def alike(self) -> Floats:
        one, other = self.own
        return np.asarray(self.said[one].multiply(self.said[other]).sum(axis=1)).ravel()

    def where(self, kept: Bools) -> "PromptAnswers":
        return PromptAnswers(self.said[kept], self.side[kept], self.unit[kept])


def compare(named: csr_matrix, side: Ints, unit: Ints) -> PromptAnswers:
    """Of answers (n, items) with 1 where one names an item, or takes a letter; those that name nothing are left out.

    δ = 1 − |A ∩ B| / max(|A|, |B|), as of `unlike_lists`: 1 / max is the sum over lengths l that are no smaller than
    either of 1 / l minus 1 / the next length, so each item is a feature for each l that is no smaller than its answer.
    """
    lengths = np.asarray(named.sum(axis=1)).ravel()
    kept = lengths > 0
    named, lengths, side, unit = named[kept], lengths[kept], side[kept], unit[kept]
    levels = np.unique(lengths)
    steps = 1 / levels - 1 / np.append(levels[1:], np.inf)
    blocks = [
        named.multiply((lengths <= level)[:, None] * np.sqrt(step)) for level, step in zip(levels, steps, strict=True)
    ]
    pairs, place, given = np.unique(np.stack([side, unit]), axis=1, return_inverse=True, return_counts=True)
    place = place.ravel()
    mean = csr_matrix((1 / given[place], (place, np.arange(len(place)))), (pairs.shape[1], len(place)))
    said = csr_matrix(mean @ csr_matrix(hstack(blocks))) if blocks else csr_matrix((0, 1))
    # What one unit alone names is alike to nothing of another's.
    return PromptAnswers(said[:, said.getnnz(axis=0) > 1], pairs[0], pairs[1])


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
        """The group of each unit (units,), its side or several that share units; -1 of one without any answer."""
        held = self.answered.astype(np.int64)
        groups = connected_components(held.T @ held, directed=False)[1]
        known = held.getnnz(axis=1) > 0
        first = np.asarray(held.argmax(axis=1)).ravel()
        return np.where(known, groups[first], -1)

    @cached_property
    def counts(self) -> Ints:
        """How many units each side has, in all and to each prompt at least: shape (2, sides)."""
        of_prompts = [np.bincount(prompt.side, minlength=self.sides) for prompt in self.prompts]
        return np.stack([self.answered.getnnz(axis=0), np.min(of_prompts, axis=0)])

    def where(self, units: Bools) -> "BlendSides":
        """Of these units alone."""
        return BlendSides([prompt.where(units[prompt.unit]) for prompt in self.prompts], self.sides, self.units)

    def means(self, weights: Floats) -> Floats:
        """Mean unlikeness of the sides (draws, sides, sides), each unit counted with its weight (draws, units).

        Σ w_i w_j δ_ij / Σ w_i w_j over pairs of different units, the mean over prompts (a U-statistic: of samples of
        any size its expectation is that of the populations). NaN where a side has no pair.
        """
        parts = [weights[start : start + AT_ONCE] for start in range(0, len(weights), AT_ONCE)]
        return np.concatenate(
            [np.mean([_means(prompt, self.sides, part) for prompt in self.prompts], axis=0) for part in parts]
        )

    @cached_property
    def measured(self) -> "SideMeans":
        """All units alike, and what the means are without each."""
        found = np.mean([_without_each(prompt, self.sides, self.units) for prompt in self.prompts], axis=0)
        return SideMeans(found[-1], found[:-1], self.group_of)


def _means(prompt: PromptAnswers, sides: int, weights: Floats) -> Floats:
    given = weights[:, prompt.unit]
    of_side = [prompt.side == side for side in range(sides)]
    said = [prompt.said[mine].T @ given[:, mine].T for mine in of_side]
    total = np.stack([given[:, mine].sum(axis=1) for mine in of_side], axis=1)
    one, other = prompt.own
    places = csr_matrix(
        (np.ones(len(one)), (np.arange(len(one)), prompt.side[one] * sides + prompt.side[other])),
        (len(one), sides * sides),
    )
    both = given[:, one] * given[:, other]
    own, alike = ((both * each) @ places for each in (1.0, prompt.alike))
    found = np.empty((len(weights), sides, sides))
    for a in range(sides):
        for b in range(a, sides):
            pairs = total[:, a] * total[:, b] - own[:, a * sides + b]
            shared = np.einsum("fd,fd->d", said[a], said[b]) - alike[:, a * sides + b]
            found[:, a, b] = found[:, b, a] = _unlike(shared, pairs)
    return found


def _unlike(shared: Floats, pairs: Floats) -> Floats:
    return 1 - shared / np.where(pairs > 1e-9, pairs, np.nan)


def _without_each(prompt: PromptAnswers, sides: int, units: int) -> Floats:
    """The means without each unit, and at the end of all of them (units + 1, sides, sides)."""
    k = len(prompt.side)
    whose = csr_matrix((np.ones(k), (np.arange(k), prompt.side)), (k, sides))
    sums = (prompt.said @ (prompt.said.T @ whose)).toarray(), np.tile(np.bincount(prompt.side, minlength=sides), (k, 1))
    found = []
    for summed, of_own in zip(sums, (prompt.alike, np.ones(len(prompt.alike))), strict=True):
        to_others = summed.astype(float)
        np.subtract.at(to_others, (prompt.own[0], prompt.side[prompt.own[1]]), of_own)
        of_unit = np.zeros((units + 1, sides, sides))
        np.add.at(of_unit, (prompt.unit, prompt.side), to_others)
        found.append(of_unit.sum(axis=0) - of_unit - of_unit.transpose(0, 2, 1))
    return _unlike(*found)


@dataclass(frozen=True, eq=False)
class SideMeans:
    """Means (sides, sides), what they are `without` each unit (units, sides, sides), and the group of each (units,)."""

    means: Floats
    without: Floats
    group_of: Ints

    def linear(self, weights: Floats) -> tuple[float, Floats]:
        """Σ weights (sides, sides) × means, and how much it changes without each unit (units,)."""
        value = float((weights * self.means).sum())
        return value, (weights * self.without).sum(axis=(1, 2)) - value

    def estimate(self, weights: Floats, least: float = -np.inf) -> PersonEstimate:
        return estimate(*self.linear(weights), self.group_of, least)


def estimate(value: float, change: Floats, group: Ints, least: float = -np.inf) -> PersonEstimate:
    """A number with its interval: leaving out each unit (Tukey 1958), errors of independent groups of units added up.

    `change` (units,) without each unit, whose `group` is below 0 where it has none. Degrees of freedom are Welch's
    (1947, Biometrika 34:28-35) over the groups that the number rests on; `units` are those of the smallest of them.
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
