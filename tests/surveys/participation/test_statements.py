"""The number of SQL statements for each thing a participant does: literal numbers, including BEGIN and COMMIT."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from surveys.models import Participant
from surveys.participation.steps import address
from tests.factories import answer_text, make_participant, make_response, prompt_of

# Real transactions: within a test's own one, BEGIN and COMMIT would be savepoints.
pytestmark = pytest.mark.django_db(transaction=True)
# Together long enough that the same text from somebody else is searched for.
TEAS = ("Assam", "Sencha", "Rooibos", "Mate", "Oolong")


@contextmanager
def statements(count: int) -> Iterator[None]:
    with CaptureQueriesContext(connection) as seen:
        yield
    sent = [query["sql"] for query in seen.captured_queries]
    assert len(sent) == count, "\n".join(str(sql)[:150] for sql in sent)  # prepared ones are not shown


@pytest.fixture
def client() -> Client:
    return Client()


def page(participant: Participant, number: int = 1) -> str:
    return address(participant, "prompt", number)


def form(participant: Participant, index: int = 0, **changes: str) -> dict[str, str]:
    asked = prompt_of(participant, index)
    return {"text": answer_text(asked, participant.pk), "key": str(uuid.uuid4()), **changes}


@pytest.fixture
def participant(client: Client) -> Participant:
    """Somebody at their first prompt, loaded once because a process reads a version's definition and prompts once."""
    participant = make_participant()
    client.get(page(participant))
    return participant


def test_submission_of_a_list(client: Client, participant: Participant) -> None:
    text = "\n".join(f"{n}. {tea}, for every day." for n, tea in enumerate(TEAS, 1))
    number = participant.order.index("teas")
    if number:
        make_response(participant, 0)
    with statements(2):
        assert client.post(page(participant, number + 1), form(participant, number, text=text)).status_code == 302


@pytest.mark.parametrize("answered", [0, 1])
def test_first_and_last_submission_of_a_short_answer(client: Client, participant: Participant, answered: int) -> None:
    if answered:
        make_response(participant, 0)
    with statements(2):
        assert client.post(page(participant, answered + 1), form(participant, answered)).status_code == 302


@pytest.mark.parametrize("check", ["", "1"])
def test_submission_after_an_autosave(client: Client, participant: Participant, check: str) -> None:
    draft = {"step": f"prompt:{participant.order[0]}", "text": "1. Assam", "number": "0", "check": check}
    assert client.post(address(participant, "draft"), draft).status_code == 200
    with statements(2):
        assert client.post(page(participant), form(participant)).status_code == 302


def test_submission_that_is_kept(client: Client, participant: Participant) -> None:
    fields = form(participant, text="Sorry, I can't help with that.")
    with statements(3):
        assert client.post(page(participant), fields).status_code == 200
    with statements(2):
        assert client.post(page(participant), fields | {"keep": "1"}).status_code == 302


def test_submission_of_the_same_form_again(client: Client, participant: Participant) -> None:
    fields = form(participant)
    client.post(page(participant), fields)
    with statements(1):
        assert client.post(page(participant), fields).status_code == 302


def test_first_and_later_autosave(client: Client, participant: Participant) -> None:
    draft = {"step": f"prompt:{participant.order[0]}", "text": "1. Assam"}
    with statements(1):
        assert client.post(address(participant, "draft"), draft | {"number": "0"}).status_code == 200
    with statements(1):
        assert client.post(address(participant, "draft"), draft | {"number": "1"}).json()["number"] == 2


def test_autosave_of_a_page_that_is_no_prompt(client: Client, participant: Participant) -> None:
    with statements(2):
        assert client.post(address(participant, "draft"), {"step": "debrief", "number": "0"}).status_code == 200


@pytest.mark.parametrize("answered", [0, 1])
def test_prompt_page_with_what_was_answered(client: Client, participant: Participant, answered: int) -> None:
    if answered:
        make_response(participant, 0)
    with statements(1):
        assert client.get(page(participant, answered + 1)).status_code == 200


@pytest.mark.parametrize(
    ("at", "name", "count"),
    [
        ("questions", "questions", 1),
        ("instructions", "instructions", 1),
        ("context", "context", 2),
        ("debrief", "debrief", 1),
        ("completed", "end", 1),
    ],
)
def test_other_pages(client: Client, at: str, name: str, count: int) -> None:
    path = address(make_participant(at=at), name)
    client.get(path)
    with statements(count):
        assert client.get(path).status_code == 200
