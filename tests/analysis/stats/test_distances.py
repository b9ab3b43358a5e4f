"""Distances between item distributions: by hand, against scipy, and by their properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats
from scipy.spatial.distance import jensenshannon

from analysis.report.parts.distances import distance_values
from analysis.stats.heterogeneity import (
    MeanExcess,
    compare,
    compare_redrawn,
    compare_sources,
    distance_at,
    mean_excess,
    measure_distance,
    p_farther,
)
from analysis.stats.intervals import ALIKE, FEW_UNITS
from analysis.stats.resampling import ItemSample, SharedDraws
from tests.analysis.stats import sample_factories
from tests.analysis.stats.sample_factories import (
    clustered,
    draw_items,
    item_samples,
    items_of,
    make_items,
    relabelled,
    reordered,
    rng,
)


def distance_of(a: list[int], b: list[int]) -> tuple[float, float]:
    jsd, tv = measure_distance(np.array(a), np.array(b))
    return float(jsd), float(tv)


def test_distances_by_hand() -> None:
    assert distance_of([3, 0], [0, 5]) == pytest.approx((1, 1))
    assert distance_of([1, 2], [10, 20]) == pytest.approx((0, 0), abs=1e-12)
    # p = (1/2, 1/2), q = (1, 0), m = (3/4, 1/4): H(m) - (1 + 0)/2 = 2 - 3/4 log2 3 - 1/2.
    assert distance_of([1, 1], [1, 0]) == pytest.approx((1.5 - 0.75 * np.log2(3), 0.5))


def test_distance_to_nothing_is_undefined() -> None:
    assert np.isnan(distance_of([1, 1], [0, 0])).all()


@given(item_samples, item_samples)
def test_distances_are_symmetric_bounded_and_agree_with_scipy(first: ItemSample, second: ItemSample) -> None:
    a, b = first.counts(), second.counts()
    if a.sum() and b.sum():
        jsd, tv = measure_distance(a, b)
        assert measure_distance(b, a) == pytest.approx((jsd, tv))
        assert 0 <= jsd <= 1 and 0 <= tv <= 1
        assert jsd == pytest.approx(jensenshannon(a, b, base=2) ** 2, abs=1e-7)
        assert jsd <= tv + 1e-12  # Lin 1991, theorem 3


@given(item_samples, item_samples)
@settings(max_examples=40)
def test_distances_know_neither_names_nor_order(a: ItemSample, b: ItemSample) -> None:
    found = compare(a, b, rng(), 50)
    order = np.arange(a.size)[::-1]
    turned = compare(relabelled(a, order), reordered(relabelled(b, order), np.arange(b.n)[::-1]), rng(), 50)
    assert (turned.jsd_bits, turned.tv) == pytest.approx((found.jsd_bits, found.tv))


def test_draws_in_single_precision_are_near_enough() -> None:
    dice = rng()
    a, b = dice.poisson(3, (50, 200)), dice.poisson(2, (50, 200))
    single = measure_distance(a.astype(np.float32), b.astype(np.float32))
    for fast, exact in zip(single, measure_distance(a, b), strict=True):
        assert fast == pytest.approx(exact, abs=2e-6)


def test_identical_samples_have_no_distance() -> None:
    sample = draw_items(rng(), 60)
    found = compare(sample, sample, rng(), 200)
    assert (found.jsd_bits, found.tv) == pytest.approx((0, 0), abs=1e-12)
    assert found.p == 1


def test_p_by_hand() -> None:
    # a a a against b b b: only 2 of the 20 halves of {a a a b b b} are as far apart, so p = 0.1.
    found = compare(make_items("a", "a", "a"), make_items("b", "b", "b"), rng(), 20_000)
    assert (found.jsd_bits, found.tv) == pytest.approx((1, 1))
    assert found.p == pytest.approx(0.1, abs=0.007)
    # In the other 18 the shares are 1/3 and 2/3: H(1/2) - H(1/3) = 1 - 0.918296 and 1/3.
    assert found.chance_jsd == pytest.approx(0.1 + 0.9 * 0.081704, abs=0.007)
    assert found.chance_tv == pytest.approx(0.1 + 0.9 / 3, abs=0.007)


def test_p_agrees_with_scipy() -> None:
    a, b = draw_items(rng(1), 10, size=6, named=2), draw_items(rng(2), 10, size=6, named=2, steepness=1.6)
    incidence = np.vstack([a.by_item.toarray().T, b.by_item.toarray().T])

    def divergence(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        return jensenshannon(incidence[first].sum(axis=-2), incidence[second].sum(axis=-2), base=2, axis=-1) ** 2

    data = np.arange(10), np.arange(10, 20)
    other = stats.permutation_test(
        data, divergence, vectorized=True, alternative="greater", n_resamples=20_000, rng=rng(3)
    )
    assert compare(a, b, rng(4), 20_000).p == pytest.approx(float(other.pvalue), abs=0.015)


def test_p_is_uniform_where_nothing_differs() -> None:
    p = np.array([compare(draw_items(rng(i), 30), draw_items(rng(1000 + i), 50), rng(i), 99).p for i in range(150)])
    assert (p <= 0.1).mean() == pytest.approx(0.1, abs=3.1 * 0.024)
    assert (p <= 0.5).mean() == pytest.approx(0.5, abs=3.1 * 0.041)


def test_distance_by_chance_is_that_of_one_source() -> None:
    one = [compare(draw_items(rng(i), 60), draw_items(rng(500 + i), 60), rng(i), 200) for i in range(30)]
    observed = np.mean([found.jsd_bits for found in one])
    assert np.mean([found.chance_jsd for found in one]) == pytest.approx(observed, rel=0.1)


def test_interval_lies_around_the_distance() -> None:
    found = compare(draw_items(rng(1), 100, size=60), draw_items(rng(2), 100, size=60, steepness=1.1), rng())
    assert found.jsd_bits is not None and found.ci_jsd
    assert found.ci_jsd[0] < found.jsd_bits < found.ci_jsd[1]
    # Redrawing adds distance.
    assert found.drawn_jsd.mean() > found.jsd_bits


def test_distance_of_few_responses_has_no_interval() -> None:
    found = compare(draw_items(rng(1), 100), draw_items(rng(2), 4), rng(), 50)
    assert (found.ci_jsd, found.ci_tv, found.ci_why) == (None, None, FEW_UNITS)


def test_each_distance_says_why_it_has_no_interval_of_its_own() -> None:
    # With A in every response of one and never in the other, half of all mentions differ, however B and C divide.
    found = compare(make_items(*("ab", "ac") * 10), make_items(*["bc"] * 20), rng(), 200)
    assert found.ci_jsd and (found.ci_tv, found.tv) == (None, 0.5)
    row = distance_values(found)
    assert "ci_why" not in row and row["ci_tv_why"] == ALIKE


def test_distance_to_a_source_without_items_says_why() -> None:
    for other in (make_items(), make_items("", "")):
        found = compare(make_items("a"), other, rng(), 50)
        assert (found.jsd_bits, found.tv, found.p, found.ci_jsd) == (None, None, None, None)
        assert found.why == "One of the two sources names no item."


# --- above chance, and which source is farther


def to_field(seed: int, sizes: list[int], steepness: list[float], field: int = 400) -> list[MeanExcess]:
    """Excess of sources of these sizes and steepnesses over a field of steepness 1, with shared draws of the field."""
    dice, shared = rng(seed), SharedDraws(seed, 200)
    people = draw_items(dice, field, size=60)
    drawn, found = shared.redraw(people, "field"), []
    for number, (n, steep) in enumerate(zip(sizes, steepness, strict=True)):
        source, name = draw_items(dice, n, size=60, steepness=steep), f"source {number}"
        distance = compare_redrawn(drawn, shared.redraw(source, name), shared.split(people, source, "field", name))
        found.append(mean_excess([distance]))
    return found


def surely_farther(near: MeanExcess, far: MeanExcess) -> bool:
    return (
        near.excess is not None and far.excess is not None and near.excess < far.excess and p_farther(near, far) < 0.05
    )


def test_a_small_sample_of_the_fields_kind_never_loses_to_a_large_one_of_another() -> None:
    """100 studies: by divergence alone the source with the most answers nearly always wins."""
    pairs = [to_field(seed, [40, 400], [1.0, 1.4]) for seed in range(100)]
    assert sum(right.jsd_bits > wrong.jsd_bits for right, wrong in pairs) >= 95  # type: ignore[operator]
    assert sum(surely_farther(wrong, right) for right, wrong in pairs) <= 5
    # Nor is it told apart by its own: the excess of 40 answers is too unsure for that, but right on average.
    assert np.mean([right.excess for right, _ in pairs]) == pytest.approx(0, abs=0.004)


def test_what_differs_enough_is_told_apart_at_unequal_sizes() -> None:
    pairs = [to_field(seed, [60, 400], [1.0, 2.5]) for seed in range(20)]
    assert sum(surely_farther(right, wrong) for right, wrong in pairs) >= 19


def test_two_sources_of_one_kind_are_not_told_apart() -> None:
    pairs = [to_field(seed, sizes, [1.3, 1.3]) for seed in range(60) for sizes in ([100, 100], [40, 300])]
    assert sum(surely_farther(*pair) or surely_farther(*reversed(pair)) for pair in pairs) <= 8  # 7 % of 120


def test_excess_is_the_populations_distance_and_its_interval_holds_it() -> None:
    truth = float(measure_distance(*(draw_items(rng(), 40_000, 60, s).counts() for s in (1.0, 1.8)))[0])
    found = [excess for seed in range(100) for excess in to_field(seed, [40, 300], [1.8, 1.8], field=200)]
    for of_size in (found[::2], found[1::2]):
        assert np.mean([one.excess for one in of_size]) == pytest.approx(truth, abs=0.006)
        assert sum(one.ci is not None and one.ci[0] <= truth <= one.ci[1] for one in of_size) >= 92


def test_excess_is_over_prompts_with_a_distance() -> None:
    near = compare(make_items("a", "a", "b"), make_items("a", "b", "b"), rng(), 400)
    far = compare(make_items("a", "a", "b"), make_items("c", "c", "d"), rng(), 400)
    undefined = compare(make_items("a"), make_items(""), rng(), 400)
    found = mean_excess([near, far, undefined])
    assert near.chance_jsd is not None and far.chance_jsd is not None and near.jsd_bits is not None and far.jsd_bits
    chance = (near.chance_jsd + far.chance_jsd) / 2
    assert (found.prompts, found.units, found.chance) == (2, 3, pytest.approx(chance))
    assert found.excess == pytest.approx((near.jsd_bits + far.jsd_bits) / 2 - chance)
    assert (found.ci, found.ci_jsd) == (None, None)  # of three units
    nothing = mean_excess([undefined])
    assert (nothing.excess, nothing.prompts, p_farther(nothing, found)) == (None, 0, 1.0)


def test_excess_of_a_user_with_many_answers_is_that_of_one_answer_each() -> None:
    """Ten users with twenty answers each, of the field's own kind: their distance is large, their excess is not."""
    found = []
    for seed in range(60):
        dice = rng(seed)
        people, users = draw_items(dice, 200, size=20), draw_items(dice, 10, size=20)
        rows = np.concatenate([users.rows + 10 * repeat for repeat in range(20)]).astype(np.int32)
        units = np.tile(np.arange(10), 20)
        found.append(
            mean_excess([compare(people, ItemSample(200, rows, np.tile(users.codes, 20), 20, units), dice, 200)])
        )
    assert np.mean([one.jsd_bits for one in found]) > 0.05  # type: ignore[type-var]
    assert np.mean([one.excess for one in found]) == pytest.approx(0, abs=0.01)  # type: ignore[type-var]


