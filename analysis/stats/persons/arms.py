"""Effects of another state of the account on the same persons' answers, beyond the dice; and items carried over."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.stats.intervals import Bools, Floats, Ints, p_value, tail_p
from analysis.stats.persons.numbers import Jackknifed, PersonEstimate, estimate, mean_of, mean_over
from analysis.stats.persons.shares import FEWEST_TESTED

FEW_IN_BOTH = f"Fewer than {FEWEST_TESTED} people answered in both states: too few to test."
FEW_THRICE = (
    f"Fewer than {FEWEST_TESTED} people answered twice in the usual state and once in the other: too few to test."
)


@dataclass(frozen=True, eq=False)
class Trio:
    """For each person `who` (k,) the values of a statistic if each of their answers were the one in the other state,
    `options` (k, most): the first is the observed one; NaN pads persons with fewer answers.
    """

    who: Ints
    options: Floats

    @property
    def observed(self) -> Floats:
        return self.options[:, 0]


@dataclass(frozen=True)
class Change:
    """A mean over persons, its interval, and p by redrawing for each person which answer is the other state's.

    If nothing but chance tells a person's answers apart, each of them is as likely to be that one; of two answers this
    flips the sign. `p_tail` is the same p, as fine as a correction for many tests needs it.
    """

    mean: PersonEstimate
    p: float | None
    p_tail: float | None
    why: str | None


@dataclass(frozen=True, eq=False)
class States:
    """A prompt's answers in the usual state and another one: `unlike` (n, n), persons `of` (n,), and which are the
    other state's (n,). Persons have at most one answer in it; of the usual ones the first two count.
    """

    unlike: NDArray[np.float32]
    of: Ints
    is_other: Bools

    @property
    def in_both(self) -> tuple[Ints, Ints]:
        """Persons with answers in both, and their places, (k, 3): other state, first usual, second usual or -1."""
        other = dict(zip(self.of[self.is_other].tolist(), np.flatnonzero(self.is_other).tolist(), strict=True))
        usual: dict[int, list[int]] = {}
        for place in np.flatnonzero(~self.is_other).tolist():
            usual.setdefault(int(self.of[place]), []).append(place)
        who = sorted(other.keys() & usual.keys())
        places = [[other[one], *usual[one][:2], *([-1] if len(usual[one]) < 2 else [])] for one in who]
        return np.array(who, dtype=np.int64), np.array(places, dtype=np.int64).reshape(len(who), 3)

    def distance(self) -> tuple[Ints, Floats]:
        """Each person's δ of the answer in the other state to the usual ones."""
        who, places = self.in_both
        first, second = (self.unlike[places[:, 0], places[:, at]].astype(float) for at in (1, 2))
        return who, np.where(places[:, 2] < 0, first, (first + second) / 2)

    def beyond_dice(self) -> Trio:
        """δ of the other state to the usual one minus δ of the two usual answers, for persons with all three."""
        who, places = self.in_both
        whole = places[:, 2] >= 0
        who, places = who[whole], places[whole]
        sides = [self.unlike[places[:, a], places[:, b]].astype(float) for a, b in ((1, 2), (2, 0), (0, 1))]
        total = sum(sides, np.zeros(len(who)))
        # If the k-th answer were the other state's, the other two would be the usual ones.
        return Trio(who, np.stack([(total - 3 * side) / 2 for side in sides], axis=1).reshape(len(who), 3))

    def change(self, values: Floats) -> Trio:
        """How `values` (n,) of the other state differ from the mean of the usual ones."""
        who, places = self.in_both
        known = np.where(places < 0, np.nan, values[places])
        kept = ~np.isnan(known[:, :2]).any(axis=1)
        known = known[kept]
        total, count = np.nansum(known, axis=1, keepdims=True), (~np.isnan(known)).sum(axis=1, keepdims=True)
        return Trio(who[kept], known - (total - known) / (count - 1))


