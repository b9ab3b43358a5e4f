"""Rows of completions collected elsewhere: read from a CSV file one by one, every fault with its line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from analysis.models import Run
from surveys.imports.files import Columns, Faults, near, read_csv
from surveys.models import BenchmarkItem, Prompt
from surveys.reading.answers import clean_text

COLUMNS = Columns(needed=("source", "model", "prompt", "text"), optional=("run", "repeat", "temperature"))
SOURCE = re.compile(r"[a-z0-9][a-z0-9._-]{0,49}")
HIGHEST_TEMPERATURE = 5.0
MOST_REPEATS = 1_000_000

Asked = Prompt | BenchmarkItem


class Group(NamedTuple):
    """What becomes one run: the same source, model, run and temperature."""

    source: str
    model: str
    run: str
    temperature: float | None


@dataclass(frozen=True)
class Line:
    """One row of the file, checked by itself; `repeat` is None where the file does not count."""

    number: int
    group: Group
    asked: Asked
    text: str
    repeat: int | None


class Reader:
    """What rows may hold, given what they can answer by its name, and the faults found on the way."""

    def __init__(self, asked: Mapping[str, Asked], what: str) -> None:
        self.asked, self.what = asked, what
        self.faults = Faults()

    def read_lines(self, path: Path) -> Iterator[Line]:
        """Row after row; the file is never held as a whole."""
        return read_csv(path, COLUMNS, self.faults, self.read_row)

    def read_row(self, number: int, row: Mapping[str, str]) -> Line | None:
        before = self.faults.count
        group = Group(
            self.read_source(number, row["source"].strip().lower()),
            self.read_word(number, "model", row["model"].strip(), Run._meta.get_field("imported_model").max_length),
            self.read_word(number, "run", row.get("run", "").strip(), 100, needed=False),
            self.read_temperature(number, row.get("temperature", "").strip()),
        )
        asked = self.asked.get(row["prompt"].strip())
        if asked is None:
            self.faults.add(
                number, f"{self.what} has no prompt {row['prompt'][:60]!r}{near(row['prompt'], self.asked)}"
            )
        repeat = self.read_repeat(number, row.get("repeat", "").strip())
        if self.faults.count > before or asked is None:
            return None
        return Line(number, group, asked, clean_text(row["text"]), repeat)

    def read_source(self, number: int, source: str) -> str:
        if source == "field":
            self.faults.add(number, "source 'field' is for people's answers: use import_responses for them")
        elif not SOURCE.fullmatch(source):
            words = "must be a name such as offline, sp-rag or other-lab: at most 50 small letters, digits, . _ -"
            self.faults.add(number, f"source {source[:60]!r} {words}")
        return source

    def read_word(self, number: int, name: str, value: str, longest: int, needed: bool = True) -> str:
        if len(value) > longest or not value.isprintable() or (needed and not value):
            self.faults.add(number, f"{name} must be a name of 1 to {longest} printable characters")
        return value

    def read_temperature(self, number: int, value: str) -> float | None:
        if not value:
            return None
        try:
            temperature = float(value)
        except ValueError:
            temperature = -1.0
        if not 0 <= temperature <= HIGHEST_TEMPERATURE:
            self.faults.add(
                number, f"temperature must be a number from 0 to {HIGHEST_TEMPERATURE:g}, not {value[:40]!r}"
            )
        return temperature

    def read_repeat(self, number: int, value: str) -> int | None:
        if not value:
            return None
        if not value.isdecimal() or int(value[:10]) >= MOST_REPEATS:
            self.faults.add(number, f"repeat must be a whole number below {MOST_REPEATS:,}, not {value[:40]!r}")
            return None
        return int(value)
