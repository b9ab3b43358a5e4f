"""Erasing the list that links pseudonyms to Prolific ids."""

import pytest

from surveys.models import AuditEvent, Participant, Session
from surveys.studies import lifecycle
from surveys.studies.lifecycle import StudyError, erase_prolific_ids
from tests.factories import make_participant, make_study, make_visit

pytestmark = pytest.mark.django_db


def test_ids_are_gone_and_pseudonyms_stay():
    study = make_study()
    people = [make_participant(study, "completed", visit=make_visit(number)) for number in (901, 902)]
    lifecycle.close(study, "tests")
    assert erase_prolific_ids(study, "ada") == 2
    assert set(Participant.objects.values_list("pid", flat=True)) == {f"erased-{p.pseudonym}" for p in people}
    sessions = Session.objects.values_list("session_id", "prolific_study_id")
    assert all(sid.startswith("erased-") and not known for sid, known in sessions)
    event = AuditEvent.objects.last()
    assert (event.actor, event.action, event.detail) == ("ada", "Prolific ids erased", {"people": 2})


def test_erasing_again_finds_nobody():
    study = make_study()
    make_participant(study)
    lifecycle.close(study, "tests")
    assert [erase_prolific_ids(study, "ada") for _ in range(2)] == [1, 0]


def test_open_study_keeps_its_list():
    participant = make_participant(make_study())
    with pytest.raises(StudyError, match="not closed"):
        erase_prolific_ids(participant.study, "ada")
    assert not Participant.objects.get().pid.startswith("erased-")
