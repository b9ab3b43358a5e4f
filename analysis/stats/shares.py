"""Shares of responses with their intervals, without drawing anything."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from analysis.stats.resampling import LEVEL


def share_interval(counts: ArrayLike, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the percentile bootstrap intervals of counts / n, each of the shape of `counts`; NaN for n = 0.

    Redrawing n responses of which c have something gives a number with the distribution Binomial(n, c / n), whose
    quantiles are known: they are what infinitely many draws would give.
    """
    shares = np.asarray(counts, dtype=float) / n if n else np.full(np.shape(counts), np.nan)
    low, high = (stats.binom.ppf(tail, n, shares) / max(n, 1) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return np.asarray(low, dtype=float), np.asarray(high, dtype=float)
