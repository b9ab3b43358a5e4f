"""Every call is a row before anything is sent, its cost is known, and no plan exceeds the budget."""

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from analysis.models import Completion, Endpoint, Run, SimulatedUser
from analysis.people.corpora.embeddings import embed_corpus, endpoint_embedder
from analysis.runs.lanes import runs
from analysis.runs.lanes.runs import end_schedule, make_schedule, repeat_due
from analysis.runs.recipes.messages import messages_for
from analysis.runs.recipes.plans import Plan, RunPlanError, plan_run, say_few_users, say_same_users
from tests.analysis.runs.baseline_factories import make_corpus, make_item, make_personas
from tests.analysis.runs.recipe_samples import make_long_corpus
from tests.analysis.runs.servers import make_fake, make_planned
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def plan_of_teas(**changes: object) -> Plan:
    return Plan(**{"endpoint": make_fake(), "condition": "offline", "version": make_study().current} | changes)


def test_one_row_for_each_prompt_and_repeat_with_repeats_adjacent() -> None:
    run, estimate = plan_run(plan_of_teas(), 3, "tests")
    rows = run.completions.order_by("position").values_list("prompt__slug", "repeat", "position", "status")
    first, second = (prompt.slug for prompt in run.version.prompts.order_by("position"))
    asked = [(first, 0), (first, 1), (first, 2), (second, 0), (second, 1), (second, 2)]
    assert list(rows) == [(slug, repeat, place, "pending") for place, (slug, repeat) in enumerate(asked)]
    assert estimate["calls"] == 6 and run.state == "planned"


def test_more_repeats_add_only_the_new_rows_and_fewer_none() -> None:
    plan = plan_of_teas()
    run, _ = plan_run(plan, 2, "tests")
    again, estimate = plan_run(plan, 5, "tests")
    assert again.pk == run.pk and estimate["calls"] == 2 * 3
    assert sorted(again.completions.values_list("repeat", flat=True)) == sorted([0, 1, 2, 3, 4] * 2)
    assert len(set(again.completions.values_list("position", flat=True))) == 10
    fewer, estimate = plan_run(plan, 3, "tests")
    assert estimate["calls"] == 0 and fewer.repeats == 5 and fewer.completions.count() == 10


@pytest.mark.parametrize("changes", [{"temperature": 0.5}, {"seed": 1}, {"batch": True}])
def test_another_plan_is_another_run(changes: dict) -> None:
    plan = plan_of_teas()
    run, _ = plan_run(plan, 1, "tests")
    other, _ = plan_run(Plan(**{**plan.__dict__, **changes}), 1, "tests")
    assert other.pk != run.pk


def test_again_makes_a_run_of_its_own_linked_to_the_first() -> None:
    plan = plan_of_teas()
    first, _ = plan_run(plan, 1, "tests")
    second, _ = plan_run(plan, 1, "tests", again=True)
    third, _ = plan_run(plan, 1, "tests", again=True)
    assert second.first_run == first == third.first_run
    assert Completion.objects.count() == 6


def test_dry_run_keeps_nothing() -> None:
    plan = plan_of_teas()
    _, estimate = plan_run(plan, 100, "tests", dry_run=True)
    assert estimate["calls"] == 200
    assert not Run.objects.exists() and not Completion.objects.exists()


def test_estimate_is_priced_by_the_endpoint() -> None:
    endpoint = make_fake(price_in=Decimal(1), price_out=Decimal(10), max_tokens=1000)
    _, estimate = plan_run(plan_of_teas(endpoint=endpoint), 10, "tests")
    # 300 tokens for each recommendation, 60 for each choice, until the endpoint has answered
    written = (300 + 60) * 10
    assert estimate["completion_tokens"] == written
    assert estimate["usd"] == pytest.approx((estimate["prompt_tokens"] + 10 * written) / 1e6)
    assert estimate["usd_most"] == pytest.approx((estimate["prompt_tokens"] + 10 * 20 * 1000) / 1e6)


def test_plan_above_the_budget_is_refused_and_not_written() -> None:
    endpoint = make_fake(price_out=Decimal(10))
    with pytest.raises(RunPlanError, match="above the budget"):
        plan_run(plan_of_teas(endpoint=endpoint), 1000, "tests", budget=Decimal("0.01"))
    assert not Run.objects.exists()


