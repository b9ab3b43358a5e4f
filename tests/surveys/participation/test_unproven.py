"""A known PID with another session proves nothing: it shows and erases nothing, but may go on with the work."""

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from surveys.annotation.pages import describe
from surveys.models import Draft, Participant, Session, Study
from surveys.participation.pasting import capture
from surveys.participation.prolific import Visit
from surveys.participation.steps import address
from surveys.studies.access import sign_link
from tests.factories import (
    annotate,
    answer_all,
    make_annotation_study,
    make_annotator,
    make_participant,
    make_response,
    make_study,
    make_visit,
    pass_attention,
)

pytestmark = pytest.mark.django_db
SECRET = "Kestrel my own words"


@pytest.fixture
def study() -> Study:
    return make_study()


def arrive(study: Study, visit: Visit, **more: str) -> HttpResponse:
    return Client().get(f"/s/{study.slug}/", visit.as_parameters() | more, follow=True)


def place(response: HttpResponse) -> str:
    return response.redirect_chain[-1][0]


def link_of(response: HttpResponse) -> str:
    """The address of the person's pages, without the page's own part."""
    return re.match(r"/[sa]/[\w-]+/[^/]+/", place(response)).group()


def made_up_link(study: Study) -> str:
    """The link given for the first person's PID with an unknown session."""
    return link_of(arrive(study, make_visit(1, session_id="f" * 24)))


def somebody(study: Study, visit: Visit, **more: Any) -> Participant:
    participant = make_participant(study, visit=visit, **more)
    make_response(participant, 0, f"1. {SECRET}\n2. b\n3. c\n4. d\n5. e", keep=True)
    return participant


def test_first_session_comes_back_to_all_of_it(study: Study) -> None:
    participant = somebody(study, make_visit(1))
    page = arrive(study, make_visit(1))
    assert link_of(page) == f"/s/teas/{sign_link('teas', participant.pseudonym)}/"
    assert SECRET in Client().get(address(participant, "prompt", 1)).text


def test_another_session_goes_on_and_sees_nothing(study: Study) -> None:
    participant = somebody(study, make_visit(1))
    capture.save_draft(participant, f"prompt:{participant.order[1]}", {"text": "a draft of mine"}, 0)
    page = arrive(study, make_visit(1, session_id="f" * 24))
    link = link_of(page)
    assert sign_link("teas", participant.pseudonym) not in page.text + link
    pages = ["", "questions/", "instructions/", "comprehension/", "chatbot/", "debrief/", "end/", "help/", "stop/"]
    pages += ["prompt/1/", "prompt/2/", "prompt/2/?again=1", "chatbot/?again=1", "attention/leaf/"]
    for path in pages:
        shown = Client().get(link + path, follow=True)
        assert shown.status_code == 200
        assert SECRET not in shown.text and "a draft of mine" not in shown.text, path
        assert sign_link("teas", participant.pseudonym) not in shown.text, path


def test_same_made_up_session_again_has_no_more_rights(study: Study) -> None:
    participant = somebody(study, make_visit(1))
    first = made_up_link(study)
    assert made_up_link(study) == first
    assert sign_link("teas", participant.pseudonym) not in first


def test_another_session_erases_ends_and_overwrites_nothing(study: Study) -> None:
    participant = somebody(study, make_visit(1))
    capture.save_draft(participant, f"prompt:{participant.order[1]}", {"text": "a draft of mine"}, 0)
    link, client = made_up_link(study), Client()
    for how in ("withdraw", "return"):
        assert "how" not in client.post(f"{link}stop/", {"how": how, "sure": "1"}).text
    client.post(f"{link}prompt/1/", {"text": "overwritten", "keep": "1"})
    saved = client.post(f"{link}draft/", {"step": f"prompt:{participant.order[1]}", "text": "x", "number": "1"})
    assert (saved.status_code, saved.json()["newer"]) == (409, True)
    participant.refresh_from_db()
    assert participant.state == "active" and participant.responses.count() == 1
    assert Draft.objects.get(step=f"prompt:{participant.order[1]}").data == {"text": "a draft of mine"}


def test_another_session_ends_nothing_for_technical_trouble(study: Study) -> None:
    participant = somebody(study, make_visit(1))
    link = made_up_link(study)
    refused = Client().post(f"{link}help/", {"why": "no-access"}, follow=True)
    assert place(refused) == f"{link}stop/" and "another visit cannot prove that it is you" in refused.text
    participant.refresh_from_db()
    assert participant.state == "active"
    Client().post(address(participant, "trouble"), {"why": "no-access"})
    participant.refresh_from_db()
    assert participant.state == "technical"


def test_another_session_can_do_the_rest_of_the_work(study: Study) -> None:
    participant = make_participant(study, visit=make_visit(1))
    answer_all(participant)
    pass_attention(participant)
    link = made_up_link(study)
    done = Client().post(f"{link}debrief/", {"comments": "Bye"}, follow=True)
    assert place(done) == f"{link}end/" and "CODE1" in done.text
    participant.refresh_from_db()
    assert (participant.state, participant.comments) == ("completed", "Bye")


def test_form_that_is_not_whole_is_asked_for_without_keeping_it(study: Study) -> None:
    participant = make_participant(study, at="context", visit=make_visit(1))
    link = made_up_link(study)
    page = Client().post(f"{link}chatbot/", {"model_shown": "mine alone"})
    assert page.status_code == 200 and "mine alone" in page.text
    assert not Draft.objects.filter(participant=participant).exists()


def test_consent_given_again_by_another_session_proves_nothing_either(study: Study) -> None:
    participant = somebody(study, make_visit(1))
    sent = make_visit(1, session_id="f" * 24).as_parameters() | {"consent": "yes"}
    page = Client().post("/s/teas/", sent)
    assert sign_link("teas", participant.pseudonym) not in page.url
    assert Session.objects.get(session_id="f" * 24).rule == "resumed"


def test_annotator_of_another_session_sees_and_takes_back_nothing() -> None:
    study = make_annotation_study(kind="attribute", block="user", items=3)
    participant = make_annotator(study)
    annotate(participant)
    said = participant.annotations.get()
    done = said.item_id
    in_the_list = f">{describe(said)}</span></a>"
    assert in_the_list in Client().get(address(participant, "work"), follow=True).text
    visit = Visit(participant.pid, participant.sessions.get().prolific_study_id, "f" * 24)
    page = Client().get(f"/a/{study.slug}/", visit.as_parameters(), follow=True)
    assert in_the_list not in page.text
    link = link_of(page)
    client = Client()
    for path in ("labels/", f"item/{done}/", f"item/{done}/feedback/"):
        assert f"/item/{done}/" not in place(client.get(link + path, follow=True))
    client.post(f"{link}undo/", {"key": ""})
    client.post(f"{link}stop/", {"how": "withdraw", "sure": "1"})
    assert participant.annotations.count() == 1
    assert reverse("annotation:labels", args=[study.slug, link.split("/")[3]]) == f"{link}labels/"
