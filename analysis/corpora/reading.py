"""Reads a corpus file as a stream of records, whatever it is packed in, and says exactly where it breaks."""

import codecs
import json
import zlib
from collections.abc import Iterator
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow
import pyarrow.parquet
import zstandard

GZIP, ZSTD, PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
BLOCK = 1 << 18  # larger ones cost the processor more: what is made of them lies in no cache
LONGEST = 64 << 20  # characters of one record; more is a broken file
ZSTD_STEP = 1 << 10  # bytes unpacked at a time: each four of them may become 128 KiB
PARQUET_ROWS = 256
PARQUET_BYTES = 512 << 20  # of rows read at a time, were each as long as its column allows
PARQUET_COLUMN = 2 << 30  # unpacked bytes of a column in one row group; more is a broken file
NEAR_THE_END = 16  # characters: an error so late may come from the end of what was read so far


class CorpusFile:
    """One pass over a file. `faults` says what could not be read so far, with its place."""

    def __init__(self, path: Path, most_bytes: int | None = None) -> None:
        self.path = path
        self.most_bytes = most_bytes  # to unpack
        self.size = max(path.stat().st_size, 1)
        self.position = 0
        self.faults: list[str] = []

    @property
    def share(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return min(self.position / self.size, 1.0)

    def records(self) -> Iterator[tuple[str, Any]]:
        """Each whole record with its place. JSON, JSONL and Parquet are told by their first bytes."""
        with self.path.open("rb") as file:
            if file.read(4) == PARQUET:
                yield from self._parquet_rows()
                return
            file.seek(0)
            blocks = self._blocks(file)
            first = next((block for block in blocks if block.strip()), b"")
            read = self._array_items if first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") else self._lines
            yield from read(_before(first, blocks))

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
            self.faults.append(
                f"the compressed data ends abruptly at byte {file.tell():,} of {self.size:,} "
                f"({written:,} bytes unpacked): {error}"
            )

    def _is_too_much(self, unpacked: int) -> bool:
        if self.most_bytes is None or unpacked <= self.most_bytes:
            return False
        self.faults.append(f"more than {self.most_bytes:,} bytes when unpacked; the rest was not read")
        return True

    def _lines(self, blocks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
        for number, line in enumerate(_split_lines(blocks), 1):
            if len(line) > LONGEST:
                self.faults.append(f"line {number:,}: is longer than {LONGEST:,} bytes; nothing after it was read")
                return
            if not line.strip():
                continue
            try:
                record = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                self.faults.append(f"line {number:,}: {error}")
                continue
            yield f"line {number:,}", record

    def _array_items(self, blocks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
        scanner = _ArrayScanner()
        try:
            yield from scanner.all_items(blocks)
        except (ValueError, RecursionError) as error:
            self.faults.append(f"{scanner.place()}: {error}")

    def _parquet_rows(self) -> Iterator[tuple[str, Any]]:
        number = 0
        try:
            # Else the library keeps all that it has read until the file is closed.
            with pyarrow.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=BLOCK) as file:
                rows, unpacked = max(file.metadata.num_rows, 1), 0
                for group in range(file.num_row_groups):
                    for batch in file.iter_batches(_rows_at_a_time(file.metadata.row_group(group)), [group]):
                        unpacked += batch.nbytes
                        if self._is_too_much(unpacked):
                            return
                        for record in batch.to_pylist():
                            number += 1
                            self.position = int(self.size * number / rows)
                            yield f"row {number:,}", record
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            self.faults.append(f"after row {number:,}: {error}")


def _rows_at_a_time(group: pyarrow.parquet.RowGroupMetaData) -> int:
    """A long text that all rows share is stored once and read as often as there are rows."""
    longest = max((group.column(number).total_uncompressed_size for number in range(group.num_columns)), default=1)
    if longest > PARQUET_COLUMN:
        raise ValueError(f"a column of one row group has more than {PARQUET_COLUMN:,} bytes when unpacked")
    return min(max(PARQUET_BYTES // max(longest, 1), 1), PARQUET_ROWS)


class _ArrayScanner:
    """Takes the items of one long JSON array out of text that comes in pieces."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0  # where the next item begins in `text`
        self.more: list[str] = []  # what was read after `text`
        self.before = 0  # characters of the file before `text`
        self.lines = 0  # of all that was read
        self.number = 0
        self.opened = self.closed = False
        self.decode = json.JSONDecoder().raw_decode

    def all_items(self, blocks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
        decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        for block in blocks:
            try:
                self.more.append(decode(block))
                self.lines += block.count(b"\n")  # far cheaper than in what is not ASCII alone
            except UnicodeDecodeError:
                yield from self._items()
                raise
            if self._is_worth_a_look():
                yield from self._items()
        yield from self._items()
        if not self.closed:
            raise ValueError("the file ends here in the middle of the array")

    def _is_worth_a_look(self) -> bool:
        """An item that did not end is looked at again when there is twice as much of it."""
        waiting, more = len(self.text) - self.at, sum(map(len, self.more))
        return more >= waiting or waiting + more > LONGEST

    def _items(self) -> Iterator[tuple[str, Any]]:
        self.before += self.at
        self.text, self.at, self.more = "".join([self.text[self.at :], *self.more]), 0, []
        while self._skip_to_item():
            try:
                record, end = self.decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self._may_go_on(error):
                    break
                raise
            self.at = end
            self.number += 1
            yield f"conversation {self.number:,}", record
        if len(self.text) - self.at > LONGEST:
            raise ValueError(f"one record has more than {LONGEST:,} characters")

    def _skip_to_item(self) -> bool:
        """Go over white space, the opening bracket and the commas."""
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

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self.text) - NEAR_THE_END

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
    """Frame by frame, since the library's own reader takes a file that is cut off for one that has ended."""
    frame, waiting = zstandard.ZstdDecompressor().decompressobj(), b""
    while waiting or (waiting := file.read(ZSTD_STEP)):
        yield frame.decompress(waiting)
        waiting = frame.unused_data if frame.eof else b""
        if frame.eof and (waiting or (waiting := file.read(ZSTD_STEP))):
            frame = zstandard.ZstdDecompressor().decompressobj()
    if not frame.eof:
        raise EOFError("the file ends before its last frame does")


def _before(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from blocks


def _split_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Each line without its end; the last one may be the beginning of one that is too long."""
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