def test_interval_over_prompts_is_narrower_than_that_of_one() -> None:
    pairs = [(draw_items(rng(i), 50), draw_items(rng(90 + i), 50, steepness=2.0)) for i in range(9)]
    distances = [compare(a, b, rng(i), 500) for i, (a, b) in enumerate(pairs)]
    widths = [found.ci_jsd[1] - found.ci_jsd[0] for found in distances if found.ci_jsd]
    ci = mean_excess(distances).ci
    # The mean of nine independent ones varies a third as much.
    assert ci and ci[1] - ci[0] == pytest.approx(np.mean(widths) / 3, rel=0.2)


# --- all sources of a prompt at once: the same numbers as one by one ----------

SAMPLES = {
    "field": draw_items(rng(1), 90),
    "offline": draw_items(rng(2), 120, steepness=1.8),
    "sp-rag": draw_items(rng(3), 60, steepness=1.2),
}
PAIRS = [("field", "offline"), ("field", "sp-rag")]


def test_a_pair_is_rarefied_to_the_smaller_of_the_two() -> None:
    found = compare_sources(SAMPLES, PAIRS, SharedDraws(1, 300))
    assert {name: raw.n for name, raw in found.raw.items()} == {"field": 90, "offline": 120, "sp-rag": 60}
    assert {name: rarefied.n for name, rarefied in found.rarefied.items()} == {"field": 90, "offline": 90, "sp-rag": 60}
    assert {name: field.n for name, field in found.beside.items()} == {"offline": 90, "sp-rag": 60}
    assert found.beside["offline"].values == found.raw["field"].values
    assert found.rarefied["sp-rag"].values == found.raw["sp-rag"].values


