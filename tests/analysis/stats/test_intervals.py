"""Intervals of shares, drawn statistics and percentiles: by hand, against statsmodels, and how often they hold."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from analysis.stats.intervals import (
    centred,
    corrected_intervals,
    interval,
    p_value,
    percentile_interval,
    share_interval,
    splits_of,
    tail_p,
    wilson_interval,
)


def test_share_of_none_and_of_all_keeps_a_width() -> None:
    # Wilson for 0 of 10: upper end z² / (n + z²) = 3.8415 / 13.8415 = 0.2775
    assert share_interval(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert share_interval(10, 10) == pytest.approx((0.7225, 1), abs=1e-4)


def test_share_of_nothing_has_no_interval() -> None:
    low, high = wilson_interval([0, 0], 0)
    assert np.isnan(low).all() and np.isnan(high).all()
    assert share_interval(0, 0) is None


def test_many_shares_at_once_are_each_its_own() -> None:
    low, high = wilson_interval([0, 3, 7], [4, 4, 9])
    found = [share_interval(*row) for row in ((0, 4), (3, 4), (7, 9))]
    assert list(zip(low, high, strict=True)) == found


@given(st.integers(1, 5000), st.data())
def test_wilson_agrees_with_statsmodels_and_holds_the_share(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    found = share_interval(hits, n)
    assert found == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-12)
    assert found and 0 <= found[0] <= hits / n <= found[1] <= 1


def test_interval_is_the_middle_95_percent() -> None:
    # 0.000, 0.001 … 1.000: a fortieth lies below 0.025, a fortieth above 0.975.
    assert interval(np.arange(1001) / 1000) == pytest.approx((0.025, 0.975))


def test_interval_leaves_few_undefined_draws_out_and_gives_up_on_many() -> None:
    draws = np.arange(1000) / 1000
    draws[:50] = np.nan
    assert interval(draws) == pytest.approx(np.quantile(draws[50:], [0.025, 0.975]))
    draws[50] = np.nan
    assert interval(draws) is None
    assert interval([]) is None
    assert interval([np.nan]) is None


def test_centred_interval_is_moved_by_the_bias() -> None:
    draws = np.arange(1001) / 1000  # mean 0.5: 0.2 too low for a value of 0.7
    assert centred(draws, 0.7) == pytest.approx((0.225, 1.175))
    assert centred(draws, None) is None


def test_quantiles_shift_by_the_bias_of_the_draws() -> None:
    """900 of 1,000 draws lie below the value: Φ⁻¹(0.9) = 1.2816, so the ends are Φ(2.563 ∓ 1.96) = 0.727 and 1."""
    drawn = np.arange(1000.0)[None]
    low, high, _ = corrected_intervals(np.array([899.5]), drawn)
    assert low[0] == pytest.approx(0.7268 * 999, abs=0.5)
    assert high[0] == pytest.approx(999, abs=0.1)


def test_quantiles_without_bias_are_the_percentiles() -> None:
    drawn = np.random.default_rng(0).permutation(np.arange(1001.0))[None]
    low, high, undefined = corrected_intervals(np.array([500.0]), drawn)
    assert (low[0], high[0], undefined[0]) == (pytest.approx(25), pytest.approx(975), 0)


def test_undefined_draws_are_left_out_and_counted() -> None:
    drawn = np.concatenate([np.arange(1001.0), np.full(9, np.nan)])[None]
    low, high, undefined = corrected_intervals(np.array([500.0]), drawn)
    assert (low[0], high[0]) == (pytest.approx(25), pytest.approx(975))
    assert undefined[0] == pytest.approx(9 / 1010)


def test_median_of_six_lies_between_the_outermost() -> None:
    # All six lie on one side of the median with 2 · (1/2)⁶ = 3.1 %; of five with 6.25 %, which is too often.
    assert percentile_interval(np.arange(1.0, 7), 0.5) == (1, 6)
    assert percentile_interval(np.arange(1.0, 6), 0.5) is None


def test_percentiles_of_few_values_have_no_interval() -> None:
    # 0.95^n must be at most 2.5 % for the largest value to be above the percentile: n = 72.
    assert percentile_interval(np.arange(71.0), 0.95) is None
    assert percentile_interval(np.arange(72.0), 0.95) is not None
    assert percentile_interval(np.array([]), 0.5) is None


@pytest.mark.parametrize(("n", "share"), [(6, 0.5), (37, 0.5), (100, 0.5), (100, 0.95), (400, 0.95)])
def test_percentile_intervals_miss_at_most_one_in_forty_on_either_side(n: int, share: float) -> None:
    """The number of n uniform values below the percentile is binomial; it must fall between the two ranks."""
    found = percentile_interval(np.arange(1.0, n + 1), share)
    assert found is not None
    low, high = (int(end) for end in found)
    assert binom.cdf(low - 1, n, share) <= 0.025 and binom.sf(high - 1, n, share) <= 0.025
    # The next ranks inwards would miss more often.
    assert binom.cdf(low, n, share) > 0.025 and binom.sf(high - 2, n, share) > 0.025


# --- p-values finer than a draw


def test_a_p_by_its_tail_is_near_the_true_one_and_rather_too_large() -> None:
    drawn = np.abs(np.random.default_rng(3).normal(size=(200, 2000)))
    for observed, true in ((3.3, 9.7e-4), (4.0, 6.3e-5), (5.0, 5.7e-7)):
        found = np.array([tail_p(observed, some, 1e300) for some in drawn])
        assert np.median(found) > true and np.median(found) < 40 * true
        # Few draws leave room, but a p to be corrected for many tests must not be far too small.
        assert np.quantile(found, 0.05) > 0.5 * true


def test_a_p_by_its_tail_is_the_p_by_draws_where_many_are_as_large_and_never_below_one_split_of_all() -> None:
    drawn = np.arange(1000.0)
    assert tail_p(900.0, drawn, 1e300) == p_value(900.0, drawn) == 101 / 1001
    assert tail_p(1e6, drawn, splits_of(3, 4)) == p_value(1e6, drawn)
    assert tail_p(1e6, drawn, splits_of(6, 6)) == pytest.approx(1 / 1001)
    assert tail_p(1e6, drawn, splits_of(10, 10)) == pytest.approx(1 / 184756)
    assert tail_p(1e6, drawn[:100], 1e300) == p_value(1e6, drawn[:100]) and tail_p(np.nan, drawn, 1e300) is None


def test_ways_to_split_are_those_of_combinatorics() -> None:
    assert [splits_of(2, 2), splits_of(5, 7)] == pytest.approx([comb(4, 2), comb(12, 5)]) and splits_of(
        5000, 5000
    ) > 1e300
