"""A number with its n and its interval, or the reason for having none; and the bootstrap that makes intervals."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron

from analysis.stats.agreement.labels import Labels
from analysis.stats.intervals import (
    MOST_UNDEFINED,
    NO_WIDTH,
    Bools,
    Floats,
    Interval,
    clustered_share_interval,
    corrected_intervals,
    jackknife_interval,
    share_interval,
    t_quantile,
)

DRAWS = 1000
CELLS = 400_000  # cells of the widest array in memory: few enough to stay in a processor's cache
FEW = 10  # with fewer units, draws with replacement say too little, and units are left out one by one
FEWEST = 3  # units for an interval
MOST_LEFT_OUT = 1000  # with more units, none is left out, and a number that rests on a few of them has no interval


@dataclass(frozen=True)
class Estimate:
    """`value` over `n` cases with its 95 % interval; None is undefined, for the reason `why`.

    `units`: the number of independent units, items or users, behind it; 0 if not asked.
    """

    value: float | None
    n: int
    ci: Interval | None = None
    why: str = ""
    units: int = 0

    def reaching(self, above: float, below: float = 0.0, most: float = 1.0) -> "Estimate":
        """With an interval that ends at least so far above and below the value, inside -most to most."""
        if self.value is None or self.ci is None:
            return self
        low, high = float(max(self.value - below, -most)), float(min(self.value + above, most))
        return replace(self, ci=(min(self.ci[0], low), max(self.ci[1], high)))


class Statistic(NamedTuple):
    """Named numbers that depend on the items only through a sum over them.

    `summary`: (n_items, columns). `measure`: weighted sums (columns, draws) -> by name (numbers, draws), NaN if
    undefined. So a bootstrap draw is one weighted sum, and all draws are one matrix product. `uses`: by name (numbers,
    columns), which columns a number rests on; by default all. `bounds`: the possible range.
    """

    summary: csr_array
    measure: Callable[[Floats], dict[str, Floats]]
    uses: Mapping[str, csr_array] = {}
    bounds: Interval = (-np.inf, np.inf)


class Spread(NamedTuple):
    """(numbers,) each: the value itself, the ends of its interval, the share of undefined draws, units, error.

    `units`: how many units a number rests on. `error`: its standard error over units.
    """

    value: Floats
    low: Floats
    high: Floats
    undefined: Floats
    units: NDArray[np.intp]
    error: Floats

    def estimates(self, n: Iterable[int], why: str) -> list[Estimate]:
        """One estimate per number; `why` is used if the value is undefined."""
        ends = zip(self.value.tolist(), self.low.tolist(), self.high.tolist(), self.undefined.tolist(), strict=True)
        return [
            make_estimate(*row, size, why, units) for row, size, units in zip(ends, n, self.units.tolist(), strict=True)
        ]

    def shares(self, n: Sequence[int], why: str, cases: Sequence[int] | None = None) -> list[Estimate]:
        """One estimate per share of `cases`, by default n: Wilson's interval, which has a width at 0 and 1 too.

        It is the plain one if each unit is one case, else that of cases in units.
        """
        counted = np.asarray(n if cases is None else cases)
        low, high = clustered_share_interval(self.value, self.error, counted, self.units)
        ends = zip(self.value.tolist(), low.tolist(), high.tolist(), self.units.tolist(), strict=True)
        return [_make_share(*row, size, case, why) for row, size, case in zip(ends, n, counted.tolist(), strict=True)]


def make_estimate(
    value: float, low: float, high: float, undefined: float, n: int, why: str, units: int = FEW
) -> Estimate:
    if value != value:
        return Estimate(None, n, None, why, units)
    if units < FEWEST:
        return Estimate(value, n, None, too_few(units), units)
    if undefined > MOST_UNDEFINED:
        of = "of the bootstrap draws" if units >= FEW else f"when one of the {units} units is left out"
        return Estimate(value, n, None, f"no interval: undefined in {undefined:.0%} {of}", units)
    if low != low:
        return Estimate(value, n, None, too_few(units), units)
    if high - low < NO_WIDTH:
        what = "every bootstrap draw gives the same value" if units >= FEW else "leaving out any unit changes nothing"
        return Estimate(value, n, None, f"no interval: {what}", units)
    if not low <= value <= high:
        return Estimate(value, n, None, "no interval: the bootstrap draws lie to one side of the value", units)
    return Estimate(value, n, (low, high), "", units)


def _make_share(value: float, low: float, high: float, units: int, n: int, cases: int, why: str) -> Estimate:
    if value != value:
        return Estimate(None, n, None, why, units)
    if units == cases:
        return Estimate(value, n, share_interval(round(value * cases), cases), "", units)
    if units < FEWEST:
        return Estimate(value, n, None, too_few(units), units)
    return Estimate(value, n, (low, high), "", units)


def too_few(units: int) -> str:
    return f"no interval: made of {units} independent unit{'' if units == 1 else 's'} only"


def group_units(labels: Labels) -> csr_array:
    """(units, n_items) 1 if an item belongs to a unit of the bootstrap: a cluster if there are any, else the item.

    Items without a label are in no unit: drawing them would say nothing about anybody.
    """
    items = labels.rated_items
    names = items if labels.clusters is None else labels.clusters[items]
    units, unit = np.unique(names, return_inverse=True)
    return csr_array((np.ones(len(items)), (unit, items)), shape=(len(units), labels.n_items))


def bootstrap(
    statistics: Sequence[Statistic], units: csr_array, rng: np.random.Generator, draws: int = DRAWS
) -> list[dict[str, Spread]]:
    """Intervals of all statistics, by name, over the same draws of units with replacement.

    Percentiles as far out as Student's t says for this many units (Hesterberg 2015, Am. Stat. 69:371-386). A number
    that rests on fewer than FEW units has the interval of the jackknife.
    """
    sums = [csr_array((units @ statistic.summary).T) for statistic in statistics]
    n = units.shape[0]
    chunk = max(1, CELLS // max(n, *(each.shape[0] for each in sums), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [statistic.measure(each @ np.ones((n, 1))) for statistic, each in zip(statistics, sums, strict=True)]
        rests = [count_units(*row) for row in zip(statistics, sums, values, strict=True)]
        drawn = _measure_draws(statistics, sums, draw_weights(n, draws, chunk, rng))
        few = any(((found >= FEWEST) & (found < FEW)).any() for each in rests for found in each.values())
        leaving = _leave_out(n, chunk) if few and n <= MOST_LEFT_OUT else iter(())
        left_out = _measure_draws(statistics, sums, leaving)
        return [
            {
                name: _spread(value[:, 0], each_drawn[name], each_left.get(name), rest[name], statistic.bounds)
                for name, value in value_of.items()
            }
            for statistic, value_of, each_drawn, each_left, rest in zip(
                statistics, values, drawn, left_out, rests, strict=True
            )
        ]


def count_units(statistic: Statistic, sums: csr_array, values: dict[str, Floats]) -> dict[str, NDArray[np.intp]]:
    """By name (numbers,) how many units each number rests on; `sums`: (columns, units)."""
    touched = csr_array(sums != 0, dtype=np.float64)
    whole = int((touched.sum(axis=0) > 0).sum())
    # Many numbers rest on the same columns.
    distinct = {id(rests_on): rests_on for rests_on in statistic.uses.values()}
    counts = {key: np.diff(csr_array(rests_on @ touched).indptr) for key, rests_on in distinct.items()}
    return {
        name: counts[id(statistic.uses[name])] if name in statistic.uses else np.full(len(value), whole)
        for name, value in values.items()
    }


def _measure_draws(
    statistics: Sequence[Statistic], sums: Sequence[csr_array], weights: Iterator[Floats]
) -> list[dict[str, Floats]]:
    """By statistic and name (numbers, draws); nothing if there are no weights."""
    found: list[dict[str, list[Floats]]] = [{} for _ in statistics]
    for batch in weights:
        for statistic, each, kept in zip(statistics, sums, found, strict=True):
            for name, values in statistic.measure(each @ batch).items():
                kept.setdefault(name, []).append(values)
    return [{name: np.concatenate(batches, axis=1) for name, batches in kept.items()} for kept in found]


def _leave_out(n: int, chunk: int) -> Iterator[Floats]:
    """(n, up to chunk) weights of all units but one."""
    for start in range(0, n, chunk):
        weights = np.ones((n, min(chunk, n - start)))
        weights[np.arange(start, start + weights.shape[1]), np.arange(weights.shape[1])] = 0
        yield weights


def _spread(value: Floats, drawn: Floats, left_out: Floats | None, units: NDArray[np.intp], bounds: Interval) -> Spread:
    inflated = np.sqrt(units / np.maximum(units - 1, 1))
    low, high, undefined = corrected_intervals(value, drawn, np.where(units > 1, inflated * t_quantile(units - 1), 0.0))
    error = _deviation(drawn - value[:, None]) * inflated
    few = units < FEW
    if left_out is None:
        ends = np.full((2, len(value)), np.nan)
        gone = np.zeros(len(value))
    else:
        ends = np.clip(jackknife_interval(value, left_out, units), *bounds)
        gone = np.isnan(left_out).sum(axis=1) / np.maximum(units, 1)
    return Spread(
        value, np.where(few, ends[0], low), np.where(few, ends[1], high), np.where(few, gone, undefined), units, error
    )


def _deviation(drawn: Floats) -> Floats:
    """(numbers,) standard deviation of the defined draws."""
    defined = ~np.isnan(drawn)
    known, n = np.where(defined, drawn, 0.0), defined.sum(axis=1)
    return np.sqrt(np.maximum(np.square(known).sum(axis=1) / n - np.square(known.sum(axis=1) / n), 0.0))


def block_uses(numbers: int, width: int) -> csr_array:
    """(numbers, numbers × width): each number rests on a block of columns of its own."""
    return csr_array(kron(eye_array(numbers), np.ones((1, width))))


def draw_weights(units: int, draws: int, chunk: int, rng: np.random.Generator) -> Iterator[Floats]:
    """(units, up to chunk) how often each unit is in each draw; the same draws whatever the chunk."""
    for start in range(0, draws, chunk):
        picks = rng.integers(max(units, 1), size=(min(chunk, draws - start), units))
        yield np.stack([np.bincount(row, minlength=units) for row in picks], axis=1).astype(np.float64)


def estimate_clustered_share(hits: Bools, units: NDArray[np.integer], why: str) -> Estimate:
    """The share of (cases,) that are hits, with cases in (cases,) units: linearised over units, Wilson's interval."""
    _, unit = np.unique(units, return_inverse=True)
    n, counts = len(hits), np.bincount(unit)
    if not n:
        return Estimate(None, 0, None, why)
    share, size = float(hits.mean()), len(counts)
    error = np.sqrt(np.square(np.bincount(unit, hits) - share * counts).sum() * size / max(size - 1, 1)) / n
    low, high = clustered_share_interval(share, error, n, size)
    return _make_share(share, float(low), float(high), size, n, n, why)


