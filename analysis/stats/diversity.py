"""Statements by their embeddings: clusters that say the same, distances between and within people, spread samples."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from analysis.stats.intervals import Bools, Floats, Interval, redrawn_interval, why_no_interval

DRAWS = 1_000
DRAWN_AT_ONCE = 100
BANDS = 5
CONFIDENCE_RULE = "distinct-conversations-1"  # the formula of a cluster's confidence; a new formula gets a new name

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class MeanDistance:
    """A mean cosine distance with its 95 % interval over `units` people; `ci_why` says why there is no interval."""

    value: float | None
    ci: Interval | None
    units: int
    ci_why: str | None = None


def mean_distance(vectors: Matrix) -> float | None:
    """Mean cosine distance over pairs of rows of length 1; None for fewer than two rows.

    |Σ x|² contains each pair twice and each row once, so no matrix of distances is needed.
    """
    n = len(vectors)
    if n < 2:
        return None
    total = vectors.astype(np.float64).sum(axis=0)
    return 1 - float(total @ total - n) / (n * (n - 1))


def unit_rows(matrix: Matrix) -> Matrix:
    """Divide each row by its length."""
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)


def distance_between(sums: Matrix, sizes: NDArray[np.integer], seed: int = 0) -> MeanDistance:
    """Mean cosine distance over all pairs of rows of two different people.

    `sums`: (people, dimensions), the sum of each person's rows of length 1; `sizes`: their numbers of rows. With S = Σ
    S_p and N = Σ n_p it is 1 - (|S|² - Σ |S_p|²) / (N² - Σ n_p²). The interval is a bootstrap over people; two draws of
    one person do not count as a pair of different people. With sizes of 1 it is the distance between centroids.
    """
    wide, n = sums.astype(np.float64), sizes.astype(np.float64)
    own, squares = np.einsum("ij,ij->i", wide, wide), n * n
    if len(n) < 2:
        return MeanDistance(None, None, len(n))

    def mean(weights: Floats) -> Floats:
        """`weights`: (draws, people), how often each one was drawn."""
        total, number = (weights.astype(sums.dtype) @ sums).astype(float), weights @ n
        twice = weights * weights
        likeness = np.einsum("ij,ij->i", total, total) - twice @ own
        pairs = number * number - twice @ squares
        return 1 - np.divide(likeness, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

    value = float(mean(np.ones((1, len(n))))[0])
    return _with_interval(value, mean, len(n), seed)


def distance_within(scores: Floats, seed: int = 0) -> MeanDistance:
    """Mean over people of the mean distance between a person's rows; leaves out people with fewer than two (NaN)."""
    known = scores[~np.isnan(scores)]
    if not len(known):
        return MeanDistance(None, None, 0)
    value = float(known.mean())
    return _with_interval(value, lambda weights: weights @ known / len(known), len(known), seed)


def _with_interval(value: float, statistic: Callable[[Floats], Floats], people: int, seed: int) -> MeanDistance:
    draws = _drawn(statistic, people, seed)
    ci = redrawn_interval(draws, value, people, 0.0, 2.0)
    return MeanDistance(value, ci, people, why_no_interval(ci, people, draws))


