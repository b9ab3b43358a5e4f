"""Endpoints belong to a study: its owners change them, the studies they are shared with use them, all audited."""

import importlib
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from analysis.endpoints import endpoints
from analysis.endpoints.owners.sharing import NotShared
from analysis.models import Endpoint, Run
from analysis.people.pages.forms import endpoints_of
from analysis.runs.pages.actions import act
from surveys.models import AuditEvent, Study
from surveys.studies import audit
from tests.analysis.people.people_samples import as_program
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.analysis.runs.run_samples import make_running, order_of
from tests.factories import make_account, make_study
from tests.roles import as_account

pytestmark = pytest.mark.django_db
FORM = {
    **{"name": "mini", "provider": "fake", "model": "scripted", "concurrency": "4", "context_window": "128000"},
    **{"max_tokens": "500", "price_in": "0.15", "price_out": "0.6"},
}


@pytest.fixture(autouse=True)
def names_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "addresses_of", lambda host, port: {"93.184.215.14"})


@pytest.fixture
def teas() -> Study:
    study = make_study("draft")
    make_account("ann", study, "owner")
    return study


@pytest.fixture
def coffees(teas: Study) -> Study:
    study = make_study("draft", slug="coffees")
    make_account("bob", study, "owner")
    return study


def page(name: str, study: Study, endpoint: str = "") -> Any:
    return as_account(name).get(f"/console/{study.slug}/baselines/endpoints/{endpoint}{'/' if endpoint else ''}")


def change(name: str, study: Study, endpoint: str = "mini", **changes: Any) -> Any:
    where = f"/console/{study.slug}/baselines/endpoints/{endpoint}/"
    return as_account(name).post(where, FORM | changes)


def start(name: str, study: Study) -> Any:
    order = order_of(endpoint="mini", dry_run=True)
    return as_program(name).post(f"/api/v1/studies/{study.slug}/runs/", order, content_type="application/json")


def test_owner_of_another_study_neither_sees_nor_uses_nor_changes_it(teas: Study, coffees: Study) -> None:
    assert change("ann", teas, "new").status_code == 302
    assert Endpoint.objects.get().study == teas
    assert "mini" not in page("bob", coffees).content.decode()
    assert page("bob", coffees, "mini").status_code == change("bob", coffees, price_in="99").status_code == 404
    assert start("bob", coffees).status_code == 400 and start("ann", teas).status_code == 200
    assert not endpoints_of(coffees).exists()
    assert Endpoint.objects.get().price_in < 1


def test_who_it_is_shared_with_uses_it_and_changes_nothing(teas: Study, coffees: Study) -> None:
    change("ann", teas, "new", shared="on")
    assert "mini" in page("bob", coffees).content.decode() and start("bob", coffees).status_code == 200
    assert '/endpoints/mini/"' not in page("bob", coffees).content.decode()
    assert page("bob", coffees, "mini").status_code == change("bob", coffees, price_in="99").status_code == 403
    assert Endpoint.objects.get().price_in < 1


def test_it_is_shared_with_single_studies_and_the_trail_says_what_changed(teas: Study, coffees: Study) -> None:
    third = make_study("draft", slug="waters")
    make_account("cid", third, "owner")
    change("ann", teas, "new")
    Endpoint.objects.get().shared_with.add(third)  # by somebody with access to that study
    teas.memberships.create(user=get_user_model().objects.get(username="bob"), role="owner")
    change("bob", teas, shared_with=[coffees.pk], max_tokens="700", price_in="2")
    assert {study.slug for study in Endpoint.objects.get().shared_with.all()} == {"coffees", "waters"}
    event = AuditEvent.objects.filter(study=teas, action="endpoint saved").latest("number")
    assert (event.actor, event.detail["shared_with"]) == ("bob", ["coffees", "waters"])
    assert {name: values[1] for name, values in event.detail["changed"].items()} == {"max_tokens": 700, "price_in": "2"}
    assert start("cid", third).status_code == 200


def test_what_belongs_to_the_server_is_changed_by_administrators(teas: Study, coffees: Study) -> None:
    make_endpoint(name="mini")
    make_account("root", is_superuser=True)
    assert start("bob", coffees).status_code == 200
    assert change("bob", coffees, price_in="9").status_code == change("ann", teas, price_in="9").status_code == 403
    assert change("root", teas, price_in="9").status_code == 302
    assert (Endpoint.objects.get().price_in, Endpoint.objects.get().study) == (9, None)


def test_key_of_an_endpoint_that_is_not_shared_is_nobody_elses(teas: Study, coffees: Study) -> None:
    address = "https://api.example.org/v1"
    make_endpoint(name="mine", study=teas, provider="openai", base_url=address, key_env="TEAS_KEY")
    answer = change("bob", coffees, "new", provider="openai", base_url=address, key_env="TEAS_KEY")
    assert answer.status_code == 422 and "was not sent to this address before" in answer.content.decode()
    assert change("ann", teas, "new", provider="openai", base_url=address, key_env="TEAS_KEY").status_code == 302


def test_run_goes_on_only_while_the_endpoint_is_shared(teas: Study, coffees: Study) -> None:
    endpoint = make_endpoint(name="mini", study=teas, shared=True)
    run = make_running(coffees, endpoint=endpoint, state="paused")
    Endpoint.objects.update(shared=False)
    bob = get_user_model().objects.get(username="bob")
    with pytest.raises(NotShared, match="mini is no longer shared with coffees: ask its owner."):
        act("resume", run, bob, coffees)
    act("cancel", run, bob, coffees)
    assert Run.objects.get(pk=run.pk).state == "cancelled"


def test_endpoints_that_were_there_go_to_the_study_that_made_them(teas: Study) -> None:
    for name in ("console", "command"):
        make_endpoint(name=name)
        audit.record(teas, "ann", "endpoint saved", name)
    Endpoint.objects.filter(name="command").update(created_at=timezone.now() - timedelta(days=3))  # and changed today
    with connection.cursor() as cursor:
        cursor.execute(importlib.import_module("analysis.migrations.0015_endpoint_owners").OWN)
    found = Endpoint.objects.order_by("name").values_list("name", "study__slug", "shared")
    assert list(found) == [("command", None, False), ("console", "teas", True)]
