"""How unlike two answers are; what the field adds to the API's dice: the product's dice, and the person's share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from analysis.stats.intervals import Bools, Floats, Ints, p_value, tail_p
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
from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample

AT_ONCE = 2**20  # pairs


@dataclass(frozen=True, eq=False)
class ReadableAnswers:
    """Readable answers to one prompt: `unlike` (n, n), between any two, and `of` (n,), each one's person by any number.

    `rows` (n,) are their places among all answers given, of which `unread` name nothing and are left out.
    """

    unlike: NDArray[np.float32]
    of: Ints
    rows: Ints
    unread: int

    def where(self, kept: Bools) -> "ReadableAnswers":
        return ReadableAnswers(self.unlike[np.ix_(kept, kept)], self.of[kept], self.rows[kept], self.unread)


def unlike_lists(sample: ItemSample, of: Ints) -> ReadableAnswers:
    """δ(A, B) = 1 - |A ∩ B| / max(|A|, |B|) of the items of two answers: 0 the same, 1 nothing in common."""
    rows, parts = _unlike(sample, max(1, sample.n))
    unlike = next(parts, np.empty((0, 0), np.float32))
    return ReadableAnswers(unlike, np.asarray(of)[rows], rows, sample.n - len(rows))


def unlike_others(sample: ItemSample) -> tuple[Ints, Floats]:
    """Find the answers that name something, and the mean δ of each to all the others: as by `unlike_lists`, but with
    only some rows of its matrix in memory.
    """
    rows, parts = _unlike(sample, max(1, AT_ONCE // max(1, sample.n)))
    sums = [np.empty(0), *(unlike.sum(axis=1, dtype=np.float64) for unlike in parts)]
    return rows, np.concatenate(sums) / max(1, len(rows) - 1)


def _unlike(sample: ItemSample, at_once: int) -> tuple[Ints, Iterator[NDArray[np.float32]]]:
    """Find the answers that name something, and yield how unlike each is to each, so many rows at a time."""
    lengths = np.bincount(sample.rows, minlength=sample.n)
    rows = np.flatnonzero(lengths)
    said = (np.ones(len(sample.rows), np.float32), (sample.rows, sample.codes))
    named, long = csr_matrix(said, (sample.n, sample.size))[rows], lengths[rows].astype(np.float32)

    def parts() -> Iterator[NDArray[np.float32]]:
        # A sparse matrix times a dense one takes a small part of the time of two dense ones.
        others = named.toarray().T.copy()
        for at in range(0, len(rows), at_once):
            unlike = named[at : at + at_once] @ others
            unlike /= np.maximum(long[at : at + at_once, None], long)  # in place: half the time, as there are many
            yield np.subtract(1, unlike, out=unlike)

    return rows, parts()


def unlike_choices(sample: ChoiceSample, of: Ints) -> ReadableAnswers:
    """δ(a, b) = 0 if both answers take the same option, else 1."""
    rows = np.flatnonzero(sample.codes != UNKNOWN)
    codes = sample.codes[rows]
    unlike = (codes[:, None] != codes).astype(np.float32)
    return ReadableAnswers(unlike, np.asarray(of)[rows], rows, sample.unknown)


@dataclass(frozen=True, eq=False)
class Pairs:
    """For each person with readable answers, `who` (k,): how unlike these are to each other, and to those of others.

    `own` (k,) is the mean δ over the pairs of one's own answers, NaN for a single one; `others` (k,) the mean over
    everybody else of the mean δ over the answers of both, so that each pair of persons counts once, however often they
    were asked; NaN for a person alone.
    """

    who: Ints
    own: Floats
    others: Floats


def pairs_of(answers: ReadableAnswers) -> Pairs:
    """Means within each person, and between each and everybody else."""
    who, place = np.unique(answers.of, return_inverse=True)
    k = len(who)
    if not k:
        return Pairs(who, np.empty(0), np.empty(0))
    given = np.bincount(place, minlength=k).astype(float)
    between = between_persons(answers.unlike, place, k)
    inside = np.einsum("ii->i", between).astype(float) * given**2  # an answer is not unlike itself
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(given > 1, inside / (given * (given - 1)), np.nan)
        total = between.sum(axis=1, dtype=np.float64) - np.einsum("ii->i", between)
        others = total / (k - 1) if k > 1 else np.full(k, np.nan)
    return Pairs(who, own, others)


def between_persons(unlike: NDArray[np.float32], place: Ints, k: int) -> NDArray[np.float32]:
    """Mean δ over the answers of two persons, (k, k); on the diagonal over all ordered pairs of one's own, each answer
    with itself included. `place` is each answer's person, 0 … k-1. May be `unlike` itself.
    """
    order = np.argsort(place, kind="stable")
    if k == len(place):
        return unlike if (order[:-1] < order[1:]).all() else unlike[np.ix_(order, order)]
    given = np.bincount(place, minlength=k)
    starts = np.cumsum(given) - given
    summed = np.add.reduceat(np.add.reduceat(unlike[np.ix_(order, order)], starts, axis=0), starts, axis=1)
    return np.asarray(summed / np.outer(given, given), dtype=np.float32)


def number_persons(found: Sequence[ReadableAnswers]) -> tuple[list[ReadableAnswers], int]:
    """The same answers with persons numbered 0 … count-1 over all prompts, and the count."""
    if not found:
        return [], 0
    names, of = np.unique(np.concatenate([answers.of for answers in found]), return_inverse=True)
    ends = np.cumsum([len(answers.of) for answers in found])[:-1]
    parts = np.split(of.astype(np.int64), ends)
    numbered = [
        ReadableAnswers(answers.unlike, part, answers.rows, answers.unread)
        for answers, part in zip(found, parts, strict=True)
    ]
    return numbered, len(names)


FEWEST_TESTED = 10  # with fewer persons with repeats, there are numbers but no test
FEW_REPEATS = f"Fewer than {FEWEST_TESTED} people were asked twice: too few to test."


@dataclass(frozen=True)
class PersonShares:
    """Means over pairs of one source's answers to one prompt, or the mean over several prompts.

    `within` are pairs of answers of one person, `between` pairs of persons; `person` is between minus within and
    `share` 1 - within / between. `persons` gave readable answers, `repeated` of them several, in `pairs` pairs;
    `unread` answers were left out. `p` tests that a person's second answer is no more like their own first than like
    anybody else's; `p_tail` is the same p, as fine as a correction for many tests needs it.
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
    """One prompt's answers from one source, measured; persons are numbered over all of the source's prompts."""

    answers: ReadableAnswers
    within: Jackknifed
    between: Jackknifed
    pairs: int


