"""What the console shows to whom, beyond its addresses (tests/access): ids, buttons, parts, headers."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from surveys.models import Participant
from tests.factories import make_participant, make_response, make_study
from tests.lasting import lasting_world
from tests.roles import as_account, make_roles

pytestmark = pytest.mark.django_db


def make_person() -> Participant:
    study = make_study(places=9)
    make_roles(study)
    person = make_participant(study)
    make_response(person, "teas")
    return person


world = lasting_world(make_person)


@pytest.fixture
def person(world: int) -> Participant:
    return Participant.objects.select_related("study").get(pk=world)


def address_of(name: str, person: Participant) -> str:
    more = {"participant": [person.pseudonym], "change-state": ["pause"]}
    return reverse(f"console:{name}", args=[person.study.slug, *more.get(name, [])])


def test_forms_of_another_site_are_refused(person: Participant) -> None:
    client = as_account("owner", enforce_csrf_checks=True)
    assert client.post(address_of("change-state", person)).status_code == 403
    person.study.refresh_from_db()
    assert person.study.state == "live"


def test_people_and_answers_of_another_study_are_not_reached_through_ones_own(person: Participant) -> None:
    theirs = make_participant(make_study(slug="herbs"))
    answer = make_response(theirs, "teas", "1. Secret sage", keep=True)
    client, people = as_account("owner"), list_of(person)
    for path in (f"{theirs.pseudonym}/", f"{theirs.pseudonym}/{answer.pk}.txt", f"{person.pseudonym}/{answer.pk}.txt"):
        assert client.get(f"{people}{path}").status_code == 404
    assert client.post(f"{people}{theirs.pseudonym}/returned/").status_code == 404


def test_prolific_ids_are_for_researchers_and_owners(person: Participant) -> None:
    shown = {name: person.pid in page_of(name, person) for name in ("viewer", "researcher", "owner")}
    assert shown == {"viewer": False, "researcher": True, "owner": True}
    found = {
        name: person.pseudonym in as_account(name).get(f"{list_of(person)}?q={person.pid}").content.decode()
        for name in ("viewer", "researcher")
    }
    assert found == {"viewer": False, "researcher": True}


def page_of(name: str, person: Participant) -> str:
    return as_account(name).get(address_of("participant", person)).content.decode()


def list_of(person: Participant) -> str:
    return address_of("participants", person)


def test_viewers_are_offered_no_buttons_that_act(person: Participant) -> None:
    client = as_account("viewer")
    for name in ("setup", "monitor", "participant", "members"):
        forms = re.findall(
            r'<form[^>]*method="post"[^>]*action="([^"]*)"', client.get(address_of(name, person)).content.decode()
        )
        assert forms == ["/console/logout/"], name


def test_part_of_a_page_sends_a_logged_out_browser_to_the_log_in(person: Participant) -> None:
    response = Client().get(address_of("monitor-part", person), headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (200, "/console/login/?next=/console/")
    assert response.content == b""


def test_pages_are_neither_stored_nor_framed(person: Participant) -> None:
    response = as_account("viewer").get(address_of("participant", person))
    assert response["Cache-Control"] == "no-store, private"
    assert response["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["Referrer-Policy"] == "same-origin"
