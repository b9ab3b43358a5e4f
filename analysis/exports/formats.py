"""How a table becomes a file: each format takes columns and rows and gives the file in pieces of bytes."""

import csv
import io
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import TemporaryFile
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.exports.codebook import Column

Rows = Iterable[dict[str, Any]]
Chunks = Iterator[bytes]
BLOCK = 1 << 16
# A row group is written when it has this many rows or this much text, whichever comes first.
GROUP_ROWS, GROUP_CHARACTERS = 2_000, 8_000_000
# What a spreadsheet would take for a formula, also behind apostrophes: as these get one more, taking one away
# gives every text back to the letter.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
# A figure's files, by the ending of their addresses.
FIGURE_FILES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}
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


def figure_csv(figure: Any) -> str:
    """A figure's table, a row for each mark; units stand in the header."""
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


# --- SPSS ---------------------------------------------------------------------
#
# System files (.sav), written row by row: libraries want the whole table in memory, and ours may not fit.
# The layout is that of PSPP's developers' guide, "System File Format". Texts longer than 32,767 bytes, SPSS's
# limit, go on in further variables (`text`, `text_2`, …).

WIDEST = 32_767  # bytes that one string variable can hold
SEGMENT = 255  # bytes that one piece of a longer string holds; it takes 32 blocks of 8
CHUNK = 252  # bytes by which SPSS counts the pieces of a longer string
NUMERIC_FORMATS = {
    "integer": (5, 15, 0),
    "number": (5, 15, 3),
    "boolean": (5, 1, 0),
    "datetime": (22, 24, 3),
}
EPOCH = datetime(1582, 10, 14, tzinfo=UTC)
LITERAL, BLANK, MISSING = b"\xfd", b"\xfe", b"\xff"
LOWEST, HIGHEST = -1.7976931348623155e308, 1.7976931348623157e308
MISSING_VALUE = -1.7976931348623157e308
LONGEST_LABEL = 250
YES_NO = {0.0: "no", 1.0: "yes"}


