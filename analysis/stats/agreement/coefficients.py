"""Agreement of two raters (kappa, AC1, rank correlation), and of any number (alpha, Fleiss' kappa, AC1, raw)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack
from scipy.special import betaincinv

from analysis.stats.agreement.estimates import Estimate, Spread, Statistic
from analysis.stats.agreement.labels import Scale
from analysis.stats.intervals import NO_WIDTH, Floats

NO_ORDER = "the labels have no order"
ONE_LABEL_IN_USE = "only one label was used"
BOTH_CONSTANT = "both raters gave one and the same label only"
ALONE = "no item has two labels"
NO_NUMBERS = "the labels are not numbers"


# --- two raters, from the contingency tables of many pairs at once ----------


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

    v is the weight of a disagreement, t a cell, r and c the two raters' own counts.
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


class PairMeasure(NamedTuple):
    """`formula`: Tables -> (pairs, draws), NaN if undefined, for the reason `undefined`."""

    formula: Callable[[Tables], Floats]
    undefined: str
    needs_order: bool = False


MEASURES: dict[str, PairMeasure] = {
    "raw": PairMeasure(share_raw, "no shared items"),
    "kappa": PairMeasure(cohen_kappa, BOTH_CONSTANT),
    "ac1": PairMeasure(pair_ac1, ONE_LABEL_IN_USE),
    "kappa_linear": PairMeasure(linear_kappa, BOTH_CONSTANT, needs_order=True),
    "kappa_quadratic": PairMeasure(quadratic_kappa, BOTH_CONSTANT, needs_order=True),
    "spearman": PairMeasure(spearman, "one of the two raters gave one label only", needs_order=True),
}


def choose_measures(ordered: bool) -> dict[str, PairMeasure]:
    return {name: measure for name, measure in MEASURES.items() if ordered or not measure.needs_order}


# --- any number of raters ---------------------------------------------------


@dataclass(frozen=True)
class Coefficients:
    """A group's coefficients; n is the number of items with two labels or more, for prevalence that of labels."""

    alpha_nominal: Estimate
    alpha_ordinal: Estimate
    alpha_interval: Estimate
    fleiss: Estimate
    ac1: Estimate
    raw: Estimate
    prevalence: tuple[Estimate, ...]


class Sums(NamedTuple):
    """Weighted sums over items, draws last. An item is pairable if it has m ≥ 2 labels, rated if it has any.

    `coincidences` (k, k, draws): ordered pairs of labels within an item, each counted 1 / (m - 1). `agreeing` (draws,):
    share of its pairs that are equal, over `pairable` (draws,) items. `shares` (k, draws): share of its labels, over
    `rated` (draws,) items. `votes` (k, draws): labels.
    """

    coincidences: Floats
    agreeing: Floats
    pairable: Floats
    shares: Floats
    rated: Floats
    votes: Floats


def summarise_votes(votes: Floats) -> Floats:
    """(items, k² + 2 + k + 1 + k) what each item adds to Sums, from its votes (items, k)."""
    labels = votes.sum(axis=1, keepdims=True)
    equal = (votes * (votes - 1)).sum(axis=1, keepdims=True)
    coincidences = count_coincidences(votes).reshape(len(votes), votes.shape[1] ** 2)
    return np.hstack(
        [
            coincidences,
            equal / np.maximum(labels * (labels - 1), 1),
            labels > 1,
            votes / np.maximum(labels, 1),
            labels > 0,
            votes,
        ]
    )


def count_coincidences(votes: Floats) -> Floats:
    """(items, k, k) ordered pairs of labels within an item over m - 1; all 0 for an item with one label."""
    k = votes.shape[1]
    pairs = votes[:, :, None] * votes[:, None, :] - votes[:, :, None] * np.eye(k)
    return pairs / np.maximum(votes.sum(axis=1) - 1, 1)[:, None, None]


def read_sums(sums: Floats, k: int) -> Sums:
    parts = np.split(sums, np.cumsum([k * k, 1, 1, k, 1]))
    return Sums(parts[0].reshape(k, k, sums.shape[1]), parts[1][0], parts[2][0], parts[3], parts[4][0], parts[5])


