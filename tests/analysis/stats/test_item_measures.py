"""Measures of item counts, raw and rarefied: by hand, against scipy, and by their properties."""

from itertools import combinations
from math import comb, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from analysis.stats import item_measures
from analysis.stats.item_measures import (
    ITEM_MEASURES,
    MEASURES,
    EachOnce,
    Measured,
    drawn_entropies,
    entropy,
    errors,
    measure,
    rarefaction_tables,
    rarefied_errors,
    rarefied_measures,
    standard_error,
)
from tests.analysis.stats.sample_factories import make_items

counts_of_items = st.lists(st.integers(0, 400), min_size=1, max_size=30).map(np.array)


def plain(measured: Measured) -> dict[str, float]:
    return {name: float(value) for name, value in measured.items()}


def test_measures_of_a_handful() -> None:
    # 4 + 3 + 2 + 2 + 1 + 1 + 1 = 14 mentions of 7 items; the first five take 12.
    # Σ c log2 c = 4·2 + 3·log2 3 + 2 + 2 = 12 + 3·log2 3.
    found = measure(np.array([4, 3, 2, 2, 1, 1, 1, 0]))
    assert found["unique"] == 7
    assert found["top5_coverage"] == pytest.approx(12 / 14)
    assert found["entropy_bits"] == pytest.approx(log2(14) - (12 + 3 * log2(3)) / 14)


@pytest.mark.parametrize(("counts", "bits"), [([1, 1, 1, 1], 2.0), ([2, 1, 1], 1.5), ([7, 0], 0.0), ([3], 0.0)])
def test_entropy_of_easy_shares(counts: list[int], bits: float) -> None:
    assert entropy(np.array(counts)) == pytest.approx(bits, abs=1e-12)


def test_few_items_are_all_in_the_top_five() -> None:
    assert measure(np.array([9, 1, 1]))["top5_coverage"] == 1.0


def test_nothing_named_leaves_shares_undefined() -> None:
    found = measure(np.array([[0, 0, 0], [0, 2, 0]]))
    assert found["unique"].tolist() == [0, 1]
    assert np.isnan(found["top5_coverage"]).tolist() == [True, False]
    assert np.isnan(found["entropy_bits"]).tolist() == [True, False]


@given(counts_of_items)
def test_entropy_agrees_with_scipy(counts: np.ndarray) -> None:
    if counts.sum():
        assert entropy(counts) == pytest.approx(stats.entropy(counts, base=2), abs=1e-9)


@given(counts_of_items)
def test_measures_are_bounded_and_know_no_order(counts: np.ndarray) -> None:
    found, turned = measure(counts), measure(counts[::-1])
    assert plain(found) == pytest.approx(plain(turned), nan_ok=True)
    if counts.sum():
        assert 1 <= found["unique"] <= len(counts)
        assert min(1.0, 5 / found["unique"]) - 1e-12 <= found["top5_coverage"] <= 1
        assert 0 <= found["entropy_bits"] <= log2(found["unique"]) + 1e-12


def test_many_draws_are_measured_as_each_alone() -> None:
    counts = np.random.default_rng(1).poisson(2, (40, 12))
    together = measure(np.asfortranarray(counts.astype(np.float32)))
    for name in MEASURES:
        assert together[name] == pytest.approx([float(measure(row)[name]) for row in counts])


def test_rarefied_number_of_items_by_hand() -> None:
    # 2 of 4 responses: an item named by two is missed by C(2,2)/C(4,2) = 1/6 of subsets, by one: C(3,2)/6 = 1/2.
    assert rarefied_measures(np.array([2, 1, 0]), 4, 2)["unique"] == pytest.approx(5 / 6 + 1 / 2)


def test_rarefaction_tables_by_hand() -> None:
    # Of 4 responses 3 name the item: both of a random two do so with C(3,2)/6 = 1/2, and then X log2 X = 2.
    present, terms = rarefaction_tables(4, 2)
    assert present == pytest.approx([0, 1 / 2, 5 / 6, 1, 1])
    assert terms == pytest.approx([0, 0, 2 / 6, 1, 2])


