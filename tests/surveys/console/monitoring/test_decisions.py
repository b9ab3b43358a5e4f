"""Previews and decisions about one person."""

from pathlib import Path

import pytest
from django.test import Client

from surveys.annotation.label_imports import import_annotations
from surveys.console.monitoring.people import DecisionError, mark_returned, start_preview
from surveys.models import PROLIFIC_ID, AuditEvent, Participant, Place
from surveys.participation.steps import address
from tests.factories import make_annotation_study, make_participant, make_study

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
    preview = make_participant(make_study("draft"), State.COMPLETED, origin="preview")
    assert len(preview.order) == 2 and preview.code == "CODE1"
    assert not Place.objects.filter(participant=preview).exists()


def test_preview_of_a_study_without_questions_begins_with_what_annotators_see_first(client: Client) -> None:
    study = make_annotation_study("draft", items=1)
    page = client.get(address(start_preview(study, "ada"), "resume"), follow=True)
    assert "How it works" in page.text and "Preview: this is not counted" in page.text


def test_preview_without_items_says_that_annotators_would_be_turned_away(client: Client) -> None:
    page = client.get(address(start_preview(make_annotation_study("draft"), "ada"), "resume"), follow=True)
    assert "Nothing is there to judge yet" in page.text


def test_labels_from_elsewhere_have_no_pages_to_preview(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("item,annotator,label\nt1,ann,1\nt1,bob,2\n")
    study, _ = import_annotations("tea-labels", tmp_path / "labels.csv", "tests")
    with pytest.raises(DecisionError, match="collected elsewhere"):
        start_preview(study, "ada")


def test_marking_somebody_as_returned_frees_the_place() -> None:
    study = make_study()
    person = make_participant(study)
    after = mark_returned(person, "ada")
    assert (after.state, after.code, after.reason) == ("returned", "CODE8", "returned-on-prolific")
    assert not Place.objects.filter(participant=person).exists()
    event = AuditEvent.objects.filter(study=study).latest("number")
    assert (event.action, event.subject, event.detail) == ("marked as returned", person.pseudonym, {"before": "active"})


def test_somebody_who_completed_is_not_marked_as_returned() -> None:
    study = make_study()
    person = make_participant(study, State.COMPLETED)
    events = AuditEvent.objects.filter(study=study).count()
    with pytest.raises(DecisionError, match="already ended"):
        mark_returned(person, "ada")
    person.refresh_from_db()
    assert (person.state, AuditEvent.objects.filter(study=study).count()) == ("completed", events)
