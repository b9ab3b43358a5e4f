"""People who withdraw while others read, answer, import and pay are erased whole at the first try; no page fails."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, transaction
from django.db.models.signals import pre_delete
from django.test import Client
from django.urls import reverse

from analysis.answers import readings
from analysis.answers.readings import Ask, Exchange
from analysis.models import Answer, SecondOpinion
from surveys.models import AnonymousExit, Draft, Participant, ProlificStudy, Response, Submission, locks
from surveys.participation import recruitment
from surveys.participation import views as participation
from surveys.participation.steps import address
from surveys.prolific.transfer import save_submissions
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.factories import (
    PROLIFIC_STUDY,
    make_annotation_study,
    make_annotator,
    make_items,
    make_participant,
    make_response,
    make_study,
    make_visit,
)
from tests.surveys.participation.threads import PATIENCE, beside, giving_way, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


def withdraw_beside(person: Participant, work: Callable[[], object]) -> Future[object]:
    """Withdraw the person; `work` starts once what to erase has been looked up, and must wait. Return its future."""
    begun: list[Future[object]] = []

    def begin(**_: Any) -> None:
        begun.append(beside(work, pool))
        wait_until_somebody_waits()

    with ThreadPoolExecutor(1) as pool:
        pre_delete.connect(begin, sender=Participant)
        recruitment.withdraw(person)
        pre_delete.disconnect(begin, sender=Participant)
    return begun[0]


# --- workers beside a withdrawal ----------------------------------------------------------


def test_answer_read_while_it_is_erased_goes_with_it() -> None:
    response = make_response(make_participant())
    read = partial(Answer.objects.create, response=response, rules_version=1)
    assert "foreign key" in str(withdraw_beside(response.participant, read).exception(PATIENCE))
    assert not Participant.objects.exists() and not Answer.objects.exists()


def test_withdrawal_that_must_give_way_is_tried_again() -> None:
    response = make_response(make_participant())
    person, texts = response.participant, Response.objects.filter(pk=response.pk)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            list(texts.select_for_update())
            withdrawing = beside(lambda: giving_way(lambda: recruitment.withdraw(person)), pool)
            wait_until_somebody_waits()
            recruitment.lock(person)  # in the wrong order
        assert withdrawing.result(PATIENCE) == "CODE7"
    assert not Participant.objects.exists() and AnonymousExit.objects.count() == 1


def test_withdrawal_that_cannot_be_done_leaves_everything_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    response, tries = make_response(make_participant()), []

    def refuse(participant: Participant) -> None:
        tries.append(participant)
        raise OperationalError from psycopg.errors.DeadlockDetected()

    monkeypatch.setattr(recruitment, "release", refuse)
    with pytest.raises(OperationalError):
        recruitment.withdraw(response.participant)
    assert len(tries) == locks.ATTEMPTS
    assert Response.objects.count() == 1 and not AnonymousExit.objects.exists()


def test_opinion_about_an_answer_that_was_withdrawn_meanwhile_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    study, endpoint = make_study(), make_endpoint()
    kept, gone = (make_response(make_participant(study), "teas", "Sorry, I cannot say.", keep=True) for _ in range(2))
    readings.read_new(study)

    def ask_all(endpoint: Any, temperature: float, keys: list[int], write: Callable, store: Callable, *_: Any) -> None:
        asks: list[Ask] = write(keys)
        recruitment.withdraw(gone.participant)
        reply = type("Reply", (), {"text": '{"items": []}'})
        store([Exchange(ask, reply, 1) for ask in asks])

    monkeypatch.setattr(readings, "ask_all", ask_all)
    readings.give_opinions(study, endpoint.name)
    assert list(SecondOpinion.objects.values_list("answer__response", flat=True)) == [kept.pk]


def test_what_prolific_says_of_somebody_who_withdraws_meanwhile_names_them_no_more() -> None:
    study = make_study()
    person = make_participant(study)
    remote = ProlificStudy.objects.create(study=study, prolific_id=PROLIFIC_STUDY)
    theirs = Submission(submission_id="5e" * 12, pid=person.pid, status="ACTIVE", reward=100, bonus=0)
    save = partial(save_submissions, study, remote, [theirs], 100, person.consented_at)
    withdraw_beside(person, save).result(PATIENCE)
    assert Submission.objects.get().pid == ""


# --- pages in another tab ------------------------------------------------------------------------

FORMS = {
    "resume": {},
    "questions": {"chatbot": "chatgpt", "tea": "yes"},
    "instructions": {},
    "comprehension": {"pasting": "yes"},
    "context": {"plan": "free", "memory": "on", "personalisation": "off", "chat": "new"},
    "prompt": {"text": "B", "key": "1" * 32},
    "attention": {"answer": "Green tea"},
    "draft": {"step": "context", "text": "half", "number": "0"},
    "debrief": {"comments": "fine"},
    "trouble": {"what": "It broke."},
    "stop": {"how": "return"},
    "end": {},
}
STEPS = {"questions": "questions", "instructions": "instructions", "debrief": "debrief", "end": "returned"}
MORE = {"prompt": [1], "attention": ["leaf"]}


@pytest.fixture
def withdraw_first(monkeypatch: pytest.MonkeyPatch) -> Callable[[Participant], None]:
    """Erase a person from another window after a page has found them and before its own work."""

    def begin(person: Participant) -> None:
        speak, todo = participation.speak, [person]

        def erase(*given: Any) -> None:
            if todo:
                recruitment.withdraw(todo.pop())
            speak(*given)

        monkeypatch.setattr(participation, "speak", erase)

    return begin


def gone_page(client: Client, method: str, path: str, form: dict[str, Any]) -> str:
    """The path where the request ends, with or without a script."""
    reply = getattr(client, method)(path, form, follow=True)
    assert reply.status_code == 200
    return reply.request["PATH_INFO"] if reply.headers["Content-Type"].startswith("text/html") else reply.json()["next"]


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize("name", FORMS)
def test_form_from_another_window_leads_to_the_end(withdraw_first: Any, name: str, accept: str) -> None:
    person = make_participant(at=STEPS.get(name, "prompts"))
    path = address(person, name, *MORE.get(name, ()))
    withdraw_first(person)
    client = Client(headers={"Accept": accept})
    ended = gone_page(client, "post", path, FORMS[name])
    assert ended.endswith("/withdrawn/") or "/withdrawn/" in gone_page(Client(), "get", ended, {})
    assert not Participant.objects.exists() and not Draft.objects.exists() and not Response.objects.exists()


@pytest.mark.parametrize("name", [name for name in FORMS if name != "draft"])
def test_page_in_another_window_leads_to_the_end(withdraw_first: Any, name: str) -> None:
    person = make_participant(at=STEPS.get(name, "prompts"))
    path = address(person, name, *MORE.get(name, ()))
    withdraw_first(person)
    Client().get(path, follow=True)  # what it has found may be shown once more
    assert gone_page(Client(), "get", path, {}).endswith("/withdrawn/")


@pytest.mark.parametrize(
    "name,form",
    [("work", None), ("item", {}), ("skip", {"reason": "unclear"}), ("undo", {}), ("alive", {}), ("debrief", {})],
)
def test_annotators_page_in_another_window_leads_to_the_end(withdraw_first: Any, name: str, form: Any) -> None:
    study = make_annotation_study()
    item, *_ = make_items(study, 3)
    person = make_annotator(study)
    path = address(person, name, *([item.pk] if name in ("item", "skip") else []))
    withdraw_first(person)
    reply = getattr(Client(), "get" if form is None else "post")(path, form, follow=True)
    assert reply.status_code == 200 and reply.request["PATH_INFO"].endswith("/withdrawn/")


def test_arrival_of_somebody_who_withdraws_in_another_window_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    study, visit = make_study(), make_visit()
    person = make_participant(study, visit=visit)
    record = recruitment.record_session

    def withdrawn(participant: Participant, *given: Any) -> Any:
        if Participant.objects.filter(pk=person.pk).exists():
            recruitment.withdraw(person)
        return record(participant, *given)

    monkeypatch.setattr(recruitment, "record_session", withdrawn)
    again = visit.as_parameters() | {"SESSION_ID": "5e" * 12}
    page = Client().get(reverse("survey:arrive", args=[study.slug]), again)
    assert page.status_code == 200 and 'name="consent"' in page.text
    assert not Participant.objects.exists()
