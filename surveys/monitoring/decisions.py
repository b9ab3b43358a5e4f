"""What researchers do to one person's part by hand: previews, and calling somebody returned."""

import secrets

from django.db import transaction

from surveys.access import audit
from surveys.annotation.work import begin
from surveys.models import Participant, Study
from surveys.participation import recruitment
from surveys.participation.prolific import Visit
from surveys.studies.lifecycle import definition_of
from surveys.study_files.kinds import IMPORTED

State = Participant.State


class DecisionError(Exception):
    """A decision that the person's state does not allow; the message says why."""


def start_preview(study: Study, actor: str) -> Participant:
    """A participant like any other, except that it takes no place and never counts. Raises DecisionError."""
    work = definition_of(study.current_id).annotation
    if work and work.kind == IMPORTED:
        raise DecisionError(f"The labels of {study.slug} were collected elsewhere: there are no pages to preview.")
    with transaction.atomic():
        visit = Visit(*(secrets.token_hex(12) for _ in range(3)))
        participant = begin(recruitment.give_consent(study, visit, Participant.Origin.PREVIEW))
        audit.record(study, actor, "previewed", participant.pseudonym)
        return participant


def mark_returned(participant: Participant, actor: str) -> Participant:
    """The person gave the submission back on Prolific; their place is free for the next one."""
    with transaction.atomic():
        before = recruitment.lock(participant)
        if before.has_ended:
            raise DecisionError(f"{before} has already ended ({before.get_state_display().lower()}).")
        after = recruitment.stop(before, State.RETURNED, "returned-on-prolific")
        audit.record(after.study, actor, "marked as returned", after.pseudonym, before=before.state)
        return after
