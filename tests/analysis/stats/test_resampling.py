"""Draws and p-values: by hand, against other libraries, and by their properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from statsmodels.stats.multitest import multipletests

from analysis.stats import heterogeneity, resampling, speed
from analysis.stats.intervals import holm, p_value
from analysis.stats.item_measures import entropy
from analysis.stats.resampling import (
    ItemSample,
    SharedDraws,
    bootstrap_weights,
    generator,
    redraw,
    split,
    subset_counts,
    weigh,
)
from analysis.stats.speed import subset_weights
from tests.analysis.stats.sample_factories import draw_items, make_items


def test_generator_depends_on_seed_and_names() -> None:
    numbers = [generator(*names).random() for names in [(1, "a", 2), (1, "a", 2), (2, "a", 2), (1, "a", 3), (1, "a2")]]
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 4


def test_p_counts_draws_at_least_as_large() -> None:
    # 3, the equal 2 and the undefined one are hits: (1 + 3) / (1 + 5).
    assert p_value(2.0, np.array([1.0, 2.0, 3.0, 0.5, np.nan])) == pytest.approx(4 / 6)
    assert p_value(9.0, np.array([1.0, 2.0])) == pytest.approx(1 / 3)
    assert p_value(float("nan"), np.array([1.0])) is None


def test_holm_multiplies_the_smallest_most() -> None:
    # Sorted 0.01, 0.03, 0.04: times 3, 2, 1 = 0.03, 0.06, 0.04; none below the one before it.
    assert holm([0.01, 0.04, None, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), None, pytest.approx(0.06)]
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([None]) == [None]


@pytest.mark.parametrize("number", [1, 2, 9, 30])
def test_holm_agrees_with_statsmodels(number: int) -> None:
    p_values = np.random.default_rng(number).random(number).round(2) ** 3
    assert holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_keeps_the_order_and_lowers_nothing(p_values: list[float]) -> None:
    adjusted = [p for p in holm(p_values) if p is not None]
    assert all(p <= higher <= 1 for p, higher in zip(p_values, adjusted, strict=True))
    assert [p for _, p in sorted(zip(p_values, adjusted, strict=True))] == sorted(adjusted)
    assert min(adjusted) == pytest.approx(min(1.0, len(p_values) * min(p_values)))


@given(n=st.integers(1, 40), size=st.integers(1, 60), seed=st.integers(0, 99))
@settings(max_examples=50)
def test_bootstrap_weights_are_draws_with_replacement(n: int, size: int, seed: int) -> None:
    weights = bootstrap_weights(n, 7, np.random.default_rng(seed), size)
    assert weights.shape == (n, 7)
    assert (weights >= 0).all()
    assert (weights.sum(axis=0) == size).all()


@given(n=st.integers(1, 60), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=50)
def test_subset_weights_choose_each_response_at_most_once(n: int, seed: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, n))
    weights = subset_weights(n, size, 7, np.random.default_rng(seed))
    assert set(np.unique(weights)) <= {0.0, 1.0}
    assert (weights.sum(axis=0) == size).all()


@given(n=st.integers(1, 60), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=50)
def test_subset_weights_are_selection_sampling_word_for_word(n: int, seed: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, n))
    chance = np.random.default_rng(seed).random((n, 4), dtype=np.float32)
    expected, wanted = np.zeros((n, 4)), np.full(4, size)
    for row in range(n):
        expected[row] = chance[row] * np.float32(n - row) < wanted
        wanted = wanted - expected[row]
    assert subset_weights(n, size, 4, np.random.default_rng(seed)).tolist() == expected.tolist()


def test_weighed_counts_are_exact_where_sixteen_bits_do_not_hold_them() -> None:
    named = sparse.csr_array(np.array([[3, 0], [1, 2]], dtype=np.float32))
    few, many = np.array([[1, 2], [2, 0]], dtype=np.uint8), np.full((20_000, 1), 1, dtype=np.uint8)
    assert weigh(named, few).tolist() == [[3, 6], [5, 2]]
    assert weigh(sparse.csr_array(np.full((1, 20_000), 2, dtype=np.float32)), many).tolist() == [[40_000]]


def test_every_response_is_drawn_as_often_as_any_other() -> None:
    rng = np.random.default_rng(5)
    drawn = bootstrap_weights(10, 20_000, rng)
    # Binomial(10, 1/10): mean 1, variance 0.9; the mean of 20,000 has a standard error of 0.0067.
    assert drawn.mean(axis=1) == pytest.approx(np.ones(10), abs=0.03)
    assert drawn.var(axis=1) == pytest.approx(np.full(10, 0.9), abs=0.05)
    chosen = subset_weights(10, 3, 20_000, rng)
    assert chosen.mean(axis=1) == pytest.approx(np.full(10, 0.3), abs=0.015)
    # Two given responses are both among 3 of 10 with 3/10 x 2/9 = 1/15.
    assert (chosen[0] * chosen[9]).mean() == pytest.approx(1 / 15, abs=0.008)


def test_counts_of_draws_come_in_batches_that_fit_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "BATCH_CELLS", 64)
    monkeypatch.setattr(resampling, "CACHED_CELLS", 32)
    sample = draw_items(np.random.default_rng(1), 8, size=9, named=3)
    counts = redraw(sample, 50, np.random.default_rng(2)).counts
    assert counts.shape == (50, 9)
    assert (counts.sum(axis=1) == 24).all()
    assert (subset_counts(sample, 2, 50, np.random.default_rng(2)).sum(axis=1) == 6).all()


def test_splits_deal_out_all_responses() -> None:
    splits = split(make_items("ab", "a"), make_items("c", "", "b"), 30, np.random.default_rng(3))
    assert splits.observed.tolist() == [2, 1, 0]
    assert splits.total.tolist() == [2, 2, 1]
    assert splits.first.shape == (30, 3)
    assert (splits.first <= splits.total).all()
    assert len({tuple(row) for row in splits.first.tolist()}) > 3


# --- draws that samples share: as good as draws of their own, and together where responses belong together ---

FIELD = draw_items(np.random.default_rng(1), 80)
OTHER = draw_items(np.random.default_rng(2), 60, steepness=1.8)


def test_draws_are_those_of_all_responses_with_replacement() -> None:
    # Each response names one item of its own: its count in a draw is how often it was drawn.
    sample = make_items(*"abcdefgh")
    counts = SharedDraws(1, 4000).redraw(sample, "field").counts
    assert set(counts.sum(axis=1)) == {8}
    assert counts.mean(axis=0) == pytest.approx(np.ones(8), abs=0.06)
    assert counts.var(axis=0) == pytest.approx(np.full(8, 7 / 8), abs=0.1)


def test_names_and_numbers_of_responses_draw_apart() -> None:
    shared = SharedDraws(1, 50)
    drawn = [shared.redraw(FIELD, name).counts for name in ("field", "field", "offline")]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    assert np.array_equal(drawn[0], SharedDraws(1, 50).redraw(FIELD, "field").counts)
    assert not np.array_equal(drawn[0], SharedDraws(2, 50).redraw(FIELD, "field").counts)


def test_large_samples_are_drawn_together_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "BATCH_CELLS", 1000)
    monkeypatch.setattr(speed, "MOST_KEPT", 1000)
    shared = SharedDraws(1, 50)
    narrow, wide = make_items(*"ab" * 40), draw_items(np.random.default_rng(3), 80)
    first, other = shared.redraw(narrow, "field").counts, shared.redraw(wide, "field").counts
    again = shared.redraw(ItemSample(80, narrow.rows, narrow.codes, wide.size), "field").counts
    assert shared.kept.found == {} and first.shape == (50, narrow.size) and other.shape == (50, wide.size)
    assert np.array_equal(first, again[:, : narrow.size])


def test_subsets_and_splits_take_each_response_once() -> None:
    shared = SharedDraws(1, 30)
    subsets = shared.subsets(make_items(*"abcdefgh"), 3, "field")
    assert set(subsets.sum(axis=1)) == {3} and subsets.max() == 1
    splits = shared.split(make_items(*"abc"), make_items(*"abc"), "field", "offline")
    assert set(splits.first.sum(axis=1)) == {3} and (splits.first <= splits.total).all()
    assert (splits.n_first, splits.n_second) == (3, 3)


def mean_width(shared: list[SharedDraws]) -> float:
    """Width of the interval of the mean distance over prompts that have the same answers, one for each of `shared`."""
    drawn = [
        heterogeneity.compare_redrawn(
            draws.redraw(FIELD, "field"), draws.redraw(OTHER, "offline"), draws.split(FIELD, OTHER, "field", "offline")
        )
        for draws in shared
    ]
    found = heterogeneity.mean_excess(drawn).ci
    assert found is not None
    return found[1] - found[0]


def test_people_who_answer_every_prompt_alike_count_once() -> None:
    """Ten prompts with the same answers say no more than one; drawn apart they would seem to, by √10."""
    draws = SharedDraws(1, 500)
    together, single = mean_width([draws] * 10), mean_width([draws])
    apart = mean_width([SharedDraws(seed, 500) for seed in range(10)])
    assert together == pytest.approx(single)
    assert together / apart == pytest.approx(np.sqrt(10), rel=0.25)


def test_answers_without_connection_are_as_if_drawn_apart() -> None:
    prompts = [draw_items(np.random.default_rng(seed), 120) for seed in range(10)]
    draws = SharedDraws(1, 800)
    together = np.mean([entropy(draws.redraw(sample, "field").counts) for sample in prompts], axis=0)
    apart = np.mean(
        [entropy(SharedDraws(seed, 800).redraw(sample, "field").counts) for seed, sample in enumerate(prompts)], axis=0
    )
    assert together.std() == pytest.approx(apart.std(), rel=0.3)


@pytest.mark.parametrize("batch", [2**21, 15_000])
def test_what_is_kept_of_draws_fits_and_changes_none(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "BATCH_CELLS", batch)
    sides, found = [draw_items(generator(seed), 40) for seed in range(4)], []
    for most in (2**28, 200_000, 1000):  # bytes; of one side 500 draws take 20,000, of two sides 40,000
        monkeypatch.setattr(speed, "MOST_KEPT", most)
        shared = SharedDraws(1, 500)
        for _ in range(2):
            found.append([shared.redraw(side, str(at)).counts for at, side in enumerate(sides)])
            found[-1] += [shared.split(sides[0], side, "0", str(at)).first for at, side in enumerate(sides)]
            found[-1] += [part for at in (1, 2) for part in shared.halves(sides[0], sides[at], 10, "0", str(at))]
            assert sum(each.nbytes for kept in shared.kept.found.values() for each in kept) <= most
        assert bool(shared.kept.found) == (most > 1000)
    for again in found[1:]:
        for one, other in zip(found[0], again, strict=True):
            np.testing.assert_array_equal(one, other)
