"""The tails of shares are those of permutations, and a family makes false claims no more often than it may."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from analysis.stats.choices import new_letters
from analysis.stats.simultaneous import (
    LEAST,
    LEVEL,
    STRENGTHS,
    Family,
    reach,
    share_gaps,
    share_width,
    strength_of,
    student_p,
)


def by_permutation(named: int, units: int, other: int, level: float) -> list[float]:
    """The chance that a random split reaches each strength, from the number on its first side."""
    x = np.arange(units + 1)
    chance = hypergeom.pmf(x, units + other, named, units)
    strength = np.abs(x / units - (named - x) / other) / share_width(named / (units + other), units, other, level)
    return [float(chance[strength >= least - 1e-9].sum()) for least in STRENGTHS]


@pytest.mark.parametrize(("counts", "units", "other"), [((300, 40), 400, 400), ((30, 11), 50, 400), ((9, 9), 12, 30)])
@pytest.mark.parametrize("level", [0.0, 0.75])
def test_the_tail_is_that_of_all_splits_of_the_units(
    counts: tuple[int, ...], units: int, other: int, level: float
) -> None:
    both = np.array(counts) / (units + other)
    found = share_gaps(both, units, both, other, level)
    expected = np.sum([by_permutation(count, units, other, level) for count in counts], axis=0)
    assert found.tail == pytest.approx(expected, abs=1e-12)
    assert not found.gaps.any()


def test_items_that_hardly_anybody_names_are_no_part_of_the_family() -> None:
    found = share_gaps([0.01, 0.5], 200, [0.0, 0.4], 200)
    assert found.strength[0] == 0 < found.strength[1]
    assert found.tail == pytest.approx(share_gaps([0.5], 200, [0.4], 200).tail)


def test_a_family_claims_something_in_at_most_so_many_studies() -> None:
    """600 studies of 45 shares each: 5 % are 30, and 46 is three standard errors above."""
    dice, claimed = np.random.default_rng(3), 0
    shares = np.tile([0.6, 0.4, 0.3, 0.2, 0.1], 9)
    for _ in range(600):
        mine, theirs = (dice.binomial(n, shares) / n for n in (400, 50))
        found = share_gaps(mine, 400, theirs, 50)
        claimed += Family(0, (found.tail,), 1.0).p(found.strength.max()) < 0.05
    assert 10 <= claimed <= 46


def test_p_and_the_critical_strength_say_the_same() -> None:
    family = Family(40, (share_gaps([0.5] * 9, 400, [0.5] * 9, 400).tail,), 0.4)
    assert family.p(family.critical - 0.01) > LEVEL > family.p(family.critical + 0.01)
    assert family.p(LEAST - 0.1) == 1.0
    alone = Family(1, (), 1.0)
    assert alone.p(2.5) == pytest.approx(0.0124, abs=2e-4)


def test_more_tests_make_the_same_difference_less_sure() -> None:
    p = [Family(count, (), 1.0).p(3.5) for count in (1, 10, 100)]
    assert p[1] == pytest.approx(10 * p[0]) and p[2] == pytest.approx(100 * p[0])


def test_an_interval_leaves_out_zero_where_its_test_is_sure() -> None:
    value, error, freedom = 1.0, 0.25, 12
    strength = strength_of(student_p(value, error, freedom))
    assert error * reach(strength - 0.01, freedom) < value < error * reach(strength + 0.01, freedom)


def test_new_letters_at_equal_n_are_those_of_draws() -> None:
    dice, one, other = np.random.default_rng(5), np.array([30, 8, 2, 0]), np.array([8, 0, 1, 1])
    found = new_letters(one, 40, other, 10, np.random.default_rng(1))
    draws = [
        (dice.multivariate_hypergeometric(one, 10), dice.multivariate_hypergeometric(other, 10)) for _ in range(4000)
    ]
    assert found.n == 10
    assert found.value == pytest.approx(np.mean([((a > 0) & (b == 0)).sum() for a, b in draws]), abs=0.05)
    both = [dice.multivariate_hypergeometric(one + other, 20) for _ in range(4000)]
    halves = [(dice.multivariate_hypergeometric(some, 10), some) for some in both]
    assert found.chance == pytest.approx(np.mean([((a > 0) & (some - a == 0)).sum() for a, some in halves]), abs=0.05)


def test_letters_that_all_give_are_new_to_nobody() -> None:
    found = new_letters(np.array([10, 10]), 20, np.array([20, 0]), 20, np.random.default_rng(1))
    assert (found.n, found.value) == (20, 1.0)
    assert new_letters(np.array([20, 0]), 20, np.array([20, 0]), 20, np.random.default_rng(1)).value == 0.0
