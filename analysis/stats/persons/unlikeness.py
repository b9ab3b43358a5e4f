"""How unlike two answers to one prompt are, and its means over pairs within persons and between them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadableAnswers:
    """Readable answers to one prompt: `unlike` (n, n) of each two, and `of` (n,) whose each is, any number a person.

    `rows` (n,) are their places among all answers given, of which `unread` name nothing and are left out.
    """

    unlike: NDArray[np.float32]
    of: Ints
    rows: Ints
    unread: int

    def where(self, kept: NDArray[np.bool_]) -> "ReadableAnswers":
        return ReadableAnswers(self.unlike[np.ix_(kept, kept)], self.of[kept], self.rows[kept], self.unread)


def unlike_lists(sample: ItemSample, of: Ints) -> ReadableAnswers:
    """δ(A, B) = 1 - |A ∩ B| / max(|A|, |B|) of the items of two answers: 0 the same, 1 nothing in common."""
    lengths = np.bincount(sample.rows, minlength=sample.n)
    rows = np.flatnonzero(lengths)
    named = np.zeros((sample.n, sample.size), dtype=np.float32)
    named[sample.rows, sample.codes] = 1
    named, long = named[rows], lengths[rows].astype(np.float32)
    shared = named @ named.T / np.maximum(long[:, None], long)
    return ReadableAnswers(np.asarray(1 - shared, dtype=np.float32), np.asarray(of)[rows], rows, sample.n - len(rows))


def unlike_choices(sample: ChoiceSample, of: Ints) -> ReadableAnswers:
    """δ(a, b) = 0 where both answers take the same option, else 1."""
    rows = np.flatnonzero(sample.codes != UNKNOWN)
    codes = sample.codes[rows]
    unlike = (codes[:, None] != codes).astype(np.float32)
    return ReadableAnswers(unlike, np.asarray(of)[rows], rows, sample.unknown)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Of each person with readable answers, `who` (k,): how unlike their own answers are, and to those of others.

    `own` (k,) is the mean δ over the pairs of one's own answers, NaN of a single one; `others` (k,) the mean over
    everybody else of the mean δ over the answers of both, so that each pair of persons counts once, however often they
    were asked; NaN of a person alone.
    """

    who: Ints
    own: Floats
    others: Floats


def pairs_of(answers: ReadableAnswers) -> Pairs:
    """Means within persons and between each and everybody else."""
    who, place = np.unique(answers.of, return_inverse=True)
    k = len(who)
    if not k:
        return Pairs(who, np.empty(0), np.empty(0))
    given = np.bincount(place, minlength=k).astype(float)
    between = between_persons(answers.unlike, place, k) if k < len(place) else answers.unlike
    inside = np.einsum("ii->i", between).astype(float) * given**2  # an answer is not unlike itself
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(given > 1, inside / (given * (given - 1)), np.nan)
        total = between.sum(axis=1, dtype=np.float64) - np.einsum("ii->i", between)
        others = total / (k - 1) if k > 1 else np.full(k, np.nan)
    return Pairs(who, own, others)


def between_persons(unlike: NDArray[np.float32], place: Ints, k: int) -> NDArray[np.float32]:
    """Mean δ over the answers of both, (k, k); on the diagonal over all ordered pairs of one's own, each with itself
    among them. `place` is whose each answer is, 0 … k-1.
    """
    order = np.argsort(place, kind="stable")
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
