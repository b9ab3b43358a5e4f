"""What the study file wants a second person for: one account requests it, and it happens once another confirms."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from surveys.models import AuditEvent, Payment, ProlificStudy, Study, Submission, TeamRequest
from surveys.prolific import tasks
from surveys.prolific.decisions import Amount, decide, decide_amounts, listed
from surveys.prolific.reconciliation import read_board
from surveys.studies import lifecycle
from surveys.studies.files.definitions import parse_study
from surveys.studies.lifecycle import StudyError
from surveys.studies.second_person import SecondPersonError, ask, confirm, decline
from tests.factories import PROLIFIC_STUDY, definition_of, make_account, make_definition, make_participant, make_study
from tests.lasting import copied_world
from tests.roles import as_account
from tests.surveys.studies.files.sample_study import SAMPLES

pytestmark = pytest.mark.django_db


@copied_world
def study() -> Study:
    definition = make_definition(places=9, second_person=("launch", "pay"), prolific_study_ids=(PROLIFIC_STUDY,))
    study = make_study("draft", definition)
    for name in ("ada", "eve"):
        make_account(name, study, "researcher")
    make_account("vera", study, "viewer")
    return study


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    ids: list[int] = []
    monkeypatch.setattr(tasks.pay_and_read_back_one, "delay", ids.append)
    return ids


def launching(name: str, **form: str) -> str:
    """What the page says after the post; an `answer` is to the waiting request unless the form names another."""
    address = reverse("console:change-state", args=["teas", "launch"])
    now = TeamRequest.objects.filter(what="launch", state="waiting").first()
    return as_account(name).post(address, {"request": now.pk if now else "", **form}, follow=True).content.decode()


def state() -> str:
    return Study.objects.get().state


def trail() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.exclude(actor="tests").order_by("number").values_list("actor", "action"))


def account(study: Study, name: str) -> Any:
    return study.memberships.get(user__username=name).user


def test_file_that_does_not_say_so_is_the_version_that_it_was() -> None:
    text = (SAMPLES / "teas.toml").read_bytes()
    plain, named = parse_study(text), parse_study(text + b'\n[team]\nsecond_person = ["launch", "pay"]\n')
    assert "second_person" not in plain.to_document()
    assert named == replace(plain, second_person=("launch", "pay"))
    assert parse_study(text + b"\n[team]\nsecond_person = []\n").to_document() == plain.to_document()


def test_launch_is_asked_by_one_and_confirmed_by_another(study: Study) -> None:
    assert "You have asked." in launching("ada")
    assert "You asked to launch this study" in launching_page("ada")
    assert "ada asked to launch this study" in launching_page("eve") and state() == "draft"
    assert "You asked for this yourself." in launching("ada", answer="confirm") and state() == "draft"
    assert as_account("vera").post(reverse("console:change-state", args=["teas", "launch"])).status_code == 403
    assert "Done, as ada asked. The study is live now." in launching("eve", answer="confirm") and state() == "live"
    assert "Nobody waits for an answer any more." in launching("eve", answer="confirm")
    assert trail() == [
        ("ada", "second person asked: launch"),
        ("eve", "second person confirmed: launch"),
        ("eve", "launched"),
    ]


def launching_page(name: str) -> str:
    page = as_account(name).get("/console/teas/setup/").content.decode()
    return " ".join(page.replace("<b>", "").replace("</b>", "").split())


def test_declining_needs_a_reason_that_whoever_asked_sees(study: Study) -> None:
    launching("ada")
    assert "Say why you decline." in launching("eve", answer="decline", reason=" ")
    assert "You have declined." in launching("eve", answer="decline", reason="The consent text is old.")
    page = launching_page("ada")
    assert "eve declined to launch this study, as ada had asked" in page and "The consent text is old." in page
    assert "You have asked." in launching("ada") and state() == "draft"
    assert (
        AuditEvent.objects.get(action="second person declined: launch").detail["reason"] == "The consent text is old."
    )


@pytest.mark.parametrize("what", ["study", "pages"])
def test_study_or_pages_that_have_changed_since_are_not_launched(
    study: Study, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launching("ada")
    if what == "study":
        lifecycle.load_definition(replace(definition_of(study), title="Other teas"), "ada")
    else:
        monkeypatch.setattr(lifecycle, "interface_hash", lambda: "0" * 64)
    assert "has to be asked anew" in launching("eve", answer="confirm") and state() == "draft"
    launching("ada", answer="anew")
    launching("eve", answer="confirm")
    study.refresh_from_db()
    assert state() == "live"
    assert TeamRequest.objects.get(state="confirmed").detail == {"sha256": study.current.sha256}
    assert list(TeamRequest.objects.order_by("pk").values_list("state", flat=True)) == ["replaced", "confirmed"]


def test_answer_is_to_the_request_that_was_seen(study: Study) -> None:
    launching("ada")
    address = reverse("console:change-state", args=["teas", "launch"])
    seen = TeamRequest.objects.get()
    assert as_account("eve").get(address).content.decode().count(f'name="request" value="{seen.pk}"') == 2
    launching("ada", answer="anew")
    for said in ("confirm", "decline"):
        assert "does not wait any more" in launching("eve", answer=said, request=str(seen.pk), reason="It is old.")
        assert "Nobody waits for an answer any more." in launching("eve", answer=said, request="", reason="It is old.")
    assert state() == "draft" and TeamRequest.objects.filter(state="waiting").count() == 1


def test_rule_launches_only_the_version_that_was_asked_for(study: Study) -> None:
    asked = ask(study, "launch", "launch", account(study, "ada"), {"sha256": study.current.sha256})
    lifecycle.load_definition(replace(definition_of(study), title="Other teas"), "ada")
    with pytest.raises(StudyError, match="have changed since it was asked for. It has to be asked anew."):
        confirm(asked, account(study, "eve"), lambda second: lifecycle.launch(study, "eve", second))
    asked.refresh_from_db()
    assert (state(), asked.state) == ("draft", "waiting")


def test_answer_that_nobody_waits_for_launches_nothing(study: Study) -> None:
    launching("ada")
    lifecycle.load_definition(replace(definition_of(study), second_person=()), "ada")  # as long as nobody has come
    page = as_account("eve").get(reverse("console:change-state", args=["teas", "launch"])).content.decode()
    assert "asks you to confirm" not in page and "Decline" not in page
    assert "waits for a second person" not in as_account("eve").get("/console/teas/").content.decode()
    for said in ("decline", "confirm", "anew"):
        assert "Nobody waits for an answer any more." in launching("eve", answer=said, reason="The consent is old.")
    assert state() == "draft"


def test_database_refuses_the_same_account_twice_and_two_that_wait(study: Study) -> None:
    asked = ask(study, "launch", "launch", account(study, "ada"), {})
    now = {"state": "confirmed", "answered_at": timezone.now()}
    for change in (now | {"answered_by": asked.asked_by}, now, {"state": "declined", "answered_at": timezone.now()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            TeamRequest.objects.filter(pk=asked.pk).update(**change)
    with pytest.raises(IntegrityError, match="request_waits_once"), transaction.atomic():
        TeamRequest.objects.create(study=study, what="launch", key="launch", asked_by=account(study, "eve"))


def test_rules_refuse_a_command_that_names_nobody(study: Study) -> None:
    with pytest.raises(SecondPersonError, match="wants a second person to launch this study"):
        lifecycle.launch(study, "command line")
    declined = decline(ask(study, "launch", "launch", account(study, "ada"), {}), account(study, "eve"), "No.")
    for other in (declined, ask(study, "pay", "bonus", account(study, "ada"), {})):
        with pytest.raises(SecondPersonError):
            lifecycle.launch(study, "eve", other)
    assert state() == "draft"


def test_launch_that_fails_is_not_confirmed(study: Study) -> None:
    asked = ask(study, "launch", "launch", account(study, "ada"), {"sha256": study.current.sha256})
    with pytest.raises(StudyError):
        confirm(asked, account(study, "eve"), lambda second: lifecycle.pause(study, "eve"))
    asked.refresh_from_db()
    assert asked.state == "waiting"


def test_amendment_takes_no_second_person_away(study: Study) -> None:
    lifecycle.load_definition(replace(definition_of(study), second_person=("pay",)), "ada")  # nobody has come yet
    study.refresh_from_db()
    lifecycle.launch(study, "ada")
    study.refresh_from_db()
    with pytest.raises(StudyError, match="`second_person` names pay"):
        lifecycle.load_definition(replace(definition_of(study), second_person=()), "ada", "Quicker.")


def test_version_of_a_pilot_takes_no_second_person_away(study: Study) -> None:
    lifecycle.start_pilot(study, "ada")
    lifecycle.load_definition(replace(definition_of(study), title="Other teas"), "ada")
    with pytest.raises(StudyError, match="`second_person` names launch, pay"):
        lifecycle.load_definition(replace(definition_of(study), second_person=()), "ada")


# --- paying -------------------------------------------------------------------


@pytest.fixture
def owed(study: Study) -> list[Submission]:
    """Three people, each waiting to be paid $2.00."""
    launching("ada"), launching("eve", answer="confirm")
    remote = ProlificStudy.objects.create(
        study=study, prolific_id=PROLIFIC_STUDY, status="ACTIVE", reward=200, currency="USD"
    )
    for _ in range(3):
        person = make_participant(study, "completed")
        session = person.sessions.get().session_id
        about = {"code": person.code, "reward": 200, "completed_at": timezone.now()}
        Submission.objects.create(
            remote=remote, submission_id=session, pid=person.pid, status="AWAITING REVIEW", **about
        )
    ProlificStudy.objects.update(read_at=timezone.now())
    return list(Submission.objects.order_by("pk"))


def fields_of(answer: HttpResponse) -> dict[str, str]:
    context = answer.context
    return {**dict(context["fields"]), "listed": context["listed"]}


def ask_to_pay(client: Client, n: int = 3) -> TeamRequest:
    decide_ = reverse("paying:decide", args=["teas"])
    sheet = client.post(decide_, {"meaning": "to-approve", "count": n, "cents": 200 * n})
    assert "Ask a second person" in sheet.content.decode()
    assert "You have asked." in client.post(decide_, fields_of(sheet), follow=True).content.decode()
    return TeamRequest.objects.filter(what="pay").latest("pk")


def test_payment_is_asked_by_one_and_confirmed_by_another(owed: list[Submission], queued: list[int]) -> None:
    ada, eve = as_account("ada"), as_account("eve")
    asked = ask_to_pay(ada)
    assert not Payment.objects.exists() and queued == []
    address = reverse("paying:second", args=["teas", asked.pk])
    assert address in eve.get("/console/teas/paying/").content.decode()
    page = eve.get(address).content.decode()
    assert "Pay $8.00, as ada asks" in page and "Decline" in page
    assert "Pay $8.00, as ada asks" not in ada.get(address).content.decode()
    assert "You asked for this yourself." in ada.post(address, {"answer": "confirm"}).content.decode()
    assert not Payment.objects.exists()
    assert "3 submissions decided." in eve.post(address, {"answer": "confirm"}, follow=True).content.decode()
    assert set(Payment.objects.values_list("cents", "decided_by")) == {(200, "eve")} and Payment.objects.count() == 3
    eve.post(address, {"answer": "confirm"})
    assert Payment.objects.count() == 3 and len(queued) == 1
    assert trail()[-3:] == [
        ("ada", "second person asked: pay"),
        ("eve", "second person confirmed: pay"),
        ("eve", "decided: approve"),
    ]


def test_list_that_has_changed_is_asked_for_anew(owed: list[Submission]) -> None:
    ada, eve = as_account("ada"), as_account("eve")
    address = reverse("paying:second", args=["teas", ask_to_pay(ada).pk])
    Submission.objects.filter(pk=owed[0].pk).update(status="APPROVED")
    assert "have changed" in eve.post(address, {"answer": "confirm"}, follow=True).content.decode()
    page = eve.get(address).content.decode()
    assert "It has to be asked anew." in page and "as ada asks" not in page and not Payment.objects.exists()
    assert TeamRequest.objects.latest("pk").state == "waiting"
    anew = ada.post(address, {"answer": "anew"})["Location"]
    assert "2 submissions decided." in eve.post(anew, {"answer": "confirm"}, follow=True).content.decode()


def test_bonus_and_its_reason_are_kept_for_the_second_person(owed: list[Submission]) -> None:
    ada, eve, bonus = as_account("ada"), as_account("eve"), reverse("paying:bonus", args=["teas"])
    person = Study.objects.get().participants.first()
    sheet = ada.post(bonus, {"people": person.pseudonym, "amount": "1.50", "reason": "Helped us"})
    ada.post(bonus, fields_of(sheet))
    asked = TeamRequest.objects.get(what="pay")
    assert person.pseudonym not in str(asked.detail)  # nothing of whoever withdraws stays
    eve.post(reverse("paying:second", args=["teas", asked.pk]), {"answer": "confirm"})
    assert list(Payment.objects.values_list("kind", "cents", "reason")) == [("bonus", 150, "Helped us")]


def test_two_bonuses_wait_side_by_side_and_the_same_one_takes_its_own_place(owed: list[Submission]) -> None:
    ada, bonus = as_account("ada"), reverse("paying:bonus", args=["teas"])
    first, second = (person.pseudonym for person in Study.objects.get().participants.order_by("pk")[:2])
    for people, amount, instead in ((first, "1.50", False), (second, "1.50", False), (first, "1.50", True)):
        sheet = ada.post(bonus, {"people": people, "amount": amount, "reason": "Helped us"})
        said = ada.post(bonus, fields_of(sheet), follow=True).content.decode()
        assert ("It takes the place of what you had asked for." in said) == instead
    states = TeamRequest.objects.filter(what="pay").order_by("pk").values_list("state", flat=True)
    assert list(states) == ["replaced", "waiting", "waiting"]


def test_why_each_was_declined_is_told_until_whoever_asked_asks_again(owed: list[Submission]) -> None:
    ada, bonus = as_account("ada"), reverse("paying:bonus", args=["teas"])
    person, board = Study.objects.get().participants.earliest("pk"), reverse("paying:board", args=["teas"])

    def ask_bonus(client: Client, amount: str) -> TeamRequest:
        sheet = client.post(bonus, {"people": person.pseudonym, "amount": amount, "reason": "Helped us"})
        client.post(bonus, fields_of(sheet))
        return TeamRequest.objects.latest("pk")

    def page() -> str:
        return " ".join(ada.get(board).content.decode().replace("<b>", "").replace("</b>", "").split())

    first, second = ask_bonus(ada, "1.50"), ask_bonus(ada, "2.50")
    decline(first, account(person.study, "eve"), "Too much.")
    ask_bonus(as_account("eve"), "0.50")
    assert "eve declined to pay $1.50 to 1 person, as ada had asked" in page() and "Too much." in page()
    assert "You asked to pay $2.50 to 1 person" in page()
    decline(second, account(person.study, "eve"), "Far too much.")
    assert "Too much." in page() and "Far too much." in page()
    ask_bonus(ada, "1.00")
    assert "oo much." not in page()


def test_nobody_is_left_to_pay(owed: list[Submission]) -> None:
    address = reverse("paying:second", args=["teas", ask_to_pay(as_account("ada")).pk])
    Submission.objects.update(status="APPROVED")
    for name in ("ada", "eve"):
        page = as_account(name).get(address).content.decode()
        assert "Nobody is left to pay." in page and "$0.00" not in page and "0 people" not in page
        assert "anew" not in page and ("Decline" in page) == (name == "eve")


def test_no_rule_pays_without_a_second_person(study: Study, owed: list[Submission]) -> None:
    amounts = [Amount(owed[0].pk, 100, "more")]
    with pytest.raises(SecondPersonError, match="wants a second person to pay people"):
        decide(study, "to-approve", "command line", 3, 600)
    with pytest.raises(SecondPersonError):
        decide_amounts(study, "bonus", amounts, "command line", listed(read_board(study), amounts))
    assert not Payment.objects.exists()


def test_bonus_that_was_not_done_is_not_paid_once_more_without_a_second_person(
    study: Study, owed: list[Submission]
) -> None:
    Submission.objects.filter(pk=owed[0].pk).update(status="APPROVED")
    given = {"kind": "bonus", "cents": 150, "reason": "Helped us", "decided_by": "ada"}
    Payment.objects.create(submission=owed[0], state="dropped", **given)
    with pytest.raises(SecondPersonError, match="wants a second person"):
        decide(study, "bonus-again", "ada", 1, 150)
    assert Payment.objects.get().state == "dropped"
    assert decide(study, "bonus-again", "ada", 1, 150, instead=True) == 1  # dismissing pays nobody
