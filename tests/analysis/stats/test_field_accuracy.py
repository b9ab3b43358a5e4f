"""Accuracy on a set of which each person is asked a few questions: by hand, by a fit, and on simulated people."""

import numpy as np
import pytest
from scipy.optimize import minimize

from analysis.stats.persons.numbers import PersonEstimate, ScoredQuestions, accuracy, difference, flip_chance
from benchmarks.field_benchmark import World, coverage


def scored(*answers: tuple[int, int, int], size: int = 3) -> ScoredQuestions:
    """Scores from answers of (question, unit, whether it is right)."""
    question, unit, right = (np.array(column) for column in zip(*answers, strict=True))
    return ScoredQuestions(question, unit, right.astype(bool), size)


def test_it_is_what_logistic_regression_with_an_effect_for_every_question_predicts() -> None:
    rng = np.random.default_rng(3)
    question = rng.integers(0, 3, 60)
    right = rng.random(60) < np.array([0.3, 0.6, 0.8])[question]

    def loss(effects: np.ndarray) -> float:
        return float(np.logaddexp(0, np.where(right, -1, 1) * effects[question]).sum())

    effects = minimize(loss, np.zeros(3)).x
    found = accuracy(ScoredQuestions(question, np.arange(60) % 20, right, 3))
    assert found.value == pytest.approx((1 / (1 + np.exp(-effects))).mean(), abs=1e-4)


def test_by_hand_with_all_questions_asked() -> None:
    # Question 0: 1 of 2, question 1: 2 of 2, question 2: 3 of 4.
    answers = [(0, 0, 1), (0, 1, 0), (1, 2, 1), (1, 3, 1), (2, 4, 1), (2, 5, 1), (2, 6, 1), (2, 7, 0)]
    found = accuracy(scored(*answers))
    assert (found.value, found.units) == (pytest.approx(0.75), 8)
    # Each person answered one question, so nothing is shared: (½ / 2 + 0 / 2 + ¼ / 4) / 9.
    assert found.error == pytest.approx(np.sqrt((0.25 + 0.0625) / 9))


def test_few_people_have_no_interval_and_nobody_no_value() -> None:
    few = accuracy(scored((0, 0, 1), (1, 1, 0), (2, 2, 1)))
    assert few.value == pytest.approx(2 / 3) and few.ci is None and few.why
    nobody = ScoredQuestions(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool), 3)
    assert accuracy(nobody).value is None and difference(nobody, nobody).why


def test_an_interval_has_a_width_where_all_answers_are_right_or_all_agree() -> None:
    everything = [(person % 3, person, 1) for person in range(12)]
    low, high = accuracy(scored(*everything)).ci or (1, 1)
    assert low < 0.8 and high == 1
    agreed = [(person % 3, person, person % 3 > 0) for person in range(12)]
    low, high = accuracy(scored(*agreed)).ci or (0, 0)
    assert low < 2 / 3 - 0.02 and high > 2 / 3 + 0.02


def test_the_chance_that_an_order_flips() -> None:
    sure = PersonEstimate(0.1, None, 10, error=0.01)
    assert flip_chance(sure, sure) == pytest.approx(0, abs=1e-6)
    assert flip_chance(sure, PersonEstimate(0.0, None, 10, error=0.02)) == pytest.approx(0.5)
    assert flip_chance(sure, PersonEstimate(-0.1, None, 10, error=0.01)) == pytest.approx(1)
    assert flip_chance(sure, PersonEstimate(0.1, None, 10)) is None


@pytest.mark.parametrize("world", [World(), World(3, 2, ability=0.5)])
def test_intervals_of_two_hundred_people_hold_the_truth(world: World) -> None:
    held, beside, off, half = coverage(world, 200, 300)
    # 95 % of 300 studies ± three standard errors.
    assert 0.912 <= held <= 0.99 and beside >= 0.912
    assert abs(off) < 0.003 and half < 0.035
