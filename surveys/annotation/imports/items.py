"""Files of annotation: rows of a CSV table or of JSON lines, one by one, every fault with its line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surveys.annotation.items import Pushed, push_numbered, work_of
from surveys.imports.files import ANY_NAME, Columns, Fault, Faults, ImportFault, open_lines, read_table
from surveys.models import Study

# A history of the longest length with every character escaped as \\uXXXX, and something around it.
LONGEST_LINE = 16_000_000
SUFFIXES = (".jsonl", ".csv")
# Which keys an item has depends on its kind, so that they are checked with the item.
KEYS = Columns(others=ANY_NAME)

Row = tuple[int, dict[str, Any]]


def import_items(study: Study, path: Path, actor: str, *, pilot: bool = False) -> Pushed:
    """Store the items of a file, all or none. Raises ImportFault, OSError."""
    work_of(study)  # before a long file is read for a study that has no items
    faults = Faults()
    return push_numbered(study, read_rows(path, faults, KEYS), actor, faults, pilot=pilot, subject=path.name)


def read_rows(path: Path, faults: Faults, columns: Columns) -> Iterator[Row]:
    """Each row with its line; the file is never held as a whole. What can't be read goes to `faults`."""
    if path.suffix.lower() not in SUFFIXES:
        raise ImportFault([Fault(0, f"{path.name} must end with {' or '.join(SUFFIXES)}")], 1)
    read = read_json_lines if path.suffix.lower() == ".jsonl" else read_json_cells
    with open_lines(path, faults, LONGEST_LINE, longest_cell=LONGEST_LINE) as lines:
        yield from read(lines, columns, faults)


def read_json_lines(lines: Iterator[str], columns: Columns, faults: Faults) -> Iterator[Row]:
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
        elif missing := [name for name in columns.needed if name not in row]:
            faults.add(number, f"{', '.join(missing)} is missing")
        else:
            yield number, row
    if number == 0:
        faults.add(0, "the file is empty")


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no value")


def read_json_cells(lines: Iterator[str], columns: Columns, faults: Faults) -> Iterator[Row]:
    """Rows of a table: cells are text; one that begins with [ or { is JSON. Columns left empty are not there."""
    for number, row in read_table(lines, columns, faults):
        yield number, {name: read_cell(cell) for name, cell in row.items() if cell}


def read_cell(cell: str) -> Any:
    if cell.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(cell, parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            # A text may begin with a bracket too; only the lists and tables of the format must be JSON.
            return cell
    return cell
