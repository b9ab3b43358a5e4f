"""Field data collected elsewhere: stored in the same tables as our own, marked as imported."""

import hashlib
import re
import uuid
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from django.db import reset_queries
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from surveys.models import ChatbotContext, Participant, Prompt, QuotaCell, Response, Study
from surveys.models.hashes import hash_text
from surveys.reading.answers import clean_text
from surveys.studies import audit
from surveys.studies.files.askings import Asking
from surveys.studies.files.definitions import Definition, cells_for
from surveys.studies.files.schema import SETTINGS, settings_asked
from surveys.studies.imports import files
from surveys.studies.lifecycle import definition_of, prompts_of

BATCH = 500
ANALYZE = "ANALYZE surveys_participant, surveys_chatbotcontext, surveys_response"
OTHER_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,49}")
LONGEST_CELL = 2_000
LONGEST_MODEL = 100
DIGITS = 15  # of a whole number that every format of the exports can hold
MOST = 1_000  # places in an order, and occasions
PERSON = 400  # bytes that are kept of a person while a file is checked, beside their name
NO_TEXT = "the text is empty; leave the row out where there is no answer"
NO_TIME = "submitted_at {!r} is not a time such as 2026-05-31T14:05:00Z"
# An export of responses is known by these columns. Of its others some are ignored, and some must have one of these
# values, or the person would not count.
EXPORTED = {"text_sha256", "version_sha256"}
IGNORED = {
    *("study", "version", "version_sha256", "pid", "previous_prompt", "kind", "language", "revision", "characters"),
    *("personal_removed", "personal_kept", "unrated"),
}
MUST_BE = {"pilot": {"false"}, "unreached": {"false"}, "state": {"completed"}, "origin": {"prolific", "imported"}}
# The same row gets the same key in every import.
KEYS = uuid.UUID("6f1f6d0e-6f62-5d0c-9c0b-7f3f5a3b4c11")


@dataclass
class ImportedResponses:
    participants: int = 0
    responses: int = 0
    skipped: int = 0


def import_responses(study: Study, path: Path, actor: str) -> ImportedResponses:
    """Read the file once for its faults, then again to store all of it or nothing. Raises ImportFault, OSError."""
    if not study.current_id:
        files.refuse(f"{study.slug} has no definition yet. Load its study file first.")
    orders = _check_file(study, path)
    reader = ResponseReader(study)
    with files.storing(study, ANALYZE):
        done = ImportedResponses()
        for batch in files.batches(reader.read(path), BATCH, lambda row: len(row.text)):
            _store_batch(study, batch, reader, orders, done)
            reset_queries()  # with DEBUG, Django would keep the texts of every batch in its list of statements
        reader.faults.raise_any()
        audit.record(study, actor, "imported", path.name, **vars(done))
    return done


# --- rows -------------------------------------------------------------------


@dataclass(frozen=True)
class ResponseRow:
    """One row of the file, checked by itself; `answers` are the other columns, about the person."""

    line: int
    participant: str
    chatbot: str
    prompt: Prompt
    text: str
    model: str
    submitted_at: datetime | None
    language: str
    rating: int | None
    position: int | None
    answers: dict[str, str]
    cell: str = ""  # as an export says


class ResponseReader:
    """A reader of rows for this study, with the faults found on the way."""

    def __init__(self, study: Study) -> None:
        self.definition: Definition = definition_of(study.current_id)
        self.prompts = prompts_of(study.current_id)
        self.questions = {question.slug: question.kind for question in self.definition.questions}
        self.faults = files.Faults()
        chatbots = {name.casefold(): bot.slug for bot in self.definition.chatbots for name in (bot.slug, bot.name)}
        self.table = files.TableReader(
            files.name_column("participant", 64),
            files.choice_column("chatbot", chatbots, "the study", casefold=True),
            files.choice_column(
                "prompt", {slug: slug for slug, asked in self.prompts.items() if not asked.asks}, "the study"
            ),
            files.FileColumn("occasion", files.optional(_whole("occasion", 1, MOST), 1)),
            files.FileColumn("arm", lambda cell: cell.strip()),
            files.FileColumn("position", files.optional(_whole("position", 1, MOST))),
            files.FileColumn("rating", files.optional(_whole("rating", 1, 5))),
            files.FileColumn(
                "text", files.parsed(lambda cell: clean_text(cell) if cell.strip() else None, NO_TEXT), needed=True
            ),
            files.FileColumn("model", _read_model),
            files.FileColumn("submitted_at", files.optional(files.parsed(_parse_time, NO_TIME))),
            *([files.FileColumn("language", self._read_language)] if self.definition.languages else []),
            other=self._other_column,
            faults=self.faults,
        )

    def read(self, path: Path) -> Iterator[ResponseRow]:
        for row in self.table.read(path):
            values = {"language": self.definition.language, **row.values}
            if self.is_export:
                values |= _take_exported(values["text"], row.others)
            asking = Asking(values.pop("prompt"), values.pop("arm"), values.pop("occasion"))
            if asked := self.prompts.get(asking.slug):
                yield ResponseRow(row.line, prompt=asked, answers=row.others, **values)
            else:
                how = f"in the state {asking.arm[:40]!r}" if asking.arm else f"on occasion {asking.occasion}"
                self.faults.add(row.line, f"the study file does not say that {asking.prompt} is asked {how}")

    def _read_language(self, cell: str) -> str:
        offered = self.definition.offered
        if cell.strip() and cell.strip() not in offered:
            raise files.CellFault(f"the study has no language {cell[:20]!r}; there are {', '.join(offered)}")
        return cell.strip() or self.definition.language

    @property
    def is_export(self) -> bool:
        return {*self.table.header} >= EXPORTED

    def _other_column(self, name: str) -> files.FileColumn | None:
        """A column about the person: the study's question of this name, or the name as a slug."""
        if not OTHER_COLUMN.fullmatch(name):
            raise files.CellFault(
                f"{name[:60]!r} is not a valid name for a column: use letters, digits, spaces, - and _"
            )
        if self.is_export and name in IGNORED:
            return None
        if self.is_export and name in MUST_BE:
            return files.FileColumn(name, _only(name, MUST_BE[name]))
        slug = re.sub(r"[ _]+", "-", name.strip().lower())
        slug = slug if slug in self.questions else slug.replace("-", "_")

        def read(cell: str) -> str:
            value = clean_text(cell.strip())
            if len(value) > LONGEST_CELL:
                raise files.CellFault(f"{name} has more than {LONGEST_CELL:,} characters")
            if value and self.questions.get(slug) == "number":
                if not value.isdecimal():
                    raise files.CellFault(f"{name} must be a whole number, not {value[:40]!r}")
                if len(value) > DIGITS:
                    raise files.CellFault(f"{name} has more than {DIGITS} digits: {value[:40]!r}")
            return value

        return files.FileColumn(slug, read)


