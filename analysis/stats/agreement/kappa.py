"""Agreement of two raters, from the contingency tables of many pairs at once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.stats.agreement.estimates import Floats

NO_ORDER = "the labels have no order"
ONE_LABEL_IN_USE = "only one label was used"
BOTH_CONSTANT = "both raters gave one and the same label only"


class Tables:
    """`cells`: (pairs, k, k, draws), how often the first rater gave i and the second j; `places`: (k,) of the labels.

    `rows`, `columns`: (pairs, k, draws) each rater's own counts; `n`: (pairs, draws) shared items.
    """

    def __init__(self, cells: Floats, places: NDArray[np.intp]) -> None:
        self.cells, self.places = cells, places
        self.rows, self.columns = cells.sum(axis=2), cells.sum(axis=1)
        self.n = self.rows.sum(axis=1)

    def sum_weighted(self, weights: Floats) -> Floats:
        """(pairs, draws) Σ weight_ij cell_ij."""
        pairs, k, _, draws = self.cells.shape
        return np.matmul(weights.ravel(), self.cells.reshape(pairs, k * k, draws))


def share_raw(tables: Tables) -> Floats:
    """Share of the shared items on which both gave the same label."""
    return 1 - tables.sum_weighted(1.0 - np.eye(len(tables.places))) / tables.n


def cohen_kappa(tables: Tables) -> Floats:
    """Cohen 1960, Educ. Psychol. Meas. 20:37-46."""
    return weighted_kappa(tables, 1.0 - np.eye(len(tables.places)))


def linear_kappa(tables: Tables) -> Floats:
    return weighted_kappa(tables, _distances(tables.places))


def quadratic_kappa(tables: Tables) -> Floats:
    return weighted_kappa(tables, _distances(tables.places) ** 2)


def weighted_kappa(tables: Tables, weights: Floats) -> Floats:
    """1 - D_o / D_e with D_o = Σ v_ij t_ij / n and D_e = Σ v_ij r_i c_j / n² (Cohen 1968, Psychol. Bull. 70:213-220).

    v is what a disagreement weighs, t a cell, r and c the two raters' own counts.
    """
    expected = (tables.rows * np.matmul(weights, tables.columns)).sum(axis=1)
    return 1 - tables.sum_weighted(weights) * tables.n / expected


def _distances(places: NDArray[np.intp]) -> Floats:
    return np.abs(places[:, None] - places[None, :]).astype(np.float64)


def pair_ac1(tables: Tables) -> Floats:
    shares = (tables.rows + tables.columns) / (2 * tables.n[:, None])
    return gwet_ac1(share_raw(tables), shares, int(tables.places[-1]) + 1)


def gwet_ac1(raw: Floats, shares: Floats, labels_in_use: int) -> Floats:
    """(p_a - p_e) / (1 - p_e), p_e = Σ π_k (1 - π_k) / (q - 1) (Gwet 2008, Br. J. Math. Stat. Psychol. 61:29-48).

    `raw`: (…, draws) agreement p_a; `shares`: (…, k, draws) mean share π of each label; q labels are in use.
    """
    if labels_in_use < 2:
        return np.full_like(raw, np.nan)
    chance = (shares * (1 - shares)).sum(axis=-2) / (labels_in_use - 1)
    return (raw - chance) / (1 - chance)


def spearman(tables: Tables) -> Floats:
    """Pearson's correlation of midranks, read off the table: all items of a cell share their two ranks."""
    left, right = _centre_ranks(tables.rows, tables.n), _centre_ranks(tables.columns, tables.n)
    products = (left * (tables.cells * right[:, None]).sum(axis=2)).sum(axis=1)
    return products / np.sqrt((tables.rows * left**2).sum(axis=1) * (tables.columns * right**2).sum(axis=1))


def _centre_ranks(counts: Floats, n: Floats) -> Floats:
    """(pairs, k, draws) midrank of each label minus the mean rank; exactly 0 for the only label of a rater."""
    return np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2


class Measure(NamedTuple):
    """`formula`: Tables -> (pairs, draws), NaN where undefined, and then for which reason."""

    formula: Callable[[Tables], Floats]
    undefined: str
    needs_order: bool = False


MEASURES: dict[str, Measure] = {
    "raw": Measure(share_raw, "no shared items"),
    "kappa": Measure(cohen_kappa, BOTH_CONSTANT),
    "ac1": Measure(pair_ac1, ONE_LABEL_IN_USE),
    "kappa_linear": Measure(linear_kappa, BOTH_CONSTANT, needs_order=True),
    "kappa_quadratic": Measure(quadratic_kappa, BOTH_CONSTANT, needs_order=True),
    "spearman": Measure(spearman, "one of the two raters gave one label only", needs_order=True),
}


def choose_measures(ordered: bool) -> dict[str, Measure]:
    return {name: measure for name, measure in MEASURES.items() if ordered or not measure.needs_order}
