"""The statements that every submission runs, written by hand.

The ORM builds each of these from its parts again on every call, which costs more than everything else about a
submission together (benchmarks/README.md). Values only ever travel as parameters.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection

from surveys.models import Participant, Prompt, QuotaCell

BY_LINK = """
SELECT participant.* FROM surveys_participant participant
JOIN surveys_study study ON study.id = participant.study_id
WHERE participant.pseudonym = %s AND study.slug = %s
"""

# The person's row first and then their place: the order in which all rules lock.
LIFE = """
WITH person AS (
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
SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM place)
"""

REVISIONS = """
SELECT revision, key, text_sha256, accepted FROM surveys_response
WHERE participant_id = %s AND prompt_id = %s ORDER BY revision
"""

SAME_TEXTS = """
SELECT DISTINCT participant_id, prompt_id FROM surveys_response
WHERE text_sha256 = %(sha256)s
  AND ((prompt_id = %(prompt)s AND participant_id <> %(person)s)
    OR (participant_id = %(person)s AND prompt_id <> %(prompt)s))
LIMIT 100
"""

FLAGS = """
UPDATE surveys_flag SET outcome = %(outcome)s, decided_at = %(decided_at)s
WHERE participant_id = %(person)s AND prompt_id = %(prompt)s AND check_name <> ALL(%(found)s)
"""


def rows_of(statement: str, values: Any) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


@lru_cache(maxsize=1024)
def cell_of(cell_id: int) -> QuotaCell:
    """Kept in memory for its chatbot, which never changes; its name may."""
    return QuotaCell.objects.get(pk=cell_id)


def find_by_link(study_slug: str, pseudonym: str) -> Participant | None:
    participant = next(iter(Participant.objects.raw(BY_LINK, [pseudonym, study_slug])), None)
    if participant and participant.cell_id:
        participant.cell = cell_of(participant.cell_id)
    return participant


def note_life(participant: Participant, now: datetime, until: datetime) -> tuple[bool, bool]:
    """Whether the part is still open, and whether a place was renewed; locks the person's row."""
    ((person, place),) = rows_of(LIFE, {"person": participant.pk, "now": now, "until": until})
    return bool(person), bool(place)


def revisions_of(participant: Participant, prompt: Prompt) -> list[tuple[int, UUID, str, bool]]:
    """(revision, key, SHA-256, accepted) of all that was sent to this prompt, oldest first."""
    return rows_of(REVISIONS, [participant.pk, prompt.pk])


def same_texts(participant: Participant, prompt: Prompt, sha256: str) -> tuple[set[int], bool]:
    """Where exactly this text stands already: own answers to other prompts; whether a neighbour sent it here."""
    rows = rows_of(SAME_TEXTS, {"sha256": sha256, "prompt": prompt.pk, "person": participant.pk})
    own = {prompt_id for person, prompt_id in rows if person == participant.pk}
    return own, any(person != participant.pk for person, _ in rows)


def decide_flags(
    participant: Participant, prompt: Prompt, found: list[str], outcome: str, decided_at: datetime | None
) -> None:
    """What becomes of everything that was noticed before and is not `found` now."""
    values = {"outcome": outcome, "decided_at": decided_at, "person": participant.pk, "prompt": prompt.pk}
    with connection.cursor() as cursor:
        cursor.execute(FLAGS, values | {"found": found})
