"""Reads a corpus file as a stream of records, whatever it is packed in, and says exactly where it breaks."""

import codecs
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from gzip import BadGzipFile, GzipFile
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow
import pyarrow.compute
import pyarrow.parquet
import zstandard
from pyarrow.parquet import ColumnChunkMetaData, FileMetaData, ParquetSchema, RowGroupMetaData

from surveys.reading.nesting import LONGEST_RECORD as LONGEST
from surveys.reading.nesting import MEMORY, read_json, read_record_at, say_fault

GZIP, ZSTD, PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
BLOCK = 1 << 18  # larger ones cost more processor time: their records fit no cache
ZSTD_STEP = 1 << 10  # bytes unpacked at a time: four of them may become 128 KiB
MOST_FAULTS, LONGEST_FAULT = 1_000, 1_000  # faults kept, and characters of one
NEAR_THE_END = 16  # characters: so late an error may be due to the end of what was read so far


class CorpusFile:
    """One pass over a file. `faults` says what could not be read so far, with its place."""

    def __init__(self, path: Path, most_bytes: int | None = None) -> None:
        self.path = path
        self.most_bytes = most_bytes  # the most to unpack
        self.size = max(path.stat().st_size, 1)
        self.position = 0
        self.faults: list[str] = []  # the first ones
        self.fault_count = 0

    def note(self, fault: str) -> None:
        self.fault_count += 1
        if self.lists_more:
            self.faults.append(fault[:LONGEST_FAULT])

    @property
    def lists_more(self) -> bool:
        """Whether the next fault is listed; of millions, only the first need be put into words."""
        return len(self.faults) < MOST_FAULTS

    @property
    def share(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return min(self.position / self.size, 1.0)

    def records(self) -> Iterator[tuple[str, Any]]:
        """Yield each whole record with its place. The first bytes tell JSON, JSONL and Parquet apart."""
        with self.path.open("rb") as file:
            if file.read(4) == PARQUET:
                yield from self._parquet_rows()
                return
            file.seek(0)
            blocks = self._blocks(file)
            first = next((block for block in blocks if block.strip()), b"")
            read = self._array_items if first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") else self._lines
            yield from read(chain([first], blocks))

    def _blocks(self, file: BinaryIO) -> Iterator[bytes]:
        magic = file.read(4)
        file.seek(0)
        unpack = _gunzip if magic.startswith(GZIP) else _unzstd if magic == ZSTD else _plain
        written = 0
        try:
            for block in unpack(file):
                self.position = file.tell()
                written += len(block)
                if self._is_too_much(written):
                    return
                yield block
        except (EOFError, BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            self.note(
                f"the compressed data ends abruptly at byte {file.tell():,} of {self.size:,} "
                f"({written:,} bytes unpacked): {error}"
            )

    def _is_too_much(self, unpacked: int) -> bool:
        if self.most_bytes is None or unpacked <= self.most_bytes:
            return False
        self.note(f"more than {self.most_bytes:,} bytes when unpacked; the rest was not read")
        return True

    def _lines(self, blocks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
        for number, line in enumerate(_split_lines(blocks), 1):
            if len(line) > LONGEST:
                self.note(f"line {number:,}: is longer than {LONGEST:,} bytes; nothing after it was read")
                return
            if not line.strip():
                continue
            try:
                record = read_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except ValueError as error:
                self.note(f"line {number:,}: {say_fault(error)}" if self.lists_more else "")
                continue
            yield f"line {number:,}", record

    def _array_items(self, blocks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
        scanner = _ArrayScanner()
        try:
            yield from scanner.all_items(blocks)
        except ValueError as error:
            self.note(f"{scanner.place()}: {say_fault(error, where=False)}")

    def _parquet_rows(self) -> Iterator[tuple[str, Any]]:
        number = 0
        try:
            check_footer(self.path)
            shape = pyarrow.parquet.read_metadata(self.path)
            # Without pre_buffer, as the library would keep all it has read until the file is closed. A text that
            # rows share stays stored once until its size in all of them is known.
            options = {"pre_buffer": False, "buffer_size": BLOCK, "read_dictionary": _texts_of(shape)}
            with pyarrow.parquet.ParquetFile(self.path, **options) as file:
                rows, unpacked, plain = max(shape.num_rows, 1), 0, shape.schema.to_arrow_schema()
                whole = 0  # rows of the groups so far
                for group in range(shape.num_row_groups):
                    _check_group(shape.row_group(group))
                    at_once = rows_at_once(self.path, shape, group)
                    for batch, size in _in_portions(file.iter_batches(at_once, [group])):
                        unpacked += size
                        if self._is_too_much(unpacked):
                            return
                        for record in batch.cast(plain).to_pylist():
                            number += 1
                            self.position = int(self.size * number / rows)
                            yield f"row {number:,}", record
                    whole += shape.row_group(group).num_rows
                    if number != whole:  # the library silently drops rows whose lists span many pages
                        raise ValueError(f"rows of this group that cannot be read: {whole - number:,}")
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            self.note(f"after row {number:,}: {error}")


class _ArrayScanner:
    """A reader of the items of one long JSON array from text that comes in pieces."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0  # where the next item begins in `text`
        self.more: list[str] = []  # read after `text`
        self.before = 0  # characters of the file before `text`
        self.lines = 0  # of all that was read
        self.number = 0
        self.opened = self.closed = False
        self.decoder = json.JSONDecoder()

    def all_items(self, blocks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
        decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        for block in blocks:
            try:
                self.more.append(decode(block))
                self.lines += block.count(b"\n")  # far cheaper than in text that is not plain ASCII
            except UnicodeDecodeError:
                yield from self._items()
                raise
            if self._is_worth_a_look():
                yield from self._items()
        yield from self._items()
        if not self.closed:
            raise ValueError("the file ends here in the middle of the array")

    def _is_worth_a_look(self) -> bool:
        """Whether to parse again: an unfinished item is retried once there is twice as much of it."""
        waiting, more = len(self.text) - self.at, sum(map(len, self.more))
        return more >= waiting or waiting + more > LONGEST

    def _items(self) -> Iterator[tuple[str, Any]]:
        self.before += self.at
        self.text, self.at, self.more = "".join([self.text[self.at :], *self.more]), 0, []
        while self._skip_to_item():
            try:
                record, end = read_record_at(self.decoder, self.text, self.at)
            except json.JSONDecodeError as error:
                if error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - NEAR_THE_END:
                    break
                raise
            self.at = end
            self.number += 1
            yield f"conversation {self.number:,}", record
        if len(self.text) - self.at > LONGEST:
            raise ValueError(f"one record has more than {LONGEST:,} characters")

    def _skip_to_item(self) -> bool:
        """Skip white space, the opening bracket and commas; return whether an item follows."""
        while self.at < len(self.text) and not self.closed:
            mark = self.text[self.at]
            if mark == "]":
                self.closed = True
            elif mark == "[" and not self.opened:
                self.opened = True
            elif mark not in " \t\r\n,":
                return True
            self.at += 1
        return False

    def place(self) -> str:
        line = self.lines - self.text.count("\n", self.at) - sum(more.count("\n") for more in self.more) + 1
        return f"after character {self.before + self.at:,} (line {line:,}, {self.number:,} whole conversations)"


def _plain(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    with GzipFile(fileobj=file) as unpacked:
        while block := unpacked.read1(BLOCK):
            yield block


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """Unpack frame by frame, since the library's own reader takes a truncated file for one that has ended."""
    frame, waiting = zstandard.ZstdDecompressor().decompressobj(), b""
    while waiting or (waiting := file.read(ZSTD_STEP)):
        unpacked = frame.decompress(waiting)
        yield from (unpacked[at : at + BLOCK] for at in range(0, len(unpacked), BLOCK))
        waiting = frame.unused_data if frame.eof else b""
        if frame.eof and (waiting or (waiting := file.read(ZSTD_STEP))):
            frame = zstandard.ZstdDecompressor().decompressobj()
    if not frame.eof:
        raise EOFError("the file ends before its last frame does")


def _split_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield each line without its end; the last may be only the beginning of one that is too long."""
    waiting: list[bytes] = []
    length = 0
    for block in blocks:
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield b"".join([*waiting, line])
            waiting, length = [], 0
        waiting.append(rest)
        length += len(rest)
        if length > LONGEST:
            break
    if waiting:
        yield b"".join(waiting)


# --- Parquet: the memory that reading a file takes, estimated from page headers before any value is read ---

PARQUET_BYTES = LONGEST  # of the records made at a time, or of one record
# A column with more bytes than the first number may have at most so many times its bytes in the file.
PARQUET_SMALL, MOST_PACKED = 64 << 20, 1_000
OBJECT = 64  # bytes that a value takes besides its own
PAGES = MEMORY // 4  # unpacked bytes of a row group's largest pages, one per column, which are held at once
SHARED = MEMORY // 8  # of a row group's texts that rows share, held until it ends, and twice while it begins
REPEATED = MEMORY // 4  # of its columns of lists, as one row may hold all of them
PORTION = MEMORY // 8  # of the pages with the rows of one batch
FOOTER = MEMORY // 8  # bytes
MOST_COLUMNS = 2_000
MOST_IN_PAGE, MOST_SHARED = 16_000_000, 2_000_000  # values
BATCHES = (256, 64, 16, 4, 1)  # rows
DICTIONARY, V1, V2 = 7, 5, 8  # fields of a page header
FRONT_CODED = 7  # the encoding DELTA_BYTE_ARRAY
HEADER = 1 << 13  # bytes; those with long statistics are read once more
LONGEST_HEADER = 1 << 20
SLACK = 100  # bytes that old writers leave out of a column's length


def _columns(group: RowGroupMetaData) -> Iterator[ColumnChunkMetaData]:
    return (group.column(number) for number in range(group.num_columns))


def _texts_of(shape: FileMetaData) -> list[str]:
    """The columns whose texts the file may hold once for many rows."""
    columns = [one for number in range(shape.num_row_groups) for one in _columns(shape.row_group(number))]
    shared = [one for one in columns if one.physical_type == "BYTE_ARRAY" and one.has_dictionary_page]
    return list(dict.fromkeys(one.path_in_schema for one in shared))


def _check_group(group: RowGroupMetaData) -> None:
    """Raise ValueError if a row group declares sizes that only a broken file has."""
    for column in _columns(group):
        if column.total_uncompressed_size > max(PARQUET_SMALL, MOST_PACKED * column.total_compressed_size):
            raise ValueError(f"a column of one row group becomes more than {MOST_PACKED:,} times larger when unpacked")


def _in_portions(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[tuple[pyarrow.RecordBatch, int]]:
    """Yield slices small enough to become records at once, with their bytes."""
    for batch in batches:
        size = sum(map(_bytes_of, batch.columns))
        if size <= PARQUET_BYTES:
            yield batch, size
        elif batch.num_rows == 1:
            raise ValueError(f"one record has more than {PARQUET_BYTES:,} bytes when unpacked")
        else:
            half = batch.num_rows // 2
            yield from _in_portions((batch.slice(0, half), batch.slice(half)))


def _bytes_of(values: pyarrow.Array) -> int:
    """The bytes that the values take if each has its own text."""
    kind, own = values.type, OBJECT * len(values)
    if pyarrow.types.is_dictionary(kind):
        lengths = pyarrow.compute.binary_length(values.dictionary)
        return own + (pyarrow.compute.sum(lengths.take(values.indices), min_count=0).as_py() or 0)
    if pyarrow.types.is_struct(kind):
        return own + sum(map(_bytes_of, values.flatten()))
    if pyarrow.types.is_nested(kind) and hasattr(values, "flatten"):
        return own + _bytes_of(values.flatten())
    return own + values.nbytes


class ParquetPage(NamedTuple):
    size: int  # bytes when unpacked
    values: int
    is_shared: bool


def check_footer(path: Path) -> None:
    """Raise ValueError if the footer, which is read whole, is too long."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
    if length > FOOTER:
        raise ValueError(f"its description has more than {FOOTER:,} bytes; write larger row groups")


def rows_at_once(path: Path, shape: FileMetaData, number: int) -> int:
    """How many rows of a row group to read at a time. Raises ValueError if its columns are too many or too large."""
    group, columns, schema = shape.row_group(number), [], shape.schema
    if group.num_columns > MOST_COLUMNS:
        raise ValueError(f"it has more than {MOST_COLUMNS:,} columns")
    with path.open("rb", buffering=0) as file:
        for place in range(group.num_columns):
            columns.append(list(_pages(file, group.column(place))))
    _check_shared(columns)
    _check_repeated(group, schema, columns)
    flat = [
        ([page for page in pages if not page.is_shared], schema.column(place))
        for place, pages in enumerate(columns)
        if not schema.column(place).max_repetition_level
    ]
    for rows in BATCHES:
        if sum(_most_bytes(pages, rows) + rows * max(column.length, 0) for pages, column in flat) <= PORTION:
            break
    return rows


def _check_shared(columns: Sequence[list[ParquetPage]]) -> None:
    if sum(page.size for pages in columns for page in pages if page.is_shared) > SHARED:
        raise ValueError(f"the dictionaries of one row group have more than {SHARED:,} bytes; write smaller row groups")
    if sum(max((page.size for page in pages if not page.is_shared), default=0) for pages in columns) > PAGES:
        raise ValueError(f"the pages of one row group have more than {PAGES:,} bytes; write smaller pages")


def _check_repeated(group: RowGroupMetaData, schema: ParquetSchema, columns: Sequence[list[ParquetPage]]) -> None:
    size = 0
    for place, pages in enumerate(columns):
        if schema.column(place).max_repetition_level:
            each = 8 + max(schema.column(place).length, 0)
            size += sum(page.size + each * page.values for page in pages if not page.is_shared)
    if size > REPEATED:
        raise ValueError(f"the lists of one row group have more than {REPEATED:,} bytes; write smaller row groups")


def _most_bytes(pages: Sequence[ParquetPage], rows: int) -> int:
    """The most bytes that the pages of this many consecutive rows may have, wherever the rows begin."""
    most = size = values = first = 0
    for page in pages:
        size, values = size + page.size, values + page.values
        while first < len(pages) and values - pages[first].values >= rows - 1 and pages[first] is not page:
            size, values, first = size - pages[first].size, values - pages[first].values, first + 1
        most = max(most, size)
    return most


# --- page headers, which are structures in Thrift's compact protocol


def _pages(file: BinaryIO, column: ColumnChunkMetaData) -> Iterator[ParquetPage]:
    begin = column.data_page_offset
    if column.has_dictionary_page and 0 < (column.dictionary_page_offset or 0) < begin:
        begin = column.dictionary_page_offset
    end, seen = begin + column.total_compressed_size + SLACK, 0
    while begin < end and seen < column.num_values:
        header, length = _header_at(file, begin)
        size, packed = header.get(2, -1), header.get(3, -1)
        said = next((header[field] for field in (V1, V2, DICTIONARY) if field in header), None)
        values = said.get(1, -1) if isinstance(said, dict) else 0
        if min(size, packed, values) < 0 or max(size, packed) > PAGES or values > MOST_IN_PAGE:
            raise ValueError(f"a page has more than {PAGES:,} bytes or {MOST_IN_PAGE:,} values; write smaller pages")
        if DICTIONARY in header and values > MOST_SHARED:
            raise ValueError(f"a dictionary has more than {MOST_SHARED:,} values; write smaller row groups")
        if said and FRONT_CODED in (said.get(2) if V1 in header else None, said.get(4) if V2 in header else None):
            raise ValueError("a column has the encoding DELTA_BYTE_ARRAY, whose unpacked size cannot be known")
        yield ParquetPage(size, values, DICTIONARY in header)
        seen += 0 if DICTIONARY in header else values
        begin += length + packed


def _header_at(file: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    """A page's header, by the numbers of its fields, and its length in bytes."""
    for most in (HEADER, LONGEST_HEADER):
        file.seek(place)
        reader = _Compact(file.read(most))
        try:
            return reader.structure(), reader.at
        except IndexError:
            continue
    raise ValueError("the sizes of its pages cannot be read")


class _Compact:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def structure(self, levels: int = 4) -> dict[int, Any]:
        """Read numbers and structures by their fields' numbers. Raises IndexError if the content ends too early."""
        fields: dict[int, Any] = {}
        number = 0
        while kind := self.byte():
            number = number + (kind >> 4) if kind >> 4 else self.integer()
            fields[number] = self.value(kind & 15, levels)
        return fields

    def value(self, kind: int, levels: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self.byte()
            case 4 | 5 | 6:
                return self.integer()
            case 7:
                return self.skip(8)
            case 8:
                return self.skip(self.unsigned())
            case 12 if levels:
                return self.structure(levels - 1)
        raise ValueError("the sizes of its pages cannot be read")

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def unsigned(self) -> int:
        number = shift = 0
        while (part := self.byte()) & 128 and shift < 63:
            number |= (part & 127) << shift
            shift += 7
        return number | part << shift

    def integer(self) -> int:
        number = self.unsigned()
        return number >> 1 ^ -(number & 1)

    def skip(self, length: int) -> None:
        self.at += length
