"""The file of a corpus' vectors is used only while it holds exactly what the database holds."""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from django.db import connection

from analysis.corpora import vectors
from analysis.corpora.vectors import (
    Rows,
    Stretch,
    files_folder,
    files_of,
    find_origins,
    keep_vectors,
    load_vectors,
    read_rows,
)
from analysis.models import Conversation, ConversationVector, Corpus
from tests.analysis.runs.baseline_factories import add_vectors, make_conversation, make_corpus

pytestmark = pytest.mark.django_db
MODEL = "made-up"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files come; all rows are one stretch, wherever the ids of this database have come to."""
    monkeypatch.setattr(vectors, "STRETCH", 2**40)
    settings.VAR_FOLDER = tmp_path / "var"
    return tmp_path / "var" / "vectors"


def numbered(number: int, first: int = 0) -> np.ndarray:
    """Vectors that are told apart by their first number."""
    matrix = np.zeros((number, 384), "float32")
    matrix[:, 0] = np.arange(first, first + number)
    return matrix


def make_embedded(number: int = 5, model: str = MODEL) -> Corpus:
    corpus = make_corpus()
    add_vectors([make_conversation(corpus, 1) for _ in range(number)], numbered(number), model)
    return corpus


def loaded(corpus: Corpus, model: str = MODEL) -> dict[str, float]:
    pieces = load_vectors(corpus, model)
    return {key.decode(): row[0] for piece in pieces for key, row in zip(*piece, strict=True)}


def file_of(corpus: Corpus) -> Path:
    [path] = files_of(corpus, MODEL)
    return path


def in_database(corpus: Corpus, model: str = MODEL) -> dict[str, float]:
    rows = ConversationVector.objects.filter(conversation__corpus=corpus, model=model)
    return {row.conversation.sha256: row.vector[0] for row in rows.select_related("conversation")}


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with each reading of vectors from the database."""
    done: list[str] = []

    def read(corpus: Corpus, model: str, user: str | None = None, stretches: object = None) -> Iterator[Rows]:
        done.append(model)
        return read_rows(corpus, model, user, stretches)

    monkeypatch.setattr(vectors, "read_rows", read)
    return done


@pytest.mark.parametrize("at_once", [2000, 5, 2])
def test_vectors_are_read_from_the_database_once(
    monkeypatch: pytest.MonkeyPatch, readings: list[str], at_once: int
) -> None:
    monkeypatch.setattr(vectors, "ROWS_AT_ONCE", at_once)
    monkeypatch.setattr(vectors, "STRETCH", at_once)
    corpus = make_embedded()
    first, second = loaded(corpus), loaded(corpus)

    assert first == second == in_database(corpus)
    assert readings == [MODEL]


def delete_one(corpus: Corpus) -> None:
    corpus.conversations.first().delete()


def add_one(corpus: Corpus) -> None:
    add_vectors([make_conversation(corpus, 1)], numbered(1, first=90))


def exchange_one(corpus: Corpus) -> None:
    delete_one(corpus)
    add_one(corpus)


def embed_again(corpus: Corpus) -> None:
    rows = list(corpus.conversations.all())
    ConversationVector.objects.all().delete()
    add_vectors(rows, numbered(len(rows), first=50))


def change_one_in_place(corpus: Corpus) -> None:
    ConversationVector.objects.filter(pk=ConversationVector.objects.first().pk).update(vector=numbered(1, 70)[0])


def move_one_away(corpus: Corpus) -> None:
    Conversation.objects.filter(pk=corpus.conversations.first().pk).update(corpus=make_corpus("another"))


def delete_all_vectors(corpus: Corpus) -> None:
    ConversationVector.objects.all().delete()


CHANGES = [delete_one, add_one, exchange_one, embed_again, change_one_in_place, move_one_away, delete_all_vectors]


@pytest.mark.parametrize("change", CHANGES)
def test_file_is_made_again_after_a_change(change: Callable[[Corpus], None], readings: list[str]) -> None:
    corpus = make_embedded()
    before = loaded(corpus)
    change(corpus)
    after = loaded(corpus)

    assert after == in_database(corpus) != before
    assert loaded(corpus) == after
    assert readings == [MODEL, MODEL]


def test_each_model_and_each_corpus_has_its_own_file(folder: Path) -> None:
    corpus = make_embedded()
    rows = list(corpus.conversations.all())
    add_vectors(rows, numbered(len(rows), first=20), "another model")
    other = make_corpus("another")
    add_vectors([make_conversation(other, 1)], numbered(1, first=40))

    for _ in range(2):
        assert set(loaded(corpus).values()) == {0, 1, 2, 3, 4}
        assert set(loaded(corpus, "another model").values()) == {20, 21, 22, 23, 24}
        assert set(loaded(other).values()) == {40}
    assert len(list(folder.iterdir())) == 3


def test_what_comes_between_looking_and_reading_is_in_the_files_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_embedded()

    def look_and_add(corpus: Corpus, model: str):
        origins = find_origins(corpus, model)
        add_one(corpus)
        return origins

    load_vectors(corpus, MODEL)
    add_one(corpus)
    monkeypatch.setattr(vectors, "find_origins", look_and_add)
    load_vectors(corpus, MODEL)  # the file holds a seventh row, which the look has not seen
    monkeypatch.setattr(vectors, "find_origins", find_origins)
    corpus.conversations.last().delete()

    assert loaded(corpus) == in_database(corpus)


