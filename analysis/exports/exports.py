"""The one gate of every export: who may take which table in which format; it is noted in the audit trail."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404

from analysis.exports.codebook import Table, codebook_of
from analysis.exports.formats import FORMATS, Chunks, Format
from analysis.exports.tables import Row, Selection, count_rows, stream_rows
from surveys.access import audit
from surveys.access.access import Role, study_for
from surveys.models import Study


@dataclass(frozen=True)
class Export:
    """One table of one study in one format, allowed and noted; `rows` as counted when it was asked for."""

    study: Study
    table: Table
    kind: str
    selection: Selection
    rows: int

    @property
    def format(self) -> Format:
        return FORMATS[self.kind]

    @property
    def filename(self) -> str:
        return f"{self.study.slug}-{self.table.name}.{self.kind}"

    def stream_rows(self) -> Iterator[Row]:
        return stream_rows(self.study, self.table, self.selection)

    def chunks(self) -> Chunks:
        return self.format.chunks(self.table.columns, self.stream_rows())


def open_study(user: AbstractBaseUser | AnonymousUser, slug: str, pids: bool = False) -> Study:
    """The study, if this account may take files of it; else 404, or 403 when it is PIDs for a viewer."""
    return study_for(user, slug, Role.RESEARCHER if pids else Role.VIEWER)


def note_export(study: Study, actor: str, file: str, pids: bool = False, **held: int | bool) -> None:
    """What the audit trail says of every file that leaves: who took it, and what it holds."""
    audit.record(study, actor, "exported", file, pids=pids, **held)


def open_export(
    user: AbstractBaseUser | AnonymousUser, slug: str, table: str, kind: str, selection: Selection
) -> Export:
    """The export, if this account may have it; else 404, or 403 when it is PIDs for a viewer."""
    study = open_study(user, slug, pids=selection.pids)
    if table not in (tables := tuple(codebook_of(study).tables)):
        raise Http404(f"There is no table {table}. The tables are {', '.join(tables)}.")
    if kind not in FORMATS:
        raise Http404(f"There is no format {kind}. The formats are {', '.join(FORMATS)}.")
    return begin_export(study, user.get_username(), table, kind, selection)


def begin_export(study: Study, actor: str, table: str, kind: str, selection: Selection) -> Export:
    described = codebook_of(study, selection.pids).tables[table]
    export = Export(study, described, kind, selection, count_rows(study, table, selection))
    note_export(
        study,
        actor,
        f"{table}.{kind}",
        rows=export.rows,
        pids=selection.pids,
        pilot=selection.pilot,
        preview=selection.preview,
        simulated=selection.simulated,
    )
    return export


def count_tables(study: Study, selection: Selection) -> dict[str, int]:
    return {table: count_rows(study, table, selection) for table in codebook_of(study).tables}


def write_export(export: Export, folder: Path) -> Path:
    """Write the file under its final name only when it is whole."""
    path = folder / f"{export.table.name}.{export.kind}"
    write_whole(path, export.chunks())
    return path


def write_whole(path: Path, chunks: Chunks) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
