"""The statements that every submission, and the page after it, run: written by hand, and prepared.

The ORM builds each of these from its parts again on every call, which costs more than everything else about a
submission together; planning them again costs PostgreSQL as much as running them (benchmarks/README.md). Hence one
statement that reads all that a prompt's page or answer needs, one that keeps an answer and one that keeps a draft, all
of which stay prepared in a connection. Values only ever travel as parameters.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache, lru_cache, partial
from time import monotonic
from typing import Any, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.models import JSONField
from django.db.models.base import ModelState
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus

from surveys.models import Participant, Prompt, QuotaCell
from surveys.studies.lifecycle import prompts_of

Answer = tuple[int, int, str, str, bool]  # prompt, revision, key, SHA-256, accepted
FIELDS = Participant._meta.concrete_fields
CELL = Participant._meta.get_field("cell")
NAMES = [field.attname for field in FIELDS]
JSON_AT = frozenset(index for index, field in enumerate(FIELDS) if isinstance(field, JSONField))
# The person's row first and then their place: the order in which all rules lock.
LIFE = """
person AS (
    UPDATE surveys_participant
    SET last_seen_at = %(now)s,
        state = CASE WHEN state <> 'timed_out' THEN state WHEN step = 'questions' THEN 'screening' ELSE 'active' END
    WHERE id = %(person)s AND finished_at IS NULL
    RETURNING id
), place AS (
    UPDATE surveys_place SET expires_at = %(until)s FROM person
    WHERE participant_id = person.id AND confirmed_at IS NULL
    RETURNING surveys_place.id
)
"""
NOTE_LIFE = f"WITH {LIFE} SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM place)"

# What the person answered to all prompts, and whether a neighbour gave the very same text to `{prompt}`.
ANSWERS = """(
    SELECT json_agg(json_build_array(prompt_id, revision, key, text_sha256, accepted))
    FROM surveys_response WHERE participant_id = participant.id
)"""
SAME_AS_OTHER = """EXISTS (
    SELECT FROM surveys_response
    WHERE prompt_id = {prompt} AND text_sha256 = %(sha256)s AND participant_id <> participant.id
)"""
AT_PROMPT = """(
    SELECT id FROM surveys_prompt
    WHERE version_id = participant.version_id AND slug = participant."order" ->> (%(number)s::int - 1)
)"""

# With the person, what they answered, of which pages there is a draft and, of a text, whether it is a neighbour's.
BY_LINK = f"""
SELECT {", ".join(f'participant."{field.column}"' for field in FIELDS)}, {ANSWERS},
    (SELECT json_agg(step) FROM surveys_draft WHERE participant_id = participant.id), {{same}}