def test_two_that_make_the_file_at_once_both_get_all(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    corpus = make_embedded()
    others: list[dict[int, Stretch]] = []

    def read_and_let_another_in(*arguments, **stretches) -> Iterator[Rows]:
        monkeypatch.setattr(vectors, "read_rows", read_rows)
        for rows in list(read_rows(*arguments, **stretches)):
            others.append(keep_vectors(corpus, MODEL))
            yield rows

    monkeypatch.setattr(vectors, "read_rows", read_and_let_another_in)
    mine = keep_vectors(corpus, MODEL)

    for found in (mine, *others):
        [kept] = found.values()
        assert sorted(kept.vectors.matrix[:, 0]) == [0, 1, 2, 3, 4]
    assert len(others) == 1
    assert list(folder.iterdir()) == [file_of(corpus)]
    assert loaded(corpus) == in_database(corpus)


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def spoil_heading(path: Path) -> None:
    path.write_bytes(b"\0" * 128 + path.read_bytes()[128:])


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("spoil", [cut_off, empty, spoil_heading, remove])
def test_broken_file_is_made_again(spoil: Callable[[Path], None], readings: list[str]) -> None:
    corpus = make_embedded()
    load_vectors(corpus, MODEL)
    spoil(file_of(corpus))

    assert loaded(corpus) == loaded(corpus) == in_database(corpus)
    assert readings == [MODEL, MODEL]


def test_file_is_made_again_after_a_start_of_the_computer(monkeypatch: pytest.MonkeyPatch, readings: list[str]) -> None:
    """After a crash, a file that nobody waited for may hold less than it seems to."""
    corpus = make_embedded()
    load_vectors(corpus, MODEL)
    monkeypatch.setattr(vectors, "find_boot", lambda: b"another")

    assert loaded(corpus) == loaded(corpus) == in_database(corpus)
    assert readings == [MODEL, MODEL]


@pytest.mark.parametrize(("boot", "waits"), [(b"known", 0), (b"", 1)])
def test_disk_is_waited_for_only_where_no_start_is_known(
    monkeypatch: pytest.MonkeyPatch, boot: bytes, waits: int
) -> None:
    waited: list[int] = []
    monkeypatch.setattr(vectors, "find_boot", lambda: boot)
    monkeypatch.setattr("analysis.corpora.vectors.os.fsync", waited.append)
    load_vectors(make_embedded(), MODEL)

    assert len(waited) == waits


def test_nothing_is_compared_where_there_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_embedded()
    looks: list[Corpus] = []
    monkeypatch.setattr(vectors, "find_origins", lambda corpus, model: looks.append(corpus))

    assert loaded(corpus) == in_database(corpus)
    assert looks == []


def test_loaded_vectors_outlive_their_file() -> None:
    corpus = make_embedded()
    [piece] = load_vectors(corpus, MODEL)
    embed_again(corpus)
    load_vectors(corpus, MODEL)
    corpus.delete()

    assert sorted(piece.matrix[:, 0]) == [0, 1, 2, 3, 4]


def test_only_the_owner_may_read_it(folder: Path) -> None:
    corpus = make_embedded()
    load_vectors(corpus, MODEL)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(corpus).stat().st_mode) == 0o600


def test_vectors_are_read_each_time_where_no_file_can_be(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.parent.mkdir()
    folder.write_text("not a folder")
    corpus = make_embedded()

    assert loaded(corpus) == loaded(corpus) == in_database(corpus)
    assert "read from the database every time" in caplog.text


def test_vectors_are_read_where_the_role_may_not_ask_which_database_it_is(caplog: pytest.LogCaptureFixture) -> None:
    corpus = make_embedded(3)
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE reads_rows_only")
        cursor.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reads_rows_only")
        cursor.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        cursor.execute("SET LOCAL ROLE reads_rows_only")
    assert sum(len(piece.matrix) for piece in load_vectors(corpus, MODEL)) == 3
    assert "permission denied" in caplog.text


def test_full_disk_leaves_nothing_and_is_no_failure(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(vectors, "ROWS_AT_ONCE", 1)

    def refuse(data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def full(*arguments, **options):
        file = NamedTemporaryFile(*arguments, **options)  # noqa: SIM115 - the caller closes it
        file.write = refuse
        return file

    monkeypatch.setattr("analysis.corpora.vectors.NamedTemporaryFile", full)
    corpus = make_embedded()

    assert loaded(corpus) == in_database(corpus)  # in the same transaction, which still works
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("delete", [Corpus.delete, lambda corpus: Corpus.objects.filter(pk=corpus.pk).delete()])
def test_files_go_with_their_corpus(folder: Path, delete: Callable[[Corpus], object]) -> None:
    corpus, other = make_embedded(), make_corpus("another")
    add_one(other)
    for one in (corpus, other):
        load_vectors(one, MODEL)
    delete(corpus)

    assert list(folder.iterdir()) == [file_of(other)]


def test_what_others_left_goes_when_a_file_is_made(folder: Path) -> None:
    gone = make_corpus("gone")
    add_one(gone)
    load_vectors(gone, MODEL)
    gone.conversations.all().delete()
    with connection.cursor() as cursor:  # as another server would: nobody here hears of it
        cursor.execute("DELETE FROM analysis_corpus WHERE id = %s", [gone.pk])
    corpus = make_embedded()
    stem = f"{vectors.stem_of(corpus, MODEL)}-0"
    begun, abandoned = folder / f"{stem}.begun.part", folder / f"{stem}.abandoned.part"
    for path in (begun, abandoned):
        path.touch()
    os.utime(abandoned, (time.time() - 7200,) * 2)
    load_vectors(corpus, MODEL)

    assert set(files_folder().iterdir()) == {file_of(corpus), begun}
