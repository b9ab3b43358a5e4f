"""How well scores tell true cases from false ones, with intervals over groups; and thresholds from which to say yes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from analysis.stats.agreement.estimates import Estimate
from analysis.stats.intervals import (
    FEWEST_UNITS,
    Bools,
    Floats,
    Interval,
    Ints,
    clustered_share,
    redrawn_interval,
    share_difference,
    share_interval,
    why_no_interval,
)
from analysis.stats.resampling import bootstrap_weights, generator

DRAWS = 1000
CELLS = 4_000_000  # cells of the largest array of draws in memory
SHARES = ("accuracy", "precision", "recall")
WHY = {
    "accuracy": "there is no case",
    "precision": "nothing is called positive",
    "recall": "no case is positive",
    "f1": "no case is positive, and none is called so",
    "best_f1": "no case is positive",
    "auroc": "needs positive and negative cases",
    "map": "no list has a positive case",
    "mrr": "no list has a positive case",
    "spearman": "needs two different ratings and two different scores",
}


@dataclass(frozen=True, eq=False)
class Cases:
    """n cases. `truth`: (n,) bool; `groups`: (n,) codes from 0 of the independent groups, the units of all intervals.

    `queries`: (n,) codes of the list in which a case is ranked; `ratings`: (n,) people's ratings, or None.
    """

    truth: Bools
    groups: Ints
    queries: Ints
    ratings: Floats | None = None

    @property
    def n(self) -> int:
        return len(self.truth)

    @property
    def n_groups(self) -> int:
        return int(self.groups.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of the cases, (n,), and the score from which a case is called positive."""

    scores: Floats
    threshold: Any  # a float; (n,) floats if each case has its own

    @property
    def called(self) -> Bools:
        return np.asarray(self.scores >= self.threshold)


Drawn = Callable[[Floats], Floats]  # weights of the groups (groups, draws) -> the measure (draws,), NaN if undefined


# --- one measure as a function of how often each group is drawn ---------------------------------------------


def measures_of(cases: Cases, scored: Scored, names: Sequence[str]) -> dict[str, Drawn]:
    return {name: MEASURES[name](cases, scored) for name in names}


def _counts(cases: Cases, hits: Bools) -> Floats:
    return np.bincount(cases.groups, hits, minlength=cases.n_groups).astype(float)


def _ratio(cases: Cases, hits: Bools, of: Bools) -> Drawn:
    top, bottom = _counts(cases, hits & of), _counts(cases, of)
    return lambda weights: _divide(top @ weights, bottom @ weights)


def _divide(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full(np.shape(bottom), np.nan), where=bottom > 0)


def _accuracy(cases: Cases, scored: Scored) -> Drawn:
    return _ratio(cases, scored.called == cases.truth, np.ones(cases.n, bool))


def _f1(cases: Cases, scored: Scored) -> Drawn:
    """2 hits / (positive + called positive)."""
    hits, both = (
        _counts(cases, scored.called & cases.truth),
        _counts(cases, scored.called) + _counts(cases, cases.truth),
    )
    return lambda weights: _divide(2 * hits @ weights, both @ weights)


def _best_f1(cases: Cases, scored: Scored) -> Drawn:
    """F1 with the threshold that is best on these very cases, and so flattering."""
    if not cases.truth.any():
        return lambda weights: np.full(weights.shape[1], np.nan)
    return _f1(cases, Scored(scored.scores, choose_threshold(scored.scores, cases.truth)[0]))


