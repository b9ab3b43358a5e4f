"""Reading files to import: columns are declared, rows read one by one and never held as a whole, faults have lines."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from sys import getsizeof
from typing import IO, Any, NamedTuple, NoReturn, TypeVar

from django.db import connection, transaction

from surveys.models import Participant, Study
from surveys.reading.answers import LONGEST_TEXT, clean_text
from surveys.reading.nesting import (
    LONGEST_RECORD,
    MOST_VALUES,
    NestedTooDeeply,
    TooManyValues,
    has_too_many_values,
    read_json,
    say_fault,
)
from surveys.studies.access import make_pseudonym
from surveys.studies.wording import join_words

MOST_FAULTS = 50
LONGEST_LINE = 4 * LONGEST_TEXT
MOST_COLUMNS = 2_000
MOST_CELLS = 1_000_000  # of one row, estimated by its commas, those in texts included
OBJECT = 100  # bytes of a text besides its characters, with the reference to it
BATCH_CHARACTERS = 4_000_000  # fewer rows if texts are long, so that memory stays flat

Row = TypeVar("Row")
Found = TypeVar("Found")
Cells = tuple[int, list[str]]
Raw = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class ImportFileFault:
    """One thing wrong with the file; `line` 0 means the file as a whole."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class ImportFault(Exception):
    """A file of which nothing was imported, with its first faults and their number."""

    def __init__(self, faults: list[ImportFileFault], count: int) -> None:
        more = [f"… and {count - len(faults)} more"] if count > len(faults) else []
        super().__init__("\n".join([*map(str, faults), *more]))
        self.faults, self.count = faults, count


@dataclass
class Faults:
    """The first faults of a file, the number of all, and the bytes kept of the file until it is stored."""

    first: list[ImportFileFault] = field(default_factory=list)
    count: int = 0
    kept: int = 0  # bytes

    def add(self, line: int, message: str) -> None:
        self.count += 1
        if len(self.first) < MOST_FAULTS:
            self.first.append(ImportFileFault(line, message))

    def keep(self, *texts: str, more: int = 0) -> None:
        """Count these texts, and `more` bytes, as kept until the file is stored. Raises ImportFault."""
        self.kept += sum(map(getsizeof, texts)) + more
        if self.kept > MOST_VALUES:
            refuse(
                f"so much of it must be kept at once that it takes more than {MOST_VALUES >> 20} MB of memory; split it"
            )

    def raise_any(self) -> None:
        if self.count:
            raise ImportFault(sorted(self.first, key=lambda fault: fault.line), self.count)


def refuse(message: str) -> NoReturn:
    """Raise ImportFault, importing nothing of the file, for a reason that has no line."""
    raise ImportFault([ImportFileFault(0, message)], 1)


# --- lines ------------------------------------------------------------------


