"""The export tables and their rows, and the one gate, which audits every file that leaves."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import F, IntegerField, QuerySet, Subquery
from django.http import Http404

from analysis.answers.kept import answer_stamp, keep
from analysis.answers.readings import unread
from analysis.exports.annotation_tables import annotation_tables
from analysis.exports.answer_tables import answer_tables
from analysis.exports.codebook import Codebook, ExportColumn, ExportTable, Row, imported_questions, read_version
from analysis.exports.formats import FORMATS, Chunks, Format
from analysis.exports.model_tables import model_tables
from analysis.exports.people_tables import PID, Selection, people_tables
from surveys.models import AuditEvent, Study
from surveys.studies import audit
from surveys.studies.access import Role, study_for

# The last only in studies with annotation.
PEOPLE_TABLES, ANSWER_TABLES, MODEL_TABLES, ANNOTATION_TABLES = (
    tuple(table.name for table in tables)
    for tables in (people_tables((), []), answer_tables(()), model_tables(), annotation_tables())
)
TABLES = (*PEOPLE_TABLES, *ANSWER_TABLES, *MODEL_TABLES)
KEPT = ("responses", "timings", "readings", "mentions", "read_backs", "read_back_names")
UNREAD = "unread texts"
FORMAT, MANIFEST = 1, audit.MANIFEST


def codebook_of(study: Study, pids: bool = False) -> Codebook:
    """Describe the study's tables over all its versions."""
    versions = tuple(read_version(row) for row in study.versions.order_by("number"))
    tables = [*people_tables(versions, imported_questions(study)), *answer_tables(versions), *model_tables()]
    if any(version.definition.annotation for version in versions):
        tables += annotation_tables()
    found = {table.name: with_pids(table) if pids else table for table in tables}
    return Codebook(study.slug, study.title, versions, found)


def with_pids(table: ExportTable) -> ExportTable:
    place = next((n for n, column in enumerate(table.columns, 1) if column.name == "participant"), 0)
    return replace(table, columns=(*table.columns[:place], PID, *table.columns[place:])) if place else table


# --- rows ---------------------------------------------------------------------


def rows_of(study: Study, table: ExportTable, selection: Selection) -> Any:
    """Select rows as stored, oldest first; `reader_of` turns them into the codebook's columns."""
    rows = table.rows(study, selection)
    if not isinstance(rows, QuerySet):
        return rows
    fields: dict[str, Any] = {}
    for column in table.columns:
        if column.expression:
            fields[f"_{column.name}"] = column.expression(table.person)
        elif not (column.made or column.source):
            fields[f"_{column.name}"] = path_in(table, column.path or column.name)
        for need in (*column.needs, *column.source[:1]):
            fields[f"_{need.rpartition('__')[2]}"] = path_in(table, need)
    return rows.values(**fields)


def path_in(table: ExportTable, path: str) -> F:
    begin = "participant__"
    return F(table.person + path.removeprefix(begin) if path.startswith(begin) else path)


def count_rows(study: Study, table: ExportTable, selection: Selection) -> int:
    return int(table.rows(study, selection).count())


def stream_rows(study: Study, table: ExportTable, selection: Selection) -> Iterator[Row]:
    """Stream rows through a server-side cursor, so that at most `chunk` are in memory."""
    return map(reader_of(study, table), rows_of(study, table, selection).iterator(chunk_size=table.chunk))


def reader_of(study: Study, table: ExportTable) -> Callable[[Row], Row]:
    """Return a function that turns a row's values into the table's columns, in order."""

    def read(values: Row) -> Row:
        # `rows_of` prefixes an underscore, since a field of the model may have the name.
        row = {name.removeprefix("_"): value for name, value in values.items()} | {"study": study.slug}
        return {column.name: read_cell(row, column) for column in table.columns}

    return read


def read_cell(row: Row, column: ExportColumn) -> Any:
    if column.source:
        return read_source(row, column)
    value = column.made(row) if column.made else row[column.name]
    # Lists and mappings become JSON text, which every format can hold.
    return json.dumps(value, ensure_ascii=False) if column.kind == "json" else value


def read_source(row: Row, column: ExportColumn) -> Any:
    """Read the value under the column's path in a person's answers or checks; None for an integer that is none."""
    value: Any = row
    for key in column.source:
        value = value.get(key) if isinstance(value, Mapping) else None
    if column.kind != "integer" or value is None:
        return value
    return int(value) if str(value).isdecimal() else None


# --- files --------------------------------------------------------------------


