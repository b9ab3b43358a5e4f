"""Drawing again from what was seen: seeded generators, bootstrap and random splits, intervals, p-values, Holm."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.item_measures import Measured, measure
from analysis.stats.samples import ItemSample, pool

LEVEL = 0.95
DRAWS = 2000
BATCH_CELLS = 2**21  # of the widest matrix of one batch of draws: tens of megabytes with all that belongs to it
CACHED_CELLS = 2**17  # counting into more cells at once is slower, since they leave the processor's cache
CLOSE = 1e-6  # a drawn statistic this near to the observed one is equal to it but for rounding

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Redrawn:
    """A sample and the item counts of its bootstrap draws, shape (draws, size): all n responses with replacement."""

    sample: ItemSample
    counts: NDArray[np.float32]

    @cached_property
    def measured(self) -> Measured:
        """The measures of each draw."""
        return measure(self.counts)


@dataclass(frozen=True, eq=False)
class Splits:
    """All responses of two samples, split at random again and again into parts of the same two sizes.

    `observed` holds the item counts of the first sample, shape (size,), `first` those of the first part of each split,
    shape (draws, size), `total` those of all responses.
    """

    n_first: int
    n_second: int
    observed: NDArray[np.float32]
    first: NDArray[np.float32]
    total: NDArray[np.float32]


def generator(seed: int, *names: object) -> np.random.Generator:
    """A generator that is the same for the same seed and names, and independent of all others."""
    words = "\0".join(str(part) for part in (seed, *names))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(words.encode()).digest(), "big"))


def interval(draws: ArrayLike, level: float = LEVEL) -> Interval | None:
    """Percentile interval of drawn statistics, shape (draws,): their quantiles (1 - level)/2 and (1 + level)/2.

    Undefined draws (NaN) are left out; when they are more than 1 - level of all, or nothing was drawn, there is none.
    """
    values = np.asarray(draws, dtype=float)
    known = np.sort(values[~np.isnan(values)])
    if len(known) < max(1.0, level * len(values)):
        return None
    return _quantile(known, (1 - level) / 2), _quantile(known, (1 + level) / 2)


def _quantile(ordered: NDArray[np.float64], share: float) -> float:
    """Linear between the two nearest values; numpy's `quantile` takes ten times as long for one list."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def centred(
    draws: NDArray[np.float64], value: float | None, least: float = -np.inf, most: float = np.inf
) -> Interval | None:
    """The percentile interval moved by the draws' bias, mean(draws) - value, and kept within what is possible."""
    found = interval(draws)
    if found is None or value is None:
        return None
    bias = float(np.nanmean(draws)) - value
    low, high = (min(max(end - bias, least), most) for end in found)
    return low, high


def p_value(observed: float, drawn: NDArray[np.float64]) -> float | None:
    """(1 + draws at least as large as observed) / (1 + draws), so never 0; None when the observed one is NaN.

    A draw whose statistic is undefined counts as large: it is no evidence.
    """
    if np.isnan(observed):
        return None
    smaller = int(np.count_nonzero(drawn < observed - CLOSE * max(1.0, abs(observed))))
    return (1 + len(drawn) - smaller) / (1 + len(drawn))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979, Scand. J. Stat. 6:65-70).

    With p_(1) ≤ … ≤ p_(m) of the m that are known: adjusted p_(k) = max over j ≤ k of min(1, (m - j + 1) p_(j)).
    None stays None and does not count in m.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    largest = 0.0
    for passed, (p, at) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - passed) * p))
        adjusted[at] = largest
    return adjusted


def bootstrap_weights(n: int, draws: int, rng: np.random.Generator, size: int | None = None) -> NDArray[np.float32]:
    """How often each of n responses comes up in `size` (default n) draws with replacement.

    Shape (n, draws); each column sums to size.
    """
    weights = np.empty((n, draws), dtype=np.float32)
    width = max(1, CACHED_CELLS // n)
    for start in range(0, draws, width):
        part = weights[:, start : start + width]
        drawn = rng.integers(0, n, (n if size is None else size, part.shape[1]))
        cells = drawn * part.shape[1] + np.arange(part.shape[1])
        part[:] = np.bincount(cells.ravel(), minlength=part.size).reshape(part.shape)
    return weights


def subset_weights(n: int, size: int, draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """1 for the responses in a random subset of `size` of n; shape (n, draws), each column sums to size.

    Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): a response is taken with
    probability (still wanted) / (still to come).
    """
    chosen = rng.random((n, draws), dtype=np.float32)
    wanted = np.full(draws, size, dtype=np.float32)
    for row in range(n):
        np.less(chosen[row] * np.float32(n - row), wanted, out=chosen[row], casting="unsafe")
        wanted -= chosen[row]
    return chosen


def bootstrap_counts(
    sample: ItemSample, draws: int, rng: np.random.Generator, size: int | None = None
) -> NDArray[np.float32]:
    """Item counts of `size` (default all n) responses drawn with replacement, shape (draws, sample.size)."""
    widths = batches(draws, sample.n, sample.size, size or 0)
    return _joined(sample, [sample.by_item @ bootstrap_weights(sample.n, batch, rng, size) for batch in widths])


def subset_counts(sample: ItemSample, size: int, draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Item counts of random subsets of `size` responses, shape (draws, sample.size)."""
    widths = batches(draws, sample.n, sample.size)
    return _joined(sample, [sample.by_item @ subset_weights(sample.n, size, batch, rng) for batch in widths])


def redraw(sample: ItemSample, draws: int, rng: np.random.Generator) -> Redrawn:
    """Bootstrap draws of a sample of at least one response, which several statistics can share."""
    return Redrawn(sample, bootstrap_counts(sample, draws, rng))


def split(a: ItemSample, b: ItemSample, draws: int, rng: np.random.Generator) -> Splits:
    """Random splits of the responses of `a` and `b`, over the vocabulary of the items that occur."""
    both, observed = pooled(a, b)
    return Splits(a.n, b.n, observed, subset_counts(both, a.n, draws, rng), both.counts().astype(np.float32))


def pooled(a: ItemSample, b: ItemSample) -> tuple[ItemSample, NDArray[np.float32]]:
    """The responses of both over the items that occur, and how often `a` names each of these."""
    both = pool(a, b).compacted()
    return both, both.parts(a.n)[0].counts().astype(np.float32)


def batches(draws: int, *widths: int) -> Iterator[int]:
    """Sizes of batches that sum to `draws`, so small that a batch's matrices of the widest width fit in memory."""
    batch = max(1, min(draws, BATCH_CELLS // max(1, *widths)))
    for start in range(0, draws, batch):
        yield min(batch, draws - start)


def _joined(sample: ItemSample, by_item: list[NDArray[Any]]) -> NDArray[np.float32]:
    """Counts (items, draws) of batches, turned round without a copy: sums over items run along whole draws."""
    return (by_item[0] if len(by_item) == 1 else np.concatenate(by_item, axis=1)).T
