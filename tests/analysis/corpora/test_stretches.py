"""Vectors are kept in files of stretches of rows: what a change costs, and that nothing of another moment is served."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from django.db import connection

from analysis.corpora import vectors
from analysis.corpora.retrieval import nearest_to_many
from analysis.corpora.vectors import Rows, files_folder, files_of, find_origins, load_vectors, read_rows, read_vectors
from analysis.models import ConversationVector, Corpus
from analysis.people.erasing import erase_user
from tests.analysis.corpora.test_vectors import (
    MODEL,
    add_one,
    cut_off,
    empty,
    in_database,
    loaded,
    numbered,
    remove,
    spoil_heading,
)
from tests.analysis.runs.baseline_factories import make_conversation, make_corpus

pytestmark = pytest.mark.django_db


@pytest.fixture
def stretched(tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Twelve rows in three stretches, with files; ann's two conversations stand in the first and the last."""
    settings.VAR_FOLDER = tmp_path
    monkeypatch.setattr(vectors, "STRETCH", 4)
    corpus = make_corpus()
    people = ["ann", *["bob"] * 10, "ann"]
    rows = [make_conversation(corpus, 1, user=user) for user in people]
    begin = next_stretch()
    ConversationVector.objects.bulk_create(
        ConversationVector(pk=begin + place, conversation=row, model=MODEL, vector=vector)
        for place, (row, vector) in enumerate(zip(rows, numbered(12), strict=True))
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('analysis_conversationvector_id_seq', %s)", [begin + 12])
    load_vectors(corpus, MODEL)
    assert len(files_of(corpus, MODEL)) == 3
    return corpus


def next_stretch() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('analysis_conversationvector_id_seq')")
        return (cursor.fetchone()[0] // 4 + 1) * 4


def rows_of(corpus: Corpus) -> list[ConversationVector]:
    return list(ConversationVector.objects.filter(conversation__corpus=corpus).order_by("pk"))


@pytest.fixture
def stretches_read(monkeypatch: pytest.MonkeyPatch) -> list[set[int] | None]:
    done: list[set[int] | None] = []

    def read(corpus: Corpus, model: str, user: str | None = None, stretches: object = None) -> Iterator[Rows]:
        done.append(None if stretches is None else set(stretches))
        return read_rows(corpus, model, user, stretches)

    monkeypatch.setattr(vectors, "read_rows", read)
    return done


def delete_place(place: int) -> Callable[[Corpus], set[int]]:
    def delete(corpus: Corpus) -> set[int]:
        row = rows_of(corpus)[place]
        row.conversation.delete()
        return {row.pk // 4}

    return delete


def change_place(place: int) -> Callable[[Corpus], set[int]]:
    def change(corpus: Corpus) -> set[int]:
        row = rows_of(corpus)[place]
        ConversationVector.objects.filter(pk=row.pk).update(vector=numbered(1, 70)[0])
        return {row.pk // 4}

    return change


def add_at_the_end(corpus: Corpus) -> set[int]:
    add_one(corpus)
    return {rows_of(corpus)[-1].pk // 4}


def exchange_the_middle(corpus: Corpus) -> set[int]:
    return delete_place(5)(corpus) | add_at_the_end(corpus)


def erase_ann(corpus: Corpus) -> set[int]:
    erase_user(corpus, "ann")
    left = rows_of(corpus)
    return {left[0].pk // 4, left[-1].pk // 4}


@pytest.mark.parametrize(
    "change", [delete_place(0), delete_place(6), change_place(9), add_at_the_end, exchange_the_middle, erase_ann]
)
def test_only_stretches_with_a_change_are_read(
    stretched: Corpus, stretches_read: list[set[int] | None], change: Callable[[Corpus], set[int]]
) -> None:
    before = loaded(stretched)
    changed = change(stretched)
    after = loaded(stretched)

    assert after == in_database(stretched) != before
    assert stretches_read == [changed] and len(changed) < 3
    assert loaded(stretched) == after and len(stretches_read) == 1


@pytest.mark.parametrize("spoil", [cut_off, empty, spoil_heading, remove])
def test_only_a_broken_file_is_made_again(
    stretched: Corpus, stretches_read: list[set[int] | None], spoil: Callable[[Path], None]
) -> None:
    spoil(sorted(files_of(stretched, MODEL))[1])

    assert loaded(stretched) == loaded(stretched) == in_database(stretched)
    assert [len(read or ()) for read in stretches_read] == [1]


def test_file_in_the_place_of_another_is_not_used(stretched: Corpus) -> None:
    first, second, _ = sorted(files_of(stretched, MODEL))
    second.write_bytes(first.read_bytes())

    assert loaded(stretched) == in_database(stretched)


def test_stretch_without_rows_leaves_no_file(stretched: Corpus, stretches_read: list[set[int] | None]) -> None:
    for row in rows_of(stretched)[4:8]:
        row.conversation.delete()

    assert loaded(stretched) == in_database(stretched)
    assert len(files_of(stretched, MODEL)) == 2 and stretches_read == []


def test_files_with_somebody_erased_are_gone_at_once(stretched: Corpus) -> None:
    middle = sorted(files_of(stretched, MODEL))[1]
    erase_user(stretched, "ann")

    assert files_of(stretched, MODEL) == [middle]
    assert sorted(loaded(stretched).values()) == list(range(1, 11))


def test_files_of_the_earlier_form_go_when_a_file_is_made_or_somebody_is_erased(stretched: Corpus) -> None:
    for act in (lambda: erase_user(stretched, "ann"), lambda: (add_one(stretched), load_vectors(stretched, MODEL))):
        old = files_folder() / f"{vectors.stem_of(stretched, MODEL)}.vectors"
        old.touch()
        act()
        assert not old.exists()


def test_what_moves_to_another_stretch_meanwhile_is_there_once(
    stretched: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the look, a row of a stretch whose file is whole goes into the one that is read next."""
    change_place(9)(stretched)
    moving = rows_of(stretched)[1]

    def read_after_the_move(*arguments, **stretches) -> Iterator[Rows]:
        monkeypatch.setattr(vectors, "read_rows", read_rows)
        last = rows_of(stretched)[-1]
        ConversationVector.objects.filter(pk=moving.pk).update(id=last.pk + 1)
        last.conversation.delete()
        return read_rows(*arguments, **stretches)

    monkeypatch.setattr(vectors, "read_rows", read_after_the_move)
    pieces = load_vectors(stretched, MODEL)

    assert sorted(key.decode() for piece in pieces for key in piece.hashes) == sorted(in_database(stretched))
    assert loaded(stretched) == in_database(stretched)


def test_any_sequence_of_changes_gives_what_a_fresh_reading_gives(
    stretched: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours that are equally near come in the same order, too."""
    dice = random.Random(4)
    questions = (numbered(2, first=1) + np.eye(2, 384, 1, "float32")) / 1000  # so that no similarity is above 1
    for _ in range(25):
        place = dice.randrange(len(rows_of(stretched)) - 1)
        dice.choice([delete_place(place), change_place(place), add_at_the_end, add_at_the_end, exchange_the_middle])(
            stretched
        )
        if dice.random() < 0.2:
            dice.choice([cut_off, remove])(dice.choice(files_of(stretched, MODEL)))
        found = nearest_to_many(stretched, MODEL, questions, 7)
        with monkeypatch.context() as fresh:
            fresh.setattr("analysis.corpora.retrieval.load_vectors", lambda *given: list(read_vectors(*given)))
            assert found == nearest_to_many(stretched, MODEL, questions, 7)


def test_corpus_that_is_written_to_at_each_look_is_read_from_the_database(
    stretched: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_and_add(corpus: Corpus, model: str):
        add_one(corpus)
        found = find_origins(corpus, model)
        add_one(corpus)
        return found

    monkeypatch.setattr(vectors, "find_origins", look_and_add)
    assert loaded(stretched) == in_database(stretched)
