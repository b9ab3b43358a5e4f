"""Files uploaded in the browser are imported once, whatever arrives twice, late or at the same time."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, connections, models
from django.utils import timezone

from analysis.models import Conversation, Corpus, CorpusStep, CorpusUpload
from analysis.models.corpora import UploadPart
from analysis.people import tasks
from analysis.people.corpora.kept import list_kept
from analysis.people.corpora.uploads import begin_upload, keep_part
from analysis.people.pages import source_views
from analysis.people.steps import step_of
from surveys.models import AuditEvent, Study
from tests.analysis.training.training_samples import keep_in
from tests.factories import make_study
from tests.roles import as_account, make_roles
from tests.surveys.console.console_pages import lines_of

pytestmark = pytest.mark.django_db(transaction=True)
ABOUT = {"name": "mine", "format": "wildchat", "source": "A friend", "licence": "MIT"}


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    keep_in(settings, tmp_path / "var")
    study = make_study("draft")
    make_roles(study)
    return study


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Orders to workers, in sequence."""
    ordered: list[tuple[Any, ...]] = []
    monkeypatch.setattr(source_views.people_step, "delay", lambda *given: ordered.append(given))
    monkeypatch.setattr(tasks.people_step, "apply_async", lambda given, countdown: ordered.append(given))
    return ordered


def work(queue: list[tuple[Any, ...]]) -> None:
    tasks.people_step(*json.loads(json.dumps(queue.pop(0))))


def line(user: str = "ann") -> bytes:
    said = [{"role": "user", "content": f"Hi, I am {user}"}, {"role": "assistant", "content": "Hello"}]
    return json.dumps({"hashed_ip": user, "conversation": said}).encode() + b"\n"


def send(content: bytes, **changes: Any) -> str:
    client, about = as_account("researcher"), ABOUT | {"filename": "chats.jsonl", "size": str(len(content))} | changes
    where = client.post("/console/teas/people/uploads/new/", about).json()["address"]
    assert client.post(f"{where}?part=0", content, content_type="application/octet-stream").status_code == 200
    return where


def imported() -> CorpusStep:
    return CorpusStep.objects.get(name="import")


def test_end_that_is_sent_again_is_one_import(study: Study, queue: list) -> None:
    """Until then its parts are in the store, whichever web server took them; the database has their names and sizes."""
    where = send(line())
    part = UploadPart.objects.get()
    with storages["kept"].open(part.file) as file:
        assert (file.read(), part.size) == (line(), len(line()))
    answers = [as_account("researcher").post(f"{where}?end=1").json() for _ in range(2)]
    assert len(queue) == 1 and AuditEvent.objects.filter(action="corpus uploaded").count() == 1
    work(queue)
    answers.append(as_account("researcher").post(f"{where}?end=1").json())
    assert answers == [{"address": "/console/teas/people/mine/"}] * 3 and not queue
    assert (imported().state, imported().report["new"]) == ("done", 1) and list(list_kept("uploads")) == []
    assert as_account("owner").post(f"{where}?end=1").status_code == 404  # another account's


def test_order_that_is_delivered_twice_leaves_what_came_of_it(study: Study, queue: list) -> None:
    as_account("researcher").post(f"{send(line())}?end=1")
    queue *= 2
    work(queue)
    work(queue)
    assert (imported().state, imported().report["new"], imported().reason) == ("done", 1, "")


def test_file_whose_order_came_too_late_is_asked_for_again(study: Study, queue: list) -> None:
    as_account("researcher").post(f"{send(line())}?end=1")
    CorpusUpload.objects.all().delete()
    work(queue)
    assert (imported().state, imported().reason) == ("failed", "The file is not here any more. Bring it again.")


def test_second_file_waits_for_the_first(study: Study, queue: list) -> None:
    for user in ("ann", "bob"):
        as_account("researcher").post(f"{send(line(user))}?end=1")
    first, second = queue
    with elsewhere(Corpus.objects.get()):
        queue[:] = [second]
        work(queue)
        assert queue == [tuple(json.loads(json.dumps(second)))] and not Conversation.objects.exists()
    queue.insert(0, first)
    work(queue)
    work(queue)
    assert {row.user for row in Conversation.objects.all()} == {"ann", "bob"}


@contextmanager
def elsewhere(corpus: Corpus) -> Iterator[None]:
    """Hold the corpus's lock, as another worker does while it works on it."""
    with closing(connections.create_connection("default")) as beside:
        with beside.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('people'), %s)", [corpus.pk])
        yield


