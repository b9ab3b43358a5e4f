"""How a table becomes a file: each format takes columns and rows and gives the file in pieces of bytes."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from tempfile import TemporaryFile
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.exports.columns import Column
from analysis.exports.spss import write_sav

Rows = Iterable[dict[str, Any]]
Chunks = Iterator[bytes]
BLOCK = 1 << 16
# A row group is written when it has this many rows or this much text, whichever comes first.
GROUP_ROWS, GROUP_CHARACTERS = 2_000, 8_000_000
# What a spreadsheet would take for a formula, also behind apostrophes: as these get one more, taking one away
# gives every text back to the letter.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
# Ends of lines to some readers although JSON lets them stand.
LINE_ENDS = {sign: f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


def csv_chunks(columns: Sequence[Column], rows: Rows) -> Chunks:
    """UTF-8 without a byte order mark, CRLF between rows, as in RFC 4180."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([column.name for column in columns])
    for row in rows:
        writer.writerow([csv_cell(value) for value in row.values()])
        if buffer.tell() >= BLOCK:
            yield take(buffer)
    yield take(buffer)


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


def jsonl_chunks(columns: Sequence[Column], rows: Rows) -> Chunks:
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


def parquet_chunks(columns: Sequence[Column], rows: Rows) -> Chunks:
    """Row groups of limited size, so that neither writer nor reader needs the whole table in memory."""
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


def sav_chunks(columns: Sequence[Column], rows: Rows) -> Chunks:
    with TemporaryFile() as file:
        write_sav(file, [column for column in columns if column.spss], rows)
        yield from read_back(file)


def read_back(file: IO[bytes]) -> Chunks:
    file.seek(0)
    while block := file.read(BLOCK):
        yield block


@dataclass(frozen=True)
class Format:
    chunks: Callable[[Sequence[Column], Rows], Chunks]
    content_type: str
    label: str


FORMATS = {
    "csv": Format(csv_chunks, "text/csv; charset=utf-8", "CSV"),
    "jsonl": Format(jsonl_chunks, "application/jsonl", "JSONL"),
    "parquet": Format(parquet_chunks, "application/vnd.apache.parquet", "Parquet"),
    "sav": Format(sav_chunks, "application/x-spss-sav", "SPSS"),
}
