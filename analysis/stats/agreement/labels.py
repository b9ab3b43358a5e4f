"""Labels that raters gave to items, other readings of the same labels, and the majority of raters with its ties."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import Bools, Floats, Ints


@dataclass(frozen=True)
class Scale:
    """What codes 0 … k-1 mean beyond being different: whether they have an order, and the `numbers` they stand for."""

    ordered: bool = False
    numbers: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.numbers is not None and not (self.ordered and list(self.numbers) == sorted(set(self.numbers))):
            raise ValueError("The numbers of a scale rise from label to label, and such labels are ordered.")


NOMINAL = Scale()
TIE, UNVOTED = -2, -1
PERSON, JUDGE, BASELINE, TRAINED = 0, 1, 2, 3
KIND_NAMES = ("person", "judge", "baseline", "trained")


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels in long form: one row per label, at most one per item and rater; anything may be missing.

    `items`, `raters`, `values`: (labels,), codes from 0; a value is its label's place on the scale. `clusters`:
    (n_items,), what each item belongs to (a user's profile), or None. `is_model`: (n_raters,) everyone but people;
    `is_baseline`: (n_raters,) those of them that are no judges, or None if there are none; `is_trained`: those of these
    that learned from people. Raises ValueError with one line if a row is out of these bounds or doubled.
    """

    items: NDArray[np.int32]
    raters: NDArray[np.int32]
    values: NDArray[np.int16]
    n_items: int
    n_raters: int
    n_labels: int
    clusters: NDArray[np.int32] | None
    is_model: Bools
    is_baseline: Bools | None = None
    is_trained: Bools | None = None

    def __post_init__(self) -> None:
        if problem := find_misfit(self) or find_stranger(self) or find_repetition(self):
            raise ValueError(problem)

    @property
    def kinds(self) -> Ints:
        """(n_raters,) PERSON, JUDGE, BASELINE or TRAINED."""
        marks = (self.is_model, self.is_baseline, self.is_trained)
        return sum((mark.astype(np.int64) for mark in marks if mark is not None), np.zeros(self.n_raters, np.int64))

    @property
    def rated_items(self) -> NDArray[np.int32]:
        """The items that have a label, in order."""
        return np.unique(self.items)

    @property
    def per_rater(self) -> Ints:
        """(n_raters,) labels that each rater gave."""
        return np.bincount(self.raters, minlength=self.n_raters)

    @property
    def seen(self) -> Bools:
        """(n_labels,) whether anybody gave this label."""
        return np.bincount(self.values, minlength=self.n_labels) > 0


def find_misfit(labels: Labels) -> str:
    sizes = [len(labels.items), len(labels.raters), len(labels.values)]
    if len(set(sizes)) > 1:
        return f"Items, raters and values differ in length: {sizes[0]}, {sizes[1]} and {sizes[2]}."
    if labels.clusters is not None and len(labels.clusters) != labels.n_items:
        return f"There are {labels.n_items} items and {len(labels.clusters)} clusters; each item belongs to one."
    if len(labels.is_model) != labels.n_raters:
        return f"There are {labels.n_raters} raters and {len(labels.is_model)} entries that say which are models."
    return ""


def find_stranger(labels: Labels) -> str:
    columns = (
        ("item", labels.items, labels.n_items),
        ("rater", labels.raters, labels.n_raters),
        ("label", labels.values, labels.n_labels),
    )
    for name, codes, size in columns:
        wrong = np.flatnonzero((codes < 0) | (codes >= size))
        if wrong.size:
            return f"Row {wrong[0]} has {name} {codes[wrong[0]]}; there are {size}, counted from 0."
    return ""


def find_repetition(labels: Labels) -> str:
    keys = labels.items.astype(np.int64) * labels.n_raters + labels.raters
    found, times = np.unique(keys, return_counts=True)
    if not (times > 1).any():
        return ""
    item, rater = divmod(int(found[times > 1][0]), labels.n_raters)
    return f"Rater {rater} labelled item {item} {times.max()} times; one label per item and rater is allowed."


def recode(labels: Labels, codes: Sequence[int]) -> Labels:
    """Give each label its new code; -1 drops it, as if it had not been given."""
    values = np.asarray(codes, dtype=np.int16)[labels.values]
    rows = values >= 0
    return replace(
        labels, items=labels.items[rows], raters=labels.raters[rows], values=values[rows], n_labels=max(codes) + 1
    )


@dataclass(frozen=True, eq=False)
class View:
    """One way to read labels no < maybe < yes. In the two-label views code 1 is yes."""

    labels: Labels
    scale: Scale


# New codes for no, maybe and yes, and whether they have an order.
MAYBE_VIEWS: dict[str, tuple[tuple[int, int, int], Scale]] = {
    "nominal": ((0, 1, 2), NOMINAL),
    "ordinal": ((0, 1, 2), Scale(ordered=True)),
    "maybe_is_no": ((0, 0, 1), NOMINAL),
    "maybe_is_yes": ((0, 1, 1), NOMINAL),
}


def read_maybe(labels: Labels) -> dict[str, View]:
    """Read labels 0 = no, 1 = maybe, 2 = yes in four ways, to show how much depends on Maybe."""
    return {name: View(recode(labels, codes), scale) for name, (codes, scale) in MAYBE_VIEWS.items()}


# --- votes ------------------------------------------------------------------


def count_votes(labels: Labels, voters: Bools | None = None) -> Floats:
    """(n_items, n_labels) votes of these raters, by default of all."""
    rows = slice(None) if voters is None else voters[labels.raters]
    cells = labels.items[rows].astype(np.int64) * labels.n_labels + labels.values[rows]
    counts = np.bincount(cells, minlength=labels.n_items * labels.n_labels)
    return counts.reshape(labels.n_items, labels.n_labels).astype(np.float64)


def find_majority(votes: Floats) -> Ints:
    """(n_items,) the label with most votes; TIE if several have as many, UNVOTED if nobody voted."""
    most = votes.max(axis=1, keepdims=True)
    tied = (votes == most).sum(axis=1) > 1
    return np.where(most[:, 0] == 0, UNVOTED, np.where(tied, TIE, votes.argmax(axis=1)))


def choose_voters(labels: Labels) -> Bools:
    """(n_raters,) whose votes make the majority: people's if any person gave a label, else judges', else all."""
    for kind in (PERSON, JUDGE):
        voters = labels.kinds <= kind
        if labels.per_rater[voters].any():
            return voters
    return np.ones(labels.n_raters, dtype=np.bool_)


# --- one judge, asked in both orders

SAME_RESPONSE, LEFT_TWICE, RIGHT_TWICE, MIXED = "consistent", "left", "right", "mixed"
ORDER_OUTCOMES = (SAME_RESPONSE, LEFT_TWICE, RIGHT_TWICE, MIXED)


def compare_orders(one: float, other: float) -> str:
    """Name the one of ORDER_OUTCOMES of two labels as shown, below 0 for the left side: same response, or same side."""
    if one * other > 0:
        return LEFT_TWICE if one < 0 else RIGHT_TWICE
    return SAME_RESPONSE if one * other < 0 or one == other == 0 else MIXED
