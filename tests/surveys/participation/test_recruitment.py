"""Arriving, being screened, coming back and ending: one row, one state and one code for each person."""

import pytest
from django.db import IntegrityError, transaction

from surveys.models import AnonymousExit, Draft, Participant, Response, Session, Study
from surveys.participation import recruitment
from surveys.participation.recruitment import (
    ForgedVisit,
    check_visit,
    give_consent,
    record_session,
    refuse_consent,
    screen,
)
from surveys.participation.steps import current_page
from surveys.studies.lifecycle import definition_of as definition_of_version
from surveys.studies.lifecycle import load_definition
from tests.factories import (
    definition_of,
    fitting_answers,
    make_definition,
    make_participant,
    make_response,
    make_study,
    make_visit,
)

pytestmark = pytest.mark.django_db
State = Participant.State


@pytest.fixture
def study() -> Study:
    return make_study()


def page_of(participant: Participant) -> str:
    path = current_page(participant, definition_of_version(participant.version_id))
    return path.split("/", 4)[4]


def test_consent_is_recorded_with_version_hash_and_time(study: Study) -> None:
    participant = give_consent(study, make_visit())
    definition = definition_of(study)
    assert participant.consent_version == definition.consent.version
    assert participant.consent_sha256 == recruitment.consent_hash(definition)
    assert participant.consented_at and participant.version_id == study.current_id


def test_consent_twice_is_one_participant_and_one_session(study: Study) -> None:
    visit = make_visit()
    assert give_consent(study, visit) == give_consent(study, visit)
    assert Session.objects.count() == 1


def test_refusing_consent_leaves_a_count_and_nobody(study: Study) -> None:
    refuse_consent(study)
    assert not Participant.objects.exists() and not Session.objects.exists()
    assert AnonymousExit.objects.get().kind == "no_consent"


def test_session_of_somebody_else_is_forged(study: Study) -> None:
    visit = make_visit(1)
    give_consent(study, visit)
    with pytest.raises(ForgedVisit, match="SESSION_ID"):
        check_visit(study, make_visit(2, session_id=visit.session_id))


def test_study_id_that_is_not_ours_is_forged() -> None:
    study = make_study(prolific_study_ids=("a" * 24,))
    check_visit(study, make_visit(study_id="a" * 24))
    with pytest.raises(ForgedVisit, match="STUDY_ID"):
        check_visit(study, make_visit(study_id="b" * 24))


# --- screening ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chatbot,changes,reason",
    [("none", {}, "chatbot"), ("chatgpt", {"adult": "No"}, "adult"), ("chatgpt", {"adult": ""}, "adult")],
)
def test_screened_out_with_its_reason_and_all_answers_kept(
    study: Study, chatbot: str, changes: dict, reason: str
) -> None:
    answers = fitting_answers(definition_of(study), **changes)
    participant = screen(make_participant(study, "questions"), chatbot, answers)
    assert (participant.state, participant.reason, participant.code) == ("screened_out", reason, "CODE3")
    assert participant.answers == {"chatbot": chatbot, **answers} and participant.finished_at


def test_nobody_is_turned_away_for_a_full_cell_before_all_answers_are_kept() -> None:
    study = make_study(places=1)
    make_participant(study)
    participant = make_participant(study)
    assert (participant.state, participant.reason, participant.code) == ("over_quota", "cells-full", "CODE4")
    assert participant.answers == {"chatbot": "chatgpt", **fitting_answers(definition_of(study))}


def test_first_answers_count_once(study: Study) -> None:
    participant = make_participant(study, "instructions")
    again = screen(participant, "none", {"adult": "No"})
    assert again.state == "active" and again.answers["adult"] == "Yes"


def test_person_of_one_chatbot_never_lands_in_another_ones_cell() -> None:
    study = make_study(places=1)
    make_participant(study, chatbot="gemini")
    assert make_participant(study, chatbot="gemini").state == "over_quota"
    assert make_participant(study, chatbot="chatgpt").state == "active"


# --- coming back -------------------------------------------------------------------------------------------


def test_same_session_again_changes_nothing_but_its_time(study: Study) -> None:
    visit = make_visit()
    participant = make_participant(study, visit=visit)
    first = record_session(participant, visit)
    assert record_session(participant, visit) == first and first.rule == "first"


