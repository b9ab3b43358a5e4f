"""The commands for accounts and the audit trail, and the read-only admin pages."""

import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from surveys.models import AuditEvent, Participant, Study
from surveys.simulation.demo import FILES
from tests.factories import make_account, make_participant, make_response, make_study

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue().strip()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that somebody at a terminal types the words in this list."""
    typed: list[str] = []
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("getpass.getpass", lambda prompt: typed.pop(0))
    return typed


def test_typed_password_is_asked_for_twice(terminal: list[str]) -> None:
    terminal += ["green-leaves-9", "green-leaves-9"]
    assert run("create_owner", "ada") == "The account ada is there."
    assert Client().login(username="ada", password="green-leaves-9")


@pytest.mark.parametrize(
    ("typed", "says"), [(["green-leaves-9", "green-leaves-8"], "differ"), (["1234", "1234"], "too short")]
)
def test_mistyped_or_weak_password_makes_no_account(terminal: list[str], typed: list[str], says: str) -> None:
    terminal += typed
    with pytest.raises(CommandError, match=says):
        run("create_owner", "ada")
    assert not get_user_model().objects.exists()


def test_made_password_is_printed_once_and_works() -> None:
    printed = json.loads(run("create_owner", "ada", "--generate", "--json"))
    assert Client().login(username="ada", password=printed["password"])
    assert len(printed["password"]) >= 20
    assert printed["password"] not in get_user_model().objects.get(username="ada").password


def test_owner_of_studies_that_are_there() -> None:
    study = make_study("draft")
    assert "owns teas" in run("create_owner", "ada", "--generate", "--study", "teas")
    assert study.memberships.get().role == "owner"
    event = AuditEvent.objects.filter(study=study).latest("number")
    assert (event.actor, event.action, event.subject) == ("system", "member added", "ada")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ada", "--generate"], "already an account called ada"),
        (["bob", "--generate", "--study", "nope"], "no study nope. Studies: "),
        (["b o b", "--generate"], "valid username"),
        (["bob"], "only be typed at a terminal"),
    ],
)
def test_account_that_cannot_be_made_is_refused_in_one_line(words: list[str], says: str) -> None:
    make_account("ada")
    with pytest.raises(CommandError, match=says) as refusal:
        run("create_owner", *words)
    assert "\n" not in str(refusal.value)
    assert get_user_model().objects.count() == 1


def test_chain_that_holds_is_told_in_words_and_json() -> None:
    make_study()
    head = AuditEvent.objects.get(number=2).sha256
    assert run("verify_audit", "teas") == f"The chain of teas holds: 2 events, the newest with hash {head}."
    assert json.loads(run("verify_audit", "teas", "--json")) == {
        "study": "teas",
        "events": 2,
        "head": head,
        "holds": True,
        "breaks": [],
    }


def test_broken_chain_ends_with_an_error() -> None:
    study = make_study()
    AuditEvent.objects.create(study=study, number=5, actor="x", action="forged", previous="0" * 64, sha256="1" * 64)
    out = StringIO()
    with pytest.raises(CommandError, match="does not hold"):
        call_command("verify_audit", "teas", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert not report["holds"] and "event 3 is missing" in report["breaks"][0]


def test_chain_of_no_study_is_an_error() -> None:
    with pytest.raises(CommandError, match="no study nope. Studies: "):
        run("verify_audit", "nope")


def test_admin_lists_and_searches_every_kind_of_row(admin_client: Client) -> None:
    person = make_participant(make_study())
    make_response(person, "teas", "1. Only one", keep=True)
    registered = [model for model in admin.site._registry if model in apps.get_app_config("surveys").get_models()]
    assert len(registered) == 16
    for model in registered:
        assert admin_client.get(f"/admin/surveys/{model._meta.model_name}/?q=x").status_code == 200, model
    assert person.pseudonym in admin_client.get(f"/admin/surveys/participant/?q={person.pid}").content.decode()


def test_admin_changes_nothing(admin_client: Client) -> None:
    person = make_participant(make_study())
    address = f"/admin/surveys/participant/{person.pk}"
    assert admin_client.get(f"{address}/change/").status_code == 200
    assert admin_client.post(f"{address}/change/", {"state": "completed"}).status_code == 403
    assert admin_client.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    assert admin_client.get("/admin/surveys/participant/add/").status_code == 403
    assert Participant.objects.get().state == "active"


def load(*words: str) -> list[str]:
    return json.loads(run("load_study", str(FILES / "demo.toml"), "--json", *words))["owners"]


def test_a_loaded_study_is_owned_by_the_first_account_or_the_one_that_is_named() -> None:
    make_account("gone", is_active=False)
    make_account("ada")
    make_account("bob")
    assert load("--owner", "bob") == ["bob"]
    assert load() == ["bob"]  # it has an owner
    Study.objects.get().memberships.all().delete()
    assert load() == ["ada"]
    event = AuditEvent.objects.latest("number")
    assert (event.actor, event.action, event.subject) == ("command line", "member added", "ada")
    with pytest.raises(CommandError, match="There is no account eve"):
        load("--owner", "eve")


def test_a_study_made_of_imported_labels_is_owned_by_the_first_account(tmp_path: Path) -> None:
    make_account("ada")
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\nt1,ann,yes\nt1,bea,no\n")
    run("import_annotations", "tea-labels", str(path))
    owners = Study.objects.get().memberships.filter(role="owner")
    assert [owner.user.get_username() for owner in owners] == ["ada"]


def test_the_first_account_owns_studies_that_were_loaded_before_it() -> None:
    assert "nobody owns it yet" in run("load_study", str(FILES / "demo.toml"))
    assert "owns demo." in run("create_owner", "ada", "--generate")
    Study.objects.get().memberships.all().delete()
    assert run("create_owner", "bob", "--generate").startswith("The account bob is there. Its password")
