"""Rows of completions collected elsewhere: read from a CSV file one by one, every fault with its line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from analysis.models import Run
from surveys.imports.files import (
    CellFault,
    Faults,
    FileColumn,
    TableReader,
    choice_column,
    name_column,
    optional,
    parsed,
)
from surveys.models import BenchmarkItem, Prompt
from surveys.reading.answers import clean_text

SOURCE = re.compile(r"[a-z0-9][a-z0-9._-]{0,49}")
HIGHEST_TEMPERATURE = 5.0
MOST_REPEATS = 1_000_000
NO_REPEAT = f"repeat must be a whole number below {MOST_REPEATS:,}, not {{!r}}"
NO_TEMPERATURE = f"temperature must be a number from 0 to {HIGHEST_TEMPERATURE:g}, not {{!r}}"

ImportedTask = Prompt | BenchmarkItem


class RunKey(NamedTuple):
    """What becomes one run: the same source, model, run and temperature."""

    source: str
    model: str
    run: str
    temperature: float | None


@dataclass(frozen=True)
class CompletionRow:
    """One row of the file, checked by itself; `repeat` is None where the file does not count."""

    line: int
    key: RunKey
    asked: ImportedTask
    text: str
    repeat: int | None


class CompletionReader:
    """What rows may hold, given what they can answer by its name, and the faults found on the way."""

    def __init__(self, asked: Mapping[str, ImportedTask], what: str) -> None:
        self.faults = Faults()
        self.table = TableReader(
            FileColumn("source", _read_source, needed=True),
            name_column("model", Run._meta.get_field("imported_model").max_length),
            choice_column("prompt", asked, what),
            FileColumn("text", clean_text, needed=True),
            name_column("run", 100, needed=False),
            FileColumn("repeat", optional(parsed(_parse_repeat, NO_REPEAT))),
            FileColumn("temperature", optional(parsed(_parse_temperature, NO_TEMPERATURE))),
            faults=self.faults,
        )

    def read(self, path: Path) -> Iterator[CompletionRow]:
        """Row after row; the file is never held as a whole."""
        for row in self.table.read(path):
            key = RunKey(*(row.values[name] for name in RunKey._fields))
            yield CompletionRow(row.line, key, row.values["prompt"], row.values["text"], row.values["repeat"])


def _read_source(cell: str) -> str:
    source = cell.strip().lower()
    if source == "field":
        raise CellFault("source 'field' is for people's answers: use import_responses for them")
    if not SOURCE.fullmatch(source):
        words = "must be a name such as offline, sp-rag or other-lab: at most 50 small letters, digits, . _ -"
        raise CellFault(f"source {source[:60]!r} {words}")
    return source


def _parse_temperature(text: str) -> float | None:
    return float(text) if 0 <= float(text) <= HIGHEST_TEMPERATURE else None


def _parse_repeat(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text[:10]) < MOST_REPEATS else None