def _auroc(cases: Cases, scored: Scored) -> Drawn:
    """Share of pairs of a positive and a negative case in which the positive one scores higher; ties count half."""
    order = np.argsort(scored.scores, kind="stable")
    blocks = np.flatnonzero(np.append(True, np.diff(scored.scores[order]) > 0)) if cases.n else np.array([], int)
    truth, groups = cases.truth[order], cases.groups[order]

    def measure(weights: Floats) -> Floats:
        if not cases.n:
            return np.full(weights.shape[1], np.nan)
        width = max(1, CELLS // cases.n)
        return np.concatenate([part(weights[:, at : at + width]) for at in range(0, weights.shape[1], width)])

    def part(weights: Floats) -> Floats:
        drawn = weights[groups]
        positive, negative = (np.add.reduceat(drawn * rows[:, None], blocks) for rows in (truth, ~truth))
        below = np.cumsum(negative, axis=0) - negative / 2
        return _divide((positive * below).sum(axis=0), positive.sum(axis=0) * negative.sum(axis=0))

    return measure


def _ranked(cases: Cases, scored: Scored) -> tuple[Floats, Floats, Ints]:
    """Average precision, reciprocal rank of the first positive case, and group of each list with a positive case.

    Equal scores are put in a random order, which is the same every time.
    """
    mixed = generator(0, "ties", cases.n).permutation(cases.n)
    order = mixed[np.lexsort((-scored.scores[mixed], cases.queries[mixed]))]
    truth, queries = cases.truth[order], cases.queries[order]
    starts = np.flatnonzero(np.append(True, np.diff(queries) != 0)) if cases.n else np.array([], int)
    place = np.arange(cases.n) - np.repeat(starts, np.diff(np.append(starts, cases.n))) + 1
    seen = np.cumsum(truth)
    before = np.repeat(seen[starts] - truth[starts], np.diff(np.append(starts, cases.n)))
    number = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, cases.n)))
    positive = np.bincount(number, truth, minlength=len(starts))
    precision = np.bincount(number, truth * (seen - before) / place, minlength=len(starts))
    first = np.full(len(starts), np.inf)
    np.minimum.at(first, number[truth], place[truth].astype(float))
    known = positive > 0
    return precision[known] / positive[known], 1 / first[known], cases.groups[order][starts][known]


def _mean_of_lists(which: int) -> Callable[[Cases, Scored], Drawn]:
    def make(cases: Cases, scored: Scored) -> Drawn:
        found = _ranked(cases, scored)
        top = np.bincount(found[2], found[which], minlength=cases.n_groups)
        bottom = np.bincount(found[2], minlength=cases.n_groups).astype(float)
        return lambda weights: _divide(top @ weights, bottom @ weights)

    return make


