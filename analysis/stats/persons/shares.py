"""What the field adds to the API's dice, split into the product's dice and the person; and the person's share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import p_value, tail_p
from analysis.stats.persons.numbers import (
    Jackknifed,
    PersonEstimate,
    apart,
    estimate,
    mean_of,
    mean_of_pairs,
    mean_over,
    minus,
    one_minus_ratio,
)
from analysis.stats.persons.unlikeness import ReadableAnswers, number_persons, pairs_of

Floats = NDArray[np.float64]
FEWEST_TESTED = 10  # persons with repeats, below which there are numbers and no test
FEW_REPEATS = f"Fewer than {FEWEST_TESTED} people were asked twice: too few to test."


@dataclass(frozen=True)
class PersonShares:
    """Means over pairs of one source's answers, to one prompt or as the mean of several.

    `within` are pairs of answers of one person, `between` pairs of persons; `person` is between minus within and
    `share` 1 - within / between. `persons` gave readable answers, `repeated` of them several, in `pairs` pairs;
    `unread` answers were left out. `p` is that of a person's second answer being no more like their own first than like
    that of anybody else, `p_tail` the same as finely as a correction for many tests needs it.
    """

    persons: int
    repeated: int
    pairs: int
    unread: int
    within: PersonEstimate
    between: PersonEstimate
    person: PersonEstimate
    share: PersonEstimate
    p: float | None
    p_tail: float | None
    why: str | None


@dataclass(frozen=True)
class DiceSplit:
    """Between minus `offline` = `dice` (within minus offline) + `person` of the side."""

    offline: PersonEstimate
    dice: PersonEstimate
    added: PersonEstimate


@dataclass(frozen=True, eq=False)
class Measured:
    """One prompt's answers of one source, measured; persons are numbered over all of the source's prompts."""

    answers: ReadableAnswers
    within: Jackknifed
    between: Jackknifed
    pairs: int


def measure(found: Sequence[ReadableAnswers]) -> list[Measured]:
    """Each prompt by itself, with persons numbered over all of them."""
    numbered, persons = number_persons(found)
    return [_measure(answers, persons) for answers in numbered]


def _measure(answers: ReadableAnswers, persons: int) -> Measured:
    pairs = pairs_of(answers)
    given = np.bincount(answers.of, minlength=persons)
    return Measured(
        answers,
        mean_of(pairs.who, pairs.own, persons),
        mean_of_pairs(pairs.who, pairs.others, persons),
        int((given * (given - 1) // 2).sum()),
    )


class Assignments:
    """Draws of whose later answers stand beside whose first ones, the same for all prompts that the same persons were
    asked twice.
    """

    def __init__(self, rng: np.random.Generator, draws: int) -> None:
        self.rng, self.draws = rng, draws
        self.found: dict[bytes, NDArray[np.int32]] = {}

    def among(self, who: NDArray[np.int64]) -> NDArray[np.int32]:
        """Places among these persons, shape (draws, persons)."""
        key = who.tobytes()
        if key not in self.found:
            places = np.tile(np.arange(len(who), dtype=np.int32), (self.draws, 1))
            self.found[key] = self.rng.permuted(places, axis=1)
        return self.found[key]


def describe(some: Sequence[Measured], assignments: Assignments) -> PersonShares:
    """Of one prompt, or the mean of several, all of which have repeats."""
    within, between = (mean_over([getattr(each, name) for each in some]) for name in ("within", "between"))
    p, p_tail = chance_of([each.answers for each in some], assignments)
    few = within.units < FEWEST_TESTED
    return PersonShares(
        persons=between.units,
        repeated=within.units,
        pairs=sum(each.pairs for each in some),
        unread=sum(each.answers.unread for each in some),
        within=estimate(within, 0.0),
        between=estimate(between, 0.0),
        person=estimate(minus(between, within)),
        share=estimate(one_minus_ratio(within, between), -np.inf),
        p=None if few else p,
        p_tail=None if few else p_tail,
        why=FEW_REPEATS if few and within.units else None,
    )


def split(some: Sequence[Measured], offline: Sequence[Measured]) -> DiceSplit:
    """What several prompts of the field have beyond those of one stateless source, in their order."""
    within, between = (mean_over([getattr(each, name) for each in some]) for name in ("within", "between"))
    api = mean_over([each.between for each in offline])
    return DiceSplit(estimate(api, 0.0), apart(within, api), apart(between, api))


def chance_of(some: Sequence[ReadableAnswers], assignments: Assignments) -> tuple[float | None, float | None]:
    """Two-sided p of D_within by giving later answers to other persons of the same prompt.

    The statistic is the mean over persons of δ(first answer, later answers), minus its mean over all assignments; over
    prompts the mean. A person's answers to all prompts go together where the same persons were asked twice, so that
    nothing is assumed of how one person's answers to different prompts hang together.
    """
    tables = [table for table in map(_first_to_later, some) if len(table[0]) > 1]
    if not tables:
        return None, None
    observed, drawn = 0.0, np.zeros(assignments.draws)
    for who, table in tables:
        observed += float(np.einsum("ii->i", table).mean() - table.mean())
        drawn += table[np.arange(len(who)), assignments.among(who)].mean(axis=1) - table.mean()
    strength, most = abs(observed), max(len(who) for who, _ in tables)
    ways = float(np.exp(min(np.log(np.arange(1, most + 1)).sum(), 700.0)))
    return p_value(strength, np.abs(drawn)), tail_p(strength, np.abs(drawn), ways)


def _first_to_later(answers: ReadableAnswers) -> tuple[NDArray[np.int64], Floats]:
    """Who has several answers, and the mean δ of each one's first to each one's later answers, (m, m)."""
    given = np.bincount(answers.of)
    kept = given[answers.of] > 1
    of, unlike = answers.of[kept], answers.unlike[np.ix_(kept, kept)]
    who, first, place = np.unique(of, return_index=True, return_inverse=True)
    is_later = np.ones(len(of), dtype=bool)
    is_later[first] = False
    later = np.zeros((int(is_later.sum()), len(who)))
    later[np.arange(len(later)), place[is_later]] = 1 / (given[who][place[is_later]] - 1)
    return who, unlike[np.ix_(first, is_later)].astype(float) @ later
