"""The batch API fills the same rows, each once, in whatever order and whichever part comes back."""

import json
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx2
import openai
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analysis.endpoints.providers.calls import Reply
from analysis.endpoints.providers.openai import read_reply
from analysis.models import Run
from analysis.people.erasing import erase_user
from analysis.runs.lanes import batches, runs
from analysis.runs.recipes.plans import Plan, plan_run
from analysis.runs.tasks import work_batches
from tests.analysis.runs.baseline_factories import make_corpus, use_letters
from tests.analysis.runs.recipe_samples import remember
from tests.analysis.runs.servers import Server, make_fake, make_planned, make_server_endpoint, serving
from tests.factories import make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


def make_batched(server: Server, repeats: int = 10, **changes: object) -> Run:
    return runs.start(make_planned(make_study(), make_server_endpoint(server, **changes), repeats, batch=True))


def work_until_done(run: Run, seconds: float = 20) -> Run:
    deadline = time.monotonic() + seconds
    while run.state == "running" and time.monotonic() < deadline:
        batches.work(run.pk)
        run.refresh_from_db()
        time.sleep(0.1)
    return run


async def nothing_yet(client: batches.BatchClient) -> int:
    return 0


def test_rows_are_filled_from_the_batch_at_half_the_price() -> None:
    with serving("--batch-seconds", "2") as server:
        run = make_batched(server, price_in=Decimal(2), price_out=Decimal(4))
        assert batches.work(run.pk) == 0
        assert set(run.completions.values_list("status", flat=True)) == {"leased"}
        run = work_until_done(run)
        assert run.state == "done" and run.reserved == 0
        assert {request["path"] for request in server.requests()} == {"/batches"}
        assert set(server.answers().values()) == {1} and len(server.answers()) == 20
    call = run.completions.first()
    # half of (in x 2 + out x 4) dollars a million
    assert call.cost == Decimal(call.prompt_tokens + 2 * call.completion_tokens) / 1_000_000
    assert call.reply and call.model_served == "fake-1" and call.messages_sha256


