"""Builders of labels for the tests of agreement."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.stats.agreement.agreement import Agreement, measure_agreement
from analysis.stats.agreement.labels import NOMINAL, Labels, Scale


def make_labels(
    table: Sequence[Sequence[int | None]],
    n_labels: int | None = None,
    models: Sequence[int] = (),
    clusters: Sequence[int] | None = None,
) -> Labels:
    """One row per item, one column per rater; None is a missing label."""
    rows = [(i, r, value) for i, row in enumerate(table) for r, value in enumerate(row) if value is not None]
    items, raters, values = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    n_raters = max((len(row) for row in table), default=0)
    return Labels(
        items,
        raters,
        values.astype(np.int16),
        len(table),
        n_raters,
        int(values.max(initial=0)) + 1 if n_labels is None else n_labels,
        None if clusters is None else np.array(clusters, dtype=np.int32),
        np.isin(np.arange(n_raters), models),
    )


def make_pair_labels(cells: Sequence[Sequence[int]]) -> Labels:
    """Labels of two raters with this contingency table."""
    table = [(i, j) for i, row in enumerate(cells) for j, times in enumerate(row) for _ in range(times)]
    return make_labels(table, len(cells))


def make_counted_labels(counts: Sequence[Sequence[int]]) -> Labels:
    """Labels of items for which only the number of raters per label is known."""
    return make_labels(
        [[k for k, times in enumerate(row) for _ in range(times)] for row in counts], n_labels=len(counts[0])
    )


def draw_labels(
    seed: int,
    items: int = 60,
    raters: int = 4,
    k: int = 3,
    agreeing: float = 0.5,
    missing: float = 0.0,
    models: Sequence[int] = (),
) -> Labels:
    """Raters see an item's truth with probability `agreeing` and otherwise guess; some labels are missing."""
    return make_labels(draw_table(seed, items, raters, k, agreeing, missing), k, models)


def draw_table(
    seed: int, items: int = 60, raters: int = 4, k: int = 3, agreeing: float = 0.5, missing: float = 0.0
) -> list[list[int | None]]:
    rng = np.random.default_rng(seed)
    guesses = rng.integers(k, size=(items, raters))
    truth = rng.integers(k, size=(items, 1))
    table = np.where(rng.random((items, raters)) < agreeing, truth, guesses)
    gone = rng.random((items, raters)) < missing
    return [
        [None if lost else int(value) for value, lost in zip(*row, strict=True)]
        for row in zip(table, gone, strict=True)
    ]


def measure(labels: Labels, scale: Scale = NOMINAL, threshold: int = 1, draws: int = 100, seed: int = 0) -> Agreement:
    return measure_agreement(labels, np.random.default_rng(seed), scale, threshold, draws)


def keep_raters(labels: Labels, kept: np.ndarray) -> Labels:
    """The labels of the kept raters; all codes stay the same."""
    rows = kept[labels.raters]
    return replace(labels, items=labels.items[rows], raters=labels.raters[rows], values=labels.values[rows])
