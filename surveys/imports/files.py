"""Files that are imported: read row by row, never held as a whole, every fault with its line."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Protocol, TypeVar

from surveys.reading.answers import LONGEST_TEXT

MOST_FAULTS = 50
LONGEST_LINE = 4 * LONGEST_TEXT
BATCH_CHARACTERS = 4_000_000  # fewer rows where texts are long, so that memory stays flat
ANY_NAME = re.compile(r".*", re.DOTALL)

Row = dict[str, str]
Read = TypeVar("Read")


@dataclass(frozen=True)
class Fault:
    """One thing wrong with the file; `line` 0 is the file as a whole."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class ImportFault(Exception):
    """A file of which nothing was imported, with its first faults and how many there are."""

    def __init__(self, faults: list[Fault], count: int) -> None:
        more = [f"… and {count - len(faults)} more"] if count > len(faults) else []
        super().__init__("\n".join([*map(str, faults), *more]))
        self.faults, self.count = faults, count


@dataclass
class Faults:
    """Collects faults without keeping more of them than anybody reads."""

    first: list[Fault] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, message: str) -> None:
        self.count += 1
        if len(self.first) < MOST_FAULTS:
            self.first.append(Fault(line, message))

    def raise_any(self) -> None:
        if self.count:
            raise ImportFault(sorted(self.first, key=lambda fault: fault.line), self.count)


# --- lines ------------------------------------------------------------------


class UndecodableLine(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@contextmanager
def open_lines(
    path: Path, faults: Faults, longest: int = LONGEST_LINE, longest_cell: int = LONGEST_TEXT
) -> Iterator[Iterator[str]]:
    """The file's lines, one by one. One that is too long or no UTF-8 is a fault and ends the reading."""
    before = csv.field_size_limit(longest_cell)
    try:
        with path.open("rb") as file:
            yield decode_lines(file, longest)
    except UndecodableLine as error:
        faults.add(error.line, str(error))
    finally:
        csv.field_size_limit(before)


def decode_lines(file: IO[bytes], longest: int) -> Iterator[str]:
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise UndecodableLine(number, f"is longer than {longest:,} bytes; nothing after it was read")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            words = "is not UTF-8; save the file with the encoding UTF-8. Nothing after it was read"
            raise UndecodableLine(number, words) from None


# --- tables -----------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """The columns of a table: those it must have, those it may have, and how others may be called (None: no others)."""

    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    others: re.Pattern[str] | None = None

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.needed, *self.optional)

    def read_name(self, name: str) -> str:
        """Known columns may be written in any case; others keep the one they have."""
        name = name.strip()
        return name.lower() if name.lower() in self.known else name

    def check(self, header: list[str], faults: Faults) -> bool:
        before = faults.count
        if missing := [name for name in self.needed if name not in header]:
            separated = len(header) != 1
            hint = "" if separated else "; the columns must be separated by commas"
            faults.add(1, f"the column {', '.join(missing)} is missing{hint}")
            if not separated:
                return False
        elif not any(header):
            faults.add(0, "the file is empty")
            return False
        for name in sorted({name for name in header if header.count(name) > 1}):
            faults.add(1, f"the column {name[:60]!r} is there more than once")
        for name in header:
            if name not in self.known:
                self.check_other(name, faults)
        return faults.count == before

    def check_other(self, name: str, faults: Faults) -> None:
        if self.others is None:
            known = ", ".join(self.known)
            faults.add(1, f"there is no use for the column {name[:60]!r}; the columns are {known}")
        elif not self.others.fullmatch(name):
            faults.add(1, f"{name[:60]!r} is no name for a column: use letters, digits, spaces, - and _")


def read_table(lines: Iterator[str], columns: Columns, faults: Faults) -> Iterator[tuple[int, Row]]:
    """Each row with its line, by column. What can't be read goes to `faults`."""
    rows = csv.reader(lines, strict=True)
    try:
        header = [columns.read_name(name) for name in next(rows, [])]
        if not columns.check(header, faults):
            return
        before = rows.line_num
        for cells in rows:
            number, before = before + 1, rows.line_num
            if cells and len(cells) != len(header):
                faults.add(number, f"has {len(cells)} cells, but there are {len(header)} columns")
            elif cells:
                yield number, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        faults.add(rows.line_num, explain(error))


def read_csv(path: Path, columns: Columns, faults: Faults, read: Callable[[int, Row], Read | None]) -> Iterator[Read]:
    """What `read` makes of each row of a CSV file, one by one; rows of which it makes nothing are left out."""
    with open_lines(path, faults) as lines:
        for number, row in read_table(lines, columns, faults):
            if found := read(number, row):
                yield found


def explain(error: csv.Error) -> str:
    if "field larger than field limit" in str(error):
        longest = csv.field_size_limit()
        return f"a cell is longer than {longest:,} characters, or a quote is not closed; nothing after it was read"
    return f"is not valid CSV ({error}); nothing after it was read"


def near(value: str, known: Mapping[str, object]) -> str:
    found = get_close_matches(value.strip().casefold(), known, n=1)
    return f"; did you mean {found[0]}?" if found else f"; there are {', '.join(list(known)[:20])}"


# --- rows with texts --------------------------------------------------------


class WithText(Protocol):
    @property
    def text(self) -> str: ...


Line = TypeVar("Line", bound=WithText)


def batches(lines: Iterable[Line], most: int) -> Iterator[list[Line]]:
    """At most so many rows at a time."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.text)
        if len(batch) == most or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
