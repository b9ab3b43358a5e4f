"""A lane sends what is pending, keeps what comes back and leaves the rest to the next one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis.endpoints.providers.calls import CallFailed, Reply
from analysis.endpoints.providers.scripted import FAULTS, FakeProvider
from analysis.models import Completion, Endpoint, Run
from analysis.runs.lanes import runs
from analysis.runs.lanes.calls import CallBook, CallOutcome, LeasedCall, expire_leases, open_database
from analysis.runs.lanes.lanes import Bounds, run_lane
from analysis.runs.recipes.messages import estimate_prompt_tokens, hash_messages
from tests.analysis.runs.servers import make_fake, make_planned, make_server_endpoint, serving, work_off
from tests.factories import make_study
from tests.surveys.participation.threads import beside

pytestmark = pytest.mark.django_db(transaction=True)


def with_book(run: Run, act: Callable[[CallBook], Awaitable[Any]], lane: str = "one", seconds: int = 60) -> Any:
    """Let `act` use a lane's own book of the run's calls, and return its result."""

    async def open_and_act() -> Any:
        async with await open_database() as database:
            return await act(CallBook(database, run.pk, lane, seconds))

    return asyncio.run(open_and_act())


def test_every_call_is_answered_and_described() -> None:
    run = work_off(make_planned(make_study(), make_fake(), repeats=20))
    assert run.state == "done" and run.ended_at
    call = run.completions.first()
    assert run.completions.filter(status="done").count() == 40
    assert (call.attempts, call.lost_answers, call.model_served, call.lane) == (1, 0, "scripted", "")
    assert call.messages_sha256 == hash_messages([{"role": "user", "content": call.prompt.text}])
    assert call.done_at and call.latency_ms is not None and call.prompt_tokens and not call.error


def test_repeats_are_different_draws() -> None:
    run = work_off(make_planned(make_study(), make_fake(), repeats=30))
    first = run.completions.filter(prompt=run.completions.first().prompt)
    assert len(set(first.values_list("reply", flat=True))) > 3


def test_refused_call_fails_with_its_reason_and_the_others_go_on() -> None:
    run = work_off(make_planned(make_study(), make_fake(extra={"faults": {"refused": 0.2}}), repeats=50))
    now = runs.progress(run)
    assert now["state"] == "done" and now["done"] + now["failed"] == 100 and 5 < now["failed"] < 40
    assert [row["kind"] for row in runs.failures(run)] == ["refused"]
    assert set(run.completions.filter(status="failed").values_list("attempts", flat=True)) == {1}


def test_authentication_error_stops_the_run_with_one_line_and_what_was_marked_is_not_sent() -> None:
    endpoint = make_fake(concurrency=4, extra={"faults": {"authentication": 1}})
    run = work_off(make_planned(make_study(), endpoint, repeats=50))
    assert run.state == "stopped" and run.reason == "401: The script says so."
    assert set(run.completions.values_list("status", "reserved")) == {("pending", 0)}
    assert sum(run.completions.values_list("attempts", flat=True)) <= 4  # what was in flight


def test_call_that_always_fails_is_given_up_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.runs.lanes.lanes.LONGEST_BACKOFF", 0.01)
    run = work_off(make_planned(make_study(), make_fake(extra={"faults": {"timeout": 1}}), repeats=2))
    assert run.state == "done"
    assert set(run.completions.values_list("status", "attempts", "lost_answers")) == {("failed", 8, 8)}
    assert runs.progress(run)["maybe_paid"]["attempts"] == 4 * 8


def test_retry_failed_answers_them(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = make_fake(extra={"faults": {"refused": 1}})
    run = work_off(make_planned(make_study(), endpoint, repeats=2))
    endpoint.extra = {}
    endpoint.save()
    assert runs.retry_failed(run) == 4
    assert work_off(run).completions.filter(status="done", error="").count() == 4


@pytest.mark.parametrize(("fault", "lost"), [("rate-limit", 8), ("server", 8), ("timeout", 15)])
def test_call_whose_answers_were_lost_has_eight_faults_again_when_it_is_retried(
    monkeypatch: pytest.MonkeyPatch, fault: str, lost: int
) -> None:
    faults = [FAULTS[fault]() for _ in range(7)]
    complete = FakeProvider.complete

    async def fail_first(provider: FakeProvider, body: bytes, key: str) -> Reply:
        if faults:
            raise faults.pop()
        return await complete(provider, body, key)

    monkeypatch.setattr("analysis.runs.lanes.lanes.LONGEST_BACKOFF", 0.01)
    monkeypatch.setattr(FakeProvider, "complete", fail_first)
    run = make_planned(make_study(), make_fake(concurrency=1), repeats=1, prompts=("teas",))
    run.completions.update(status="failed", attempts=8, lost_answers=8, done_at=timezone.now())
    runs.retry_failed(run)
    assert set(work_off(run).completions.values_list("status", "lost_answers")) == {("done", lost)}


def test_lane_ends_after_its_time_and_the_next_goes_on() -> None:
    run = runs.start(make_planned(make_study(), make_fake(concurrency=2, extra={"latency_ms": 50}), repeats=100))
    began = time.monotonic()
    answered = run_lane(run.pk, Bounds(seconds=0.5))
    assert time.monotonic() - began < 3 and 2 < answered < 60
    left = run.completions.exclude(status="done")
    assert set(left.values_list("status", "lane", "lost_answers", "attempts")) == {("pending", "", 0, 0)}
    assert run_lane(run.pk, Bounds(seconds=0.5)) > 2


def test_paused_run_finishes_what_is_in_flight_and_sends_no_more() -> None:
    run = runs.start(make_planned(make_study(), make_fake(concurrency=4, extra={"latency_ms": 100}), repeats=200))
    with ThreadPoolExecutor() as pool:
        lane = beside(lambda: run_lane(run.pk), pool)
        time.sleep(1.0)
        runs.pause(run)
        lane.result(10)
    statuses = set(run.completions.values_list("status", flat=True))
    assert statuses == {"done", "pending"}
    assert not run.completions.filter(lost_answers__gt=0).exists()
    runs.cancel(run)
    assert run_lane(run.pk) == 0


def test_lane_stops_when_its_worker_does() -> None:
    run = runs.start(make_planned(make_study(), make_fake(concurrency=2, extra={"latency_ms": 50}), repeats=200))
    began = time.monotonic()
    run_lane(run.pk, should_stop=lambda: time.monotonic() - began > 0.5)
    assert time.monotonic() - began < 4
    assert not run.completions.filter(status="leased").exists()


def test_dead_lane_s_rows_come_back_and_only_the_sent_ones_count_as_lost() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=2))
    sent, unsent, alive, _ = run.completions.order_by("position")
    held = {"status": "leased", "lane": "dead", "lease_until": timezone.now() - timedelta(seconds=1)}
    Completion.objects.filter(pk=sent.pk).update(**held, sent_at=timezone.now(), reserved="0.5")
    Completion.objects.filter(pk=unsent.pk).update(**held)
    later = timezone.now() + timedelta(minutes=1)
    Completion.objects.filter(pk=alive.pk).update(**held | {"lease_until": later})
    Run.objects.filter(pk=run.pk).update(reserved="0.5")
    assert expire_leases(run.pk) == 2
    seen = run.completions.order_by("position").values_list("status", "attempts", "lost_answers")
    assert list(seen) == [("pending", 1, 1), ("pending", 0, 0), ("leased", 0, 0), ("pending", 0, 0)]
    run.refresh_from_db()
    assert run.reserved == 0


def test_call_whose_answer_was_lost_eight_times_is_not_sent_again_unless_it_is_retried() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=2))
    now = timezone.now()
    for (lost, at), call in zip(
        [(6, now), (7, now), (8, now), (8, None)], run.completions.order_by("position"), strict=True
    ):
        sent = {"status": "leased", "lane": "dead", "sent_at": at, "attempts": lost, "lost_answers": lost}
        long_ago = timezone.now() - timedelta(seconds=1)
        Completion.objects.filter(pk=call.pk).update(**sent, lease_until=long_ago)
    assert expire_leases(run.pk) == 4
    seen = run.completions.order_by("position").values_list("status", "lost_answers", "error_kind")
    assert list(seen) == [("pending", 7, "lost"), ("failed", 8, "lost"), ("pending", 9, "lost"), ("pending", 8, "")]


def test_rows_that_one_lane_is_leasing_are_passed_by_another() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=2))

    async def lease_both() -> list[LeasedCall]:
        async with await open_database() as one, await open_database() as other:
            async with one.transaction():
                first = await CallBook(one, run.pk, "one", 60).lease(2)
                second = asyncio.create_task(CallBook(other, run.pk, "other", 60).lease(4))
                await asyncio.sleep(0.3)
            return first + await second

    leased = [call.id for call in asyncio.run(lease_both())]
    assert sorted(leased) == sorted(run.completions.values_list("pk", flat=True))


def test_lane_renews_its_leases_while_it_reserves_some_and_waits_for_nobody() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=2))

    async def reserve_and_renew() -> int:
        async with await open_database() as one, await open_database() as other:
            reserving, renewing = CallBook(one, run.pk, "one", 60), CallBook(other, run.pk, "one", 600)
            first, *_ = await reserving.lease(4)
            async with one.transaction():
                assert await reserving.reserve({first.id: Decimal(1)}) == {first.id}
                await asyncio.wait_for(renewing.renew(), 20)  # would last for ever if it waited for the row
            return first.id

    reserved = asyncio.run(reserve_and_renew())
    soon = timezone.now() + timedelta(seconds=300)
    renewed = set(run.completions.filter(lease_until__gt=soon).values_list("pk", flat=True))
    assert renewed == set(run.completions.values_list("pk", flat=True)) - {reserved}


def test_reserving_a_call_renews_its_lease() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=1))
    first, *_ = with_book(run, lambda book: book.lease(1))
    with_book(run, lambda book: book.reserve({first.id: Decimal(1)}), seconds=600)
    assert Completion.objects.get(pk=first.id).lease_until > timezone.now() + timedelta(seconds=300)


def test_budget_of_a_cancelled_run_stays_as_it_was() -> None:
    run = runs.cancel(make_planned(make_study(), make_fake(), budget=Decimal(2)))
    with pytest.raises(runs.RunError, match="is cancelled, so it can't be resumed"):
        runs.resume(run, Decimal(5))
    run.refresh_from_db()
    assert run.budget == 2


def test_paused_run_leases_nothing() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=2))
    runs.pause(run)
    assert with_book(run, lambda book: book.lease(4)) == []


def test_calls_are_marked_as_sent_for_all_who_wait_and_half_as_many_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, ahead, answered = [], [], []
    reserve, complete = CallBook.reserve, FakeProvider.complete

    async def note(book: CallBook, amounts: dict[int, Decimal]) -> set[int] | None:
        ahead.append(sum(sizes) + len(amounts) - len(answered))
        sizes.append(len(amounts))
        return await reserve(book, amounts)

    async def count(provider: FakeProvider, body: bytes, key: str) -> Reply:
        reply = await complete(provider, body, key)
        answered.append(key)
        return reply

    monkeypatch.setattr(CallBook, "reserve", note)
    monkeypatch.setattr(FakeProvider, "complete", count)
    work_off(make_planned(make_study(), make_fake(concurrency=16, extra={"latency_ms": 20}), repeats=100))
    assert sizes[0] == 16 + 8 == max(ahead) and sum(sizes) == 200
    assert len(sizes) <= 1 + (200 - 24) / 4


def test_lane_that_lost_its_lease_stores_nothing() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=1))
    call = run.completions.order_by("position").first()
    Completion.objects.filter(pk=call.pk).update(status="leased", lane="new", lease_until=timezone.now())
    outcome = CallOutcome(call.pk, "done", 1, 0, reply="Late", cost=Decimal(1))
    assert with_book(run, lambda book: book.settle([outcome]), "old") == (0, "running")
    call.refresh_from_db()
    run.refresh_from_db()
    assert (call.status, call.lane, call.reply, run.spent) == ("leased", "new", "", 0)


def test_whole_reply_that_cannot_be_used_is_asked_for_under_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []
    complete = FakeProvider.complete

    async def spoil_the_first(provider: FakeProvider, body: bytes, key: str) -> Reply:
        keys.append(key)
        if len(keys) == 1:
            raise CallFailed("bad-reply", "Half an answer.", maybe_paid=True)
        return await complete(provider, body, key)

    monkeypatch.setattr("analysis.runs.lanes.lanes.LONGEST_BACKOFF", 0.01)
    monkeypatch.setattr(FakeProvider, "complete", spoil_the_first)
    run = work_off(make_planned(make_study(), make_fake(concurrency=1), repeats=1))
    assert run.completions.filter(status="done").count() == 2
    assert len(set(keys)) == len(keys) == 3 and keys[1] == f"{keys[0]}-1"


@pytest.mark.parametrize("kind", ["rate-limit", "server"])
def test_refusal_that_asks_for_no_wait_is_not_answered_at_once(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    async def refuse(provider: FakeProvider, body: bytes, key: str) -> Reply:
        raise CallFailed(kind, "Come back.", retry_after=0.0)

    monkeypatch.setattr(FakeProvider, "complete", refuse)
    run = runs.start(make_planned(make_study(), make_fake(concurrency=1), repeats=1))
    run_lane(run.pk, Bounds(seconds=0.2))
    assert max(run.completions.values_list("attempts", flat=True)) < 8


def test_run_that_mixes_two_served_models_says_so(capsys: pytest.CaptureFixture) -> None:
    make_study()
    with serving("--model", "m-old", "--model", "m-new") as server:
        make_server_endpoint(server)
        options = ["--endpoint", "served", "--condition", "offline", "--repeats", "5", "--inline", "--json"]
        call_command("run_baseline", "teas", *options)
    assert "mixes 2 served models" in capsys.readouterr().err
    assert {part["model"] for part in runs.progress(Run.objects.get())["served"]} == {"m-old", "m-new"}


@pytest.mark.parametrize(
    ("fault", "words", "planned"), [("html", "web page", False), ("no-choices", "no choices", True)]
)
def test_endpoint_that_is_none_is_one_line(fault: str, words: str, planned: bool) -> None:
    make_study()
    with serving("--fault", fault) as server:
        make_server_endpoint(server)
        options = ["--endpoint", "served", "--condition", "offline", "--repeats", "5", "--inline"]
        with pytest.raises(CommandError, match=words) as failed:
            call_command("run_baseline", "teas", *options)
    assert "\n" not in str(failed.value)
    assert Run.objects.exists() is planned
    assert not Completion.objects.exclude(status="pending").exists()


def test_call_whose_turn_comes_after_its_lane_s_end_is_sent_by_a_later_lane() -> None:
    """Each call has the tokens of some four seconds, and each lane works for one and a half."""
    run = make_planned(make_study(), make_fake(tokens_per_minute=1, concurrency=1), repeats=1)
    most = max(estimate_prompt_tokens(run, prompt) for prompt in run.version.prompts.all())
    Endpoint.objects.update(tokens_per_minute=12 * most)
    runs.start(run)
    assert sum(run_lane(run.pk, Bounds(seconds=1.5)) for _ in range(5)) == 2


def test_one_lane_obeys_the_rate_while_many_calls_are_in_flight() -> None:
    run = make_planned(make_study(), make_fake(requests_per_minute=1200, concurrency=16), repeats=30)
    began = time.monotonic()
    work_off(run)
    assert 60 / 20 * 0.9 < time.monotonic() - began < 60 / 20 * 1.6
