"""Writing to a full disk, or where nothing may be written: one sentence, and no file that looks complete."""

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.models import Conversation, Corpus, CorpusUpload
from analysis.people.corpora.importing import ImportFailed
from analysis.people.corpora.uploads import begin_upload, import_upload, keep_part
from analysis.training.examples import Labelled, write_examples
from surveys.models import Study
from tests.factories import make_participant, make_response, make_study

pytestmark = pytest.mark.django_db
ROOM = 4_000  # bytes that a file may have


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file of this process grow beyond ROOM: a write fails as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # Python would keep half of what it compiles meanwhile
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def study(db: None) -> Study:
    study = make_study()
    text = "\n".join(f"{number}. Sencha {number * 7919}" for number in range(1, 4000))
    make_response(make_participant(study), text=text, keep=True)
    return study


COMMANDS: dict[str, tuple[Any, ...]] = {
    "export": ("export", "teas", "--tables", "responses", "--out", "there"),
    "bundle": ("bundle", "teas", "--texts", "there/bundle.zip"),
    "report": ("report", "teas", "--html", "there/report.html"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_on_a_full_disk_says_so_and_leaves_no_file(
    name: str, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    with pytest.raises(CommandError, match="there.*: cannot be written: File too large"), full_disk():
        call_command(*COMMANDS[name])
    left = [path for path in (tmp_path / "there").iterdir() if path.stat().st_size >= ROOM or path.suffix == ".part"]
    assert left == []


def test_examples_are_written_all_or_none(tmp_path: Path) -> None:
    rows = [Labelled("k", "", "g", split, "first " * 50, "second") for split in ("test", "train") for _ in range(9)]
    rows += [Labelled("k", "", "g", "train", "first " * 900, "second")]
    with pytest.raises(OSError, match="File too large"), full_disk():
        write_examples(tmp_path / "out", "set", "verifier", rows, "jsonl")
    assert list((tmp_path / "out").iterdir()) == []


def upload_of(content: bytes) -> CorpusUpload:
    upload = begin_upload(
        **{"corpus_name": "mine", "format": "wildchat", "source": "A friend", "licence": "MIT"},
        **{"filename": "chats.jsonl", "size": len(content), "whole_only": True, "created_by": "tests"},
    )
    keep_part(upload, 0, content)
    return upload


def conversations() -> bytes:
    said = [{"role": "user", "content": "Hi " * 999}, {"role": "assistant", "content": "Hello"}]
    return b"".join(json.dumps({"hashed_ip": f"{n}", "conversation": said}).encode() + b"\n" for n in range(9))


def check_nothing_is_kept(folder: Path) -> None:
    assert not CorpusUpload.objects.exists() and not Corpus.objects.exists() and not Conversation.objects.exists()
    assert not folder.is_dir() or list((folder / "uploads").iterdir()) == []


def test_upload_on_a_full_disk_is_refused_whole(tmp_path: Path, settings: Any) -> None:
    settings.VAR_FOLDER = tmp_path
    with pytest.raises(ImportFailed, match=r"could not be written to the worker's disk \(File too large\)"):
        upload = upload_of(conversations())
        with full_disk():
            import_upload(upload, lambda share, number: None)
    check_nothing_is_kept(tmp_path)


def test_upload_where_nothing_may_be_written_is_refused_whole(tmp_path: Path, settings: Any) -> None:
    settings.VAR_FOLDER = tmp_path / "file"
    settings.VAR_FOLDER.write_text("")
    with pytest.raises(ImportFailed, match=r"could not be written to the worker's disk \(Not a directory\)"):
        import_upload(upload_of(conversations()), lambda share, number: None)
    check_nothing_is_kept(settings.VAR_FOLDER)