@dataclass(frozen=True)
class Variable:
    """One variable of the file. `width` 0 is a number; `piece` counts the variables of one text from 0."""

    column: Column
    name: str
    short: str
    width: int
    piece: int = 0

    @property
    def segments(self) -> list[int]:
        """The widths of the pieces of which the file makes it up."""
        if self.width <= SEGMENT:
            return [self.width]
        count = -(-self.width // CHUNK)
        return [SEGMENT] * (count - 1) + [self.width - (count - 1) * CHUNK]


def write_sav(file: IO[bytes], columns: Sequence[Column], rows: Iterable[dict[str, Any]]) -> None:
    """Two passes, for the header says how wide each text is and how many rows there are."""
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as spool:
        widths: dict[str, list[int]] = {column.name: [narrowest(column)] for column in columns}
        count = 0
        for row in rows:
            cells = [cell_of(column, row[column.name]) for column in columns]
            for column, cell in zip(columns, cells, strict=True):
                if isinstance(cell, list):
                    widen(widths[column.name], cell)
            spool.write(json.dumps(cells, ensure_ascii=False) + "\n")
            count += 1
        spool.seek(0)
        variables = list(arrange(columns, widths))
        write_header(file, variables, count)
        write_rows(file, columns, variables, (json.loads(line) for line in spool))


def is_text(column: Column) -> bool:
    return column.kind in ("text", "json")


def narrowest(column: Column) -> int:
    # Nine bytes for texts with labels: the record for labels of texts is for those wider than a block.
    return 0 if not is_text(column) else 9 if column.levels else 1


def cell_of(column: Column, value: Any) -> list[str] | float | None:
    """A text as its pieces, anything else as a number."""
    if is_text(column):
        return list(split_text("" if value is None else str(value)))
    if value is None:
        return None
    return (value - EPOCH).total_seconds() if isinstance(value, datetime) else float(value)


def split_text(text: str) -> Iterator[str]:
    """Pieces of at most WIDEST bytes, cut between characters and not after blanks: SPSS drops those at an end."""
    content, start = text.encode(), 0
    while len(content) - start > WIDEST:
        piece = content[start : start + WIDEST].decode(errors="ignore")
        piece = piece.rstrip(" ") or piece
        start += len(piece.encode())
        yield piece
    yield content[start:].decode()


def widen(widths: list[int], pieces: list[str]) -> None:
    widths += [1] * (len(pieces) - len(widths))
    for number, piece in enumerate(pieces):
        widths[number] = max(widths[number], len(piece.encode()))


def arrange(columns: Sequence[Column], widths: dict[str, list[int]]) -> Iterator[Variable]:
    """The variables of the columns, each with a short name that the old part of the format needs."""
    number, names = 0, {column.name.casefold() for column in columns}
    for column in columns:
        for piece, width in enumerate(widths[column.name]):
            name = free_name(f"{column.name}_{piece + 1}", names) if piece else column.name
            variable = Variable(column, name, f"V{number:04X}", width, piece)
            number += len(variable.segments)
            yield variable


def free_name(name: str, names: set[str]) -> str:
    while name.casefold() in names:
        name += "_"
    names.add(name.casefold())
    return name


def write_header(file: IO[bytes], variables: Sequence[Variable], rows: int) -> None:
    blocks = sum(-(-width // 8) if width else 1 for v in variables for width in v.segments)
    product = b"@(#) SPSS DATA FILE Field Study".ljust(60)
    file.write(b"$FL2" + product + struct.pack("<5id", 2, blocks, 1, 0, rows, 100.0))
    file.write(datetime.now(UTC).strftime("%d %b %y%H:%M:%S").encode() + b" " * 64 + b"\0" * 3)
    for variable in variables:
        write_variable(file, variable)
    write_value_labels(file, variables)
    write_record(file, 3, 4, struct.pack("<8i", 1, 0, 0, -1, 1, 1, 2, 65001))
    write_record(file, 4, 8, struct.pack("<3d", MISSING_VALUE, HIGHEST, LOWEST))
    write_record(file, 13, 1, "\t".join(f"{v.short}={v.name}" for v in variables).encode())
    long = b"".join(f"{v.short}={v.width:05d}".encode() + b"\0\t" for v in variables if v.width > SEGMENT)
    if long:
        write_record(file, 14, 1, long)
    write_record(file, 16, 8, struct.pack("<2q", 1, rows))
    write_record(file, 20, 1, b"UTF-8")
    write_text_labels(file, variables)
    file.write(struct.pack("<2i", 999, 0))


def write_record(file: IO[bytes], subtype: int, size: int, data: bytes) -> None:
    file.write(struct.pack("<4i", 7, subtype, size, len(data) // size) + data)


def write_variable(file: IO[bytes], variable: Variable) -> None:
    first = int(variable.short[1:], 16)
    for number, width in enumerate(variable.segments):
        label = label_bytes(variable.column) if number == 0 else b""
        kind, size, decimals = NUMERIC_FORMATS.get(variable.column.kind, (1, width, 0))
        code = kind << 16 | min(size, SEGMENT) << 8 | decimals
        name = f"V{first + number:04X}".encode().ljust(8)
        file.write(struct.pack("<6i", 2, width, int(bool(label)), 0, code, code) + name)
        if label:
            file.write(struct.pack("<i", len(label)) + label.ljust(-(-len(label) // 4) * 4))
        for _ in range(-(-width // 8) - 1):
            file.write(struct.pack("<6i", 2, -1, 0, 0, 0, 0) + b" " * 8)


def label_bytes(column: Column) -> bytes:
    return cut(f"{column.meaning} ({column.unit})" if column.unit else column.meaning, LONGEST_LABEL)


def cut(text: str, most: int) -> bytes:
    """At most so many bytes of UTF-8, never half a sign."""
    return " ".join(text.split()).encode()[:most].decode(errors="ignore").encode()


def write_value_labels(file: IO[bytes], variables: Sequence[Variable]) -> None:
    """Value labels of numbers: the record with the labels, then the one with the variables they belong to."""
    index = 1
    for variable in variables:
        if variable.column.kind == "boolean":
            file.write(struct.pack("<2i", 3, len(YES_NO)))
            for value, label in YES_NO.items():
                file.write(struct.pack("<d", value) + short_label(label))
            file.write(struct.pack("<3i", 4, 1, index))
        index += sum(-(-width // 8) if width else 1 for width in variable.segments)


def short_label(label: str) -> bytes:
    """A label with its length in front, filled up to blocks of eight bytes."""
    content = cut(label, 120)
    return (bytes([len(content)]) + content).ljust((len(content) // 8 + 1) * 8)


def write_text_labels(file: IO[bytes], variables: Sequence[Variable]) -> None:
    """Value labels of texts of any length."""
    data = b""
    for variable in variables:
        labels = {
            value.encode(): cut(label, 120)
            for value, label in variable.column.levels.items()
            if label and label != value and len(value.encode()) <= variable.width
        }
        if labels:
            name = variable.name.encode()
            data += struct.pack("<i", len(name)) + name + struct.pack("<2i", variable.width, len(labels))
            for value, label in labels.items():
                data += struct.pack("<i", variable.width) + value.ljust(variable.width)
                data += struct.pack("<i", len(label)) + label
    if data:
        write_record(file, 21, 1, data)


def write_rows(
    file: IO[bytes],
    columns: Sequence[Column],
    variables: Sequence[Variable],
    rows: Iterable[list[list[str] | float | None]],
) -> None:
    """Compressed rows: eight codes, then the blocks of eight bytes that they announce; blanks need none."""
    place = {column.name: number for number, column in enumerate(columns)}
    left = bytearray(), bytearray()
    for cells in rows:
        for variable in variables:
            add_cell(*left, variable, cells[place[variable.column.name]])
        left = flush(file, *left)
    codes, blocks = left
    codes += b"\0" * (-len(codes) % 8)
    flush(file, codes, blocks)


def add_cell(codes: bytearray, blocks: bytearray, variable: Variable, cell: list[str] | float | None) -> None:
    if not isinstance(cell, list):
        codes += MISSING if cell is None else LITERAL
        blocks += b"" if cell is None else struct.pack("<d", cell)
        return
    text = cell[variable.piece].encode() if variable.piece < len(cell) else b""
    offset = 0
    for width in variable.segments:
        part = text[offset : offset + width]
        full = -(-len(part) // 8)
        codes += LITERAL * full + BLANK * (-(-width // 8) - full)
        blocks += part.ljust(full * 8)
        offset += SEGMENT


def flush(file: IO[bytes], codes: bytearray, blocks: bytearray) -> tuple[bytearray, bytearray]:
    """Write what makes whole groups of eight codes; gives back the rest."""
    whole, at = len(codes) // 8 * 8, 0
    out = bytearray()
    for start in range(0, whole, 8):
        group = codes[start : start + 8]
        size = 8 * group.count(LITERAL)
        out += group + blocks[at : at + size]
        at += size
    file.write(out)
    return codes[whole:], blocks[at:]
