"""Each rater, person or model, against the others: label shares, scores against their majority, alpha without it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from analysis.stats.agreement.coefficients import count_coincidences, fit_metrics, krippendorff_alpha
from analysis.stats.agreement.estimates import Estimate, Spread, Statistic, estimate_share
from analysis.stats.agreement.labels import TIE, UNVOTED, Labels, Scale, count_votes, find_majority
from analysis.stats.intervals import Floats

NO_LABELS = "gave no label"
SCORES = {
    "accuracy": "no item has a majority of the others",
    "precision": "never gives a label that is scored",
    "recall": "the majority never is a label that is scored",
    "f1": "neither gives a label that is scored",
}


@dataclass(frozen=True, eq=False)
class RaterScores:
    """`n` labels of one rater with the share of each; scores over the items where the others have a majority.

    `ties`: items left out because the others are tied; `alone`: because nobody else labelled them.
    `confusion` (k, k): items whose majority is the row and whose label by this rater is the column.
    `alpha_without`: alpha of the raters of its kind, people or models, without this one.
    """

    rater: int
    is_model: bool
    n: int
    distribution: tuple[Estimate, ...]
    ties: int
    alone: int
    confusion: NDArray[np.int64]
    scores: dict[str, Estimate]
    alpha_without: Estimate


def find_majority_of_others(labels: Labels, voters: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(labels,) for each label what most of the voters other than its rater say; TIE or UNVOTED where they don't."""
    votes = count_votes(labels, voters)[labels.items]
    votes[np.arange(len(votes)), labels.values] -= voters[labels.raters]
    return find_majority(votes)


