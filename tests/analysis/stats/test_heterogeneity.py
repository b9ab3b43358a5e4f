"""Heterogeneity of samples: values, intervals, rarefaction and comparison."""

from math import comb, log2

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from analysis.stats.heterogeneity import MEASURES, describe, differences, measure, permutation_test, rarefied_measures
from analysis.stats.intervals import ALIKE, FEW_UNITS
from analysis.stats.resampling import ItemSample, split
from tests.analysis.stats.sample_factories import (
    compare,
    draw_items,
    item_samples,
    items_of,
    make_items,
    rarefy,
    relabelled,
    reordered,
    rng,
)

THREE = ("unique", "top5_coverage", "entropy_bits")


def test_values_of_five_responses() -> None:
    # a 3, b 2, c 1, d 1 of 7 mentions: entropy log2 7 - (3 log2 3 + 2)/7.
    found = describe(make_items("ab", "ab", "ac", "d", ""))
    assert (found.n, found.unknown, found.why) == (5, 1, None)
    bits = log2(7) - (3 * log2(3) + 2) / 7
    assert [found.values[name] for name in THREE] == pytest.approx([4, 1.0, bits])


def test_interval_leaves_out_each_response() -> None:
    # Without one of the five that name a, a 4 and b 1: H(1/5); without the one that names b, 0 bits.
    found = describe(make_items("a", "a", "a", "a", "a", "b"))
    one = log2(5) - 4 / 5 * log2(4)
    left_out = [one] * 5 + [0.0]
    error = (5 / 6 * sum((value - np.mean(left_out)) ** 2 for value in left_out)) ** 0.5
    assert found.error["entropy_bits"] == pytest.approx(error)
    value, half = found.values["entropy_bits"], stats.t.ppf(0.975, 5) * error
    assert value is not None
    assert found.ci["entropy_bits"] == pytest.approx((max(value - half, 0), value + half))


def test_error_agrees_with_scipys_delta_method() -> None:
    """With one item per response, the entropy's variance is that of -log2 p over responses, divided by n."""
    sample = items_of([[code] for code in rng().choice(6, 4000, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])], 6)
    share = sample.counts() / 4000
    spread = (share * np.log2(share) ** 2).sum() - (share * np.log2(share)).sum() ** 2
    assert describe(sample).error["entropy_bits"] == pytest.approx((spread / 4000) ** 0.5, rel=0.01)


def test_few_responses_have_no_interval_and_say_why() -> None:
    found = describe(make_items("a", "b", "c", "ad"))
    assert set(found.ci.values()) == {None}
    assert set(found.ci_why.values()) == {FEW_UNITS} and found.ci_why.keys() == set(MEASURES)


def test_responses_that_are_all_alike_have_no_interval_of_no_width() -> None:
    for sample in (make_items(*["abc"] * 30), items_of([[code] for code in range(30)], 30)):
        found = describe(sample)
        assert set(found.ci.values()) == {None}
        assert found.ci_why == dict.fromkeys(MEASURES, ALIKE)


@given(item_samples)
@settings(max_examples=60)
def test_an_interval_holds_its_own_value_and_has_a_width(sample: ItemSample) -> None:
    found = describe(sample)
    for name, ci in found.ci.items():
        value = found.values[name]
        assert ci is None or (value is not None and ci[0] <= value <= ci[1] and ci[0] < ci[1])
        assert (name in found.ci_why) == (ci is None and value is not None)


def test_responses_without_items_have_no_shares() -> None:
    found = describe(make_items("", ""))
    assert [found.values[name] for name in THREE] == [0, None, None] and found.ci == dict.fromkeys(MEASURES)
    assert found.why == "No response names an item."


@given(item_samples)
@settings(max_examples=40)
def test_describing_knows_neither_names_nor_order(sample: ItemSample) -> None:
    turned = relabelled(sample, np.arange(sample.size)[::-1])
    assert describe(turned).values == pytest.approx(describe(sample).values)
    backwards = reordered(sample, np.arange(sample.n)[::-1])
    assert describe(backwards).values == pytest.approx(describe(sample).values)