def test_new_session_in_the_middle_goes_on(study: Study) -> None:
    participant = make_participant(study, visit=make_visit(1))
    assert record_session(participant, make_visit(1, session_id="f" * 24)).rule == "resumed"


def test_new_session_after_a_return_opens_the_part_again_with_its_answers(study: Study) -> None:
    participant = make_participant(study, visit=make_visit(1))
    make_response(participant)
    recruitment.stop(participant, State.RETURNED)
    participant.refresh_from_db()
    assert record_session(participant, make_visit(1, session_id="f" * 24)).rule == "reopened"
    participant.refresh_from_db()
    assert (participant.state, participant.code, participant.finished_at) == ("active", "", None)
    assert page_of(participant) in ("attention/leaf/", "prompt/2/") and participant.responses.count() == 1


def test_new_session_after_the_end_shows_the_ending(study: Study) -> None:
    participant = make_participant(study, "completed", visit=make_visit(1))
    assert record_session(participant, make_visit(1, session_id="f" * 24)).rule == "after_end"
    participant.refresh_from_db()
    assert participant.state == "completed" and page_of(participant) == "end/"


@pytest.mark.parametrize("at", ["questions", "instructions", "context", "prompts"])
def test_returned_and_reopened_at_each_step_never_ends_nowhere(at: str) -> None:
    participant = make_participant(at=at)
    recruitment.stop(participant, State.RETURNED)
    back = recruitment.reopen(participant)
    assert not back.has_ended and back.state == ("screening" if at == "questions" else "active")
    assert page_of(back).split("/")[0] in ("questions", "instructions", "prompt")


@pytest.mark.parametrize("state", ["completed", "screened_out", "over_quota", "technical"])
def test_other_ends_are_not_opened_again(participant: Participant, state: str) -> None:
    Participant.objects.filter(pk=participant.pk).update(state=state, finished_at=participant.last_seen_at, code="X")
    assert recruitment.reopen(participant).state == state


# --- ends --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state,code", [("returned", "CODE8"), ("technical", "CODE5"), ("misunderstood", "CODE9")])
def test_each_end_has_its_code(state: str, code: str) -> None:
    participant = make_participant(at=state)
    assert participant.code == code and participant.step == "end" and participant.finished_at


def test_completing_erases_drafts_and_keeps_answers() -> None:
    participant = make_participant(at="debrief")
    Draft.objects.create(participant=participant, step="debrief", data={})
    assert recruitment.complete(participant).code == "CODE1"
    assert not Draft.objects.exists() and participant.responses.count() == 2


def test_end_stays_as_it_is() -> None:
    participant = make_participant(at="completed")
    for state in (State.RETURNED, State.TECHNICAL):
        assert recruitment.stop(participant, state).state == "completed"
    assert recruitment.complete(participant).code == "CODE1"


def test_withdrawal_erases_everything_and_counts_once() -> None:
    participant = make_participant(at="debrief")
    assert recruitment.withdraw(participant) == "CODE7"
    assert not Participant.objects.exists() and not Response.objects.exists() and not Session.objects.exists()
    exit = AnonymousExit.objects.get()
    assert (exit.kind, exit.step, exit.origin) == ("withdrawn", "prompts", "prolific")


def test_somebody_who_withdrew_may_take_part_again_as_somebody_new(study: Study) -> None:
    visit = make_visit()
    first = make_participant(study, visit=visit)
    recruitment.withdraw(first)
    again = give_consent(study, visit)
    assert again.pseudonym != first.pseudonym and again.step == "questions"


def test_people_keep_the_version_they_began_with(study: Study) -> None:
    participant = make_participant(study)
    amended = make_definition(title="Teas, once more")
    first_version = study.current_id
    study, outcome = load_definition(amended, "tests", amendment="a better title")
    participant.refresh_from_db()
    assert outcome == "amended" and participant.version_id == first_version != study.current_id


@pytest.mark.parametrize(
    "change",
    [
        {"state": "dreaming"},
        {"state": "completed", "code": ""},
        {"finished_at": "2026-01-01T00:00Z"},
        {"overflow": True},
    ],
)
def test_impossible_people_are_refused_by_the_database(participant: Participant, change: dict) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Participant.objects.filter(pk=participant.pk).update(**change)


def test_stored_answers_cannot_be_changed_in_the_database() -> None:
    response = make_response(make_participant())
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Response.objects.filter(pk=response.pk).update(text="another")