def nominal_distances(margins: Floats) -> Floats:
    return np.broadcast_to(1.0 - np.eye(margins.shape[-2])[..., None], (*margins.shape[-2:-1] * 2, 1))


def ordinal_distances(margins: Floats) -> Floats:
    """(Σ from g = c to k of n_g, less (n_c + n_k) / 2)², the squared difference of the two labels' midranks."""
    return square_distances(np.cumsum(margins, axis=-2) - margins / 2)


def square_distances(places: Floats) -> Floats:
    """(…, k, k, draws) squared differences of (…, k, draws) places."""
    return (places[..., :, None, :] - places[..., None, :, :]) ** 2


def krippendorff_alpha(coincidences: Floats, distances: Callable[[Floats], Floats]) -> Floats:
    """1 - D_o / D_e = 1 - (n - 1) Σ o_ck δ_ck / Σ n_c n_k δ_ck (Krippendorff 2011, Computing Alpha-Reliability).

    `coincidences` o: (…, k, k, draws); margins n_c: (…, k, draws); `distances`: margins -> δ (…, k, k, draws).
    """
    margins = coincidences.sum(axis=-2)
    apart = distances(margins)
    expected = (margins[..., :, None, :] * margins[..., None, :, :] * apart).sum(axis=(-3, -2))
    observed = (coincidences * apart).sum(axis=(-3, -2))
    return 1 - (margins.sum(axis=-2) - 1) * observed / expected


def fleiss_kappa(sums: Sums) -> Floats:
    """(P - P_e) / (1 - P_e), P mean agreement of an item, P_e = Σ p_j² (Fleiss 1971, Psychol. Bull. 76:378-382)."""
    chance = ((sums.votes / sums.votes.sum(axis=0)) ** 2).sum(axis=0)
    return (sums.agreeing / sums.pairable - chance) / (1 - chance)


def fit_metrics(scale: Scale) -> dict[str, Callable[[Floats], Floats]]:
    """Return the distances between labels that make sense on this scale."""
    metrics: dict[str, Callable[[Floats], Floats]] = {"alpha_nominal": nominal_distances}
    if scale.ordered:
        metrics["alpha_ordinal"] = ordinal_distances
    if scale.numbers is not None:
        apart = square_distances(np.array(scale.numbers)[:, None])
        metrics["alpha_interval"] = lambda margins: apart
    return metrics


def coefficient_statistic(votes: Floats, scale: Scale, labels_in_use: int) -> Statistic:
    """All coefficients of votes (items, k) under their names, (1, draws) each and `prevalence` (k, draws)."""
    measure = partial(_measure_sums, k=votes.shape[1], metrics=fit_metrics(scale), labels_in_use=labels_in_use)
    k = votes.shape[1]
    columns = np.eye(k * k + k + 3 + k)
    agreeing, votes_of = csr_array(columns[[k * k + 1]]), csr_array(columns[-k:].sum(axis=0, keepdims=True))
    rests_on = dict.fromkeys((*fit_metrics(scale), "fleiss", "raw", "ac1"), agreeing)
    uses = {**rests_on, "prevalence": csr_array(vstack([votes_of] * k))}
    return Statistic(csr_array(summarise_votes(votes)), measure, uses, (-1.0, 1.0))


def _measure_sums(
    columns: Floats, k: int, metrics: dict[str, Callable[[Floats], Floats]], labels_in_use: int
) -> dict[str, Floats]:
    sums = read_sums(columns, k)
    raw = sums.agreeing / sums.pairable
    found = {name: krippendorff_alpha(sums.coincidences, metric) for name, metric in metrics.items()}
    found |= {"fleiss": fleiss_kappa(sums), "raw": raw, "ac1": gwet_ac1(raw, sums.shares / sums.rated, labels_in_use)}
    return {name: each[None] for name, each in found.items()} | {"prevalence": sums.votes / sums.votes.sum(axis=0)}


