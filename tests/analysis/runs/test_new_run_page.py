"""The form for a new run says what it costs, and starts what was asked for, once."""

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.test import Client

from analysis.models import Corpus, Endpoint, Run
from analysis.runs.pages import actions
from analysis.runs.recipes.plans import Plan, RunPlanError, plan_run
from surveys.models import AuditEvent, Study
from tests.analysis.runs.baseline_factories import make_conversation, make_corpus, make_endpoint, make_item, use_letters
from tests.analysis.runs.recipe_samples import remember
from tests.analysis.runs.run_samples import order_of, page_of
from tests.surveys.console.console_pages import lines_of, text_of

pytestmark = pytest.mark.django_db


def test_estimate_names_calls_tokens_and_dollars_and_keeps_nothing(client: Client) -> None:
    make_endpoint(name="priced", price_in=1, price_out=10)
    response = client.post(page_of("new-run"), order_of(endpoint="priced", repeats=3, estimate=1))
    # The study of teas has two prompts: one asks for items (300 tokens), one is a choice (60).
    assert "6 calls, about" in lines_of(response) and "and 1,080 out: $0.01" in lines_of(response)
    assert not Run.objects.exists() and not AuditEvent.objects.filter(action="baseline started").exists()


def test_part_with_the_estimate_follows_the_form(client: Client) -> None:
    part = page_of("estimate")
    assert "Complete the form" in lines_of(client.get(part, {"condition": "offline"}))
    assert "10 calls" in lines_of(client.get(part, order_of(repeats=5)))
    assert not Run.objects.exists()


def test_estimate_of_many_users_is_measured_on_two(client: Client, study: Study) -> None:
    corpus = make_corpus()
    for _ in range(4):
        make_conversation(corpus, turns=6)
    order = order_of(condition="sp-history", corpus="corpus", history_size=2, users=40, repeats=1)
    shown = re.search(r"(\d+) calls, about ([\d,]+) tokens in", lines_of(client.get(page_of("estimate"), order)))
    plan = Plan(make_endpoint(), "sp-history", study.current, users=40, corpus=corpus, history_size=2, temperature=1.0)
    _, whole = plan_run(plan, 1, "tests", dry_run=True)
    assert int(shown[1]) == whole["calls"] == 80
    turned = client.get(page_of("estimate"), order | {"users": 1, "repeats": 40})
    assert "All 40 answers to each prompt come from one simulated user. They" in lines_of(turned)
    assert "count 1 simulated user, not 40. The other way round, 40 users with 1 repeat each" in lines_of(turned)
    assert int(shown[2].replace(",", "")) == pytest.approx(whole["prompt_tokens"], rel=0.05)


def test_run_is_planned_started_audited_and_handed_over_once(
    client: Client, sent: list[int], django_capture_on_commit_callbacks: Callable
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = client.post(page_of("new-run"), order_of(repeats=2, budget="1.5", start=1))
    run = Run.objects.get()
    assert response["Location"] == page_of("run", run.pk)
    assert (run.state, run.budget, run.completions.count(), sent) == ("running", Decimal("1.5"), 4, [run.pk])
    event = AuditEvent.objects.get(action="baseline started")
    assert (event.actor, event.subject, event.detail["calls"]) == ("ada", f"run {run.pk}", 4)
    client.post(page_of("new-run"), order_of(endpoint="scripted", repeats=2, budget="1.5", start=1))
    assert Run.objects.count() == 1 and run.completions.count() == 4


def test_more_repeats_extend_the_run_and_the_estimate_says_so(client: Client, sent: list[int]) -> None:
    client.post(page_of("new-run"), order_of(repeats=2, start=1))
    more = order_of(endpoint="scripted", repeats=5)
    run = Run.objects.get()
    words = lines_of(client.get(page_of("estimate"), more))
    assert "6 calls" in words and f"Run {run.pk} has the same plan with 2 repeats" in words
    same = lines_of(client.get(page_of("estimate"), more | {"repeats": 2}))
    assert f"Run {run.pk} has asked all of this already" in same
    client.post(page_of("new-run"), more | {"start": 1})
    assert run.completions.count() == 10
    client.post(page_of("new-run"), more | {"start": 1, "again": "on"})
    assert [row.first_run for row in Run.objects.order_by("pk")] == [None, run]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"endpoint": "nowhere"}, "Endpoint : There is none with this name."),
        ({"condition": "sp-history"}, "Choose the corpus whose conversations or attributes stand in front."),
        ({"condition": "sp-profile"}, "Choose the personas that profiles are drawn from."),
        ({"temperature": "3"}, "Temperature : Ensure this value is less than or equal to 2."),
        ({"batch": "on"}, "has no batch API."),
    ],
)
def test_what_cannot_be_run_is_said_at_its_field(client: Client, changes: dict, words: str) -> None:
    make_endpoint(name="scripted")
    response = client.post(page_of("new-run"), order_of(endpoint="scripted", start=1) | changes)
    assert response.status_code == 422 and words in lines_of(response)
    assert not Run.objects.exists()


