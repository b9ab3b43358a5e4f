"""The console's pages of baselines say how far each run is, and do what their buttons say."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from analysis.models import Completion, Run, Schedule, SimulatedUser
from analysis.runs.recipes.plans import Plan, plan_run
from surveys.models import AuditEvent, Study
from tests.analysis.runs.baseline_factories import (
    make_call,
    make_conversation,
    make_corpus,
    make_endpoint,
    make_item,
    make_run,
)
from tests.analysis.runs.run_samples import answer, fail, make_done, make_running, page_of
from tests.surveys.console.console_pages import lines_of, said, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ten_seconds_of_work")]
RUN_PAGE = 14  # statements


def change(client: Client, run: Run, action: str, **given: object):
    return client.post(page_of("change-run", run.pk, action), given, follow=True)


# --- one run


def test_run_says_where_it_stands(client: Client, study: Study) -> None:
    run = make_running(study, budget=Decimal("2.5"), spent=Decimal("0.25"))
    words = lines_of(client.get(page_of("run", run.pk)))
    assert "Running, 3 of 6 calls answered, about 5 s to go." in words
    assert "Spent $0.25 of $2.50" in words
    assert "refused 400: No. 1" in words
    assert "These answers are scripted by the platform" in words


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("planned", "Planned: 2 calls to send, 3 of 6 calls answered."),
        ("paused", "Paused, 3 of 6 calls answered. 1 call still in flight."),
        ("stopped", "Stopped, 3 of 6 calls answered: The key was refused."),
        ("cancelled", "Cancelled, 3 of 6 calls answered."),
        ("done", "Done, 3 of 6 calls answered; 1 failed."),
    ],
)
def test_heading_of_each_state(client: Client, study: Study, state: str, words: str) -> None:
    run = make_running(study, state=state, reason="The key was refused." if state == "stopped" else "")
    assert words in lines_of(client.get(page_of("run", run.pk)))


@pytest.mark.parametrize("state", ["paused", "stopped", "cancelled"])
def test_numbers_go_on_until_the_last_call_has_come_back(client: Client, study: Study, state: str) -> None:
    run = make_running(study, state=state)
    parts = [page_of(name, run.pk) for name in ("run-part", "calls-part")]
    assert "data-live" in text_of(client.get(page_of("run", run.pk)))
    assert [client.get(part).status_code for part in parts] == [200, 200]
    answer(run.completions.get(status="leased"))
    assert [client.get(part).status_code for part in parts] == [286, 286]
    assert "data-live" not in text_of(client.get(page_of("run", run.pk)))


def test_waiting_for_the_provider_is_said(client: Client, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    at = timezone.now().replace(hour=14, minute=2, second=10)
    monkeypatch.setattr("analysis.runs.lanes.runs.waiting_until", lambda name: at.timestamp())
    page = client.get(page_of("run", make_running(study).pk))
    assert "The provider asked us to wait until 14:02:10 UTC." in lines_of(page)


def test_mixture_of_models_is_warned_of(client: Client, study: Study) -> None:
    run = make_running(study)
    assert "mixes" not in lines_of(client.get(page_of("run", run.pk)))
    Completion.objects.filter(pk=run.completions.filter(status="done").first().pk).update(fingerprint="fp2")
    words = lines_of(client.get(page_of("run", run.pk)))
    assert "This run mixes 2 served models." in words and "scripted fp1 2 scripted fp2 1" in words


def test_calls_that_may_be_paid_are_counted_and_listed(client: Client, study: Study) -> None:
    run = make_running(study)
    lost = run.completions.get(status="leased")
    Completion.objects.filter(pk=lost.pk).update(lost_answers=2)
    # Two attempts at a tenth of the estimated half dollar.
    assert "2 attempts of 1 call, about $0.10." in lines_of(client.get(page_of("run", run.pk)))
    listed = client.get(page_of("run", run.pk), {"lost": "1"})
    assert [row.pk for row in listed.context["rows"]] == [lost.pk]


def test_failures_are_grouped_by_reason(client: Client, study: Study) -> None:
    run = make_running(study)
    for repeat in (10, 11):
        fail(make_call(run, repeat=repeat), "500: Over and over.", "server")
    groups = client.get(page_of("run", run.pk)).context["failures"]
    assert [(group["reason"], group["count"]) for group in groups] == [("500: Over and over.", 2), ("400: No.", 1)]


def test_thousands_of_calls_are_counted_with_separators(client: Client, study: Study) -> None:
    call = make_call(make_running(study), repeat=2_000)
    fields = [field.attname for field in Completion._meta.concrete_fields if not field.primary_key]
    copies = [Completion(**{name: getattr(call, name) for name in fields} | {"repeat": n}) for n in range(1_000, 1_999)]
    Completion.objects.bulk_create(copies)
    calls = call.run.completions.count()
    assert calls >= 1_000
    assert f" of {calls:,}</dd>" in client.get(page_of("run", call.run_id)).content.decode()


@pytest.mark.parametrize("calls", [1, 60])
def test_run_takes_as_many_statements_for_many_calls(
    calls: int, client: Client, study: Study, django_assert_num_queries: Callable
) -> None:
    run = make_done(study)
    for repeat in range(1, calls):
        answer(make_call(run, repeat=repeat))
    with django_assert_num_queries(RUN_PAGE):
        assert client.get(page_of("run", run.pk)).status_code == 200


def test_calls_are_filtered_by_prompt_status_and_user(client: Client, study: Study) -> None:
    run = make_run("sp-profile", study=study, users=2)
    users = [SimulatedUser.objects.create(run=run, index=index) for index in range(2)]
    prompts = list(study.current.prompts.order_by("position"))
    calls = {(prompt.slug, user.index): make_call(run, prompt, user) for prompt in prompts for user in users}
    fail(calls[prompts[1].slug, 1])

    def found(**wanted: str) -> set[int]:
        return {row.pk for row in client.get(page_of("run", run.pk), wanted).context["rows"]}

    assert found() == {call.pk for call in calls.values()}
    assert found(prompt=prompts[0].slug) == {calls[prompts[0].slug, index].pk for index in (0, 1)}
    assert found(user="1", prompt=prompts[0].slug) == {calls[prompts[0].slug, 1].pk}
    assert found(status="failed") == {calls[prompts[1].slug, 1].pk}
    assert found(status="nonsense", user="x") == found()
    assert found(user="9" * 30) == set()


def test_calls_come_in_pages(client: Client, study: Study) -> None:
    run = make_run(study=study)
    for repeat in range(51):
        make_call(run, repeat=repeat)
    page = client.get(page_of("run", run.pk), {"status": "pending", "page": "2"})
    assert len(page.context["rows"]) == 1 and "?status=pending&amp;page=1" in text_of(page)


# --- what is done to a run


def test_buttons_fit_the_state(client: Client, study: Study) -> None:
    run = make_running(study)
    offered = {}
    for state in Run.State.values:
        Run.objects.filter(pk=run.pk).update(state=state)
        offered[state] = client.get(page_of("run", run.pk)).context["can"]
    assert offered == {
        "planned": {"pause", "resume", "cancel", "retry"},
        "running": {"pause", "cancel", "retry"},
        "paused": {"resume", "cancel", "retry"},
        "stopped": {"resume", "cancel", "retry"},
        "cancelled": set(),
        "done": {"retry"},
    }


def test_pause_resume_and_cancel_are_done_and_audited(
    client: Client, study: Study, sent: list[int], django_capture_on_commit_callbacks: Callable
) -> None:
    run = make_running(study)
    states = []
    with django_capture_on_commit_callbacks(execute=True):
        for action in ("pause", "resume", "cancel"):
            change(client, run, action)
            run.refresh_from_db()
            states.append(run.state)
    assert states == ["paused", "running", "cancelled"] and sent == [run.pk]
    events = AuditEvent.objects.filter(study=study, action__startswith="baseline").order_by("number")
    assert [(event.actor, event.action, event.subject) for event in events] == [
        ("ada", f"baseline {what}", f"run {run.pk}") for what in ("paused", "resumed", "cancelled")
    ]


def test_what_the_state_does_not_allow_is_refused_in_words(client: Client, study: Study) -> None:
    run = make_done(study)
    response = change(client, run, "pause")
    assert said(response) == [f"Run {run.pk} is done, so it can't be paused."]
    assert not AuditEvent.objects.filter(action="baseline paused").exists()


def test_cancel_asks_first(client: Client, study: Study) -> None:
    run = make_running(study)
    assert "Cancel this run?" in lines_of(client.get(page_of("change-run", run.pk, "cancel")))
    opened = client.get(page_of("change-run", run.pk, "pause"))
    assert opened.status_code == 405 and "only takes what a form or button sends" in opened.content.decode()
    run.refresh_from_db()
    assert run.state == "running"


def test_cancel_of_a_run_that_is_over_says_so_and_does_not_ask(client: Client, study: Study) -> None:
    run = make_done(study)
    response = client.get(page_of("change-run", run.pk, "cancel"), follow=True)
    assert said(response) == [f"Run {run.pk} is done, so it can't be cancelled."]


def test_failed_calls_are_sent_again(
    client: Client, study: Study, sent: list[int], django_capture_on_commit_callbacks: Callable
) -> None:
    run = make_running(study)
    with django_capture_on_commit_callbacks(execute=True):
        assert said(change(client, run, "retry")) == ["1 failed call will be sent again."]
    assert not run.completions.filter(status="failed").exists() and sent == [run.pk]
    assert said(change(client, run, "retry")) == [f"Run {run.pk} has no failed calls."]


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("0.20", "$0.20 is not more than the $0.25 spent already. Give a larger budget."),
        ("much", "“much” is not an amount in dollars."),
        ("nan", "The budget must be above 0 and below 1,000,000 dollars."),
    ],
)
def test_resume_refuses_a_budget_that_is_none(client: Client, study: Study, budget: str, words: str) -> None:
    run = make_running(study, state="stopped", budget=Decimal("0.25"), spent=Decimal("0.25"))
    assert said(change(client, run, "resume", budget=budget)) == [words]
    run.refresh_from_db()
    assert (run.state, run.budget) == ("stopped", Decimal("0.25"))


def test_repeating_is_scheduled_and_ended(client: Client, study: Study) -> None:
    run = make_done(study)
    change(client, run, "repeat", days="7")
    schedule = Schedule.objects.get(first_run=run)
    assert schedule.next_at - timezone.now() > timedelta(days=6, hours=23)
    assert "The same plan is run again every 7 days" in lines_of(client.get(page_of("run", run.pk)))
    assert "It is repeated every day, next on" in said(change(client, run, "repeat", days="1"))[0]
    repetition = make_done(study, first_run=run)
    assert f"run {run.pk}," in lines_of(client.get(page_of("run", repetition.pk)))
    change(client, repetition, "stop-repeating")
    schedule.refresh_from_db()
    assert not schedule.active
    for days in ("-3", "0366" + "9" * 20, "²"):
        assert "a whole number from 1 to 366" in said(change(client, run, "repeat", days=days))[0]


# --- one call


def test_call_shows_messages_reply_and_that_the_hash_holds(client: Client, study: Study) -> None:
    run = make_run(study=study)
    call = answer(make_call(run), "1. <b>Sencha</b>")
    page = client.get(page_of("completion", run.pk, call.pk))
    assert call.prompt.text.split("\n")[0] in page.context["asked"][0]["content"]
    assert "&lt;b&gt;Sencha" in text_of(page)
    assert "exactly the same as what was sent" in lines_of(page)
    Completion.objects.filter(pk=call.pk).update(messages_sha256="0" * 64)
    assert "the hashes differ" in lines_of(client.get(page_of("completion", run.pk, call.pk)))


def test_call_that_is_not_sent_yet_shows_what_will_be(client: Client, study: Study) -> None:
    call = make_call(make_run(study=study))
    words = lines_of(client.get(page_of("completion", call.run_id, call.pk)))
    assert "Not sent yet. These are the messages that will be." in words


def test_call_of_a_benchmark_run_of_no_study_is_read_where_it_is_shared(client: Client, study: Study) -> None:
    run = make_run(study=None, version=None, benchmark="sums")
    call = answer(make_call(run, make_item(1)), "B")
    run.shared_with.clear()
    assert client.get(page_of("completion", run.pk, call.pk)).status_code == 404
    run.shared_with.add(study)
    page = client.get(page_of("completion", run.pk, call.pk))
    assert call.item.question in text_of(page)
    assert f"Run {run.pk} of no study, on sums" in lines_of(page)


def test_long_history_is_shown_from_its_end_and_whole_on_demand(client: Client, study: Study) -> None:
    corpus = make_corpus()
    for _ in range(3):
        make_conversation(corpus, turns=5)
    plan = Plan(make_endpoint(), "sp-history", study.current, corpus=corpus, history_size=3)
    run, _ = plan_run(plan, 1, "tests")
    call = answer(run.completions.order_by("position").first())
    page = client.get(page_of("completion", run.pk, call.pk))
    assert (len(page.context["asked"]), page.context["left_out"]) == (12, 19)
    assert page.context["reading"].is_same
    whole = client.get(page_of("completion", run.pk, call.pk), {"all": "1"})
    assert len(whole.context["asked"]) == 31
    file = client.get(page_of("completion-messages", run.pk, call.pk)).json()
    assert len(file["messages"]) == 31 and file["sha256"] == file["stored"] == call.messages_sha256


def test_call_whose_corpus_has_changed_says_why_it_is_not_shown(client: Client, study: Study) -> None:
    corpus = make_corpus()
    make_conversation(corpus, turns=5)
    plan = Plan(make_endpoint(), "sp-history", study.current, corpus=corpus, history_size=1)
    run, _ = plan_run(plan, 1, "tests")
    call = run.completions.order_by("position").first()
    corpus.conversations.all().delete()
    words = lines_of(client.get(page_of("completion", run.pk, call.pk)))
    assert "The messages can't be rebuilt" in words and "Import its file again." in words
    assert client.get(page_of("completion-messages", run.pk, call.pk)).status_code == 404
