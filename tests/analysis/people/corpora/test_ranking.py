"""Choosing the nearest piece by piece finds what a full sort in double precision finds."""

import numpy as np
import pytest

from analysis.people.corpora.retrieval import Ranking


def unit_vectors(number: int, seed: int = 1, width: int = 24) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(number, width)).astype("float32")
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def names_of(matrix: np.ndarray) -> np.ndarray:
    return np.array([f"{number:06}" for number in range(len(matrix))], "S64")


def rank(matrix: np.ndarray, questions: np.ndarray, number: int, at_once: int) -> list[list[tuple[str, float]]]:
    ranking, names = Ranking(questions, number), names_of(matrix)
    for start in range(0, len(matrix), at_once):
        ranking.add(names[start : start + at_once], matrix[start : start + at_once])
    return ranking.best()


def sort_all(matrix: np.ndarray, questions: np.ndarray, number: int) -> list[list[str]]:
    exact = questions.astype("float64") @ matrix.astype("float64").T
    return [[names_of(matrix)[at].decode() for at in np.lexsort((np.arange(len(row)), -row))[:number]] for row in exact]


@pytest.mark.parametrize("at_once", [300, 100, 17, 1])
@pytest.mark.parametrize("number", [1, 10, 299, 300, 600])
def test_pieces_of_any_size_give_what_a_full_sort_gives(number: int, at_once: int) -> None:
    matrix, questions = unit_vectors(300), unit_vectors(7, seed=2)
    found = rank(matrix, questions, number, at_once)
    assert [[name for name, _ in row] for row in found] == sort_all(matrix, questions, number)
    for row, question in zip(found, questions, strict=True):
        assert [likeness for _, likeness in row] == pytest.approx(
            [float(matrix[int(name)] @ question) for name, _ in row], abs=1e-6
        )


def test_neighbours_that_single_precision_confuses_are_put_right() -> None:
    question = np.zeros((1, 24), "float32")
    question[0, :2] = 0.8, 0.6
    close = np.tile(question, (40, 1))
    close[:, 0] += np.arange(40, dtype="float32") * 6e-8  # a unit in the last place each: products round together
    shuffled = close[np.random.default_rng(3).permutation(40)]
    assert len(set((question @ shuffled.T).ravel().tolist())) < 40
    assert [[name for name, _ in row] for row in rank(shuffled, question, 15, 9)] == sort_all(shuffled, question, 15)


def test_equal_ones_stand_in_the_order_of_their_names() -> None:
    matrix = np.repeat(unit_vectors(3), 20, axis=0)
    [row] = rank(matrix, unit_vectors(1), 30, 7)
    assert [int(name) // 20 for name, _ in row] == sorted((int(name) // 20 for name, _ in row))
    assert [name for name, _ in row[:20]] == sorted(name for name, _ in row[:20])


def test_no_vectors_give_nothing_for_each_question() -> None:
    assert Ranking(unit_vectors(2), 5).best() == [[], []]
