"""Every address of the console, tried by everybody who might: nobody, a stranger, and each role."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from surveys.console import urls
from surveys.models import AuditEvent, Participant
from tests.factories import make_account, make_participant, make_response, make_study
from tests.lasting import lasting_world
from tests.roles import RANK, as_account, make_roles

pytestmark = pytest.mark.django_db

# name: (the smallest role that may, method). Pages without a study need an account only.
OPEN = {"login", "logout"}
ACCOUNT = {"studies", "account", "new-study"}
STUDY = {
    "setup": ("viewer", "get"),
    "study": ("viewer", "get"),
    "version": ("viewer", "get"),
    "version-document": ("viewer", "get"),
    "members": ("viewer", "get"),
    "monitor": ("viewer", "get"),
    "monitor-part": ("viewer", "get"),
    "participants": ("viewer", "get"),
    "participant": ("viewer", "get"),
    "response-text": ("viewer", "get"),
    "flow": ("viewer", "get"),
    "flow-svg": ("viewer", "get"),
    "flow-json": ("viewer", "get"),
    "audit": ("viewer", "get"),
    "preview": ("researcher", "post"),
    "new-version": ("researcher", "get"),
    "change-state": ("researcher", "get"),
    "call-returned": ("researcher", "post"),
    "add-member": ("owner", "post"),
    "change-member": ("owner", "post"),
}


def make_person() -> Participant:
    study = make_study(places=9)
    make_roles(study)
    make_account("spare", study, "viewer")
    person = make_participant(study)
    make_response(person, "teas")
    return person


world = lasting_world(make_person)


@pytest.fixture
def person(world: int) -> Participant:
    return Participant.objects.select_related("study").get(pk=world)


def address_of(name: str, person: Participant) -> str:
    study = person.study
    more = {
        "version": [1],
        "version-document": [1],
        "participant": [person.pseudonym],
        "call-returned": [person.pseudonym],
        "response-text": [person.pseudonym, person.responses.get().pk],
        "change-state": ["pause"],
        "change-member": [study.memberships.get(user__username="spare").pk],
    }
    return reverse(f"console:{name}", args=[study.slug, *more.get(name, [])])


def test_every_address_is_in_these_tables() -> None:
    names = {pattern.name for pattern in urls.urlpatterns if isinstance(pattern, URLPattern)}
    assert names == OPEN | ACCOUNT | set(STUDY)


@pytest.mark.parametrize("name", sorted(STUDY))
def test_nobody_is_asked_to_log_in(name: str, person: Participant) -> None:
    events = AuditEvent.objects.count()
    for method in ("get", "post"):
        response = getattr(Client(), method)(address_of(name, person))
        assert (response.status_code, response["Location"].split("?")[0]) == (302, "/console/login/")
    assert AuditEvent.objects.count() == events


@pytest.mark.parametrize("name", sorted(ACCOUNT))
def test_pages_of_an_account_need_one(name: str) -> None:
    response = Client().get(reverse(f"console:{name}"))
    assert (response.status_code, response["Location"].split("?")[0]) == (302, "/console/login/")


@pytest.mark.parametrize("name", sorted(STUDY))
def test_each_role_may_what_it_should(name: str, person: Participant) -> None:
    least, method = STUDY[name]
    for account in RANK:
        events = AuditEvent.objects.count()
        response = getattr(as_account(account), method)(address_of(name, person))
        if account == "stranger":
            assert response.status_code == 404
        elif RANK.index(account) < RANK.index(least):
            assert response.status_code == 403
            assert "Your role does not allow this" in response.content.decode()
        else:
            assert response.status_code in (200, 302), account
            continue
        assert AuditEvent.objects.count() == events


@pytest.mark.parametrize("name", ["call-returned", "preview", "add-member", "change-member"])
def test_reading_an_address_never_acts(name: str, person: Participant) -> None:
    assert as_account("owner").get(address_of(name, person)).status_code == 405
    person.refresh_from_db()
    assert person.state == "active"


def test_forms_of_another_site_are_refused(person: Participant) -> None:
    client = as_account("owner", enforce_csrf_checks=True)
    assert client.post(address_of("change-state", person)).status_code == 403
    person.study.refresh_from_db()
    assert person.study.state == "live"


def test_another_studys_rows_are_not_reached_through_ones_own(person: Participant) -> None:
    theirs = make_participant(make_study(slug="herbs"))
    answer = make_response(theirs, "teas", "1. Secret sage", keep=True)
    client, slug = as_account("owner"), person.study.slug
    member = make_account("else", theirs.study, "owner").memberships.get()
    for path in (
        f"participants/{theirs.pseudonym}/",
        f"participants/{theirs.pseudonym}/{answer.pk}.txt",
        f"participants/{person.pseudonym}/{answer.pk}.txt",
    ):
        assert client.get(f"/console/{slug}/{path}").status_code == 404
    assert client.post(f"/console/{slug}/participants/{theirs.pseudonym}/returned/").status_code == 404
    assert client.post(f"/console/{slug}/members/{member.pk}/", {"remove": "1"}).status_code == 404
    assert member.study.memberships.filter(pk=member.pk).exists()


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
            r'<form[^>]*method="post"[^>]*action="([^"]*)"',
            client.get(address_of(name, person)).content.decode(),
        )
        assert forms == ["/console/logout/"], name


def test_part_of_a_page_sends_a_logged_out_browser_to_the_log_in(person: Participant) -> None:
    response = Client().get(address_of("monitor-part", person), headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (200, "/console/login/")
    assert response.content == b""


def test_pages_are_neither_stored_nor_framed(person: Participant) -> None:
    response = as_account("viewer").get(address_of("participant", person))
    assert response["Cache-Control"] == "no-store, private"
    assert response["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["Referrer-Policy"] == "same-origin"
