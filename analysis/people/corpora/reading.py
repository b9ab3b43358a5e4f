"""Reads a corpus file as a stream of records, whatever it is packed in, and says exactly where it breaks."""

import codecs
import json
import zlib
from collections.abc import Iterable, Iterator
from gzip import BadGzipFile, GzipFile
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow
import pyarrow.compute
import pyarrow.parquet
import zstandard

from analysis.people.corpora.page_sizes import check_footer, rows_at_once
from surveys.reading.nesting import LONGEST_RECORD as LONGEST
from surveys.reading.nesting import read_json, read_record_at, say_fault

GZIP, ZSTD, PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
BLOCK = 1 << 18  # larger ones cost more processor time: what is made of them fits no cache
ZSTD_STEP = 1 << 10  # bytes unpacked at a time: four of them may become 128 KiB
PARQUET_BYTES = LONGEST  # of the records made at a time, or of one record
# A column with more bytes than the first number may have at most so many times its bytes in the file.
PARQUET_SMALL, MOST_PACKED = 64 << 20, 1_000
OBJECT = 64  # bytes that a value takes besides its own
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
                        raise ValueError(f"of its rows {whole - number:,} cannot be read")
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            self.note(f"after row {number:,}: {error}")


def _columns(group: pyarrow.parquet.RowGroupMetaData) -> Iterator[pyarrow.parquet.ColumnChunkMetaData]:
    return (group.column(number) for number in range(group.num_columns))


def _texts_of(shape: pyarrow.parquet.FileMetaData) -> list[str]:
    """The columns whose texts the file may hold once for many rows."""
    columns = [one for number in range(shape.num_row_groups) for one in _columns(shape.row_group(number))]
    shared = [one for one in columns if one.physical_type == "BYTE_ARRAY" and one.has_dictionary_page]
    return list(dict.fromkeys(one.path_in_schema for one in shared))


def _check_group(group: pyarrow.parquet.RowGroupMetaData) -> None:
    """Raise ValueError if the sizes that a row group gives of itself are those of a broken file."""
    for column in _columns(group):
        if column.total_uncompressed_size > max(PARQUET_SMALL, MOST_PACKED * column.total_compressed_size):
            raise ValueError(f"a column of one row group becomes more than {MOST_PACKED:,} times larger when unpacked")


def _in_portions(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[tuple[pyarrow.RecordBatch, int]]:
    """Yield rows that may be made into records at once, with the bytes that these take."""
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


class _ArrayScanner:
    """A reader of the items of one long JSON array from text that comes in pieces."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0  # where the next item begins in `text`
        self.more: list[str] = []  # what was read after `text`
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
