"""Prolific's webhooks: only signed ones count, each once, and a freed place is free immediately."""

import base64
import hashlib
import hmac
import json
import time
import uuid
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from surveys.models import AuditEvent, Participant, Place, Session, Study
from surveys.participation import recruitment
from surveys.participation.webhooks import BadSignature, check_signature, read_event
from surveys.studies import access
from tests.factories import make_annotation_study, make_annotator, make_participant, make_study, make_visit

SECRET = "a secret of the tests"
BODY = b'{"event_type": "submission.status.change"}'
NOW = 1_795_000_000.0


def sign(body: bytes, timestamp: str, secret: str = SECRET) -> str:
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


@pytest.fixture
def study(db: None, settings) -> Study:
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET
    return make_study()


@pytest.fixture
def participant(study: Study) -> Participant:
    return make_participant(study)


def state_of(participant: Participant) -> str:
    participant.refresh_from_db()
    return participant.state


def event_about(participant: Participant, status: str, **changes: Any) -> dict[str, Any]:
    return {
        "event_type": "submission.status.change",
        "resource_id": participant.sessions.last().session_id,
        "participant_id": participant.pid,
        "status": status,
    } | changes


def send(event: dict[str, Any] | bytes, event_id: str | None = None, **headers: str) -> HttpResponse:
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    timestamp = headers.pop("timestamp", str(int(time.time())))
    sent = {
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": sign(body, timestamp),
        "X-Event-ID": event_id or str(uuid.uuid4()),
    } | headers
    return Client().post(reverse("prolific-webhook"), body, content_type="application/json", headers=sent)


# --- the signature ----------------------------------------------------------


@pytest.mark.parametrize("stamp", [str(int(NOW)), str(int(NOW * 1000)), str(NOW - 24 * 3600), "2026-11-18T11:06:40Z"])
def test_signature_of_timestamp_and_raw_body_is_taken(stamp: str) -> None:
    check_signature(SECRET, BODY, stamp, sign(BODY, stamp), NOW)


