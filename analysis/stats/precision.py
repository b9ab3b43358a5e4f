"""How wide intervals will be with a planned number of responses, judged from pilot data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import FEWEST_UNITS, Interval, interval, interval_of_error, wilson_interval
from analysis.stats.item_measures import drawn_entropies
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
    times = np.hstack([bootstrap_weights(pilot.n, 1, rng, n) for _ in range(samples)]).astype(np.int64)
    drawn = zip(*drawn_entropies(pilot.by_item, times), strict=True)
    found = [interval_of_error(*each, n - 1, 0.0) if n >= FEWEST_UNITS else None for each in drawn]
    widths = [np.nan if ends is None else ends[1] - ends[0] for ends in found]
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


def _expected(n: int, pilot: int, widths: NDArray[np.float64]) -> ExpectedWidth:
    found = interval(widths)
    if found is None:
        return ExpectedWidth(n, pilot, None, None, NO_PILOT)
    return ExpectedWidth(n, pilot, float(np.nanmean(widths)), found, None)
