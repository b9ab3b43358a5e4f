"""An endpoint is tried with one cheap call, and one sentence gives its answer or says what went wrong."""

import pytest
from django.test import Client
from django.urls import reverse

from analysis.runs.pages import trial_views
from surveys.models import AuditEvent, Study
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.analysis.runs.servers import serving
from tests.factories import make_study
from tests.surveys.console.console_pages import lines_of, log_in, said

pytestmark = pytest.mark.django_db


def try_it(client: Client, name: str = "gpt") -> list[str]:
    return said(client.post(reverse("baselines:try-endpoint", args=["teas", name]), follow=True))


@pytest.mark.processes
def test_answer_is_said_with_time_model_tokens_and_cost(study: Study) -> None:
    with serving("--reply", "ready") as server:
        prices = {"price_in": 1000, "price_out": 1000}
        make_endpoint(name="gpt", provider="openai", base_url=server.address, model="fake-1", **prices)
        (words,) = try_it(log_in(study, "researcher"))
        (request,) = server.requests()
    assert (
        words.startswith("gpt answered “ready” in ")
        and " as fake-1: " in words
        and words.endswith(": 7 tokens in, 2 out, $0.009.")
    )
    event = AuditEvent.objects.get(action="endpoint tried")
    assert (event.subject, event.actor, event.detail["result"]) == ("gpt", "ada", words)
    assert event.detail["usd"] == "0.00900000" and request["paid"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("fault", "words"),
    [("401", "gpt does not answer: 401"), ("html", "gpt does not answer: "), ("500", "gpt does not answer: 500")],
)
def test_what_went_wrong_is_said_once_and_nothing_is_tried_again(study: Study, fault: str, words: str) -> None:
    with serving("--fault", f"{fault}=1") as server:
        make_endpoint(name="gpt", provider="openai", base_url=server.address, model="fake-1")
        (told,) = try_it(log_in(study, "researcher"))
        assert len(server.requests()) == 1
    assert told.startswith(words)


def test_a_missing_key_and_a_wrong_address_are_named(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    client = log_in(study, "researcher")
    make_endpoint(name="gpt", provider="openai", base_url="http://127.0.0.1:9/v1", key_env="NO_SUCH_KEY")
    assert "NO_SUCH_KEY" in try_it(client)[0]
    make_endpoint(name="nobody", provider="openai", base_url="http://127.0.0.1:9/v1")
    assert try_it(client, "nobody")[0].startswith("nobody does not answer: ")


def test_scripted_endpoints_and_embeddings_are_tried_too(study: Study) -> None:
    make_endpoint(name="gpt")
    make_endpoint(name="vectors", embeddings=True)
    client = log_in(study, "researcher")
    assert try_it(client)[0].startswith("gpt answered “")
    assert try_it(client, "vectors")[0].startswith("vectors made a vector of 384 numbers in ")


def test_trying_takes_a_post_and_has_a_limit(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    make_endpoint(name="gpt")
    address = reverse("baselines:try-endpoint", args=["teas", "gpt"])
    viewer, client = log_in(study, "viewer", name="vic"), log_in(study, "researcher")
    assert "Try" not in lines_of(viewer.get(reverse("baselines:endpoints", args=["teas"]))).split()
    assert (client.get(address).status_code, client.post(address.replace("gpt", "none")).status_code) == (405, 404)
    make_endpoint(name="theirs", study=make_study("draft", slug="coffees"))
    assert client.post(address.replace("gpt", "theirs")).status_code == 404
    monkeypatch.setattr(trial_views, "within_limit", lambda request, action: False)
    assert try_it(client) == [trial_views.BUSY]
    assert not AuditEvent.objects.filter(action="endpoint tried").exists()
