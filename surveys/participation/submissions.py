"""What a change of a submission at Prolific means here: who returned or timed out gives the place back."""

import hashlib

from django.db import transaction

from surveys.models import Participant, Session, Submission
from surveys.participation import recruitment
from surveys.participation.places import release
from surveys.participation.prolific import REPLAY_SECONDS, SubmissionEvent
from surveys.studies import access, audit

State = Participant.State
RETURNED, TIMED_OUT = "RETURNED", "TIMED-OUT"
CLAIM_SECONDS = 120


def claim_event(event_id: str, signature: str) -> bool:
    """True for the first call only. The id is not signed, so the signature itself counts as well.

    The claim is short until `keep_claim`: after a crash in between, Prolific's next try counts as the first.
    """
    taken = [access.connection().set(n, 1, nx=True, ex=CLAIM_SECONDS) for n in names_of(event_id, signature)]
    return all(taken)


def keep_claim(event_id: str, signature: str) -> None:
    for name in names_of(event_id, signature):
        access.connection().set(name, 1, ex=2 * REPLAY_SECONDS)


def names_of(event_id: str, signature: str) -> list[str]:
    return [key("done", value) for value in (event_id, signature) if value]


def key(kind: str, value: str) -> str:
    return f"webhook:{kind}:{hashlib.sha256(value.encode()).hexdigest()[:32]}"


def is_overtaken(event: SubmissionEvent) -> bool:
    """Whether a later event of the same submission was here already: tries that failed come out of order."""
    name = key("at", event.submission)
    newest = float(access.connection().get(name) or 0)
    if newest <= event.sent_at:
        access.connection().set(name, event.sent_at, ex=2 * REPLAY_SECONDS)
    return newest > event.sent_at


def apply_event(event: SubmissionEvent) -> int:
    """Note the status and do what follows from it; returns how many people it is about, 0 for unknown ids."""
    mirrored = Submission.objects.filter(submission_id=event.submission, pid=event.participant)
    mirrored.update(status=event.status[:20])
    sessions = Session.objects.filter(session_id=event.submission, participant__pid=event.participant)
    for session in sessions.select_related("participant", "study"):
        apply_status(session, event.status)
    return len(sessions)


def apply_status(session: Session, status: str) -> None:
    with transaction.atomic():
        participant = recruitment.lock(session.participant)
        Session.objects.filter(pk=session.pk).update(prolific_status=status[:20])
        newest = participant.sessions.order_by("-id").first()
        # Somebody who returned a submission and took part again is not stopped by news of the old one.
        if newest is None or newest.pk != session.pk or participant.has_ended:
            return
        if status == RETURNED:
            recruitment.stop(participant, State.RETURNED, "returned-at-prolific")
        elif status == TIMED_OUT:
            time_out(participant)
        else:
            return
        audit.record(session.study, audit.SYSTEM, f"{status.lower()} at Prolific", participant.pseudonym)


def time_out(participant: Participant) -> None:
    """Call the person timed out and give the place back; who comes again is let in as after any time-out."""
    release(participant)
    participant.state = State.TIMED_OUT
    participant.save(update_fields=["state"])
