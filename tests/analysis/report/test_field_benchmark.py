"""The benchmark in the field, in report, page, API and bundle: by hand, beside runs, and of nobody."""

from collections import defaultdict
from pathlib import Path

import pytest
from django.urls import reverse

from analysis.answers.readings import read_new
from analysis.report.outputs.text import write_text
from analysis.report.questions.field_benchmark import NO_ANSWERS, NOT_ASKED
from analysis.report.reports import report
from surveys.models import Response, Study
from surveys.studies.files.matrix import Matrix
from tests.analysis.report.field_benchmark_world import make_sums_in_field, run_sums
from tests.analysis.report.report_samples import make_teas
from tests.analysis.report.test_bundle import recompute, unpack
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db
PARTS = ("field_benchmark",)


def make_world() -> Study:
    study = make_sums_in_field()
    run_sums(study, "gpt-4o-mini", wrong=2)
    run_sums(study, "gemini-2.0-flash", wrong=1)
    read_new(study)
    return study


world = lasting_world(make_world)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


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
    # By runs Gemini's model is better by 5 points; for people it is much worse.
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


def test_the_page_and_the_terminal_say_it(study: Study) -> None:
    page = log_in(study, "viewer").get(reverse("compare:page", args=[study.slug, "field-benchmark"])).content.decode()
    assert "questions of sums" in page and "Order flips" in page
    text = write_text(report(study, parts=PARTS))
    assert "The benchmark in the field" in text and "of 20" in text


def test_the_bundle_computes_it_again(study: Study, tmp_path: Path) -> None:
    folder = unpack(study, tmp_path)
    assert (folder / "data" / "questions.csv").read_text().count("\n") == 21
    done = recompute(folder)
    assert done.returncode == 0, done.stdout
    assert "field_benchmark: 0" not in done.stdout


def test_nothing_is_asked_or_answered() -> None:
    assert NOT_ASKED.split(",")[0] in write_text(report(make_teas(), parts=PARTS))


@pytest.mark.parametrize("people", [0, 3])
def test_of_nobody_and_of_few_it_says_so(people: int) -> None:
    study = make_sums_in_field(people, matrix=Matrix("sums", 2))
    found = report(study, parts=PARTS)
    text = write_text(found)
    if not people:
        assert NO_ANSWERS in text
    for row in found["field_benchmark"]:
        assert row["ci"] is None and (row["why"] if row["accuracy"] is None else row["ci_why"])
