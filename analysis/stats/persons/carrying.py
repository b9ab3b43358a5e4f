"""Whether an answer repeats what an earlier answer of the same person named, beside what chance repeats."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.stats.persons.numbers import PersonEstimate, estimate, mean_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Carried:
    """Share of `answers` that name an item of an earlier answer, what chance makes of it, and the difference over so
    many persons.
    """

    answers: int
    share: float | None
    chance: float | None
    excess: PersonEstimate


def carried_over(
    named: sparse.csr_array, persons: Ints, prompts: Ints, positions: Ints, blocks: Ints
) -> tuple[Carried, Floats]:
    """Of answers with the items that they name (n, size), whose each is, to which prompt, at which position, and of
    which chatbot; and for each answer whether it repeats an item (n,), NaN of first ones.

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
    """The items of all earlier answers of the same person, for each answer."""
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
    """The places that have the same number in all keys."""
    _, of = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    order = np.argsort(of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of[order])) + 1) if len(order) else []
