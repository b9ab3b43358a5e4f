"""Correlates of being far from everybody else: regression over answers, and shares of all unlikeness (PERMANOVA)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from analysis.stats.intervals import Floats, Interval, Ints, interval_of_error, p_value, tail_p
from analysis.stats.persons.shares import ReadableAnswers, between_persons
from analysis.stats.simultaneous import student_p

FEWEST_OF_A_LEVEL = 10  # with fewer persons, a level is compared with no other
CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explanation of n answers: `columns` (n, k), one for each level other than the base, or a single number.

    `levels` name them; `base` is the level that they are compared with.
    """

    name: str
    levels: tuple[str, ...]
    base: str
    columns: Floats


@dataclass(frozen=True)
class Effect:
    """Effect of one level against the base, or of one step, in units of what is explained."""

    level: str
    value: float
    ci: Interval | None
    error: float
    persons: int


@dataclass(frozen=True)
class Explained:
    """An explanation's effects, and the p of all of them being 0."""

    name: str
    base: str
    effects: tuple[Effect, ...]
    p: float | None


def by_level(name: str, values: Sequence[str | None], persons: Ints, order: Sequence[str] = ()) -> Explanation | None:
    """Explain by levels that enough persons have; the others, and unknown ones, form one level without an effect.

    The base is the level of most persons, or the first of an `order`. None if nothing is left to compare.
    """
    given = np.array([value or "" for value in values], dtype=object)
    who = {level: len(np.unique(persons[given == level])) for level in dict.fromkeys(given) if level}
    ranked = order or sorted(who, key=lambda level: (-who[level], level))
    kept = [level for level in ranked if who.get(level, 0) >= FEWEST_OF_A_LEVEL]
    if len(kept) < 2:
        return None
    base, others = kept[0], kept[1:]
    is_rest = ~np.isin(given, kept)
    rest = [OTHER] if is_rest.any() else []
    columns = [given == level for level in others] + [is_rest] * len(rest)
    return Explanation(name, (*others, *rest), base, np.stack(columns, axis=1).astype(float))


OTHER = "\0other"  # levels of too few persons, and unknown levels


def by_step(name: str, values: Floats) -> Explanation | None:
    """Explain by a number; None if it does not vary."""
    known = np.nan_to_num(values, nan=float(np.nanmean(values)) if not np.isnan(values).all() else 0.0)
    return Explanation(name, ("",), "", known[:, None]) if np.ptp(known) > CLOSE else None


def explain(y: Floats, fixed: Ints, persons: Ints, explanations: Sequence[Explanation]) -> list[Explained]:
    """Least squares of y on all explanations, with a fixed effect for each number in `fixed`.

    Errors come from leaving out each person with all their answers (the jackknife of clusters, CR3: Bell and McCaffrey
    2002, Survey Methodology 28:169-181), which is more reliable than the sandwich for a level that few persons have; t
    and F have persons - 1 degrees of freedom. Leaves out a column that the others make up.
    """
    width = [each.columns.shape[1] for each in explanations]
    if not width:
        return []
    x = demean(np.concatenate([each.columns for each in explanations], axis=1), fixed)
    z = demean(y[:, None], fixed)[:, 0]
    independent = independent_columns(x)
    if not len(independent):
        return []
    x = x[:, independent]
    _, whose = np.unique(persons, return_inverse=True)
    count = int(whose.max()) + 1
    beta, left_out = leave_out_persons(x, z, whose, count, fixed)
    spread = (left_out - beta) * np.sqrt((count - 1) / count)
    covariance = spread.T @ spread
    found, start, freedom = [], 0, count - 1
    for explanation, columns in zip(explanations, width, strict=True):
        places = np.flatnonzero(np.isin(independent, np.arange(start, start + columns)))
        named = [(int(place), explanation.levels[independent[place] - start]) for place in places]
        reported = [(place, level) for place, level in named if level != OTHER]
        effects = []
        for place, level in reported:
            error = float(np.sqrt(covariance[place, place]))
            there = explanation.columns[:, independent[place] - start] != 0
            n = len(np.unique(persons[there])) if len(explanation.levels) > 1 or level else count
            ci = interval_of_error(float(beta[place]), error, freedom)
            effects.append(Effect(level, float(beta[place]), ci, error, n))
        at = [place for place, _ in reported]
        found.append(Explained(explanation.name, explanation.base, tuple(effects), wald(beta, covariance, at, freedom)))
        start += columns
    return found


def demean(columns: Floats, groups: Ints) -> Floats:
    """Each column minus its mean in each group, which is what remains beside fixed effects for groups."""
    _, of = np.unique(groups, return_inverse=True)
    sums = np.zeros((int(of.max()) + 1, columns.shape[1]))
    np.add.at(sums, of, columns)
    return np.asarray(columns - (sums / np.bincount(of)[:, None])[of])


def independent_columns(x: Floats) -> Ints:
    """Places of the columns that are not linear combinations of those before them."""
    kept: list[int] = []
    basis = np.empty((len(x), 0))
    for place in range(x.shape[1]):
        column = x[:, place]
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > 1e-7 * max(1.0, float(np.linalg.norm(column))):
            basis = np.concatenate([basis, (rest / size)[:, None]], axis=1)
            kept.append(place)
    return np.array(kept, dtype=np.int64)


