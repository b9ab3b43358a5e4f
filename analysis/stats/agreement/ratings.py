"""Ratings on an ordered scale: means of groups, gaps between what names something and what does not, ranks, sides.

Each statistic but that of sides depends on the items only through counts, so that one bootstrap serves them all.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from scipy.stats import rankdata

from analysis.stats.agreement.coefficients import Tables, spearman
from analysis.stats.agreement.estimates import Estimate, Statistic, estimate_share
from analysis.stats.intervals import Floats

Codes = NDArray[np.intp]
NAMED, NOT_NAMED, UNDECIDED = 1, 0, -1
LEFT, RIGHT, NEITHER = 1, 0, -1
NO_PREFERENCE = "no side was preferred"


class RatingRows(NamedTuple):
    """Ratings in long form, (ratings,) each: the item, the place of the rating on the scale, the group it is of."""

    items: Codes
    values: Codes
    groups: Codes


def count_cells(items: Codes, cells: Codes, n_items: int, n_cells: int) -> csr_array:
    """(n_items, n_cells) how often each item has something in each cell."""
    return csr_array((np.ones(len(items)), (items, cells)), shape=(n_items, n_cells))


def rating_statistic(rated: RatingRows, numbers: Floats, n_items: int, n_groups: int) -> Statistic:
    """Of each group the `mean` rating, the share `no_better` than the scale's middle, and the `shares` of its labels.

    `numbers`: (k,) what the places of the scale stand for. `shares`: (groups × k,) group by group.
    """
    k = len(numbers)
    summary = count_cells(rated.items, rated.groups * k + rated.values, n_items, n_groups * k)
    low = np.arange(k) <= (k - 1) / 2

    def measure(sums: Floats) -> dict[str, Floats]:
        shares = share_of_cells(sums.reshape(n_groups, k, -1))
        mean = np.tensordot(numbers, shares, (0, 1))
        return {"mean": mean, "no_better": shares[:, low].sum(axis=1), "shares": shares.reshape(n_groups * k, -1)}

    return Statistic(summary, measure)


def gap_statistic(rated: RatingRows, named: Codes, numbers: Floats, n_items: int, n_groups: int) -> Statistic:
    """Of each group the `gap`: mean rating of the items that name something minus that of those that do not.

    `named`: (n_items,) NAMED, NOT_NAMED or UNDECIDED; what is undecided is left out.
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

    return Statistic(summary, measure)


def share_of_cells(counts: Floats) -> Floats:
    """(groups, k, draws) shares within each group; NaN where a group has nothing in a draw."""
    return counts / counts.sum(axis=1, keepdims=True)


def naming_statistic(groups: Codes, named: Codes, n_groups: int) -> Statistic:
    """Of each group the `rate`: share of its items that name something, among those that are decided.

    `groups`, `named`: (n_items,); a group of -1 is none.
    """
    items = np.flatnonzero((named != UNDECIDED) & (groups >= 0))
    cells = groups[items] * 2 + named[items]
    summary = count_cells(items, cells, len(named), n_groups * 2)

    def measure(sums: Floats) -> dict[str, Floats]:
        return {"rate": share_of_cells(sums.reshape(n_groups, 2, -1))[:, NAMED]}

    return Statistic(summary, measure)


def rank_statistic(items: Codes, one: Floats, other: Floats, n_items: int) -> Statistic:
    """`spearman` of two ratings of the same items; `items`: (shared,), `one` and `other`: (shared,) their ratings."""
    levels, left = np.unique(one, return_inverse=True)
    others, right = np.unique(other, return_inverse=True)
    size = len(levels), len(others)
    summary = count_cells(items, left * size[1] + right, n_items, size[0] * size[1])

    def measure(sums: Floats) -> dict[str, Floats]:
        return {"spearman": spearman(Tables(sums.reshape(1, *size, sums.shape[1]), np.arange(size[0])))}

    return Statistic(summary, measure)


def habit_statistic(naming: Statistic, gaps: Statistic, writers: Codes, judges: Codes) -> Statistic:
    """`spearman` over models of how often they name something as writers and the gap that they make as judges.

    `writers`, `judges`: (models,) the group of each model in `naming` and in `gaps`.
    """
    width = naming.summary.shape[1]
    summary = csr_array(hstack([naming.summary, gaps.summary]))

    def measure(sums: Floats) -> dict[str, Floats]:
        rates, found = naming.measure(sums[:width])["rate"], gaps.measure(sums[width:])["gap"]
        return {"spearman": correlate_ranks(rates[writers], found[judges])}

    return Statistic(summary, measure)


def correlate_ranks(one: Floats, other: Floats) -> Floats:
    """(1, draws) Spearman's correlation over the rows of two (models, draws); NaN where a value is or all are tied."""
    left, right = (rankdata(values, axis=0) - (len(values) + 1) / 2 for values in (one, other))
    found = (left * right).sum(axis=0) / np.sqrt((left**2).sum(axis=0) * (right**2).sum(axis=0))
    return np.where(np.isnan(one + other).any(axis=0), np.nan, found)[None]


# --- whether the left side is preferred, whatever it shows ------------------


@dataclass(frozen=True)
class SideBias:
    """`share`: of the preferences, those for the side shown left; 0.5 is no bias when sides are balanced.

    `neither`: judgements that prefer no side, left out. `raters`: by rater code, the same share of each.
    """

    share: Estimate
    neither: int
    raters: tuple[Estimate, ...]


def measure_side_bias(sides: NDArray[np.int8], raters: NDArray[np.int32], n_raters: int) -> SideBias:
    """Of (judgements,) preferred sides LEFT, RIGHT or NEITHER; Wilson's intervals, each judgement a case of its own."""
    sided = sides != NEITHER
    totals = np.bincount(raters[sided], minlength=n_raters)
    lefts = np.bincount(raters[sides == LEFT], minlength=n_raters)
    shares = [estimate_share(left, n, NO_PREFERENCE) for left, n in zip(lefts.tolist(), totals.tolist(), strict=True)]
    whole = estimate_share(int(lefts.sum()), int(totals.sum()), NO_PREFERENCE)
    return SideBias(whole, int((~sided).sum()), tuple(shares))
