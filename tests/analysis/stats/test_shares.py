"""Intervals of shares against their definition, and against drawing for real."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats.shares import share_interval


def test_one_of_two_by_hand() -> None:
    # Two draws with chance 1/2 give 0, 1 or 2 with 1/4, 1/2 and 1/4: both tails of 2.5 % end at the outermost values.
    low, high = share_interval([1], 2)
    assert (low[0], high[0]) == (0, 1)


def test_all_and_nothing_have_no_width() -> None:
    low, high = share_interval([0, 7], 7)
    assert (low.tolist(), high.tolist()) == ([0, 1], [0, 1])


def test_nothing_to_share_is_undefined() -> None:
    low, high = share_interval([0, 0], 0)
    assert np.isnan(low).all() and np.isnan(high).all()


@given(st.integers(1, 500), st.data())
def test_the_share_lies_within(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    low, high = share_interval([count], n)
    assert 0 <= low[0] <= count / n + 1 / n
    assert count / n - 1 / n <= high[0] <= 1


def test_it_is_what_many_draws_give() -> None:
    redrawn = np.random.default_rng(1).integers(0, 400, (20_000, 400))
    shares = (redrawn < 140).mean(axis=1)  # 140 of 400 responses have something
    low, high = share_interval([140], 400)
    assert (low[0], high[0]) == pytest.approx(tuple(np.quantile(shares, [0.025, 0.975])), abs=0.003)