@dataclass(frozen=True)
class Export:
    """A permitted and audited (`event`) export of one table in one format; `rows` as counted at the request."""

    study: Study
    table: ExportTable
    kind: str
    selection: Selection
    rows: int
    event: AuditEvent

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
    """Find the study, if the account may export it; otherwise 404, or 403 if a viewer asks for PIDs."""
    return study_for(user, slug, Role.RESEARCHER if pids else Role.VIEWER)


def note_export(study: Study, actor: str, file: str, pids: bool = False, **held: Any) -> AuditEvent:
    """Audit a file that leaves: who took it, and what it holds."""
    return audit.record(study, actor, "exported", file, pids=pids, **held)


def open_export(
    user: AbstractBaseUser | AnonymousUser, slug: str, table: str, kind: str, selection: Selection
) -> Export:
    """Open the export, if the account may have it; otherwise 404, or 403 if a viewer asks for PIDs."""
    study = open_study(user, slug, pids=selection.pids)
    if table not in (tables := tuple(codebook_of(study).tables)):
        raise Http404(f"There is no table {table}. The tables are {', '.join(tables)}.")
    if kind not in FORMATS:
        raise Http404(f"There is no format {kind}. The formats are {', '.join(FORMATS)}.")
    return begin_export(study, user.get_username(), table, kind, selection)


def begin_export(study: Study, actor: str, table: str, kind: str, selection: Selection) -> Export:
    described = codebook_of(study, selection.pids).tables[table]
    rows = count_rows(study, described, selection)
    event = note_export(study, actor, f"{table}.{kind}", rows=rows, **asdict(selection))
    return Export(study, described, kind, selection, rows, event)


def count_tables(study: Study, tables: Mapping[str, ExportTable], selection: Selection) -> tuple[dict[str, int], int]:
    """Count the rows of each table, and unread texts, in few statements."""
    kept = count_answers(study, tables, selection)
    rows = {name: table.rows(study, selection) for name, table in tables.items() if name not in kept}
    plain = {name: getattr(table, "counted", table) for name, table in rows.items()}
    together = count_together(study, {name: query for name, query in plain.items() if isinstance(query, QuerySet)})
    counts = {name: table.count() for name, table in rows.items() if name not in together} | together | kept
    return {name: counts[name] for name in tables}, kept[UNREAD]


def count_answers(study: Study, tables: Mapping[str, ExportTable], selection: Selection) -> dict[str, int]:
    """Count rows of the tables of accepted answers, and unread texts; cached until an answer or a spelling changes."""
    name = f"rows-{selection.pilot:d}{selection.preview:d}{selection.simulated:d}"
    stamp = json.dumps([answer_stamp(study), tables["mentions"].rows(study, selection).spellings], sort_keys=True)

    def compute() -> dict[str, int]:
        return {name: count_rows(study, tables[name], selection) for name in KEPT} | {UNREAD: unread(study)}

    return keep(study, name, hashlib.sha256(stamp.encode()).hexdigest(), compute)


class RowCount(Subquery):
    """Number of rows of a query."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def count_together(study: Study, queries: Mapping[str, QuerySet]) -> dict[str, int]:
    """Count the rows of each query in one statement."""
    counted = (RowCount(query.order_by().values("pk")) for query in queries.values())
    return dict(zip(queries, Study.objects.values_list(*counted).get(pk=study.pk), strict=True))


def write_export(export: Export, folder: Path) -> dict[str, Any]:
    """Write the file and return its manifest line."""
    return write_measured(folder, f"{export.table.name}.{export.kind}", export.chunks())


class MeasuredFile:
    """The chunks of a file; once they are consumed, `line` is the file's manifest line."""

    def __init__(self, name: str, chunks: Chunks) -> None:
        self.name, self.chunks = name, chunks
        self.digest, self.size = hashlib.sha256(), 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            self.digest.update(chunk)
            self.size += len(chunk)
            yield chunk

    @property
    def line(self) -> dict[str, Any]:
        return {"name": self.name, "bytes": self.size, "sha256": self.digest.hexdigest()}


def manifest_of(study: Study, files: list[dict[str, Any]]) -> bytes:
    """Write the manifest of an export or bundle: its files, and the head of the audit trail at that time."""
    manifest = {"format": FORMAT, "study": study.slug, "audit": audit.head_of(study), "files": files}
    return json.dumps(manifest, indent=2).encode()


def write_measured(folder: Path, name: str, chunks: Chunks) -> dict[str, Any]:
    """Write any file and return its manifest line."""
    measured = MeasuredFile(name, chunks)
    write_whole(folder / name, measured)
    return measured.line


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write the file under a temporary name and rename it once it is complete."""
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