def measure(found: Sequence[ReadableAnswers]) -> list[Measured]:
    """Measure each prompt by itself, with persons numbered over all of them."""
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
    """Draws that put some persons' later answers beside others' first ones, the same for all prompts that the same
    persons were asked twice.
    """

    def __init__(self, rng: np.random.Generator, draws: int) -> None:
        self.rng, self.draws = rng, draws
        self.found: dict[bytes, NDArray[np.int32]] = {}

    def among(self, who: Ints) -> NDArray[np.int32]:
        """Places among these persons, shape (draws, persons)."""
        key = who.tobytes()
        if key not in self.found:
            places = np.tile(np.arange(len(who), dtype=np.int32), (self.draws, 1))
            self.found[key] = self.rng.permuted(places, axis=1)
        return self.found[key]


def describe(some: Sequence[Measured], assignments: Assignments) -> PersonShares:
    """Describe one prompt, or the mean over several, all of which have repeats."""
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
    """Split the field's excess over one stateless source, over the same prompts in the same order."""
    within, between = (mean_over([getattr(each, name) for each in some]) for name in ("within", "between"))
    api = mean_over([each.between for each in offline])
    return DiceSplit(estimate(api, 0.0), apart(within, api), apart(between, api))


def chance_of(some: Sequence[ReadableAnswers], assignments: Assignments) -> tuple[float | None, float | None]:
    """Test D_within, two-sided, by giving later answers to other persons of the same prompt.

    The statistic is the mean over persons of δ(first answer, later answers), minus its mean over all assignments; over
    prompts, their sum. A person's answers to all prompts go together if the same persons were asked twice, so nothing
    is assumed about how one person's answers to different prompts depend on each other.
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


def _first_to_later(answers: ReadableAnswers) -> tuple[Ints, Floats]:
    """Find persons with several answers, and the mean δ of each one's first to each one's later answers, (m, m)."""
    given = np.bincount(answers.of)
    kept = given[answers.of] > 1
    of, unlike = answers.of[kept], answers.unlike[np.ix_(kept, kept)]
    who, first, place = np.unique(of, return_index=True, return_inverse=True)
    is_later = np.ones(len(of), dtype=bool)
    is_later[first] = False
    later = np.zeros((int(is_later.sum()), len(who)))
    later[np.arange(len(later)), place[is_later]] = 1 / (given[who][place[is_later]] - 1)
    return who, unlike[np.ix_(first, is_later)].astype(float) @ later