@pytest.mark.parametrize("budget", ["nan", "inf", "-1", "much"])
def test_budget_of_a_command_is_an_amount_above_nothing(budget: str) -> None:
    run = make_planned(make_study(), make_fake(), budget=Decimal(2))
    with pytest.raises(CommandError, match="argument --budget: "):
        call_command("run", str(run.pk), "resume", "--budget", budget)
    run.refresh_from_db()
    assert run.budget == 2


@pytest.mark.django_db(transaction=True)
def test_the_command_resumes_a_run_that_is_done_only_for_what_was_added_since() -> None:
    study, endpoint = make_study(), make_fake()
    run = make_planned(study, endpoint, repeats=1)
    call_command("run", str(run.pk), "resume", "--inline")
    run.refresh_from_db()
    end = run.ended_at
    with pytest.raises(CommandError, match=f"Run {run.pk} is done, so it can't be resumed"):
        call_command("run", str(run.pk), "resume", "--budget", "3")
    run.refresh_from_db()
    assert (run.state, run.ended_at, run.budget) == ("done", end, None)
    make_planned(study, endpoint, repeats=2)  # extends it
    call_command("run", str(run.pk), "resume", "--inline")
    assert run.completions.filter(status="done").count() == 4


def test_calls_that_still_wait_count_against_the_budget_of_more() -> None:
    plan = plan_of_teas(endpoint=make_fake(price_out=Decimal(10)))
    run, estimate = plan_run(plan, 100, "tests")
    budget = Decimal(str(estimate["usd"])) * Decimal("1.5")
    with pytest.raises(RunPlanError, match="With 200 new calls the run will cost about"):
        plan_run(plan, 200, "tests", budget=budget)
    assert run.completions.count() == 200
    run.completions.update(status="done", done_at=timezone.now())
    assert plan_run(plan, 200, "tests", budget=budget)[0].completions.count() == 400


@pytest.mark.parametrize(
    ("changes", "repeats", "words"),
    [
        ({}, 0, "at least 1"),
        ({"temperature": 3.0}, 1, "outside 0 to 2"),
        ({"temperature": float("nan")}, 1, "outside 0 to 2"),
        ({"users": 2}, 1, "no simulated users"),
        ({"condition": "sp-history"}, 1, r"needs a corpus \(--corpus NAME\)"),
        ({"condition": "sp-profile"}, 1, r"needs a set of personas \(--personas NAME\)"),
    ],
)
def test_plan_that_makes_no_sense_is_refused(changes: dict, repeats: int, words: str) -> None:
    with pytest.raises(RunPlanError, match=words):
        plan_run(plan_of_teas(**changes), repeats, "tests")
    assert not Run.objects.exists()


def test_database_holds_one_row_for_each_call() -> None:
    run, _ = plan_run(plan_of_teas(), 1, "tests")
    call = run.completions.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Completion.objects.create(run=run, prompt=call.prompt, repeat=0, position=9)


def test_hundred_thousand_calls_are_planned_by_one_statement(django_assert_max_num_queries) -> None:
    plan = plan_of_teas()
    with django_assert_max_num_queries(40):
        run, _ = plan_run(plan, 50_000, "tests")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), max(position) FROM analysis_completion WHERE run_id = %s", [run.pk])
        assert cursor.fetchone() == (100_000, 99_999)


def test_benchmark_is_planned_item_by_item() -> None:
    for number in (1, 2):
        make_item(number)
    run, _ = plan_run(Plan(endpoint=make_fake(), condition="offline", benchmark="sums"), 2, "tests")
    asked = run.completions.order_by("position").values_list("item__item", "repeat")
    assert list(asked) == [("sums/1", 0), ("sums/1", 1), ("sums/2", 0), ("sums/2", 1)]


# --- states


def test_states_follow_their_rules() -> None:
    run = make_planned(make_study(), make_fake())
    assert runs.start(run).state == "running"
    assert runs.pause(run).state == "paused"
    assert runs.resume(run, Decimal("2.5")).budget == Decimal("2.5")
    assert runs.cancel(run).state == "cancelled"
    for action in (runs.start, runs.pause, runs.resume, runs.cancel, runs.retry_failed):
        with pytest.raises(runs.RunError, match="cancelled"):
            action(run)


