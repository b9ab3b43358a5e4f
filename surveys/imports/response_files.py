"""Rows of field data collected elsewhere: read from a CSV file one by one, every fault with its line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from surveys.imports.files import Columns, Faults, near, read_csv
from surveys.models import Prompt, Study
from surveys.reading.answers import clean_text
from surveys.studies.lifecycle import definition_of, prompts_of
from surveys.study_files.definitions import Definition

COLUMNS = Columns(
    needed=("participant", "chatbot", "prompt", "text"),
    optional=("model", "submitted_at"),
    others=re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,49}"),
)
LONGEST_CELL = 2_000


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
        return read_csv(path, COLUMNS, self.faults, self.read_row)

    def read_row(self, number: int, row: Mapping[str, str]) -> Line | None:
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
            if name in COLUMNS.known:
                continue
            slug, value = slug_of(name, self.definition), clean_text(value.strip())
            if len(value) > LONGEST_CELL:
                self.faults.add(number, f"{name} has more than {LONGEST_CELL:,} characters")
            elif value and slug in self.numbers and not value.isdecimal():
                self.faults.add(number, f"{name} must be a whole number, not {value[:40]!r}")
            else:
                answers[slug] = value
        return answers


def slug_of(name: str, definition: Definition) -> str:
    """The study's question of this name, else the name itself as a slug."""
    slug = re.sub(r"[ _]+", "-", name.strip().lower())
    return slug if slug in {question.slug for question in definition.questions} else slug.replace("-", "_")