def test_answer_whose_tokens_the_provider_does_not_count_has_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_nothing(*given: Any) -> Reply:
        return replace(read_reply(*given), prompt_tokens=None, completion_tokens=None)

    monkeypatch.setattr(batches, "read_reply", count_nothing)
    with serving("--batch-seconds", "0") as server:
        run = work_until_done(make_batched(server, repeats=1, price_out=Decimal(1000)))
    assert run.spent > 0 and all(call.cost >= Decimal(len(call.reply) // 4) / 2000 for call in run.completions.all())


@pytest.mark.parametrize(
    "response", ["none", [200], {"status_code": "200"}, {"status_code": 200, "body": "none"}, None]
)
def test_odd_line_of_a_batch_is_a_fault_of_its_call(monkeypatch: pytest.MonkeyPatch, response: object) -> None:
    document_of = batches.document_of
    monkeypatch.setattr(batches, "document_of", lambda line: document_of(line) | {"response": response})
    with serving("--batch-seconds", "0") as server:
        run = make_batched(server, repeats=1)
        assert batches.work(run.pk) == 2
    assert set(run.completions.values_list("status", "attempts")) == {("pending", 1)}


def test_one_run_s_trouble_with_its_batches_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("--batch-seconds", "0") as server:
        run = make_batched(server, repeats=1)
        make_planned(run.study, run.endpoint, 1, batch=True, temperature=0.5)
        other = runs.start(Run.objects.exclude(pk=run.pk).get())
        work = batches.work

        def fail_for_one(run_id: int) -> int:
            if run_id == other.pk:
                raise ValueError("trouble")
            return work(run_id)

        monkeypatch.setattr(batches, "work", fail_for_one)
        assert work_batches() == 2
    assert set(run.completions.values_list("status", flat=True)) == {"done"}


def test_part_that_failed_is_sent_again_or_failed_by_its_reason() -> None:
    with serving("--fault", "500=0.2", "--fault", "400=0.1", "--batch-seconds", "0") as server:
        run = work_until_done(make_batched(server, repeats=30))
    statuses = list(run.completions.values_list("status", "error_kind"))
    assert run.state == "done" and len(run.batch_ids) > 1
    assert set(statuses) == {("done", ""), ("failed", "refused")} and statuses.count(("done", "")) > 30


def test_what_never_comes_whole_fails_after_eight_batches() -> None:
    with serving("--fault", "no-choices=1", "--batch-seconds", "0") as server:
        run = work_until_done(make_batched(server, repeats=1), seconds=60)
    assert run.state == "done" and len(run.batch_ids) == 8
    assert set(run.completions.values_list("status", "error_kind", "lost_answers")) == {("failed", "no-choices", 8)}


def test_retried_call_has_eight_batches_again() -> None:
    with serving("--fault", "500=1", "--batch-seconds", "0") as server:
        run = make_planned(make_study(), make_server_endpoint(server), 1, batch=True)
        run.completions.update(status="failed", attempts=8)
        runs.retry_failed(run)
        batches.work(runs.start(run).pk)
    assert set(run.completions.values_list("status", "attempts")) == {("pending", 9)}


def test_batch_whose_number_was_not_noted_before_a_crash_is_found_and_not_paid_twice() -> None:
    with serving("--batch-seconds", "1") as server:
        run = make_batched(server, repeats=3)
        batches.work(run.pk)
        name = run.completions.first().lane
        batches.note_batch(run.pk, name, {"batch": "", "state": ""})  # as if this process had died while creating it
        run = work_until_done(run)
        assert run.state == "done" and set(server.answers().values()) == {1} and len(server.answers()) == 6
        assert [entry["state"] for entry in run.batch_ids] == ["completed"]


def test_two_processes_do_not_work_on_one_run_s_batches() -> None:
    with serving("--batch-seconds", "0") as server, connection.cursor() as cursor:
        run = make_batched(server, repeats=3)
        cursor.execute("SELECT pg_advisory_lock(hashtext('batches'), %s)", [run.pk])
        assert batches.work(run.pk) == 0 and not run.completions.exclude(status="pending").exists()
        cursor.execute("SELECT pg_advisory_unlock(hashtext('batches'), %s)", [run.pk])
        assert work_until_done(run).state == "done"


def test_batch_that_never_reached_the_provider_gives_its_rows_back() -> None:
    with serving("--batch-seconds", "0") as server:
        run = make_batched(server, repeats=3)
        run.batch_ids = [{"name": "batch-gone", "batch": "", "calls": 0}]
        run.save()
        run.completions.update(status="leased", lane="batch-gone", lease_until="2100-01-01T00:00Z")
        batches.work(run.pk)
        assert set(run.completions.values_list("status", flat=True)) == {"pending"}
        assert work_until_done(run).state == "done"


def test_budget_holds_for_batches_too() -> None:
    with serving("--batch-seconds", "0") as server:
        run = make_batched(server, repeats=10, price_out=Decimal(1000))  # at most $0.10 a call at half price
        Run.objects.filter(pk=run.pk).update(budget=Decimal("0.55"))
        run = work_until_done(run)
    assert run.state == "stopped" and "budget" in run.reason
    assert 0 < run.spent <= Decimal("0.55") and run.reserved == 0


def test_answers_that_were_there_before_the_cancel_are_read_back_once_and_paid() -> None:
    with serving("--batch-seconds", "60", "--answered-before-cancel", "3") as server:
        run = make_batched(server, repeats=4, price_out=Decimal(1000))
        batches.work(run.pk)
        runs.cancel(run)
        batches.cancel_batches(run.pk)
        assert work_batches() == 3
        assert work_batches() == 0 and set(server.answers().values()) == {1}
    run.refresh_from_db()
    answered = run.completions.filter(status="done")
    assert (run.state, run.reserved, answered.count()) == ("cancelled", 0, 3)
    assert all(call.reply for call in answered) and run.spent == sum(call.cost for call in answered) > 0
    assert set(run.completions.exclude(status="done").values_list("status", "lane")) == {("pending", "")}


def test_answers_of_a_batch_that_ends_as_soon_as_it_is_cancelled_are_read_back() -> None:
    with serving("--batch-seconds", "60", "--answered-before-cancel", "3") as server:
        run = make_batched(server, repeats=4)
        batches.work(run.pk)
        runs.cancel(run)
        assert work_batches() == 3
    run.refresh_from_db()
    assert run.reserved == 0 and not run.completions.filter(status="leased").exists()


def test_cancel_that_the_provider_did_not_hear_is_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("--batch-seconds", "60", "--answered-before-cancel", "2") as server:
        run = make_batched(server, repeats=4)
        batches.work(run.pk)
        runs.cancel(run)
        call_command("run", str(run.pk), "cancel", "--json")
        assert json.loads(capsys.readouterr().out)["done"] == 2
    with pytest.raises(CommandError, match="is cancelled, so it can't be cancelled"):
        call_command("run", str(run.pk), "cancel")


def test_cancel_of_a_batch_that_has_ended_meanwhile_reads_its_answers_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def conflict(*given: object, **more: object) -> None:
        asked = httpx2.Request("POST", "http://provider/batches")
        raise openai.ConflictError("ended", response=httpx2.Response(409, request=asked), body=None)

    with serving("--batch-seconds", "0") as server:
        run = make_batched(server, repeats=2)
        with monkeypatch.context() as patch:
            patch.setattr(batches.BatchClient, "collect", nothing_yet)
            batches.work(run.pk)
        monkeypatch.setattr(openai.resources.batches.AsyncBatches, "cancel", conflict)
        call_command("run", str(run.pk), "cancel")
    assert run.completions.filter(status="done").count() == 4


def test_paused_run_keeps_what_its_batch_answers_and_submits_no_other() -> None:
    with serving("--batch-seconds", "2") as server:
        run = make_batched(server, repeats=4)
        assert batches.work(run.pk) == 0
        more = make_planned(run.study, run.endpoint, 6, batch=True)
        assert more == runs.pause(run)
        time.sleep(2.1)
        assert work_batches() == 8
    assert sorted(run.completions.values_list("status", flat=True)) == ["done"] * 8 + ["pending"] * 4


def test_answers_about_a_user_erased_meanwhile_are_read_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    corpus = remember(make_corpus(), {"ann": ["Bakes dark bread.", "Plays vivid jazz."]})
    about = {"condition": "sp-memory", "version": make_study().current, "corpus": corpus, "memory_size": 2}
    with serving("--batch-seconds", "0") as server:
        run, _ = plan_run(Plan(endpoint=make_server_endpoint(server), batch=True, **about), 2, "tests")
        run = runs.start(run)
        with monkeypatch.context() as patch:
            patch.setattr(batches.BatchClient, "collect", nothing_yet)
            batches.work(run.pk)
        erase_user(corpus, "ann")
        run = work_until_done(run)
    assert (run.state, run.reserved, run.completions.filter(status="done").count()) == ("done", 0, 4)


def test_calls_of_others_are_sent_after_a_user_was_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    known = {name: ["Bakes dark bread.", f"Plays vivid jazz as {name}."] for name in ("ann", "ben")}
    corpus = remember(make_corpus(), known)
    about = {"condition": "sp-memory", "version": make_study().current, "corpus": corpus, "memory_size": 2, "users": 2}
    with serving("--batch-seconds", "0") as server:
        run, _ = plan_run(Plan(endpoint=make_server_endpoint(server), batch=True, **about), 2, "tests")
        erase_user(corpus, "ann")
        run = work_until_done(runs.start(run))
        assert (run.state, run.reserved, len(server.answers())) == ("done", 0, 4)
        erase_user(corpus, "ben")
        runs.retry_failed(run)
        run = work_until_done(runs.start(run))
        assert (run.state, len(server.answers()), run.completions.filter(status="failed").count()) == ("done", 4, 4)


def test_passing_fault_while_a_batch_is_looked_after_does_not_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = httpx2.Request("GET", "http://provider/batches")
    down = openai.InternalServerError("down", response=httpx2.Response(503, request=asked), body=None)
    refused = openai.AuthenticationError("no key", response=httpx2.Response(401, request=asked), body=None)

    def work_with(method: str, fault: Exception) -> str:
        def fail(*given: object) -> None:
            raise fault

        with monkeypatch.context() as patch:
            patch.setattr(batches.BatchClient, method, fail)
            assert batches.work(run.pk) == 0
        return Run.objects.get(pk=run.pk).state

    with serving("--batch-seconds", "0") as server:
        run = make_batched(server, repeats=2)
        assert {work_with("find", fault) for fault in (down, openai.APITimeoutError(asked))} == {"running"}
        assert work_with("lines_of", httpx2.ReadError("half a file")) == "running"
        assert work_with("find", refused) == "stopped"
        run = work_until_done(runs.resume(run))
        assert run.state == "done" and set(server.answers().values()) == {1}


def test_batch_that_the_provider_has_forgotten_ends_with_its_cancelled_run() -> None:
    with serving("--batch-seconds", "60") as server:
        run = make_batched(server, repeats=2)
        batches.work(run.pk)
        run.refresh_from_db()
        batches.note_batch(run.pk, run.batch_ids[0]["name"], {"batch": "batch_unknown"})
        runs.cancel(run)
        assert work_batches() == 0
    run.refresh_from_db()
    assert [entry["state"] for entry in run.batch_ids] == ["gone"]
    assert set(run.completions.values_list("status", flat=True)) == {"pending"}


def test_endpoint_without_a_batch_api_stops_the_run() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), 2, batch=True))
    batches.work(run.pk)
    run.refresh_from_db()
    assert run.state == "stopped" and "no batch API" in run.reason
