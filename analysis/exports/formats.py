"""File formats: each turns columns and rows into a file, in chunks of bytes."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from analysis.exports.codebook import ExportColumn

Rows = Iterable[dict[str, Any]]
Chunks = Iterator[bytes]
BLOCK = 1 << 16
# A row group is written when it has this many rows or this much text, whichever comes first.
GROUP_ROWS, GROUP_CHARACTERS = 2_000, 8_000_000
# Text that a spreadsheet would take for a formula, also behind apostrophes: those texts get one more, so that removing
# one restores every text exactly.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
# Content types of a figure's files, by extension.
FIGURE_FILES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}
# Characters that JSON leaves unescaped but some readers take for line ends.
LINE_ENDS = {sign: f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


def csv_chunks(columns: Sequence[ExportColumn], rows: Rows) -> Chunks:
    """Write UTF-8 without a byte order mark and CRLF between rows, as in RFC 4180."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([column.name for column in columns])
    for row in rows:
        writer.writerow([csv_cell(value) for value in row.values()])
        if buffer.tell() >= BLOCK:
            yield take(buffer)
    yield take(buffer)


def figure_csv(figure: Any) -> str:
    """Write a figure's table, a row for each mark; units are in the header."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([column.name for column in figure.columns])
    writer.writerows([csv_cell(row.get(column.name)) for column in figure.columns] for row in figure.table)
    return out.getvalue()


def take(buffer: io.StringIO) -> bytes:
    content = buffer.getvalue().encode()
    buffer.seek(0)
    buffer.truncate()
    return content


def csv_cell(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{value}" if FORMULA.match(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else value


def jsonl_chunks(columns: Sequence[ExportColumn], rows: Rows) -> Chunks:
    size, lines = 0, []
    for row in rows:
        line = json.dumps(row, ensure_ascii=False, default=datetime.isoformat)
        for sign, escaped in LINE_ENDS.items():
            line = line.replace(sign, escaped)
        lines.append(f"{line}\n")
        size += len(line)
        if size >= BLOCK:
            yield "".join(lines).encode()
            size, lines = 0, []
    yield "".join(lines).encode()


PARQUET_TYPES = {
    "text": pa.string(),
    "json": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "datetime": pa.timestamp("us", tz="UTC"),
}


def parquet_chunks(columns: Sequence[ExportColumn], rows: Rows) -> Chunks:
    """Write row groups of limited size, so that neither writer nor reader needs the whole table in memory."""
    schema = pa.schema([pa.field(c.name, PARQUET_TYPES[c.kind], metadata={"description": c.meaning}) for c in columns])
    with TemporaryFile() as file:
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for group in groups_of(rows):
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
        yield from read_back(file)


def groups_of(rows: Rows) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    characters = 0
    for row in rows:
        group.append(row)
        characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(group) >= GROUP_ROWS or characters >= GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def read_back(file: IO[bytes]) -> Chunks:
    file.seek(0)
    while block := file.read(BLOCK):
        yield block


# --- SPSS ---------------------------------------------------------------------
#
# pyreadstat wants the whole table, which may not fit into memory, so it gets one mapped from a file and reads it row by
# row. Texts longer than SPSS's limit of 32,767 bytes continue in further variables (`text`, `text_2`, …).

WIDEST = 32_767  # bytes that one string variable can hold
NUMERIC_FORMATS = {"integer": "F15.0", "number": "F15.3", "boolean": "F1.0", "datetime": "DATETIME24.3"}
EPOCH = datetime(1582, 10, 14, tzinfo=UTC)
LONGEST_LABEL, LONGEST_VALUE_LABEL = 250, 120  # bytes
YES_NO = {0.0: "no", 1.0: "yes"}


@dataclass(frozen=True)
class Variable:
    """A variable of an SPSS file; `width` is of its widest text in bytes, `piece` numbers a text's variables from 0."""

    column: ExportColumn
    name: str
    width: int
    piece: int


def sav_chunks(columns: Sequence[ExportColumn], rows: Rows) -> Chunks:
    """Write in two passes, since the longest texts decide the number of variables. Temporary files have no names."""
    columns = [column for column in columns if column.spss]
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as spool, TemporaryFile() as table, TemporaryFile() as sav:
        variables = list(arrange(columns, spool_cells(spool, columns, rows)))
        spool.seek(0)
        pyreadstat.write_sav(
            mapped_table(table, variables, map(json.loads, spool)),
            f"/dev/fd/{sav.fileno()}",
            row_compress=True,
            column_labels=[variable_label(variable.column) for variable in variables],
            variable_value_labels={v.name: value_labels(v) for v in variables},
            variable_format={v.name: NUMERIC_FORMATS[v.column.kind] for v in variables if not is_text(v.column)},
        )
        yield from read_back(sav)


