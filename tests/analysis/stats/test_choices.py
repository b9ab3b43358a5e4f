"""Choices: counts, shares and comparison, by hand, against scipy, and by their properties."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats.choices import compare, describe, new_letters
from analysis.stats.intervals import ALIKE, FEW_UNITS, ONE_UNIT, share_interval
from analysis.stats.resampling import ChoiceSample
from tests.analysis.stats.sample_factories import rng


def make_choices(letters: str, correct: str | None = "A", options: int = 4) -> ChoiceSample:
    """One response per letter; "?" is an answer without a letter."""
    codes = np.array(["?ABCDEFGH".index(letter) - 1 for letter in letters], dtype=np.int8)
    return ChoiceSample(codes, options, None if correct is None else ord(correct) - ord("A"))


choice_samples = st.text("?ABC", min_size=1, max_size=30).map(lambda letters: make_choices(letters, options=3))


def test_shares_of_four_responses() -> None:
    found = describe(make_choices("AAB?"))
    assert (found.n, found.counts, found.unknown, found.correct) == (4, (2, 1, 0, 0), 1, 0)
    assert found.shares == (0.5, 0.25, 0, 0)
    assert (found.unknown_share, found.correct_share) == (0.25, 0.5)
    # If the unknown one were right, three of four would be.
    assert found.bounds == (0.5, 0.75)
    # 2 and 1 of 3 known: log2 3 - 2/3.
    assert found.entropy == pytest.approx(log2(3) - 2 / 3)
    assert found.why is None


def test_shares_have_wilsons_intervals() -> None:
    found = describe(make_choices("A" * 70 + "B" * 20 + "?" * 10))
    for count, ci in zip((70, 20, 0, 0, 10), (*found.share_ci, found.unknown_ci), strict=True):
        assert ci == share_interval(count, 100)
    assert found.ci == found.share_ci[0]
    assert found.entropy_ci and found.entropy
    assert found.entropy_ci[0] < found.entropy < found.entropy_ci[1]


def test_prompt_without_a_key_has_no_correct_share() -> None:
    found = describe(make_choices("AB", correct=None))
    assert (found.correct, found.correct_share, found.ci, found.bounds) == (None, None, None, None)


def test_unknown_answers_alone_have_no_entropy() -> None:
    found = describe(make_choices("??"))
    assert (found.correct_share, found.bounds, found.unknown_share) == (0, (0, 1), 1)
    assert (found.entropy, found.entropy_ci) == (None, None)
    assert found.why == "No response names an option."


def test_no_responses_have_no_shares() -> None:
    found = describe(make_choices(""))
    assert (found.shares, found.correct_share, found.ci) == ((None,) * 4, None, None)
    assert (found.share_ci, found.entropy_ci, found.why) == ((None,) * 4, None, "There are no responses.")


def test_no_share_has_an_interval_of_no_width() -> None:
    for letters in ("A" * 40, "B" * 40, "AB"):
        found = describe(make_choices(letters))
        assert all(ci is not None and ci[1] - ci[0] > 0.05 for ci in (*found.share_ci, found.unknown_ci))
    alike = describe(make_choices("A" * 40))
    assert (alike.entropy, alike.entropy_ci, alike.entropy_ci_why) == (0, None, ALIKE)
    alone = describe(make_choices("A"))
    assert (alone.ci, set(alone.share_ci), alone.ci_why) == (None, {None}, ONE_UNIT)


@given(choice_samples)
def test_shares_add_up_and_know_no_order(sample: ChoiceSample) -> None:
    found = describe(sample)
    assert sum(found.counts) + found.unknown == found.n
    assert found.unknown_share is not None
    assert sum(share or 0 for share in found.shares) + found.unknown_share == pytest.approx(1)
    turned = describe(ChoiceSample(sample.codes[::-1], 3, 0))
    assert (turned.counts, turned.share_ci, turned.bounds) == (found.counts, found.share_ci, found.bounds)
    assert turned.entropy_ci == pytest.approx(found.entropy_ci)


def test_difference_by_hand() -> None:
    # {A A B B} is halved in 6 ways, 2 of them as far apart as AA against BB.
    found = compare(make_choices("AA"), make_choices("BB"), rng(), 20_000)
    assert (found.effect, found.tv.effect) == (1, 1)
    assert (found.p, found.tv.p) == pytest.approx((1 / 3, 1 / 3), abs=0.012)
    # Newcombe's, from Wilson's 0.34 to 1 and 0 to 0.66: it has a width. Two responses a side say nothing of the rest.
    assert found.ci == pytest.approx((1 - (2 * 0.65762**2) ** 0.5, 1), abs=1e-4)
    assert (found.tv.ci, found.tv.ci_why) == (None, FEW_UNITS)


def test_unknown_is_an_option_of_the_total_variation_and_wrong() -> None:
    found = compare(make_choices("AB??"), make_choices("ABBB"), rng(), 100)
    assert (found.effect, found.tv.effect) == (0, 0.5)


def test_p_of_the_correct_share_agrees_with_scipy() -> None:
    a, b = make_choices("A" * 30 + "B" * 20), make_choices("A" * 18 + "B" * 15 + "C" * 7)
    # The hypergeometric test of 30 of 50 against 18 of 40, two-sided by the size of the difference.
    first = np.arange(8, 49)
    chance = stats.hypergeom.pmf(first, 90, 48, 50)
    exact = chance[np.abs(first / 50 - (48 - first) / 40) >= 30 / 50 - 18 / 40 - 1e-9].sum()
    assert compare(a, b, rng(), 20_000).p == pytest.approx(exact, abs=0.012)


@given(choice_samples, choice_samples)
def test_differences_are_bounded_and_turn_round(a: ChoiceSample, b: ChoiceSample) -> None:
    there, back = compare(a, b, rng(), 50), compare(b, a, rng(), 50)
    assert there.effect is not None and there.tv.effect is not None
    assert back.effect == pytest.approx(-there.effect)
    assert back.tv.effect == pytest.approx(there.tv.effect)
    assert abs(there.effect) <= there.tv.effect + 1e-12 <= 1 + 1e-12


def test_identical_samples_do_not_differ() -> None:
    found = compare(make_choices("AAB?"), make_choices("AAB?"), rng(), 200)
    assert (found.effect, found.tv.effect, found.p, found.tv.p) == (0, 0, 1, 1)


def test_p_is_uniform_where_nothing_differs() -> None:
    letters = np.array(list("ABCD?"))
    drawn = [["".join(rng(i).choice(letters, (2, 60))[k]) for k in (0, 1)] for i in range(200)]
    p = np.array([compare(make_choices(a), make_choices(b), rng(i), 99).tv.p for i, (a, b) in enumerate(drawn)])
    # Standard errors over 200: 0.021 and 0.035.
    assert (p <= 0.1).mean() == pytest.approx(0.1, abs=3.1 * 0.021)
    assert (p <= 0.5).mean() == pytest.approx(0.5, abs=3.1 * 0.035)


def test_difference_to_no_responses_is_undefined() -> None:
    found = compare(make_choices("A"), make_choices(""), rng())
    assert (found.effect, found.tv.effect, found.p, found.why) == (None, None, None, "There are no responses.")


def test_without_a_key_only_the_options_are_compared() -> None:
    found = compare(make_choices("AA", None), make_choices("BB", None), rng(), 50)
    assert (found.effect, found.ci, found.p, found.tv.effect) == (None, None, None, 1)


def test_different_keys_are_not_compared() -> None:
    with pytest.raises(ValueError, match="same options"):
        compare(make_choices("A", "A"), make_choices("A", "B"), rng())


def test_entropies_differ_where_one_side_is_more_varied_and_not_where_sizes_do() -> None:
    dice = rng(5)
    held, found, far = 0, 0, 0
    for _ in range(60):
        few, many = (ChoiceSample(dice.choice(4, n, p=(0.6, 0.2, 0.1, 0.1)).astype(np.int8), 4, 0) for n in (25, 120))
        bits = compare(few, many, dice, 200).bits
        assert bits is not None and bits.ci is not None and bits.p is not None
        held += bits.ci[0] <= 0 <= bits.ci[1]
        found += bits.p < 0.05
        even = ChoiceSample(dice.integers(0, 4, 120).astype(np.int8), 4, 0)
        other = compare(even, many, dice, 200).bits
        far += other is not None and other.p is not None and other.p < 0.05
    assert held >= 53 and found <= 7 and far >= 50
    bits = compare(make_choices("ABCD"), make_choices("AAAA"), dice).bits
    assert bits is not None and (bits.effect, bits.p, bits.ci_why) == (None, None, FEW_UNITS)


def test_entropies_are_not_told_apart_because_letters_differ() -> None:
    """Splits of both together are more varied than either side, so that alone they would nearly always differ."""
    a, b = (make_choices("A" * ones + "B" * (50 - ones)) for ones in (15, 32))
    found = compare(a, b, rng(1), draws=400)
    assert found.tv.p is not None and found.tv.p < 0.01
    assert found.bits.ci is not None and found.bits.ci[0] < 0 < found.bits.ci[1]
    assert found.bits.p is not None and found.bits.p > 0.05 and found.bits.p_tail == found.bits.p


def test_letters_that_one_side_alone_gives_stand_beside_what_chance_gives() -> None:
    dice = rng(6)
    same = np.array([30, 8, 2])
    alike = new_letters(same, 40, same, 40, dice)
    assert alike.expected[0] <= alike.chance <= alike.expected[1] <= 2
    apart = new_letters(np.array([10, 15, 15]), 40, np.array([40, 0, 0]), 40, dice)
    assert apart.value == 2 > apart.expected[1]