def leave_out_persons(x: Floats, z: Floats, whose: Ints, count: int, fixed: Ints) -> tuple[Floats, Floats]:
    """The coefficients, and those without each person, (count, k), from numbers that are centred in each level of
    `fixed`: without a person whose sum in a level is s, its n others have the mean -s / n, and centring them anew takes
    s² / n more away.
    """
    beta = np.asarray(np.linalg.lstsq(x.T @ x, x.T @ z, rcond=None)[0], dtype=float)
    _, level = np.unique(fixed, return_inverse=True)
    pairs, place, given = np.unique(whose + count * level, return_inverse=True, return_counts=True)
    sums = np.zeros((len(pairs), x.shape[1] + 1))
    np.add.at(sums, place, np.column_stack([x, z]))
    others = np.bincount(level)[pairs // count] - given
    moved = sums / np.sqrt(np.maximum(others, 1))[:, None]  # a level without others has sums of 0
    of = np.concatenate([whose, pairs % count])
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(count))
    wide, high = np.concatenate([x, moved[:, :-1]])[order], np.concatenate([z, moved[:, -1]])[order]
    products = np.stack([np.add.reduceat(wide * column[:, None], starts, axis=0) for column in wide.T], axis=1)
    moments = np.add.reduceat(wide * high[:, None], starts, axis=0)
    safe = np.linalg.pinv(x.T @ x - products, hermitian=True)
    return beta, np.asarray(np.einsum("gij,gj->gi", safe, x.T @ z - moments))


def wald(beta: Floats, covariance: Floats, places: Sequence[int], freedom: int) -> float | None:
    """p of all these coefficients being 0."""
    if not len(places):
        return None
    if len(places) == 1:
        return student_p(float(beta[places[0]]), float(np.sqrt(covariance[places[0], places[0]])), freedom)
    some = np.ix_(places, places)
    b, k = beta[list(places)], len(places)
    statistic = float(b @ np.linalg.pinv(covariance[some], hermitian=True) @ b) / k
    # Hotelling's correction for a covariance that is estimated too.
    scale = (freedom - k + 1) / freedom
    return float(f_distribution.sf(statistic * scale, k, freedom - k + 1)) if freedom > k else None


BATCH_CELLS = 2**20  # cells of the bases of one batch of draws


@dataclass(frozen=True, eq=False)
class Centred:
    """One prompt's persons `who` (k,), their chatbots as `blocks` (k,), squared unlikeness, and its centred matrix."""

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
    is that of equal spread, since a level that is more spread out differs as one in another place does.
    """

    share: float
    persons: int
    p: float | None
    p_tail: float | None
    p_spread: float | None


def centre(found: Sequence[ReadableAnswers]) -> Centred | None:
    """Centre the answers of several chatbots to one prompt; answers of one person count as their mean."""
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
    """Test each explanation, given as each person's level (k,); -1 for unknown, which is a level of its own.

    A share is tr(QᵀGQ) / tr(G), where Q is an orthonormal basis of the levels, centred within each chatbot, and G the
    matrix of -δ²/2 centred likewise (Gower 1966). Anderson (2001, Austral Ecology 26:32-46).
    """
    bases = [basis_of(level, centred.blocks) for level in levels]
    wide = np.concatenate([np.empty((len(centred.who), 0)), *bases], axis=1).astype(np.float32)
    if not wide.shape[1] or centred.total <= 0:
        return [None] * len(levels)
    ends = np.cumsum([basis.shape[1] for basis in bases])
    observed = _shares(centred, wide[:, None], ends)[0]
    width = max(1, BATCH_CELLS // wide.size)
    drawn = np.concatenate(
        [
            _shares(centred, wide[_permuted(centred.blocks, some, rng).T], ends)
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


def _shares(centred: Centred, bases: NDArray[np.float32], ends: Ints) -> Floats:
    """Share of each explanation, (draws, explanations), for draws of the bases, (persons, draws, columns)."""
    persons, draws, columns = bases.shape
    blocks = np.searchsorted(centred.blocks, np.unique(centred.blocks))
    taken = np.zeros(draws * columns)
    for start, end in pairwise([*blocks.tolist(), persons]):  # the matrix is 0 between chatbots
        moved = bases[start:end].reshape(end - start, -1)
        turned = centred.gower[start:end, start:end].astype(np.float32) @ moved
        taken += np.einsum("ij,ij->j", moved, turned) / centred.total
    parts = np.split(taken.reshape(draws, columns), ends[:-1], axis=1)
    return np.stack([part.sum(axis=1) for part in parts], axis=1)


def basis_of(level: Ints, blocks: Ints) -> Floats:
    """An orthonormal basis of the levels' indicators, each centred within its block; no columns if nothing varies."""
    names = np.unique(level)
    indicators = (level[:, None] == names).astype(float)
    left, size, _ = np.linalg.svd(demean(indicators, blocks), full_matrices=False)
    return np.asarray(left[:, size > 1e-9 * max(1.0, float(size.max(initial=0.0)))])


def _permuted(blocks: Ints, draws: int, rng: np.random.Generator) -> Ints:
    """Places shuffled within each block, (draws, persons); blocks are contiguous."""
    return np.argsort(blocks + rng.random((draws, len(blocks))), axis=1)


def equal_spread(centred: Centred, level: Ints) -> float | None:
    """p of all levels lying equally far from their own centre (Anderson 2006, Biometrics 62:245-253), within chatbots.

    A distance to the centre of a group of n is √(n / (n - 1)) times the one to the mean of those in it, since each of
    them pulls the mean towards itself.
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
