"""The measures of item counts: distinct items, share of the top five, entropy; as they are, and as rarefied."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

MEASURES = ("unique", "top5_coverage", "entropy_bits")
TOP = 5
COMMON = 24  # items that the top ones are first looked for among

Measured = dict[str, NDArray[np.float64]]


def measure(counts: NDArray[Any]) -> Measured:
    """The measures of item counts c_i, shape (..., size), as arrays of shape (...). With C = Σ c_i:

    unique = number of c_i > 0; top5_coverage = the five largest c_i / C, NaN when C = 0; entropy_bits: see there.
    """
    unique = np.count_nonzero(counts, axis=-1)
    return _named(unique, _top(counts) / _total(counts), entropy_bits(counts))


def entropy_bits(counts: NDArray[Any]) -> NDArray[np.float64]:
    """-Σ (c_i/C) log2(c_i/C) = log2 C - Σ c_i log2 c_i / C of whole c_i, shape (..., size); NaN where C = 0."""
    whole = counts.astype(np.int32)
    return _entropy(_log_terms(int(whole.max(initial=0)))[whole].sum(axis=-1), _total(counts))


def rarefied_measures(counts: NDArray[Any], total: int, n: int) -> Measured:
    """The measures that n of `total` responses with these counts have on average, as arrays of shape (...).

    `unique` is exact, Σ_i (1 - C(total - c_i, n) / C(total, n)) (Hurlbert 1971), and so are all when n = total. Else
    `entropy_bits` takes the number of mentions among the n at its mean (exact when every response names as many items),
    and `top5_coverage` takes the five items of all responses.
    """
    if n == total:
        return measure(counts)
    whole, mentions = counts.astype(np.int32), _total(counts)
    present, terms = rarefaction_tables(total, n)
    entropy = _entropy(terms[whole].sum(axis=-1), mentions * (n / total))
    return _named(present[whole].sum(axis=-1), _top(counts) / mentions, entropy)


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


def _named(unique: NDArray[Any], coverage: NDArray[Any], entropy: NDArray[Any]) -> Measured:
    return dict(
        zip(MEASURES, (np.asarray(part, dtype=np.float64) for part in (unique, coverage, entropy)), strict=True)
    )


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
