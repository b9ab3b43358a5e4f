"""What explains a distance, what another state changes, what is carried over: by hand, and in known worlds."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from analysis.stats.intervals import holm
from analysis.stats.persons.arms import States, carried_over, change_of
from analysis.stats.persons.explaining import (
    OTHER,
    basis_of,
    by_level,
    by_step,
    centre,
    equal_spread,
    explain,
    permanova,
)
from analysis.stats.persons.shares import ReadableAnswers
from benchmarks import dice

# --- regression


def test_effects_are_those_of_least_squares_with_a_level_for_each_prompt() -> None:
    rng = np.random.default_rng(1)
    persons, prompts = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
    memory, position = (
        np.repeat(rng.integers(0, 2, 40), 3),
        rng.permuted(np.tile(np.arange(3), (40, 1)), axis=1).ravel(),
    )
    y = 0.2 * memory - 0.05 * position + prompts + rng.normal(size=120)
    given = [
        by_level("memory", [str(level) for level in memory], persons, order=("0", "1")),
        by_step("position", position.astype(float)),
    ]
    found = explain(y, prompts, persons, [each for each in given if each])
    design = np.stack([memory, position, *(prompts == k for k in range(3))], axis=1).astype(float)
    beta = np.linalg.lstsq(design, y, rcond=None)[0]
    assert [each.effects[0].value for each in found] == pytest.approx(beta[:2].tolist())
    assert found[0].effects[0].ci[0] < beta[0] < found[0].effects[0].ci[1]
    without = [np.linalg.lstsq(design[rest], y[rest], rcond=None)[0] for rest in (persons != one for one in range(40))]
    errors = np.sqrt(39 / 40 * np.square(np.array(without) - beta).sum(axis=0))
    assert [each.effects[0].error for each in found] == pytest.approx(errors[:2].tolist())
    assert found[0].effects[0].persons == memory.reshape(40, 3)[:, 0].sum()


def test_levels_of_few_people_stand_beside_no_other() -> None:
    persons = np.arange(35)
    found = by_level("plan", ["free"] * 20 + ["paid"] * 12 + ["work"] * 2 + [None], persons)
    assert (found.base, found.levels) == ("free", ("paid", OTHER))
    assert by_level("plan", ["free"] * 33 + ["paid"] * 2, persons) is None


def test_what_says_the_same_twice_is_told_once() -> None:
    persons = np.arange(60)
    values = ["a" if person % 2 else "b" for person in persons]
    twice = [by_level(name, values, persons) for name in ("one", "other")]
    found = explain(np.random.default_rng(0).normal(size=60), np.zeros(60, int), persons, [one for one in twice if one])
    assert len(found[0].effects) == 1 and not found[1].effects and found[1].p is None


def test_what_the_prompt_says_already_explains_nothing() -> None:
    persons, prompts = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    same = by_level("asked", [str(prompt) for prompt in prompts], persons)
    assert same and explain(np.random.default_rng(0).normal(size=40), prompts, persons, [same]) == []


def named_in(people: int, moved: float, studies: int) -> list[set[str]]:
    found = []
    for study in range(studies):
        explained = dice.explain_study(people, study, moved)
        corrected = holm([each.p for each in explained])
        found.append({each.name for each, p in zip(explained, corrected, strict=True) if p is not None and p < 0.05})
    return found


def test_one_planted_explanation_of_ten_is_named_and_the_others_are_not() -> None:
    found = named_in(200, dice.MOVED, 30)
    assert np.mean([dice.MEMORY in names for names in found]) >= 0.8
    assert np.mean([bool(names - {dice.MEMORY}) for names in found]) <= 0.11


def test_where_nothing_explains_nothing_is_named() -> None:
    assert np.mean([bool(names) for names in named_in(50, 0.0, 60)]) <= 0.11


# --- PERMANOVA


def test_a_share_is_that_of_sums_of_squares() -> None:
    """By Anderson's formula: 1 - Σ over groups (Σ pairs of a group d² / n) / (Σ pairs d² / N)."""
    rng = np.random.default_rng(4)
    far = rng.random((12, 12))
    far = np.triu(far, 1) + np.triu(far, 1).T
    level = np.array([0] * 5 + [1] * 7)
    whole = centre([ReadableAnswers(far.astype(np.float32), np.arange(12), np.arange(12), 0)])
    (found,) = permanova(whole, [level], rng, 99)

    def squares(places: np.ndarray) -> float:
        return sum(far[a, b] ** 2 for a, b in combinations(places, 2)) / len(places)

    inside = sum(squares(np.flatnonzero(level == group)) for group in (0, 1))
    assert found.share == pytest.approx(1 - inside / squares(np.arange(12)), abs=1e-5)