def test_busy_corpus_is_told_before_a_file_is_sent(study: Study, queue: list) -> None:
    own = get_user_model().objects.get(username="researcher")
    corpus = Corpus.objects.create(name="mine", format="wildchat", owner=own)
    client, words = as_account("researcher"), "A step is running for mine; wait until it is over."
    with step_of(corpus, "filter", {}, "somebody"):
        answer = client.post("/console/teas/people/uploads/new/", ABOUT | {"filename": "x.jsonl", "size": "9"})
        assert (answer.status_code, answer.json()) == (422, {"faults": [f"Name: {words}"]})
        page = client.post("/console/teas/people/", ABOUT | {"file": SimpleUploadedFile("x.jsonl", line())})
    assert page.status_code == 422 and words in lines_of(page)
    assert not CorpusUpload.objects.exists()


def test_empty_and_enormous_files_are_told_in_words(study: Study) -> None:
    def fault(size: str) -> str:
        about = ABOUT | {"filename": "x.jsonl", "size": size}
        return as_account("researcher").post("/console/teas/people/uploads/new/", about).json()["faults"][0]

    assert fault("0") == "Size: The file is empty."
    assert fault("9" * 30) == "Size: Read a file of more than 2 GB on the server."
    assert fault("1e9") == "Size: Enter a whole number."


def test_file_whose_rest_never_came_is_forgotten_after_a_day_and_what_no_upload_owns(study: Study) -> None:
    for user in ("ann", "bob"):
        send(line(user))
    storages["kept"].save("uploads/987654321/0-part", ContentFile(line()))  # as a killed server leaves it
    old = CorpusUpload.objects.earliest("pk")
    CorpusUpload.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(hours=25))
    assert tasks.forget_stale_uploads() == 1
    assert not UploadPart.objects.filter(upload=old.pk).exists() and CorpusUpload.objects.count() == 1
    assert {name.split("/")[1] for name in list_kept("uploads")} == {str(CorpusUpload.objects.get().pk)}
    beat = django_settings.CELERY_BEAT_SCHEDULE["forget-uploads"]
    assert beat["task"] == tasks.forget_stale_uploads.name


def test_disk_that_is_full_is_told_in_words(study: Study, queue: list, settings: Any, tmp_path: Any) -> None:
    as_account("researcher").post(f"{send(line())}?end=1")
    (tmp_path / "uploads").write_text("a file where the folder should be")
    settings.VAR_FOLDER = tmp_path
    work(queue)
    assert imported().state == "failed"
    assert imported().reason.startswith("chats.jsonl could not be written to the worker's disk (")


def test_parts_in_any_order_make_the_same_file(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.people.corpora.uploads.PART_BYTES", 40)
    content = line() + line("bob")
    upload = begin_upload(corpus_name="mine", format="wildchat", filename="chats.jsonl", size=len(content))
    for place in reversed(range(0, len(content), 40)):
        keep_part(upload, place // 40, content[place : place + 40])
    Corpus.objects.create(name="mine", format="attributes")
    tasks.people_step(Corpus.objects.get().pk, "import", {"upload": upload.pk, "file": "chats.jsonl"}, "researcher")
    assert Conversation.objects.count() == 2


def test_store_that_is_full_is_told_in_words(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    about = ABOUT | {"filename": "chats.jsonl", "size": "9"}
    where = as_account("researcher").post("/console/teas/people/uploads/new/", about).json()["address"]

    def full(*given: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "_save", full)
    answer = as_account("researcher").post(f"{where}?part=0", b"x", content_type="application/octet-stream")
    told = "Part 0 of chats.jsonl could not be kept: No space left on device."
    assert (answer.status_code, answer.json()) == (409, {"faults": [told]})
    page = as_account("researcher").post(
        "/console/teas/people/", ABOUT | {"file": SimpleUploadedFile("chats.jsonl", line())}
    )
    assert page.status_code == 422 and told in lines_of(page)


def test_parts_that_wait_in_the_database_move_to_the_store(study: Study) -> None:
    upload = begin_upload(corpus_name="mine", format="wildchat", filename="chats.jsonl", size=9)
    move = import_module("analysis.migrations.0016_uploads_are_kept_files")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE earlier_part AS SELECT *, ''::bytea AS content FROM analysis_uploadpart")
        columns = "(id, number, upload_id, file, size, content)"
        cursor.execute(f"INSERT INTO earlier_part {columns} VALUES (1, 0, %s, '', 0, 'some text')", [upload.pk])

    class EarlierPart(models.Model):
        upload = models.ForeignKey(CorpusUpload, models.CASCADE, related_name="+")
        number = models.PositiveIntegerField()
        content = models.BinaryField()
        file = models.CharField(max_length=200)
        size = models.PositiveIntegerField()

        class Meta:
            app_label, db_table, managed = "earlier", "earlier_part", False

    apps = SimpleNamespace(get_model=lambda *name: EarlierPart)
    move.move_parts(apps, None)
    part = EarlierPart.objects.get()
    with storages["kept"].open(part.file) as file:
        assert (file.read(), part.size) == (b"some text", 9)
    part.content = b""
    part.save()
    move.return_parts(apps, None)
    assert bytes(EarlierPart.objects.get().content) == b"some text"