@pytest.mark.parametrize(
    ("secret", "body", "stamp", "signature"),
    [
        (SECRET, BODY + b" ", "1795000000", sign(BODY, "1795000000")),
        (SECRET, BODY, "1795000001", sign(BODY, "1795000000")),
        (SECRET, BODY, "1795000000", sign(BODY, "1795000000", "another secret")),
        (SECRET, BODY, "1795000000", ""),
        (SECRET, BODY, "1795000000", "é"),
        ("", BODY, "1795000000", sign(BODY, "1795000000", "")),
        (SECRET, BODY, "1794900000", sign(BODY, "1794900000")),
        (SECRET, BODY, "1795000900", sign(BODY, "1795000900")),
        (SECRET, BODY, "nan", sign(BODY, "nan")),
        (SECRET, BODY, "yesterday", sign(BODY, "yesterday")),
    ],
    ids=["body", "timestamp", "secret", "missing", "odd", "no-secret", "old", "future", "nan", "no-time"],
)
def test_anything_else_is_refused(secret: str, body: bytes, stamp: str, signature: str) -> None:
    with pytest.raises(BadSignature):
        check_signature(secret, body, stamp, signature, NOW)


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"{}", b'{"event_type": 3}', BODY, b"\xff"])
def test_body_that_is_no_event_is_named_so(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_event(body, "1795000000")


def test_events_about_other_things_are_left_alone() -> None:
    assert read_event(b'{"event_type": "study.progress.change"}', "1795000000") is None


# --- what follows -----------------------------------------------------------


@pytest.mark.parametrize(("status", "state"), [("RETURNED", "returned"), ("TIMED-OUT", "timed_out")])
def test_place_is_free_at_once(participant: Participant, status: str, state: str) -> None:
    assert Place.objects.filter(participant=participant).exists()
    assert send(event_about(participant, status)).status_code == 200
    assert state_of(participant) == state
    assert not Place.objects.filter(participant=participant).exists()
    assert Session.objects.get(participant=participant).prolific_status == status
    assert AuditEvent.objects.get(subject=participant.pseudonym).action == f"{status.lower()} at Prolific"


@pytest.mark.parametrize("status", ["ACTIVE", "AWAITING REVIEW", "APPROVED", "A STATUS OF NEXT YEAR, AND LONG"])
def test_other_statuses_are_only_noted(participant: Participant, status: str) -> None:
    send(event_about(participant, status))
    assert state_of(participant) == "active" and participant.place
    assert participant.sessions.get().prolific_status == status[:20]


def test_completed_part_stays_completed(study: Study) -> None:
    participant = make_participant(study, at="completed")
    send(event_about(participant, "RETURNED"))
    assert state_of(participant) == "completed" and participant.place.confirmed_at
    assert participant.sessions.get().prolific_status == "RETURNED"


def test_place_of_an_earlier_sitting_stays_theirs(study: Study) -> None:
    annotator = make_annotator(make_annotation_study(slug="cups", items=1), at="completed")
    Participant.objects.filter(pk=annotator.pk).update(state="active", finished_at=None)
    send(event_about(annotator, "TIMED-OUT"))
    assert state_of(annotator) == "timed_out" and annotator.place.confirmed_at


def test_somebody_who_timed_out_there_may_come_back(participant: Participant) -> None:
    send(event_about(participant, "TIMED-OUT"))
    participant = recruitment.come_back(participant)
    assert participant.state == "active" and Place.objects.filter(participant=participant).exists()


def test_same_event_counts_once(participant: Participant) -> None:
    event, stamp = event_about(participant, "RETURNED"), str(int(time.time()))
    send(event, "the-id", timestamp=stamp)
    recruitment.reopen(participant)
    again = send(event, "the-id", timestamp=str(int(stamp) + 1))
    replayed = send(event, "another-id", timestamp=stamp)
    assert [again.json()["detail"], replayed.json()["detail"]] == ["Known already."] * 2
    assert state_of(participant) == "active"


def test_event_that_comes_late_changes_nothing(participant: Participant) -> None:
    now = int(time.time())
    send(event_about(participant, "AWAITING REVIEW"), **{"X-Timestamp": str(now)})
    send(event_about(participant, "TIMED-OUT"), **{"X-Timestamp": str(now - 60)})
    assert state_of(participant) == "active"
    assert participant.sessions.get().prolific_status == "AWAITING REVIEW"


def test_news_of_an_older_submission_does_not_stop_the_newer(study: Study) -> None:
    visit = make_visit()
    participant = make_participant(study, visit=visit)
    event = event_about(participant, "RETURNED")
    recruitment.record_session(participant, make_visit(pid=visit.pid))
    send(event)
    assert state_of(participant) == "active"


@pytest.mark.parametrize("changes", [{"resource_id": "5f" * 12}, {"participant_id": "5f" * 12}])
def test_unknown_ids_are_taken_and_do_nothing(participant: Participant, changes: dict[str, str]) -> None:
    assert send(event_about(participant, "RETURNED", **changes)).status_code == 200
    assert state_of(participant) == "active"


def test_unsigned_call_is_refused(participant: Participant) -> None:
    response = send(event_about(participant, "RETURNED"), **{"X-Prolific-Request-Signature": "bm9uc2Vuc2U="})
    assert (response.status_code, state_of(participant)) == (403, "active")


def test_signed_nonsense_is_a_bad_request(study: Study) -> None:
    assert send(b"nonsense").status_code == 400


@pytest.mark.parametrize("body", [b"[" * 90_000, b'{"event_type":' * 6_000, b'[{"a":' * 10_000])
def test_signed_depths_are_a_bad_request(study: Study, body: bytes) -> None:
    answer = send(body)
    assert answer.status_code == 400 and "nested too deeply" in answer.json()["detail"]


def test_signed_id_that_no_database_holds_is_a_bad_request(participant: Participant) -> None:
    event = event_about(participant, "RETURNED")
    for name in ("resource_id", "participant_id", "status"):
        for value in ("a\x00b", "a\ud800", "\udfff"):
            answer = send(event | {name: value})
            assert answer.status_code == 400 and "characters that no id has" in answer.json()["detail"]


def test_length_that_is_no_number_is_refused(study: Study) -> None:
    for length in ("much", "-1", "9" * 30):
        assert send(b"{}", **{"Content-Length": length}).status_code == 413


def test_body_of_a_megabyte_is_refused(study: Study) -> None:
    assert send(b" " * 1_000_000).status_code == 413


def test_without_a_secret_nothing_is_believed(study: Study, settings) -> None:
    settings.PROLIFIC_WEBHOOK_SECRET = ""
    assert send(event_about(make_participant(study), "RETURNED")).status_code == 503


def test_only_posts_are_taken(study: Study) -> None:
    assert Client().get(reverse("prolific-webhook")).status_code == 405


def test_without_valkey_prolific_is_asked_to_try_again(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    participant, event_id = make_participant(study), str(uuid.uuid4())
    monkeypatch.setattr(access, "connection", lambda: Redis(port=1, retry=Retry(NoBackoff(), 0)))
    assert send(event_about(participant, "RETURNED"), event_id).status_code == 503
    monkeypatch.undo()
    assert send(event_about(participant, "RETURNED"), event_id).json()["detail"] == "Noted."
    assert state_of(participant) == "returned"
