"""Programs start runs, follow them and read their completions, each account in its own studies."""

import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from analysis.models import Run
from surveys.models import AuditEvent, Study
from tests.analysis.runs.baseline_factories import (
    make_call,
    make_conversation,
    make_corpus,
    make_endpoint,
    make_item,
    make_personas,
    make_run,
)
from tests.analysis.runs.run_samples import answer, make_done, make_running, order_of, program_of
from tests.factories import make_account, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sent")]
ACTIONS = ("note", "pause", "resume", "cancel", "retry")


@pytest.fixture
def client(study: Study) -> Client:
    return program_of(make_account("ada", study, "researcher"))


def at(name: str, *args: object) -> str:
    return reverse(f"api:{name}", args=args)


def post(client: Client, address: str, content: object = None):
    return client.post(address, json.dumps({} if content is None else content), "application/json")


def test_post_plans_starts_and_names_the_estimate(
    client: Client, sent: list[int], django_capture_on_commit_callbacks: Callable
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = post(client, at("runs", "teas"), order_of(repeats=3, budget="2", seed=7))
    assert response.status_code == 201
    found = response.json()
    run = Run.objects.get()
    assert (found["run"]["id"], found["run"]["state"], found["run"]["simulated"]) == (run.pk, "running", True)
    assert (found["estimate"]["calls"], found["run"]["budget_usd"], run.seed, sent) == (6, 2.0, 7, [run.pk])
    assert AuditEvent.objects.get(action="baseline started").actor == "ada"


def test_a_dry_run_says_what_it_would_cost_and_what_few_users_cannot_show(client: Client) -> None:
    corpus = make_corpus()
    for _ in range(4):
        make_conversation(corpus, turns=6)
    order = order_of(condition="sp-history", corpus="corpus", history_size=2, repeats=30, dry_run=True)
    reply = post(client, at("runs", "teas"), order)
    found = reply.json()
    assert (reply.status_code, found["run"], found["estimate"]["calls"]) == (200, None, 60)
    assert "count 1 simulated user, not 30" in found["note"] and not Run.objects.exists()
    assert post(client, at("runs", "teas"), order | {"dry_run": "yes"}).status_code == 400
    assert client.post(at("runs", "teas"), order | {"dry_run": "true"}).json() == found


def test_repeats_of_each_simulated_user_may_stand_instead_of_repeats(client: Client) -> None:
    make_personas("people", [("A nurse.", [])])
    order = order_of(condition="sp-profile", personas="people", users=2, repeats_per_user=3)
    found = post(client, at("runs", "teas"), {name: value for name, value in order.items() if name != "repeats"}).json()
    assert (found["run"]["repeats"], found["run"]["users"], found["estimate"]["calls"]) == (3, 2, 12)
    other = post(client, at("runs", "teas"), order | {"repeats": 2})
    assert other.json()["detail"] == "repeats_per_user: Of a sock puppet, repeats says the same: give one of the two."


def test_the_same_again_adds_nothing_and_more_adds_the_rest(client: Client) -> None:
    order = order_of(repeats=3)
    first = post(client, at("runs", "teas"), order)
    again = post(client, at("runs", "teas"), order)
    more = post(client, at("runs", "teas"), order | {"repeats": 5})
    assert [reply.status_code for reply in (first, again, more)] == [201, 200, 200]
    assert [reply.json()["estimate"]["calls"] for reply in (first, again, more)] == [6, 0, 4]
    assert Run.objects.get().completions.count() == 10


def test_post_takes_a_benchmark_and_the_list_names_it(client: Client) -> None:
    for number in (1, 2, 3):
        make_item(number)
    response = post(client, at("runs", "teas"), order_of(benchmark="sums", prompt_form="bare", repeats=1))
    found = response.json()
    assert response.status_code == 201
    assert (found["run"]["benchmark"], found["run"]["prompt_form"], found["estimate"]["calls"]) == ("sums", "bare", 3)
    [row] = client.get(at("runs", "teas")).json()["results"]
    assert (row["benchmark"], row["study"], row["pending"]) == ("sums", "teas", 3)
    calls = client.get(at("completions", "teas")).json()["results"]
    assert [call["item"] for call in calls] == ["sums/1", "sums/2", "sums/3"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"endpoint": "nowhere"}, "endpoint: There is none with this name."),
        ({"repeats": 0}, "repeats: Ensure this value is greater than or equal to 1."),
        ({"repeats": None}, "repeats: This field is required."),
        ({"repeats": [1]}, "repeats: Enter a whole number."),
        ({"condition": "online"}, "condition: Select a valid choice. online is not one of the available choices."),
        ({"users": 5}, "users: offline does not take this."),
        ({"repeats_per_user": 5}, "repeats_per_user: offline does not take this."),
        ({"corpus": "corpus"}, "corpus: offline does not take this."),
        ({"condition": "sp-history"}, "corpus: Choose the corpus whose conversations or attributes stand in front."),
        ({"condition": "sp-history", "corpus": "corpus"}, "The corpus corpus has 0 conversations"),
        ({"condition": "sp-memory", "corpus": "corpus"}, "The attributes of corpus are not merged yet"),
        ({"condition": "sp-memory", "history_size": 5}, "history_size: sp-memory does not take this."),
        ({"budget": "0.0001"}, "will cost about"),
        ({"repeat": 5}, "repeat: no such field."),
        ({"toxic": "no"}, "toxic is true or false, not 'no'."),
        ({"dry_run": 7}, "dry_run is true or false, not 7."),
        ({"benchmark": "products"}, "benchmark: There is none with this name."),
        ({"prompt_form": "bare"}, "prompt_form: Only a benchmark's items take this."),
        ({"worked_examples": True}, "worked_examples: Only a benchmark's items take this."),
        ({"benchmark": "sums", "prompt_form": "loud"}, "prompt_form: Select a valid choice."),
        ({"benchmark": "sums", "worked_examples": True}, "0 worked examples for subject"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(client: Client, changes: dict, words: str) -> None:
    make_corpus()
    make_item()
    make_endpoint(name="priced", price_out=100)
    response = post(client, at("runs", "teas"), order_of(endpoint="priced") | changes)
    assert response.status_code == 400
    assert words in response.json()["detail"]
    assert not Run.objects.exists()


def test_what_is_no_object_is_refused(client: Client) -> None:
    assert post(client, at("runs", "teas"), [1]).status_code == 400
    assert client.post(at("runs", "teas"), "{", "application/json").status_code == 400


@pytest.mark.parametrize("body", ["[" * 100_000 + "]" * 100_000, '{"budget":' * 100_000 + "1" + "}" * 100_000])
def test_what_is_nested_too_deeply_is_refused(client: Client, study: Study, body: str) -> None:
    run = make_running(study, state="paused")
    for address in (at("runs", "teas"), at("resume-run", run.pk)):
        answer = client.post(address, body, content_type="application/json")
        assert (answer.status_code, answer.json()) == (400, {"detail": "This JSON is nested too deeply."})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"prompts": ["tea"]}, "prompts: tea: no such prompt. Did you mean teas?"),
        ({"prompts": ["x"]}, "prompts: x: no such prompt. There is teas, "),
        ({"endpoint": "scriptd"}, "endpoint: There is none with this name. Did you mean scripted?"),
        ({"condition": "offlin"}, "Did you mean offline?"),
    ],
)
def test_an_order_that_names_what_is_not_there_is_told_what_is(client: Client, wrong: dict, said: str) -> None:
    response = post(client, at("runs", "teas"), order_of() | wrong)
    assert (response.status_code, said in response.json()["detail"]) == (400, True), response.json()


