"""Pairs of raters: what they share, how they agree, and the means over groups of pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse import csc_array, csr_array
from scipy.spatial.distance import squareform

from analysis.stats.agreement.coefficients import (
    Tables,
    choose_measures,
    find_commonest,
    gain_alike,
    more_alike,
)
from analysis.stats.agreement.estimates import Estimate, Spread, Statistic, block_uses
from analysis.stats.agreement.labels import BASELINE, JUDGE, PERSON, Labels
from analysis.stats.intervals import Bools, Floats

# Groups of pairs, and in words who is in them.
GROUPS = {
    "all": "two raters",
    "humans": "two people",
    "models": "two judges",
    "across": "person and judge",
    "baselines": "person and baseline",
}
MOST_PAIRS = 1000  # a hundred raters make 4,950 pairs of a few items each, which would take minutes and say nothing
NOT_AMONG_MOST = f"no interval: made only for the {MOST_PAIRS:,} pairs that share most items"
NOTHING_SHARED = Estimate(None, 0, None, "no shared items")


@dataclass(frozen=True)
class RaterPair:
    """Raters `a` < `b` over the `n` items that both labelled; `measures` by their names in coefficients.MEASURES."""

    a: int
    b: int
    n: int
    measures: dict[str, Estimate]


class SharedLabels(NamedTuple):
    """Each time two raters labelled one item: (shared,) the item, the pair, its first rater's label, its second's.

    `first` < `second`: (pairs,) the raters of the pairs that share any item.
    """

    item: NDArray[np.intp]
    pair: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """(pairs,) items that a pair shares."""
        return np.bincount(self.pair, minlength=len(self.first))


def find_shared(labels: Labels) -> SharedLabels:
    order = np.lexsort((labels.raters, labels.items))
    items, raters, values = (column[order].astype(np.intp) for column in (labels.items, labels.raters, labels.values))
    one, other = np.concatenate([np.empty((0, 2), dtype=np.intp), *_find_neighbours(items)]).T
    keys, pair = np.unique(raters[one] * labels.n_raters + raters[other], return_inverse=True)
    return SharedLabels(items[one], pair, values[one], values[other], keys // labels.n_raters, keys % labels.n_raters)


def _find_neighbours(items: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """(found, 2) rows of the same item that are 1, 2, 3 … apart in a list sorted by item."""
    for apart in range(1, len(items)):
        rows = np.flatnonzero(items[:-apart] == items[apart:])
        if not rows.size:
            return
        yield np.column_stack([rows, rows + apart])


def split_pairs(shared: SharedLabels, threshold: int) -> tuple[SharedLabels, SharedLabels]:
    """Return pairs with intervals, of `threshold` shared items or among the MOST_PAIRS largest; and the others."""
    sizes = shared.sizes
    chosen = sizes >= threshold
    chosen[np.argsort(-sizes, kind="stable")[:MOST_PAIRS]] = True
    return keep_pairs(shared, chosen), keep_pairs(shared, ~chosen)


def keep_pairs(shared: SharedLabels, kept: Bools) -> SharedLabels:
    rows, number = kept[shared.pair], np.cumsum(kept) - 1
    item, pair, left, right = (column[rows] for column in shared[:4])
    return SharedLabels(item, number[pair], left, right, shared.first[kept], shared.second[kept])


def group_pairs(labels: Labels, shared: SharedLabels, threshold: int) -> Bools:
    """(groups, pairs) which pairs with at least `threshold` shared items belong to each of GROUPS.

    Baselines are in no group but their own; if nobody else labels, all pairs are in `all`.
    """
    one, other = labels.kinds[shared.first], labels.kinds[shared.second]
    people, judges = ((one == kind).astype(int) + (other == kind) for kind in (PERSON, JUDGE))
    others = people + judges == 2
    everybody = others if (labels.kinds[labels.raters] < BASELINE).any() else np.ones_like(others)
    groups = [everybody, people == 2, judges == 2, (people == 1) & (judges == 1), (people == 1) & ~others]
    return np.stack(groups) & (shared.sizes >= threshold)


def pairs_of_raters(labels: Labels, shared: SharedLabels, threshold: int) -> Bools:
    """(n_raters, pairs) which pairs with at least `threshold` shared items are of a rater and another of its kind."""
    raters = np.arange(labels.n_raters)[:, None]
    same = labels.kinds[shared.first] == labels.kinds[shared.second]
    return ((raters == shared.first) | (raters == shared.second)) & same & (shared.sizes >= threshold)


def pair_statistic(
    labels: Labels, shared: SharedLabels, groups: Bools, ordered: bool, of_raters: Bools | None = None
) -> Statistic:
    """Each measure of the pairs (pairs,) under its name, and under `mean_…` its means over groups (groups, pairs).

    With `of_raters` (raters, pairs) also `kappa_of_rater`: each rater's mean kappa over these.
    """
    k, pairs = labels.n_labels, len(shared.first)
    cells = (shared.pair * k + shared.left) * k + shared.right
    summary = csr_array((np.ones(len(cells)), (shared.item, cells)), shape=(labels.n_items, pairs * k * k))
    places = np.cumsum(labels.seen) - 1  # among the labels that anybody gave

    def measure(sums: Floats) -> dict[str, Floats]:
        tables = Tables(sums.reshape(pairs, k, k, sums.shape[1]), places)
        found = {name: formula(tables) for name, (formula, *_) in choose_measures(ordered).items()}
        means = {f"mean_{name}": average(values, groups) for name, values in found.items()}
        return found | means | ({} if of_raters is None else {"kappa_of_rater": average(found["kappa"], of_raters)})

    each = block_uses(pairs, k * k)
    of_groups = csr_array(csr_array(groups.astype(float)) @ each)
    uses = dict.fromkeys(choose_measures(ordered), each)
    uses |= {f"mean_{name}": of_groups for name in choose_measures(ordered)}
    if of_raters is not None:
        uses["kappa_of_rater"] = csr_array(csr_array(of_raters.astype(float)) @ each)
    return Statistic(summary, measure, uses, (-1.0, 1.0))


def average(values: Floats, groups: Bools) -> Floats:
    """(groups, draws) mean over the pairs of a group for which the measure is defined; NaN if there is none."""
    defined = ~np.isnan(values)
    return (groups @ np.where(defined, values, 0.0)) / (groups @ defined.astype(np.float64))


def make_pairs(
    labels: Labels, shared: SharedLabels, rest: SharedLabels, spreads: dict[str, Spread], ordered: bool
) -> list[RaterPair]:
    """All pairs of raters who gave labels, even without a shared item; `spreads` are those of `shared`."""
    estimates = estimate_measures(shared, spreads, ordered)
    rooms = rooms_of_kappa(labels, shared, np.eye(len(shared.first), dtype=np.bool_))
    estimates["kappa"] = [each.reaching(room) for each, room in zip(estimates["kappa"], rooms.tolist(), strict=True)]
    known = list_pairs(shared, estimates)
    known |= list_pairs(rest, measure_once(labels, rest, ordered))
    nothing = dict.fromkeys(choose_measures(ordered), NOTHING_SHARED)
    raters = np.flatnonzero(labels.per_rater).tolist()
    return [known.get(pair) or RaterPair(*pair, 0, nothing) for pair in combinations(raters, 2)]


def list_pairs(shared: SharedLabels, estimates: dict[str, list[Estimate]]) -> dict[tuple[int, int], RaterPair]:
    rows = zip(shared.first.tolist(), shared.second.tolist(), shared.sizes.tolist(), strict=True)
    return {
        (a, b): RaterPair(a, b, n, {name: each[i] for name, each in estimates.items()})
        for i, (a, b, n) in enumerate(rows)
    }


def estimate_measures(shared: SharedLabels, spreads: dict[str, Spread], ordered: bool) -> dict[str, list[Estimate]]:
    sizes, measures = shared.sizes.tolist(), choose_measures(ordered)
    return {
        name: spreads[name].shares(sizes, measure.undefined)
        if name == "raw"
        else spreads[name].estimates(sizes, measure.undefined)
        for name, measure in measures.items()
    }


def measure_once(labels: Labels, shared: SharedLabels, ordered: bool) -> dict[str, list[Estimate]]:
    """Measure the pairs without intervals."""
    nobody = np.zeros((len(GROUPS), len(shared.first)), dtype=np.bool_)
    statistic = pair_statistic(labels, shared, nobody, ordered)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = statistic.measure(statistic.summary.sum(axis=0)[:, None])
    return {
        name: [
            Estimate(None, n, None, measure.undefined) if value != value else Estimate(value, n, None, NOT_AMONG_MOST)
            for value, n in zip(values[name][:, 0].tolist(), shared.sizes.tolist(), strict=True)
        ]
        for name, measure in choose_measures(ordered).items()
    }


def rooms_of_kappa(labels: Labels, shared: SharedLabels, groups: Bools) -> Floats:
    """(groups,) how much higher mean kappa over these pairs (groups, pairs) may be than draws show."""
    k, pairs = labels.n_labels, len(shared.first)
    cells = (shared.pair * k + shared.left) * k + shared.right
    tables = np.bincount(cells, minlength=pairs * k * k).reshape(pairs, k, k).astype(np.float64)
    (common, rarer), gain = find_commonest(tables), gain_alike(tables)
    gain[np.isinf(gain)] = np.nan
    of_groups = csr_array(groups.T.astype(np.float64))

    def count(rows: Bools) -> csc_array:
        """(items, groups) in how many of a group's pairs."""
        places = (shared.item[rows], shared.pair[rows])
        return csc_array(csr_array((np.ones(rows.sum()), places), shape=(labels.n_items, pairs)) @ of_groups)

    together, found = (
        count(shared.pair >= 0),
        count((shared.left == shared.right) & (shared.left != common[shared.pair])),
    )
    items, alike, times = np.diff(together.indptr), np.diff(found.indptr), np.asarray(found.sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_rarer, mean_gain = average(np.column_stack([rarer, gain]), groups).T
        mean_gain /= groups @ (~np.isnan(gain)).astype(float)
    return more_alike(alike, items, mean_rarer) * np.maximum(times, 1) / np.maximum(alike, 1) * mean_gain


def make_means(
    spreads: dict[str, Spread], groups: Bools, threshold: int, ordered: bool, rooms: Floats
) -> dict[str, dict[str, Estimate]]:
    """By group, then measure: the mean over the group's pairs; n is the number of these pairs. `rooms` above kappa."""
    means: dict[str, dict[str, Estimate]] = {group: {} for group in GROUPS}
    for name, measure in choose_measures(ordered).items():
        sizes = (groups & ~np.isnan(spreads[name].value)).sum(axis=1).tolist()
        found = spreads[f"mean_{name}"].estimates(sizes, f"in every pair {measure.undefined}")
        if name == "kappa":
            found = [mean.reaching(room) for mean, room in zip(found, rooms.tolist(), strict=True)]
        for group, pairs, mean in zip(GROUPS, groups.sum(axis=1).tolist(), found, strict=True):
            means[group][name] = (
                mean if pairs else Estimate(None, 0, None, f"no {GROUPS[group]} share {threshold} items")
            )
    return means


def cluster_order(agreement: Floats) -> list[int]:
    """Order raters so that those who agree stand side by side; (raters, raters), symmetric, NaN if unknown.

    Average linkage of 1 - agreement, an unknown pair being as far apart as all are on average; leaves are ordered so
    that neighbours are as near as the tree allows (Bar-Joseph et al. 2001, Bioinformatics 17:S22-S29).
    """
    n = len(agreement)
    apart = 1 - np.asarray(agreement, dtype=float)
    np.fill_diagonal(apart, 0.0)
    pairs = squareform(apart, checks=False)
    known = pairs[~np.isnan(pairs)]
    if n < 3 or not len(known):
        return list(range(n))
    filled = np.where(np.isnan(pairs), known.mean(), np.maximum(pairs, 0.0))
    return [int(leaf) for leaf in leaves_list(linkage(filled, "average", optimal_ordering=True))]
