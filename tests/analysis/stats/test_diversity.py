"""Distances between and within people against a count of every pair, and samples that are spread out."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats.diversity import (
    distance_between,
    distance_within,
    equal_bands,
    farthest_points,
    mean_distance,
    shares_of,
    unit_rows,
)
from analysis.stats.intervals import ALIKE, FEW_UNITS


def unit(dice: np.random.Generator, n: int, dimensions: int = 6) -> np.ndarray:
    return unit_rows(dice.normal(size=(n, dimensions)).astype("float32"))


def test_mean_distance_by_hand() -> None:
    # Distances 1 (right angle), 0 (the same), 1: their mean is 2/3.
    assert mean_distance(np.array([[1, 0], [0, 1], [1, 0]], "float32")) == pytest.approx(2 / 3)
    assert mean_distance(np.array([[1, 0], [-1, 0]], "float32")) == pytest.approx(2)
    assert mean_distance(np.ones((1, 2), "float32")) is None


@given(st.lists(st.integers(1, 5), min_size=2, max_size=8), st.integers(0, 99))
def test_distance_between_is_the_mean_over_all_pairs_of_two_people(sizes: list[int], seed: int) -> None:
    vectors = [unit(np.random.default_rng([seed, n]), size) for n, size in enumerate(sizes)]
    pairs = [1 - float(a @ b) for one, other in combinations(vectors, 2) for a in one for b in other]
    found = distance_between(np.stack([own.sum(axis=0) for own in vectors]), np.array(sizes))
    assert found.value == pytest.approx(np.mean(pairs), abs=1e-5)
    assert found.units == len(sizes)


def test_interval_over_people_covers_what_everybody_has() -> None:
    """People from a known world: about 95 of a hundred samples' intervals hold its distance."""
    dice = np.random.default_rng(1)
    world = unit(dice, 4_000) + np.array([0.5, 0, 0, 0, 0, 0], "float32")
    world = unit_rows(world)
    truth = mean_distance(world)
    held = 0
    for _ in range(100):
        own = world[dice.choice(len(world), 60)]
        low, high = distance_between(own, np.ones(60, int)).ci
        held += low <= truth <= high
    assert 88 <= held <= 100


@pytest.mark.parametrize("people", [5, 8, 12])
def test_interval_over_few_people_covers_what_everybody_has_and_its_own_value(people: int) -> None:
    dice = np.random.default_rng(1)
    found = [distance_within(dice.beta(2, 2, people), seed) for seed in range(300)]
    assert np.mean([one.ci[0] <= 0.5 <= one.ci[1] for one in found]) >= 0.92
    assert all(one.ci[0] <= one.value <= one.ci[1] for one in found)


def test_distance_within_leaves_out_people_with_one_row() -> None:
    found = distance_within(np.array([0.2, np.nan, 0.4]))
    assert (found.value, found.units) == (pytest.approx(0.3), 2)
    assert (found.ci, found.ci_why) == (None, FEW_UNITS)
    found = distance_within(np.array([0.2, 0.4, np.nan, 0.3, 0.25, 0.35]))
    assert 0.2 < found.ci[0] < 0.3 < found.ci[1] < 0.4
    assert distance_within(np.full(9, 0.4)).ci_why == ALIKE
    assert distance_within(np.array([np.nan])) == distance_within(np.array([]))


def test_one_person_has_no_distance_to_others() -> None:
    assert distance_between(np.ones((1, 3), "float32"), np.array([1])).value is None


def test_bands_have_equal_frequency() -> None:
    assert np.bincount(equal_bands(np.arange(12.0)[::-1])).tolist() == [3, 3, 2, 2, 2]
    assert equal_bands(np.array([3.0, 1.0, 2.0, 5.0, 4.0])).tolist() == [2, 0, 1, 4, 3]


@pytest.mark.parametrize(
    ("size", "counts", "slots"),
    [
        (5, [2, 2, 2, 2, 2], [1, 1, 1, 1, 1]),
        (7, [3, 3, 2, 2, 2], [2, 2, 1, 1, 1]),
        (99, [1, 0, 2], [1, 0, 2]),
        (1, [0, 0], [0, 0]),
    ],
)
def test_slots_are_in_proportion(size: int, counts: list[int], slots: list[int]) -> None:
    assert shares_of(size, counts) == slots


def test_farthest_points_by_hand() -> None:
    angles = np.radians([0, 5, 90, 180, 95])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype("float32")
    # The mean lies at about 75°: 180 is farthest; then 0, then 90 (nearest chosen 90° away) before 95 and 5.
    assert farthest_points(vectors, 3) == [3, 0, 2]
    assert sorted(farthest_points(vectors, 9)) == [0, 1, 2, 3, 4]
    assert farthest_points(vectors, 0) == []


def test_chosen_are_farther_apart_than_drawn_ones() -> None:
    vectors = unit(np.random.default_rng(3), 500, 12)
    assert mean_distance(vectors[farthest_points(vectors, 50)]) > mean_distance(vectors[:50])
