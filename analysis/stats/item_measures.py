"""The measures of item counts: distinct items, share of the top five, entropy; as they are, and as rarefied."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOP = 5
COMMON = 24  # items that the top ones are first looked for among

Measured = dict[str, NDArray[np.float64]]


class Counted:
    """Item counts c_i, shape (..., size), with what several measures need of them."""

    def __init__(self, counts: NDArray[Any]) -> None:
        self.counts = counts

    @cached_property
    def whole(self) -> NDArray[np.int32]:
        return self.counts.astype(np.int32)

    @cached_property
    def mentions(self) -> NDArray[np.float64]:
        """C = Σ c_i, or NaN where nothing is named."""
        return _total(self.counts)


@dataclass(frozen=True)
class ItemMeasure:
    """A measure of item counts: `value` of them, shape (...), what n of `total` responses with these counts have on
    average (`rarefied`), and the `most` that it can be.
    """

    value: Callable[[Counted], NDArray[Any]]
    rarefied: Callable[[Counted, int, int], NDArray[Any]]
    most: float = np.inf


def measure(counts: NDArray[Any]) -> Measured:
    """The measures of item counts c_i, shape (..., size), as arrays of shape (...)."""
    counted = Counted(counts)
    return {name: np.asarray(each.value(counted), dtype=np.float64) for name, each in ITEM_MEASURES.items()}


def entropy(counts: NDArray[Any]) -> NDArray[np.float64]:
    """-Σ (c_i/C) log2(c_i/C) = log2 C - Σ c_i log2 c_i / C of whole c_i, shape (..., size); NaN where C = 0."""
    return _bits(Counted(counts))


def rarefied_measures(counts: NDArray[Any], total: int, n: int) -> Measured:
    """The measures that n of `total` responses with these counts have on average, as arrays of shape (...); all are
    exact when n = total.
    """
    if n == total:
        return measure(counts)
    counted = Counted(counts)
    return {
        name: np.asarray(each.rarefied(counted, total, n), dtype=np.float64) for name, each in ITEM_MEASURES.items()
    }


def _distinct(counted: Counted) -> NDArray[Any]:
    return np.count_nonzero(counted.counts, axis=-1)


def _rarefied_distinct(counted: Counted, total: int, n: int) -> NDArray[Any]:
    """Σ_i (1 - C(total - c_i, n) / C(total, n)) (Hurlbert 1971), which is exact."""
    return rarefaction_tables(total, n)[0][counted.whole].sum(axis=-1)


def _coverage(counted: Counted, total: int = 0, n: int = 0) -> NDArray[Any]:
    """The five largest c_i / C, NaN when C = 0; rarefied it takes the five items of all responses."""
    return _top(counted.counts) / counted.mentions


def _bits(counted: Counted) -> NDArray[np.float64]:
    return _entropy(_log_terms(int(counted.whole.max(initial=0)))[counted.whole].sum(axis=-1), counted.mentions)


def _rarefied_bits(counted: Counted, total: int, n: int) -> NDArray[np.float64]:
    """Takes the number of mentions among the n at its mean: exact when every response names as many items."""
    terms = rarefaction_tables(total, n)[1][counted.whole].sum(axis=-1)
    return _entropy(terms, counted.mentions * (n / total))


@lru_cache(maxsize=64)
def rarefaction_tables(total: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(X > 0) and E[X log2 X] for an item that c of `total` responses name, X of them among a random n.

    Both for c = 0 … total, shape (total + 1,). X is hypergeometric; one further response that names the item is among
    the n with probability (n - x) / (total - c), which leads from c to c + 1.
    """
    present, terms = np.zeros(total + 1), np.zeros(total + 1)
    chance, number = np.zeros(n + 1), np.arange(n + 1)
    chance[0] = 1.0
    for c in range(total + 1):
        present[c], terms[c] = 1.0 - chance[0], chance @ _log_terms(n)
        # The fraction first: where x can't stay it is exactly 1, and no rounding is left there to grow.
        moved = chance * ((n - number) / max(1, total - c))
        chance -= moved
        chance[1:] += moved[:-1]
    return present, terms


@lru_cache(maxsize=64)
def _log_terms(largest: int) -> NDArray[np.float64]:
    """c log2 c for c = 0 … largest, where 0 log2 0 is 0."""
    number = np.arange(largest + 1, dtype=np.float64)
    return number * np.log2(np.maximum(number, 1.0))


def _total(counts: NDArray[Any]) -> NDArray[np.float64]:
    """C, or NaN where nothing is named."""
    total = counts.sum(axis=-1, dtype=np.float64)
    return np.where(total > 0, total, np.nan)


def _entropy(terms: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.log2(total) - terms / total, 0.0)


def _top(counts: NDArray[Any]) -> NDArray[Any]:
    """The sum of the five largest counts, of all when there are fewer."""
    if counts.shape[-1] <= TOP:
        return counts.sum(axis=-1)
    if counts.ndim != 2 or counts.shape[1] < 2 * COMMON:
        return _largest(counts).sum(axis=-1)
    # Nearly always they are among the items that are frequent in all rows; the few other rows are looked at again.
    order = np.argpartition(counts.sum(axis=0), -COMMON)
    best = _largest(counts[:, order[-COMMON:]])
    missed = counts[:, order[:-COMMON]].max(axis=1) > best[:, 0]
    best[missed] = _largest(counts[missed])
    return best.sum(axis=-1)


def _largest(counts: NDArray[Any]) -> NDArray[Any]:
    """The TOP largest counts, the smallest of them first."""
    return np.partition(counts, -TOP, axis=-1)[..., -TOP:]


ITEM_MEASURES = {
    "unique": ItemMeasure(_distinct, _rarefied_distinct),
    "top5_coverage": ItemMeasure(_coverage, _coverage, most=1.0),
    "entropy_bits": ItemMeasure(_bits, _rarefied_bits),
}
MEASURES = tuple(ITEM_MEASURES)
