"""Tests of hypotheses by hand: splits, bounds, Holm's steps, and what looks spend."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from scipy.stats import norm

from analysis.stats.hypotheses import tested
from analysis.stats.hypotheses.tested import Share, boundaries, compare_shares, level_at, passed, split_p
from analysis.stats.intervals import ALIKE, FEW_UNITS


def test_p_of_two_shares_counts_all_splits_that_differ_as_much() -> None:
    # 252 splits of ten answers, three of them hits, into five and five: all three are on one side in 2 · 21.
    assert split_p(3, 5, 0, 5) == pytest.approx(42 / 252)
    assert split_p(2, 5, 1, 5) == pytest.approx(1)


def test_shares_of_units_with_several_answers_are_told_apart_by_units() -> None:
    # Twenty units a side, each of which answers alike each time: forty answers say no more than twenty.
    units = np.repeat([1.0, 0.0], 10)
    several = compare_shares(
        Share(40, 80, (0.3, 0.7), units), Share(16, 80, (0.1, 0.4), np.repeat([1.0, 0.0], [4, 16]))
    )
    single = compare_shares(Share(10, 20, (0.3, 0.7)), Share(4, 20, (0.1, 0.4)))
    assert several.value == single.value == pytest.approx(0.3)
    assert several.p == pytest.approx(single.p, abs=0.05) and several.p > 0.04


def test_shares_of_units_that_all_answer_alike_are_told_apart_by_their_splits() -> None:
    """Everybody names it and no simulated user does, so no side has an error: of all splits only this one is as far."""
    everybody, nobody = Share(30, 30, (0.88, 1.0)), Share(0, 60, (0.0, 0.16), np.zeros(20))
    found = compare_shares(everybody, nobody)
    assert found.p == pytest.approx(1 / comb(50, 20))
    equal = compare_shares(replace(nobody, n=40), Share(40, 40, (0.84, 1.0), np.ones(20)))
    assert equal.p == pytest.approx(2 / comb(40, 20))
    assert compare_shares(nobody, Share(0, 30, (0.0, 0.12))).p == 1


def test_without_an_error_a_difference_has_no_p_and_says_why() -> None:
    found = tested.of_error(1.0, 0.0, 40, -1.0, 1.0)
    assert (found.ci, found.p, found.why) == (None, None, ALIKE)
    assert tested.of_error(1.0, 0.1, 4).why == FEW_UNITS


@pytest.mark.parametrize(
    ("ends", "passes"),
    [
        ((-0.04, 0.06), True),
        ((-0.11, 0.09), False),
        ((0.02, 0.099), True),
        ((0.099, 0.3), False),
        ((0.101, 0.3), True),
        ((-0.3, -0.101), True),
    ],
)
def test_p_of_bounds_is_at_most_five_percent_where_the_interval_lies_within_or_beyond(
    ends: tuple[float, float], passes: bool
) -> None:
    found = tested.Tested(sum(ends) / 2, ends, None)
    assert (found.p_of_bounds(0.1) <= 0.05) == passes


@pytest.mark.parametrize("ends", [(-0.1, 0.1), (0.1, 0.3), (-0.3, -0.1)])
def test_p_of_bounds_is_five_percent_where_the_interval_ends_at_one(ends: tuple[float, float]) -> None:
    assert tested.Tested(sum(ends) / 2, ends, None).p_of_bounds(0.1) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        ((1.0,), (1.960,)),
        ((0.5, 1.0), (2.963, 1.969)),
        ((0.2, 0.4, 0.6, 0.8, 1.0), (4.877, 3.357, 2.680, 2.290, 2.031)),
    ],
)
def test_looks_spend_alpha_as_published(times: tuple[float, ...], wanted: tuple[float, ...]) -> None:
    # Tables of the O'Brien and Fleming kind of spending function, two-sided 0.05 (Lan and DeMets 1983; Reboussin 2000).
    assert boundaries(times, 0.05) == pytest.approx(wanted, abs=0.01)


def test_three_looks_together_keep_alpha() -> None:
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(40_000, 3)).cumsum(axis=1) / np.sqrt([1, 2, 3])
    times = (1 / 3, 2 / 3, 1.0)
    p = 2 * norm.sf(np.abs(steps))
    said = (p <= [level_at(look, times, 0.05) for look in range(3)]).any(axis=1)
    assert said.mean() == pytest.approx(0.05, abs=0.004)


def test_holm_goes_on_as_long_as_each_step_passes() -> None:
    assert passed([0.03, 0.01, None, 0.04], float, 0.05) == [False, True, False, False]
    assert passed([0.02, 0.01, 0.04], float, 0.05) == [True, True, True]
    assert passed([0.02, 0.01, 0.04], lambda alpha: alpha / 10, 0.05) == [False, False, False]
