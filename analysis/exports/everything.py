"""Zip files streamed as they are made: tables of a study in one, with progress."""

import json
import time
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from io import RawIOBase
from itertools import product
from typing import Any

import redis
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404
from django.utils import timezone

from analysis.exports.codebook import Codebook, Row, as_document, as_markdown
from analysis.exports.exports import (
    MANIFEST,
    MeasuredFile,
    codebook_of,
    count_rows,
    manifest_of,
    note_export,
    open_study,
    stream_rows,
)
from analysis.exports.formats import FORMATS, Chunks
from analysis.exports.people_tables import Selection
from surveys.models import Study

ALL = "all"
KEPT = 60  # seconds for which progress is kept
OFTEN = 0.3  # seconds between two notes of progress

File = tuple[str, Chunks]  # name and content
Progress = Callable[[str, int], None]  # the file under way, and rows written so far


@dataclass(frozen=True)
class Everything:
    """A permitted and audited export of some or all tables of a study, in one or all formats."""

    study: Study
    selection: Selection
    kinds: tuple[str, ...]
    codebook: Codebook
    rows: int
    tables: tuple[str, ...]

    @property
    def filename(self) -> str:
        return f"{self.study.slug}-{name_of(self.tables, self.codebook)}"

    def chunks(self, progress: Progress = lambda file, rows: None) -> Chunks:
        return archived(self.study, self.contents(progress), [])

    def contents(self, progress: Progress) -> Iterator[File]:
        written = 0

        def counted(rows: Iterator[Row], file: str) -> Iterator[Row]:
            nonlocal written
            for row in rows:
                written += 1
                progress(file, written)
                yield row

        yield "codebook.md", iter([as_markdown(self.codebook).encode()])
        yield "codebook.json", iter([json.dumps(as_document(self.codebook), ensure_ascii=False, indent=2).encode()])
        for kind, table in product(self.kinds, (self.codebook.tables[name] for name in self.tables)):
            name = f"{table.name}.{kind}" if len(self.kinds) == 1 else f"{kind}/{table.name}.{kind}"
            rows = counted(stream_rows(self.study, table, self.selection), name)
            yield name, FORMATS[kind].chunks(table.columns, rows)


class Pieces(RawIOBase):
    """A write-only file that hands over its content as it arrives."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: Any) -> int:
        self.pieces.append(bytes(piece))
        return len(piece)

    def take(self) -> Chunks:
        pieces, self.pieces = self.pieces, []
        if content := b"".join(pieces):
            yield content


def archived(study: Study, files: Iterable[File], lines: list[dict[str, Any]]) -> Chunks:
    """Yield a zip of the files and their manifest, one piece in memory at a time; `lines` collects the manifest's."""
    out = Pieces()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, chunks in files:
            measured = MeasuredFile(name, chunks)
            with archive.open(entry_of(name), "w", force_zip64=True) as file:
                for chunk in measured:
                    file.write(chunk)
                    yield from out.take()
            lines.append(measured.line)
        archive.writestr(entry_of(MANIFEST), manifest_of(study, lines))
    yield from out.take()


def entry_of(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, timezone.now().timetuple()[:6])
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


def name_of(tables: Collection[str], codebook: Codebook) -> str:
    return "everything.zip" if len(tables) == len(codebook.tables) else "tables.zip"


def open_everything(
    user: AbstractBaseUser | AnonymousUser, slug: str, kind: str, selection: Selection, tables: Collection[str] = ()
) -> Everything:
    """Open an export of these tables, or all, in one format or `all`; refuse as `open_export` does.

    The audit trail names the tables if they are not all.
    """
    study = open_study(user, slug, pids=selection.pids)
    if kind != ALL and kind not in FORMATS:
        raise Http404(f"There is no format {kind}. The formats are {', '.join(FORMATS)} and {ALL}.")
    kinds = tuple(FORMATS) if kind == ALL else (kind,)
    codebook = codebook_of(study, selection.pids)
    if unknown := [name for name in tables if name not in codebook.tables]:
        raise Http404(f"There is no table {unknown[0]}. The tables are {', '.join(codebook.tables)}.")
    chosen = tuple(name for name in codebook.tables if name in tables or not tables)
    rows = len(kinds) * sum(count_rows(study, codebook.tables[name], selection) for name in chosen)
    held: dict[str, Any] = {"rows": rows, **asdict(selection)}
    if len(chosen) < len(codebook.tables):
        held["tables"] = list(chosen)
    note_export(study, user.get_username(), name_of(chosen, codebook), **held)
    return Everything(study, selection, kinds, codebook, rows, chosen)


# --- progress ----------------------------------------------------------------------


def _key(study: Study, user: Any) -> str:
    return f"everything:{study.pk}:{user.pk}"


def _store() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5)


def followed(made: Everything, user: Any) -> Chunks:
    """Yield the zip file in pieces and note its progress for `progress_of`."""
    key, last = _key(made.study, user), 0.0
    with _store() as store:

        def note(file: str, rows: int, is_done: bool = False) -> None:
            nonlocal last
            if is_done or time.monotonic() - last > OFTEN:
                last = time.monotonic()
                told = {"file": file, "rows": rows, "of": max(made.rows, rows), "done": is_done}
                store.set(key, json.dumps(told), ex=KEPT)

        try:
            note("codebook.md", 0)
            yield from made.chunks(note)
            note("", made.rows, is_done=True)
        except BaseException:  # such as a closed connection: nobody waits any more
            store.delete(key)
            raise


def forget_progress(study: Study, user: Any) -> None:
    """Forget the progress of the last download, when a new one begins."""
    with _store() as store:
        store.delete(_key(study, user))


def progress_of(study: Study, user: Any) -> dict[str, Any] | None:
    """Read progress of the account's newest download: file, rows written and in all, whether done; None without one."""
    with _store() as store:
        told = store.get(_key(study, user))
    return json.loads(told) if told else None
