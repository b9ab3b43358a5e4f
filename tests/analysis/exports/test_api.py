"""The API shows each account its own studies, in pages that stay stable, with few queries."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from surveys.models import Study
from tests.factories import make_account, make_definition, make_participant, make_study

pytestmark = pytest.mark.django_db
STUDY_PAGES = (
    ("study", ()),
    ("participants", ()),
    ("responses", ()),
    ("export", ("responses", "csv")),
    ("export", ("participants", "sav")),
)


def client_of(name: str, study: Study | None = None, role: str = "") -> Client:
    token = Token.objects.create(user=make_account(name, study, role))
    return Client(headers={"Authorization": f"Token {token.key}"})


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def other() -> Study:
    definition = make_definition(slug="coffees", title="Coffees")
    return make_study("draft", definition)


@pytest.mark.parametrize(("name", "args"), STUDY_PAGES)
def test_address_of_a_study_for_every_kind_of_account(study: Study, other: Study, name: str, args: tuple) -> None:
    make_participant(study, at="completed")
    address = reverse(f"api:{name}", args=[study.slug, *args])
    clients = {401: Client(), 404: client_of("stranger", other, "owner"), 200: client_of("member", study, "viewer")}
    assert {status: client.get(address).status_code for status, client in clients.items()} == {
        status: status for status in clients
    }
    assert clients[404].get(reverse(f"api:{name}", args=["teas-2", *args])).status_code == 404


@pytest.mark.parametrize(("name", "args"), STUDY_PAGES[1:4])
def test_pids_are_for_researchers_who_ask(study: Study, name: str, args: tuple) -> None:
    pid = make_participant(study, at="completed").pid.encode()
    address = reverse(f"api:{name}", args=[study.slug, *args])
    viewer, researcher = client_of("viewer", study, "viewer"), client_of("researcher", study, "researcher")
    assert viewer.get(address, {"pids": "1"}).status_code == 403
    assert pid not in viewer.get(address).getvalue()
    assert pid not in researcher.get(address).getvalue()
    assert pid in researcher.get(address, {"pids": "1"}).getvalue()
    assert [event.detail["pids"] for event in study.audit_events.filter(action="exported")][-1] is True


def test_wrong_token_and_login_session_are_nobody(study: Study) -> None:
    address = reverse("api:studies")
    assert Client(headers={"Authorization": "Token 0123456789"}).get(address).status_code == 401
    session = Client()
    session.force_login(make_account("owner", study, "owner"))
    assert session.get(address).status_code == 401


def test_studies_are_those_of_the_account(study: Study, other: Study) -> None:
    make_participant(study, at="completed")
    make_participant(study)
    make_participant(study, at="completed", origin="preview")
    found = client_of("member", study, "viewer").get(reverse("api:studies")).json()
    assert [row["slug"] for row in found["results"]] == ["teas"]
    row = found["results"][0]
    assert (row["participants"], row["completed"], row["state"]) == (2, 1, "live")
    assert (row["version"], row["version_sha256"]) == (study.current.number, study.current.sha256)


@pytest.mark.parametrize(("name", "queries"), [("participants", 7), ("responses", 7), ("study", 4)])
def test_queries_do_not_grow_with_the_rows(study: Study, name: str, queries: int, django_assert_num_queries) -> None:
    client, address = client_of("member", study, "viewer"), reverse(f"api:{name}", args=[study.slug])
    for people in (1, 30):
        # Imported people, since they need no place.
        while study.participants.count() < people:
            make_participant(study, at="completed", origin="imported")
        with django_assert_num_queries(queries):
            assert client.get(address).status_code == 200


def test_pages_hold_every_row_once_while_people_arrive(study: Study) -> None:
    people = [make_participant(study, at="questions", origin="simulated").pseudonym for _ in range(5)]
    client, seen = client_of("member", study, "viewer"), []
    address = reverse("api:participants", args=[study.slug]) + "?limit=2"
    while address:
        page = client.get(address).json()
        seen += [row["participant"] for row in page["results"]]
        address = page["next"]
        if len(seen) == 2:
            people.append(make_participant(study, at="questions", origin="simulated").pseudonym)
    assert seen == people


def test_page_has_a_largest_size(study: Study) -> None:
    page = client_of("member", study, "viewer").get(
        reverse("api:responses", args=[study.slug]), {"limit": 10**9, "offset": 0}
    )
    assert page.json() == {"count": 0, "next": None, "previous": None, "results": []}


def test_responses_are_those_of_the_export(study: Study) -> None:
    make_participant(study, at="completed")
    client = client_of("member", study, "viewer")
    rows = client.get(reverse("api:responses", args=[study.slug])).json()["results"]
    file = client.get(reverse("api:export", args=[study.slug, "responses", "jsonl"])).getvalue()
    exported = [json.loads(line) for line in file.splitlines()]
    for row in (*rows, *exported):
        row["submitted_at"] = row["submitted_at"].replace("+00:00", "Z")
    assert rows == exported and len(rows) == 2


def test_export_comes_whatever_the_client_accepts(study: Study) -> None:
    client, address = (client_of("member", study, "viewer"), reverse("api:export", args=["teas", "flags", "csv"]))
    for accept in ("text/csv", "application/json", "*/*", "image/png"):
        response = client.get(address, headers={"Accept": accept})
        assert (response.status_code, response["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert client.get(address.replace("flags", "users")).json()["detail"].startswith("There is no table users")


def test_schema_is_valid_and_nothing_in_it_is_guessed(tmp_path: Path) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))
    assert "openapi: 3" in (tmp_path / "schema.yml").read_text()


@pytest.mark.parametrize("name", ["studies", "participants", "responses", "runs", "completions"])
def test_schema_says_that_rows_come_in_pages(study: Study, name: str) -> None:
    schema = json.loads(Client().get(reverse("api:schema"), headers={"Accept": "application/json"}).content)
    [way] = [ways["get"] for ways in schema["paths"].values() if ways.get("get", {}).get("operationId") == name]
    told = way["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
    served = client_of("ada", study, "viewer").get(reverse(f"api:{name}", args=[] if name == "studies" else ["teas"]))
    assert schema["components"]["schemas"][told]["properties"].keys() == served.json().keys()


def test_schema_names_every_address_and_docs_obey_the_content_policy() -> None:
    schema = Client().get(reverse("api:schema"), headers={"Accept": "application/json"})
    paths = set(json.loads(schema.content)["paths"])
    assert {"/api/v1/studies/", "/api/v1/studies/{slug}/export/{table}.{kind}"} <= paths
    page = Client().get(reverse("api:docs")).content.decode()
    assert "<script>" not in page and "<style" not in page and "https://" not in page
    assert Client().get(reverse("api:docs") + "?script=").status_code == 200