class UndecodableLine(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@contextmanager
def open_lines(
    path: Path, faults: Faults, longest: int = LONGEST_LINE, longest_cell: int = LONGEST_TEXT
) -> Iterator[Iterator[str]]:
    """Yield an iterator of the file's lines. A line that is too long or not UTF-8 is a fault and ends the reading."""
    before = csv.field_size_limit(longest_cell)
    try:
        with path.open("rb") as file:
            yield _decode_lines(file, longest)
    except UndecodableLine as error:
        faults.add(error.line, str(error))
    finally:
        csv.field_size_limit(before)


def _decode_lines(file: IO[bytes], longest: int) -> Iterator[str]:
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


def read_cells(lines: Iterator[str], faults: Faults) -> Iterator[Cells]:
    """Yield the cells of each row of a CSV file, with the line where the row begins; empty rows are left out."""
    row = RowSize()
    rows = csv.reader(row.measured(lines), strict=True)
    before = 0
    try:
        for cells in rows:
            number, before = before + 1, rows.line_num
            row.size = row.commas = 0
            if cells:
                yield number, cells
    except csv.Error as error:
        faults.add(rows.line_num, _explain(error))
    except RowTooLarge as error:
        faults.add(before + 1, str(error))


class RowTooLarge(Exception):
    pass


@dataclass
class RowSize:
    """Size of the current row, which may span many lines."""

    size: int = 0
    commas: int = 0

    def measured(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self.size += len(line)
            self.commas += line.count(",")
            if self.size > LONGEST_RECORD:
                raise RowTooLarge(f"a row has more than {LONGEST_RECORD:,} characters; nothing after it was read")
            if self.commas > MOST_CELLS:
                raise RowTooLarge(f"a row has more than {MOST_CELLS:,} cells; nothing after it was read")
            yield line


def _explain(error: csv.Error) -> str:
    if "field larger than field limit" in str(error):
        longest = csv.field_size_limit()
        return f"a cell is longer than {longest:,} characters, or a quote is not closed; nothing after it was read"
    return f"is not valid CSV ({error}); nothing after it was read"


def read_json_lines(
    lines: Iterator[str], faults: Faults, shape: str = "a JSON object in curly brackets"
) -> Iterator[Raw]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = read_json(line, parse_constant=_refuse_constant)
        except NestedTooDeeply:
            faults.add(number, "is nested too deeply")
        except TooManyValues as error:
            faults.add(number, str(error))
        except ValueError as error:
            faults.add(number, f"is not valid JSON: {say_fault(error).removeprefix('it is no JSON: ')}")
        else:
            if isinstance(row, dict):
                yield number, row
            else:
                faults.add(number, f"must be {shape}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a value")


def _read_json_cell(cell: str) -> Any:
    if _may_be_json(cell):
        try:
            return read_json(cell, parse_constant=_refuse_constant)
        except ValueError:
            # A text may begin with a bracket too; only the lists and tables of the format must be JSON.
            return cell
    return cell


def _may_be_json(cell: str) -> bool:
    return cell.lstrip()[:1] in ("[", "{")


# --- columns ----------------------------------------------------------------


class CellFault(ValueError):
    """A fault of a cell; the message names its column."""


@dataclass(frozen=True)
class FileColumn:
    """A column of a table; `read` turns a cell, empty if there is none, into a value, or raises CellFault."""

    name: str
    read: Callable[[Any], Any]
    needed: bool = False


def parsed(parse: Callable[[Any], Found | None], words: str) -> Callable[[Any], Found]:
    """Make a reader of cells; None, TypeError or ValueError from `parse` is a fault: `words`, with the cell in them."""

    def read(cell: Any) -> Found:
        try:
            value = parse(cell)
        except (TypeError, ValueError):
            value = None
        if value is None:
            raise CellFault(words.format(cell[:40] if isinstance(cell, str) else cell))
        return value

    return read


def optional(read: Callable[[str], Found], empty: Any = None) -> Callable[[Any], Found]:
    """A reader of cells that may be empty."""
    return lambda cell: read(text) if (text := str(cell).strip()) else empty


def name_column(name: str, longest: int, needed: bool = True) -> FileColumn:
    def parse(cell: str) -> str | None:
        value = cell.strip()
        return value if len(value) <= longest and value.isprintable() and (value or not needed) else None

    return FileColumn(name, parsed(parse, f"{name} must be a name of 1 to {longest} printable characters"), needed)


def text_column(name: str) -> FileColumn:
    """A column of answers' own texts, made safe to store."""
    return FileColumn(name, clean_text, needed=True)


def choice_column(name: str, known: Mapping[str, Found], owner: str, casefold: bool = False) -> FileColumn:
    """A column whose cells name something that the owner has, such as a prompt of the study."""

    def read(cell: str) -> Found:
        value = cell.strip().casefold() if casefold else cell.strip()
        if value not in known:
            raise CellFault(f"{owner} has no {name} {cell[:60]!r}{_near(cell, known)}")
        return known[value]

    return FileColumn(name, read, needed=True)


def _near(value: str, known: Mapping[str, object]) -> str:
    found = get_close_matches(value.strip().casefold(), known, n=1)
    return f"; did you mean {found[0]}?" if found else f"; there are {', '.join(list(known)[:20])}"


# --- tables -----------------------------------------------------------------


class TableRow(NamedTuple):
    """One row without faults: values of the declared columns, and of others by their FileColumn's name."""

    line: int
    values: dict[str, Any]
    others: dict[str, Any]


class TableReader:
    """A reader of files with these columns that collects their faults.

    `other` gives the column for an undeclared name, or None to leave it out; it may raise CellFault.
    """

    def __init__(
        self,
        *columns: FileColumn,
        other: Callable[[str], FileColumn | None] | None = None,
        faults: Faults | None = None,
        longest: int | None = None,
    ) -> None:
        self.columns = {column.name: column for column in columns}
        self.faults = faults or Faults()
        self.header: list[str] = []
        self.others: dict[str, FileColumn | None] = {}
        self._make_other = other or self._refuse
        self._limits = (longest, longest) if longest else (LONGEST_LINE, LONGEST_TEXT)

    def read(self, path: Path, json_too: bool = False) -> Iterator[TableRow]:
        """Yield row after row of a CSV file, which is never held as a whole.

        With `json_too`, JSON lines are read as well, and cells that begin with [ or { are JSON.
        """
        suffix = path.suffix.lower()
        if json_too and suffix not in (".jsonl", ".csv"):
            refuse(f"{path.name} must end with .jsonl or .csv")
        with open_lines(path, self.faults, *self._limits) as lines:
            if json_too and suffix == ".jsonl":
                if not path.stat().st_size:
                    self.faults.add(0, "the file is empty")
                rows = read_json_lines(lines, self.faults)
            else:
                rows = self.read_table(read_cells(lines, self.faults), _read_json_cell if json_too else str)
            yield from self.read_rows(rows)

    def read_table(self, rows: Iterator[Cells], read_cell: Callable[[str], Any] = str) -> Iterator[Raw]:
        """Yield each row after the header, by column."""
        first = next(rows, (1, []))
        if len(first[1]) > MOST_COLUMNS:
            self.faults.add(first[0], f"has {len(first[1]):,} columns; a table has at most {MOST_COLUMNS:,}")
            return
        self.header = header = [self._known_name(name) for name in first[1]]
        if not self._check_header(header):
            return
        for line, cells in rows:
            if has_too_many_values(*filter(_may_be_json, cells)):
                self.faults.add(line, str(TooManyValues()))
            elif len(cells) == len(header):
                yield line, dict(zip(header, map(read_cell, cells), strict=True))
            else:
                self.faults.add(line, f"has {len(cells)} cells, but there are {len(header)} columns")

    def read_rows(self, rows: Iterable[Raw]) -> Iterator[TableRow]:
        for line, raw in rows:
            before = self.faults.count
            if missing := [name for name, column in self.columns.items() if column.needed and name not in raw]:
                self.faults.add(line, say_missing(missing))
                continue
            values = {name: self._read(line, column, raw.get(name)) for name, column in self.columns.items()}
            others = {
                column.name: self._read(line, column, cell)
                for name, cell in raw.items()
                if name not in self.columns and (column := self._other(line, name))
            }
            if self.faults.count == before:
                yield TableRow(line, values, others)

    def _read(self, line: int, column: FileColumn, cell: Any) -> Any:
        try:
            return column.read("" if cell is None else cell)
        except CellFault as fault:
            self.faults.add(line, str(fault))

    def _known_name(self, name: str) -> str:
        """The name of a column: declared ones may be written in any case, others keep the one they have."""
        name = name.strip()
        return name.lower() if name.lower() in self.columns else name

    def _check_header(self, header: list[str]) -> bool:
        before = self.faults.count
        if missing := [name for name, column in self.columns.items() if column.needed and name not in header]:
            separated = len(header) != 1
            hint = "" if separated else "; the columns must be separated by commas"
            self.faults.add(1, f"the {'column' if len(missing) == 1 else 'columns'} {say_missing(missing)}{hint}")
            if not separated:
                return False
        elif not any(header):
            self.faults.add(0, "the file is empty")
            return False
        for name in sorted({name for name in header if header.count(name) > 1}):
            self.faults.add(1, f"the column {name[:60]!r} occurs more than once")
        for name in header:
            if name not in self.columns:
                self._other(1, name)
        return self.faults.count == before

    def _other(self, line: int, name: str) -> FileColumn | None:
        if name not in self.others:
            if len(self.others) >= MOST_COLUMNS:
                refuse(f"it names more than {MOST_COLUMNS:,} columns")
            try:
                self.others[name] = self._make_other(name)
            except CellFault as fault:
                self.faults.add(line, str(fault))
                self.others[name] = None
        return self.others[name]

    def _refuse(self, name: str) -> NoReturn:
        raise CellFault(f"there is no place for the column {name[:60]!r}; the columns are {', '.join(self.columns)}")


# --- storing ----------------------------------------------------------------


def batches(rows: Iterable[Row], most: int, characters: Callable[[Row], int] = lambda row: 0) -> Iterator[list[Row]]:
    """Yield at most `most` rows at a time, fewer if they have many characters."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += characters(row)
        if len(batch) == most or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@contextmanager
def storing(study: Study, analyze: str) -> Iterator[None]:
    """Store in one transaction; imports into one study come one after the other, and `analyze` is run at the end."""
    with transaction.atomic():
        # Not a lock that foreign keys to the study wait for: people go on arriving and answering meanwhile.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        yield
        # PostgreSQL would plan by the tables as they were before they grew, and take minutes for an export.
        with connection.cursor() as cursor:
            cursor.execute(analyze)


def people_there(study: Study, lines: Mapping[str, int], faults: Faults) -> dict[str, Participant]:
    """The study's people by name; one who is not imported is a fault. `lines`: where each name first occurs."""
    there = {person.pid: person for person in Participant.objects.filter(study=study, pid__in=lines)}
    for name, person in there.items():
        if person.origin != Participant.Origin.IMPORTED:
            faults.add(lines[name], f"{name} took part in the study here; give imported people other names")
    return there


def imported_participant(study: Study, name: str, moment: datetime, **more: Any) -> Participant:
    """A participant who completed elsewhere."""
    return Participant(
        study=study,
        version_id=study.current_id,
        pid=name,
        pseudonym=make_pseudonym(),
        origin=Participant.Origin.IMPORTED,
        state=Participant.State.COMPLETED,
        step=Participant.Step.END,
        consented_at=moment,
        last_seen_at=moment,
        finished_at=moment,
        **more,
    )


def say_missing(names: Sequence[str]) -> str:
    return f"{join_words(names)} {'is' if len(names) == 1 else 'are'} missing"
