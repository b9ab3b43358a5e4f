"""A blend's distances are means over pairs of different units, its weights are the best, and luck is seldom a gain."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from analysis.stats.persons.blends import (
    NO_PAIR,
    BlendSides,
    blend,
    chance_of_luck,
    compare,
    contrast,
    cross_validate,
    distances,
    fit,
)
from analysis.stats.persons.shares import unlike_lists
from analysis.stats.resampling import ItemSample
from benchmarks.blends import WORLDS, make_world

HALVES = {"flat field": (0.5, 0, 0, 0.5), "few people": (0.5, 0, 0.5)}


def some_sides(rng: np.random.Generator) -> tuple[BlendSides, list[np.ndarray], np.ndarray, np.ndarray]:
    """Lists for two prompts; two units answer twice, another one on two sides, and one answer names nothing."""
    side = np.array([0] * 6 + [1] * 7 + [2] * 7)
    unit = np.array([0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 5, 12, 13, 14, 15, 15, 16])
    named, prompts = [], []
    for _ in range(2):
        chosen = rng.random((20, 9)) < rng.choice([0.2, 0.5], size=(20, 1))
        chosen[:, 0] |= ~chosen.any(axis=1)
        chosen[3] = False
        named.append(chosen)
        prompts.append(compare(csr_matrix(chosen.astype(float)), side, unit))
    return BlendSides(prompts, 3, 17), named, side, unit


def by_pairs(named: list[np.ndarray], side: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Mean distances of sides, pair by pair: each pair of units counts once, however often they answered."""
    found = np.zeros((len(named), 3, 3))
    for at, chosen in enumerate(named):
        rows, codes = (places.astype(np.int32) for places in np.nonzero(chosen))
        answers = unlike_lists(ItemSample(len(chosen), rows, codes, chosen.shape[1]), unit)
        sides = side[answers.rows]
        for one in range(3):
            for other in range(3):
                pairs = [
                    answers.unlike[(sides == one) & (answers.of == a)][:, (sides == other) & (answers.of == b)]
                    for a in np.unique(answers.of[sides == one])
                    for b in np.unique(answers.of[sides == other])
                    if a != b
                ]
                found[at, one, other] = np.mean([pair.mean() for pair in pairs])
    return np.asarray(found.mean(axis=0))


def test_means_are_over_pairs_of_different_units_with_and_without_each() -> None:
    sides, named, side, unit = some_sides(np.random.default_rng(4))
    measured = sides.measured
    assert measured.means == pytest.approx(by_pairs(named, side, unit))
    assert sides.means(np.ones((1, 17)))[0] == pytest.approx(measured.means)
    for gone in (4, 5, 12):
        expected = by_pairs([chosen[unit != gone] for chosen in named], side[unit != gone], unit[unit != gone])
        assert measured.without[gone] == pytest.approx(expected)
        weights = np.ones((1, 17))
        weights[0, gone] = 0
        assert sides.means(weights)[0] == pytest.approx(expected)


def test_weights_are_those_that_a_library_finds() -> None:
    rng = np.random.default_rng(5)
    points = rng.dirichlet(np.full(12, 0.4), size=(30, 6))
    means = 1 - points @ points.transpose(0, 2, 1)
    found = fit(means)
    assert (found >= 0).all() and found.sum(axis=1) == pytest.approx(1)
    for weights, one in zip(found, means, strict=True):
        library = minimize(
            lambda w, one=one: distances(one, w),
            np.full(5, 0.2),
            bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            tol=1e-12,
        )
        assert float(distances(one, weights)) <= library.fun + 1e-7
        assert weights == pytest.approx(library.x, abs=1e-3)


def test_a_distance_is_not_biased_by_how_few_answers_there_are() -> None:
    kinds, people = WORLDS["few people"]
    alone = contrast(np.eye(3)[0])
    found = [
        make_world(kinds, np.eye(3)[0], people, np.random.default_rng([study, 9])).measured.estimate(alone)
        for study in range(80)
    ]
    values = np.array([each.value for each in found])
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(80) and values.min() < 0


def test_luck_is_seldom_called_a_gain() -> None:
    """People answer as one source does; sources differ in evenness and number of answers. `benchmarks.blends` has other
    worlds.
    """
    (kinds, people), studies = WORLDS["few people"], 100
    shares = np.eye(len(kinds))[0]
    found = [
        chance_of_luck(make_world(kinds, shares, people, np.random.default_rng([study, people])).measured)
        for study in range(studies)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.07


def test_where_without_somebody_nothing_can_be_compared_luck_has_no_chance() -> None:
    kinds, people = WORLDS["few people"]
    world = make_world(kinds, np.eye(len(kinds))[0], people, np.random.default_rng(2))
    first, *others = world.prompts
    two = first.where((first.side > 0) | np.isin(first.unit, first.unit[first.side == 0][:2]))
    measured = BlendSides([two, *others], world.sides, world.units).measured
    assert chance_of_luck(measured) is None and chance_of_luck(world.measured) is not None
    assert measured.estimate(contrast(np.eye(len(kinds))[0])).why == NO_PAIR


@pytest.mark.parametrize("name", sorted(HALVES))
def test_a_blend_of_two_halves_is_found(name: str) -> None:
    (kinds, people), truth, found = WORLDS[name], np.array(HALVES[name]), []
    for study in range(12):
        rng = np.random.default_rng([study, people])
        found.append(blend(make_world(kinds, truth, people, rng), rng, 100, 1))
    assert np.mean([each.p is not None and each.p <= 0.05 for each in found]) >= 0.9
    assert np.mean([each.weights for each in found], axis=0) == pytest.approx(truth, abs=0.06)
    held = [
        ci is not None and ci[0] <= true <= ci[1]
        for each in found
        for ci, true in zip(each.weights_ci, truth, strict=True)
    ]
    assert np.mean(held) >= 0.8
    # Held out, the blend is about as near as such people are to one another.
    assert abs(np.mean([each.held_out.blend.value for each in found])) < 0.03
    assert np.mean([each.held_out.gain.value for each in found]) > 0.02


def test_too_few_have_numbers_and_neither_parts_nor_a_test() -> None:
    kinds, _ = WORLDS["few people"]
    rng = np.random.default_rng(1)
    few = blend(make_world(kinds, np.eye(3)[0], 9, rng), rng, 50)
    assert few.p is None and few.weights.sum() == pytest.approx(1) and "Fewer than 10 people" in (few.why or "")
    assert few.held_out.blend.value is None and few.weights_ci == [None] * 3
    assert cross_validate(make_world(kinds, np.eye(3)[0], 7, rng), rng, None) is None
