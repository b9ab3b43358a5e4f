"""What raters say together about an item: votes, the majority with its ties, and soft labels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.stats.agreement.labels import Labels

TIE, UNVOTED = -2, -1


class SoftLabels(NamedTuple):
    """`items` (rated,): those with a vote; `shares` (rated, n_labels): share of the votes, each row sums to 1."""

    items: NDArray[np.intp]
    shares: NDArray[np.float64]


def count_votes(labels: Labels, voters: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """(n_items, n_labels) votes of these raters, by default of all."""
    rows = slice(None) if voters is None else voters[labels.raters]
    cells = labels.items[rows].astype(np.int64) * labels.n_labels + labels.values[rows]
    counts = np.bincount(cells, minlength=labels.n_items * labels.n_labels)
    return counts.reshape(labels.n_items, labels.n_labels).astype(np.float64)


def find_majority(votes: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n_items,) the label with most votes; TIE where several have as many, UNVOTED where nobody voted."""
    most = votes.max(axis=1, keepdims=True)
    tied = (votes == most).sum(axis=1) > 1
    return np.where(most[:, 0] == 0, UNVOTED, np.where(tied, TIE, votes.argmax(axis=1)))


def soften(votes: NDArray[np.float64]) -> SoftLabels:
    items = np.flatnonzero(votes.any(axis=1))
    return SoftLabels(items, votes[items] / votes[items].sum(axis=1, keepdims=True))


def choose_voters(labels: Labels) -> NDArray[np.bool_]:
    """(n_raters,) whose votes make the majority: people's, when any person gave a label, else everybody's."""
    people = ~labels.is_model
    return people if labels.per_rater[people].any() else np.ones(labels.n_raters, dtype=np.bool_)