@pytest.mark.parametrize(("total", "n"), [(1, 1), (30, 7), (400, 390), (400, 400), (800, 100), (1000, 999)])
def test_rarefaction_tables_agree_with_scipy(total: int, n: int) -> None:
    present, terms = rarefaction_tables(total, n)
    number = np.arange(n + 1)
    for c in range(0, total + 1, max(1, total // 50)):
        chance = stats.hypergeom.pmf(number, total, c, n)
        assert present[c] == pytest.approx(1 - comb(total - c, n) / comb(total, n), abs=1e-9)
        assert terms[c] == pytest.approx((chance * number * np.log2(np.maximum(number, 1))).sum(), rel=1e-9, abs=1e-9)


def test_rarefied_measures_are_the_mean_over_all_subsets() -> None:
    # Each response names two items, so that the number of mentions is the same in every subset.
    sample = make_items("ab", "ac", "ab", "de", "ad", size=5)
    subsets = [np.array(rows) for rows in combinations(range(5), 3)]
    counts = np.array([sample.by_item.toarray().T[rows].sum(axis=0) for rows in subsets])
    found = rarefied_measures(sample.counts(), 5, 3)
    assert found["unique"] == pytest.approx(measure(counts)["unique"].mean())
    assert found["entropy_bits"] == pytest.approx(measure(counts)["entropy_bits"].mean())


@given(counts_of_items)
def test_rarefied_to_all_is_the_measure_itself(counts: np.ndarray) -> None:
    tables = rarefaction_tables(400, 400)
    assert tables[0] == pytest.approx(np.minimum(np.arange(401), 1))
    assert plain(rarefied_measures(counts, 400, 400)) == pytest.approx(plain(measure(counts)), nan_ok=True)


def test_top_items_that_are_rare_elsewhere_are_found() -> None:
    # 60 items: five have 9 in every row; in the last row five others, which no other row names, have 20.
    counts = np.ones((40, 60), dtype=np.float32)
    counts[:, :5] = 9
    counts[-1, 50:55] = 20
    found = measure(counts)["top5_coverage"]
    assert found[:-1] == pytest.approx(np.full(39, 45 / 100))
    assert found[-1] == pytest.approx(100 / (45 + 100 + 50))


def test_top_items_of_many_rows_are_those_of_each_row() -> None:
    counts = np.random.default_rng(1).poisson(0.6, (200, 90)).astype(np.float32)
    each = [measure(row)["top5_coverage"] for row in counts]
    assert measure(counts)["top5_coverage"] == pytest.approx(np.array(each))


# --- shorter ways to leave out each unit of a sample

one_each = st.lists(st.sets(st.integers(0, 11), max_size=5), min_size=2, max_size=30)


def matrix(answers: list[set[int]]) -> sparse.csr_array:
    """Which of 12 items each answer names, shape (12, answers)."""
    return sparse.csr_array(np.array([[item in answer for answer in answers] for item in range(12)], dtype=np.float32))


@given(one_each)
def test_the_shorter_way_leaves_what_counting_again_leaves(answers: list[set[int]]) -> None:
    named = matrix(answers)
    again = measure(named.toarray().sum(axis=1).astype(int) - named.toarray().T.astype(int))
    for name, known in ITEM_MEASURES.items():
        if known.left:
            assert known.left(EachOnce(named)) == pytest.approx(again[name], nan_ok=True, abs=1e-12)


@given(one_each, st.integers(1, 30))
def test_rarefied_errors_are_the_same_by_either_way(answers: list[set[int]], n: int) -> None:
    named = matrix(answers)
    with pytest.MonkeyPatch.context() as patch:
        short = rarefied_errors(named, min(n, len(answers)))
        patch.setattr(item_measures, "_each_once", lambda by_unit: None)
        dense = rarefied_errors(named, min(n, len(answers)))
    for name in MEASURES:
        assert short[name] == pytest.approx(dense[name], abs=1e-7)


def test_a_unit_that_names_an_item_twice_takes_the_longer_way() -> None:
    by_unit = sparse.csr_array(np.array([[2, 0, 1], [1, 1, 0], [0, 1, 1]], dtype=np.float32))
    found, counts = errors(np.array([3, 2, 2]), by_unit), np.array([[1, 1, 2], [3, 1, 1], [2, 2, 1]])
    assert found["entropy_bits"] == standard_error(measure(counts)["entropy_bits"])


@given(one_each, st.integers(0, 99))
def test_entropies_of_drawn_samples_are_those_of_the_samples(answers: list[set[int]], seed: int) -> None:
    times = np.random.default_rng(seed).multinomial(40, np.full(len(answers), 1 / len(answers)), 3).T
    bits, error = drawn_entropies(matrix(answers), times)
    for sample, drawn in enumerate(times.T):
        named = matrix([answer for answer, often in zip(answers, drawn, strict=True) for _ in range(often)])
        counts = named.toarray().sum(axis=1).astype(int)
        expected = errors(counts, named)["entropy_bits"]
        assert bits[sample] == pytest.approx(float(entropy(counts)), nan_ok=True)
        assert error[sample] == pytest.approx(np.nan if expected is None else expected, nan_ok=True, abs=1e-7)
