"""Renaming, archiving and deleting: participants notice nothing, and studies that were launched or had people stay."""

import pytest
from django.db import IntegrityError, transaction

from surveys.console.monitoring.people import start_preview
from surveys.models import AuditEvent, Participant, Study
from surveys.studies import keeping, lifecycle
from surveys.studies.lifecycle import StudyError
from tests.factories import make_definition, make_participant, make_response, make_study, make_visit
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of

pytestmark = pytest.mark.django_db


def actions(study: Study) -> list[str]:
    return list(study.audit_events.order_by("number").values_list("action", flat=True))


def test_a_new_title_is_the_consoles_and_outlives_a_new_version() -> None:
    study = make_study("draft")
    client = log_in(study)
    client.post("/console/teas/setup/rename/", {"title": " Teas,  spring "})
    study.refresh_from_db()
    assert study.title == "Teas, spring" and lifecycle.definition_of(study.current_id).title == "Teas"
    lifecycle.load_definition(make_definition(minutes=9), "tests")
    study.refresh_from_db()
    assert (study.title, study.current.number, actions(study)[1]) == ("Teas, spring", 2, "renamed")
    assert "1 to 200 characters" in said(client.post("/console/teas/setup/rename/", {"title": " "}, follow=True))[-1]


def test_a_study_in_the_archive_folds_away_takes_nobody_and_comes_back() -> None:
    study = make_study("paused")
    client = log_in(study)
    client.post("/console/teas/setup/state/archive/")
    assert "0 studies, 1 in the archive" in lines_of(client.get("/console/"))
    assert client.get("/console/teas/export/").status_code == 200
    study.refresh_from_db()
    assert "in the archive. Take it back" in said(client.post("/console/teas/setup/state/resume/", follow=True))[-1]
    for state in ("live", "pilot"):
        with pytest.raises(IntegrityError), transaction.atomic():
            Study.objects.update(state=state)
    with pytest.raises(StudyError, match="is in the archive already.$"):
        keeping.archive(study, "ada")
    client.post("/console/teas/setup/state/take-back/")
    study.refresh_from_db()
    assert study.archived_at is None and actions(study)[-2:] == ["archived", "taken out of the archive"]
    lifecycle.resume(study, "ada")
    with pytest.raises(StudyError, match="Pause or end it"):
        keeping.archive(study, "ada")


def test_a_draft_is_deleted_with_its_previews_and_trail_when_its_name_is_typed() -> None:
    study, other = make_study("draft"), make_study("draft", slug="herbs")
    client = log_in(study)
    start_preview(study, "ada")
    make_response(make_participant(study, visit=make_visit(), origin=Participant.Origin.SIMULATED))
    assert client.post("/console/teas/setup/delete/", {"slug": "tea"}).status_code == 409
    assert client.post("/console/teas/setup/delete/", {"slug": "teas"}).status_code == 302
    assert list(Study.objects.all()) == [other]
    assert not Participant.objects.exists() and set(AuditEvent.objects.values_list("study", flat=True)) == {other.pk}


@pytest.mark.parametrize("state", ["live", "closed"])
def test_a_launched_study_is_kept_by_page_and_database(state: str) -> None:
    study = make_study(state)
    page = log_in(study).post("/console/teas/setup/delete/", {"slug": "teas"})
    assert page.status_code == 409 and "It was launched on" in lines_of(page)
    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
        Study.objects.update(current=None)
        study.delete()


@pytest.mark.parametrize(
    ("state", "archived", "says"),
    [
        ("closed", False, "are kept. Archive it instead."),
        ("closed", True, "are kept. It is in the archive already."),
        ("live", False, "are kept. Pause or end it, then archive it."),
        ("pilot", False, "are kept. Pause or end it, then archive it."),
    ],
)
def test_the_page_offers_the_archive_only_where_the_study_can_go_there(state: str, archived: bool, says: str) -> None:
    study = make_study(state)
    if archived:
        keeping.archive(study, "ada")
    page = log_in(study).get("/console/teas/setup/delete/")
    assert says in lines_of(page)
    assert ("/setup/state/archive/" in text_of(page)) == ("Archive it instead" in says)
    with pytest.raises(StudyError, match=says.partition("kept. ")[2]):
        keeping.delete_study(study, "ada")


def test_a_draft_whose_pilot_had_people_is_kept() -> None:
    study = make_study("pilot")
    make_participant(study)
    for says in ("Its pilot runs", "People took part"):
        with pytest.raises(StudyError, match=says):
            keeping.delete_study(study, "ada")
        if says == "Its pilot runs":
            lifecycle.end_pilot(study, "ada")


def test_events_of_a_draft_go_only_with_it() -> None:
    make_study("draft")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        AuditEvent.objects.all().delete()