def _spearman(cases: Cases, scored: Scored) -> Drawn:
    """Pearson's correlation of the ranks of scores and ratings among all cases."""
    ratings = np.zeros(cases.n) if cases.ratings is None else cases.ratings
    x, y = (rankdata(values) - (cases.n + 1) / 2 for values in (scored.scores, ratings))
    sums = [
        np.bincount(cases.groups, values, minlength=cases.n_groups)
        for values in (np.ones(cases.n), x, y, x * x, y * y, x * y)
    ]

    def measure(weights: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (each @ weights for each in sums)
        spread = (n * sxx - sx * sx) * (n * syy - sy * sy)
        return _divide(n * sxy - sx * sy, np.sqrt(np.maximum(spread, 0)))

    return measure


MEASURES: dict[str, Callable[[Cases, Scored], Drawn]] = {
    "accuracy": _accuracy,
    "precision": lambda cases, scored: _ratio(cases, cases.truth, scored.called),
    "recall": lambda cases, scored: _ratio(cases, scored.called, cases.truth),
    "f1": _f1,
    "best_f1": _best_f1,
    "auroc": _auroc,
    "map": _mean_of_lists(0),
    "mrr": _mean_of_lists(1),
    "spearman": _spearman,
}


# --- with intervals -----------------------------------------------------------------------------------------


def _weights(groups: int) -> Floats:
    return bootstrap_weights(groups, DRAWS, generator(0, "detection", groups)).astype(float)


def measure_scores(cases: Cases, scored: Scored, names: Sequence[str]) -> dict[str, Estimate]:
    """Measure with 95 % intervals: groups are drawn with replacement, each with all its cases.

    A share or AUROC of 0 or 1, which is the same in every draw, gets Wilson's interval over groups.
    """
    if not cases.n:
        return {name: Estimate(None, 0, None, WHY[name]) for name in names}
    weights = _weights(cases.n_groups)
    found = {}
    for name, measure in measures_of(cases, scored, names).items():
        value = float(measure(np.ones((cases.n_groups, 1)))[0])
        ends = _ends(cases, scored, name, value, measure(weights))
        found[name] = _estimate(value, cases, ends, WHY[name])
    return found


def _ends(cases: Cases, scored: Scored, name: str, value: float, draws: Floats) -> Interval | None:
    if value != value:
        return None
    ends = redrawn_interval(draws, value, cases.n_groups, -1.0 if name == "spearman" else 0.0, 1.0)
    if ends or cases.n_groups < FEWEST_UNITS or value not in (0.0, 1.0):
        return ends
    if name == "auroc":  # as many pairs as the rarer kind of case has groups
        n = min(int(np.count_nonzero(_counts(cases, of))) for of in (cases.truth, ~cases.truth))
        return share_interval(int(value) * n, n)
    return _ends_of_all(cases, scored, name, value) if name in SHARES else None


def _ends_of_all(cases: Cases, scored: Scored, name: str, value: float) -> Interval | None:
    of = {"accuracy": np.ones(cases.n, bool), "precision": scored.called, "recall": cases.truth}[name]
    sizes = _counts(cases, of)
    sizes = sizes[sizes > 0]
    return clustered_share(sizes * value, sizes)


def _estimate(value: float, cases: Cases, ends: Interval | None, why: str) -> Estimate:
    if value != value:
        return Estimate(None, cases.n, None, why, cases.n_groups)
    return Estimate(value, cases.n, ends, why_no_interval(ends, cases.n_groups) or "", cases.n_groups)


def compare_scores(cases: Cases, one: Scored, other: Scored, names: Mapping[str, str]) -> dict[str, Estimate]:
    """Measure one minus the other on the same draws of groups; `names` maps measures of `one` to those of `other`.

    If no draw changes the difference, as beside a baseline without any spread, its interval is from those of both.
    """
    if not cases.n:
        return {name: Estimate(None, 0, None, WHY[name]) for name in names}
    weights, ones = _weights(cases.n_groups), np.ones((cases.n_groups, 1))
    mine, theirs = measures_of(cases, one, list(names)), measures_of(cases, other, list(names.values()))
    found = {}
    for name, its in names.items():
        values = float(mine[name](ones)[0]), float(theirs[its](ones)[0])
        drawn = mine[name](weights), theirs[its](weights)
        value = values[0] - values[1]
        ends = redrawn_interval(drawn[0] - drawn[1], value, cases.n_groups) if value == value else None
        if ends is None and value and cases.n_groups >= FEWEST_UNITS and name in (*SHARES, "auroc"):
            first, second = map(_ends_or_itself, (cases,) * 2, (one, other), (name, its), values, drawn)
            ends = share_difference(values[0], first, values[1], second)
        found[name] = _estimate(value, cases, ends, WHY[name])
    return found


def _ends_or_itself(cases: Cases, scored: Scored, name: str, value: float, draws: Floats) -> Interval | None:
    """Return the ends; the value twice if it is fixed, as the AUROC of equal scores is."""
    is_fixed = 0 < value < 1 and np.allclose(draws, value)
    return (value, value) if is_fixed else _ends(cases, scored, name, value, draws)


def says(difference: Estimate) -> str:
    """Say whether one beats the other: `yes`, `no`, or `not told apart` if the interval contains 0 or there is none."""
    if difference.ci is None or difference.ci[0] <= 0 <= difference.ci[1]:
        return "not told apart"
    return "yes" if difference.ci[0] > 0 else "no"


# --- thresholds ---------------------------------------------------------------


def choose_precise_threshold(scores: Floats, right: Bools, least_recall: float) -> float:
    """Choose the threshold with the best precision at this recall or more; among equals, that with the best recall.

    At least one case must be right.
    """
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(right[order])
    is_possible = np.append(np.diff(scores[order]) != 0, True) & (hits >= least_recall * hits[-1] - 1e-9)
    precision = np.where(is_possible, hits / np.arange(1, len(order) + 1), -1.0)
    return float(scores[order][np.flatnonzero(precision == precision.max())[-1]])


def choose_threshold(scores: Floats, right: Bools) -> tuple[float, float]:
    """Choose the highest threshold with the best F1; return that F1 too."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + max(int(right.sum()), 1))
    # Equal scores get one label: only the last of them can be a threshold.
    last = np.append(np.diff(scores[order]) != 0, True)
    best = int(np.argmax(np.where(last, f1, -1.0)))
    return float(scores[order][best]), float(f1[best])
