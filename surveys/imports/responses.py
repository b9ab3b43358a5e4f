"""Field data that was collected elsewhere: stored in the same tables as our own, marked as imported."""

import hashlib
import uuid
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.db import connection, reset_queries, transaction
from django.utils import timezone

from surveys.access import audit
from surveys.access.access import make_pseudonym
from surveys.imports.files import Fault, ImportFault, batches
from surveys.imports.response_files import Line, Reader
from surveys.models import ChatbotContext, Participant, QuotaCell, Response, Study
from surveys.pasting.capture import hash_text
from surveys.study_files.definitions import Definition, cells_for

BATCH = 500
# The same row gets the same key in every import.
KEYS = uuid.UUID("6f1f6d0e-6f62-5d0c-9c0b-7f3f5a3b4c11")


@dataclass
class Imported:
    participants: int = 0
    responses: int = 0
    skipped: int = 0


def import_responses(study: Study, path: Path, actor: str) -> Imported:
    """Read the whole file once for its faults, then once more to store it. All of it, or nothing.

    Raises ImportFault, OSError.
    """
    if not study.current_id:
        raise ImportFault([Fault(0, f"{study.slug} has no definition yet. Load its study file first.")], 1)
    check_file(study, path)
    reader = Reader(study)
    with transaction.atomic():
        # Not the lock that a foreign key to the study waits for: people go on arriving meanwhile.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        done = Imported()
        for batch in batches(reader.read_lines(path), BATCH):
            store_batch(study, batch, reader, done)
            reset_queries()  # with DEBUG, Django would keep the texts of every batch in its list of statements
        reader.faults.raise_any()
        audit.record(study, actor, "imported", path.name, **vars(done))
        # PostgreSQL plans by what it knew of the tables before they grew, and would take minutes for an export.
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE surveys_participant, surveys_chatbotcontext, surveys_response")
    return done


@dataclass
class Known:
    """What the first pass keeps of a person: little, for there may be very many."""

    line: int
    about: bytes
    answered: array  # the line of the answer to each prompt, 0 where there is none yet


def check_file(study: Study, path: Path) -> None:
    """Everything that can be said without the database: each row by itself, and against the rows above it."""
    reader = Reader(study)
    people: dict[str, Known] = {}
    for line in reader.read_lines(path):
        about = digest(line.chatbot, *(f"{key}={value}" for key, value in sorted(line.answers.items())))
        nothing = array("I", [0] * len(reader.prompts))
        person = people.setdefault(line.participant, Known(line.number, about, nothing))
        check_line(reader, line, person, about)
    reader.faults.raise_any()


def check_line(reader: Reader, line: Line, person: Known, about: bytes) -> None:
    name, place = line.participant, line.prompt.position - 1
    if person.answered[place]:
        words = f"{name}'s answer to {line.prompt.slug} is on line {person.answered[place]} already"
        reader.faults.add(line.number, words)
    person.answered[place] = line.number
    if about != person.about:
        words = f"says other things about {name} than line {person.line}; one person has one chatbot"
        reader.faults.add(line.number, words)


def digest(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).digest()


def store_batch(study: Study, batch: list[Line], reader: Reader, done: Imported) -> None:
    people = find_people(study, batch, reader)
    new = {line.participant: line for line in reversed(batch) if line.participant not in people}
    people |= make_people(study, list(reversed(new.values())), reader.definition)
    done.participants += len(new)
    there = {
        (person, prompt): sha256
        for person, prompt, sha256 in Response.objects.filter(
            participant__in=people.values(), prompt__slug__in={line.prompt.slug for line in batch}
        ).values_list("participant__pid", "prompt__slug", "text_sha256")
    }
    rows = []
    for line in batch:
        known = there.get((line.participant, line.prompt.slug))
        if known is None and line.participant in people:
            rows.append(response_row(study, people[line.participant], line))
        elif known == hash_text(line.text):
            done.skipped += 1
        elif known:
            words = f"{line.participant} has another answer to {line.prompt.slug} in the study already"
            reader.faults.add(line.number, words)
    Response.objects.bulk_create(rows)
    done.responses += len(rows)


def find_people(study: Study, batch: list[Line], reader: Reader) -> dict[str, Participant]:
    first = {line.participant: (line.number, line.chatbot) for line in reversed(batch)}
    people = {person.pid: person for person in Participant.objects.filter(study=study, pid__in=first)}
    for name, person in people.items():
        number, chatbot = first[name]
        if person.origin != Participant.Origin.IMPORTED:
            reader.faults.add(number, f"{name} took part in the study here; imported people need other names")
        elif person.answers.get("chatbot") != chatbot:
            reader.faults.add(number, f"{name} is in the study with another chatbot; one person has one chatbot")
    return people


def make_people(study: Study, lines: list[Line], definition: Definition) -> dict[str, Participant]:
    cells = {(cell.chatbot, cell.slug): cell for cell in QuotaCell.objects.filter(study=study)}
    people = [make_person(study, line, definition, cells) for line in lines]
    Participant.objects.bulk_create(people)
    ChatbotContext.objects.bulk_create(
        ChatbotContext(
            participant=person,
            product=line.chatbot,
            model_shown=line.model,
            plan="unknown",
            memory="unknown",
            personalisation="unknown",
        )
        for person, line in zip(people, lines, strict=True)
    )
    return {person.pid: person for person in people}


def make_person(
    study: Study, line: Line, definition: Definition, cells: Mapping[tuple[str, str], QuotaCell]
) -> Participant:
    """Somebody whose part was over elsewhere: completed, with a group but without a place."""
    fitting = cells_for(definition, [line.chatbot], line.answers)
    moment = line.submitted_at or timezone.now()
    return Participant(
        study=study,
        version_id=study.current_id,
        pid=line.participant,
        pseudonym=make_pseudonym(),
        origin=Participant.Origin.IMPORTED,
        state=Participant.State.COMPLETED,
        step=Participant.Step.END,
        cell=cells.get(fitting[0]) if len(fitting) == 1 else None,
        language=definition.language,
        consented_at=moment,
        last_seen_at=moment,
        finished_at=moment,
        answers={"chatbot": line.chatbot, **line.answers},
    )


def response_row(study: Study, participant: Participant, line: Line) -> Response:
    sha256 = hash_text(line.text)
    return Response(
        participant=participant,
        prompt=line.prompt,
        version_id=study.current_id,
        pilot=False,
        revision=1,
        accepted=True,
        key=uuid.uuid5(KEYS, f"{study.slug}\0{line.participant}\0{line.prompt.slug}\0{sha256}"),
        text=line.text,
        text_sha256=sha256,
        submitted_at=line.submitted_at or timezone.now(),
    )
