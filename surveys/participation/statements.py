"""Hand-written, prepared SQL that every submission, and the page after it, runs.

The ORM would build each statement anew on every call, which costs more than everything else about a submission
together; planning them anew costs PostgreSQL as much as running them (benchmarks/README.md). Hence one statement reads
all that a prompt's page or answer needs, one keeps an answer and one keeps a draft, and all stay prepared in a
connection (`sending.py`). Values only ever travel as parameters.

Nothing read about a person outlives the request. An answer is judged by this state, and written if its revision is
still free: the database refuses a second one of the same number. Otherwise all is repeated behind the lock on the
person's row.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS
from django.db.models import JSONField
from django.db.models.base import ModelState

from surveys.models import Participant, Prompt, QuotaCell
from surveys.participation.places import LIFE
from surveys.participation.sending import row_of
from surveys.studies.lifecycle import prompts_of

FIELDS = {field.attname: field for field in Participant._meta.concrete_fields}
CELL = Participant._meta.get_field("cell")
NAMES = tuple(FIELDS)
# All fields that pages of prompts need. Django reads the others when they are accessed.
AT_PROMPT = (
    *("id", "study_id", "version_id", "pseudonym", "origin", "pilot", "state", "step", "cell_id", "language", "order"),
    "checks",
)
JSON_NAMES = frozenset(name for name, field in FIELDS.items() if isinstance(field, JSONField))
# Whether a neighbour gave the very same text to the prompt.
SAME_AS_OTHER = """EXISTS (
    SELECT FROM surveys_response
    WHERE prompt_id = %(prompt)s AND text_sha256 = %(sha256)s AND participant_id <> %(person)s
)"""
BY_LINK = "pseudonym = %(pseudonym)s AND study_id = (SELECT id FROM surveys_study WHERE slug = %(slug)s)"
# A person's answers, the pages that have a draft, and whether the chatbot's settings are known.
GIVEN = """(
    SELECT json_agg(json_build_array(prompt_id, revision, key, text_sha256, accepted))
    FROM surveys_response WHERE participant_id = participant.id
), (SELECT json_agg(step) FROM surveys_draft WHERE participant_id = participant.id),
EXISTS (SELECT FROM surveys_chatbotcontext WHERE participant_id = participant.id)
FROM surveys_participant participant"""


def finding(names: Sequence[str]) -> str:
    columns = ", ".join(f'participant."{FIELDS[name].column}"' for name in names)
    return f"SELECT {columns}, {GIVEN} WHERE {BY_LINK}"


FIND = finding(NAMES)
FIND_AT_PROMPT = finding(AT_PROMPT)
READ_GIVEN = f"SELECT {SAME_AS_OTHER}, {GIVEN} WHERE id = %(person)s"

# DECIDE resolves flags that are no longer `found`; NOTICE upserts those that are.
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

# For texts that nobody has compared with the neighbours' yet.
LIFE_IF_NEW = LIFE.replace("finished_at IS NULL", f"finished_at IS NULL AND NOT {SAME_AS_OTHER}")
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
WRITE_RESPONSE = """
WITH {life}, response AS (
    INSERT INTO surveys_response (
        participant_id, prompt_id, version_id, pilot, revision, accepted, language, key,
        text, html, text_sha256, evidence, personal, rating, is_unrated, shown_at, submitted_at
    )
    SELECT id, %(prompt)s, %(version)s, %(pilot)s, %(revision)s, %(accepted)s, %(language)s, %(key)s,
        %(text)s, %(html)s, %(sha256)s, %(evidence)s::jsonb, %(personal)s::jsonb, %(rating)s::int, %(is_unrated)s,
        %(shown_at)s::timestamptz, %(now)s
    FROM person WHERE NOT %(needs_place)s OR EXISTS (SELECT FROM place)
    ON CONFLICT DO NOTHING  -- another window has sent something since
    RETURNING id
), {read_back} {flags}
SELECT id FROM response
"""


@cache
def response_statement(life: str, has_reading: bool, has_findings: bool) -> str:
    """The statement that writes a response, without the tables that it would write nothing to."""
    flags = (DECIDE + NOTICE if has_findings else DECIDE).format(if_so="EXISTS (SELECT FROM response)")
    return WRITE_RESPONSE.format(life=life, read_back=READ_BACK if has_reading else "", flags=flags)


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

# Most autosaves in one statement: of a prompt's page, for a person at work who has a place or needs none. `leases` are
# the minutes of the versions known here. In all other cases it finds nobody and leaves the draft to WRITE_DRAFT.
SAVE_DRAFT = f"""
WITH person AS (
    UPDATE surveys_participant SET last_seen_at = %(now)s
    WHERE {BY_LINK} AND state = 'active' AND "order" ? %(prompt)s AND %(leases)s::jsonb ? version_id::text
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


class PersonState(NamedTuple):
    """A person's drafts and answers, and more about the prompt they are at, as this request read them."""

    drafts: frozenset[str]  # steps
    answered: frozenset[str]  # slugs of the prompts with an accepted answer
    has_settings: bool = False  # of the chatbot
    sha256: str = ""  # of the text that `same_as_other` is about
    revisions: tuple[tuple[int, UUID, str, bool], ...] = ()  # revision, key, SHA-256, accepted; oldest first
    elsewhere: tuple[tuple[int, str], ...] = ()  # other prompts, with the SHA-256 of what they gave there last
    same_as_other: bool = False  # a neighbour gave it to this prompt; False also if nobody has looked


def standing_of(participant: Participant) -> PersonState | None:
    """The state read with the person; None once this request has changed it."""
    return getattr(participant, "standing", None)


@lru_cache(maxsize=1024)
def cell_of(cell_id: int) -> QuotaCell:
    """The cell, cached for its chatbot, which never changes; its name may."""
    return QuotaCell.objects.get(pk=cell_id)


def find_by_link(study_slug: str, pseudonym: str) -> Participant | None:
    """The person with their `standing`; None if they don't exist, or no longer."""
    row = row_of(FIND, {"slug": study_slug, "pseudonym": pseudonym})
    return participant_of(NAMES, row) if row else None


def find_at_prompt(study_slug: str, pseudonym: str, number: int, sha256: str = "") -> Participant | None:
    """Like `find_by_link`, with their answers to the prompt at this place of their order, and to others."""
    row = row_of(FIND_AT_PROMPT, {"slug": study_slug, "pseudonym": pseudonym})
    return participant_of(AT_PROMPT, row, number, sha256) if row else None


def participant_of(names: Sequence[str], row: Sequence[Any], number: int = 0, sha256: str = "") -> Participant:
    *columns, answers, drafts, has_settings = row
    participant = Participant.__new__(Participant)  # without the signals that `Participant()` sends
    own = {name: json.loads(value) if name in JSON_NAMES else value for name, value in zip(names, columns, strict=True)}
    participant.__dict__.update(own, _state=ModelState())
    participant._state.adding, participant._state.db = False, DEFAULT_DB_ALIAS
    if participant.cell_id:
        CELL.set_cached_value(participant, cell_of(participant.cell_id))
    slug = participant.order[number - 1] if 1 <= number <= len(participant.order) else ""
    participant.standing = standing_at(participant.version_id, slug, answers, drafts, has_settings, sha256)
    return participant


def slug_of(version_id: int, prompt_id: int) -> str:
    return slugs_of(version_id).get(prompt_id) or Prompt.objects.get(pk=prompt_id).slug


@lru_cache(maxsize=256)
def slugs_of(version_id: int) -> dict[int, str]:
    return {prompt.pk: slug for slug, prompt in prompts_of(version_id).items()}


def standing_at(
    version_id: int,
    slug: str,
    found: list[Any] | None,
    drafts: list[str] | None,
    has_settings: bool,
    sha256: str,
    same_as_other: bool = False,
) -> PersonState:
    prompt, answers = prompts_of(version_id).get(slug), sorted(found or ())
    at = prompt.pk if prompt else 0
    return PersonState(
        frozenset(drafts or ()),
        frozenset(slug_of(version_id, place) for place, *_, accepted in answers if accepted),
        has_settings,
        sha256=sha256,
        revisions=tuple((n, UUID(key), sha, accepted) for place, n, key, sha, accepted in answers if place == at),
        elsewhere=tuple({place: sha for place, _, _, sha, _ in answers if place != at}.items()),
        same_as_other=same_as_other,
    )


def read_standing(participant: Participant, prompt: Prompt, sha256: str) -> PersonState:
    """Read a person's state at a prompt, and whether a neighbour gave the same text."""
    row = row_of(READ_GIVEN, {"person": participant.pk, "prompt": prompt.pk, "sha256": sha256})
    if not row:
        raise Participant.DoesNotExist("The part has ended.")
    same_as_other, answers, drafts, has_settings = row
    return standing_at(participant.version_id, prompt.slug, answers, drafts, has_settings, sha256, same_as_other)


def write_response(standing: PersonState, values: dict[str, Any], is_locked: bool = False) -> bool:
    """Write a revision and, in the same statement, the reply to its reading, and its flags.

    `values` are those of WRITE_RESPONSE, and of READ_BACK if the reading was shown. Return False and write nothing if
    the revision exists by now, a neighbour gave the same text and nobody had looked, the participation has ended, or a
    place that they need is gone.
    """
    is_new = standing.sha256 and not standing.same_as_other and not is_locked
    statement = response_statement(LIFE_IF_NEW if is_new else LIFE, "verdict" in values, bool(values["found"]))
    as_json = {name: json.dumps(values[name]) for name in ("evidence", "personal")}
    return bool(row_of(statement, values | as_json))


def write_flags(values: dict[str, Any]) -> None:
    row_of(WRITE_FLAGS, values)


def write_draft(
    participant: Participant, now: datetime, until: datetime, step: str, data: dict[str, str], number: int
) -> tuple[bool, bool, int | None]:
    """Save a draft; return as `places.note_life`, plus the draft's new number; None if it is not at `number`."""
    life = {"person": participant.pk, "now": now, "until": until}
    values = life | {"step": step, "data": json.dumps(data), "number": number}
    person, place, kept = row_of(WRITE_DRAFT, values) or (0, 0, None)
    return bool(person), bool(place), kept


def save_draft_at_once(
    slug: str, pseudonym: str, leases: dict[int, int], now: datetime, prompt: str, data: dict[str, str], number: int
) -> int | None:
    """Save the draft of a prompt's page and return its new number; None leaves the decision to `write_draft`."""
    draft = {"prompt": prompt, "step": f"prompt:{prompt}", "data": json.dumps(data), "number": number}
    values = draft | {"leases": json.dumps(leases), "now": now, "slug": slug, "pseudonym": pseudonym}
    row = row_of(SAVE_DRAFT, values)
    return row[0] if row else None