def test_paused_run_is_not_started_by_ordering_it_again(client: Client) -> None:
    order = order_of(repeats=3)
    number = post(client, at("runs", "teas"), order).json()["run"]["id"]
    post(client, at("pause-run", number))
    response = post(client, at("runs", "teas"), order | {"repeats": 9})
    assert response.status_code == 409
    assert response.json()["detail"] == f"Run {number} is paused, so it can't be started."
    assert Run.objects.get().completions.count() == 6


def test_run_is_followed_paused_resumed_and_cancelled(client: Client, study: Study) -> None:
    run = make_running(study)
    found = client.get(at("run", run.pk)).json()
    counts = {name: found["progress"][name] for name in ("calls", "done", "failed", "in_flight", "pending")}
    assert counts == {"calls": 6, "done": 3, "failed": 1, "in_flight": 1, "pending": 1}
    assert found["failures"][0]["reason"] == "400: No." and found["run"]["state"] == "running"
    assert post(client, at("pause-run", run.pk)).json()["run"]["state"] == "paused"
    resumed = post(client, at("resume-run", run.pk), {"budget": 3}).json()["run"]
    assert (resumed["state"], resumed["budget_usd"]) == ("running", 3.0)
    assert post(client, at("retry-run", run.pk)).json()["progress"]["failed"] == 0
    assert post(client, at("cancel-run", run.pk)).json()["run"]["state"] == "cancelled"
    refused = post(client, at("resume-run", run.pk))
    assert (refused.status_code, refused.json()["detail"]) == (
        409, f"Run {run.pk} is cancelled, so it can't be resumed.",
    )  # fmt: skip
    assert AuditEvent.objects.filter(study=study, action__startswith="baseline").count() == 4


