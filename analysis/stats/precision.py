"""How wide intervals will be with a planned number of responses, judged from pilot data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.stats.heterogeneity import describe
from analysis.stats.intervals import Interval, interval, wilson_interval
from analysis.stats.resampling import ChoiceSample, ItemSample, bootstrap_weights

SAMPLES = 40  # future samples imagined
DRAWS = 400  # the same of shares, which cost less
NO_PILOT = "The pilot has no answer to judge from."


@dataclass(frozen=True)
class ExpectedWidth:
    """The mean width of the 95 % interval of samples of `n`, from `pilot` responses; 95 in 100 widths lie in `ci`."""

    n: int
    pilot: int
    width: float | None
    ci: Interval | None
    why: str | None


def entropy_width(pilot: ItemSample, n: int, rng: np.random.Generator, samples: int = SAMPLES) -> ExpectedWidth:
    """For the entropy: future samples are drawn from the pilot with replacement, and each gets its interval."""
    if not len(pilot.codes):
        return ExpectedWidth(n, pilot.n, None, None, NO_PILOT)
    used = pilot.compacted()
    named = used.incidence()
    widths = [_entropy_width(_drawn_sample(named, n, rng)) for _ in range(samples)]
    return _expected(n, pilot.n, np.array(widths))


def item_share_width(pilot: ItemSample, item: int, n: int, rng: np.random.Generator) -> ExpectedWidth:
    """For the share of responses that name the item with this code."""
    return _share_width(int(pilot.counts()[item]), pilot.n, n, rng)


def correct_share_width(pilot: ChoiceSample, n: int, rng: np.random.Generator) -> ExpectedWidth:
    """For the share of correct answers, unknown ones being wrong. ValueError when the pilot has no key."""
    if pilot.correct is None:
        raise ValueError("The pilot's prompt has no correct option.")
    return _share_width(int(pilot.counts()[pilot.correct]), pilot.n, n, rng)


def _share_width(count: int, pilot: int, n: int, rng: np.random.Generator) -> ExpectedWidth:
    """Counts of future samples are binomial."""
    if not pilot:
        return ExpectedWidth(n, pilot, None, None, NO_PILOT)
    low, high = wilson_interval(rng.binomial(n, count / pilot, DRAWS), n)
    return _expected(n, pilot, high - low)


def _drawn_sample(pilot: sparse.csr_array, n: int, rng: np.random.Generator) -> ItemSample:
    """`n` responses drawn with replacement from those of a pilot's incidence."""
    there, size = pilot.shape
    times = bootstrap_weights(there, 1, rng, n)[:, 0].astype(np.int64)
    chosen = pilot[np.repeat(np.arange(there), times)].tocoo()
    return ItemSample(n, chosen.row.astype(np.int32), chosen.col.astype(np.int32), size)


def _entropy_width(sample: ItemSample) -> float:
    found = describe(sample).ci["entropy_bits"]
    return float("nan") if found is None else found[1] - found[0]


def _expected(n: int, pilot: int, widths: NDArray[np.float64]) -> ExpectedWidth:
    found = interval(widths)
    if found is None:
        return ExpectedWidth(n, pilot, None, None, NO_PILOT)
    return ExpectedWidth(n, pilot, float(np.nanmean(widths)), found, None)
