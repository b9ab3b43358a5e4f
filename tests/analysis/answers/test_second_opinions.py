"""A model's second opinion stands beside the answer, keeps within its budget and changes nothing."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from analysis.answers import readings
from analysis.answers.readings import give_opinions
from analysis.endpoints.providers.calls import CallFailed, Reply
from analysis.endpoints.providers.scripted import FakeProvider
from analysis.models import Answer, SecondOpinion
from surveys.models import Study
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.factories import make_participant, make_response, make_study
from tests.lasting import copied_world

pytestmark = pytest.mark.django_db(transaction=True)


@copied_world
def study() -> Study:
    study = make_study(places=20)
    for prompt, text in (("water", "Either A or B."), ("teas", "Hm."), ("water", "B")):
        make_response(make_participant(study), prompt, text=text, keep=True)
    readings.read_new(study)
    return study


def reader(reply: str, **changes: object) -> None:
    make_endpoint(name="reader", extra={"reply": reply, **changes}, price_in=1, price_out=1)


def opinions() -> list[tuple[str, list[str]]]:
    return list(SecondOpinion.objects.order_by("answer").values_list("letter", "items"))


def test_only_texts_in_doubt_are_read_and_no_answer_changes(study: Study) -> None:
    reader('{"choice": "B"}')
    before = list(Answer.objects.order_by("pk").values())
    given = give_opinions(study, "reader")
    assert (given.replies, given.failed, given.usd > 0) == (2, 0, True)
    assert opinions()[0] == ("B", [])
    assert list(Answer.objects.order_by("pk").values()) == before


def test_items_are_read_from_the_reply(study: Study) -> None:
    reader('{"items": ["The Assam", "Sencha"]}')
    give_opinions(study, "reader")
    assert ("", ["assam", "sencha"]) in opinions()


def test_nothing_is_asked_twice(study: Study) -> None:
    reader('{"choice": "B"}')
    assert (give_opinions(study, "reader").replies, give_opinions(study, "reader").replies) == (2, 0)


def test_the_limit_holds(study: Study) -> None:
    reader("A")
    assert give_opinions(study, "reader", limit=1).replies == 1


@pytest.mark.parametrize(("budget", "replies"), [("0", 0), ("0.000001", 0), ("0.0025", 1), ("1", 2)])
def test_the_budget_stops_before_it_is_exceeded(
    study: Study, monkeypatch: pytest.MonkeyPatch, budget: str, replies: int
) -> None:
    # A reply's token costs 0.001 dollars; each reply has one and may have two; the texts are free.
    make_endpoint(name="reader", extra={"reply": "A B"}, price_in=0, price_out=1000, max_tokens=2)
    monkeypatch.setattr(readings, "ASKED_AT_ONCE", 1)
    given = give_opinions(study, "reader", budget=Decimal(budget))
    assert (given.replies, "could exceed the budget" in given.stopped) == (replies, replies < 2)
    assert given.usd <= Decimal(budget)


def test_reply_whose_tokens_the_provider_does_not_count_has_its_price(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = FakeProvider.complete

    async def count_nothing(provider: FakeProvider, body: bytes, key: str) -> Reply:
        reply = await complete(provider, body, key)
        return replace(reply, prompt_tokens=None, completion_tokens=None)

    monkeypatch.setattr(FakeProvider, "complete", count_nothing)
    make_endpoint(name="reader", extra={"reply": "A B"}, price_in=0, price_out=1000, max_tokens=2)
    assert give_opinions(study, "reader").usd == Decimal("0.002")  # a token for each of two replies


def test_an_authentication_error_stops_with_its_reason(study: Study) -> None:
    reader("A", faults={"authentication": 1.0})
    given = give_opinions(study, "reader")
    assert (given.replies, given.stopped) == (0, "401: The script says so.")


def test_a_provider_that_asks_to_wait_for_hours_stops_it(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(provider: FakeProvider, body: bytes, key: str) -> Reply:
        raise CallFailed("rate-limit", "429: Slow down.", retry_after=7200)

    monkeypatch.setattr(FakeProvider, "complete", refuse)
    reader("A")
    given = give_opinions(study, "reader")
    assert (given.replies, given.stopped) == (0, "The provider asks to wait 120 minutes: 429: Slow down.")


def test_what_is_refused_is_counted_and_the_rest_goes_on(study: Study) -> None:
    reader("A", faults={"refused": 1.0})
    given = give_opinions(study, "reader")
    assert (given.replies, given.failed, given.stopped) == (0, 2, "")


def test_command_says_why_calls_failed(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    reader("A", faults={"refused": 1.0})
    with pytest.raises(CommandError, match="No call was answered"):
        call_command("second_opinions", "teas", endpoint="reader")
    assert "0 texts read, 2 calls failed, $0.00\n  last failure: 400: The script says so." in capsys.readouterr().out


def test_the_request_holds_the_text_and_the_options(study: Study) -> None:
    (ask,) = readings.write_asks([Answer.objects.order_by("pk").first().pk])
    content = ask.messages[0]["content"]
    assert content.endswith("The answer:\nEither A or B.")
    assert "Options:\nA. " in content


def test_command_prints_json(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    reader("A")
    call_command("second_opinions", "teas", endpoint="reader", json=True)
    assert json.loads(capsys.readouterr().out)["replies"] == 2


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("no study", {"study": "coffees"}),
        ("no endpoint|endpoint", {"endpoint": "none"}),
        ("--budget must be", {"budget": "much"}),
        ("--limit must be", {"limit": 0}),
    ],
)
def test_command_says_what_is_wrong(study: Study, words: str, given: dict) -> None:
    reader("A")
    options = {"study": "teas", "endpoint": "reader"} | given
    with pytest.raises(CommandError, match=words):
        call_command("second_opinions", options.pop("study"), **options)