def test_progress_and_failures_count_by_state_and_reason() -> None:
    run = runs.start(make_planned(make_study(), make_fake(), repeats=4))
    calls = list(run.completions.order_by("position"))
    done = {"status": "done", "done_at": timezone.now(), "model_served": "m-1"}
    Completion.objects.filter(pk__in=[call.pk for call in calls[:3]]).update(**done)
    Completion.objects.filter(pk=calls[3].pk).update(**done | {"model_served": "m-2"})
    failed = {"status": "failed", "error": "400: no", "error_kind": "refused", "lost_answers": 2}
    Completion.objects.filter(pk__in=[call.pk for call in calls[4:6]]).update(**failed)
    now = runs.progress(run)
    assert (now["calls"], now["done"], now["failed"], now["pending"], now["in_flight"]) == (8, 4, 2, 2, 0)
    assert now["mixed"] and [part["completions"] for part in now["served"]] == [3, 1]
    assert (now["maybe_paid"]["calls"], now["maybe_paid"]["attempts"]) == (2, 4)
    assert [(row["reason"], row["count"]) for row in runs.failures(run)] == [("400: no", 2)]
    assert runs.retry_failed(run) == 2 and runs.progress(run)["pending"] == 4


# --- weekly repeats


def test_schedule_starts_a_run_of_its_own_each_week() -> None:
    run = make_planned(make_study(), make_fake(), repeats=2)
    schedule = make_schedule(run, 7)
    assert repeat_due() == []
    later = timezone.now() + timedelta(days=7, minutes=1)
    [second] = repeat_due(later)
    assert second.first_run == run and second.state == "running" and second.completions.count() == 4
    assert repeat_due(later) == []
    schedule.refresh_from_db()
    assert later < schedule.next_at < later + timedelta(days=7)


def test_schedule_that_slept_for_weeks_repeats_once() -> None:
    make_schedule(make_planned(make_study(), make_fake()), 7)
    assert len(repeat_due(timezone.now() + timedelta(days=40))) == 1


def test_a_repetition_that_cannot_be_paid_is_left_out_and_holds_up_no_other() -> None:
    dear = make_planned(make_study(), make_fake(price_out=10))
    cheap = make_planned(make_study(slug="coffees"), make_fake(name="cheap"))
    schedules = [make_schedule(run) for run in (dear, cheap)]
    Run.objects.filter(pk=dear.pk).update(budget=Decimal("0.000001"))
    later = timezone.now() + timedelta(days=8)
    assert [run.first_run for run in repeat_due(later)] == [cheap]
    for schedule in schedules:
        schedule.refresh_from_db()
        assert schedule.next_at > later


def test_a_repetition_whose_vectors_lost_their_key_holds_up_no_other() -> None:
    study, corpus = make_study(), make_long_corpus(4)
    vectors = make_fake(name="vectors", embeddings=True)
    list(embed_corpus(corpus, endpoint_embedder(vectors)))
    plan = Plan(endpoint=make_fake(), condition="sp-rag", version=study.current, corpus=corpus, history_size=2)
    lost, _ = plan_run(plan, 1, "tests")
    cheap = make_planned(make_study(slug="coffees"), make_fake(name="cheap"))
    for run in (lost, cheap):
        make_schedule(run)
    Endpoint.objects.filter(pk=vectors.pk).update(provider="openai", base_url="https://example.org/v1", key_env="NONE")
    corpus.conversations.filter(sha256=lost.simulated_users.get(index=0).recipe["hashes"][0]).delete()
    assert [run.first_run for run in repeat_due(timezone.now() + timedelta(days=8))] == [cheap]


def test_ended_schedule_repeats_nothing() -> None:
    run = make_planned(make_study(), make_fake())
    make_schedule(run)
    end_schedule(run)
    with pytest.raises(runs.RunError, match=f"Run {run.pk} is not repeated."):
        end_schedule(run)
    assert repeat_due(timezone.now() + timedelta(days=8)) == []


# --- commands


HISTORY = ("--endpoint", "scripted", "--condition", "sp-history", "--corpus", "corpus", "--history-size", "2")


def baseline(*options: str) -> None:
    call_command("run_baseline", "teas", "--endpoint", "scripted", "--condition", "offline", *options)


def test_many_repeats_of_few_users_are_planned_with_a_word(capsys: pytest.CaptureFixture) -> None:
    make_study(), make_fake(), make_long_corpus(4)

    def note(*options: str) -> str:
        call_command("run_baseline", "teas", *HISTORY, *options, "--dry-run", "--json")
        return json.loads(capsys.readouterr().out)["note"]

    few = note("--repeats", "40")
    assert "intervals and tests count 1 simulated user, not 40" in few and "40 users with 1 repeat each" in few
    assert "count 10 simulated users, not 400" in note("--users", "10", "--repeats", "40")
    assert note("--users", "40") == note("--users", "20", "--repeats", "2") == note() == ""
    baseline("--repeats", "400", "--dry-run", "--json")
    assert json.loads(capsys.readouterr().out)["note"] == ""


