"""Prolific's webhooks: signed events about submissions, and their effect here.

People who returned or timed out at Prolific give their place back.
"""

import base64
import hashlib
import hmac
import time
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from redis import RedisError

from surveys.models import Participant, Session, Submission
from surveys.participation import recruitment
from surveys.participation.places import release_lease
from surveys.reading.nesting import NestedTooDeeply, read_json
from surveys.studies import access, audit

State = Participant.State
RETURNED, TIMED_OUT = "RETURNED", "TIMED-OUT"
CLAIM_SECONDS = 120
# Prolific tries for 24 hours. Anything later is not a late try but a replay.
REPLAY_SECONDS = 25 * 3600
AHEAD_SECONDS = 300
LARGEST_EVENT = 100_000
EVENT_PARTS = ("resource_id", "participant_id", "status")


class BadSignature(Exception):
    """A call that Prolific did not sign, or signed too long ago."""


@dataclass(frozen=True)
class SubmissionEvent:
    """Prolific's news of one submission; it names no study."""

    submission: str
    participant: str
    status: str
    sent_at: float


def check_signature(secret: str, body: bytes, timestamp: str, signature: str, now: float) -> None:
    """Raise BadSignature unless `signature` is recent and base64 of HMAC-SHA256 over timestamp and raw body."""
    expected = base64.b64encode(hmac.digest(secret.encode(), timestamp.encode() + body, "sha256"))
    if not secret or not hmac.compare_digest(expected, signature.encode()):
        raise BadSignature("The signature does not match the body.")
    age = now - read_seconds(timestamp)
    if not -AHEAD_SECONDS <= age <= REPLAY_SECONDS:
        raise BadSignature("The call was signed too long ago, or in the future.")


def read_seconds(timestamp: str) -> float:
    """Seconds since 1970; Prolific's clients have seen seconds, milliseconds and ISO dates."""
    try:
        number = float(timestamp)
    except ValueError:
        try:
            return datetime.fromisoformat(timestamp).timestamp()
        except ValueError:
            raise BadSignature("The timestamp is not a time.") from None
    return number / 1000 if number > 1e11 else number


def read_event(body: bytes, sent_at: str) -> SubmissionEvent | None:
    """The event, or None if it is about something else. Raises ValueError if the body is no event at all."""
    try:
        content = read_json(body)
    except NestedTooDeeply:
        raise ValueError("The body is nested too deeply.") from None
    if not isinstance(content, dict) or not isinstance(content.get("event_type"), str):
        raise ValueError("The body is not an event.")
    if content["event_type"] != "submission.status.change":
        return None
    submission, participant, status = (content.get(name) for name in EVENT_PARTS)
    if not (isinstance(submission, str) and isinstance(participant, str) and isinstance(status, str)):
        raise ValueError("The event names no submission, participant or status.")
    if not (submission + participant + status).isprintable():  # a NUL, half a character
        raise ValueError("The event holds characters that no id has.")
    return SubmissionEvent(submission, participant, status, read_seconds(sent_at))


# The signature proves the sender; cookies are ignored.
@csrf_exempt
@require_POST
def prolific_webhook(request: HttpRequest) -> JsonResponse:
    """Reply 200 to every event that is understood, even of unknown ids: Prolific repeats calls with another status."""
    if not settings.PROLIFIC_WEBHOOK_SECRET:
        return answer(503, "Webhooks are not set up here: PROLIFIC_WEBHOOK_SECRET is empty.")
    if not access.within_limit(request, "webhook"):
        return answer(429, "Too many calls.")
    if not is_short(request.headers.get("Content-Length") or "0"):
        return answer(413, "The body is too large for an event.")
    timestamp = request.headers.get("X-Prolific-Request-Timestamp", "")
    signature = request.headers.get("X-Prolific-Request-Signature", "")
    try:
        check_signature(settings.PROLIFIC_WEBHOOK_SECRET, request.body, timestamp, signature, time.time())
        event = read_event(request.body, request.headers.get("X-Timestamp") or timestamp)
    except BadSignature as fault:
        return answer(403, str(fault))
    except ValueError as fault:
        return answer(400, f"Not understood: {fault}")
    if event is None:
        return answer(200, "Nothing to do.")
    return process(event, request.headers.get("X-Event-ID", ""), signature)


def is_short(length: str) -> bool:
    return length.isdecimal() and len(length) < 10 and int(length) <= LARGEST_EVENT


def process(event: SubmissionEvent, event_id: str, signature: str) -> JsonResponse:
    try:
        if not claim_event(event_id, signature):
            return answer(200, "Known already.")
        if not is_overtaken(event):
            apply_event(event)
        keep_claim(event_id, signature)
    except RedisError:
        return answer(503, "Try again later.")
    return answer(200, "Noted.")


def answer(status: int, detail: str) -> JsonResponse:
    return JsonResponse({"detail": detail}, status=status)


# --- the effect of an event


def claim_event(event_id: str, signature: str) -> bool:
    """True for the first call only. The id is not signed, so the signature itself counts too.

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
    """Whether a later event of the same submission arrived earlier, as retries come out of order."""
    name = key("at", event.submission)
    newest = float(access.connection().get(name) or 0)
    if newest <= event.sent_at:
        access.connection().set(name, event.sent_at, ex=2 * REPLAY_SECONDS)
    return newest > event.sent_at


def apply_event(event: SubmissionEvent) -> int:
    """Store the status and act on it; return the number of people concerned, 0 for unknown ids."""
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
    """Mark the person as timed out and give the place back; they may come back as after any time-out."""
    release_lease(participant)
    participant.state = State.TIMED_OUT
    participant.save(update_fields=["state"])


urlpatterns = [path("api/v1/prolific/webhook/", prolific_webhook, name="prolific-webhook")]
