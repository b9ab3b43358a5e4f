"""Each rater, person or model, against the others: label shares, scores against their majority, alpha without it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, kron

from analysis.stats.agreement.coefficients import count_coincidences, fit_metrics, krippendorff_alpha, room_above
from analysis.stats.agreement.estimates import Estimate, Spread, Statistic, block_uses
from analysis.stats.agreement.labels import KIND_NAMES, TIE, UNVOTED, Labels, Scale, count_votes, find_majority
from analysis.stats.intervals import Bools, Floats, Ints

NO_LABELS = "gave no label"
NO_PAIRS = "shares too few items with any other of its kind"
SCORES = {
    "accuracy": "no item has a majority of the others",
    "precision": "never gives a label that is scored",
    "recall": "the majority never is a label that is scored",
    "f1": "neither gives a label that is scored",
}


@dataclass(frozen=True, eq=False)
class Scores:
    """Accuracy, precision, recall and F1 over `compared` items. `confusion` (k, k): rows are the majority.

    `ties`: comparisons left out because the others are tied; `alone`: items left out because nobody else labelled them.
    """

    compared: int
    ties: int
    alone: int
    confusion: Ints
    scores: dict[str, Estimate]


@dataclass(frozen=True, eq=False)
class RaterScores(Scores):
    """`n` labels of one rater with the share of each, and its scores.

    These are against the majority of the voters other than one of them. For a voter, that one is itself; everybody else
    is compared once for each voter of an item, so that all are held against the same majorities of the same items.
    `against_all`: for non-voters, against the majority of all voters, else None. `alpha_without`: alpha of the raters
    of its kind without this one. `mean_kappa`: over its pairs with others of its kind; its n says how many share enough
    items.
    """

    rater: int
    kind: int
    n: int
    distribution: tuple[Estimate, ...]
    against_all: Scores | None
    alpha_without: Estimate
    mean_kappa: Estimate

    @property
    def is_model(self) -> bool:
        return self.kind > 0


# --- comparisons with a majority --------------------------------------------


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Labels held against majorities: (comparisons,) each one's item, rater, majority or TIE, and label given.

    The rater `n_raters - 1`, one more than there are, stands for all voters together.
    """

    items: Ints
    raters: Ints
    majority: Ints
    values: Ints
    n_items: int
    n_raters: int
    n_labels: int

    @property
    def known(self) -> Bools:
        return self.majority >= 0

    @property
    def cells(self) -> Ints:
        """The cell in (raters, majority, given) of each known one."""
        k, known = self.n_labels, self.known
        return (self.raters[known] * k + self.majority[known]) * k + self.values[known]

    def count_items(self, rows: Bools) -> Ints:
        """(raters,) different items among these rows."""
        pairs = np.unique(self.raters[rows] * self.n_items + self.items[rows])
        return np.bincount(pairs // self.n_items, minlength=self.n_raters)


def find_majority_of_others(labels: Labels, voters: Bools) -> Ints:
    """(labels,) for each label the majority of the voters other than its rater; TIE or UNVOTED if there is none."""
    votes = count_votes(labels, voters)[labels.items]
    votes[np.arange(len(votes)), labels.values] -= voters[labels.raters]
    return find_majority(votes)


def compare_with_others(labels: Labels, voters: Bools) -> Comparisons:
    """Compare each voter's labels with the majority of the other voters, and all others' with the same majorities."""
    majority, voting = find_majority_of_others(labels, voters), voters[labels.raters]
    own, rest = np.flatnonzero(voting), np.flatnonzero(~voting)
    # Pairs every label of a non-voter with every voter's label of the same item, whose majority it is compared with.
    order = own[np.argsort(labels.items[own], kind="stable")]
    starts, ends = (np.searchsorted(labels.items[order], labels.items[rest], side) for side in ("left", "right"))
    sizes = ends - starts
    given = np.repeat(rest, sizes)
    reference = order[np.repeat(ends - np.cumsum(sizes), sizes) + np.arange(len(given))]
    together = np.full(len(own), labels.n_raters)
    rows = np.concatenate([own, own, given])
    raters = np.concatenate([labels.raters[own], together, labels.raters[given]])
    return line_up_comparisons(
        labels, rows, raters, np.concatenate([majority[own], majority[own], majority[reference]])
    )


def compare_with_all(labels: Labels, voters: Bools) -> Comparisons:
    """Compare non-voters' labels with the majority of all voters."""
    rest = np.flatnonzero(~voters[labels.raters])
    return line_up_comparisons(labels, rest, labels.raters[rest], find_majority_of_others(labels, voters)[rest])


def line_up_comparisons(
    labels: Labels, rows: NDArray[np.intp], raters: NDArray[np.integer], majority: Ints
) -> Comparisons:
    items, values = (column[rows].astype(np.int64) for column in (labels.items, labels.values))
    sizes = (labels.n_items, labels.n_raters + 1, labels.n_labels)
    return Comparisons(items, raters.astype(np.int64), majority, values, *sizes)


def score_statistic(found: Comparisons, positive: int | None) -> Statistic:
    """(raters, draws) under the names of SCORES; one column per cell of each rater's confusion table."""
    k, raters = found.n_labels, found.n_raters
    return Statistic(
        confusion_cells(found),
        lambda sums: score_tables(sums.reshape(raters, k, k, sums.shape[1]), positive),
        dict.fromkeys(SCORES, block_uses(raters, k * k)),
        (0.0, 1.0),
    )


def confusion_cells(found: Comparisons) -> csr_array:
    """(n_items, raters * k * k) each rater's confusion table, item by item."""
    cells, items = found.cells, found.items[found.known]
    width = found.n_raters * found.n_labels**2
    return csr_array((np.ones(len(cells)), (items, cells)), shape=(found.n_items, width))


def score_tables(confusions: Floats, positive: int | None = None) -> dict[str, Floats]:
    """Scores of (raters, k, k, draws) tables [majority, given]: for one label, or averaged over all (macro).

    The one is `positive`; if that is None, label 1 of two. Macro precision is the mean over the labels that the rater
    gives, macro recall over those that are a majority, macro F1 over both; F1 = 2 TP / (2 TP + FP + FN).
    """
    hits = np.einsum("riid->rid", confusions)
    given, true = confusions.sum(axis=1), confusions.sum(axis=2)
    by_label = {"precision": hits / given, "recall": hits / true, "f1": 2 * hits / (given + true)}
    one = 1 if positive is None and hits.shape[1] == 2 else positive
    scores = {name: _mean_defined(values) if one is None else values[:, one] for name, values in by_label.items()}
    return {"accuracy": hits.sum(axis=1) / true.sum(axis=1)} | scores


def _mean_defined(values: Floats) -> Floats:
    defined = ~np.isnan(values)
    return np.where(defined, values, 0.0).sum(axis=1) / defined.sum(axis=1)


def make_scores(labels: Labels, found: Comparisons, spreads: dict[str, Spread]) -> list[Scores]:
    """By rater, and last all voters together; n is the number of items compared, accuracy is a share of comparisons."""
    k = found.n_labels
    tables = np.bincount(found.cells, minlength=found.n_raters * k * k).reshape(found.n_raters, k, k)
    compared, comparisons = found.count_items(found.known).tolist(), tables.sum(axis=(1, 2)).tolist()
    values = {name: spreads[name].estimates(compared, why) for name, why in SCORES.items()}
    values["accuracy"] = spreads["accuracy"].shares(compared, SCORES["accuracy"], comparisons)
    ties = np.bincount(found.raters[found.majority == TIE], minlength=found.n_raters).tolist()
    alone = count_alone(labels, found)
    return [
        Scores(compared[r], ties[r], alone[r], tables[r], {name: each[r] for name, each in values.items()})
        for r in range(found.n_raters)
    ]


def count_alone(labels: Labels, found: Comparisons) -> list[int]:
    """By rater, the items that it labelled without anybody to compare with; 0 for all voters together."""
    beside = found.count_items(found.majority != UNVOTED)
    return [*(labels.per_rater - beside[:-1]).tolist(), 0]


# --- what a rater gives, and agreement without it ---------------------------


def distribution_statistic(labels: Labels) -> Statistic:
    """`distribution` (raters * k, draws): share of each label among a rater's labels."""
    k, raters = labels.n_labels, labels.n_raters
    cells = labels.raters.astype(np.int64) * k + labels.values
    summary = csr_array((np.ones(len(cells)), (labels.items, cells)), shape=(labels.n_items, raters * k))

    def measure(sums: Floats) -> dict[str, Floats]:
        counts = sums.reshape(raters, k, sums.shape[1])
        return {"distribution": (counts / counts.sum(axis=1, keepdims=True)).reshape(raters * k, sums.shape[1])}

    return Statistic(summary, measure, {"distribution": csr_array(kron(block_uses(raters, k), np.ones((k, 1))))})


def leave_out_statistic(labels: Labels, scale: Scale) -> Statistic:
    """`alpha_without` (raters, draws): alpha (ordinal if labels are ordered, else nominal) without each rater.

    Columns: the coincidences of each kind of raters, for each rater the changes without its labels, and whether an
    item can be compared without it, which says how many units the number rests on.
    """
    k, raters = labels.n_labels, labels.n_raters
    kinds = [count_votes(labels, labels.kinds == kind) for kind in range(len(KIND_NAMES))]
    whole = [count_coincidences(votes).reshape(labels.n_items, k * k) for votes in kinds]
    cells = labels.raters.astype(np.int64)[:, None] * k * k + np.arange(k * k)
    places = (np.repeat(labels.items, k * k), cells.ravel())
    changes = csr_array((find_changes(labels, kinds).ravel(), places), shape=(labels.n_items, raters * k * k))
    metric = fit_metrics(scale)["alpha_ordinal" if scale.ordered else "alpha_nominal"]

    def measure(sums: Floats) -> dict[str, Floats]:
        parts = sums[: (len(kinds) + raters) * k * k].reshape(len(kinds) + raters, k, k, sums.shape[1])
        return {"alpha_without": krippendorff_alpha(parts[labels.kinds] + parts[len(kinds) :], metric)}

    before = csr_array((raters, (len(kinds) + raters) * k * k))
    uses = {"alpha_without": csr_array(hstack([before, eye_array(raters)]))}
    left = csr_array(find_pairable_without(labels).astype(float))
    summary = csr_array(hstack([*(csr_array(each) for each in whole), changes, left]))
    return Statistic(summary, measure, uses, (-1.0, 1.0))


def find_changes(labels: Labels, kinds: list[Floats]) -> Floats:
    """(labels, k, k) change of the item's coincidences without a label; `kinds`: votes of each kind of raters."""
    votes = np.stack(kinds)[labels.kinds[labels.raters], labels.items]
    without = votes - np.eye(labels.n_labels)[labels.values]
    return count_coincidences(without) - count_coincidences(votes)


def make_raters(
    labels: Labels,
    voters: Bools,
    scores: list[Scores],
    against_all: list[Scores],
    spreads: dict[str, Spread],
    partners: Bools,
    rooms: tuple[Floats, Floats],
) -> list[RaterScores]:
    """One entry for each rater with labels; `partners`: (n_raters, pairs) those with another of its kind.

    `rooms`: (n_raters,) above its mean kappa, and above alpha without it.
    """
    totals, k = labels.per_rater.tolist(), labels.n_labels
    shares = spreads["distribution"].shares(np.repeat(totals, k).tolist(), NO_LABELS)
    left = spreads["alpha_without"].estimates(
        find_pairable_without(labels).sum(axis=0).tolist(), "without it no two labels can differ"
    )
    kappas = spreads["kappa_of_rater"].estimates(partners.sum(axis=1).tolist(), NO_PAIRS)
    return [
        RaterScores(
            rater=r,
            kind=int(labels.kinds[r]),
            n=totals[r],
            distribution=tuple(shares[r * k : (r + 1) * k]),
            **vars(scores[r]),
            against_all=None if voters[r] else against_all[r],
            alpha_without=left[r].reaching(rooms[1][r]),
            mean_kappa=kappas[r].reaching(rooms[0][r]),
        )
        for r in np.flatnonzero(labels.per_rater).tolist()
    ]


def rooms_without(labels: Labels, scale: Scale) -> Floats:
    """(n_raters,) room above alpha without each rater."""
    metric = fit_metrics(scale)["alpha_ordinal" if scale.ordered else "alpha_nominal"]
    kinds, rooms = [count_votes(labels, labels.kinds == kind) for kind in range(len(KIND_NAMES))], []
    for rater, kind in enumerate(labels.kinds.tolist()):
        own, votes = labels.raters == rater, kinds[kind].copy()
        votes[labels.items[own], labels.values[own]] -= 1
        rooms.append(room_above(votes, metric))
    return np.array(rooms)


def find_pairable_without(labels: Labels) -> Bools:
    """(n_items, n_raters) whether an item keeps two labels or more of the rater's kind without its own."""
    of_labels = labels.kinds[labels.raters]
    sizes = [np.bincount(labels.items[of_labels == kind], minlength=labels.n_items) for kind in range(len(KIND_NAMES))]
    kept = np.stack(sizes, axis=1)[:, labels.kinds]
    kept[labels.items, labels.raters] -= 1
    return kept > 1