def test_numbers_are_those_of_the_single_functions() -> None:
    found = compare_sources(SAMPLES, PAIRS, SharedDraws(1))
    single = sample_factories.compare(SAMPLES["field"], SAMPLES["offline"], rng())
    for name, tolerance in {"unique": 0.2, "top5_coverage": 0.01, "entropy_bits": 0.02}.items():
        difference = found.differences["field", "offline"][name]
        assert difference.effect == pytest.approx(single[name].effect, abs=tolerance)
        assert difference.ci == pytest.approx(single[name].ci, abs=tolerance)
        assert difference.p == pytest.approx(single[name].p, abs=0.02)
    distance = compare(SAMPLES["field"], SAMPLES["offline"], rng())
    other = found.distances["field", "offline"]
    assert (other.jsd_bits, other.tv) == pytest.approx((distance.jsd_bits, distance.tv))
    assert other.ci_jsd == pytest.approx(distance.ci_jsd, abs=0.01)
    assert other.chance_jsd == pytest.approx(distance.chance_jsd, abs=0.002)


def test_small_and_empty_sources_are_left_out_of_what_they_can_not_have() -> None:
    samples = {"field": make_items("ab", "b", "c"), "few": make_items("a"), "none": make_items()}
    found = compare_sources(samples, [("field", "few"), ("field", "none")], SharedDraws(1, 50))
    assert set(found.raw) == {"field", "few"}
    assert {name: rarefied.n for name, rarefied in found.rarefied.items()} == {"field": 3, "few": 1}
    assert {pair: difference["unique"].n for pair, difference in found.differences.items()} == {("field", "few"): 1}
    assert set(found.distances) == {("field", "few")}


