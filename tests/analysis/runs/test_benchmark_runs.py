"""Benchmark items are asked like prompts; the members of a run's study see them in the console and the API."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from analysis.models import Run
from analysis.runs.recipes.messages import messages_for
from analysis.runs.recipes.questions import examples_name, write_question
from surveys.models import AuditEvent, BenchmarkItem, Study
from tests.analysis.runs.baseline_factories import make_call, make_endpoint, make_item, make_run
from tests.analysis.runs.run_samples import answer, make_done, order_of, page_of
from tests.analysis.runs.servers import make_fake
from tests.surveys.console.console_pages import lines_of, text_of

pytestmark = pytest.mark.django_db
OFFLINE = ["--endpoint", "scripted", "--condition", "offline"]


@pytest.fixture(autouse=True)
def items() -> list[BenchmarkItem]:
    return [make_item(number) for number in (1, 2, 3)]


def make_benchmark_run(study: Study, item: BenchmarkItem) -> Run:
    """A finished run of one item, for the study."""
    given = {"study": study, "version": study.current, "benchmark": "sums", "state": "done"}
    run = Run.objects.create(condition="offline", endpoint=make_endpoint(), created_by="tests", **given)
    answer(make_call(run, item), "B")
    return run


def make_imported(study: Study) -> Run:
    source = {"condition": "imported", "imported_source": "app", "state": "done", "temperature": None}
    run = Run.objects.create(study=study, version=study.current, created_by="tests", **source)
    make_call(run)
    run.completions.update(status="done", reply="1. Sencha", done_at=run.created_at)
    return run


# --- the commands


@pytest.mark.django_db(transaction=True)
def test_command_asks_each_item_and_belongs_to_the_study_it_names(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    make_fake()
    call_command("run_benchmark", "sums", *OFFLINE, "--repeats", "2", "--inline", "--json", "--study", "teas")
    call_command("run_benchmark", "sums", *OFFLINE, "--repeats", "1", "--inline", "--json")
    assert [json.loads(line)["done"] for line in capsys.readouterr().out.splitlines()] == [6, 3]
    alone, of_study = Run.objects.all()
    assert (of_study.study, of_study.version, of_study.benchmark) == (study, study.current, "sums")
    assert (alone.study, alone.version, alone.benchmark) == (None, None, "sums")
    assert of_study.completions.filter(item__item="sums/2", status="done").count() == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sums", "--study", "coffees"], "There is no study coffees"),
        (["products"], r"There is no benchmark 'products' \(sums\)"),
        (["sums-examples"], "There is no benchmark 'sums-examples'"),
        (["sums", "--worked-examples"], "0 worked examples for subject"),
    ],
)
def test_what_cannot_be_asked_is_one_line(study: Study, arguments: list[str], words: str) -> None:
    if arguments[0] == examples_name("sums"):
        make_item(9, examples_name("sums"))
    make_fake()
    with pytest.raises(CommandError, match=words) as failed:
        call_command("run_benchmark", *arguments, *OFFLINE)
    assert "\n" not in str(failed.value) and not Run.objects.exists()


def test_list_shows_runs_with_and_without_a_study(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = make_done(study), make_run(benchmark="sums")
    call_command("run", "list")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        [str(second.pk), "sums", "offline"],
        [str(first.pk), "teas", "offline"],
    ]
    assert "done, 1 of 1" in lines[1]
    call_command("run", "list", "--study", "teas", "--json")
    assert [row["run"] for row in json.loads(capsys.readouterr().out)["runs"]] == [first.pk]
    with pytest.raises(CommandError, match="There is no run many"):
        call_command("run", "many")


# --- the console


def test_form_offers_benchmarks_only_when_there_are_some(client: Client) -> None:
    make_endpoint()
    assert "Benchmark sums (3 items)" in lines_of(client.get(page_of("new-run")))
    BenchmarkItem.objects.all().delete()
    assert "How an item is put" not in lines_of(client.get(page_of("new-run")))


def test_benchmark_is_planned_in_the_form_that_was_chosen(client: Client, sent: list[int]) -> None:
    order = order_of(benchmark="sums", prompt_form="bare", start=1)
    assert "6 calls" in lines_of(client.get(page_of("estimate"), order))
    client.post(page_of("new-run"), order)
    run = Run.objects.get()
    call = run.completions.order_by("position").first()
    assert (run.study.slug, run.benchmark, run.prompt_form, run.completions.count()) == ("teas", "sums", "bare", 6)
    assert messages_for(call).messages[-1]["content"] == write_question(call.item, "bare")
    assert AuditEvent.objects.get(action="baseline started").detail["benchmark"] == "sums"


def test_prompts_and_benchmark_are_runs_of_their_own(client: Client, sent: list[int]) -> None:
    order = order_of(start=1, prompt_form="bare")
    client.post(page_of("new-run"), order)
    client.post(page_of("new-run"), order | {"benchmark": "sums"})
    # Settings that only benchmarks take are dropped for prompts, so that their plan stays the same.
    assert list(Run.objects.values_list("benchmark", "prompt_form")) == [("sums", "bare"), ("", "helm")]


def test_pages_name_the_benchmark_and_its_items(client: Client, study: Study, items: list[BenchmarkItem]) -> None:
    run = make_benchmark_run(study, items[0])
    call = run.completions.get()
    assert f"Offline, sums run {run.pk}" in lines_of(client.get(page_of("runs")))
    words = lines_of(client.get(page_of("run", run.pk)))
    assert "Benchmark sums, 3 items, as HELM puts them" in words and "Prompts version" not in words
    assert list(client.get(page_of("run", run.pk), {"prompt": "sums/1"}).context["rows"]) == [call]
    assert not client.get(page_of("run", run.pk), {"prompt": "sums/2"}).context["rows"]
    words = lines_of(client.get(page_of("completion", run.pk, call.pk)))
    assert "sums/1 , draw 0: done." in words and "Right answer B" in words
    assert "exactly the same as what was sent" in words


def test_imported_run_offers_nothing_that_would_send(client: Client, study: Study) -> None:
    run = make_imported(study)
    page = client.get(page_of("run", run.pk))
    assert page.context["can"] == set() and "Repeat, to measure drift" not in text_of(page)
    assert "Temperature not said" in lines_of(page)
    call = run.completions.get()
    assert "what was sent to get it is not known here" in lines_of(client.get(page_of("completion", run.pk, call.pk)))


@pytest.mark.parametrize("action", ["pause", "resume", "cancel", "schedule"])
def test_imported_run_is_left_as_it_is(study: Study, action: str) -> None:
    run = make_imported(study)
    with pytest.raises(CommandError, match=f"Run {run.pk} was imported"):
        call_command("run", str(run.pk), action)
    run.refresh_from_db()
    assert run.state == "done"
