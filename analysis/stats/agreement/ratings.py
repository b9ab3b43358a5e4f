"""Ratings on an ordered scale: means of groups, gaps between items that name something and others, ranks, sides.

All statistics but that of sides depend on the items only through counts, so one bootstrap serves them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, kron
from scipy.stats import rankdata

from analysis.stats.agreement.coefficients import Tables, spearman
from analysis.stats.agreement.estimates import Estimate, Statistic, block_uses, estimate_clustered_share
from analysis.stats.agreement.labels import ORDER_OUTCOMES
from analysis.stats.intervals import Floats

Codes = NDArray[np.intp]
NAMED, NOT_NAMED, UNDECIDED = 1, 0, -1
LEFT, RIGHT, NEITHER = 1, 0, -1
NO_PREFERENCE = "no side was preferred"


class RatingRows(NamedTuple):
    """Ratings in long form, (ratings,) each: the item, the rating's place on the scale, its group."""

    items: Codes
    values: Codes
    groups: Codes


def count_cells(items: Codes, cells: Codes, n_items: int, n_cells: int) -> csr_array:
    """(n_items, n_cells) how often each item has something in each cell."""
    return csr_array((np.ones(len(items)), (items, cells)), shape=(n_items, n_cells))


def rating_statistic(rated: RatingRows, numbers: Floats, n_items: int, n_groups: int) -> Statistic:
    """By group, the `mean` rating, the share `no_better` than the scale's middle, and the `shares` of its labels.

    `numbers`: (k,) the values of the scale's places. `shares`: (groups × k,) group by group. `low_means`: the share of
    its items, which several may have rated, whose mean rating is no better than the middle.
    """
    k = len(numbers)
    width = k + 2
    middle = (numbers[0] + numbers[-1]) / 2
    group, item, means = mean_ratings(rated, numbers, n_items)
    low = np.arange(k) <= (k - 1) / 2
    cells = np.concatenate([rated.groups * width + rated.values, group * width + k + (means <= middle)])
    summary = count_cells(np.concatenate([rated.items, item]), cells, n_items, n_groups * width)

    def measure(sums: Floats) -> dict[str, Floats]:
        blocks = sums.reshape(n_groups, width, -1)
        shares, of_items = share_of_cells(blocks[:, :k]), share_of_cells(blocks[:, k:])
        return {
            "mean": np.tensordot(numbers, shares, (0, 1)),
            "no_better": shares[:, low].sum(axis=1),
            "low_means": of_items[:, 1],
            "shares": shares.reshape(n_groups * k, -1),
        }

    block = block_uses(n_groups, width)
    uses = dict.fromkeys(("mean", "no_better", "low_means"), block)
    uses["shares"] = csr_array(kron(block, np.ones((k, 1))))
    return Statistic(summary, measure, uses, (float(numbers[0]), float(numbers[-1])))


def mean_ratings(rated: RatingRows, numbers: Floats, n_items: int) -> tuple[Codes, Codes, Floats]:
    """(found,) each group with an item that it rated, and its mean rating; rounded, so that equal means are ties."""
    pairs, place, sizes = np.unique(rated.groups * n_items + rated.items, return_inverse=True, return_counts=True)
    means = np.bincount(place, numbers[rated.values], len(pairs)) / sizes
    return pairs // n_items, pairs % n_items, np.round(means, 9)


def gap_statistic(rated: RatingRows, named: Codes, numbers: Floats, n_items: int, n_groups: int) -> Statistic:
    """By group, the `gap`: mean rating of the items that name something minus that of those that do not.

    `named`: (n_items,) NAMED, NOT_NAMED or UNDECIDED; leaves out undecided ones.
    """
    k = len(numbers)
    known = named[rated.items] != UNDECIDED
    items, values, groups = (column[known] for column in rated)
    cells = (groups * 2 + named[items]) * k + values
    summary = count_cells(items, cells, n_items, n_groups * 2 * k)

    def measure(sums: Floats) -> dict[str, Floats]:
        shares = share_of_cells(sums.reshape(n_groups * 2, k, -1))
        means = np.tensordot(numbers, shares, (0, 1)).reshape(n_groups, 2, -1)
        return {"gap": means[:, NAMED] - means[:, NOT_NAMED]}

    return Statistic(summary, measure, {"gap": block_uses(n_groups, 2 * k)})


def share_of_cells(counts: Floats) -> Floats:
    """(groups, k, draws) shares within each group; NaN if a group has nothing in a draw."""
    return counts / counts.sum(axis=1, keepdims=True)


