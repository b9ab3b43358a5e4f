"""A form that finds nobody logged in, or an older log-in than its page's, is offered again with what it held."""

import html
import re
from io import BytesIO

import pytest
from django.http import HttpResponse
from django.test import Client

from surveys.models import Note
from tests.factories import make_account, make_participant, make_study

pytestmark = pytest.mark.django_db
TEXT = 'Asked "why"?\n<b>twice</b> & again'
ORIGIN = {"Origin": "http://testserver"}
LOGIN = {"username": "ada", "password": "password"}


@pytest.fixture
def address() -> str:
    study = make_study()
    make_account("ada", study, "owner")
    return f"/console/{study.slug}/notes/participant/{make_participant(study).pk}/"


@pytest.fixture
def client() -> Client:
    """A browser that has read the log-in, so that it has a CSRF cookie, and that Django checks as in production."""
    client = Client(enforce_csrf_checks=True)
    client.get("/console/login/")
    return client


def fields_of(answer: HttpResponse) -> dict[str, str]:
    form = answer.content.decode().partition("<main")[2]
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in fields}


def token_of(client: Client) -> str:
    return fields_of(client.get("/console/login/"))["csrfmiddlewaretoken"]


def notes() -> list[str]:
    return list(Note.objects.values_list("text", flat=True))


def test_form_of_somebody_logged_out_is_sent_after_the_log_in(client: Client, address: str) -> None:
    asked = client.post(address, {"text": TEXT, "csrfmiddlewaretoken": token_of(client)})
    assert asked.status_code == 401 and "you can send your form again" in asked.content.decode() and not notes()
    wrong = client.post("/console/login/", fields_of(asked) | LOGIN | {"password": "wrong"})
    offered = client.post("/console/login/", fields_of(wrong) | LOGIN)
    assert "nothing is lost" in offered.content.decode() and f'action="{address}"' in offered.content.decode()
    assert not notes()
    assert fields_of(offered)["text"] == TEXT
    client.post(address, fields_of(offered))
    assert notes() == [TEXT]


def test_form_of_a_page_older_than_the_log_in_is_offered_again(client: Client, address: str) -> None:
    old = token_of(client)
    client.post("/console/login/", LOGIN | {"csrfmiddlewaretoken": old})
    offered = client.post(address, {"text": TEXT, "csrfmiddlewaretoken": old}, headers=ORIGIN)
    assert offered.status_code == 403 and not notes()
    client.post(address, fields_of(offered))
    assert notes() == [TEXT]


@pytest.mark.parametrize("headers", [{"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {}])
def test_form_of_another_site_is_refused_and_never_offered(client: Client, address: str, headers: dict) -> None:
    client.post("/console/login/", LOGIN | {"csrfmiddlewaretoken": token_of(client)})
    refused = client.post(address, {"text": TEXT}, headers=headers)
    assert refused.status_code == 403 and "was not taken" in refused.content.decode()
    assert "twice" not in refused.content.decode() and not notes()


def test_only_what_this_server_signed_is_offered(client: Client, address: str) -> None:
    asked = client.post(address, {"text": TEXT, "csrfmiddlewaretoken": token_of(client)})
    changed = fields_of(asked) | LOGIN
    changed["unsent"] = changed["unsent"][::-1]
    assert client.post("/console/login/", changed).status_code == 302


def test_neither_passwords_nor_files_are_held(client: Client, address: str) -> None:
    secret = {"old_password": "hunter2", "new_password1": "hunter3"}
    for form in (secret, {"text": TEXT, "file": BytesIO(b"rows")}):
        asked = client.post("/console/account/", form | {"csrfmiddlewaretoken": token_of(client)})
        assert asked.status_code == 401 and "Log in, go back, and fill in the form again" in " ".join(
            asked.content.decode().split()
        )
        assert "unsent" not in fields_of(asked)


def test_passwords_sent_from_an_older_page_are_in_no_page(client: Client, address: str) -> None:
    old = token_of(client)
    client.post("/console/login/", LOGIN | {"csrfmiddlewaretoken": old})
    for path in ("/console/login/", "/console/account/"):
        sent = {"password": "hunter2", "new_password1": "hunter2", "csrfmiddlewaretoken": old}
        refused = client.post(path, sent, headers=ORIGIN)
        assert refused.status_code == 403 and "hunter2" not in refused.content.decode()