def test_a_run_that_is_done_is_not_resumed_and_keeps_its_budget_and_end(client: Client, study: Study) -> None:
    run = make_done(study)
    before = Run.objects.filter(pk=run.pk).values()[0]
    refused = post(client, at("resume-run", run.pk), {"budget": 3})
    assert (refused.status_code, refused.json()["detail"]) == (409, f"Run {run.pk} is done, so it can't be resumed.")
    assert Run.objects.filter(pk=run.pk).values()[0] == before
    make_call(run, repeat=1)  # as after extending it
    assert post(client, at("resume-run", run.pk)).json()["run"]["state"] == "running"


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("a" * 2_001, "A note has at most 2,000 characters; this one has 2,001."),
        ("a\0b", "The note holds the character NUL, which cannot be stored."),
    ],
)
def test_a_note_is_kept_as_sent_or_refused(client: Client, study: Study, note: str, said: str) -> None:
    run = make_done(study)
    refused = post(client, at("note-run", run.pk), {"note": note})
    assert (refused.status_code, refused.json()["detail"]) == (400, said)
    assert post(client, at("note-run", run.pk), {"note": "a" * 2_000}).json()["run"]["note"] == "a" * 2_000


@pytest.mark.parametrize("budget", ["much", -1, "NaN", [3]])
def test_resume_refuses_a_budget_that_is_none(client: Client, study: Study, budget: object) -> None:
    run = make_running(study, state="paused")
    assert post(client, at("resume-run", run.pk), {"budget": budget}).status_code == 400
    run.refresh_from_db()
    assert run.state == "paused"


def test_completions_are_filtered_and_name_what_they_are(client: Client, study: Study) -> None:
    run, other = make_running(study), make_done(study)
    found = client.get(at("completions", "teas"), {"run": run.pk, "status": "done"}).json()
    assert found["count"] == 3
    row = found["results"][0]
    prompt = study.current.prompts.order_by("position").first().slug
    assert (row["run"], row["prompt"], row["repeat"], row["reply"]) == (run.pk, prompt, 0, "1. Sencha")
    assert (row["simulated"], row["condition"], row["model_served"]) == (True, "offline", "scripted")
    assert len(row["messages_sha256"]) == 64
    assert client.get(at("completions", "teas"), {"prompt": prompt}).json()["count"] == 7
    assert client.get(at("completions", "teas"), {"run": other.pk}).json()["count"] == 1
    for wrong in ({"run": "x"}, {"status": "lost"}):
        assert client.get(at("completions", "teas"), wrong).status_code == 400


def test_completions_of_other_studies_are_not_found(client: Client) -> None:
    theirs = make_done(make_study("draft", slug="coffees"))
    prompt = theirs.version.prompts.earliest("position").slug
    for wanted in ({}, {"prompt": prompt}, {"status": "done"}):
        assert client.get(at("completions", "teas"), wanted).json()["count"] == 0
    for name, value, there in (("run", theirs.pk, "There is none yet."), ("prompt", "tees", "Did you mean teas?")):
        answer = client.get(at("completions", "teas"), {name: value})
        assert (answer.status_code, answer.json()["detail"]) == (400, f"{name}={value} is unknown here. {there}")
    assert client.get(at("runs", "teas")).json()["count"] == 0


@pytest.mark.parametrize(("name", "queries"), [("runs", 7), ("completions", 5)])
def test_queries_do_not_grow_with_the_rows(
    client: Client, study: Study, name: str, queries: int, django_assert_num_queries: Callable
) -> None:
    for rows in (1, 30):
        while study.runs.count() < rows:
            answer(make_call(make_run(study=study, state="running")))
        with django_assert_num_queries(queries):
            assert len(client.get(at(name, "teas")).json()["results"]) == rows


def test_schema_names_every_address_of_runs() -> None:
    schema = json.loads(Client().get(at("schema"), headers={"Accept": "application/json"}).content)
    ways = {path: set(methods) for path, methods in schema["paths"].items() if "run" in path or "compl" in path}
    assert ways == {
        "/api/v1/studies/{slug}/runs/": {"get", "post"},
        "/api/v1/studies/{slug}/completions/": {"get"},
        "/api/v1/runs/{number}/": {"get"},
        **{f"/api/v1/runs/{{number}}/{action}/": {"post"} for action in ACTIONS},
        "/api/v1/studies/{slug}/people/{corpus}/runs/": {"get"},
        "/api/v1/studies/{slug}/people/{corpus}/runs/{number}/{action}/": {"post"},
    }
    order = schema["components"]["schemas"]["NewRun"]
    assert sorted(order["required"]) == ["condition", "endpoint", "repeats"]
