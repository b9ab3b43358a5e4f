"""Previews and decisions about one person."""

import pytest

from surveys.decisions import DecisionError, mark_returned, start_preview
from surveys.models import AuditEvent, Participant, Place
from surveys.prolific import PROLIFIC_ID
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db
State = Participant.State


def test_preview_is_a_participant_who_takes_no_place() -> None:
    study = make_study("draft")
    preview = start_preview(study, "ada")
    assert (preview.origin, preview.is_counted) == ("preview", False)
    assert PROLIFIC_ID.fullmatch(preview.pid)
    event = AuditEvent.objects.filter(study=study).latest("number")
    assert (event.action, event.actor, event.subject) == ("previewed", "ada", preview.pseudonym)


@pytest.mark.parametrize("number", range(8))
def test_preview_goes_the_whole_way(number: int) -> None:
    # Some pseudonyms once gave an order number larger than its column; hence several people.
    study = make_study("draft")
    preview = make_participant(study, State.COMPLETED, origin="preview")
    assert len(preview.order) == 2 and preview.code == "CODE1"
    assert not Place.objects.filter(participant=preview).exists()


def test_marking_somebody_as_returned_frees_the_place() -> None:
    study = make_study()
    person = make_participant(study)
    after = mark_returned(person, "ada")
    assert (after.state, after.code, after.reason) == ("returned", "CODE8", "returned-on-prolific")
    assert not Place.objects.filter(participant=person).exists()
    event = AuditEvent.objects.filter(study=study).latest("number")
    assert (event.action, event.subject, event.detail) == (
        "marked as returned",
        person.pseudonym,
        {"before": "active"},
    )


def test_somebody_who_completed_is_not_marked_as_returned() -> None:
    study = make_study()
    person = make_participant(study, State.COMPLETED)
    events = AuditEvent.objects.filter(study=study).count()
    with pytest.raises(DecisionError, match="already ended"):
        mark_returned(person, "ada")
    person.refresh_from_db()
    assert (person.state, AuditEvent.objects.filter(study=study).count()) == ("completed", events)
