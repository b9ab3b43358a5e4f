"""Random draws that several samples share: drawn once by name, and the same for samples of the same number."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analysis.stats.resampling import (
    BATCH_CELLS,
    DRAWS,
    Redrawn,
    Splits,
    batches,
    bootstrap_weights,
    generator,
    pooled,
    subset_weights,
)
from analysis.stats.samples import ItemSample

Weights = NDArray[np.float32]
Make = Callable[[int, np.random.Generator], Weights]  # so many draws of the weights of n responses, shape (n, draws)


@dataclass(frozen=True, eq=False)
class SharedDraws:
    """`draws` draws for every name and number of responses, from one seed.

    Samples that are drawn under one name have their k-th responses drawn together. One sample's interval or p is as
    with draws of its own. Of several samples in which the k-th response is the same person's, a mean's interval is then
    one over people; where k-th responses have nothing to do with each other, it is as if they were drawn apart.
    """

    seed: int
    draws: int = DRAWS
    kept: dict[tuple[object, ...], NDArray[np.uint8]] = field(default_factory=dict)

    def redraw(self, sample: ItemSample, name: str) -> Redrawn:
        """As `resampling.redraw`."""
        return Redrawn(
            sample, self._counts(sample, ("redraw", name), lambda n, rng: bootstrap_weights(sample.n, n, rng))
        )

    def subsets(self, sample: ItemSample, size: int, name: str) -> Weights:
        """As `resampling.subset_counts`."""
        return self._counts(sample, ("rarefy", name, size), lambda n, rng: subset_weights(sample.n, size, n, rng))

    def split(self, a: ItemSample, b: ItemSample, first: str, second: str) -> Splits:
        """As `resampling.split`."""
        both, observed = pooled(a, b)
        names = ("split", first, second, a.n)
        parts = self._counts(both, names, lambda n, rng: subset_weights(both.n, a.n, n, rng))
        return Splits(a.n, b.n, observed, parts, both.counts().astype(np.float32))

    def _counts(self, sample: ItemSample, names: tuple[object, ...], make: Make) -> Weights:
        """Item counts of the draws, shape (draws, size); sums over items run along whole draws."""
        parts = [sample.by_item @ weights for weights in self._weights(sample.n, names, make)]
        return (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)).T

    def _weights(self, n: int, names: tuple[object, ...], make: Make) -> Iterator[Weights]:
        """In batches that depend on n alone, so that they are the same for every sample of n. Small ones are kept."""
        rng = generator(self.seed, *names, n)
        if n * self.draws > BATCH_CELLS:
            yield from (make(width, rng) for width in batches(self.draws, n))
            return
        key = (*names, n)
        if key not in self.kept:
            weights = make(self.draws, rng)
            if weights.max(initial=0) > np.iinfo(np.uint8).max:  # a few responses, one of them drawn very often
                yield weights
                return
            self.kept[key] = weights.astype(np.uint8)
        yield self.kept[key].astype(np.float32)
