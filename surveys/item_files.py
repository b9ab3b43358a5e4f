"""Files of annotation: rows of a CSV table or of JSON lines, one by one, every fault with its line."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surveys.annotation.items import Pushed, push_numbered, work_of
from surveys.import_files import Fault, Faults, ImportFault, UndecodableLine, decode_lines, field_limit
from surveys.models import Study

# A history of the longest length with every character escaped as \\uXXXX, and something around it.
LONGEST_LINE = 16_000_000
SUFFIXES = (".jsonl", ".csv")

Row = tuple[int, dict[str, Any]]


def import_items(study: Study, path: Path, actor: str, *, pilot: bool = False) -> Pushed:
    """Store the items of a file, all or none. Raises ImportFault, OSError."""
    work_of(study)  # before a long file is read for a study that has no items
    faults = Faults()
    return push_numbered(study, read_rows(path, faults), actor, faults, pilot=pilot, subject=path.name)


def read_rows(path: Path, faults: Faults, needed: tuple[str, ...] = ()) -> Iterator[Row]:
    """Each row with its line; the file is never held as a whole. What can't be read goes to `faults`."""
    if path.suffix.lower() not in SUFFIXES:
        raise ImportFault([Fault(0, f"{path.name} must end with {' or '.join(SUFFIXES)}")], 1)
    read = read_json_lines if path.suffix.lower() == ".jsonl" else read_table
    with path.open("rb") as file, field_limit(LONGEST_LINE):
        lines = decode_lines(file, LONGEST_LINE)
        try:
            yield from read(lines, faults, needed)
        except UndecodableLine as error:
            faults.add(error.line, str(error))


def read_json_lines(lines: Iterator[str], faults: Faults, needed: tuple[str, ...]) -> Iterator[Row]:
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=refuse_constant)
        except RecursionError:
            faults.add(number, "is nested too deeply")
            continue
        except ValueError as error:
            faults.add(number, f"is not valid JSON: {error}")
            continue
        if not isinstance(row, dict):
            faults.add(number, "must be a JSON object in curly brackets")
        elif missing := [name for name in needed if name not in row]:
            faults.add(number, f"{', '.join(missing)} is missing")
        else:
            yield number, row
    if number == 0:
        faults.add(0, "the file is empty")


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no value")


def read_table(lines: Iterator[str], faults: Faults, needed: tuple[str, ...]) -> Iterator[Row]:
    """Cells are text; one that begins with [ or { is JSON. Columns left empty are not there."""
    rows = csv.reader(lines, strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        if not check_header(header, faults, needed):
            return
        before = rows.line_num
        for cells in rows:
            number, before = before + 1, rows.line_num
            if cells and len(cells) != len(header):
                faults.add(number, f"has {len(cells)} cells, but there are {len(header)} columns")
            elif cells and (row := read_cells(number, header, cells, faults)) is not None:
                yield number, row
    except csv.Error as error:
        faults.add(rows.line_num, f"is not valid CSV ({error}); nothing after it was read")


def check_header(header: list[str], faults: Faults, needed: tuple[str, ...]) -> bool:
    before = faults.count
    if not any(header):
        faults.add(0, "the file is empty")
        return False
    if missing := [name for name in needed if name not in header]:
        hint = "; the columns must be separated by commas" if len(header) == 1 else ""
        faults.add(1, f"the column {', '.join(missing)} is missing{hint}")
    for name in sorted({name for name in header if header.count(name) > 1}):
        faults.add(1, f"the column {name[:60]!r} is there more than once")
    return faults.count == before


def read_cells(number: int, header: list[str], cells: list[str], faults: Faults) -> dict[str, Any] | None:
    row: dict[str, Any] = {}
    for name, cell in zip(header, cells, strict=True):
        if cell.lstrip()[:1] in ("[", "{"):
            try:
                row[name] = json.loads(cell, parse_constant=refuse_constant)
            except (ValueError, RecursionError):
                # A text may begin with a bracket too; only the lists and tables of the format must be JSON.
                row[name] = cell
        elif cell:
            row[name] = cell
    return row
