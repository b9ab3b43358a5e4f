"""Every address of agreement and the gate, tried by everybody who might: nobody, a stranger, and each role."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, reverse
from pytest_django import DjangoDbBlocker

from analysis.agreement import urls
from surveys.models import AuditEvent, GateDecision, Study
from tests.analysis.agreement.annotation_samples import make_annotated
from tests.factories import make_account, make_study
from tests.lasting import lasting_rows
from tests.roles import RANK, as_account, make_roles

pytestmark = pytest.mark.django_db

PAGES = {
    "overview": ("viewer", "get"),
    "numbers": ("viewer", "get"),
    "groups": ("viewer", "get"),
    "figure": ("viewer", "get"),
    "differing": ("viewer", "get"),
    "item": ("viewer", "get"),
    "gate": ("viewer", "get"),
    "decide": ("researcher", "post"),
    "invited": ("owner", "post"),
}


@pytest.fixture(scope="module")
def annotated(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with lasting_rows(django_db_blocker):
        study, _ = make_annotated()
        make_roles(study)
        yield


@pytest.fixture
def study(annotated: None) -> Study:
    return Study.objects.get(slug="teas")


def address_of(name: str, study: Study) -> str:
    more = {"item": [study.annotation_items.first().pk], "figure": ["matrix", "json"]}.get(name, [])
    query = "?question=relevance&a=mini" if name == "differing" else ""
    return reverse(f"agreement:{name}", args=[study.slug, *more]) + query


def test_every_address_is_in_the_table() -> None:
    assert {entry.name for entry in urls.urlpatterns if isinstance(entry, URLPattern)} == set(PAGES)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_each_role_may_what_it_should(name: str, study: Study) -> None:
    least, method = PAGES[name]
    address = address_of(name, study)
    nobody = getattr(Client(), method)(address)
    assert (nobody.status_code, nobody["Location"].split("?")[0]) == (302, "/console/login/")
    for account in RANK:
        status = getattr(as_account(account), method)(address).status_code
        if account == "stranger":
            assert status == 404
        elif RANK.index(account) < RANK.index(least):
            assert status == 403
        else:
            assert status in (200, 422), account
            continue
        assert not GateDecision.objects.exists()
        assert not AuditEvent.objects.filter(action="Prolific ids exported").exists()


def test_items_of_another_study_are_not_reached_through_ones_own(study: Study) -> None:
    other, _ = make_annotated(slug="herbs")
    theirs = other.annotation_items.first()
    assert as_account("owner").get(reverse("agreement:item", args=["teas", theirs.pk])).status_code == 404


@pytest.mark.parametrize("name", ["overview", "numbers", "gate"])
def test_studies_without_annotators_have_no_such_pages(name: str) -> None:
    study = make_study("draft", slug="juices")
    make_account("juicer", study, "owner")
    client = as_account("juicer")
    assert client.get(reverse(f"agreement:{name}", args=["juices"])).status_code == 404
    assert "/juices/gate/" not in client.get(reverse("console:setup", args=["juices"])).content.decode()
