"""The benchmark in the field, in report, page, API and bundle: by hand, beside runs, and with no people."""

from collections import defaultdict
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.models import Answer, Completion
from analysis.report.filters import Filters
from analysis.report.outputs import write_text
from analysis.report.questions.field_benchmark import FILTERED, NO_ANSWERS, NOT_ASKED, say
from analysis.report.reports import people_stamp, report
from surveys.models import BenchmarkItem, Response, Study
from surveys.studies.files.matrix import Matrix
from tests.analysis.report.field_benchmark_world import make_sums_in_field, run_sums
from tests.analysis.report.report_samples import make_model_run, make_teas
from tests.analysis.report.unpacked import agreed_in, check_codebook, recompute, unpack
from tests.analysis.runs.baseline_factories import make_call
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db
PARTS = ("field_benchmark",)


def make_world() -> Study:
    study = make_sums_in_field(slug="lasting")
    run_sums(study, "gpt-4o-mini", wrong=2)
    run_sums(study, "gemini-2.0-flash", wrong=1)
    read_new(study)
    return study


world = lasting_world(make_world)


def rows_of(study: Study) -> dict[tuple[str, str], dict]:
    return {(row["source"], row["model"]): row for row in report(study, parts=PARTS)["field_benchmark"]}


def test_every_question_counts_the_same_however_often_it_was_asked(study: Study) -> None:
    rows = rows_of(study)
    assert set(rows) == {
        *(("field", "chatgpt"), ("field", "gemini")),
        *(("offline", "gpt-4o-mini"), ("offline", "gemini-2.0-flash")),
    }
    for chatbot in ("chatgpt", "gemini"):
        given = defaultdict(list)
        found = Response.objects.filter(participant__cell__chatbot=chatbot, prompt__is_drawn=True)
        for slug, text in found.values_list("prompt__slug", "text"):
            given[slug].append(text == "B")
        by_hand = sum(sum(right) / len(right) for right in given.values()) / len(given)
        row = rows["field", chatbot]
        assert (row["n"], row["unit"], row["units"]) == (24, "person", 6)
        assert (row["questions"], row["size"]) == (len(given), 20)
        assert row["accuracy"] == pytest.approx(by_hand)
        assert row["ci"][0] < row["accuracy"] < row["ci"][1]


def test_runs_stand_beside_the_field_on_the_same_questions(study: Study) -> None:
    rows = rows_of(study)
    run, field = rows["offline", "gpt-4o-mini"], rows["field", "chatgpt"]
    assert (run["n"], run["unit"], run["units"], run["questions"]) == (120, "repeat", 6, 20)
    assert run["accuracy"] == pytest.approx(0.9)
    against = run["against_field"]
    assert against["questions"] == field["questions"]
    assert against["ci"][0] < against["value"] < against["ci"][1] and against["p"] <= against["p_holm"]
    assert field["against_field"] is None


def test_the_order_of_two_models_may_be_another_for_people(study: Study) -> None:
    # In runs Gemini's model is better by 5 points; for people it is much worse.
    (order,) = (
        rows_of(study)["offline", "gemini-2.0-flash"]["orders"] or rows_of(study)["offline", "gpt-4o-mini"]["orders"]
    )
    assert order["runs"] * order["field"] < 0
    assert order["flips"] > 0.9


def test_other_parts_and_prompts_know_nothing_of_the_questions(study: Study) -> None:
    found = report(study, parts=("choices", "heterogeneity", "positions", "explanations"))
    assert [prompt["slug"] for prompt in found["prompts"]] == ["teas", "water"]
    assert {row["prompt"] for row in found["choices"]} == {"water"}
    assert found["answers"]["field"] == 24 and found["answers"]["people"] == 12


def test_an_item_imported_anew_is_another_question(study: Study) -> None:
    for change in ({"question": "What is 1 + 0?"}, {"choices": ["0", "1", "2", "3"]}, {"item": "sums/new"}):
        before = people_stamp(study)
        first = BenchmarkItem.objects.filter(benchmark="sums").earliest("pk")
        BenchmarkItem.objects.filter(pk=first.pk).update(**change)
        assert people_stamp(study) != before


