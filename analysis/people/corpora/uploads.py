"""Files of conversations that come through the browser: kept part by part, then imported in one transaction."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Sum
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils import timezone

from analysis.models import CorpusUpload
from analysis.people.corpora.importing import ImportFailed, Report, import_corpus, note_origin
from analysis.people.corpora.kept import kept_files, listed, remove_kept
from surveys.studies.wording import plural

PART_BYTES = 4_000_000  # proxies and the server take that much at once
MOST_BYTES = 2_000_000_000
MOST_UNPACKED = 20_000_000_000
FAULTS_LISTED = 20
KEPT = timedelta(days=1)  # parts of a file whose rest never came
FOLDER = "uploads"


def begin_upload(**given: Any) -> CorpusUpload:
    return CorpusUpload.objects.create(**given)


def forget_stale() -> int:
    """Delete uploads that are older than KEPT, and files without an upload; return how many of the former."""
    old = CorpusUpload.objects.filter(created_at__lt=timezone.now() - KEPT)
    count = old.delete()[1].get("analysis.CorpusUpload", 0)
    folders, _ = listed(FOLDER)  # read before the rows, so that no upload that begins meanwhile is deleted
    known = set(CorpusUpload.objects.values_list("pk", flat=True))
    for folder in folders:
        if folder.isdecimal() and int(folder) not in known:
            remove_kept(f"{FOLDER}/{folder}")
    return count


def keep_part(upload: CorpusUpload, number: int, content: bytes) -> None:
    """Keep a part, once even if it comes again; all but the last have PART_BYTES. Raises ImportFailed."""
    if len(content) > PART_BYTES or number * PART_BYTES + len(content) > upload.size:
        raise ImportFailed(f"Part {number} of {upload.filename} is longer than announced.")
    try:
        name = kept_files().save(f"{folder_of(upload)}/{number}-{uuid4().hex}", ContentFile(content))
    except OSError as error:
        raise ImportFailed(
            f"Part {number} of {upload.filename} could not be kept: {error.strerror or error}."
        ) from None
    upload.parts.update_or_create(number=number, defaults={"file": name, "size": len(content)})


def folder_of(upload: CorpusUpload) -> str:
    return f"{FOLDER}/{upload.pk}"


@receiver(post_delete, sender=CorpusUpload)
def remove_files(instance: CorpusUpload, **facts: Any) -> None:
    transaction.on_commit(partial(remove_kept, folder_of(instance)), robust=True)


def is_complete(upload: CorpusUpload) -> bool:
    return upload.parts.aggregate(size=Sum("size"))["size"] == upload.size


def import_upload(upload: CorpusUpload, show: Callable[[float, int], None]) -> Report:
    """Import the file in one transaction; with `whole_only` a single fault leaves everything as it was.

    The parts are deleted afterwards in any case. Raises ImportFailed with the faults, a line each.
    """
    try:
        with _as_file(upload) as path:
            return _import(upload, path, show)
    finally:
        upload.delete()


def _import(upload: CorpusUpload, path: Path, show: Callable[[float, int], None]) -> Report:
    try:
        with transaction.atomic():
            report = import_corpus(upload.corpus_name, path, upload.format, None, show, most_bytes=MOST_UNPACKED)
            if report.faults and upload.whole_only:
                raise ImportFailed(_say_faults(upload, report))
            note_origin(upload.corpus_name, upload.source, upload.licence)
    except ImportFailed as failed:
        raise ImportFailed(str(failed).replace(str(path), upload.filename)) from None
    return report


def _say_faults(upload: CorpusUpload, report: Report) -> str:
    more = report.fault_count - FAULTS_LISTED
    lines = [
        f"{upload.filename}: nothing was imported. Faults: {report.fault_count:,}, beside "
        f"{plural(report.whole, 'conversation')} that can be read. Correct the file, or import without its "
        "faulty records.",
        *report.faults[:FAULTS_LISTED],
        *([f"and {more:,} more."] if more > 0 else []),
    ]
    return "\n".join(lines)


@contextmanager
def _as_file(upload: CorpusUpload) -> Iterator[Path]:
    """Put the file together on this worker's disk, where the importer can read it as often as it wants."""
    with ExitStack() as kept:
        try:
            folder = Path(settings.VAR_FOLDER) / "uploads"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = kept.enter_context(NamedTemporaryFile(dir=folder, suffix=Path(upload.filename).suffix[:20]))
            for name in upload.parts.order_by("number").values_list("file", flat=True):
                with kept_files().open(name) as part:
                    shutil.copyfileobj(part, file)
            file.flush()
        except OSError as error:
            why = error.strerror or error
            raise ImportFailed(
                f"{upload.filename} could not be written to the worker's disk ({why}). Make room and bring it again."
            ) from None
        yield Path(file.name)
