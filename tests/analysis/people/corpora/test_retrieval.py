"""The nearest conversations: exact, in memory and in the database, and through the approximate index."""

import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analysis.models import Corpus
from analysis.people.corpora.retrieval import (
    Ranking,
    Scope,
    build_index,
    measure_recall,
    nearest,
    nearest_to_many,
    read_vectors,
)
from tests.analysis.runs.baseline_factories import add_vectors, embed_all, make_conversation, make_corpus, use_letters

pytestmark = pytest.mark.django_db


def unit_vectors(number: int, seed: int = 1, width: int = 384) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(number, width)).astype("float32")
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def make_embedded(number: int, name: str = "corpus") -> tuple[Corpus, np.ndarray, list[str]]:
    corpus, matrix = make_corpus(name), unit_vectors(number)
    rows = [make_conversation(corpus, 1) for _ in range(number)]
    add_vectors(rows, matrix)
    connection.check_constraints()  # pending checks would block the index
    return corpus, matrix, [row.sha256 for row in rows]


def read_all(corpus: Corpus, model: str = "made-up") -> dict[str, np.ndarray]:
    pieces = list(read_vectors(corpus, model))
    assert all(piece.matrix.dtype == np.float32 for piece in pieces)
    return {key.decode(): row for piece in pieces for key, row in zip(piece.hashes, piece.matrix, strict=True)}


