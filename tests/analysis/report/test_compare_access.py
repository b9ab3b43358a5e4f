"""Every address of the comparing pages, tried by everybody who might."""

import pytest
from django.test import Client
from django.urls import reverse

from analysis.report.urls import urlpatterns
from surveys.models import Study
from tests.factories import make_account, make_study
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db
NAMES = [str(pattern.name) for pattern in urlpatterns]
MORE = {
    "page": ["items"],
    "computing": ["items"],
    "figure": ["items", "csv"],
    "figure-part": ["items"],
}
QUERY = {"texts": "?prompt=teas&source=field&model=chatgpt"}


@pytest.fixture
def study() -> Study:
    return make_study("draft")


def address(name: str) -> str:
    return reverse(f"compare:{name}", args=["teas", *MORE.get(name, [])]) + QUERY.get(name, "")


@pytest.mark.parametrize("name", NAMES)
def test_strangers_find_nothing_and_nobody_is_asked_to_log_in(study: Study, name: str) -> None:
    stranger = Client()
    stranger.force_login(make_account("stranger", make_study("draft", slug="coffees"), "owner"))
    assert stranger.get(address(name)).status_code == 404
    response = Client().get(address(name))
    assert (response.status_code, response["Location"].partition("?")[0]) == (302, reverse("console:login"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("role", ["viewer", "researcher", "owner"])
def test_every_member_may_read(study: Study, name: str, role: str) -> None:
    assert log_in(study, role).get(address(name)).status_code == 200


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_changed_by_a_comparing_page(study: Study, name: str) -> None:
    assert log_in(study, "owner").post(address(name)).status_code == 405


def test_the_rail_leads_there(study: Study) -> None:
    page = log_in(study, "viewer").get(reverse("console:setup", args=["teas"])).content.decode()
    assert reverse("compare:overview", args=["teas"]) in page
    assert reverse("compare:page", args=["teas", "items"]) not in page
    here = log_in(study, "viewer", "bob").get(reverse("compare:overview", args=["teas"])).content.decode()
    assert reverse("compare:page", args=["teas", "items"]) in here