def test_models_of_no_chatbot_have_no_field_of_their_own_to_be_ordered_by(study: Study) -> None:
    run_sums(study, "llama-3", wrong=4)
    read_new(study)
    rows = rows_of(study)
    assert rows["offline", "llama-3"]["chatbot"] is None
    orders = {(row["model"], order["other_model"]) for row in rows.values() for order in row["orders"]}
    assert {frozenset(pair) for pair in orders} == {frozenset(("gpt-4o-mini", "gemini-2.0-flash"))}


def page_of(study: Study, **filters: str) -> str:
    page = log_in(study, "viewer").get(reverse("compare:page", args=[study.slug, "field-benchmark"]), filters)
    return page.content.decode()


def test_the_page_and_the_terminal_say_it(study: Study) -> None:
    page = page_of(study)
    assert "n = 6 people, 24 answers to" in page and "Chance that the order is another" in page
    text = write_text(report(study, parts=PARTS))
    assert "THE BENCHMARK IN THE FIELD" in text and "of 20" in text


@pytest.mark.slow
def test_the_bundle_computes_it_again(study: Study, tmp_path: Path) -> None:
    unpack(study, tmp_path)
    check_codebook(tmp_path)
    assert (tmp_path / "data" / "questions.csv").read_text().count("\n") == 21
    done = recompute(tmp_path)
    assert done.returncode == 0, done.stdout
    assert agreed_in(done.stdout)["field_benchmark"] > 30
    answers = tmp_path / "data" / "question_answers.csv"
    answers.write_text(answers.read_text().replace(",A,", ",B,", 1))
    assert recompute(tmp_path).returncode == 1


def test_without_a_set_it_says_how_to_ask() -> None:
    study = make_teas()
    assert report(study, parts=PARTS)["field_benchmark"] == []
    assert NOT_ASKED in page_of(study)


def test_filters_without_the_field_say_so(study: Study) -> None:
    page = page_of(study, source="offline")
    assert FILTERED in page and NOT_ASKED not in page
    found = report(study, Filters(memory=("off",), personalisation=("on",)), parts=PARTS)
    assert say(found) == FILTERED and found["field_benchmark"][0]["why"] == FILTERED


def test_of_nobody_it_says_so_while_replies_of_models_wait() -> None:
    study = make_sums_in_field(0)
    call = make_call(make_model_run(study, model="gpt-4o-mini"))
    Completion.objects.filter(pk=call.pk).update(status="done", reply="1. Assam", done_at=timezone.now())
    assert say(report(study, parts=PARTS)) == NO_ANSWERS


def test_everybody_beside_a_chatbot_is_not_said_first(study: Study) -> None:
    found = report(study, parts=PARTS)
    (some, *_) = (row for row in found["field_benchmark"] if row["source"] == "field")
    everybody = some | {"chatbot": None, "model": "all"}
    alone, beside = (found | {"field_benchmark": rows} for rows in ([everybody], [some, everybody]))
    assert say(alone).startswith("The chatbot is right on")
    assert "The chatbot" not in say(beside) and say(beside).count("is right on") == 1


def test_runs_of_the_benchmark_are_no_baseline_and_missing_only_where_prompts_are_compared(study: Study) -> None:
    client = log_in(study, "viewer")
    addresses = (reverse("compare:page", args=[study.slug, name]) for name in ("field-benchmark", "items"))
    page, items = (client.get(each).content.decode() for each in addresses)
    assert "No baseline" not in page
    assert "No baseline yet" in items and "No answer of a model" not in items


def test_of_three_people_who_are_all_wrong_it_says_how_few_they_are() -> None:
    study = make_sums_in_field(3)
    Answer.objects.filter(response__prompt__is_drawn=True).update(letter="A")
    rows = rows_of(study)
    assert {row["accuracy"] for row in rows.values()} == {0.0}
    assert all(row["ci"] is None and row["ci_why"] for row in rows.values())
    page = page_of(study)
    assert "is right on sums cannot be said yet (n = 2 people, 8 answers" in page and "is right on 0" not in page
    Answer.objects.all().delete()
    assert say(report(study, parts=PARTS)) == "Nothing is known yet: 18 texts still to be read."


@pytest.mark.parametrize("people", [0, 3])
def test_of_nobody_and_of_few_it_says_so(people: int) -> None:
    study = make_sums_in_field(people, matrix=Matrix("sums", 2))
    found = report(study, parts=PARTS)
    assert (NO_ANSWERS if not people else "too few for an interval") in page_of(study)
    for row in found["field_benchmark"]:
        assert row["ci"] is None and (row["why"] if row["accuracy"] is None else row["ci_why"])
