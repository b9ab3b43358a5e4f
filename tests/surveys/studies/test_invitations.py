"""Invitations: a link makes one account, once, with what its giver may still give, and shows nobody else's."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from surveys.models import AuditEvent, Invitation, Study
from surveys.studies import access
from surveys.studies.access import may_make_studies
from surveys.studies.members import InvitationError, accept, invite, let_invite
from tests.factories import make_account, make_study
from tests.surveys.console.console_pages import text_of
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db
PAGE = "/console/account/invitations/"
GOOD = {"username": "bob", "password1": "green-leaves-9", "password2": "green-leaves-9"}


@pytest.fixture
def study() -> Study:
    return make_study("draft")


def client_of(account: object) -> Client:
    client = Client()
    client.force_login(account)
    return client


def link_in(page: HttpResponse) -> str:
    return re.findall(r"/console/account/new/[^\"]+", text_of(page))[0]


def accounts() -> list[str]:
    return list(get_user_model().objects.order_by("pk").values_list("username", flat=True))


def test_an_owner_invites_and_who_comes_lands_in_the_study_with_the_role(study: Study) -> None:
    ada = client_of(make_account("ada", study, "owner"))
    page = ada.post(PAGE, {"study": "teas", "role": "researcher", "note": "Bob of the lab"})
    link, guest = link_in(page), Client()
    assert "Bob of the lab" in text_of(ada.get(PAGE)) and link not in text_of(ada.get(PAGE))
    assert link.split("/")[-2] not in Invitation.objects.get().token_sha256
    assert "invites you" in text_of(guest.get(link))
    landed = guest.post(link, GOOD, follow=True)
    assert landed.redirect_chain == [("/console/teas/", 302)] and landed.status_code == 200
    assert study.memberships.get(user__username="bob").role == "researcher"
    assert not may_make_studies(get_user_model().objects.get(username="bob"))
    events = list(AuditEvent.objects.filter(study=study).order_by("number").values_list("actor", "action"))
    assert events[-2:] == [("ada", "invited"), ("ada", "member added")]
    assert Client().post(link, GOOD | {"username": "eve"}).status_code == 410 and accounts() == ["ada", "bob"]


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"password1": "1234", "password2": "1234"}, "too short"),
        ({"password1": "bobbob-bob", "password2": "bobbob-bob", "username": "bobbob-bob"}, "too similar"),
        ({"username": "ADA"}, "already exists"),
    ],
)
def test_weak_passwords_and_taken_names_leave_the_link_open(study: Study, form: dict[str, str], says: str) -> None:
    link = f"/console/account/new/{invite(make_account('ada', study, 'owner'), study, 'viewer')}/"
    page = Client().post(link, GOOD | form)
    assert page.status_code == 422 and says in text_of(page) and accounts() == ["ada"]
    assert Client().post(link, GOOD).status_code == 302


def test_links_that_are_old_taken_back_forged_or_of_somebody_who_lost_the_right_are_closed(study: Study) -> None:
    ada = make_account("ada", study, "owner")
    old, back, lost = (invite(ada, study, "owner") for _ in range(3))
    rows = list(Invitation.objects.order_by("pk"))
    Invitation.objects.filter(pk=rows[0].pk).delete()
    Invitation.objects.create(
        **{name: getattr(rows[0], name) for name in ("token_sha256", "study", "role", "invited_by")},
        expires_at=timezone.now() - timedelta(seconds=1),
    )
    assert client_of(ada).post(PAGE, {"revoke": rows[1].pk}).status_code == 302
    for token in (old, back, f"{lost}x", "x"):
        assert Client().post(f"/console/account/new/{token}/", GOOD).status_code == 410
    study.memberships.filter(user=ada).update(role="researcher")
    assert Client().get(f"/console/account/new/{lost}/").status_code == 410
    assert accounts() == ["ada"]
    page = text_of(client_of(make_account("eve", study, "owner")).get(PAGE))
    assert "Nobody is invited." in page and "ada may no longer give this" in page


def test_only_who_may_gives_and_takes_back(study: Study) -> None:
    token = invite(make_account("ada", study, "owner"), study, "viewer")
    number = Invitation.objects.get().pk
    bob, cid = make_account("bob", study, "researcher"), make_account("cid", make_study("draft", slug="herbs"), "owner")
    assert client_of(bob).get(PAGE).status_code == 403
    assert client_of(cid).post(PAGE, {"study": "teas", "role": "owner"}).status_code == 422
    assert client_of(cid).post(PAGE, {"study": "makes-studies", "role": "owner"}).status_code == 422
    client_of(cid).post(PAGE, {"revoke": number})
    with pytest.raises(InvitationError, match="may not"):
        invite(bob, study, "viewer")
    let_invite(cid)
    cid = get_user_model().objects.get(pk=cid.pk)
    link = link_in(client_of(cid).post(PAGE, {"study": "makes-studies", "role": "viewer"}))
    assert Client().post(link, GOOD | {"username": "dora"}).status_code == 302
    assert may_make_studies(get_user_model().objects.get(username="dora"))
    assert Client().get(f"/console/account/new/{token}/").status_code == 200


def test_what_became_of_an_invitation_stays(study: Study) -> None:
    accept(invite(make_account("ada", study, "owner"), study, "viewer"), get_user_model()(username="bob"))
    rows = Invitation.objects.all()
    for change in ({"used_at": None, "used_by": ""}, {"role": "owner"}, {"revoked_at": timezone.now()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**change)


def test_accepting_is_limited_as_logging_in_is(study: Study, settings: Any) -> None:
    settings.LIMIT_FACTOR, settings.DEBUG = 1, False
    access.connection().flushdb()
    link = f"/console/account/new/{invite(make_account('ada', study, 'owner'), study, 'viewer')}/"
    tried = [Client(REMOTE_ADDR="192.0.2.78").post(link, {"username": "x"}).status_code for _ in range(21)]
    assert tried == [422] * 20 + [429]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_one_link_at_once_one_gets_an_account() -> None:
    study = make_study("draft")
    token = invite(make_account("ada", study, "owner"), study, "viewer")

    def take(name: str) -> bool:
        try:
            return bool(accept(token, get_user_model()(username=name)))
        except InvitationError:
            return False

    assert sorted(at_once([lambda: take("bob"), lambda: take("eve")])) == [False, True]
    assert len(accounts()) == 2 and study.memberships.count() == 2