def estimate_share(hits: int, n: int, why: str) -> Estimate:
    """`hits` of `n` independent cases with Wilson's interval."""
    return Estimate(hits / n, n, share_interval(hits, n)) if n else Estimate(None, 0, None, why)


# --- the same things before and after a change

NOTHING = "nothing was labelled before and after"


def measure_change(
    before: Floats,
    after: Floats,
    units: np.ndarray,
    cases: tuple[int, int],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> dict[str, Estimate]:
    """`before`, `after`: their means; `change`: the mean of after - before, paired.

    `before`, `after`: (pairs,) from 0 to 1, each a share of labels or whether something holds; `units`: (pairs,) the
    user or item of each, which are drawn; `cases`: the numbers of labels behind the shares.
    """
    n = len(before)
    if not n:
        return dict.fromkeys(("before", "after", "change"), Estimate(None, 0, None, NOTHING))
    summary = csr_array(np.stack([before, after, np.ones(n)], axis=1))

    def shares(sums: Floats) -> dict[str, Floats]:
        return {"before": sums[:1] / sums[2:], "after": sums[1:2] / sums[2:]}

    def change(sums: Floats) -> dict[str, Floats]:
        return {"change": (sums[1:2] - sums[:1]) / sums[2:]}

    names, unit = np.unique(units, return_inverse=True)
    drawn = csr_array((np.ones(n), (unit, np.arange(n))), shape=(len(names), n))
    statistics = [Statistic(summary, shares, bounds=(0.0, 1.0)), Statistic(summary, change, bounds=(-1.0, 1.0))]
    both, moved = bootstrap(statistics, drawn, rng, draws)
    return {
        "before": both["before"].shares([n], NOTHING, [cases[0]])[0],
        "after": both["after"].shares([n], NOTHING, [cases[1]])[0],
        "change": moved["change"].estimates([n], NOTHING)[0],
    }
