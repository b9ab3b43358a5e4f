"""Endpoints are checked when they are made, and their keys stay in the environment."""

import json
from decimal import Decimal
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from analysis.endpoints.endpoints import (
    EndpointError,
    add_endpoint,
    check_address,
    cost_of,
    find_key,
    open_provider,
    price,
)
from analysis.endpoints.providers.calls import Reply
from analysis.models import ConversationVector, Endpoint
from tests.analysis.runs.baseline_factories import make_conversation, make_corpus, make_run
from tests.analysis.runs.servers import make_fake, make_planned
from tests.factories import make_study

pytestmark = pytest.mark.django_db
GOOD = {"base_url": "https://203.0.113.7/v1", "model": "m"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"base_url": "ftp://example.org"}, "not a base URL"),
        ({"base_url": "example.org/v1"}, "not a base URL"),
        ({"base_url": "http://[::1"}, "not a base URL"),
        ({"base_url": "https://me:secret@example.org/v1"}, "no user, password"),
        ({"base_url": "https://example.org/v1?key=x"}, "no user, password"),
        ({"model": " "}, "which model"),
        ({"key_env": "sk-abc-def"}, "name of an environment variable"),
        ({"concurrency": 0}, "above 0"),
        ({"requests_per_minute": -1}, "above 0"),
        ({"price_in": Decimal("NaN")}, "dollars per million"),
        ({"price_in": Decimal("sNaN")}, "dollars per million"),
        ({"price_out": Decimal("-1")}, "dollars per million"),
        ({"extra": {"messages": []}}, "the run does"),
        *(({"extra": {"max_tokens": most}}, "a whole number above 0") for most in (-1, 0, True, "9", 1.5)),
        *(({"name": name}, "not a valid name") for name in ("", "two words", "x" * 51, "../up")),
    ],
)
def test_bad_field_is_refused_and_nothing_is_written(changes: dict, words: str) -> None:
    with pytest.raises(EndpointError, match=words):
        add_endpoint(**{"name": "wrong"} | GOOD | changes)
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.1.2.3", "192.168.0.4", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "localhost",
     "0.0.0.0", "2130706433", "metadata.google.internal", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]",
     "[2002:a9fe:a9fe::]", "[::127.0.0.1]", "168.63.129.16", "[::ffff:168.63.129.16]", "[64:ff9b::a83f:8110]",
     "100.100.100.200", "[fd00:ec2::254]", "[fe80::5efe:10.0.0.1]", "[2001:0:a00:1::]",
     "[fd00::5efe:8.8.8.8]"],
)  # fmt: skip
def test_private_address_is_refused_in_production(host: str, settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    with pytest.raises(EndpointError, match="private|not found"):
        check_address(f"http://{host}/v1")
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    check_address(f"http://{host}/v1")


def test_public_address_is_accepted_in_production(settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    for host in (
        "8.8.8.8",
        "[2606:4700::6810:1]",
        "[64:ff9b::808:808]",
        "[::ffff:8.8.8.8]",
        "[2606:4700::5efe:8.8.8.8]",
    ):
        check_address(f"https://{host}/v1")


def test_address_is_checked_again_before_it_is_called(settings: Settings) -> None:
    endpoint = add_endpoint("local", base_url="http://127.0.0.1:1/v1", model="m")
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    with pytest.raises(EndpointError, match="private"):
        open_provider(endpoint, 1.0)


def test_model_and_provider_change_before_the_first_run_and_not_afterwards() -> None:
    """Otherwise scripted answers and a model's would share one name."""
    make_fake(model="other")
    assert add_endpoint("scripted", provider="openai", base_url=GOOD["base_url"]).provider == "openai"
    endpoint = make_fake(base_url="")
    make_planned(make_study(), endpoint)
    add_endpoint("scripted", concurrency=3)
    for changes in ({"model": "another"}, {"provider": "openai", "base_url": GOOD["base_url"]}):
        with pytest.raises(EndpointError, match=r"provider fake.* would be mixed"):
            add_endpoint("scripted", **changes)
    endpoint.refresh_from_db()
    assert (endpoint.provider, endpoint.model, endpoint.concurrency) == ("fake", "scripted", 3)


def test_key_comes_from_the_variable_and_is_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = add_endpoint("paid", **GOOD, key_env="MODEL_KEY")
    monkeypatch.delenv("MODEL_KEY", raising=False)
    with pytest.raises(EndpointError, match="MODEL_KEY"):
        find_key(endpoint)
    monkeypatch.setenv("MODEL_KEY", " sk-secret \n")
    assert find_key(endpoint) == "sk-secret"
    assert "sk-secret" not in str(Endpoint.objects.values().get())


def test_price_is_exact_to_eight_places() -> None:
    endpoint = Endpoint(price_in=Decimal("0.15"), price_out=Decimal("0.6"))
    # 1000 x 0.15 / 1e6 + 500 x 0.6 / 1e6 = 0.00015 + 0.0003
    assert price(endpoint, 1000, 500) == Decimal("0.00045")
    assert price(endpoint, 1000, 500, Decimal("0.5")) == Decimal("0.000225")


@pytest.mark.parametrize(
    ("text", "counted", "usd"),
    [("Assam tea.", 5, "5.2"), ("Assam tea.", 0, "3.2"), ("Assam tea.", None, "3.2"), ("", 0, "0.2")],
)
def test_tokens_that_a_provider_counts_as_none_have_their_price(text: str, counted: int | None, usd: str) -> None:
    """Ten characters are three tokens; the prompt, which the provider counts as none, has 200,000 by our count."""
    endpoint = Endpoint(price_in=Decimal(1), price_out=Decimal(1_000_000))
    assert cost_of(endpoint, Reply(text, prompt_tokens=0, completion_tokens=counted), 200_000) == Decimal(usd)


def test_command_makes_an_endpoint(capsys: pytest.CaptureFixture) -> None:
    options = ["--base-url", "http://127.0.0.1:8080/v1", "--rpm", "600", "--price-in", "0.15"]
    call_command("add_endpoint", "cheap", "--model", "m", "--extra", '{"top_p": 0.9}', "--json", *options)
    assert json.loads(capsys.readouterr().out) == {"endpoint": "cheap", "model": "m"}
    endpoint = Endpoint.objects.get()
    assert (endpoint.requests_per_minute, endpoint.price_in) == (600, Decimal("0.15"))
    assert endpoint.extra == {"top_p": 0.9}


@pytest.mark.parametrize("options", [["--extra", "[]"], ["--price-in", "cheap"], ["--base-url", "nowhere"]])
def test_command_refuses_bad_input_in_one_line(options: list[str]) -> None:
    with pytest.raises(CommandError) as failed:
        call_command("add_endpoint", "wrong", "--model", "m", *options)
    assert "\n" not in str(failed.value)
    assert not Endpoint.objects.exists()


def test_endpoints_that_made_the_vectors_are_recognised_as_such() -> None:
    module = import_module("analysis.migrations.0014_runs_and_personas_in_the_console")
    names = {"vectors": "small", "openai": "text-embedding-3-small", "answers": "gpt", "asked": "embedding-talker"}
    made = {name: Endpoint.objects.create(name=name, model=model, provider="fake") for name, model in names.items()}
    make_run(endpoint=made["asked"])
    ConversationVector.objects.create(
        conversation=make_conversation(make_corpus()), model="vectors/small", vector=[0.0] * 384
    )
    module.mark_embeddings(apps, None)
    assert set(Endpoint.objects.filter(embeddings=True).values_list("name", flat=True)) == {"vectors", "openai"}