def test_permutations_stay_within_a_chatbot() -> None:
    """A level in which only the chatbots differ explains nothing."""
    far = np.ones((6, 6), np.float32) - np.eye(6, dtype=np.float32)
    whole = centre([ReadableAnswers(far, np.arange(6) + 6 * bot, np.arange(6), 0) for bot in (0, 1)])
    assert basis_of(np.repeat([0, 1], 6), whole.blocks).shape[1] == 0
    assert permanova(whole, [np.repeat([0, 1], 6)], np.random.default_rng(0), 9) == [None]


def test_spread_is_told_apart_from_place() -> None:
    rng = np.random.default_rng(5)
    level = np.repeat([0, 1], 40)
    points = np.where(level, 4.0, 1.0)[:, None] * rng.normal(size=(80, 3))
    far = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)).astype(np.float32)
    whole = centre([ReadableAnswers(far, np.arange(80), np.arange(80), 0)])
    assert equal_spread(whole, level) < 0.001
    assert equal_spread(whole, np.tile([0, 1], 40)) > 0.01


# --- arms


def test_dice_are_taken_out_of_a_state() -> None:
    """Persons 0 and 1 were asked twice in the usual state, person 2 once; person 3 could not reach the other state."""
    of = np.array([0, 1, 2, 3, 0, 1, 0, 1, 2])
    is_other = np.arange(9) >= 6
    unlike = np.zeros((9, 9), np.float32)
    for a, b, value in ((0, 4, 0.2), (0, 6, 0.5), (4, 6, 0.7), (1, 5, 0.4), (1, 7, 0.4), (5, 7, 0.6), (2, 8, 0.9)):
        unlike[a, b] = unlike[b, a] = value
    states = States(unlike, of, is_other)
    who, far = states.distance()
    assert who.tolist() == [0, 1, 2] and far == pytest.approx([0.6, 0.5, 0.9])
    beyond = states.beyond_dice()
    assert beyond.who.tolist() == [0, 1] and beyond.observed == pytest.approx([0.6 - 0.2, 0.5 - 0.4])
    assert beyond.options.sum(axis=1) == pytest.approx([0, 0], abs=1e-6)
    changes = states.change(np.array([1, 2, 3, 4, 3, 2, 5, 5, 1.0]))
    assert changes.observed == pytest.approx([5 - 2, 5 - 2, 1 - 3])
    assert changes.options[2, :2] == pytest.approx([-2, 2]) and np.isnan(changes.options[2, 2])


@pytest.mark.parametrize(("effect", "least", "most"), [(0.0, 0.0, 0.11), (1.0, 0.9, 1.0)])
def test_a_state_is_found_where_it_does_something(effect: float, least: float, most: float) -> None:
    found = [dice.arm_study(100 if effect else 30, effect, np.random.default_rng([study, 5])) for study in range(80)]
    for place in (0, 1):
        assert least <= np.mean([one[place].p < 0.05 for one in found]) <= most


def test_few_people_in_both_states_are_not_tested() -> None:
    states = States(np.zeros((4, 4), np.float32), np.array([0, 1, 0, 1]), np.array([False, False, True, True]))
    found = change_of([states.change(np.arange(4.0))], np.random.default_rng(0), 9)
    assert found.mean.value == 2 and found.p is None and found.why


# --- carry-over


def test_an_answer_repeats_an_item_of_an_earlier_one() -> None:
    """Two persons get prompts 0 and 1 in this order; only the first person's second answer repeats an item."""
    named = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1]], dtype=np.float32))
    persons, prompts, positions = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1])
    found, repeats = carried_over(named, persons, prompts, positions, np.zeros(4, int))
    assert (found.answers, found.share, found.chance) == (2, 0.5, 0.0)
    assert repeats.tolist() == pytest.approx([np.nan, 1, np.nan, 0], nan_ok=True)


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.0, 0.1), (0.3, 0.8, 1.0)])
def test_carry_over_is_told_where_there_is_some(share: float, least: float, most: float) -> None:
    found = [dice.carried_study(100, share, np.random.default_rng([study, 3])).excess.ci for study in range(40)]
    assert least <= np.mean([ci[0] > 0 for ci in found]) <= most
