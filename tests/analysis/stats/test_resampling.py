"""Draws and p-values: by hand, beside other libraries, and in properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from analysis.stats import resampling
from analysis.stats.resampling import (
    bootstrap_counts,
    bootstrap_weights,
    generator,
    holm,
    p_value,
    split,
    subset_counts,
    subset_weights,
)
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
    counts = bootstrap_counts(sample, 50, np.random.default_rng(2))
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