def _take_exported(text: str, others: dict[str, str]) -> dict[str, str]:
    """Remove from an export's other columns those not about the person; return its cell, and the text as stored."""
    sha256, cell = others.pop("text_sha256"), others.pop("cell", "")
    for name in MUST_BE:
        others.pop(name, None)
    # Exports put an apostrophe in front of texts that a spreadsheet would take for a formula.
    return {"text": text[1:] if hash_text(text[1:]) == sha256 else text, "cell": cell}


def _only(name: str, allowed: Collection[str]) -> Callable[[str], str]:
    def read(cell: str) -> str:
        if cell.strip().lower() not in allowed:
            words = f"{name} is {cell[:40]!r}, but imported people count as real, completed and not of a pilot"
            raise files.CellFault(f"{words}; leave the row out")
        return ""

    return read


def _whole(name: str, low: int, high: int) -> Callable[[Any], int]:
    def parse(cell: str) -> int | None:
        return int(cell) if cell.isdecimal() and low <= int(cell) <= high else None

    return files.parsed(parse, f"{name} {{!r}} is not a whole number from {low} to {high}")


def _read_model(cell: str) -> str:
    model = clean_text(cell.strip())
    if len(model) > LONGEST_MODEL:
        raise files.CellFault(f"model has more than {LONGEST_MODEL} characters")
    return model


def _parse_time(cell: str) -> datetime | None:
    moment = parse_datetime(cell)
    if moment and not 1 < moment.year < 9999:  # in UTC it may be in a year that cannot be read back
        return None
    return moment.replace(tzinfo=UTC) if moment and timezone.is_naive(moment) else moment


# --- the file as a whole ----------------------------------------------------


@dataclass
class PersonSeen:
    """The first pass's record of a person: small, since there may be very many."""

    line: int
    about: bytes
    answered: array  # the line of the answer to each prompt, 0 if there is none yet
    positions: array  # the place at which they were asked each prompt, 0 if unknown


def _check_file(study: Study, path: Path) -> dict[str, list[str]]:
    """Check the file without the database: each row by itself, and against the rows above it.

    Return the order of the prompts of people whose rows give it, with an empty name at places without an answer.
    """
    reader = ResponseReader(study)
    people: dict[str, PersonSeen] = {}
    for row in reader.read(path):
        about = _digest(row.chatbot, *(f"{key}={value}" for key, value in sorted(row.answers.items())))
        nothing = array("I", [0] * len(reader.prompts))
        if row.participant not in people:
            people[row.participant] = PersonSeen(row.line, about, nothing, nothing[:])
            reader.faults.keep(row.participant, more=PERSON + 2 * nothing.itemsize * len(nothing))
        person = people[row.participant]
        _check_line(reader, row, person, about)
    reader.faults.raise_any()
    return {name: _order_of(person, list(reader.prompts)) for name, person in people.items() if any(person.positions)}


def _order_of(person: PersonSeen, slugs: list[str]) -> list[str]:
    order = [""] * max(person.positions)
    for slug, position in zip(slugs, person.positions, strict=True):
        if position:
            order[position - 1] = slug
    return order


