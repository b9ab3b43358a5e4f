"""Statistics of ratings: values by pencil, other libraries' values, and what stays undefined."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import spearmanr

from analysis.stats.agreement.estimates import bootstrap
from analysis.stats.agreement.ratings import (
    LEFT,
    NAMED,
    NEITHER,
    NOT_NAMED,
    RIGHT,
    UNDECIDED,
    RatingRows,
    Statistic,
    correlate_ranks,
    gap_statistic,
    habit_statistic,
    join_orders,
    measure_orders,
    measure_side_bias,
    naming_statistic,
    rank_statistic,
    rating_statistic,
)

FIVE = np.arange(1.0, 6.0)


def codes(*values: int) -> np.ndarray:
    return np.array(values, np.intp)


def measure(statistic: Statistic) -> dict[str, list[float]]:
    """The value itself, without draws."""
    n = statistic.summary.shape[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = statistic.measure(statistic.summary.T @ np.ones((n, 1)))
    return {name: values[:, 0].tolist() for name, values in found.items()}


def test_mean_share_and_labels_of_each_group() -> None:
    # Group 0 has 1, 3, 5: mean 3, two of three at most 3. Group 1 has 4, 4.
    rated = RatingRows(codes(0, 1, 2, 0, 1), codes(0, 2, 4, 3, 3), codes(0, 0, 0, 1, 1))
    found = measure(rating_statistic(rated, FIVE, 3, 2))
    assert found["mean"] == pytest.approx([3, 4])
    assert found["no_better"] == pytest.approx([2 / 3, 0])
    assert found["shares"] == pytest.approx([1 / 3, 0, 1 / 3, 0, 1 / 3, 0, 0, 0, 1, 0])


def test_gap_is_named_minus_not_named_and_leaves_out_what_is_undecided() -> None:
    # Items 0 and 1 name it (4, 5), item 2 does not (2), item 3 is undecided (1): 4.5 - 2.
    rated = RatingRows(codes(0, 1, 2, 3), codes(3, 4, 1, 0), codes(0, 0, 0, 0))
    named = codes(NAMED, NAMED, NOT_NAMED, UNDECIDED)
    assert measure(gap_statistic(rated, named, FIVE, 4, 1))["gap"] == pytest.approx([2.5])


def test_gap_without_one_of_the_two_is_undefined() -> None:
    rated = RatingRows(codes(0, 1), codes(3, 4), codes(0, 0))
    assert np.isnan(measure(gap_statistic(rated, codes(NAMED, NAMED), FIVE, 2, 1))["gap"][0])


def test_naming_counts_decided_items_of_a_group() -> None:
    named = codes(NAMED, NOT_NAMED, NAMED, UNDECIDED, NAMED)
    assert measure(naming_statistic(codes(0, 0, 1, 1, -1), named, 2))["rate"] == pytest.approx([0.5, 1])


def test_ranks_are_those_of_another_library() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.integers(1, 6, 60).astype(float), rng.integers(1, 16, 60) / 3
    found = measure(rank_statistic(np.arange(60), one, other, 60))
    assert found["spearman"][0] == pytest.approx(spearmanr(one, other).statistic)


def test_ranks_of_a_constant_rater_are_undefined() -> None:
    found = measure(rank_statistic(codes(0, 1, 2), np.full(3, 4.0), np.array([1.0, 2, 3]), 3))
    assert np.isnan(found["spearman"][0])


def test_correlation_over_models_handles_ties_and_gaps() -> None:
    one, other = np.array([[1.0], [2.0], [2.0], [4.0]]), np.array([[1.0], [3.0], [2.0], [9.0]])
    assert correlate_ranks(one, other)[0, 0] == pytest.approx(spearmanr(one[:, 0], other[:, 0]).statistic)
    with np.errstate(invalid="ignore"):
        assert np.isnan(correlate_ranks(one * [[np.nan], [1], [1], [1]], other)[0, 0])


def test_habits_put_writers_beside_judges() -> None:
    # Writers name in 0, 1/2 and 1 of two items each; judges' gaps are -1, 0 and 2: the same order.
    named = codes(NOT_NAMED, NOT_NAMED, NAMED, NOT_NAMED, NAMED, NAMED)
    naming = naming_statistic(codes(0, 0, 1, 1, 2, 2), named, 3)
    rated = RatingRows(codes(0, 4, 0, 4, 0, 4), codes(3, 2, 3, 3, 1, 3), codes(0, 0, 1, 1, 2, 2))
    gaps = gap_statistic(rated, named, FIVE, 6, 3)
    assert measure(gaps)["gap"] == pytest.approx([-1, 0, 2])
    assert measure(habit_statistic(naming, gaps, codes(0, 1, 2), codes(0, 1, 2)))["spearman"] == pytest.approx([1])
    assert measure(habit_statistic(naming, gaps, codes(0, 1, 2), codes(2, 1, 0)))["spearman"] == pytest.approx([-1])


def test_interval_is_drawn_over_users_not_ratings() -> None:
    # Ten users each say one thing ten times: drawn over ratings the interval would be narrow, over users it is not.
    rated = RatingRows(np.arange(100), np.repeat(codes(*[1, 3] * 5), 10), np.zeros(100, np.intp))
    statistic = rating_statistic(rated, FIVE, 100, 1)
    users = csr_array(np.repeat(np.eye(10), 10, axis=1))
    by_user = bootstrap([statistic], users, np.random.default_rng(1), 400)[0]["mean"]
    by_rating = bootstrap([statistic], csr_array(np.eye(100)), np.random.default_rng(1), 400)[0]["mean"]
    assert by_user.low[0] < 2.5 and by_user.high[0] > 3.5
    assert 2.7 < by_rating.low[0] < 3 < by_rating.high[0] < 3.3


def test_side_bias_leaves_out_those_who_prefer_neither():
    sides = np.array([LEFT, LEFT, LEFT, RIGHT, NEITHER, LEFT, RIGHT, NEITHER], dtype=np.int8)
    bias = measure_side_bias(sides, np.array([0, 0, 0, 0, 0, 1, 1, 2], dtype=np.int32), 3)
    assert (bias.share.value, bias.share.n, bias.neither) == (4 / 6, 6, 2)
    assert [(each.value, each.n) for each in bias.raters] == [(0.75, 4), (0.5, 2), (None, 0)]
    assert bias.raters[2].why == "no side was preferred"


def test_side_bias_of_a_rater_has_wilsons_interval_and_that_of_all_is_over_raters():
    # 5 of 10: centre 0.5, half 1.96 √(0.025 + 0.0096037) / 1.38415 = 0.2634
    bias = measure_side_bias(np.array([LEFT, RIGHT] * 5, dtype=np.int8), np.zeros(10, dtype=np.int32), 1)
    assert bias.raters[0].ci == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert (bias.share.ci, bias.share.why) == (None, "no interval: made of 1 independent unit only")
    # Twelve raters who always take one side are twelve cases, not 240.
    sides, raters = np.repeat(np.array([LEFT, RIGHT] * 6, dtype=np.int8), 20), np.repeat(np.arange(12), 20)
    low, high = measure_side_bias(sides, raters, 12).share.ci
    assert low < 0.3 and high > 0.7


@pytest.mark.parametrize(
    ("one", "other", "joined"), [(4, 4, 4), (4, 3, 3), (0, 1, 1), (0, 4, 2), (1, 2, 2), (3, 2, 2), (4, 2, 3)]
)
def test_two_orders_join_to_their_mean_halves_towards_the_middle(one: int, other: int, joined: int) -> None:
    assert join_orders(one, other, 5) == join_orders(other, one, 5) == joined
    assert join_orders(4 - one, 4 - other, 5) == 4 - joined


def test_orders_are_shares_over_what_was_asked_twice() -> None:
    found = measure_orders(["consistent", "left", "left", "mixed"], np.arange(4))
    assert {name: each.value for name, each in found.items()} == {
        **{"consistent": 0.25, "left": 0.5, "right": 0, "mixed": 0.25}
    }
    assert found["right"].ci[1] > 0.4


def test_low_means_are_over_items_not_ratings() -> None:
    # Item 0 has 2, 5 and 5 (mean 4), item 1 has 3 and 3, item 2 has 1 and 5 (mean 3, no better).
    rated = RatingRows(codes(0, 0, 0, 1, 1, 2, 2), codes(1, 4, 4, 2, 2, 0, 4), np.zeros(7, np.intp))
    found = measure(rating_statistic(rated, FIVE, 3, 1))
    assert (found["low_means"][0], found["no_better"][0]) == (pytest.approx(2 / 3), pytest.approx(4 / 7))
