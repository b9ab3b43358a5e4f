"""A number with its n, its interval, or the reason why there is none; and the bootstrap that makes intervals."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from analysis.stats.agreement.labels import Labels
from analysis.stats.intervals import MOST_UNDEFINED, NO_WIDTH, Floats, Interval, corrected_intervals, share_interval

DRAWS = 1000
CELLS = 400_000  # of the widest array in memory: small enough to stay in a processor's cache


@dataclass(frozen=True)
class Estimate:
    """`value` over `n` cases with its 95 % interval; what is None is undefined, and `why` says for which reason."""

    value: float | None
    n: int
    ci: Interval | None = None
    why: str = ""


class Statistic(NamedTuple):
    """Named numbers that depend on the items only through a sum over them.

    `summary`: (n_items, columns). `measure`: weighted sums (columns, draws) -> by name (numbers,
    draws), NaN where undefined. So a bootstrap draw is one weighted sum, and all draws are one matrix product.
    """

    summary: csr_array
    measure: Callable[[Floats], dict[str, Floats]]


class Spread(NamedTuple):
    """(numbers,) each: the value itself, the ends of its interval, the share of undefined draws."""

    value: Floats
    low: Floats
    high: Floats
    undefined: Floats

    def estimates(self, n: Iterable[int], why: str) -> list[Estimate]:
        """One estimate a number; `why` is used where the value is undefined."""
        rows = zip(self.value.tolist(), self.low.tolist(), self.high.tolist(), self.undefined.tolist(), n, strict=True)
        return [make_estimate(*row, why) for row in rows]


def make_estimate(value: float, low: float, high: float, undefined: float, n: int, why: str) -> Estimate:
    if value != value:
        return Estimate(None, n, None, why)
    if undefined > MOST_UNDEFINED:
        return Estimate(value, n, None, f"no interval: undefined in {undefined:.0%} of the bootstrap draws")
    if high - low < NO_WIDTH:
        return Estimate(value, n, None, "no interval: every bootstrap draw gives the same value")
    if not low <= value <= high:
        return Estimate(value, n, None, "no interval: the bootstrap draws lie to one side of the value")
    return Estimate(value, n, (low, high))


def group_units(labels: Labels) -> csr_array:
    """(units, n_items) 1 where an item belongs to a unit of the bootstrap: a cluster if there are any, else the item.

    Items without a label are in no unit: to draw them would say nothing about anybody.
    """
    items = labels.rated_items
    names = items if labels.clusters is None else labels.clusters[items]
    units, unit = np.unique(names, return_inverse=True)
    return csr_array((np.ones(len(items)), (unit, items)), shape=(len(units), labels.n_items))


def bootstrap(
    statistics: Sequence[Statistic], units: csr_array, rng: np.random.Generator, draws: int = DRAWS
) -> list[dict[str, Spread]]:
    """Intervals of all statistics, by name, over the same draws of units with replacement."""
    sums = [csr_array((units @ statistic.summary).T) for statistic in statistics]
    drawn: list[list[dict[str, Floats]]] = [[] for _ in statistics]
    n = units.shape[0]
    chunk = max(1, CELLS // max(n, *(each.shape[0] for each in sums), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [statistic.measure(each @ np.ones((n, 1))) for statistic, each in zip(statistics, sums, strict=True)]
        for weights in draw_weights(n, draws, chunk, rng):
            for statistic, each, batches in zip(statistics, sums, drawn, strict=True):
                batches.append(statistic.measure(each @ weights))
    return [_gather(value, batches) for value, batches in zip(values, drawn, strict=True)]


def _gather(values: dict[str, Floats], batches: list[dict[str, Floats]]) -> dict[str, Spread]:
    return {
        name: Spread(
            value[:, 0], *corrected_intervals(value[:, 0], np.concatenate([batch[name] for batch in batches], axis=1))
        )
        for name, value in values.items()
    }


def draw_weights(units: int, draws: int, chunk: int, rng: np.random.Generator) -> Iterator[Floats]:
    """(units, up to chunk) how often each unit is in each draw; the same draws whatever the chunk."""
    for start in range(0, draws, chunk):
        picks = rng.integers(max(units, 1), size=(min(chunk, draws - start), units))
        yield np.stack([np.bincount(row, minlength=units) for row in picks], axis=1).astype(np.float64)


def estimate_share(hits: int, n: int, why: str) -> Estimate:
    """`hits` of `n` independent cases with Wilson's interval."""
    return Estimate(hits / n, n, share_interval(hits, n)) if n else Estimate(None, 0, None, why)