def _check_line(reader: ResponseReader, row: ResponseRow, person: PersonSeen, about: bytes) -> None:
    name, place = row.participant, row.prompt.position - 1
    if person.answered[place]:
        words = f"{name}'s answer to {row.prompt.slug} is already on line {person.answered[place]}"
        reader.faults.add(row.line, words)
    person.answered[place] = row.line
    if row.position and row.position in person.positions:
        reader.faults.add(row.line, f"{name} has another answer at position {row.position} already")
    person.positions[place] = row.position or 0
    if about != person.about:
        words = f"says something else about {name} than line {person.line}; one person has one chatbot"
        reader.faults.add(row.line, words)


def _digest(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).digest()


def _store_batch(
    study: Study,
    batch: list[ResponseRow],
    reader: ResponseReader,
    orders: Mapping[str, list[str]],
    done: ImportedResponses,
) -> None:
    people = _find_people(study, batch, reader)
    new = {row.participant: row for row in reversed(batch) if row.participant not in people}
    people |= _make_people(study, list(reversed(new.values())), reader.definition)
    _give_orders(people.values(), orders)
    done.participants += len(new)
    there = {
        (person, prompt): sha256
        for person, prompt, sha256 in Response.objects.filter(
            participant__in=people.values(), prompt__slug__in={row.prompt.slug for row in batch}
        ).values_list("participant__pid", "prompt__slug", "text_sha256")
    }
    rows = []
    for row in batch:
        known = there.get((row.participant, row.prompt.slug))
        if known is None and row.participant in people:
            rows.append(_response_row(study, people[row.participant], row))
        elif known == hash_text(row.text):
            done.skipped += 1
        elif known:
            words = f"{row.participant} already has another answer to {row.prompt.slug} in the study"
            reader.faults.add(row.line, words)
    Response.objects.bulk_create(rows)
    done.responses += len(rows)


def _give_orders(people: Iterable[Participant], orders: Mapping[str, list[str]]) -> None:
    """Set people's orders: the file's places, and where it names none, those of an earlier file."""
    changed = []
    for person in people:
        pairs = zip_longest(orders.get(person.pid, []), person.order, fillvalue="")
        order = [now or before for now, before in pairs]
        if order != person.order:
            person.order = order
            changed.append(person)
    Participant.objects.bulk_update(changed, ["order"])


def _find_people(study: Study, batch: list[ResponseRow], reader: ResponseReader) -> dict[str, Participant]:
    first = {row.participant: row for row in reversed(batch)}
    people = files.people_there(study, {name: row.line for name, row in first.items()}, reader.faults)
    if reader.is_export:
        there = Participant.objects.filter(study=study, pseudonym__in=first)
        for name in there.values_list("pseudonym", flat=True):
            reader.faults.add(first[name].line, f"{name} is a label of this study; their answers are here already")
    for name, person in people.items():
        row = first[name]
        if person.origin != Participant.Origin.IMPORTED:
            continue
        if person.answers.get("chatbot") != row.chatbot:
            words = f"{name} is already in the study with another chatbot; one person has one chatbot"
            reader.faults.add(row.line, words)
        elif other := [key for key, said in row.answers.items() if said and person.answers.get(key) != said]:
            reader.faults.add(
                row.line, f"says something else about {name} than an earlier file did: {', '.join(other)}"
            )
    return people


def _make_people(study: Study, lines: list[ResponseRow], definition: Definition) -> dict[str, Participant]:
    cells = {(cell.chatbot, cell.slug): cell for cell in QuotaCell.objects.filter(study=study)}
    people = [_make_person(study, row, definition, cells) for row in lines]
    Participant.objects.bulk_create(people)
    ChatbotContext.objects.bulk_create(
        ChatbotContext(
            participant=person,
            product=row.chatbot,
            model_shown=row.model,
            **dict.fromkeys(SETTINGS, "unknown") | settings_asked(definition.questions, row.answers),
        )
        for person, row in zip(people, lines, strict=True)
    )
    return {person.pid: person for person in people}


def _make_person(
    study: Study, row: ResponseRow, definition: Definition, cells: Mapping[tuple[str, str], QuotaCell]
) -> Participant:
    """Make a person, in a cell if exactly one fits, but without a place."""
    fitting = [(row.chatbot, row.cell)] if row.cell else cells_for(definition, [row.chatbot], row.answers)
    return files.imported_participant(
        study,
        row.participant,
        row.submitted_at or timezone.now(),
        cell=cells.get(fitting[0]) if len(fitting) == 1 else None,
        language=row.language,
        answers={"chatbot": row.chatbot, **row.answers},
    )


def _response_row(study: Study, participant: Participant, row: ResponseRow) -> Response:
    sha256 = hash_text(row.text)
    return Response(
        participant=participant,
        prompt=row.prompt,
        version_id=study.current_id,
        pilot=False,
        revision=1,
        accepted=True,
        language=row.language,
        key=uuid.uuid5(KEYS, f"{study.slug}\0{row.participant}\0{row.prompt.slug}\0{sha256}"),
        text=row.text,
        text_sha256=sha256,
        rating=row.rating,
        submitted_at=row.submitted_at or timezone.now(),
    )
