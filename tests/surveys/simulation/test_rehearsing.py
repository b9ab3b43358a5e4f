"""A rehearsal from the console: only simulated people, on the record, and never among real ones."""

from typing import Any

import pytest

from surveys.models import Participant
from surveys.simulation import run
from surveys.simulation.run import DONE, last_of, rehearse
from surveys.studies import audit, under_way
from tests.factories import make_participant, make_study
from tests.surveys.console.console_pages import lines_of, log_in

PAGE = "/console/teas/setup/rehearsal/"


@pytest.mark.django_db(transaction=True)
def test_a_worker_plays_them_and_the_page_says_how_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study("pilot", places=9)
    under_way.forget_progress(study, run.WORK)
    client, left = log_in(study), []
    monkeypatch.setattr(run.rehearse_study, "delay", lambda *given: left.append(given))
    assert client.post(PAGE, {"people": 3, "seed": 5}).status_code == 302
    assert left == [(study.pk, 3, 5, False, "ada")]
    assert "0 of 3 simulated people" in lines_of(client.get(f"{PAGE}progress/"))
    client.post(PAGE, {"people": 3})  # one at a time
    assert len(left) == 1
    run.rehearse_study(*left[0])
    assert client.get(f"{PAGE}progress/")["HX-Refresh"] == "true"
    assert "The last rehearsal went as it should." in lines_of(client.get(PAGE))
    people = Participant.objects.filter(study=study)
    assert set(people.values_list("origin", "state")) == {("simulated", "completed")} and people.count() == 3
    event = last_of(study)
    assert event and (event.actor, event.detail["confirmed"], event.detail["violations"]) == ("ada", 6, [])


@pytest.mark.django_db
def test_one_that_breaks_off_or_never_ends_did_not_go_as_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study("pilot", places=9)
    client = log_in(study)
    monkeypatch.setattr(run.rehearse_study, "delay", lambda *given: None)
    under_way.forget_progress(study, run.WORK)
    client.post(PAGE, {"people": 3})
    assert "Simulated people take the study now." in lines_of(client.get(PAGE))
    under_way.forget_progress(study, run.WORK)  # its worker was killed
    page = lines_of(client.get(PAGE))
    assert "The last rehearsal has not finished" in page and "Answers confirmed" not in page
    with monkeypatch.context() as just_now:  # it ends while the page is made
        just_now.setattr(under_way, "progress_of", lambda *given: audit.record(study, "ada", DONE) and None)
        assert "The last rehearsal went as it should." in lines_of(client.get(PAGE))
    monkeypatch.setattr(run, "simulate", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rehearse(study, 3, 1, False, "ada")
    page = lines_of(client.get(PAGE))
    assert "The last rehearsal broke off." in page and run.UNFORESEEN in page and "division" not in page


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "says"), [("draft", "Nobody is let in now."), ("live", "People take part")])
def test_none_come_to_a_closed_door_or_among_real_people(state: str, says: str, monkeypatch: Any) -> None:
    study = make_study(state)
    if state == "live":
        make_participant(study)
    monkeypatch.setattr(run.rehearse_study, "delay", lambda *given: pytest.fail("must not be left to a worker"))
    page = log_in(study).post(PAGE, {"people": 3})
    assert page.status_code == 409 and says in lines_of(page)
    rehearse(study, 3, 1, False, "ada")
    failed = last_of(study)
    assert failed and says in failed.detail["why"] and not study.participants.filter(origin="simulated").exists()
