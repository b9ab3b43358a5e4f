"""What a sample says about its population: published values, cases by pencil, and against brute force."""

from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from analysis.stats.heterogeneity import measure_distance
from analysis.stats.intervals import FEW_UNITS, share_interval
from analysis.stats.population import (
    SEVERAL,
    TOO_NEW,
    StratumShare,
    divergence_bounds,
    population_entropy,
    share_bounds,
    weighted,
)
from analysis.stats.resampling import ItemSample
from tests.analysis.stats.sample_factories import clustered, draw_items, items_of, make_items

# Spiders of two forest plots (Sackett et al. 2011), the example of the R package iNEXT, with the values it prints.
GIRDLED = [46, 22, 17, 15, 15, 9, 8, 6, 6, 4, *[2] * 4, *[1] * 12]
LOGGED = [88, 22, 16, 15, 13, 10, 8, 8, 7, 7, 7, 5, 4, 4, 4, *[3] * 4, *[2] * 4, *[1] * 14]


def each_alone(counts: list[int]) -> ItemSample:
    """A response for each mention."""
    return items_of([[item] for item, count in enumerate(counts) for _ in range(count)], len(counts))


@pytest.mark.parametrize(("counts", "diversity"), [(GIRDLED, 13.826), (LOGGED, 16.337)])
def test_the_entropy_of_a_population_is_the_published_one(counts: list[int], diversity: float) -> None:
    found = population_entropy(each_alone(counts))
    assert found.bits is not None and exp(found.bits * log(2)) == pytest.approx(diversity, abs=5e-4)


def test_coverage_by_hand() -> None:
    # C = 8, f1 = 2, f2 = 1: B = 7·2 / (7·2 + 2) = 7/8, coverage 1 - 7/8 · 2/8.
    assert population_entropy(each_alone([4, 2, 1, 1])).coverage == pytest.approx(25 / 32)
    assert population_entropy(each_alone([5, 3])).coverage == 1


def test_leaving_out_each_unit_is_counting_again() -> None:
    sample = draw_items(np.random.default_rng(5), 30, 60)
    lists = [set(sample.codes[sample.rows == row].tolist()) for row in range(30)]
    left = [population_entropy(items_of(lists[:row] + lists[row + 1 :], 60)).bits for row in range(30)]
    found = population_entropy(sample)
    error = np.sqrt(29 / 30 * np.square(np.array(left) - np.mean(left)).sum())  # type: ignore[arg-type]
    assert found.ci and found.bits and found.ci[1] - found.bits == pytest.approx(2.0452296 * error)


def test_where_the_entropy_of_a_population_cannot_be_told() -> None:
    assert population_entropy(make_items("ab", "cd")).why == TOO_NEW
    assert population_entropy(clustered(make_items("ab", "ac", "ab", "cd"), 2)).why == SEVERAL
    few = population_entropy(make_items("ab", "ac"))
    assert few.bits and not few.ci and few.ci_why == FEW_UNITS


def test_bounds_of_a_share_by_hand() -> None:
    assert share_bounds(45, 90, 10) == (0.45, 0.55)
    assert share_bounds(45, 90, 0) == (0.5, 0.5)


def test_bounds_of_a_distance_hold_whatever_is_missing_and_the_largest_is_reached() -> None:
    dice = np.random.default_rng(2)
    for _ in range(20):
        counts, others = dice.integers(0, 6, 4), dice.integers(1, 9, 4)
        low, high = divergence_bounds(counts, others, 2, 2)
        answers = [some for k in (0, 1, 2) for some in combinations(range(6), k)]  # also two that nobody named
        q = np.append(others, [0, 0])
        found = []
        for pair in product(answers, repeat=2):
            c = np.append(counts, [0, 0])
            for answer in pair:
                c[list(answer)] += 1
            if c.sum():
                found.append(float(measure_distance(c, q)[0]))
        assert max(found) == pytest.approx(high, abs=1e-9)
        assert min(found) >= low - 1e-9


def test_nothing_missing_leaves_the_distance() -> None:
    counts, others = np.array([3, 1, 0]), np.array([1, 1, 2])
    distance = float(measure_distance(counts, others)[0])
    assert divergence_bounds(counts, others, 0, 5) == pytest.approx((distance, distance))


def test_the_least_distance_fills_up_what_others_have_more_of() -> None:
    # Counts 4 and 0 of two items, half each for the others; 2 answers of one item: (4, 2) of 6 beside (1/2, 1/2).
    low, _ = divergence_bounds(np.array([4, 0]), np.array([5, 5]), 2, 1)
    assert low == pytest.approx(float(measure_distance(np.array([4, 2]), np.array([5, 5]))[0]))
    assert divergence_bounds(np.array([4, 0]), np.array([5, 5]), 8, 1)[0] == pytest.approx(0, abs=1e-12)


def test_a_difference_of_two_shares_is_newcombe_s() -> None:
    one, two = (StratumShare(hits / n, share_interval(hits, n)) for hits, n in ((56, 70), (48, 80)))
    found = weighted([1, -1], [one, two])
    expected = confint_proportions_2indep(56, 70, 48, 80, method="newcomb")
    assert found.ci == pytest.approx(expected, abs=1e-6) and found.value == pytest.approx(0.2)


def test_a_standardised_share_holds_the_truth_in_95_of_100() -> None:
    dice, weights, truth, hits = np.random.default_rng(4), (0.9, 0.1), (0.8, 0.3), 0
    true = sum(weight * share for weight, share in zip(weights, truth, strict=True))
    for _ in range(1000):
        counts = [int(dice.binomial(n, share)) for n, share in zip((60, 60), truth, strict=True)]
        found = weighted(weights, [StratumShare(count / 60, share_interval(count, 60)) for count in counts])
        assert found.ci
        hits += found.ci[0] <= true <= found.ci[1]
    assert 930 <= hits <= 970


def test_without_an_interval_of_one_stratum_there_is_none() -> None:
    assert weighted([0.5, 0.5], [StratumShare(0.5, (0.2, 0.8)), StratumShare(1.0, None)]) == StratumShare(0.75, None)
