"""Speed of reports: cells share results that are computed once, and draws are whole numbers of 16 bits."""

import gc
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.stats.intervals import Ints

Counts = NDArray[np.float32]
Weights = NDArray[Any]  # how often each response comes up in each draw: whole numbers of any type
Ranks = NDArray[np.signedinteger]
MOST_KEPT = 2**28  # bytes of draws


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch garbage collection off while many objects are made; each run would scan all, for a tenth of a second."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Memo:
    """Results by key, each computed on first use."""

    def __init__(self) -> None:
        self.found: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = compute()
        return self.found[key]


# --- draws in whole numbers


def draw_ranks(left: Ints, draws: int, rng: np.random.Generator) -> Ranks:
    """Draw, for each response and draw, a whole number from 0 below `left`, the number still to come including it.

    `left` broadcasts to (n, draws).
    """
    drawn = rng.random((len(left), draws), dtype=np.float32)
    drawn *= left.astype(np.float32)
    return drawn.astype(_narrowest(len(left)))


def _narrowest(most: int) -> type[np.signedinteger]:
    return np.int16 if most < np.iinfo(np.int16).max else np.int32


def take(ranks: Ranks, wanted: Ints) -> Ranks:
    """Set in place -1 for each response whose rank is below the number still `wanted` (draws,), else 0.

    In whole numbers of a single width, whose sign bit says which is below: three times as fast as by comparison.
    """
    missing, sign = wanted.astype(ranks.dtype), 8 * ranks.dtype.itemsize - 1
    for row in ranks:
        np.subtract(row, missing, out=row)
        np.right_shift(row, sign, out=row)
        np.add(missing, row, out=missing)
    return ranks


def subset_weights(n: int, size: int, draws: int, rng: np.random.Generator) -> Ranks:
    """1 for the responses in a random subset of `size` of n; shape (n, draws), each column sums to size.

    Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): a response is taken with
    probability (still wanted) / (still to come).
    """
    taken = take(draw_ranks(np.arange(n, 0, -1)[:, None], draws, rng), np.full(draws, size))
    return np.negative(taken, out=taken)


def half_weights(n: int, size: int, draws: int, rng: np.random.Generator) -> Ranks:
    """1 for the responses in two disjoint random subsets of `size` of n, shape (n, draws) each, side by side."""
    taken = take(draw_ranks(np.arange(n, 0, -1)[:, None], draws, rng), np.full(draws, 2 * size))
    half = take_half(taken, size, rng)
    return np.hstack([-half, half - taken])


def narrow(weights: Weights) -> Weights:
    """Store the weights in a quarter of the memory, unless one is too large, as with few responses drawn often."""
    return weights if weights.max(initial=0) > np.iinfo(np.uint8).max else weights.astype(np.uint8)


def weigh(named: sparse.csr_array, weights: Weights, drawn: int = 0) -> Counts:
    """named @ weights: item counts (size, draws) of responses or units that come up `weights` times.

    If 16 bits hold the counts of `drawn` (by default all there are), whole numbers take half the time of floating ones.
    """
    most = int(named.data.max(initial=0)) * max(drawn, weights.shape[0])
    if weights.dtype.kind == "f" or _narrowest(most) is not np.int16:
        return np.asarray(named @ weights.astype(np.float32, copy=False))
    short = named
    if named.dtype != np.int16:
        short = sparse.csr_array((named.data.astype(np.int16), named.indices, named.indptr), shape=named.shape)
    return np.asarray(short @ weights.astype(np.int16, copy=False)).astype(np.float32)


class KeptDraws(Memo):
    """Batches of draws by key, kept while all fit in MOST_KEPT bytes; those that do not fit displace the others."""

    def batches(self, key: Hashable, cells: int, draw: Callable[[], Iterator[Weights]]) -> Iterable[Weights]:
        """Batches of `cells` in all; if they are too many to keep, they are drawn anew each time."""

        def keep() -> list[Weights]:
            made = [narrow(weights) for weights in draw()]
            if sum(weights.nbytes for kept in [made, *self.found.values()] for weights in kept) > MOST_KEPT:
                self.found.clear()
            return made

        return draw() if cells > MOST_KEPT else self.get(key, keep)


def take_half(taken: Ranks, n: int, rng: np.random.Generator) -> Ranks:
    """Take a random n of the 2n responses taken in each draw."""
    left = np.cumsum(taken, axis=0, dtype=taken.dtype)
    left -= taken
    left += 2 * n
    ranks = draw_ranks(left, taken.shape[1], rng).astype(taken.dtype, copy=False)
    ranks |= ~taken & np.iinfo(taken.dtype).max  # the largest number if not taken
    return take(ranks, np.full(taken.shape[1], n))
