"""The mock's webhooks: the fast way into the mirror, each counted once, and only if Prolific signed it."""

import base64
import hmac
import json
import time
from typing import NamedTuple

import pytest
from django.http import HttpResponse
from django.test import Client

from surveys.models import Participant, Submission
from surveys.prolific.client import ProlificClient
from surveys.prolific.mock.server import Books
from tests.surveys.prolific.world import make_paid_study, read_people

pytestmark = pytest.mark.django_db
SECRET = "a secret of the tests"


class Webhook(NamedTuple):
    """A call about a changed submission, as Prolific signs it; sent twice, it is a duplicate."""

    body: bytes
    headers: dict[str, str]


def make_webhook(books: Books, submission: str, secret: str, at: float, event: str = "e1") -> Webhook:
    """Make a call that is late if `at` is not now, and forged if `secret` is not the workspace's."""
    found = books.submissions[submission]
    content = {
        "event_type": "submission.status.change",
        "resource_id": found.id,
        "participant_id": found.participant_id,
        "status": found.status,
    }
    body, stamp = json.dumps(content).encode(), str(int(at))
    signature = base64.b64encode(hmac.digest(secret.encode(), stamp.encode() + body, "sha256")).decode()
    headers = {"X-Prolific-Request-Timestamp": stamp, "X-Prolific-Request-Signature": signature, "X-Event-ID": event}
    return Webhook(body, headers)


def post(webhook: Webhook) -> HttpResponse:
    at = "/api/v1/prolific/webhook/"
    return Client().post(at, webhook.body, content_type="application/json", headers=webhook.headers)


@pytest.fixture
def name(books: Books, prolific: ProlificClient, settings) -> str:
    """The submission of somebody still working here who has returned it on Prolific since the last reading."""
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET
    study = make_paid_study()
    [name] = read_people(study, books, prolific, 1, "active")
    books.give_back(name)
    return name


def standing() -> tuple[str, str]:
    return Submission.objects.get().status, Participant.objects.get().state


def test_webhook_is_in_the_mirror_before_the_next_reading_and_counts_once(books: Books, name: str) -> None:
    event = f"{name} {time.time_ns()}"
    first = make_webhook(books, name, SECRET, time.time(), event)
    assert post(first).json()["detail"] == "Noted."
    assert standing() == ("RETURNED", "returned")
    assert post(first).json()["detail"] == "Known already."


@pytest.mark.parametrize(("secret", "age"), [("forged", 0), (SECRET, 26 * 3600)], ids=["forged", "late"])
def test_webhook_that_is_forged_or_late_changes_nothing(books: Books, name: str, secret: str, age: int) -> None:
    assert post(make_webhook(books, name, secret, time.time() - age)).status_code == 403
    assert standing() == ("ACTIVE", "active")


def test_webhook_about_a_submission_of_another_study_or_person_changes_nothing(books: Books, name: str) -> None:
    books.add_submission("ab" * 12, "f" * 24, "e" * 24, status="RETURNED")
    assert post(make_webhook(books, "ab" * 12, SECRET, time.time(), f"other {time.time_ns()}")).status_code == 200
    books.submissions[name].participant_id = "e" * 24
    assert post(make_webhook(books, name, SECRET, time.time(), f"person {time.time_ns()}")).status_code == 200
    assert standing() == ("ACTIVE", "active")
