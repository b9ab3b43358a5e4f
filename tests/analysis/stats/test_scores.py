"""Scores over units: rank correlation, accuracy, paired differences, percentiles."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.stats.intervals import ALIKE, FEW_UNITS, UNDEFINED, percentile_interval, share_interval
from analysis.stats.scores import (
    accuracy_within,
    correlations_of_draws,
    paired_difference,
    percentiles,
    rank_correlation,
)
from tests.analysis.stats.sample_factories import rng


def test_correlation_of_four_pairs() -> None:
    # One pair of neighbours is swapped: rho = 1 - 6(0 + 1 + 1 + 0)/(4·15) = 0.8, tau = (5 - 1)/6.
    found = rank_correlation([1, 2, 3, 4], [10, 30, 20, 40], rng())
    assert (found.n, found.spearman, found.kendall) == (4, pytest.approx(0.8), pytest.approx(2 / 3))
    assert (found.ci_spearman, found.ci_why) == (None, FEW_UNITS)


def test_correlation_that_most_draws_lack_says_so() -> None:
    found = rank_correlation([1, 1, 1, 1, 2], [1, 2, 3, 4, 5], rng())
    assert (found.ci_spearman, found.ci_why) == (None, UNDEFINED)
    assert rank_correlation(range(9), range(9), rng()).ci_why == ALIKE


numbers = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=20)


@given(numbers)
@settings(max_examples=60)
def test_correlations_agree_with_scipy_and_are_bounded(pairs: list[tuple[int, int]]) -> None:
    x, y = (list(side) for side in zip(*pairs, strict=True))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    found = rank_correlation(x, y, rng(), 50)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.kendall == pytest.approx(stats.kendalltau(x, y).statistic)
    backwards = rank_correlation(x[::-1], y[::-1], rng(), 50)
    assert (backwards.spearman, backwards.kendall) == (pytest.approx(found.spearman), pytest.approx(found.kendall))


def test_drawn_correlations_are_those_of_the_units_repeated() -> None:
    x, y = rng(1).integers(0, 9, 12), rng(2).integers(0, 9, 12)
    times = rng(3).multinomial(12, np.full(12, 1 / 12), size=5)
    rho, tau = correlations_of_draws(x.astype(float), y.astype(float), times.T)
    for draw, repeated in enumerate(np.repeat(np.arange(12), row) for row in times):
        assert rho[draw] == pytest.approx(stats.spearmanr(x[repeated], y[repeated]).statistic)
        assert tau[draw] == pytest.approx(stats.kendalltau(x[repeated], y[repeated]).statistic)


def test_correlation_interval_agrees_with_scipy() -> None:
    x = rng(1).normal(size=40)
    y = x + rng(2).normal(size=40)

    def rho(left: np.ndarray, right: np.ndarray) -> float:
        return float(stats.spearmanr(left, right).statistic)

    other = stats.bootstrap(
        (x, y), rho, paired=True, vectorized=False, n_resamples=1000, method="percentile", rng=rng(3)
    )
    found = rank_correlation(x, y, rng(4), 4000)
    assert found.ci_spearman == pytest.approx(tuple(other.confidence_interval), abs=0.05)
    assert found.ci_kendall and found.ci_spearman and found.ci_kendall[1] < found.ci_spearman[1]


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ([1, 2], [1, 2], "A rank correlation needs at least three pairs."),
        ([1, 2, 3], [1, 2, np.nan], "A rank correlation needs at least three pairs."),
        ([1, 1, 1], [1, 2, 3], "All values of one side are the same."),
    ],
)
def test_correlation_that_is_undefined_says_why(x: list[float], y: list[float], why: str) -> None:
    found = rank_correlation(x, y, rng())
    assert (found.spearman, found.kendall, found.ci_spearman, found.why) == (None, None, None, why)


def test_correlation_of_three_pairs_has_no_interval() -> None:
    # One draw in nine takes the same pair three times, so that nothing varies.
    found = rank_correlation([1, 2, 3], [1, 3, 2], rng())
    assert (found.spearman, found.ci_spearman) == (pytest.approx(0.5), None)


def test_correlation_of_lists_of_unequal_length_is_refused() -> None:
    with pytest.raises(ValueError, match="not pairs"):
        rank_correlation([1, 2, 3], [1, 2], rng())


def test_accuracy_within_a_step() -> None:
    # Off by 0, 1, 2, 0 and unknown.
    found = accuracy_within([3, 2, 5, 1, np.nan], [3, 3, 3, 1, 2])
    assert (found.n, found.unknown, found.exact, found.near) == (5, 1, 0.4, 0.6)
    assert accuracy_within([3, 2, 5], [3, 3, 3], within=2).near == 1.0


def test_accuracy_has_wilsons_interval() -> None:
    found = accuracy_within([1] * 30 + [2] * 50 + [4] * 20, [1] * 100)
    assert (found.ci_exact, found.ci_near) == (share_interval(30, 100), share_interval(80, 100))


def test_accuracy_of_nothing_is_undefined() -> None:
    found = accuracy_within([], [])
    assert (found.exact, found.near, found.why) == (None, None, "There is nothing to count.")


def test_paired_difference_by_hand() -> None:
    # Three units, each lower by 1: only 2 of the 8 ways to choose signs are as far from 0.
    found = paired_difference([3, 2, 5], [2, 1, 4], rng(), 20_000)
    assert (found.n, found.effect) == (3, -1)
    assert (found.original, found.variant) == (pytest.approx(10 / 3), pytest.approx(7 / 3))
    assert found.p == pytest.approx(0.25, abs=0.012)
    assert (found.ci, found.ci_why) == (None, FEW_UNITS)


def test_paired_difference_agrees_with_scipy() -> None:
    before, after = rng(1).normal(size=12), rng(2).normal(0.5, 1, size=12)

    def mean_gap(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(y - x, axis=axis)

    test = stats.permutation_test(
        (before, after), mean_gap, permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    found = paired_difference(before, after, rng(4), 10_000)
    assert found.p == pytest.approx(test.pvalue, abs=0.015)
    assert found.ci == pytest.approx(tuple(stats.ttest_rel(after, before).confidence_interval()))


def test_units_without_both_scores_are_left_out() -> None:
    found = paired_difference([1, np.nan, 0], [1, 1, np.nan], rng(), 50)
    assert (found.n, found.effect, found.p) == (1, 0, 1)
    assert paired_difference([np.nan], [1], rng()).why == "There is nothing to count."


def test_percentiles_of_ten_seconds() -> None:
    middle, late = percentiles([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, np.nan])
    assert (middle.n, middle.share, middle.value) == (10, 0.5, 5.5)
    assert late.value == pytest.approx(9.55)


def test_percentile_intervals_hold_the_value_whatever_the_order() -> None:
    values = rng(1).exponential(size=101)
    for found in percentiles(values, (0.5, 0.9)):
        assert found.ci and found.value is not None
        assert found.ci == percentile_interval(np.sort(values), found.share)
        assert found.ci[0] <= found.value <= found.ci[1]


def test_percentiles_of_one_value_and_of_none() -> None:
    assert [(found.value, found.ci) for found in percentiles([2.5])] == [(2.5, None)] * 2
    assert [(found.n, found.value, found.ci) for found in percentiles([])] == [(0, None, None)] * 2