def test_no_responses_at_all_give_an_empty_comparison() -> None:
    found = compare_sources({"field": make_items()}, [], SharedDraws(1, 50))
    assert (found.raw, found.rarefied, found.beside) == ({}, {}, {})


PAIR = ("field", "offline")


def test_distance_at_equal_n_by_hand() -> None:
    a, b = items_of([[0]] * 2, 2), items_of([[1]] * 2, 2)
    found = distance_at(a, b, 2, SharedDraws(1, 16_000), PAIR)
    # Two of a lie 1 bit from two of b. Of four answers, halves are alike (0 bits) in 4 of 6 splits, else 1 bit apart.
    assert found and found.jsd_bits == pytest.approx(1)
    assert found.chance == pytest.approx(1 / 3, abs=0.03)
    assert distance_at(a, b, 3, SharedDraws(1, 20), PAIR) is None


def test_distance_at_equal_n_is_that_of_chance_where_nothing_differs_and_grows_as_n_falls() -> None:
    a, b = (draw_items(rng(seed), 300) for seed in (1, 2))
    small, large = (distance_at(a, b, n, SharedDraws(1, 1600), PAIR) for n in (30, 150))
    assert small and large and small.jsd_bits > large.jsd_bits
    assert small.jsd_bits == pytest.approx(small.chance, abs=0.02)
    assert large.jsd_bits == pytest.approx(large.chance, abs=0.01)


def test_distance_at_equal_n_takes_one_answer_of_each_unit() -> None:
    many = clustered(draw_items(rng(), 200), 10)
    assert distance_at(draw_items(rng(3), 100), many, 11, SharedDraws(1, 80), PAIR) is None
    found = distance_at(draw_items(rng(3), 100), many, 10, SharedDraws(1, 80), PAIR)
    assert found and found.n == 10


def test_halves_of_two_samples_share_no_response() -> None:
    a, b = items_of([[0], [1], [2]], 6), items_of([[3], [4], [5]], 6)
    first, second = SharedDraws(1, 200).halves(a, b, 2, *PAIR)
    assert (first.sum(axis=1) == 2).all() and (second.sum(axis=1) == 2).all() and (first + second).max() == 1
    assert first.mean(axis=0) == pytest.approx([1 / 3] * 6, abs=0.2)  # 50 draws
