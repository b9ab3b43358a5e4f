"""Intervals of shares: against draws of responses."""

import numpy as np
import pytest

from analysis.stats.resampling import bootstrap_counts
from analysis.stats.shares import share_interval
from tests.analysis.stats.sample_factories import draw_items


def test_interval_of_one_of_two_responses() -> None:
    # Of two draws none, one or both have it, with 1/4, 1/2, 1/4: the middle 95 % are all of them.
    low, high = share_interval([1, 0, 2], 2)
    assert (low.tolist(), high.tolist()) == ([0, 0, 1], [1, 0, 1])


def test_interval_is_that_of_many_draws() -> None:
    rng = np.random.default_rng(1)
    sample = draw_items(rng, 100, size=12, named=3)
    ends = np.quantile(bootstrap_counts(sample, 5000, rng) / 100, [0.025, 0.975], axis=0)
    for found, drawn in zip(share_interval(sample.counts(), 100), ends, strict=True):
        assert found == pytest.approx(drawn, abs=0.0101)


def test_shares_of_no_responses_have_no_interval() -> None:
    assert np.isnan(share_interval([0, 0], 0)).all()