def _drawn(statistic: Callable[[Floats], Floats], people: int, seed: int) -> Floats:
    """Compute the statistic in DRAWS draws of as many people with replacement, shape (draws,)."""
    dice = np.random.default_rng(seed)
    parts = []
    for _ in range(DRAWS // DRAWN_AT_ONCE):
        drawn = dice.integers(0, people, (DRAWN_AT_ONCE, people))
        drawn += np.arange(DRAWN_AT_ONCE)[:, None] * people
        weights = np.bincount(drawn.ravel(), minlength=DRAWN_AT_ONCE * people).reshape(DRAWN_AT_ONCE, people)
        parts.append(statistic(weights.astype(np.float64)))
    return np.concatenate(parts)


# --- samples ------------------------------------------------------------------


def equal_bands(scores: Floats) -> NDArray[np.intp]:
    """Number the band of each score from 0: BANDS of equal frequency, the first ones larger by one if need be.

    Equal scores keep the order in which they are given.
    """
    bands = np.empty(len(scores), np.intp)
    for band, places in enumerate(np.array_split(np.argsort(scores, kind="stable"), BANDS)):
        bands[places] = band
    return bands


def shares_of(size: int, counts: Sequence[int]) -> list[int]:
    """Distribute `size` slots in proportion to the counts, by largest remainders; none gets more than its count."""
    total = sum(counts)
    size = min(size, total)
    exact = [size * count / total if total else 0.0 for count in counts]
    slots = [int(share) for share in exact]
    order = sorted(range(len(counts)), key=lambda band: (slots[band] - exact[band], band))
    for band in order[: size - sum(slots)]:
        slots[band] += 1
    return slots


def farthest_points(vectors: Matrix, number: int) -> list[int]:
    """Choose rows one after the other, each the farthest from its nearest chosen one (Gonzalez 1985).

    `vectors`: (n, dimensions), rows of length 1; distances are cosine. The first is the one farthest from the mean of
    all. Of rows at equal distances the earlier one is taken. O(n · number).
    """
    number = min(number, len(vectors))
    if not number:
        return []
    chosen = [int(np.argmin(vectors @ vectors.mean(axis=0)))]
    nearest = vectors @ vectors[chosen[0]]
    nearest[chosen[0]] = np.inf
    while len(chosen) < number:
        place = int(np.argmin(nearest))
        chosen.append(place)
        np.maximum(nearest, vectors @ vectors[place], out=nearest)
        nearest[place] = np.inf
    return chosen


# --- statements that say the same ----------------------------------------------


class Cluster(NamedTuple):
    """A cluster's members by place, and its representative, the member that stands for all."""

    members: list[int]
    representative: int
    confidence: float | None


def cut_average_linkage(vectors: Matrix, similarity: float) -> NDArray[np.intp]:
    """Number the cluster of each row from 0 in the order of their first members.

    `vectors`: (n, dimensions), rows of length 1. Joins two clusters while the mean cosine distance between their
    members is at most 1 - similarity (Sokal & Michener 1958, UPGMA). Holds n² / 2 distances at once.
    """
    distances = condensed_distances(vectors)
    if not np.any(distances <= 1 - similarity):  # the nearest two would be joined first, so nothing is joined
        return np.arange(len(vectors))
    labels = fcluster(linkage(distances, "average"), 1 - similarity, "distance")
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


def condensed_distances(vectors: Matrix) -> Floats:
    """Compute cosine distances of all pairs of rows of length 1, in scipy's order."""
    wide = vectors.astype(np.float64)
    upper = np.triu_indices(len(wide), 1)
    return np.maximum(1 - (wide @ wide.T)[upper], 0.0)


Apart = Callable[[Sequence[int]], Bools]  # rows -> which pairs of them must stay apart


def clusters_of(
    vectors: Matrix,
    confidences: Sequence[float | None],
    sources: Sequence[Hashable],
    similarity: float,
    apart: Apart | None = None,
) -> list[Cluster]:
    """Cluster rows that say the same, with a representative and a confidence of each cluster.

    Pairs in `apart` stay apart, so that they do not raise a cluster's confidence either.

    `confidences` and `sources` (each row's conversation) are as long as `vectors`. A row of unknown confidence weighs 1
    in the centroid and says nothing about the cluster's confidence.
    """
    labels = cut_average_linkage(vectors, similarity)
    groups: list[list[int]] = [[] for _ in range(int(labels.max(initial=-1)) + 1)]
    for row, label in enumerate(labels.tolist()):
        groups[label].append(row)
    if apart is not None:
        groups = [part for rows in groups for part in keep_apart(rows, apart(rows), vectors, similarity)]
    return [
        Cluster(rows, _nearest_to_centroid(vectors, rows, confidences), joint_confidence(rows, confidences, sources))
        for rows in groups
    ]


def keep_apart(rows: list[int], conflicts: Bools, vectors: Matrix, similarity: float) -> list[list[int]]:
    """Split a cluster into parts without a conflict, in the order of their first members.

    Rows with most conflicts come first; each joins the part without a conflict whose members are nearest on average, if
    they are near enough for one cluster, else it begins a new part.
    """
    if not conflicts.any():
        return [rows]
    near = vectors[rows].astype(np.float64) @ vectors[rows].astype(np.float64).T
    parts: list[list[int]] = []
    for place in np.argsort(-conflicts.sum(axis=1), kind="stable").tolist():
        means = [-1.0 if conflicts[place, part].any() else float(near[place, part].mean()) for part in parts]
        best = int(np.argmax(means)) if means else -1
        if best >= 0 and means[best] >= similarity:
            parts[best].append(place)
        else:
            parts.append([place])
    return sorted([rows[place] for place in sorted(part)] for part in parts)


def _nearest_to_centroid(vectors: Matrix, rows: Sequence[int], confidences: Sequence[float | None]) -> int:
    """Find the row of greatest cosine with Σ c x; among equals the surest, then the first."""
    if len(rows) == 1:
        return rows[0]
    known = [confidences[row] for row in rows]
    weights = np.array([1.0 if value is None else value for value in known])
    nearness = vectors[rows] @ (weights @ vectors[rows])
    best = [place for place, value in enumerate(nearness) if value >= nearness.max() - 1e-6]
    return rows[max(best, key=lambda place: (weights[place], -place))]


def joint_confidence(
    rows: Sequence[int], confidences: Sequence[float | None], sources: Sequence[Hashable]
) -> float | None:
    """1 - Π (1 - c) over distinct sources, c being the greatest confidence in each; None if none is known.

    What one conversation says twice is no second source, so it counts once.
    """
    if len(rows) == 1:
        return confidences[rows[0]]
    most: dict[Hashable, float] = {}
    for row in rows:
        if (value := confidences[row]) is not None:
            most[sources[row]] = max(value, most.get(sources[row], 0.0))
    return 1 - float(np.prod([1 - value for value in most.values()])) if most else None
