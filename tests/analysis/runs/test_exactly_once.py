"""No call is lost and none answered twice: under faults, with two lanes, and if a worker is killed."""

import signal
import subprocess
import sys
import time

import pytest

from analysis.models import Completion, Run
from analysis.runs.lanes import runs
from analysis.runs.lanes.calls import expire_leases
from analysis.runs.lanes.lanes import Bounds, run_lane
from fieldstudy.embedded import servers
from tests.analysis.runs.servers import (
    Server,
    make_planned,
    make_server_endpoint,
    of_test_database,
    serving,
    wait_for_answers,
    work_off,
)
from tests.factories import make_study
from tests.surveys.participation.threads import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]

LANE = """
import os, django
django.setup()
from analysis.runs.lanes.lanes import Bounds, run_lane
run_lane(int(os.environ["RUN"]), Bounds(lease_seconds=2))
"""


def key_of(call: Completion) -> str:
    return f"{call.run.created_at:%Y%m%d%H%M%S%f}-{call.run_id}-{call.pk}"


def check_books(run: Run, server: Server) -> None:
    """Assert that each row is done with a reply, and that the server answered it once."""
    calls = list(run.completions.select_related("run"))
    assert {call.status for call in calls} == {"done"}
    assert all(call.reply for call in calls)
    answers = server.answers()
    assert {key_of(call) for call in calls} == set(answers)
    assert set(answers.values()) == {1}


def test_refusals_and_errors_lose_nothing_and_answer_nothing_twice() -> None:
    faults = ("--fault", "429=0.05", "--fault", "500=0.02", "--retry-after", "0.2")
    with serving("--latency", "fixed:20", *faults) as server:
        run = work_off(make_planned(make_study(), make_server_endpoint(server, concurrency=32), repeats=300))
        check_books(run, server)
        attempts = sum(run.completions.values_list("attempts", flat=True))
        assert attempts == len(server.requests()) > 600


def test_two_lanes_share_the_rows() -> None:
    with serving("--latency", "fixed:20") as server:
        run = make_planned(make_study(), make_server_endpoint(server, concurrency=8), repeats=200)
        runs.start(run)
        answered = at_once([lambda: run_lane(run.pk)] * 2, 60)
        check_books(run, server)
        assert sum(answered) == 400 and min(answered) > 40


@pytest.mark.parametrize("fault", ["truncated", "malformed", "no-choices"])
def test_broken_answers_are_asked_again_and_counted_as_maybe_paid(fault: str) -> None:
    with serving("--fault", f"{fault}=0.1", "--honours-keys") as server:
        run = work_off(make_planned(make_study(), make_server_endpoint(server), repeats=40))
        assert set(run.completions.values_list("status", flat=True)) == {"done"}
        lost = sum(run.completions.values_list("lost_answers", flat=True))
        assert lost == sum(request["paid"] and not request["whole"] for request in server.requests()) > 0
        assert runs.progress(run)["maybe_paid"]["attempts"] == lost


def test_killed_worker_loses_no_answer_and_repeats_only_what_was_in_flight() -> None:
    with serving("--latency", "fixed:100") as server:
        run = make_planned(make_study(), make_server_endpoint(server, concurrency=16), repeats=150)
        runs.start(run)
        worker = start_worker(run)
        wait_for_answers(run, 60)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        before = dict(run.completions.filter(status="done").values_list("pk", "reply"))
        wait_for_leases(run)
        list(runs.run_inline(run, Bounds(lease_seconds=5)))
        run.refresh_from_db()
        assert run.state == "done" and run.completions.filter(status="done").count() == 300
        after = dict(run.completions.filter(pk__in=before).values_list("pk", "reply"))
        assert after == before
        twice = [key for key, number in server.answers().items() if number > 1]
        lost = [key_of(call) for call in runs.lost_rows(run).select_related("run")]
        # Twice: only those in flight. Lost: also the few marked before they are sent.
        assert set(twice) <= set(lost)
        assert len(twice) <= 16 and len(lost) <= 2 * 16 + 8
        assert run.reserved == 0


def test_terminated_worker_stores_what_is_in_flight_and_repeats_nothing() -> None:
    with serving("--latency", "fixed:200") as server:
        run = runs.start(make_planned(make_study(), make_server_endpoint(server, concurrency=8), repeats=100))
        worker = start_worker(run)
        wait_for_answers(run, 16)
        worker.send_signal(signal.SIGTERM)
        worker.wait(20)
        assert set(run.completions.values_list("status", flat=True)) == {"done", "pending"}
        assert len(server.answers()) == run.completions.filter(status="done").count() < 200


def start_worker(run: Run) -> subprocess.Popen:
    env = of_test_database() | {"RUN": str(run.pk)}
    return subprocess.Popen([sys.executable, "-c", LANE], cwd=servers.ROOT, env=env)


def wait_for_leases(run: Run) -> None:
    deadline = time.monotonic() + 30
    while run.completions.filter(status="leased").exists():
        assert time.monotonic() < deadline, "leases do not end"
        time.sleep(0.2)
        expire_leases(run.pk)