def test_few_users_show_as_much_as_many_where_all_have_the_same_in_front_and_are_called_repeats() -> None:
    plan = Plan(endpoint=Endpoint(), condition="sp-rag")
    assert say_few_users(plan, 40) == ""
    assert "count 1 simulated user, not 40" in say_few_users(replace(plan, per_user=True), 40)
    four = replace(plan, users=4)
    assert "the same in front of all 4 simulated users" in say_same_users(four)
    assert say_same_users(replace(four, per_user=True)) == say_same_users(plan) == ""


def test_repeats_of_each_simulated_user_are_told_apart_and_have_the_same_in_front(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("analysis.runs.commands.send", lambda *run: None)
    study, _, _ = make_study(), make_fake(), make_long_corpus(4)
    once, calls = ("run_baseline", study.slug, *HISTORY, "--users", "3"), Completion.objects.filter(prompt__position=1)
    call_command(*once)
    recipes = dict(SimulatedUser.objects.values_list("index", "recipe"))
    call_command(*once, "--repeats-per-user", "1")
    assert list(calls.order_by("user__index").values_list("user__index", "repeat")) == [(0, 0), (1, 0), (2, 0)]
    call_command(*once, "--repeats-per-user", "2")
    run = Run.objects.get()
    assert (run.repeats, run.users) == (2, 3)
    found = calls.order_by("user__index", "repeat").values_list("user__index", "repeat")
    assert list(found) == [(user, repeat) for user in range(3) for repeat in (0, 1)]
    assert dict(SimulatedUser.objects.values_list("index", "recipe")) == recipes
    for user in range(3):
        assert len({messages_for(call).sha256 for call in calls.filter(user__index=user)}) == 1


def test_repeats_of_simulated_users_cost_as_much_as_as_many_users(capsys: pytest.CaptureFixture[str]) -> None:
    make_study(), make_fake(price_out=Decimal(1))
    personas = make_personas("people", [("A nurse.", []), ("A cook.", [])])

    def estimate(*options: str) -> dict:
        asked = ("--endpoint", "scripted", "--condition", "sp-profile", "--personas", personas.name, *options)
        call_command("run_baseline", "teas", *asked, "--dry-run", "--json")
        return json.loads(capsys.readouterr().out)["estimate"]

    repeated, many = estimate("--users", "2", "--repeats-per-user", "3"), estimate("--users", "6")
    assert (repeated["calls"], repeated["usd"]) == (many["calls"], many["usd"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--condition", "offline", "--repeats-per-user", "2"), "Offline has no simulated users"),
        (("--condition", "sp-profile", "--repeats-per-user", "2", "--repeats", "3"), "give one of the two"),
        (("--condition", "sp-profile", "--personas", "people", "--repeats-per-user", "0"), "at least 1"),
    ],
)
def test_repeats_that_make_no_sense_are_refused(options: tuple[str, ...], words: str) -> None:
    make_study(), make_fake(), make_personas("people", [("A nurse.", [])])
    with pytest.raises(CommandError, match=words):
        call_command("run_baseline", "teas", "--endpoint", "scripted", *options)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("run_baseline", "nothing", "--endpoint", "scripted", "--condition", "offline"), "no study nothing"),
        (("run_baseline", "teas", "--endpoint", "nowhere", "--condition", "offline"), "no endpoint 'nowhere'"),
        (("run_baseline", "teas", "--endpoint", "scripted", "--condition", "sp-rag", "--corpus", "x"), "no corpus"),
        (("run_baseline", "teas", "--endpoint", "scripted", "--condition", "sp-profile", "--personas", "x"),
         "no set of personas"),
        (("run_baseline", "teas", "--endpoint", "scripted", "--condition", "sp-history", "--corpus", "empty"),
         "empty"),
        (("run", "999999", "pause"), "no run 999999"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_writes_nothing(command: tuple[str, ...], words: str) -> None:
    make_study(), make_fake(), make_corpus("empty")
    with pytest.raises(CommandError) as failed:
        call_command(*command)
    assert words in str(failed.value) and "\n" not in str(failed.value)
    assert not Run.objects.exists()


def test_unset_key_is_refused_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    make_study(), make_fake(key_env="NO_SUCH_KEY")
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(CommandError, match="NO_SUCH_KEY"):
        baseline()
    assert not Run.objects.exists()