def spool_cells(spool: IO[str], columns: Sequence[ExportColumn], rows: Rows) -> list[list[int]]:
    """Write each row's cells as a line of JSON; return the widths of each column's pieces of text."""
    widths: list[list[int]] = [[0] for _ in columns]
    for row in rows:
        cells = {column.name: cell_of(column, row[column.name]) for column in columns}
        for number, cell in enumerate(cells.values()):
            if isinstance(cell, list):
                sizes = [len(piece.encode()) for piece in cell]
                widths[number] = [max(pair) for pair in zip_longest(widths[number], sizes, fillvalue=0)]
        spool.write(json.dumps(cells, ensure_ascii=False) + "\n")
    return widths


def mapped_table(file: IO[bytes], variables: Sequence[Variable], rows: Rows) -> pd.DataFrame:
    """Map the table from a file, so that only the part being read is in memory."""
    schema = pa.schema([(v.name, pa.string() if is_text(v.column) else pa.float64()) for v in variables])
    with pa.ipc.new_file(file, schema) as writer:
        for group in groups_of({v.name: part_of(row[v.column.name], v.piece) for v in variables} for row in rows):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
    file.flush()
    mapped = pa.py_buffer(mmap(file.fileno(), 0, access=ACCESS_READ))
    frame: pd.DataFrame = pa.ipc.open_file(mapped).read_all().to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def is_text(column: ExportColumn) -> bool:
    return column.kind in ("text", "json")


def cell_of(column: ExportColumn, value: Any) -> list[str] | float | None:
    """Return a text as its pieces, any other value as a number."""
    if is_text(column):
        return list(split_text("" if value is None else str(value)))
    if value is None:
        return None
    return (value - EPOCH).total_seconds() if isinstance(value, datetime) else float(value)


def part_of(cell: list[str] | float | None, piece: int) -> str | float | None:
    if isinstance(cell, list):
        return cell[piece] if piece < len(cell) else ""
    return cell


def split_text(text: str) -> Iterator[str]:
    """Yield pieces of at most WIDEST bytes, cut between characters and not after blanks: SPSS drops trailing ones."""
    content, start = text.encode(), 0
    while len(content) - start > WIDEST:
        piece = content[start : start + WIDEST].decode(errors="ignore")
        piece = piece.rstrip(" ") or piece
        start += len(piece.encode())
        yield piece
    yield content[start:].decode()


def arrange(columns: Sequence[ExportColumn], widths: Sequence[Sequence[int]]) -> Iterator[Variable]:
    names = {column.name.casefold() for column in columns}
    for column, pieces in zip(columns, widths, strict=True):
        for piece, width in enumerate(pieces):
            name = free_name(f"{column.name}_{piece + 1}", names) if piece else column.name
            yield Variable(column, name, width, piece)


def free_name(name: str, names: set[str]) -> str:
    while name.casefold() in names:
        name += "_"
    names.add(name.casefold())
    return name


def variable_label(column: ExportColumn) -> str:
    return cut(f"{column.meaning} ({column.unit})" if column.unit else column.meaning, LONGEST_LABEL)


def value_labels(variable: Variable) -> dict[Any, str]:
    """Map values to labels, without values in no row that pyreadstat, which counts characters, would find too long."""
    if variable.column.kind == "boolean":
        return dict(YES_NO)
    if not is_text(variable.column):
        return {}
    return {
        value: cut(label, LONGEST_VALUE_LABEL)
        for value, label in variable.column.levels.items()
        if label and label != value and (value.isascii() or len(value.encode()) <= variable.width)
    }


def cut(text: str, most: int) -> str:
    """Cut to `most` bytes of UTF-8, never within a character."""
    return " ".join(text.split()).encode()[:most].decode(errors="ignore")


# --- all ----------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    chunks: Callable[[Sequence[ExportColumn], Rows], Chunks]
    content_type: str
    label: str


FORMATS = {
    "csv": Format(csv_chunks, "text/csv; charset=utf-8", "CSV"),
    "jsonl": Format(jsonl_chunks, "application/jsonl", "JSONL"),
    "parquet": Format(parquet_chunks, "application/vnd.apache.parquet", "Parquet"),
    "sav": Format(sav_chunks, "application/x-spss-sav", "SPSS"),
}
