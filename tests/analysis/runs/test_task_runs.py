"""Tasks over a corpus: planned once, within a budget, rebuilt to the letter, sent and kept whatever happens."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from analysis.answers.readings import read_everywhere
from analysis.endpoints.endpoints import open_provider
from analysis.endpoints.limits import Limiter
from analysis.models import Answer, Attribute, Completion, Conversation, Run, Task
from analysis.people import erasing
from analysis.people.erasing import erase_user
from analysis.runs.asking.conversations import EXTRACT, generator_of
from analysis.runs.asking.plans import plan_conversations
from analysis.runs.asking.registry import longest_reply
from analysis.runs.asking.replies import count_replies
from analysis.runs.commands import format_tasks
from analysis.runs.lanes.calls import LeasedCall
from analysis.runs.lanes.lanes import Bounds, Lane
from analysis.runs.lanes.runs import RunError, cancel, make_schedule, retry_failed, run_inline, start
from analysis.runs.pages.reads import read_messages
from analysis.runs.recipes.messages import messages_for
from analysis.runs.recipes.questions import reply_format
from tests.analysis.people.people_samples import CHITCHAT, import_real, make_person, people, said, talk
from tests.analysis.runs.servers import Server, make_fake, make_server_endpoint, serving, wait_for_answers
from tests.analysis.runs.task_samples import corpus_of, extract
from tests.analysis.runs.test_exactly_once import key_of, start_worker, wait_for_leases
from tests.surveys.participation.threads import PATIENCE, beside, giving_way, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


# --- what is kept


def test_attributes_come_with_their_quotes_in_their_place() -> None:
    make_fake()
    corpus = corpus_of("Good day. I live in Leeds with my dog. Is it far?", "Maybe I like tea.")
    report = extract(corpus)
    assert (report["read"], report["unreadable"], report["failed"]) == (5, 0, 0)
    assert (report["attributes"], report["quotes"], report["unlocated"], report["low_confidence"]) == (2, 2, 0, 1)
    sure, unsure = Attribute.objects.order_by("id")
    assert sure.text == "The user says: I live in Leeds with my dog." and sure.left_out_by == ""
    (quote,) = sure.evidence
    content = sure.conversation.messages[quote["message"]]["content"]
    assert content[quote["start"] : quote["end"]] == quote["quote"] == "I live in Leeds with my dog."
    assert (unsure.confidence, unsure.left_out_by) == (0.3, "confidence")
    assert sure.generator == report["generator"] == "scripted extract-1 (simulated)"


def test_made_up_quotes_are_flagged() -> None:
    make_fake(extra={"made_up": True})
    report = extract(corpus_of("I live in Leeds."))
    assert report["unlocated"] == 4 and report["quotes"] == 5  # one in each of four conversations
    assert {row.unlocated for row in Attribute.objects.filter(text__contains="Atlantis")} == {1}


def test_what_somebody_else_said_in_the_same_words_is_asked_once_and_kept_for_both() -> None:
    make_fake()
    corpus = make_person("ann", [["I live in Leeds."], *talk("ann", 3)])[0].corpus
    make_person("bob", talk("bob", 3), corpus)
    shared = Conversation.objects.get(messages__0__content="I live in Leeds.")
    shared.repeats.create(source_id="other", user="bob", language="English")
    people(corpus.name, "filter", "--without-assistant-use")
    assert extract(corpus)["planned"] == 7
    assert set(Attribute.objects.values_list("user__key", flat=True)) == {"ann", "bob"}


# --- the plan


def test_dry_run_costs_what_the_run_costs_at_most_and_keeps_nothing() -> None:
    make_fake(price_in=2, price_out=8)
    corpus = corpus_of("I live in Leeds.")
    told = extract(corpus, "scripted", "--dry-run")
    assert told["dry_run"] and told["calls"] == 4 and not Run.objects.exists() and not Task.objects.exists()
    report = extract(corpus)
    assert 0 < report["usd"] <= told["usd"] <= told["usd_most"]
    assert report["estimate"]["usd"] == told["usd"]


def test_calls_planned_before_are_named_with_their_cost(capsys: pytest.CaptureFixture[str]) -> None:
    make_fake(price_in=2_000, price_out=8_000)
    corpus = corpus_of("I live in Leeds.")
    _, estimate = plan_conversations(EXTRACT, corpus, "scripted", "test", limit=3)
    capsys.readouterr()
    assert extract(corpus, "scripted", "--dry-run")["calls"] == 1
    said = "3 calls planned before will be sent too: about $"
    assert f"{said}{estimate['usd']:.2f}." in capsys.readouterr().err
    assert extract(corpus)["planned"] == 4 and said in capsys.readouterr().err
    extract(corpus)
    assert "planned before" not in capsys.readouterr().err


def test_the_same_command_asks_only_what_came_since() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    first = extract(corpus)
    make_person("ann", [["I like tea."]], corpus)
    people(corpus.name, "filter", "--without-assistant-use")
    second = extract(corpus)
    assert second["run"] == first["run"] and (first["planned"], second["planned"]) == (4, 5)
    assert extract(corpus)["planned"] == 5
    assert Attribute.objects.count() == 2


@pytest.mark.parametrize("new", [[], ["--new"]])
def test_what_a_cancelled_run_was_told_is_not_asked_again(new: list[str]) -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    first = Run.objects.get(pk=extract(corpus, "scripted", "--limit", "3")["run"])
    plan_conversations(EXTRACT, corpus, "scripted", "test")
    cancel(first)
    report = extract(corpus, "scripted", *new)
    assert report["run"] != first.pk and report["planned"] == 1
    assert Completion.objects.filter(status="done").count() == 4


def test_limit_is_the_most_calls() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    assert [extract(corpus, "scripted", "--limit", "3")["planned"] for _ in range(2)] == [3, 4]


@pytest.mark.django_db
def test_unfiltered_corpora_are_refused() -> None:
    make_fake()
    corpus = make_person("ann", talk("ann", 3))[0].corpus
    with pytest.raises(CommandError, match=f"people {corpus.name} filter"):
        extract(corpus)


@pytest.mark.django_db
@pytest.mark.parametrize("own", [{}, {"max_completion_tokens": 127_000}])
def test_small_windows_are_refused_in_words(own: dict[str, int]) -> None:
    make_fake(context_window=128_000 if own else 600, extra=own)
    with pytest.raises(CommandError, match="Choose a model with a larger window"):
        extract(corpus_of("I live in Leeds."))


@pytest.mark.django_db
def test_replies_are_as_long_as_the_task_needs_and_the_endpoint_allows() -> None:
    make_fake(max_tokens=8_000)
    corpus = corpus_of("I live in Leeds.")
    run, _ = plan_conversations(EXTRACT, corpus, "scripted", "test")
    assert longest_reply(run) == 4_096 and run.temperature == 0.8
    run.endpoint.max_tokens = 1_000
    assert longest_reply(run) == 1_000


# --- messages


def test_messages_are_rebuilt_to_the_letter_and_refused_where_they_are_not() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    extract(corpus)
    call = Completion.objects.first()
    assert call.messages_sha256 == call.task.sha256 == messages_for(call).sha256
    assert read_messages(call).is_same
    Conversation.objects.update(messages=said("Something else."))
    assert "not what was planned" in read_messages(Completion.objects.first()).problem


def test_a_run_whose_conversations_have_changed_stops_with_the_reason() -> None:
    make_fake()
    run, _ = plan_conversations(EXTRACT, corpus_of("I live in Leeds."), "scripted", "test")
    Conversation.objects.update(messages=said("Something else."))
    list(run_inline(start(run)))
    run.refresh_from_db()
    assert run.state == "stopped" and "not what was planned" in run.reason


@pytest.mark.django_db
def test_requests_carry_the_schema_and_the_length_of_a_reply() -> None:
    endpoint = make_server_endpoint(Server("http://127.0.0.1:9/v1"), json_schema=True, max_tokens=8_000)
    run, _ = plan_conversations(EXTRACT, corpus_of("I live in Leeds."), "served", "test")
    wanted = reply_format(endpoint, run.tasks.get(conversation__messages__0__content="I live in Leeds."))
    body = json.loads(open_provider(endpoint, run.temperature, longest_reply(run)).encode([], wanted))
    assert body["response_format"]["json_schema"]["name"] == "extract"
    assert body["max_tokens"] == 4_096 and body["temperature"] == 0.8


@pytest.mark.django_db
def test_a_lane_reads_tasks_next_to_each_other_together(django_assert_num_queries) -> None:
    make_fake()
    run, _ = plan_conversations(EXTRACT, corpus_of(*(f"I live in Leeds {n}." for n in range(29))), "scripted", "test")
    calls = [LeasedCall(*(getattr(call, name) for name in LeasedCall._fields)) for call in run.completions.all()]
    lane = Lane(run, open_provider(run.endpoint, 0.8), Limiter(run.endpoint), Bounds())
    with django_assert_num_queries(4):  # two for sixteen: the tasks, and their conversations
        prepared = list(lane.prepare_each(calls))
    assert [entry.sha256 for entry in prepared] == [call.task.sha256 for call in run.completions.all()]
    assert len(prepared) == 32


# --- apart from other runs


def test_tasks_are_no_answers_and_are_not_repeated() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    run = Run.objects.get(pk=extract(corpus)["run"])
    read_everywhere()
    assert not Answer.objects.exists()
    with pytest.raises(RunError, match="asks each task once"):
        make_schedule(run)
    out = StringIO()
    call_command("run", "list", stdout=out)
    assert "task" in out.getvalue()


@pytest.mark.django_db
def test_a_task_has_values_or_a_fault_once_it_is_read() -> None:
    make_fake()
    run, _ = plan_conversations(EXTRACT, corpus_of("I live in Leeds."), "scripted", "test")
    with pytest.raises(IntegrityError), transaction.atomic():
        run.tasks.update(values={})
    with pytest.raises(IntegrityError), transaction.atomic():
        run.completions.update(task=None)


def test_erasing_a_user_takes_what_was_asked_about_them() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    extract(corpus)
    call_command("erase_user", corpus.name, "ann", stdout=StringIO())
    assert not Task.objects.exists() and not Completion.objects.exists() and not Attribute.objects.exists()


def test_erasing_a_user_gives_back_what_was_set_aside_for_their_calls() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    run = start(plan_conversations(EXTRACT, corpus, "scripted", "test")[0])
    calls = run.completions.update(status="leased", lane="one", lease_until=timezone.now(), reserved="0.25")
    Run.objects.filter(pk=run.pk).update(reserved=calls * Decimal("0.25"))
    erase_user(corpus, "ann")
    run.refresh_from_db()
    assert run.reserved == 0 and not run.completions.exists() and calls > 0


def test_failed_calls_are_sent_again_while_a_user_of_theirs_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.", "I have two cats.")
    run = start(plan_conversations(EXTRACT, corpus, "scripted", "test")[0])
    run.completions.update(status="failed", error_kind="lost", done_at=timezone.now())
    Run.objects.filter(pk=run.pk).update(reserved=1)
    give_back = erasing._give_back_budgets

    def once_the_other_waits() -> None:
        wait_until_somebody_waits()
        give_back()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            list(run.completions.select_for_update())
            waiting = beside(lambda: retry_failed(run), pool)
            monkeypatch.setattr(erasing, "_give_back_budgets", once_the_other_waits)
            erase_user(corpus, "ann")
        with pytest.raises(RunError, match="has no failed calls"):
            waiting.result(PATIENCE)
    assert not run.completions.exists()


def test_erasing_that_must_give_way_to_a_run_about_the_user_is_done_again() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    extract(corpus)
    run, said = Run.objects.get(), list(Conversation.objects.filter(user="ann").values_list("pk", flat=True))
    Run.objects.update(reserved=1)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Run.objects.select_for_update().get(pk=run.pk)
            erasing_now = beside(lambda: giving_way(lambda: erase_user(corpus, "ann")), pool)
            wait_until_somebody_waits()
            list(Conversation.objects.select_for_update().filter(pk__in=said))  # in the wrong order
        assert erasing_now.result(PATIENCE)["conversations"] == len(said)
    assert not Conversation.objects.exists() and not Task.objects.exists()


# --- the real corpus, crashes


@pytest.mark.slow
def test_scripted_extraction_of_a_real_corpus_loses_nothing() -> None:
    import re

    corpus = import_real(CHITCHAT)
    people(corpus.name, "filter", "--unlabelled", "--without-assistant-use")
    make_fake(concurrency=64)
    report = extract(corpus)
    kept = set(corpus.users.filter(left_out_by="").values_list("key", flat=True))
    truth = set()
    for row in corpus.conversations.filter(user__in=kept):
        for message in row.messages:
            if message["role"] == "user":
                for sentence in re.findall(r"[^.!?\n]+[.!?]*", message["content"]):
                    if re.search(r"\b(?:I|my|mine|I'm|I've)\b", sentence, re.I):
                        truth.add((row.user, row.sha256, f"The user says: {sentence.strip()}"))
    found = set(Attribute.objects.values_list("user__key", "conversation__sha256", "text"))
    assert len(kept) == 90 and len(truth) > 3_000
    assert truth <= found and report["unlocated"] == 0 == report["unreadable"]


@pytest.mark.processes
def test_batches_carry_tasks_too() -> None:
    with serving("--batch-seconds", "0") as server:
        make_server_endpoint(server, price_in=1, price_out=1)
        report = extract(corpus_of("I live in Leeds."), "served", "--batch")
    assert (report["state"], report["read"], report["attributes"]) == ("done", 4, 1)
    assert 0 < report["usd"] <= report["estimate"]["usd_most"]


def test_the_budget_holds_while_calls_are_sent() -> None:
    """Replies longer than planned stop the run before the money runs out, and resuming continues it."""
    long = json.dumps({"attributes": [], "more": "x" * 3_000})
    endpoint = make_fake(price_out=1_000, max_tokens=1_000, concurrency=1, extra={"reply": long})
    corpus = corpus_of("I live in Leeds.")
    with pytest.raises(CommandError, match="The budget of .* is used up"):
        extract(corpus, endpoint.name, "--budget", "2.5")
    run = Run.objects.get()
    assert run.spent <= run.budget and 0 < count_replies(run)["read"] < 4
    assert extract(corpus, endpoint.name, "--budget", "10")["read"] == 4


@pytest.mark.processes
def test_killed_worker_loses_nothing_and_asks_nothing_twice() -> None:
    reply = json.dumps({"attributes": [{"attribute": "Asks.", "confidence": 0.9, "evidence": ["what about it?"]}]})
    with serving("--latency", "fixed:100", "--reply", reply) as server:
        make_server_endpoint(server, concurrency=8)
        corpus = make_person("ann", talk("ann", 120))[0].corpus
        people(corpus.name, "filter", "--without-assistant-use")
        run, _ = plan_conversations(EXTRACT, corpus, "served", "test")
        worker = start_worker(start(run))
        wait_for_answers(run, 30)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        wait_for_leases(run)
        report = extract(corpus, "served")
        assert report["run"] == run.pk and report["read"] == 120
        lost = {key_of(call) for call in run.completions.filter(lost_answers__gt=0).select_related("run")}
        twice = {key for key, number in server.answers().items() if number > 1}
        assert twice <= lost and len(twice) <= 2 * 8
    assert Attribute.objects.count() == 120 == run.tasks.count()
    assert Attribute.objects.filter(generator=generator_of(run)).count() == 120


def test_one_reply_and_one_failed_call_are_written_as_one() -> None:
    report = {"task": "extract", "study": "teas", "read": 1, "unreadable": 0, "failed": 1, "usd": 0}
    report |= {"examples": [], "refused_examples": [], "state": "done", "attributes": 1, "users": 1, "refused": 1}
    said = format_tasks(report | {"low_confidence": 0, "unlocated": 0, "quotes": 1})
    assert "1 reply read, 0 could not be, 1 call failed" in said
    assert "1 attribute of 1 user," in said and "0 of 1 quote in no conversation; 1 entry was no attribute" in said
