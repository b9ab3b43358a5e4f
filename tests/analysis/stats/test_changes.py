"""Paired shares before and after: values by pencil, and intervals that hold the truth."""

import numpy as np
import pytest

from analysis.stats.agreement.estimates import NOTHING, measure_change


def measured(before: list[float], after: list[float], units: list[int], seed: int = 0, draws: int = 400) -> dict:
    shares = np.array(before, float), np.array(after, float)
    return measure_change(*shares, np.array(units), (3 * len(before),) * 2, np.random.default_rng(seed), draws)


def test_change_is_the_mean_of_the_differences() -> None:
    found = measured([0, 1 / 3, 2 / 3, 1], [1, 1, 2 / 3, 2 / 3], [0, 1, 2, 2])
    # (0 + 1 + 2 + 3) / 12 before, (3 + 3 + 2 + 2) / 12 after.
    assert [found[name].value for name in ("before", "after", "change")] == pytest.approx([1 / 2, 5 / 6, 1 / 3])
    assert {(each.n, each.units) for each in found.values()} == {(4, 3)}
    low, high = found["change"].ci
    assert -1 <= low < 1 / 3 < high <= 1
    assert all(0 <= end <= 1 for name in ("before", "after") for end in found[name].ci)


def test_nothing_to_compare_says_why() -> None:
    found = measured([], [], [])
    assert {(each.value, each.why) for each in found.values()} == {(None, NOTHING)}


def test_change_that_is_the_same_everywhere_has_no_interval_and_shares_have() -> None:
    found = measured([0.0] * 12, [1.0] * 12, list(range(12)))
    assert found["change"].value == 1 and found["change"].ci is None and "same value" in found["change"].why
    assert found["before"].ci[0] == 0 < found["before"].ci[1] < found["after"].ci[0] < 1 == found["after"].ci[1]


@pytest.mark.parametrize("users", [5, 20, 60])
def test_intervals_of_a_change_hold_it_in_most_samples(users: int) -> None:
    """Users differ in how much revising helps: the mean change of all users is 0.3."""
    dice = np.random.default_rng(users)
    units = np.repeat(np.arange(users), 4)
    held = 0
    for sample in range(150):
        gain = 0.7 * dice.beta(3, 4, users)[units]
        before = dice.binomial(3, 0.3, len(units)) / 3
        after = dice.binomial(3, 0.3 + gain) / 3
        low, high = measured(before.tolist(), after.tolist(), units.tolist(), sample, 300)["change"].ci
        held += low <= 0.3 <= high
    assert 0.89 <= held / 150 <= 0.99
