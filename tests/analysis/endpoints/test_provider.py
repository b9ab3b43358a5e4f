"""What an address returns becomes a reply, or a failure that says what to do about it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from openai import APIConnectionError

from analysis.endpoints.providers.calls import CallFailed, Reply, Settings, clean_reason
from analysis.endpoints.providers.openai import OpenAIProvider, read_error, read_reply, read_retry_after
from analysis.endpoints.providers.scripted import FakeProvider, scripted_reply
from tests.analysis.runs.servers import Server, serving

ASKED = [{"role": "user", "content": "Recommend five books for me."}]
SECRET = "sk-tests-0123456789abcdef"


async def complete(provider: OpenAIProvider) -> Reply:
    return await provider.complete(provider.encode(ASKED), "row-1")


def with_provider(address: str, act: Callable[[OpenAIProvider], Awaitable[Any]], **given: Any) -> Any:
    async def once() -> Any:
        provider = OpenAIProvider(Settings(address, "fake-1", **given))
        try:
            return await act(provider)
        finally:
            await provider.close()

    return asyncio.run(once())


def ask(address: str, timeout: float = 5, key: str = "") -> Reply:
    return with_provider(address, complete, timeout=timeout, key=key)


@pytest.fixture(scope="module")
def healthy() -> Iterator[Server]:
    with serving("--model", "served-model") as server:
        yield server


def test_reply_names_what_was_served_and_counts_tokens(healthy: Server) -> None:
    reply = ask(healthy.address)
    assert reply.text.startswith("1. ")
    assert (reply.model, reply.fingerprint, reply.finish_reason) == ("served-model", "fp_served-model", "stop")
    assert reply.prompt_tokens and reply.completion_tokens and reply.cached_tokens == 0


def test_idempotency_key_reaches_the_server(healthy: Server) -> None:
    ask(healthy.address)
    assert healthy.requests()[-1]["key"] == "row-1"


@pytest.mark.parametrize(
    ("fault", "kind", "maybe_paid"),
    [
        ("429", "rate-limit", False),
        ("500", "server", False),
        ("401", "authentication", False),
        ("400", "refused", False),
        ("hang", "timeout", True),
        ("truncated", "connection", True),
        ("malformed", "bad-reply", True),
        ("html", "not-an-api", False),
        ("no-choices", "no-choices", True),
    ],
)
def test_each_fault_is_told_apart(fault: str, kind: str, maybe_paid: bool) -> None:
    with serving("--fault", fault, "--retry-after", "1.5") as server, pytest.raises(CallFailed) as failed:
        ask(server.address, timeout=0.5)
    assert (failed.value.kind, failed.value.maybe_paid) == (kind, maybe_paid)
    assert failed.value.retry_after == (1.5 if fault == "429" else None)


@pytest.mark.parametrize("status", [200, 400])
def test_answer_nested_too_deeply_is_a_failed_call(status: int) -> None:
    with pytest.raises(CallFailed) as failed:
        OpenAIProvider(Settings("http://x/v1", "fake-1")).read_document(status, {}, b"[" * 100_000)
    assert failed.value.kind == ("bad-reply" if status == 200 else "refused")


WAYS: dict[str, Callable[[OpenAIProvider], Awaitable[Any]]] = {
    "complete": complete,
    "batches": lambda provider: provider.client.batches.list(),
}


@pytest.mark.parametrize("public_only", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_name_that_leads_inside_is_not_called(healthy: Server, public_only: bool, way: str) -> None:
    """What counts is where the connection goes, not where the name led when it was checked."""
    address = healthy.address.replace("127.0.0.1", "localhost")
    before, given = len(healthy.requests()), {"timeout": 5, "public_only": public_only}
    if public_only:
        with pytest.raises((CallFailed, APIConnectionError)) as failed:
            with_provider(address, WAYS[way], **given)
        assert way == "batches" or "leads to a private, loopback or metadata address" in str(failed.value)
    else:
        with_provider(address, WAYS[way], **given)
    assert (len(healthy.requests()) == before) == (public_only or way == "batches")


def test_nobody_listening_is_not_paid() -> None:
    with pytest.raises(CallFailed) as failed:
        ask("http://127.0.0.1:9/v1")
    assert (failed.value.kind, failed.value.maybe_paid) == ("connection", False)


def test_key_that_the_server_repeats_is_not_in_the_reason() -> None:
    with serving("--key", "another-key") as server, pytest.raises(CallFailed) as failed:
        ask(server.address, key=SECRET)
    assert SECRET not in str(failed.value) and "[key]" in failed.value.reason
    assert SECRET not in repr(Settings("http://x", "m", key=SECRET))


def test_reason_why_there_are_no_choices_can_be_stored_and_holds_no_key() -> None:
    with pytest.raises(CallFailed) as failed:
        read_reply({"error": f"\0No credit on \ud800 {SECRET}"}, {}, SECRET)
    assert failed.value.reason == "The model returned no choices: No credit on ? [key]"


def test_reason_is_one_line_without_any_key() -> None:
    assert clean_reason("bad\nkey sk-aaaabbbbcccc,\tBearer abcdefgh", "") == "bad key sk-[key], Bearer [key]"


def test_same_messages_give_the_same_body_and_extra_fields_go_along() -> None:
    provider = OpenAIProvider(Settings("http://x/v1", "m", extra={"max_completion_tokens": 5, "seed": None}))
    body = provider.encode(ASKED)
    assert body == provider.encode(ASKED)
    assert b'"max_completion_tokens": 5' in body and b'"max_tokens"' not in body and b"seed" not in body


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_length_of_a_reply_that_an_endpoint_leaves_open_is_the_run_s(field: str) -> None:
    provider = OpenAIProvider(Settings("http://x/v1", "m", max_tokens=7, extra={field: None}))
    assert json.loads(provider.encode(ASKED))["max_tokens"] == 7


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_retry_after_in_each_form(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(402, "", "quota"), (429, "insufficient_quota", "quota"), (429, "", "rate-limit"), (404, "", "refused")],
)
def test_empty_account_is_told_from_a_refusal(status: int, code: str, kind: str) -> None:
    content = json.dumps({"error": {"message": "Insufficient Balance", "code": code}}).encode()
    assert OpenAIProvider(Settings("http://x/v1", "m")).read_failure(status, {}, content).kind == kind


def test_request_above_the_rate_of_a_minute_is_not_sent_again() -> None:
    said = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000."
    content = json.dumps({"error": {"message": said, "type": "tokens", "code": "rate_limit_exceeded"}}).encode()
    assert OpenAIProvider(Settings("http://x/v1", "m")).read_failure(429, {}, content).kind == "refused"


def test_error_wrapped_in_a_list() -> None:
    assert read_error(b'[{"error": {"message": "quota", "code": 429}}]') == ("quota", "429")


def test_refusal_is_a_text_and_null_signs_are_dropped() -> None:
    choice = {"message": {"content": None, "refusal": "I\0 can't."}, "finish_reason": "stop"}
    assert read_reply({"choices": [choice]}, {}).text == "I can't."


@pytest.mark.parametrize("usage", [None, [], "none", 5, {"prompt_tokens": -1, "prompt_tokens_details": "none"}])
def test_strange_count_of_tokens_does_not_cost_the_answer(usage: object) -> None:
    reply = read_reply({"choices": [{"message": {"content": "Assam"}}], "usage": usage}, {})
    assert (reply.text, reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens) == (
        "Assam",
        None,
        None,
        None,
    )


@pytest.mark.parametrize("document", [{"choices": []}, {}, [], {"choices": [{}]}, {"choices": ["x"]}])
def test_other_documents_are_failures(document: object) -> None:
    with pytest.raises(CallFailed):
        read_reply(document, {})


def test_scripted_reply_depends_on_draw_and_context() -> None:
    assert scripted_reply(ASKED, "1") == scripted_reply(ASKED, "1")
    offline = {scripted_reply(ASKED, str(draw)) for draw in range(200)}
    context = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}, *ASKED]
    assert len({scripted_reply(context, str(draw)) for draw in range(200)}) > len(offline) > 1


def test_scripted_choice_is_one_of_the_letters() -> None:
    asked = [{"role": "user", "content": "Which one?\nA. one\nB. two\nC. three"}]
    assert {scripted_reply(asked, str(draw)) for draw in range(60)} == {"A", "B", "C"}


def test_fake_provider_fails_as_its_script_says() -> None:
    provider = FakeProvider(Settings("", "m", extra={"faults": {"refused": 1}}))
    with pytest.raises(CallFailed, match="400"):
        asyncio.run(provider.complete(provider.encode(ASKED), "1"))


def reply_with(content: str, **usage: object) -> Reply:
    return read_reply({"choices": [{"message": {"content": content}}], "model": "m\ud800", "usage": usage}, {})


def test_text_that_the_database_refuses_is_mended() -> None:
    reply = reply_with("half \ud83d of a\0 smile \U0001f600")
    assert (reply.text, reply.model) == ("half ? of a smile \U0001f600", "m?")
    assert clean_reason("no \udc00 way", "") == "no ? way"


@pytest.mark.parametrize(
    ("given", "read"), [(7, 7), (7.0, 7), (None, None), ("7", None), (-1, None), (2**40, None), (float("nan"), None)]
)
def test_count_of_tokens_is_a_number_or_missing(given: object, read: int | None) -> None:
    assert reply_with("yes", prompt_tokens=given).prompt_tokens == read
