"""Secrets are planted and searched for in every page an owner can reach, in the API, the exports and the log."""

import io
import logging
import re
import zipfile
from typing import Any

import pytest
from django.test import Client
from rest_framework.authtoken.models import Token

from fieldstudy.logs import PrivateFormatter
from surveys.models import Study
from tests.analysis.runs.run_samples import make_done
from tests.analysis.runs.servers import make_server_endpoint
from tests.factories import make_account, make_participant, make_response, make_study
from tests.roles import as_account

pytestmark = pytest.mark.django_db
SECRETS = {
    **{"MODEL_KEY": "sk-planted-model-key-0123456789", "PROLIFIC_TOKEN": "planted-prolific-token-0123456789"},
    **{"SECRET_KEY": "planted-secret-key-" + "0123456789abcdef" * 2, "POSTGRES_PASSWORD": "planted-database-password"},
}
MOST_PAGES = 60
LINK = re.compile(rb'href="(/console/[^"#]*)"')


class Address:
    address = "http://127.0.0.1:9/v1"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Study:
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    settings.SECRET_KEY = settings.PROLIFIC_WEBHOOK_SECRET = SECRETS["SECRET_KEY"]
    study = make_study()
    make_response(make_participant(study))
    make_done(study, endpoint=make_server_endpoint(Address(), key_env="MODEL_KEY"))
    make_account("owner", study, "owner")
    return study


def secrets_in(content: bytes) -> list[str]:
    return [name for name, secret in SECRETS.items() if secret.encode() in content]


def crawl(client: Client) -> dict[str, bytes]:
    """Every page of the console reachable by links, up to the first MOST_PAGES."""
    found, waiting = {}, ["/console/"]
    while waiting and len(found) < MOST_PAGES:
        address = waiting.pop(0)
        answer = client.get(address, follow=True)
        found[address] = b"".join(answer.streaming_content) if answer.streaming else answer.content
        links = (link.decode() for link in LINK.findall(found[address]))
        waiting += [link for link in dict.fromkeys(links) if link not in found and link not in waiting]
    return found


def test_no_page_and_no_line_of_the_log_has_a_secret(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.setFormatter(PrivateFormatter("%(message)s"))
    with caplog.at_level(logging.DEBUG):
        pages = crawl(as_account("owner"))
    assert len(pages) > 30 and b"MODEL_KEY" in b"".join(pages.values())  # the variable's name may be read
    assert {address: named for address, page in pages.items() if (named := secrets_in(page))} == {}
    assert secrets_in(caplog.text.encode()) == []


def test_no_answer_of_the_api_has_a_secret(study: Study) -> None:
    token = Token.objects.create(user=study.memberships.get().user)
    client = Client(headers={"Authorization": f"Token {token.key}"})
    for address in ("studies/", "studies/teas/", "studies/teas/runs/", "studies/teas/completions/"):
        answer = client.get(f"/api/v1/{address}")
        assert (answer.status_code, secrets_in(answer.content)) == (200, []), address


def test_no_export_has_a_secret(study: Study) -> None:
    answer = as_account("owner").get("/console/teas/export/everything.zip?format=jsonl")
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert len(files) > 5 and any(b"served" in content for content in files.values())
    assert {name: named for name, content in files.items() if (named := secrets_in(content))} == {}
