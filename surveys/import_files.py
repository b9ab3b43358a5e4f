"""Rows of field data collected elsewhere: read from a CSV file one by one, every fault with its line."""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import IO

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from surveys.capture import LONGEST_TEXT, clean_text
from surveys.definitions import Definition
from surveys.models import Prompt, Study
from surveys.studies import definition_of, prompts_of

NEEDED = ("participant", "chatbot", "prompt", "text")
OPTIONAL = ("model", "submitted_at")
MOST_FAULTS = 50
LONGEST_LINE = 4 * LONGEST_TEXT
LONGEST_CELL = 2_000
COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,49}")


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


@dataclass(frozen=True)
class Line:
    """One row of the file, checked by itself."""

    number: int
    participant: str
    chatbot: str
    prompt: Prompt
    text: str
    model: str
    submitted_at: datetime | None
    answers: dict[str, str]


class Reader:
    """What rows of this study may hold, and the faults found on the way."""

    def __init__(self, study: Study) -> None:
        self.definition: Definition = definition_of(study.current_id)
        self.prompts = prompts_of(study.current_id)
        self.faults = Faults()
        bots = self.definition.chatbots
        self.chatbots = {name.casefold(): bot.slug for bot in bots for name in (bot.slug, bot.name)}
        self.numbers = {q.slug for q in self.definition.questions if q.kind == "number"}

    def read_lines(self, path: Path) -> Iterator[Line]:
        """Row after row; the file is never held as a whole."""
        with path.open("rb") as file, field_limit(LONGEST_TEXT):
            rows = csv.reader(decode_lines(file), strict=True)
            try:
                header = [read_name(name) for name in next(rows, [])]
                if not self.check_header(header):
                    return
                before = rows.line_num
                for cells in rows:
                    line = self.read_row(before + 1, header, cells) if cells else None
                    before = rows.line_num
                    if line:
                        yield line
            except csv.Error as error:
                self.faults.add(rows.line_num, explain(error))
            except UndecodableLine as error:
                self.faults.add(error.line, str(error))

    def check_header(self, header: list[str]) -> bool:
        before = self.faults.count
        missing = [name for name in NEEDED if name not in header]
        if missing:
            hint = "; the columns must be separated by commas" if len(header) == 1 else ""
            self.faults.add(1, f"the column {', '.join(missing)} is missing{hint}")
            return False
        for name in sorted({name for name in header if header.count(name) > 1}):
            self.faults.add(1, f"the column {name!r} is there more than once")
        for name in header:
            if not COLUMN.fullmatch(name):
                self.faults.add(1, f"{name[:60]!r} is no name for a column: use letters, digits, spaces, - and _")
        return self.faults.count == before

    def read_row(self, number: int, header: list[str], cells: list[str]) -> Line | None:
        if len(cells) != len(header):
            self.faults.add(number, f"has {len(cells)} cells, but there are {len(header)} columns")
            return None
        row = dict(zip(header, cells, strict=True))
        before = self.faults.count
        participant = row["participant"].strip()
        if not 0 < len(participant) <= 64 or not participant.isprintable():
            self.faults.add(number, "participant must be a name of 1 to 64 printable characters")
        chatbot = self.chatbots.get(row["chatbot"].strip().casefold(), "")
        if not chatbot:
            self.faults.add(
                number,
                f"the study has no chatbot {row['chatbot'][:60]!r}{near(row['chatbot'], self.chatbots)}",
            )
        prompt = self.prompts.get(row["prompt"].strip())
        if prompt is None:
            self.faults.add(
                number, f"the study has no prompt {row['prompt'][:60]!r}{near(row['prompt'], self.prompts)}"
            )
        if not row["text"].strip():
            self.faults.add(number, "the text is empty; leave the row out where there is no answer")
        submitted_at = self.read_time(number, row.get("submitted_at", "").strip())
        answers = self.read_answers(number, row)
        if self.faults.count > before or prompt is None:
            return None
        text, model = clean_text(row["text"]), row.get("model", "").strip()[:100]
        return Line(number, participant, chatbot, prompt, text, model, submitted_at, answers)

    def read_time(self, number: int, value: str) -> datetime | None:
        if not value:
            return None
        try:
            moment = parse_datetime(value)
        except ValueError:
            moment = None
        if moment is None:
            self.faults.add(number, f"submitted_at {value[:40]!r} is no time such as 2026-05-31T14:05:00Z")
            return None
        return moment if timezone.is_aware(moment) else moment.replace(tzinfo=UTC)

    def read_answers(self, number: int, row: Mapping[str, str]) -> dict[str, str]:
        """Every other column is something that is known about the person."""
        answers = {}
        for name, value in row.items():
            if name in NEEDED or name in OPTIONAL:
                continue
            slug, value = slug_of(name, self.definition), clean_text(value.strip())
            if len(value) > LONGEST_CELL:
                self.faults.add(number, f"{name} has more than {LONGEST_CELL:,} characters")
            elif value and slug in self.numbers and not value.isdecimal():
                self.faults.add(number, f"{name} must be a whole number, not {value[:40]!r}")
            else:
                answers[slug] = value
        return answers


class UndecodableLine(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def decode_lines(file: IO[bytes], longest: int = LONGEST_LINE) -> Iterator[str]:
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


@contextmanager
def field_limit(size: int) -> Iterator[None]:
    before = csv.field_size_limit(size)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def explain(error: csv.Error) -> str:
    if "field larger than field limit" in str(error):
        return f"a cell is longer than {LONGEST_TEXT:,} characters, or a quote is not closed; nothing after it was read"
    return f"is not valid CSV ({error}); nothing after it was read"


def near(value: str, known: Mapping[str, object]) -> str:
    found = get_close_matches(value.strip().casefold(), known, n=1)
    return f"; did you mean {found[0]}?" if found else f"; there are {', '.join(list(known)[:20])}"


def read_name(name: str) -> str:
    """Our own columns are known in any case; others keep the one they have."""
    name = name.strip()
    return name.lower() if name.lower() in (*NEEDED, *OPTIONAL) else name


def slug_of(name: str, definition: Definition) -> str:
    """The study's question of this name, else the name itself as a slug."""
    slug = re.sub(r"[ _]+", "-", name.strip().lower())
    return slug if slug in {question.slug for question in definition.questions} else slug.replace("-", "_")