def test_fields_of_another_condition_are_dropped(client: Client, sent: list[int]) -> None:
    make_corpus()
    client.post(page_of("new-run"), order_of(users=7, corpus="corpus", history_size=3, start=1))
    run = Run.objects.get()
    assert (run.users, run.corpus, run.history_size) == (1, None, None)


def test_refusal_of_the_plan_is_shown_and_nothing_is_kept(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make_endpoint(name="dear", price_out=1000)
    response = client.post(page_of("new-run"), order_of(endpoint="dear", budget="0.01", start=1))
    assert response.status_code == 422 and "above the budget of $0.01" in lines_of(response)
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    make_endpoint(name="keyless", provider="openai", base_url="https://93.184.215.14/v1", key_env="NO_SUCH_KEY")
    response = client.post(page_of("new-run"), order_of(endpoint="keyless", start=1))
    assert response.status_code == 422 and "NO_SUCH_KEY" in lines_of(response)
    assert not Run.objects.exists()


def test_only_the_chosen_prompts_are_estimated_planned_and_found_again(client: Client, sent: list[int]) -> None:
    first, second = Study.objects.get().current.prompts.order_by("position").values_list("slug", flat=True)
    order = order_of(repeats=2, prompts=[second])
    assert "2 calls" in lines_of(client.get(page_of("estimate"), order))
    assert "4 calls" in lines_of(client.get(page_of("estimate"), order | {"prompts": [first, second]}))
    client.post(page_of("new-run"), order | {"start": 1})
    run = Run.objects.get()
    assert (run.prompts, {call.prompt.slug for call in run.completions.all()}) == ([second], {second})
    client.post(page_of("new-run"), order | {"start": 1})  # the same plan: nothing is added
    client.post(page_of("new-run"), order | {"start": 1, "prompts": [second, first]})  # another one, of all prompts
    assert [(run.prompts, run.completions.count()) for run in Run.objects.order_by("pk")] == [([second], 2), ([], 4)]
    assert "only 1 prompt: " + second in lines_of(client.get(page_of("run", run.pk)))


def test_prompts_are_those_of_the_study_and_a_benchmark_takes_none(client: Client, sent: list[int]) -> None:
    response = client.post(page_of("new-run"), order_of(prompts=["coffee"], start=1))
    assert (response.status_code, "coffee: no such prompt." in lines_of(response)) == (422, True)
    make_item(1)
    slug = Study.objects.get().current.prompts.first().slug
    client.post(page_of("new-run"), order_of(endpoint="scripted", benchmark="sums", prompts=[slug], start=1))
    assert (Run.objects.get().prompts, Run.objects.get().completions.count()) == ([], 2)


def test_endpoints_that_make_embeddings_are_not_offered(client: Client) -> None:
    make_endpoint(name="vectors", embeddings=True)
    assert "There is no endpoint yet" in lines_of(client.get(page_of("new-run")))
    make_endpoint(name="answers")
    page = client.get(page_of("new-run"))
    assert ("vectors" in text_of(page), page.context["form"].initial["endpoint"]) == (False, "answers")
    response = client.post(page_of("new-run"), order_of(endpoint="vectors", start=1))
    assert response.status_code == 422 and "There is none with this name." in lines_of(response)
    with pytest.raises(RunPlanError, match="vectors makes embeddings"):
        plan_run(Plan(Endpoint.objects.get(name="vectors"), "offline", Study.objects.get().current), 1, "tests")


def test_attributes_of_a_corpus_stand_in_front_once_they_are_merged(
    client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_letters(monkeypatch)
    order = order_of(condition="sp-memory", corpus=make_corpus().name, memory_size=2, users=2, repeats=1)
    shown = lines_of(client.get(page_of("estimate"), order))
    assert "The attributes of corpus are not merged yet: people corpus merge" in shown
    remember(Corpus.objects.get(), {"ann": ["Bakes bread.", "Quizzes foxes."], "bob": ["Mends cups.", "Plays jazz."]})
    shown = lines_of(client.get(page_of("estimate"), order))
    assert "4 calls" in shown and "2 of 2 kept users have 2 attributes or more that stand (4 judged by nobody)" in shown
    monkeypatch.setattr(actions, "enqueue_lanes", lambda run: None)
    client.post(page_of("new-run"), order | {"start": 1})
    run = Run.objects.get()
    assert (run.condition, run.memory_size, run.completions.count()) == ("sp-memory", 2, 4)
    call = run.completions.first()
    assert "This is known about the user" in lines_of(client.get(page_of("completion-messages", run.pk, call.pk)))
