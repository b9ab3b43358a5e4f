"""What researchers decide by hand: previews, calling somebody returned, and erasing Prolific ids for good."""

import secrets

from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Cast, Concat

from surveys.access import audit
from surveys.annotation.work import begin, has_pages
from surveys.models import Participant, Session, Study
from surveys.participation import recruitment
from surveys.participation.prolific import Visit
from surveys.studies.lifecycle import StudyError, lock_study

State = Participant.State


class DecisionError(Exception):
    """A decision that the person's state does not allow; the message says why."""


def start_preview(study: Study, actor: str) -> Participant:
    """A participant like any other, except that it takes no place and never counts. Raises DecisionError."""
    if not has_pages(study):
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


# --- what is kept for how long ----------------------------------------------


ERASED = "erased-"


def erase_prolific_ids(study: Study, actor: str) -> int:
    """Replace every Prolific id of a closed study; returns how many people had one. It can't be undone.

    Nobody can resume, withdraw by their id or be paid by this list afterwards, hence only after closing.
    """
    with transaction.atomic():
        study = lock_study(study)
        if study.state != Study.State.CLOSED:
            raise StudyError(f"{study.slug} is not closed. Close it and settle all payments first.")
        people = Participant.objects.filter(study=study).exclude(pid__startswith=ERASED)
        count = people.update(pid=Concat(Value(ERASED), F("pseudonym")))
        Session.objects.filter(study=study).exclude(session_id__startswith=ERASED).update(
            session_id=Concat(Value(ERASED), Cast("pk", CharField())), prolific_study_id=""
        )
        audit.record(study, actor, "Prolific ids erased", people=count)
        return count