def change_of(
    trios: Sequence[Trio], rng: np.random.Generator, draws: int, bound: float = np.inf, few: str = FEW_IN_BOTH
) -> Change:
    """Measure the change in one prompt, or its mean over several, of which a person's answers are drawn together.

    `few`: why there is no p with fewer than FEWEST_TESTED people.
    """
    some = [trio for trio in trios if len(trio.who)]
    if not some:
        return Change(estimate(None), None, None, few)
    names, numbered = np.unique(np.concatenate([trio.who for trio in some]), return_inverse=True)
    parts = np.split(numbered, np.cumsum([len(trio.who) for trio in some])[:-1])
    mean: Jackknifed = mean_over(
        [mean_of(who.astype(np.int64), trio.observed, len(names)) for who, trio in zip(parts, some, strict=True)]
    )
    found = estimate(mean, -bound, bound)
    if len(names) < FEWEST_TESTED:
        return Change(found, None, None, few)
    drawn = np.zeros(draws)
    luck = rng.random((draws, len(names)))
    for who, trio in zip(parts, some, strict=True):
        count = (~np.isnan(trio.options)).sum(axis=1)
        chosen = (luck[:, who] * count).astype(np.int64)
        drawn += trio.options[np.arange(len(who)), chosen].mean(axis=1) / len(some)
    strength, ways = abs(mean.value), float(2.0 ** min(len(names), 1000))
    return Change(found, p_value(strength, np.abs(drawn)), tail_p(strength, np.abs(drawn), ways), None)


@dataclass(frozen=True)
class Carried:
    """Share of `answers` that name an item of an earlier answer, the share expected by chance, and the difference over
    persons.
    """

    answers: int
    share: float | None
    chance: float | None
    excess: PersonEstimate


def carried_over(
    named: sparse.csr_array, persons: Ints, prompts: Ints, positions: Ints, blocks: Ints
) -> tuple[Carried, Floats]:
    """Count items carried over, and whether each answer repeats one (n,), NaN for first ones; from the answers' items
    (n, size), persons, prompts, positions and chatbots.

    Chance: how often the answers of other persons of the same chatbot to the same prompt name one of the items that
    this person had been named before. So it keeps the earlier items, their prompts and their positions, and only the
    answer is another person's.
    """
    before = earlier_items(named, persons, positions)
    is_later = np.asarray(before.sum(axis=1)).ravel() > 0
    hits, chance = np.full(len(persons), np.nan), np.full(len(persons), np.nan)
    for here in groups_of(prompts, blocks):
        who = persons[here]
        repeats = np.asarray((before[here] @ named[here].T).todense()) > 0
        same = who[:, None] == who
        others = np.maximum((~same).sum(axis=1), 1)
        hits[here] = np.einsum("ii->i", repeats)
        chance[here] = np.where((~same).any(axis=1), (repeats & ~same).sum(axis=1) / others, np.nan)
    counted = is_later & ~np.isnan(chance)
    known = np.where(counted, hits, np.nan)
    if not counted.any():
        return Carried(0, None, None, estimate(None)), known
    names, of = np.unique(persons[counted], return_inverse=True)
    per_person = np.bincount(of, (hits - chance)[counted]) / np.bincount(of)
    excess = estimate(mean_of(np.arange(len(names)), per_person, len(names)))
    return Carried(int(counted.sum()), float(hits[counted].mean()), float(chance[counted].mean()), excess), known


def earlier_items(named: sparse.csr_array, persons: Ints, positions: Ints) -> sparse.csr_array:
    """List, for each answer, the items of all earlier answers of the same person."""
    order = np.lexsort((positions, persons))
    who = persons[order]
    rank = np.arange(len(order)) - np.searchsorted(who, who)
    lasts = [np.arange(place - back, place) for place, back in enumerate(rank.tolist())]
    rows = np.repeat(order, rank)
    columns = order[np.concatenate(lasts)] if len(lasts) else np.empty(0, dtype=np.int64)
    ones = np.ones(len(rows), dtype=np.float32)
    earlier = sparse.csr_array((ones, (rows, columns)), shape=(len(persons), len(persons)))
    return sparse.csr_array(earlier @ named)


def groups_of(*keys: Ints) -> Sequence[Ints]:
    """Group the places with the same numbers in all keys."""
    _, of = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    order = np.argsort(of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of[order])) + 1) if len(order) else []