def find_cells(labels: Labels, majority: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which labels have a majority to be compared with, and the cell of each in (raters, majority, given)."""
    k, rows = labels.n_labels, majority >= 0
    return rows, (labels.raters[rows].astype(np.int64) * k + majority[rows]) * k + labels.values[rows]


def score_statistic(labels: Labels, majority: NDArray[np.int64]) -> Statistic:
    """(raters, draws) under the names of SCORES; one column per cell of each rater's confusion table."""
    k, raters = labels.n_labels, labels.n_raters
    rows, cells = find_cells(labels, majority)
    summary = csr_array((np.ones(len(cells)), (labels.items[rows], cells)), shape=(labels.n_items, raters * k * k))
    return Statistic(summary, lambda sums: score_tables(sums.reshape(raters, k, k, sums.shape[1])))


def score_tables(confusions: Floats) -> dict[str, Floats]:
    """Scores of (raters, k, k, draws) tables [majority, given]: of label 1 when there are two labels, else macro.

    Macro precision is the mean over the labels that the rater gives, macro recall over those that are a majority, macro
    F1 over both; F1 = 2 TP / (2 TP + FP + FN).
    """
    hits = np.einsum("riid->rid", confusions)
    given, true = confusions.sum(axis=1), confusions.sum(axis=2)
    by_label = {"precision": hits / given, "recall": hits / true, "f1": 2 * hits / (given + true)}
    scores = {
        name: values[:, 1] if values.shape[1] == 2 else _mean_defined(values) for name, values in by_label.items()
    }
    return {"accuracy": hits.sum(axis=1) / true.sum(axis=1)} | scores


def _mean_defined(values: Floats) -> Floats:
    defined = ~np.isnan(values)
    return np.where(defined, values, 0.0).sum(axis=1) / defined.sum(axis=1)


def distribution_statistic(labels: Labels) -> Statistic:
    """`distribution` (raters * k, draws): share of each label among a rater's labels."""
    k, raters = labels.n_labels, labels.n_raters
    cells = labels.raters.astype(np.int64) * k + labels.values
    summary = csr_array((np.ones(len(cells)), (labels.items, cells)), shape=(labels.n_items, raters * k))

    def measure(sums: Floats) -> dict[str, Floats]:
        counts = sums.reshape(raters, k, sums.shape[1])
        return {"distribution": (counts / counts.sum(axis=1, keepdims=True)).reshape(raters * k, sums.shape[1])}

    return Statistic(summary, measure)


def leave_out_statistic(labels: Labels, scale: Scale) -> Statistic:
    """`alpha_without` (raters, draws): alpha (ordinal when labels are ordered, else nominal) without each rater.

    Columns: the coincidences of people, those of models, and for each rater what changes when its labels go.
    """
    k, raters = labels.n_labels, labels.n_raters
    kinds = [count_votes(labels, labels.is_model == kind) for kind in (False, True)]
    whole = [count_coincidences(votes).reshape(labels.n_items, k * k) for votes in kinds]
    cells = labels.raters.astype(np.int64)[:, None] * k * k + np.arange(k * k)
    places = (np.repeat(labels.items, k * k), cells.ravel())
    changes = csr_array((find_changes(labels, kinds).ravel(), places), shape=(labels.n_items, raters * k * k))
    metric = fit_metrics(scale)["alpha_ordinal" if scale.ordered else "alpha_nominal"]

    def measure(sums: Floats) -> dict[str, Floats]:
        parts = sums.reshape(2 + raters, k, k, sums.shape[1])
        return {"alpha_without": krippendorff_alpha(parts[labels.is_model.astype(int)] + parts[2:], metric)}

    return Statistic(hstack([*(csr_array(each) for each in whole), changes]), measure)


def find_changes(labels: Labels, kinds: list[Floats]) -> Floats:
    """(labels, k, k) how its item's coincidences change when a label goes; `kinds`: votes of people, of models."""
    votes = np.where(labels.is_model[labels.raters][:, None], kinds[1][labels.items], kinds[0][labels.items])
    without = votes - np.eye(labels.n_labels)[labels.values]
    return count_coincidences(without) - count_coincidences(votes)


def make_raters(labels: Labels, majority: NDArray[np.int64], spreads: dict[str, Spread]) -> list[RaterScores]:
    """One entry for each rater who gave a label."""
    tables = count_confusions(labels, majority)
    ties, alone = (np.bincount(labels.raters[majority == code], minlength=labels.n_raters) for code in (TIE, UNVOTED))
    shares = make_distributions(labels, spreads["distribution"])
    scores = make_scores(labels, tables, spreads)
    left = spreads["alpha_without"].estimates(count_pairable_without(labels), "without it no two labels can differ")
    return [
        RaterScores(
            rater=r,
            is_model=bool(labels.is_model[r]),
            n=int(labels.per_rater[r]),
            distribution=tuple(shares[r]),
            ties=int(ties[r]),
            alone=int(alone[r]),
            confusion=tables[r],
            scores={name: each[r] for name, each in scores.items()},
            alpha_without=left[r],
        )
        for r in np.flatnonzero(labels.per_rater).tolist()
    ]


def count_confusions(labels: Labels, majority: NDArray[np.int64]) -> NDArray[np.int64]:
    """(raters, k, k) items by majority of the others and label given."""
    k, (_, cells) = labels.n_labels, find_cells(labels, majority)
    return np.bincount(cells, minlength=labels.n_raters * k * k).reshape(labels.n_raters, k, k)


def make_distributions(labels: Labels, spread: Spread) -> list[list[Estimate]]:
    """By rater, then label: its share, with Wilson's interval when no items belong together, else the bootstrap's."""
    k, totals = labels.n_labels, labels.per_rater.tolist()
    if labels.clusters is not None:
        found = spread.estimates(np.repeat(totals, k).tolist(), NO_LABELS)
        return [found[r * k : (r + 1) * k] for r in range(labels.n_raters)]
    counts = np.bincount(labels.raters.astype(np.int64) * k + labels.values, minlength=labels.n_raters * k)
    rows = zip(counts.reshape(labels.n_raters, k).tolist(), totals, strict=True)
    return [[estimate_share(count, n, NO_LABELS) for count in row] for row, n in rows]


def make_scores(labels: Labels, tables: NDArray[np.int64], spreads: dict[str, Spread]) -> dict[str, list[Estimate]]:
    """By score, then rater; n is the number of items compared. Accuracy is a share, treated as label shares are."""
    compared = tables.sum(axis=(1, 2)).tolist()
    scores = {name: spreads[name].estimates(compared, why) for name, why in SCORES.items()}
    if labels.clusters is None:
        hits = np.einsum("rii->r", tables).tolist()
        scores["accuracy"] = [estimate_share(*row, SCORES["accuracy"]) for row in zip(hits, compared, strict=True)]
    return scores


def count_pairable_without(labels: Labels) -> list[int]:
    """By rater: items that keep two labels or more of its kind when its own are gone."""
    of_models = labels.is_model[labels.raters]
    kinds = [np.bincount(labels.items[of_models == kind], minlength=labels.n_items) for kind in (False, True)]
    sizes = np.where(of_models, kinds[1][labels.items], kinds[0][labels.items])
    lost = np.bincount(labels.raters[sizes == 2], minlength=labels.n_raters)
    return [int((kinds[int(model)] > 1).sum() - n) for model, n in zip(labels.is_model, lost, strict=True)]
