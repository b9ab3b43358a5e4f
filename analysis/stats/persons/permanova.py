"""How much of all difference between persons' answers to one prompt an explanation takes: PERMANOVA, and equal spread.

Anderson (2001, Austral Ecology 26:32-46), with G the matrix of -δ²/2 centred within each chatbot (Gower 1966).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from analysis.stats.intervals import p_value, tail_p
from analysis.stats.persons.explaining import demean
from analysis.stats.persons.unlikeness import ReadableAnswers, between_persons

BATCH_CELLS = 2**20  # of the bases of one batch of draws
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Centred:
    """One prompt's persons `who` (k,), their `blocks` (k,) within which they are alike, and their centred matrix."""

    who: Ints
    blocks: Ints
    squared: Floats
    gower: Floats

    @property
    def total(self) -> float:
        return float(np.trace(self.gower))


@dataclass(frozen=True)
class Taken:
    """`share` of all difference (pseudo-R²) of so many persons, p by permuting persons within their chatbot; `p_spread`
    is that of equal spread, since a level that is more spread out is told apart as one in another place is.
    """

    share: float
    persons: int
    p: float | None
    p_tail: float | None
    p_spread: float | None


def centre(found: Sequence[ReadableAnswers]) -> Centred | None:
    """Of answers of several chatbots to one prompt; answers of one person count as their mean."""
    parts = [_persons_of(answers) for answers in found if len(answers.of)]
    if not parts:
        return None
    who = np.concatenate([names for names, _ in parts])
    blocks = np.repeat(np.arange(len(parts)), [len(names) for names, _ in parts])
    squared, gower = np.zeros((len(who), len(who))), np.zeros((len(who), len(who)))
    start = 0
    for names, unlike in parts:
        here = slice(start, start + len(names))
        start += len(names)
        square = unlike.astype(float) ** 2
        half = -square / 2
        squared[here, here] = square
        gower[here, here] = half - half.mean(axis=0) - half.mean(axis=1)[:, None] + half.mean()
    return Centred(who, blocks, squared, gower)


def _persons_of(answers: ReadableAnswers) -> tuple[Ints, NDArray[np.float32]]:
    who, place = np.unique(answers.of, return_inverse=True)
    between = between_persons(answers.unlike, place, len(who))
    np.fill_diagonal(between, 0)
    return who, between


def permanova(centred: Centred, levels: Sequence[Ints], rng: np.random.Generator, draws: int) -> list[Taken | None]:
    """For each explanation, given as the level of each person (k,), -1 where not known, which is a level of its own.

    A share is tr(QᵀGQ) / tr(G), where Q is an orthonormal basis of the levels, centred within each chatbot.
    """
    bases = [basis_of(level, centred.blocks) for level in levels]
    wide = np.concatenate([np.empty((len(centred.who), 0)), *bases], axis=1)
    if not wide.shape[1] or centred.total <= 0:
        return [None] * len(levels)
    ends = np.cumsum([basis.shape[1] for basis in bases])
    observed = _shares(centred, wide[None], ends)[0]
    width = max(1, BATCH_CELLS // wide.size)
    drawn = np.concatenate(
        [
            _shares(centred, wide[np.stack([_permuted(centred.blocks, rng) for _ in range(some)])], ends)
            for some in (min(width, draws - at) for at in range(0, draws, width))
        ]
    )
    ways = float(np.exp(min(700.0, np.log(np.arange(1, len(wide) + 1)).sum())))
    return [
        Taken(
            float(observed[at]),
            int(np.count_nonzero(levels[at] >= 0)),
            p_value(observed[at], drawn[:, at]),
            tail_p(observed[at], drawn[:, at], ways),
            equal_spread(centred, levels[at]),
        )
        if basis.shape[1]
        else None
        for at, basis in enumerate(bases)
    ]


def _shares(centred: Centred, bases: Floats, ends: NDArray[np.int64]) -> Floats:
    """Of draws of the bases, (draws, persons, columns), how much each explanation takes, (draws, explanations)."""
    blocks = np.searchsorted(centred.blocks, np.unique(centred.blocks))
    taken = np.zeros((len(bases), bases.shape[2]))
    for start, end in pairwise([*blocks.tolist(), len(centred.who)]):  # the matrix is 0 between chatbots
        moved = bases[:, start:end].astype(np.float32)
        turned = centred.gower[start:end, start:end].astype(np.float32) @ np.moveaxis(moved, 1, 0).reshape(
            end - start, -1
        )
        taken += np.einsum("dik,idk->dk", moved, turned.reshape(end - start, len(bases), -1)) / centred.total
    return np.stack([part.sum(axis=1) for part in np.split(taken, ends, axis=1)[:-1]], axis=1)


def basis_of(level: Ints, blocks: Ints) -> Floats:
    """An orthonormal basis of the levels' indicators, each centred within its block; no column where nothing varies."""
    names = np.unique(level)
    indicators = (level[:, None] == names).astype(float)
    left, size, _ = np.linalg.svd(demean(indicators, blocks), full_matrices=False)
    return np.asarray(left[:, size > 1e-9 * max(1.0, float(size.max(initial=0.0)))])


def _permuted(blocks: Ints, rng: np.random.Generator) -> Ints:
    """Places shuffled within each block; blocks stand one after the other."""
    return np.lexsort((rng.random(len(blocks)), blocks)).astype(np.int64)


def equal_spread(centred: Centred, level: Ints) -> float | None:
    """p of all levels lying equally far from their own centre (Anderson 2006, Biometrics 62:245-253), within chatbots.

    A distance to the centre of a group of n is √(n / (n - 1)) times the one to the mean of those in it, which each
    pulls towards itself.
    """
    far, kept = np.zeros(len(level)), np.zeros(len(level), dtype=bool)
    groups = np.zeros(len(level), dtype=np.int64)
    for number, (block, name) in enumerate(sorted(set(zip(centred.blocks.tolist(), level.tolist(), strict=True)))):
        here = np.flatnonzero((centred.blocks == block) & (level == name))
        if len(here) < 2 or name < 0:
            continue
        inside = centred.squared[np.ix_(here, here)]
        square = inside.mean(axis=1) - inside.mean() / 2
        far[here] = np.sqrt(np.maximum(square, 0.0) * len(here) / (len(here) - 1))
        groups[here], kept[here] = number, True
    far, groups, blocks = far[kept], groups[kept], centred.blocks[kept]
    if not len(far):
        return None
    count, blocks_count = len(np.unique(groups)), len(np.unique(blocks))
    between, within = count - blocks_count, len(far) - count
    if between < 1 or within < 1:
        return None
    rest = float((demean(far[:, None], groups) ** 2).sum())
    explained = float((demean(far[:, None], blocks) ** 2).sum()) - rest
    return float(f_distribution.sf(explained / between / (rest / within), between, within)) if rest > 0 else None
