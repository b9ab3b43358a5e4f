"""A judge's run goes through the machinery of all runs: lanes, faults, crashes, workers, pages and API."""

import signal
import threading
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from analysis.answers.compared import runs_of
from analysis.answers.readings import read_new
from analysis.models import Answer, Completion, Run
from analysis.models.conditions import CONDITIONS
from analysis.report.dataset import load_frames
from analysis.runs import tasks
from analysis.runs.asking.replies import count_replies, read_all_replies, read_replies
from analysis.runs.lanes import batches
from analysis.runs.lanes.lanes import Bounds, run_lane
from analysis.runs.lanes.runs import RunError, make_schedule, progress, resume, run_inline, start
from analysis.runs.pages import actions
from surveys.models import Annotation
from tests.analysis.runs.judge_samples import BOTH, judge, make_judge, plan, study_of, work_off
from tests.analysis.runs.servers import make_server_endpoint, serving
from tests.analysis.runs.test_exactly_once import check_books, key_of, start_worker, wait_for_answers, wait_for_leases
from tests.factories import make_account
from tests.surveys.console.console_pages import lines_of, log_in, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def check_labels(run: Run) -> None:
    """Each call was read once, and there is one label for each item and order."""
    calls = run.completions.count()
    assert run.tasks.filter(read_at__isnull=False).count() == calls
    kept = Annotation.objects.exclude(judge="")
    assert kept.count() == calls == len(set(kept.values_list("item", "left")))
    assert count_replies(run) == {"read": calls, "unreadable": 0, "waiting": 0}


# --- faults and crashes


@pytest.mark.processes
def test_refusals_and_errors_lose_no_label_and_ask_nothing_twice() -> None:
    faults = ("--fault", "429=0.05", "--fault", "500=0.02", "--retry-after", "0.2")
    with serving("--reply", "yes", *faults) as server:
        make_server_endpoint(server)
        run = judge(study_of("relevance", 150), endpoint="served")
        check_books(run, server)
        assert len(server.requests()) > 150
    check_labels(run)


@pytest.mark.processes
def test_two_lanes_share_the_calls() -> None:
    with serving("--latency", "fixed:20", "--reply", BOTH) as server:
        make_server_endpoint(server, concurrency=4)
        run = resume(plan(study_of("preference", 60), endpoint="served"))
        answered: list[int] = []

        def work() -> None:
            answered.append(run_lane(run.pk))
            read_replies(Run.objects.get(pk=run.pk))
            connections.close_all()

        lanes = [threading.Thread(target=work) for _ in range(2)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join(60)
        check_books(run, server)
    assert sum(answered) == 120 and min(answered) > 10
    read_replies(run)
    check_labels(run)


@pytest.mark.processes
def test_killed_worker_loses_no_reply_and_the_same_command_goes_on() -> None:
    with serving("--latency", "fixed:100", "--reply", "no") as server:
        make_server_endpoint(server, concurrency=8)
        study = study_of("relevance", 120)
        run = start(plan(study, endpoint="served"))
        worker = start_worker(run)
        wait_for_answers(run, 30)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        before = set(run.completions.filter(status="done").values_list("pk", flat=True))
        wait_for_leases(run)
        assert judge(study, endpoint="served") == run
        lost = {key_of(call) for call in run.completions.filter(lost_answers__gt=0).select_related("run")}
        twice = {key for key, number in server.answers().items() if number > 1}
        assert twice <= lost and len(twice) <= 2 * 8
        assert not before & set(run.completions.filter(lost_answers__gt=0).values_list("pk", flat=True))
    assert Run.objects.count() == 1
    check_labels(run)


def test_what_a_dead_worker_left_unread_is_read_by_the_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    make_judge("yes")
    run = resume(plan(study_of("relevance")))
    for _ in run_inline(run):
        pass
    assert count_replies(run) == {"read": 0, "unreadable": 0, "waiting": 3}
    tasks.read_left_replies()
    check_labels(run)
    assert read_all_replies() == 0


def test_replies_to_an_unknown_instruction_hold_up_no_other_run() -> None:
    make_judge("yes")
    study = study_of("relevance")
    unknown, known = resume(plan(study)), resume(plan(study, "optimised"))
    for run in (unknown, known):
        for _ in run_inline(run):
            pass
    Run.objects.filter(pk=unknown.pk).update(instruction="same-0")
    assert read_all_replies() == 3
    assert count_replies(known)["read"] == count_replies(unknown)["waiting"] == 3


def test_worker_asks_and_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    make_judge("yes")
    run = resume(plan(study_of("relevance")))
    monkeypatch.setattr(tasks, "worker_is_stopping", lambda: False)
    assert tasks.lane(run.pk) == 3
    check_labels(run)


@pytest.mark.processes
def test_batches_carry_judges_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("--reply", BOTH, "--batch-seconds", "0") as server:
        make_server_endpoint(server, price_in=1, price_out=1)
        run = resume(plan(study_of("preference", 3), endpoint="served", batch=True))
        while run.state == "running":
            batches.work(run.pk)
            run.refresh_from_db()
    tasks.work_batches()
    check_labels(run)
    assert all(run.completions.exclude(messages_sha256="").values_list("cost", flat=True))


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


def token_client(*account: Any) -> Client:
    token = Token.objects.create(user=make_account(*account))
    return Client(headers={"Authorization": f"Token {token.key}"})


def page_of(run: Run, name: str = "run", *more: object) -> str:
    return reverse(f"baselines:{name}", args=["teas", run.pk, *more])


def test_run_page_says_what_is_judged_and_what_is_no_label() -> None:
    make_judge("It depends <b>.")
    study = study_of("preference", 2)
    run = judge(study)
    client = log_in(study, "viewer")
    words = lines_of(page := client.get(page_of(run)))
    assert page.context["sentence"] == "Done, 4 of 4 calls answered."
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


def test_judges_of_other_studies_are_not_found() -> None:
    make_judge("yes")
    run = judge(study_of("relevance", 1))
    assert log_in(run.study, "viewer").get(page_of(run)).status_code == 200
    client = log_in(name="stranger")
    call = run.completions.get()
    for path in (page_of(run), page_of(run, "run-part"), page_of(run, "completion", call.pk)):
        assert client.get(path).status_code == 404
    assert token_client("grace").get(f"/api/v1/runs/{run.pk}/").status_code == 404


def test_researchers_pause_and_resume_and_viewers_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(actions, "enqueue_lanes", sent.append)
    make_judge("yes")
    study = study_of("relevance", 1)
    run = plan(study)
    assert log_in(study, "viewer").post(page_of(run, "change-run", "pause")).status_code == 403
    client = log_in(study, "researcher", "grace")
    client.post(page_of(run, "change-run", "pause"))
    assert progress(run)["state"] == "paused"
    client.post(page_of(run, "change-run", "resume"))
    assert (progress(run)["state"], sent) == ("running", [run.pk])
    work_off(run)
    check_labels(run)


def test_api_names_what_is_judged() -> None:
    make_judge(BOTH)
    study = study_of("preference", 1)
    run = judge(study)
    client = token_client("ada", study, "viewer")
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
