"""How unlike the answers of several sides are, as means over pairs of different units, and what hangs on each unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.sparse.csgraph import connected_components

from analysis.stats.intervals import FEWEST_UNITS, Bools, Floats, Ints, interval_of_error, why_no_interval
from analysis.stats.persons.numbers import PersonEstimate

AT_ONCE = 500  # draws
NO_PAIR = "Without one of its units a side has no two answers to compare."


@dataclass(frozen=True, eq=False)
class PromptAnswers:
    """Answers to one prompt: `said` (k, features) of each unit on each side, and which `side` and `unit` (k,) it is.

    1 − δ of two answers is the inner product of what they said. A unit may answer for several sides, as a simulated
    user does whom two runs share; `alike` (pairs,) are the products of what it said with itself, at `own` (2, pairs).
    Answers stand by side.
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
    units = int(unit.max(initial=0)) + 1
    pairs, place, given = np.unique(side * units + unit, return_inverse=True, return_counts=True)
    mean = csr_matrix((1 / given[place], (place, np.arange(len(place)))), (len(pairs), len(place)))
    said = csr_matrix(mean @ csr_matrix(hstack(blocks))) if blocks else csr_matrix((0, 1))
    said = said[:, said.getnnz(axis=0) > 1]  # what one unit alone names is alike to nothing of another's
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
    given = np.ascontiguousarray(weights.T)[prompt.unit]
    of_side = [slice(*ends) for ends in pairwise(np.searchsorted(prompt.side, np.arange(sides + 1)))]
    said = [prompt.said[mine].T @ given[mine] for mine in of_side]
    total = [given[mine].sum(axis=0) for mine in of_side]
    one, other = prompt.own
    both, places = given[one] * given[other], (prompt.side[one] * sides + prompt.side[other], np.arange(len(one)))
    own, alike = (
        csr_matrix((each, places), (sides * sides, len(one))) @ both for each in (np.ones(len(one)), prompt.alike)
    )
    found = np.empty((len(weights), sides, sides))
    for a in range(sides):
        for b in range(a, sides):
            pairs = total[a] * total[b] - own[a * sides + b]
            shared = np.einsum("fd,fd->d", said[a], said[b]) - alike[a * sides + b]
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
        to_others[prompt.own[0], prompt.side[prompt.own[1]]] -= of_own  # a unit has one row on each side
        of_unit = np.zeros((units + 1, sides, sides))
        of_unit[prompt.unit, prompt.side] = to_others
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