@pytest.mark.parametrize("at_once", [2000, 5, 2])
def test_vectors_come_back_as_they_went_in(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr("analysis.people.corpora.retrieval.ROWS_AT_ONCE", at_once)
    corpus, matrix, hashes = make_embedded(5)
    make_embedded(3, "another")
    loaded = read_all(corpus)
    assert loaded.keys() == set(hashes)
    assert all(np.array_equal(loaded[key], row) for key, row in zip(hashes, matrix, strict=True))
    assert read_all(corpus, "another model") == {}


def test_a_shorter_hash_moves_no_other() -> None:
    corpus, matrix, hashes = make_embedded(3)
    corpus.conversations.filter(sha256=hashes[1]).update(sha256="short")
    loaded = {key.strip(): row for key, row in read_all(corpus).items()}
    assert all(
        np.array_equal(loaded[key], row) for key, row in zip([hashes[0], "short", hashes[2]], matrix, strict=True)
    )


def test_nearest_are_those_of_a_sorted_product() -> None:
    corpus, matrix, hashes = make_embedded(40)
    questions = unit_vectors(3, seed=2)
    expected = [[hashes[at] for at in np.argsort(-(matrix @ question))[:5]] for question in questions]
    many = nearest_to_many(corpus, "made-up", questions, 5)
    single = [nearest(corpus, "made-up", question, 5) for question in questions]
    assert [[near.sha256 for near in row] for row in many] == expected
    assert [[near.sha256 for near in row] for row in single] == expected
    assert many[0][0].similarity == pytest.approx(float(np.max(matrix @ questions[0])), abs=1e-6)


@pytest.mark.parametrize("approximate", [False, True])
def test_of_equally_near_ones_the_first_by_hash_are_found(approximate: bool) -> None:
    corpus = make_corpus()
    rows = [make_conversation(corpus, 1) for _ in range(40)]
    add_vectors(rows, np.repeat(unit_vectors(2), 20, axis=0))
    connection.check_constraints()
    build_index()
    found = nearest(corpus, "made-up", unit_vectors(2)[1], 5, approximate)
    assert [near.sha256 for near in found] == sorted(row.sha256 for row in rows[20:])[:5]


def test_empty_corpus_gives_nothing_for_each_question() -> None:
    assert nearest_to_many(make_corpus("empty"), "made-up", unit_vectors(2), 5) == [[], []]


def test_one_users_conversations_are_searched_alone() -> None:
    corpus = make_corpus()
    rows = [make_conversation(corpus, 1, user=user) for user in ("ann", "bob", "ann")]
    add_vectors(rows, unit_vectors(3))
    [found] = nearest_to_many(corpus, "made-up", unit_vectors(1, seed=2), 10, Scope("ann"))
    assert {near.sha256 for near in found} == {rows[0].sha256, rows[2].sha256}


def test_index_is_used_only_when_asked_for() -> None:
    corpus, _, _ = make_embedded(300)
    build_index()
    queries: list[str] = []

    def explain(execute, query, params, many, context):
        if "<#>" in query and "EXPLAIN" not in query:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {query}", params)
                queries.append("\n".join(row[0] for row in cursor.fetchall()))
        return execute(query, params, many, context)

    with connection.execute_wrapper(explain):
        exact = nearest(corpus, "made-up", unit_vectors(1, seed=2)[0], 10)
        approximate = nearest(corpus, "made-up", unit_vectors(1, seed=2)[0], 10, approximate=True)
    assert "vectors_by_likeness" not in queries[0]
    assert "vectors_by_likeness" in queries[1]
    assert len(approximate) == len(exact) == 10


def test_recall_is_the_share_that_the_index_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, _, _ = make_embedded(60)
    build_index()
    assert measure_recall(corpus, "made-up", 10) == pytest.approx(1.0, abs=0.02)
    assert measure_recall(make_corpus("empty"), "made-up", 10) is None
    original = nearest
    monkeypatch.setattr(
        "analysis.people.corpora.retrieval.nearest",
        lambda corpus, model, question, number, approximate=False: original(corpus, model, question, number)[
            : 4 if approximate else None
        ],
    )
    assert measure_recall(corpus, "made-up", 10) == pytest.approx(0.4)


def test_search_shows_the_nearest_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use_letters(monkeypatch)
    corpus = make_corpus()
    for text in ("aaaa", "bbbb", "aabb"):
        make_conversation(corpus, messages=[{"role": "user", "content": text}, {"role": "assistant", "content": "yes"}])
    embed_all(corpus)
    call_command("search_corpus", "corpus", "aaa", "--number", "2", "--json")
    report = json.loads(capsys.readouterr().out)
    assert [near["begins"] for near in report["nearest"]] == ["aaaa", "aabb"]
    # (1, 0) and (1, 1) / sqrt(2): cosines 1 and 0.7071
    assert [near["similarity"] for near in report["nearest"]] == pytest.approx([1, 0.7071], abs=1e-4)


def test_search_without_embeddings_says_how_to_make_them() -> None:
    make_conversation(make_corpus())
    with pytest.raises(CommandError, match="manage.py embed_corpus corpus"):
        call_command("search_corpus", "corpus", "tea")


# --- piece by piece: what a full sort in double precision finds


def names_of(matrix: np.ndarray) -> np.ndarray:
    return np.array([f"{number:06}" for number in range(len(matrix))], "S64")


def rank(matrix: np.ndarray, questions: np.ndarray, number: int, at_once: int) -> list[list[tuple[str, float]]]:
    ranking, names = Ranking(questions, number), names_of(matrix)
    for start in range(0, len(matrix), at_once):
        ranking.add(names[start : start + at_once], matrix[start : start + at_once])
    return ranking.best()


def sort_all(matrix: np.ndarray, questions: np.ndarray, number: int) -> list[list[str]]:
    exact = questions.astype("float64") @ matrix.astype("float64").T
    names = names_of(matrix)
    return [[names[at].decode() for at in np.lexsort((np.arange(len(row)), -row))[:number]] for row in exact]


@pytest.mark.parametrize("at_once", [300, 100, 17, 1])
@pytest.mark.parametrize("number", [1, 10, 299, 300, 600])
def test_pieces_of_any_size_give_what_a_full_sort_gives(number: int, at_once: int) -> None:
    matrix, questions = unit_vectors(300, width=24), unit_vectors(7, 2, width=24)
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
    close[:, 0] += np.arange(40, dtype="float32") * 6e-8  # one unit in the last place each: some products round alike
    shuffled = close[np.random.default_rng(3).permutation(40)]
    assert len(set((question @ shuffled.T).ravel().tolist())) < 40
    assert [[name for name, _ in row] for row in rank(shuffled, question, 15, 9)] == sort_all(shuffled, question, 15)


def test_equal_ones_stand_in_the_order_of_their_names() -> None:
    matrix = np.repeat(unit_vectors(3, width=24), 20, axis=0)
    [row] = rank(matrix, unit_vectors(1, width=24), 30, 7)
    assert [int(name) // 20 for name, _ in row] == sorted((int(name) // 20 for name, _ in row))
    assert [name for name, _ in row[:20]] == sorted(name for name, _ in row[:20])
