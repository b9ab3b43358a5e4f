"""A judge's run uses the machinery of all runs: lanes, faults, crashes, workers, pages and API."""

import pytest
from django.urls import reverse

from analysis.answers.compared import runs_of
from analysis.answers.readings import read_new
from analysis.models import Answer, Completion, Run
from analysis.models.conditions import CONDITIONS
from analysis.report.dataset import load_frames
from analysis.runs import tasks
from analysis.runs.asking.replies import count_replies
from analysis.runs.lanes.lanes import Bounds, run_lane
from analysis.runs.lanes.runs import RunError, make_schedule, progress, resume
from surveys.models import Annotation
from tests.analysis.runs.judge_samples import BOTH, judge, make_judge, plan, study_of
from tests.analysis.runs.run_samples import program_of
from tests.factories import make_account
from tests.surveys.console.console_pages import lines_of, log_in, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_worker_asks_and_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    make_judge("yes")
    run = resume(plan(study_of("relevance")))
    monkeypatch.setattr(tasks, "worker_is_stopping", lambda: False)
    assert tasks.lane(run.pk) == 3 == run.completions.count()
    assert run.tasks.filter(read_at__isnull=False).count() == 3
    assert len(set(Annotation.objects.exclude(judge="").values_list("item", "left"))) == 3
    assert count_replies(run) == {"read": 3, "unreadable": 0, "waiting": 0}


# --- kept out of comparisons


def test_judges_are_no_source_of_answers() -> None:
    make_judge("yes")
    study = study_of("relevance")
    run = judge(study)
    assert list(runs_of(study)) == [] and list(study.runs.all()) == [run]
    assert read_new(study) == 0 and not Answer.objects.exists()
    assert load_frames(study).runs == {}
    assert Run.Condition.JUDGE not in CONDITIONS


def test_judges_are_not_repeated_by_schedule() -> None:
    make_judge("yes")
    with pytest.raises(RunError, match="labels each item once"):
        make_schedule(judge(study_of("relevance", 1)))


# --- pages and API


def page_of(run: Run, name: str = "run", *more: object) -> str:
    return reverse(f"baselines:{name}", args=["teas", run.pk, *more])


def test_run_page_says_what_is_judged_and_what_is_no_label() -> None:
    make_judge("It depends <b>.")
    study = study_of("preference", 2)
    run = judge(study)
    client = log_in(study, "viewer")
    words = lines_of(page := client.get(page_of(run)))
    assert page.context["sentence"] == "Done, 4 of 4 calls answered; 4 replies do not say what was asked."
    assert "2, guidelines of version 1" in words and "each in both orders" in words
    assert "judge same-2" in words and "0 replies labelled, 4 are no label" in words
    assert "It depends &lt;b&gt;." in text_of(page) and "<b>." not in text_of(page)
    assert "Repeat, to measure drift" not in words and "Draw" not in words
    first = run.completions.order_by("position").first()
    assert page_of(run, "completion", first.pk) in text_of(page)
    assert len(client.get(page_of(run) + "?unlabelled=1").context["rows"]) == 4
    assert len(client.get(page_of(run) + "?prompt=item-1").context["rows"]) == 2


def test_call_page_shows_messages_label_and_that_the_hash_holds() -> None:
    make_judge(BOTH)
    study = study_of("preference", 1)
    call = judge(study).completions.get(task__payload__left="personalised")
    page = log_in(study, "viewer").get(page_of(call.run, "completion", call.pk))
    assert "exactly the same as what was sent" in text_of(page)
    assert ", personalised on the left: done." in lines_of(page)
    assert "Assam, without milk." in text_of(page) and "preference/milk" in text_of(page)
    assert reverse("agreement:item", args=["teas", call.task.annotation_item_id]) in text_of(page)


def test_list_names_the_judge_and_the_command_that_starts_one() -> None:
    make_judge("yes")
    study = study_of("relevance", 1)
    client = log_in(study, "researcher")
    address = reverse("baselines:runs", args=["teas"])
    assert "manage.py judge teas" in text_of(client.get(address))
    run = judge(study)
    page = client.get(address)
    assert f"Judge same-1 run {run.pk}" in lines_of(page)
    assert reverse("baselines:new-run", args=["teas"]) not in text_of(page)


def test_pages_take_as_many_statements_for_many_calls(django_assert_max_num_queries) -> None:
    make_judge("It depends.")
    study = study_of("relevance", 30)
    run = judge(study)
    client = log_in(study, "viewer")
    with django_assert_max_num_queries(26):
        client.get(page_of(run))


def test_api_names_what_is_judged() -> None:
    make_judge(BOTH)
    study = study_of("preference", 1)
    run = judge(study)
    client = program_of(make_account("ada", study, "viewer"))
    told = client.get(f"/api/v1/runs/{run.pk}/").json()["run"]
    assert (told["condition"], told["instruction"], told["both_orders"], told["pilot"]) == (
        "judge",
        "same-2",
        True,
        False,
    )
    calls = client.get("/api/v1/studies/teas/completions/").json()["results"]
    assert [(call["annotation_item"], call["left"], call["prompt"]) for call in calls] == [
        ("item-0", "generic", None),
        ("item-0", "personalised", None),
    ]
    assert Completion.objects.count() == 2


def test_lane_stops_a_run_whose_instruction_is_unknown() -> None:
    make_judge("yes")
    run = plan(study_of("relevance", 1))
    Run.objects.filter(pk=run.pk).update(instruction="same-0")
    assert run_lane(resume(run).pk, Bounds()) == 0
    assert progress(run)["reason"].startswith("The instruction same-0 is not known here")