FROM surveys_participant participant
WHERE pseudonym = %(pseudonym)s AND study_id = (SELECT id FROM surveys_study WHERE slug = %(slug)s)
"""
FIND = BY_LINK.format(same="false")
FIND_WITH_TEXT = BY_LINK.format(same=SAME_AS_OTHER.format(prompt=AT_PROMPT))
STANDING = f"""
SELECT {ANSWERS}, {SAME_AS_OTHER.format(prompt="%(prompt)s")} FROM surveys_participant participant
WHERE participant.id = %(person)s
"""

# Decides about everything that was noticed before and is not `found` now, and writes down what is.
DECIDE = """
decided AS (
    UPDATE surveys_flag SET outcome = %(outcome)s, decided_at = %(decided_at)s::timestamptz
    WHERE participant_id = %(person)s AND prompt_id = %(prompt)s AND check_name <> ALL(%(found)s::text[]) AND {if_so}
)
"""
NOTICE = """, noticed AS (
    INSERT INTO surveys_flag (
        participant_id, prompt_id, check_name, check_version, message, outcome, shown_at, decided_at
    )
    SELECT %(person)s, %(prompt)s, check_name, check_version, message, %(noticed)s, %(now)s, %(decided_at)s::timestamptz
    FROM unnest(%(found)s::text[], %(versions)s::int[], %(messages)s::text[])
        AS finding (check_name, check_version, message)
    WHERE {if_so}
    ON CONFLICT (participant_id, prompt_id, check_name)
    DO UPDATE SET outcome = excluded.outcome, decided_at = excluded.decided_at
)
"""
WRITE_FLAGS = f"WITH {(DECIDE + NOTICE).format(if_so='true')} SELECT"

# Only if nothing of the person has changed since it was read: every answer, draft and step moves `last_seen_at`, and
# PostgreSQL looks at it once more when it has waited for the row. So a double click and a second window are noticed.
UNCHANGED = LIFE.replace("finished_at IS NULL", "finished_at IS NULL AND last_seen_at = %(seen)s")
READ_BACK = """
read_back AS (
    INSERT INTO surveys_readback (
        response_id, rules_version, read_names, read_letter, verdict, names, letter, absent, no_answer
    )
    SELECT id, %(rules_version)s, %(read_names)s::text[], %(read_letter)s, %(verdict)s, %(names)s::text[], %(letter)s,
        %(absent)s::text[], %(no_answer)s
    FROM response
),
"""
WRITE_RESPONSE = f"""
WITH {UNCHANGED}, response AS (
    INSERT INTO surveys_response (
        participant_id, prompt_id, version_id, pilot, revision, accepted, language, key,
        text, html, text_sha256, evidence, personal, shown_at, submitted_at
    )
    SELECT id, %(prompt)s, %(version)s, %(pilot)s, %(revision)s, %(accepted)s, %(language)s, %(key)s,
        %(text)s, %(html)s, %(sha256)s, %(evidence)s::jsonb, %(personal)s::jsonb, %(shown_at)s::timestamptz, %(now)s
    FROM person WHERE NOT %(needs_place)s OR EXISTS (SELECT FROM place)
    RETURNING id
), {{read_back}} {{flags}}
SELECT count(*) FROM response
"""


@cache
def response_statement(has_reading: bool, has_findings: bool) -> str:
    """Nothing is asked of tables that nothing is written to."""
    flags = (DECIDE + NOTICE if has_findings else DECIDE).format(if_so="EXISTS (SELECT FROM response)")
    return WRITE_RESPONSE.format(read_back=READ_BACK if has_reading else "", flags=flags)


# An older page, which does not know of the newest draft, overwrites nothing.
WRITE_DRAFT = f"""
WITH {LIFE}, draft AS (
    INSERT INTO surveys_draft (participant_id, step, number, data, saved_at)
    SELECT id, %(step)s, 1, %(data)s::jsonb, %(now)s FROM person
    ON CONFLICT (participant_id, step)
    DO UPDATE SET number = surveys_draft.number + 1, data = excluded.data, saved_at = excluded.saved_at
    WHERE surveys_draft.number = %(number)s
    RETURNING number
)
SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM place), (SELECT number FROM draft)
"""

# Most autosaves in one statement: of a prompt's page, for somebody at work in a place, or who needs none. `leases` are
# the minutes of the versions that are known here. Everything else is nobody, and left to WRITE_DRAFT.
SAVE_DRAFT = """
WITH person AS (
    UPDATE surveys_participant SET last_seen_at = %(now)s
    WHERE pseudonym = %(pseudonym)s AND study_id = (SELECT id FROM surveys_study WHERE slug = %(slug)s)
      AND state = 'active' AND "order" ? %(prompt)s AND %(leases)s::jsonb ? version_id::text
    RETURNING id, last_seen_at + make_interval(mins => (%(leases)s::jsonb ->> version_id::text)::int) AS until,
        cell_id IS NULL OR pilot OR origin IN ('preview', 'imported') AS needs_none
), place AS (
    UPDATE surveys_place SET expires_at = until FROM person
    WHERE participant_id = person.id AND confirmed_at IS NULL
    RETURNING surveys_place.id
)
INSERT INTO surveys_draft (participant_id, step, number, data, saved_at)
SELECT id, %(step)s, 1, %(data)s::jsonb, %(now)s FROM person WHERE needs_none OR EXISTS (SELECT FROM place)
ON CONFLICT (participant_id, step)
DO UPDATE SET number = surveys_draft.number + 1, data = excluded.data, saved_at = excluded.saved_at
WHERE surveys_draft.number = %(number)s
RETURNING number
"""


class Standing(NamedTuple):
    """What there is of a person at the moment when they were last seen, and to the prompt that they are at."""

    seen: datetime
    answered: frozenset[str] = frozenset()  # slugs of the prompts with an accepted answer
    drafts: frozenset[str] = frozenset()  # steps
    sha256: str = ""  # of the text that the last two are about
    revisions: tuple[tuple[int, UUID, str, bool], ...] = ()  # revision, key, SHA-256, accepted; oldest first
    copies: frozenset[int] = frozenset()  # other prompts to which they gave the very same text
    same_as_other: bool = False  # a neighbour gave it to this prompt


def standing_of(participant: Participant) -> Standing | None:
    """What was read with the person, as long as this request has changed nothing of it."""
    return getattr(participant, "standing", None)


# --- how they are sent ------------------------------------------------------
# Straight to PostgreSQL's own library: Django's cursor and psycopg's take ten times as long as the library to send a
# prepared statement and to read one row (benchmarks/README.md).

PLACE = re.compile(r"%\((\w+)\)s")
PREPARED: WeakKeyDictionary[psycopg.Connection, set[bytes]] = WeakKeyDictionary()
LOADERS: dict[int, Any] = {
    16: b"t".__eq__,
    **dict.fromkeys((20, 21, 23), int),
    1184: lambda value: datetime.fromisoformat(value.decode()),
}  # by PostgreSQL's numbers of types: boolean, whole numbers, timestamp with time zone; all else is text


class Statement(NamedTuple):
    name: bytes
    text: bytes  # with numbered places
    values: tuple[str, ...]  # what belongs there


@lru_cache(maxsize=64)
def numbered(statement: str) -> Statement:
    values = tuple(dict.fromkeys(PLACE.findall(statement)))
    text = PLACE.sub(lambda found: f"${values.index(found[1]) + 1}", statement).encode()
    return Statement(hashlib.sha256(text).hexdigest()[:32].encode(), text, values)


def as_text(value: object) -> bytes | None:
    """As PostgreSQL reads it, whose statement knows of which type it is."""
    if value is None:
        return None
    if isinstance(value, list):
        quoted = [str(item).replace("\\", "\\\\").replace('"', '\\"') for item in value]
        value = "{" + ",".join(f'"{item}"' for item in quoted) + "}"
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    if "\x00" in text:
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return text.encode()


def row_of(statement: str, values: dict[str, Any]) -> tuple | None:
    """The first row. The statement stays prepared in its connection: sent once, planned a few times."""
    wrapper, begin = connections[DEFAULT_DB_ALIAS], monotonic()
    run: Callable[..., tuple | None] = ask
    for around in reversed(wrapper.execute_wrappers):
        run = partial(around, run)
    row = run(statement, values, False, {"connection": wrapper})
    if wrapper.queries_logged:
        wrapper.queries_log.append({"sql": statement, "time": f"{monotonic() - begin:.3f}"})
    return row


def ask(statement: str, values: dict[str, Any], many: bool, context: dict[str, Any]) -> tuple | None:
    """With the arguments that Django gives to what wraps the execution of statements."""
    known, wrapper = numbered(statement), context["connection"]
    with wrapper.wrap_database_errors, link_of(wrapper) as link:
        found = send(link, known, [as_text(values[name]) for name in known.values])
        if not found.ntuples:
            return None
        cells = [(found.get_value(0, at), LOADERS.get(found.ftype(at), bytes.decode)) for at in range(found.nfields)]
        return tuple(None if value is None else load(value) for value, load in cells)


@contextmanager
def link_of(wrapper: DatabaseWrapper) -> Iterator[psycopg.Connection]:
    """The connection that this thread has, else one of the pool for this statement alone.

    Django asks for one in a long way, to keep it until the request ends.
    """
    if wrapper.connection is not None or not wrapper.pool:
        wrapper.ensure_connection()
        wrapper.validate_no_broken_transaction()
        yield wrapper.connection
        return
    pool = wrapper.pool
    if pool.closed:
        pool.open()
    link = pool.getconn()
    try:
        yield link
    finally:
        pool.putconn(link)


def send(link: psycopg.Connection, statement: Statement, values: list[Any]) -> psycopg.pq.abc.PGresult:
    sender, prepared = link.pgconn, PREPARED.setdefault(link, set())
    if not link.autocommit and sender.transaction_status == TransactionStatus.IDLE:
        checked(sender.exec_(b"BEGIN"))
    if statement.name not in prepared:
        checked(sender.prepare(statement.name, statement.text))
        prepared.add(statement.name)
    return checked(sender.exec_prepared(statement.name, values))


def checked(result: psycopg.pq.abc.PGresult) -> psycopg.pq.abc.PGresult:
    if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        return result
    if result.error_field(DiagnosticField.SQLSTATE) is None:  # the library's own: the line is broken
        raise psycopg.OperationalError(result.get_error_message())
    raise psycopg.errors.error_from_result(result)


@lru_cache(maxsize=1024)
def cell_of(cell_id: int) -> QuotaCell:
    """Kept in memory for its chatbot, which never changes; its name may."""
    return QuotaCell.objects.get(pk=cell_id)


def find_by_link(study_slug: str, pseudonym: str) -> Participant | None:
    """The person with their `standing`; None where there is none, or no more."""
    return find_at_prompt(study_slug, pseudonym, 0)


def find_at_prompt(study_slug: str, pseudonym: str, number: int, sha256: str = "") -> Participant | None:
    """The same with what stands to the prompt at this place of their order.

    With `sha256` also where else exactly this text stands: this person's to other prompts, a neighbour's here.
    """
    values = {"pseudonym": pseudonym, "slug": study_slug, "number": min(max(number, 1), 10_000), "sha256": sha256}
    row = row_of(FIND_WITH_TEXT if sha256 else FIND, values)
    if not row:
        return None
    *own, answers, drafts, same_as_other = row
    participant = read_participant(own)
    answered = read_answers(answers)
    slugs = frozenset(slug_of(participant.version_id, prompt) for prompt, *_, accepted in answered if accepted)
    slug = participant.order[number - 1] if 1 <= number <= len(participant.order) else ""
    prompt = prompts_of(participant.version_id).get(slug)
    participant.standing = standing_at(prompt, answered, sha256, participant.last_seen_at, same_as_other)._replace(
        answered=slugs, drafts=frozenset(json.loads(drafts or "[]"))
    )
    return participant


def read_participant(row: Sequence[Any]) -> Participant:
    values = [json.loads(value) if index in JSON_AT else value for index, value in enumerate(row)]
    participant = Participant.__new__(Participant)  # without the signals that `Participant()` sends
    participant.__dict__.update(zip(NAMES, values, strict=True), _state=ModelState())
    participant._state.adding, participant._state.db = False, DEFAULT_DB_ALIAS
    if participant.cell_id:
        CELL.set_cached_value(participant, cell_of(participant.cell_id))
    return participant


def read_answers(found: str | None) -> list[Answer]:
    return sorted(json.loads(found)) if found else []


def slug_of(version_id: int, prompt_id: int) -> str:
    return slugs_of(version_id).get(prompt_id) or Prompt.objects.get(pk=prompt_id).slug


@lru_cache(maxsize=256)
def slugs_of(version_id: int) -> dict[int, str]:
    return {prompt.pk: slug for slug, prompt in prompts_of(version_id).items()}


def standing_at(
    prompt: Prompt | None, answered: list[Answer], sha256: str, seen: datetime, same_as_other: bool
) -> Standing:
    at = prompt.pk if prompt else 0
    own = (answer for answer in answered if answer[0] == at)
    return Standing(
        seen,
        sha256=sha256,
        revisions=tuple((number, UUID(key), sha, accepted) for _, number, key, sha, accepted in own),
        copies=frozenset(place for place, _, _, sha, _ in answered if sha == sha256 and place != at),
        same_as_other=same_as_other,
    )


def note_life(participant: Participant, now: datetime, until: datetime) -> tuple[bool, bool]:
    """Lock the person's row, note that they are here, renew their place: whether there is one, and the other."""
    person, place = row_of(NOTE_LIFE, {"person": participant.pk, "now": now, "until": until}) or (0, 0)
    return bool(person), bool(place)


