"""Many people and many windows at once: real threads, each with a connection of its own, on PostgreSQL."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from surveys.models import Participant, Place, QuotaCell, Response, Study
from surveys.participation import places, recruitment
from surveys.participation.pasting.capture import PasteSubmission, submit_paste
from surveys.participation.places import release_expired
from surveys.participation.steps import address
from tests.factories import (
    answer_text,
    definition_of,
    fitting_answers,
    make_participant,
    make_study,
    make_visit,
    prompt_of,
)
from tests.surveys.participation.threads import PATIENCE, at_once, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def one_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def arrive(study: Study, cell: str = "", chatbot: str = "chatgpt") -> Callable[[], str]:
    """Make somebody new who has consented; the function returned sends their first answers and returns their state."""
    participant = make_participant(study, at="questions")
    answers = fitting_answers(definition_of(study), cell)
    return lambda: recruitment.screen(participant, chatbot, answers).state


# --- the last place -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rolls_back", "state"), [(False, "over_quota"), (True, "active")])
def test_last_place_goes_to_who_waits_only_if_its_holder_rolls_back(rolls_back: bool, state: str) -> None:
    study = make_study(places=1)
    holder, late = arrive(study), arrive(study)
    with one_thread() as pool:
        with transaction.atomic():
            assert holder() == "active"
            waiting = beside(late, pool)
            wait_until_somebody_waits()
            assert not waiting.done()
            transaction.set_rollback(rolls_back)
        assert waiting.result(PATIENCE) == state


def test_last_place_locked_by_a_third_connection_goes_to_one_of_two() -> None:
    study = make_study(places=1)
    arrivals = [arrive(study), arrive(study)]
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            list(Place.objects.select_for_update().filter(cell__study=study))
            waiting = [beside(arrival, pool) for arrival in arrivals]
            wait_until_somebody_waits()
            assert not any(each.done() for each in waiting)
        assert sorted(each.result(PATIENCE) for each in waiting) == ["active", "over_quota"]


def test_place_that_is_only_about_to_be_given_back_is_not_waited_for() -> None:
    study = make_study(places=1)
    holder = make_participant(study)
    late = arrive(study)
    with one_thread() as pool, transaction.atomic():
        recruitment.stop(holder, Participant.State.RETURNED)
        assert beside(late, pool).result(PATIENCE) == "over_quota"


def test_place_given_back_while_somebody_waits_for_one_that_is_renewed_is_theirs() -> None:
    study = make_study(places=2)
    owner, leaving = make_participant(study), make_participant(study)
    late = arrive(study)
    Place.objects.filter(participant=owner).update(expires_at=timezone.now() - timedelta(minutes=1))
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            places.renew(owner, 30)
            waiting = beside(late, pool)
            wait_until_somebody_waits()
            beside(lambda: recruitment.stop(leaving, Participant.State.RETURNED), pool).result(PATIENCE)
        assert waiting.result(PATIENCE) == "active"
    assert Place.objects.filter(participant=owner).exists()


# --- many arrivals ------------------------------------------------------------------------------------------


def test_forty_arrivals_for_ten_places() -> None:
    study = make_study(places=10)
    states = at_once([arrive(study) for _ in range(40)])
    assert states.count("active") == 10 and states.count("over_quota") == 30
    held = Place.objects.filter(cell__slug="milky", cell__chatbot="chatgpt", participant__isnull=False)
    assert held.count() == 10 and held.values("participant").distinct().count() == 10


def test_forty_arrivals_over_four_cells_fill_each_exactly() -> None:
    study = make_study(places=3)
    cells = [(bot, cell) for bot in ("chatgpt", "gemini") for cell in ("milky", "plain")]
    states = at_once([arrive(study, cell, bot) for bot, cell in cells for _ in range(10)])
    assert states.count("active") == 12 and states.count("over_quota") == 28
    for cell in QuotaCell.objects.filter(study=study):
        assert cell.places.filter(participant__cell=cell).count() == 3


def test_people_who_fit_two_cells_never_take_more_than_both_have() -> None:
    study = make_study(places=3)
    states = at_once([arrive(study, chatbot="several") for _ in range(16)])
    assert states.count("active") == 6


def test_people_who_fit_two_cells_and_arrive_together_fill_them_evenly() -> None:
    study = make_study(places=2)
    first, second = arrive(study, chatbot="several"), arrive(study, chatbot="several")
    with one_thread() as pool:
        with transaction.atomic():
            assert first() == "active"
            waiting = beside(second, pool)
            wait_until_somebody_waits()
        assert waiting.result(PATIENCE) == "active"
    assert sorted(Participant.objects.values_list("cell__chatbot", flat=True)) == ["chatgpt", "gemini"]


def test_late_people_who_finish_together_fill_the_cell_and_overflow() -> None:
    study = make_study(places=2)
    people = [make_participant(study, "debrief"), make_participant(study, "debrief")]
    Place.objects.filter(cell__study=study).update(participant=None, expires_at=None)
    people += [make_participant(study, "debrief"), make_participant(study, "debrief")]
    done = at_once([lambda person=person: recruitment.complete(person) for person in people])
    assert sorted(person.overflow for person in done) == [False, False, True, True]
    assert all(person.state == "completed" and person.code for person in done)
    assert Place.objects.filter(cell__study=study, confirmed_at__isnull=False).count() == 2


def test_release_and_finish_together_leave_one_holder() -> None:
    study = make_study(places=1)
    for _ in range(5):
        person = make_participant(study, "debrief")
        Place.objects.filter(participant=person).update(expires_at=person.consented_at)
        at_once([lambda: release_expired(study), lambda person=person: recruitment.complete(person)])
        person.refresh_from_db()
        confirmed = Place.objects.filter(cell__study=study, confirmed_at__isnull=False)
        assert person.state == "completed" and not person.overflow
        assert [place.participant_id for place in confirmed] == [person.pk]
        recruitment.withdraw(person)


@pytest.mark.parametrize("step,name", [("context", "instructions"), ("debrief", "attention")])
def test_form_sent_after_the_place_was_given_away_leads_on(step: str, name: str) -> None:
    study = make_study(places=1)
    person = make_participant(study, step)
    Participant.objects.filter(pk=person.pk).update(checks={})
    Place.objects.filter(participant=person).update(expires_at=person.consented_at)
    assert make_participant(study).state == "active"
    path = address(person, name, "leaf") if name == "attention" else address(person, name)
    replies = at_once([lambda: Client().post(path, {"answer": "Green tea"}) for _ in range(3)])
    assert {reply.status_code for reply in replies} == {302}


def test_windows_that_take_a_place_again_together_take_one() -> None:
    study = make_study(places=3)
    person = make_participant(study)
    Place.objects.filter(participant=person).update(participant=None, expires_at=None)
    path = address(person, "instructions")
    replies = at_once([lambda: Client().post(path) for _ in range(6)])
    assert {reply.status_code for reply in replies} == {302}
    assert Place.objects.filter(participant=person).count() == 1


# --- one person in many windows ------------------------------------------------------------------------------


def test_same_person_consents_in_many_windows_once() -> None:
    study, visit = make_study(), make_visit()
    people = at_once([lambda: recruitment.give_consent(study, visit) for _ in range(8)])
    assert len({person.pk for person in people}) == 1
    assert Participant.objects.filter(study=study).count() == 1 and people[0].sessions.count() == 1


def test_same_person_with_new_sessions_consents_once_and_keeps_all_sessions() -> None:
    study = make_study()
    visits = [make_visit(7, session_id=f"{n:024x}") for n in range(6)]
    at_once([lambda visit=visit: recruitment.give_consent(study, visit) for visit in visits])
    assert Participant.objects.get(study=study).sessions.count() == 6


def test_first_answers_sent_twice_take_one_place() -> None:
    study = make_study()
    participant = make_participant(study, at="questions")
    answers = fitting_answers(definition_of(study))
    at_once([lambda: recruitment.screen(participant, "chatgpt", answers) for _ in range(6)])
    assert Place.objects.filter(participant=participant).count() == 1
    assert Place.objects.filter(cell__study=study, participant__isnull=False).count() == 1


def test_double_click_is_one_revision(participant: Participant) -> None:
    path, fields = address(participant, "prompt", 1), {"text": answer_text(prompt_of(participant)), "key": uuid.uuid4()}
    pages = at_once([lambda: Client().post(path, fields) for _ in range(6)])
    assert {page.status_code for page in pages} == {302}
    assert Response.objects.filter(participant=participant).count() == 1


def test_windows_sent_at_once_are_revisions_of_their_own_and_one_knew_the_newest(participant: Participant) -> None:
    path, asked = address(participant, "prompt", 1), prompt_of(participant)
    forms = [{"text": answer_text(asked, number) + "\n", "key": uuid.uuid4()} for number in range(6)]
    pages = at_once([lambda form=form: Client().post(path, form) for form in forms])
    stored = Response.objects.filter(participant=participant, accepted=True)
    assert sorted(stored.values_list("revision", flat=True)) == [1, 2, 3, 4, 5, 6]
    assert sorted(stored.values_list("text", flat=True)) == sorted(form["text"] for form in forms)
    assert sum("older" not in page.url for page in pages) == 1


def test_last_page_sent_twice_confirms_one_place() -> None:
    participant = make_participant(at="debrief")
    done = at_once([lambda: recruitment.complete(participant) for _ in range(6)])
    assert {person.code for person in done} == {"CODE1"}
    assert Place.objects.filter(confirmed_at__isnull=False).count() == 1


def test_people_never_wait_for_each_other() -> None:
    study = make_study()
    one, other = make_participant(study), make_participant(study)
    prompt = prompt_of(one)
    with one_thread() as pool, transaction.atomic():
        submit_paste(one, PasteSubmission(prompt, answer_text(prompt)))
        theirs = beside(lambda: submit_paste(other, PasteSubmission(prompt, answer_text(prompt, 1))), pool)
        assert theirs.result(PATIENCE).accepted


@pytest.mark.parametrize("how", ["withdraw", "return"])
def test_stop_sent_twice_leads_to_the_same_page(participant: Participant, how: str) -> None:
    path = address(participant, "stop")
    replies = at_once([lambda: Client().post(path, {"how": how, "sure": "1"}, follow=True) for _ in range(4)])
    assert {reply.status_code for reply in replies} == {200}
    expected = "/withdrawn/" if how == "withdraw" else "/end/"
    assert all(reply.request["PATH_INFO"].endswith(expected) for reply in replies)


@pytest.mark.parametrize("step,name", [("instructions", "instructions"), ("debrief", "attention")])
def test_form_that_waits_for_the_window_that_ends_the_part_leaves_the_end_as_it_is(step: str, name: str) -> None:
    person = make_participant(at=step)
    Participant.objects.filter(pk=person.pk).update(checks={})
    path = address(person, name, "leaf") if name == "attention" else address(person, name)
    with one_thread() as pool:
        with transaction.atomic():
            recruitment.stop(person, Participant.State.RETURNED)
            waiting = beside(lambda: Client().post(path, {"answer": "Green tea"}, follow=True), pool)
            wait_until_somebody_waits()
        page = waiting.result(PATIENCE)
    person.refresh_from_db()
    assert (person.step, person.state, person.checks) == ("end", "returned", {})
    assert page.status_code == 200 and page.request["PATH_INFO"] == address(person, "end")


def test_answer_while_another_window_withdraws_is_erased_too() -> None:
    study = make_study()
    for _ in range(4):
        participant = make_participant(study)
        prompt = prompt_of(participant)
        page, stop = address(participant, "prompt", 1), address(participant, "stop")
        text = answer_text(prompt)
        replies = at_once(
            [
                lambda page=page, text=text: Client().post(page, {"text": text}, follow=True),
                lambda stop=stop: Client().post(stop, {"how": "withdraw", "sure": "1"}, follow=True),
            ]
        )
        assert [reply.status_code for reply in replies] == [200, 200]
        assert not Response.objects.exists() and not Participant.objects.exists()


def test_settings_sent_twice_are_kept_once() -> None:
    person = make_participant(at="context")
    form = {"memory": "on", "personalisation": "off", "plan": "free"}
    replies = at_once([lambda: Client().post(address(person, "context"), form) for _ in range(6)])
    assert {reply.status_code for reply in replies} == {302}
    person.refresh_from_db()
    assert (person.step, person.context.memory) == ("prompts", "on")


SENT = {
    "instructions": {},
    "comprehension": {"task": "Answers"},
    "attention/leaf": {"answer": "Green tea"},
    "attention/sea": {"answer": "Disagree"},
}


@pytest.mark.parametrize(
    ("at", "late", "form", "others", "step", "noted"),
    [
        ("instructions", "instructions", {}, ["instructions", "comprehension"], "context", "comprehension"),
        ("comprehension", "comprehension", {"task": "Prompts"}, ["comprehension"], "context", "comprehension"),
        ("debrief", "attention/leaf", {"answer": "Black tea"}, ["attention/leaf"], "prompts", "attention"),
        ("debrief", "attention/leaf", {"answer": "Green tea"}, ["attention/sea"], "prompts", "attention"),
    ],
    ids=["earlier-step", "wrong-after-right", "same-check", "another-check"],
)
def test_form_that_waits_for_another_window_takes_nothing_of_it_back(
    at: str, late: str, form: dict, others: list[str], step: str, noted: str
) -> None:
    person = make_participant(at=at)
    Participant.objects.filter(pk=person.pk).update(checks={})
    link = address(person, "resume")
    with one_thread() as pool:
        with transaction.atomic():
            recruitment.lock(person)
            waiting = beside(lambda: Client().post(f"{link}{late}/", form), pool)
            wait_until_somebody_waits()
            for page in others:
                Client().post(f"{link}{page}/", SENT[page])
            person.refresh_from_db()
            before = person.checks[noted]
        assert waiting.result(PATIENCE).status_code == 302
    person.refresh_from_db()
    assert (person.step, person.state) == (step, "active")
    kept = person.checks[noted]
    assert kept == (kept | before if noted == "attention" else before)