def naming_statistic(groups: Codes, named: Codes, n_groups: int) -> Statistic:
    """By group, the `rate`: share of its items that name something, among the decided ones.

    `groups`, `named`: (n_items,); a group of -1 is none.
    """
    items = np.flatnonzero((named != UNDECIDED) & (groups >= 0))
    cells = groups[items] * 2 + named[items]
    summary = count_cells(items, cells, len(named), n_groups * 2)

    def measure(sums: Floats) -> dict[str, Floats]:
        return {"rate": share_of_cells(sums.reshape(n_groups, 2, -1))[:, NAMED]}

    return Statistic(summary, measure, {"rate": block_uses(n_groups, 2)}, (0.0, 1.0))


def rank_statistic(items: Codes, one: Floats, other: Floats, n_items: int) -> Statistic:
    """`spearman` of two ratings of the same items; `items`: (shared,), `one` and `other`: (shared,) their ratings."""
    levels, left = np.unique(one, return_inverse=True)
    others, right = np.unique(other, return_inverse=True)
    size = len(levels), len(others)
    summary = count_cells(items, left * size[1] + right, n_items, size[0] * size[1])

    def measure(sums: Floats) -> dict[str, Floats]:
        return {"spearman": spearman(Tables(sums.reshape(1, *size, sums.shape[1]), np.arange(size[0])))}

    return Statistic(summary, measure, bounds=(-1.0, 1.0))


def habit_statistic(naming: Statistic, gaps: Statistic, writers: Codes, judges: Codes) -> Statistic:
    """`spearman` over models of how often they name something as writers and the gap that they make as judges.

    `writers`, `judges`: (models,) the group of each model in `naming` and in `gaps`.
    """
    width = naming.summary.shape[1]
    summary = csr_array(hstack([naming.summary, gaps.summary]))

    def measure(sums: Floats) -> dict[str, Floats]:
        rates, found = naming.measure(sums[:width])["rate"], gaps.measure(sums[width:])["gap"]
        return {"spearman": correlate_ranks(rates[writers], found[judges])}

    return Statistic(summary, measure, bounds=(-1.0, 1.0))


def correlate_ranks(one: Floats, other: Floats) -> Floats:
    """(1, draws) Spearman's correlation over the rows of two (models, draws); NaN if a value is NaN or all are tied."""
    left, right = (rankdata(values, axis=0) - (len(values) + 1) / 2 for values in (one, other))
    found = (left * right).sum(axis=0) / np.sqrt((left**2).sum(axis=0) * (right**2).sum(axis=0))
    return np.where(np.isnan(one + other).any(axis=0), np.nan, found)[None]


# --- whether the left side is preferred, whatever it shows ------------------


@dataclass(frozen=True)
class SideBias:
    """`share` of the preferences that are for the side shown left; 0.5 is no bias if sides are balanced.

    `neither`: judgements that prefer no side, left out. `raters`: by rater code, the same share of each.
    """

    share: Estimate
    neither: int
    raters: tuple[Estimate, ...]


def measure_side_bias(sides: NDArray[np.int8], raters: Codes, n_raters: int, units: Codes | None = None) -> SideBias:
    """Side bias of (judgements,) preferred sides LEFT, RIGHT or NEITHER.

    `units`: (judgements,) which of one rater's belong together, those about one item or user; by default none do.
    """
    sided = sides != NEITHER
    left, rater = sides[sided] == LEFT, raters[sided]
    unit = np.arange(len(sides))[sided] if units is None else units[sided]
    shares = [
        estimate_clustered_share(left[rater == code], unit[rater == code], NO_PREFERENCE) for code in range(n_raters)
    ]
    whole = estimate_clustered_share(left, rater, NO_PREFERENCE)
    return SideBias(whole, int((~sided).sum()), tuple(shares))


# --- one judge, asked in both orders ----------------------------------------


def join_orders(one: int, other: int, k: int) -> int:
    """One label for a judge's two, places 0 … k-1 of the same response: their mean, halves towards the middle."""
    double, middle = one + other, k - 1
    return (double + (double % 2 if double < middle else 0)) // 2


def measure_orders(outcomes: Sequence[str], units: Codes) -> dict[str, Estimate]:
    """The share of each of ORDER_OUTCOMES among (pairs,); `units`: (pairs,) the item or user of each."""
    found = np.array(outcomes)
    return {name: estimate_clustered_share(found == name, units, "nothing was asked twice") for name in ORDER_OUTCOMES}