def test_rarefied_number_of_items_agrees_with_the_closed_form() -> None:
    sample = draw_items(rng(), 120, size=60, named=5)
    found = rarefy(sample, 30, rng(2))
    assert found.n == 30
    closed_form = rarefied_measures(sample.counts(), 120, 30)["unique"]
    assert found.values["unique"] == pytest.approx(float(closed_form), abs=0.2)


@given(item_samples)
@settings(max_examples=40)
def test_rarefied_samples_name_no_more_items(sample: ItemSample) -> None:
    raw = describe(sample).values["unique"]
    rarefied = rarefy(sample, max(1, sample.n // 2), rng(), 50).values["unique"]
    assert raw is not None and rarefied is not None and rarefied <= raw


def test_rarefied_to_all_is_the_value_itself() -> None:
    sample = draw_items(rng(), 50)
    raw, rarefied = describe(sample), rarefy(sample, 50, rng())
    assert rarefied.values == raw.values
    assert rarefied == raw


def test_rarefied_interval_covers_what_a_sample_of_that_size_has() -> None:
    population = {"size": 40, "steepness": 1.0, "named": 5}
    expected = np.mean([measure(draw_items(rng(9 + i), 50, **population).counts())["entropy_bits"] for i in range(300)])
    intervals = [rarefy(draw_items(rng(i), 100, **population), 50, rng(i), 200).ci["entropy_bits"] for i in range(100)]
    covered = sum(found is not None and found[0] <= expected <= found[1] for found in intervals)
    # With 95 of 100 expected, fewer than 87 occur once in a thousand.
    assert covered >= 87


def test_difference_by_hand() -> None:
    # a a a against b c d. Of the 20 ways to halve {a a a b c d}, 2 leave the three a together, and then one part names
    # one item and the other three, as observed; else they name two and three. So p = 2/20.
    found = compare(make_items("a", "a", "a"), make_items("b", "c", "d"), rng(), draws=20_000)["unique"]
    assert (found.n, found.effect) == (3, -2)
    assert found.p == pytest.approx(0.1, abs=0.007)


def test_difference_agrees_with_scipy() -> None:
    a, b = draw_items(rng(1), 9, size=8, named=2), draw_items(rng(2), 9, size=8, named=2, steepness=2)
    incidence = np.vstack([a.by_item.toarray().T, b.by_item.toarray().T])

    def gap(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        parts = (stats.entropy(incidence[rows].sum(axis=-2), base=2, axis=-1) for rows in (first, second))
        return np.subtract(*parts)

    data = np.arange(9), np.arange(9, 18)
    other = stats.permutation_test(data, gap, vectorized=True, n_resamples=20_000, rng=rng(3))
    found, (p, _) = (
        compare(a, b, rng(4), 100)["entropy_bits"],
        permutation_test(split(a, b, 20_000, rng(4)), 9)["entropy_bits"],
    )
    assert found.effect == pytest.approx(float(other.statistic))
    assert p == pytest.approx(float(other.pvalue), abs=0.015)


def test_difference_of_identical_samples_is_none() -> None:
    sample = draw_items(rng(), 60)
    for found in compare(sample, sample, rng(), 200).values():
        assert (found.effect, found.p) == (0, 1)


def test_difference_is_seen_and_has_its_interval_around_it() -> None:
    found = compare(draw_items(rng(1), 100), draw_items(rng(2), 100, steepness=2.0), rng())
    for name, sign in {"unique": 1, "top5_coverage": -1, "entropy_bits": 1}.items():
        effect, ci = found[name].effect, found[name].ci
        assert effect is not None and ci is not None
        assert effect * sign > 0
        assert ci[0] < effect < ci[1] and min(ci[0] * sign, ci[1] * sign) > 0
        p = found[name].p
        assert p is not None and 1 / 2001 <= p < 0.005  # the larger of that by 2,000 splits and Student's


def test_differences_turn_round_with_the_samples() -> None:
    a, b = draw_items(rng(1), 40), draw_items(rng(2), 40, steepness=1.3)
    there, back = compare(a, b, rng(), 500), compare(b, a, rng(), 500)
    for name in MEASURES:
        assert there[name].effect == pytest.approx(-(back[name].effect or 0))
        assert there[name].p == pytest.approx(back[name].p or 0, abs=0.08)


@pytest.mark.parametrize(("n_a", "n_b"), [(40, 40), (30, 60)])
def test_p_is_uniform_where_nothing_differs(n_a: int, n_b: int) -> None:
    samples = [(draw_items(rng(i), n_a, 200), draw_items(rng(1000 + i), n_b, 200)) for i in range(150)]
    found = [compare(a, b, rng(i), 99) for i, (a, b) in enumerate(samples)]
    for name in MEASURES:
        p = np.array([differences[name].p for differences in found])
        # Standard error of a share of 0.1 over 150: 0.024; of 0.5: 0.041. `unique` has ties, which make p larger.
        assert (p <= 0.1).mean() < 0.1 + 3.1 * 0.024
        assert (p <= 0.5).mean() < 0.5 + 3.1 * 0.041
        assert (p <= 0.5).mean() > 0.5 - 4 * 0.041


def test_samples_of_different_size_are_compared_at_the_smaller_one() -> None:
    a, b = draw_items(rng(1), 200, size=80), draw_items(rng(2), 50, size=80)
    found = compare(a, b, rng())
    rarefied = rarefy(a, 50, rng(3)).values["unique"]
    assert rarefied is not None
    assert found["unique"].n == 50
    assert found["unique"].effect == pytest.approx(rarefied - measure(b.counts())["unique"], abs=0.3)
    assert compare(a, b, rng(), 100, n=20)["unique"].n == 20


def items_expected(named: int, single: int, n: int) -> float:
    """Items among a random 5 of n responses: `named` of them name one item, `single` name one of their own each."""
    return 1 - comb(n - named, 5) / comb(n, 5) + single * 5 / n


def test_p_of_unequal_samples_is_exact() -> None:
    # Six responses with an item of their own each, against 34: ten name a, the others one of their own each. A
    # split is described by k, how many of the ten are among its first six; over splits, k is hypergeometric.
    singles = [[code] for code in range(1, 31)]
    a, b = items_of(singles[:6], 31), items_of([[0]] * 10 + singles[6:], 31)
    k = np.arange(7)
    chance = stats.hypergeom.pmf(k, 40, 10, 6)
    gaps = {
        "unique": np.array([items_expected(i, 6 - i, 6) - items_expected(10 - i, 24 + i, 34) for i in range(7)]),
        "top5_coverage": np.array([5, 5, 6, 6, 6, 6, 6]) / 6 - (10 - k + 4) / 34,
    }
    found = permutation_test(split(a, b, 20_000, rng()), 5)
    for name, gap in gaps.items():
        off = np.abs(gap - (gap * chance).sum())
        assert found[name][0] == pytest.approx(chance[off >= off[0] - 1e-9].sum(), abs=0.012)


def test_interval_of_a_difference_turns_round_with_it() -> None:
    a, b = (rarefy(draw_items(rng(i), 30, steepness=i), 20, rng(i)) for i in (1, 2))
    there, back = (
        differences(*pair, dict.fromkeys(MEASURES, (None, None)))["entropy_bits"] for pair in ((a, b), (b, a))
    )
    assert there.ci and back.ci
    assert there.ci == pytest.approx((-back.ci[1], -back.ci[0]))


def test_differences_to_nothing_are_undefined() -> None:
    found = compare(make_items("a", "b"), make_items("", ""), rng(), 100)
    assert found["unique"].effect == 2
    assert (found["entropy_bits"].effect, found["entropy_bits"].p) == (None, None)


def test_equally_varied_lists_are_not_told_apart_because_their_items_differ() -> None:
    a, b = (make_items(*"a" * ones, *"b" * (50 - ones)) for ones in (15, 32))
    found = compare(a, b, rng(1), draws=400)["entropy_bits"]
    assert found.ci is not None and found.ci[0] < 0 < found.ci[1]
    assert found.p is not None and found.p > 0.05 and found.p_tail == found.p
