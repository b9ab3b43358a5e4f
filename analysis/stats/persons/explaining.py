"""What goes with being far from everybody else: a regression over answers, with errors that leave out each person."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from analysis.stats.intervals import Interval, interval_of_error
from analysis.stats.simultaneous import student_p

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEWEST_OF_A_LEVEL = 10  # persons, below which a level stands beside no other
CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Explanation:
    """One explanation of n answers: `columns` (n, k), one a level beside the usual one, or one number a step.

    `levels` name them, `base` is the level that they stand against.
    """

    name: str
    levels: tuple[str, ...]
    base: str
    columns: Floats


@dataclass(frozen=True)
class Effect:
    """Of one level against the base, or of one step: in units of what is explained."""

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
    """Of levels that enough persons have; the others, and unknown ones, are one level that is in no effect.

    The base is the level of most persons, or the first of an `order`. None where nothing is left to compare.
    """
    given = np.array([value or "" for value in values], dtype=object)
    who = {level: len(np.unique(persons[given == level])) for level in dict.fromkeys(given) if level}
    kept = [level for level in (order or sorted(who, key=lambda level: (-who[level], level))) if enough(who, level)]
    if len(kept) < 2:
        return None
    base, others = kept[0], kept[1:]
    rest = [f"{OTHER}"] if not np.isin(given, kept).all() else []
    columns = [given == level for level in others] + [~np.isin(given, kept)] * len(rest)
    return Explanation(name, (*others, *rest), base, np.stack(columns, axis=1).astype(float))


OTHER = "\0other"  # levels of too few, and persons of whom it is not known


def enough(who: dict[str, int], level: str) -> bool:
    return who.get(level, 0) >= FEWEST_OF_A_LEVEL


def by_step(name: str, values: Floats) -> Explanation | None:
    """Of a number; None where it does not vary."""
    known = np.nan_to_num(values, nan=float(np.nanmean(values)) if not np.isnan(values).all() else 0.0)
    return Explanation(name, ("",), "", known[:, None]) if np.ptp(known) > CLOSE else None


def explain(y: Floats, fixed: Ints, persons: Ints, explanations: Sequence[Explanation]) -> list[Explained]:
    """Least squares of y on all explanations, with a fixed effect for each number in `fixed`.

    Errors come from leaving out each person with all their answers (the jackknife of clusters, CR3: Bell and McCaffrey
    2002, Survey Methodology 28:169-181), which of a level that few persons have is surer than the sandwich; t and F
    have persons - 1 degrees of freedom. A column that the others make up is left out.
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
    beta, left_out = leave_out_persons(x, z, whose, count)
    spread = (left_out - beta) * np.sqrt((count - 1) / count)
    covariance = spread.T @ spread
    found, start, freedom = [], 0, count - 1
    for explanation, columns in zip(explanations, width, strict=True):
        places = np.flatnonzero(np.isin(independent, np.arange(start, start + columns)))
        named = [(int(place), explanation.levels[independent[place] - start]) for place in places]
        told = [(place, level) for place, level in named if level != OTHER]
        effects = []
        for place, level in told:
            error = float(np.sqrt(covariance[place, place]))
            there = explanation.columns[:, independent[place] - start] != 0
            n = len(np.unique(persons[there])) if len(explanation.levels) > 1 or level else count
            ci = interval_of_error(float(beta[place]), error, freedom)
            effects.append(Effect(level, float(beta[place]), ci, error, n))
        at = [place for place, _ in told]
        found.append(Explained(explanation.name, explanation.base, tuple(effects), wald(beta, covariance, at, freedom)))
        start += columns
    return found


def demean(columns: Floats, groups: Ints) -> Floats:
    """Each column minus its mean in each group, which is what fixed effects for groups leave of it."""
    _, of = np.unique(groups, return_inverse=True)
    sums = np.zeros((int(of.max()) + 1, columns.shape[1]))
    np.add.at(sums, of, columns)
    return np.asarray(columns - (sums / np.bincount(of)[:, None])[of])


def independent_columns(x: Floats) -> Ints:
    """Places of the columns that those before them do not make up."""
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


def leave_out_persons(x: Floats, z: Floats, whose: Ints, count: int) -> tuple[Floats, Floats]:
    """The coefficients, and (count, k) those without each person."""
    order = np.argsort(whose, kind="stable")
    starts = np.searchsorted(whose[order], np.arange(count))
    x, z = x[order], z[order]
    products = np.stack([np.add.reduceat(x * column[:, None], starts, axis=0) for column in x.T], axis=1)
    moments = np.add.reduceat(x * z[:, None], starts, axis=0)
    all_products, all_moments = products.sum(axis=0), moments.sum(axis=0)
    beta = np.linalg.lstsq(all_products, all_moments, rcond=None)[0]
    without = all_products - products
    safe = np.linalg.pinv(without, hermitian=True)
    return beta, np.einsum("gij,gj->gi", safe, all_moments - moments)


def wald(beta: Floats, covariance: Floats, places: Sequence[int], freedom: int) -> float | None:
    """p of these coefficients being 0 together."""
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