def make_coefficients(spreads: dict[str, Spread], votes: Floats, scale: Scale) -> Coefficients:
    """Make the estimates; None, with the reason, if scale or data leave one undefined."""
    sizes = votes.sum(axis=1)
    pairable = int((sizes > 1).sum())
    why = ONE_LABEL_IN_USE if pairable else ALONE
    found = {name: each.estimates([pairable], why)[0] for name, each in spreads.items() if name != "prevalence"}
    for name, distances in {**fit_metrics(scale), "fleiss": nominal_distances}.items():
        found[name] = found[name].reaching(room_above(votes, distances))
    found["raw"] = spreads["raw"].shares([pairable], why, [int((sizes * (sizes - 1) / 2).sum())])[0]
    if problem := find_uneven(sizes[sizes > 0]):
        found["fleiss"] = Estimate(None, pairable, None, problem)
    found.setdefault("alpha_ordinal", Estimate(None, pairable, None, NO_ORDER))
    found.setdefault("alpha_interval", Estimate(None, pairable, None, NO_NUMBERS))
    prevalence = spreads["prevalence"].shares([int(sizes.sum())] * votes.shape[1], "there are no labels")
    return Coefficients(**found, prevalence=tuple(prevalence))


def find_uneven(sizes: Floats) -> str:
    """Say why Fleiss' kappa is undefined for items with these numbers of labels; empty if it is not."""
    if not sizes.size or sizes.max() < 2:
        return ALONE
    if sizes.min() < sizes.max():
        return f"items have {sizes.min():.0f} to {sizes.max():.0f} labels; Fleiss' kappa needs as many on each"
    return ""


# --- agreement too rare for draws to show ---

FEW_ALIKE = 5  # items


def more_alike(alike: Floats, items: ArrayLike, rarer: Floats) -> Floats:
    """Bound how many more items than the few that are `alike` may have a rarer label twice: to the exact binomial limit
    of 97.5 %, less by the share of `rarer` labels, since the number varies less where they are not rare.
    """
    of = np.asarray(items)
    most = of * betaincinv(alike + 1, np.maximum(of - alike, NO_WIDTH), 0.975)
    return np.where(alike < FEW_ALIKE, (most - alike) * (1 - rarer), 0.0)


def room_above(votes: Floats, distances: Callable[[Floats], Floats]) -> float:
    """Bound how much higher Krippendorff's alpha of votes (items, k) may be than draws show, since hardly any item has
    two labels besides the commonest: equal ones, or any if labels have an order.
    """
    kept = votes[votes.sum(axis=1) > 1]
    sizes, totals = kept.sum(axis=1), kept.sum(axis=0)
    common, n = np.argmax(totals), totals.sum()
    rarer = np.delete(kept, common, axis=1)
    if not rarer.any():
        return 0.0
    apart = distances(totals[:, None])[:, :, 0]
    counted = rarer if distances is nominal_distances else rarer.sum(axis=1, keepdims=True)
    gains = 2 * counted * (counted - 1) / (sizes[:, None] - 1)  # in coincidences, against labels in an item each
    alike = gains > 0
    gain = gains[alike].mean() if alike.any() else (4 / (sizes - 1)).mean()
    gain *= (totals @ apart[common]) / rarer.sum() * (n - 1) / (totals @ apart @ totals)
    return float(more_alike(alike.any(axis=1).sum(), len(kept), rarer.sum() / n) * gain)


def find_commonest(tables: Floats) -> tuple[NDArray[np.intp], Floats]:
    """(pairs,) the label given most, by both raters of each of these (pairs, k, k) tables, and the share of others."""
    given = tables.sum(axis=2) + tables.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.argmax(given, axis=1), 1 - given.max(axis=1) / given.sum(axis=1)


def gain_alike(tables: Floats) -> Floats:
    """(pairs,) what one more item with a rarer label from both raters adds to Cohen's kappa of (pairs, k, k) tables."""
    n = tables.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2 / (n - (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1) / n)
