"""Runs over the same questions: ranks among published scores, majorities, best answers and variability, by hand and on
null data.
"""

from itertools import combinations

import numpy as np
import pytest

from analysis.stats import choices
from analysis.stats.repeated_runs import best_of, majorities, rank_flips, variabilities
from analysis.stats.resampling import ChoiceSample


def test_ranks_among_published_scores() -> None:
    scores, lines = np.array([0.70, 0.74, 0.79]), np.array([0.60, 0.72, 0.78, 0.90])
    found = rank_flips(scores, lines, np.arange(3))
    assert found is not None
    # Their mean, .743, is below two of the lines; .70 is below one more and .79 below one fewer.
    assert (found.pairs, found.flips, found.share) == (12, 2, pytest.approx(1 / 6))
    assert (found.rank, found.best, found.worst) == (3, 2, 4)
    assert found.ci is not None and found.ci[0] < 1 / 6 < found.ci[1]
    assert rank_flips(scores, np.array([]), np.arange(3)) is None


def test_runs_of_one_user_are_one_unit() -> None:
    scores, lines = np.array([0.70, 0.79, 0.70, 0.79]), np.array([0.745, 0.9])
    alone, together = (rank_flips(scores, lines, np.array(units)) for units in ((0, 1, 2, 3), (0, 0, 0, 0)))
    assert alone is not None and alone.ci is not None
    assert together is not None and together.ci is None


def by_hand(letters: np.ndarray, key: np.ndarray, k: int) -> float:
    found = []
    for chosen in combinations(range(len(letters)), k):
        for question, right in enumerate(key):
            votes = [letter for letter in letters[list(chosen), question] if letter >= 0]
            most = max((votes.count(letter) for letter in votes), default=0)
            first = {letter for letter in votes if votes.count(letter) == most}
            found.append((right in first) / max(1, len(first)))
    return float(np.mean(found))


def test_majorities_are_those_of_all_sets_of_runs() -> None:
    rng = np.random.default_rng(2)
    letters, key = rng.integers(-1, 3, (6, 40)).astype(np.int8), np.ones(40, np.int8)
    found = majorities(letters, key, rng)
    assert [one.k for one in found] == [1, 3, 5]
    for one in found:
        assert one.accuracy == pytest.approx(by_hand(letters, key, one.k))
        assert one.ci is not None and one.ci[0] < one.accuracy < one.ci[1]
        assert one.gain == pytest.approx(one.accuracy - found[0].accuracy)


def test_a_majority_gains_where_runs_are_mostly_right_and_nothing_where_they_agree() -> None:
    rng = np.random.default_rng(3)
    key = np.zeros(200, np.int8)
    noisy = np.where(rng.random((12, 200)) < 0.7, 0, rng.integers(1, 4, (12, 200))).astype(np.int8)
    ten = majorities(noisy, key, rng)[-1]
    assert ten.k == 10 and ten.ci_gain is not None and ten.ci_gain[0] > 0.1
    alike = np.tile(rng.integers(0, 4, 200).astype(np.int8), (10, 1))
    assert {one.gain for one in majorities(alike, key, rng)} == {0.0}


def best_by_hand(letters: np.ndarray, key: np.ndarray, scores: np.ndarray, k: int) -> float:
    found = []
    for chosen in combinations(range(len(letters)), k):
        for question, right in enumerate(key):
            here = scores[list(chosen), question]
            found.append((letters[list(chosen), question][here == here.max()] == right).mean())
    return float(np.mean(found))


def test_the_best_are_those_of_all_sets_of_runs_and_equal_ones_share() -> None:
    rng = np.random.default_rng(5)
    letters, key = rng.integers(-1, 3, (6, 40)).astype(np.int8), np.ones(40, np.int8)
    scores = rng.integers(0, 4, letters.shape).astype(float)
    scores[letters == -1] = -np.inf
    found = best_of(letters, key, scores)
    assert [one.k for one in found] == [1, 3, 5]
    for one in found:
        assert one.accuracy == pytest.approx(best_by_hand(letters, key, scores, one.k))
        assert one.ci is not None and one.ci[0] < one.accuracy < one.ci[1]
        assert one.gain == pytest.approx(one.accuracy - found[0].accuracy)
    assert found[0].accuracy == pytest.approx((letters == key).mean())


def test_scores_by_the_truth_find_any_right_answer_and_scores_by_chance_gain_nothing() -> None:
    rng = np.random.default_rng(6)
    letters, key = rng.integers(0, 4, (10, 300)).astype(np.int8), np.zeros(300, np.int8)
    right = letters == key
    assert best_of(letters, key, right.astype(float))[-1].accuracy == pytest.approx(right.any(axis=0).mean())
    assert best_of(letters, key, -right.astype(float))[-1].accuracy == pytest.approx(right.all(axis=0).mean())
    assert [one.gain for one in best_of(letters, key, np.zeros(right.shape))] == pytest.approx([0] * 4)
    for one in best_of(letters, key, rng.random(right.shape))[1:]:
        assert one.ci is not None and one.ci[0] < right.mean() < one.ci[1]
        assert one.ci_gain is not None and one.ci_gain[0] < 0 < one.ci_gain[1]


def test_entropy_by_question_is_that_of_a_sample_of_letters() -> None:
    rng = np.random.default_rng(4)
    letters = rng.integers(-1, 3, (12, 20)).astype(np.int8)
    counts = np.stack([(letters == code).sum(axis=0) for code in range(3)], axis=-1)
    found = variabilities(counts, (letters == -1).sum(axis=0), [3] * 20)
    for question, one in enumerate(found):
        same = choices.describe(ChoiceSample(letters[:, question], 3, 0, None))
        assert one.entropy == pytest.approx(same.entropy)
        assert one.ci == (None if same.entropy_ci is None else pytest.approx(same.entropy_ci))


def test_questions_without_letters_or_with_one_have_no_interval() -> None:
    none, one = variabilities(np.array([[0, 0], [9, 0]]), np.array([9, 0]), [2, 2])
    assert (none.entropy, none.ci) == (None, None)
    assert one.entropy == 0 and one.ci is None and one.ci_why