def read_standing(participant: Participant, prompt: Prompt, sha256: str, seen: datetime) -> Standing:
    """What stands to a prompt, for somebody whose row is locked."""
    values = {"person": participant.pk, "prompt": prompt.pk, "sha256": sha256}
    answers, same_as_other = row_of(STANDING, values) or (None, False)
    return standing_at(prompt, read_answers(answers), sha256, seen, same_as_other)


def write_response(values: dict[str, Any]) -> bool:
    """A revision and, in the same statement, what was said of its reading, and its flags.

    `values` are those of WRITE_RESPONSE, and of READ_BACK where the reading was shown. False, and nothing is written,
    where anything of the person has changed since they were `seen`, or where their place is gone and they need one.
    """
    as_json = {name: json.dumps(values[name]) for name in ("evidence", "personal")}
    statement = response_statement("verdict" in values, bool(values["found"]))
    written = row_of(statement, values | as_json)
    return bool(written and written[0])


def write_flags(values: dict[str, Any]) -> None:
    row_of(WRITE_FLAGS, values)


def write_draft(
    participant: Participant, now: datetime, until: datetime, step: str, data: dict[str, str], number: int
) -> tuple[bool, bool, int | None]:
    """As `note_life`, and the new number of the draft, or None where it is not `number` that it had."""
    life = {"person": participant.pk, "now": now, "until": until}
    values = life | {"step": step, "data": json.dumps(data), "number": number}
    person, place, kept = row_of(WRITE_DRAFT, values) or (0, 0, None)
    return bool(person), bool(place), kept


def save_draft_at_once(
    slug: str, pseudonym: str, leases: dict[int, int], now: datetime, prompt: str, data: dict[str, str], number: int
) -> int | None:
    """The new number of the draft of a prompt's page; None where `write_draft` has to say what becomes of it."""
    who = {"slug": slug, "pseudonym": pseudonym, "leases": json.dumps(leases), "now": now}
    draft = {"prompt": prompt, "step": f"prompt:{prompt}", "data": json.dumps(data), "number": number}
    row = row_of(SAVE_DRAFT, who | draft)
    return row[0] if row else None
