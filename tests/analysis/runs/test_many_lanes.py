"""A run has as many lanes as were asked for, in one process or in workers, and each works once."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from django.core.management import CommandError, call_command

from analysis.models import Answer, Run
from analysis.runs import tasks
from analysis.runs.lanes import runs
from analysis.runs.lanes.lanes import LaneTaken, run_lane
from surveys.models import Study
from tests.analysis.runs.servers import make_fake, make_planned, make_server_endpoint, serving
from tests.factories import make_study
from tests.surveys.participation.threads import at_once, beside

pytestmark = pytest.mark.django_db(transaction=True)
OFFLINE = ["--endpoint", "scripted", "--condition", "offline"]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Run and place of each lane that waits for a worker."""
    waiting: list[tuple[int, int]] = []
    monkeypatch.setattr(tasks.lane, "delay", lambda *given: waiting.append(given))
    with tasks.valkey() as store:
        for key in store.scan_iter("lanes:*"):
            store.delete(key)
    return waiting


def make_running(repeats: int = 10, again: bool = False, **changes: object) -> Run:
    study = Study.objects.get() if again else make_study()
    return runs.start(make_planned(study, make_fake(**changes), repeats, again=again))


def test_two_orders_of_one_plan_at_a_time_are_one_run() -> None:
    study, endpoint = make_study(), make_fake()
    at_once([lambda: make_planned(study, endpoint, 50)] * 2, 30)
    assert Run.objects.get().completions.count() == 100


def test_inline_lanes_share_the_calls(capsys: pytest.CaptureFixture[str]) -> None:
    make_study()
    with serving("--latency", "fixed:100") as server:
        make_server_endpoint(server, name="scripted", concurrency=4)
        call_command("run_baseline", "teas", *OFFLINE, "--repeats", "60", "--inline", "--lanes", "3", "--json")
        assert json.loads(capsys.readouterr().out)["done"] == 120
        assert set(server.answers().values()) == {1} and len(server.answers()) == 120
        assert 8 < server.most_in_flight() <= 12
    assert Answer.objects.count() == 120


def test_lanes_beside_end_with_the_run_that_stops(capsys: pytest.CaptureFixture[str]) -> None:
    make_study()
    make_fake(extra={"faults": {"authentication": 1}})
    before = threading.active_count()
    with pytest.raises(CommandError, match="stopped after 0 answers: 401"):
        call_command("run_baseline", "teas", *OFFLINE, "--repeats", "20", "--inline", "--lanes", "4")
    assert threading.active_count() == before


@pytest.mark.parametrize("number", ["0", "65", "-1", "many"])
@pytest.mark.django_db
def test_number_of_lanes_is_a_number(number: str) -> None:
    with pytest.raises(CommandError, match="not a number of lanes: from 1 to 64"):
        call_command("run_baseline", "teas", *OFFLINE, f"--lanes={number}")


@pytest.mark.django_db
def test_batch_run_takes_no_lanes() -> None:
    make_study()
    with serving() as server:
        make_server_endpoint(server, name="scripted")
        with pytest.raises(CommandError, match="which has no lanes"):
            call_command("run_baseline", "teas", *OFFLINE, "--batch", "--lanes", "2")


@pytest.mark.django_db
def test_workers_get_as_many_lanes_as_were_asked_for(queue: list[tuple[int, int]]) -> None:
    run = make_running()
    assert tasks.enqueue_lanes(run.pk, 3) == 3
    assert tasks.enqueue_lanes(run.pk) == 0  # all are waiting already
    assert queue == [(run.pk, 0), (run.pk, 1), (run.pk, 2)]
    other = make_running(again=True)
    assert tasks.enqueue_lanes(other.pk) == 1


@pytest.mark.django_db
def test_lane_that_ends_makes_room_for_all_that_are_missing(
    queue: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_running()
    tasks.enqueue_lanes(run.pk, 2)
    monkeypatch.setattr(tasks, "run_lane", lambda *given, **more: 5)
    assert tasks.lane(*queue.pop(0)) == 5
    assert queue == [(run.pk, 1), (run.pk, 0)]
    runs.pause(run)
    assert tasks.lane(*queue.pop(0)) == 5
    assert queue == [(run.pk, 0)]


@pytest.mark.django_db
def test_lost_lanes_are_queued_again_by_the_watcher(queue: list[tuple[int, int]]) -> None:
    run = make_running()
    tasks.enqueue_lanes(run.pk, 2)
    assert tasks.watch_runs() == 0
    queue.clear()
    with redis.Redis.from_url(tasks.settings.REDIS_URL) as store:
        store.delete(*(tasks.queued(run.pk, place) for place in range(2)))  # ten minutes later
    assert tasks.watch_runs() == 2 and queue == [(run.pk, 0), (run.pk, 1)]


@pytest.mark.django_db
def test_lane_whose_worker_ended_before_it_began_does_not_wait_for_long(queue: list[tuple[int, int]]) -> None:
    run = make_running()
    tasks.enqueue_lanes(run.pk)
    queue.clear()
    with tasks.valkey() as store:
        store.delete("celery")
        store.expire(tasks.queued(run.pk, 0), tasks.QUEUED_SECONDS - tasks.BEGUN_SECONDS - 1)
        store.lpush("celery", "a task that waits")  # so this lane may be waiting too
        assert tasks.watch_runs() == 0
        store.delete("celery")
    assert tasks.watch_runs() == 1 and queue == [(run.pk, 0)]
    assert tasks.watch_runs() == 0


def test_place_is_held_while_its_lane_works_and_free_afterwards() -> None:
    run = make_running(repeats=15, concurrency=2, extra={"latency_ms": 100})
    with ThreadPoolExecutor() as pool:
        lane = beside(lambda: run_lane(run.pk, should_stop=lambda: False, place=0), pool)
        while not run.completions.filter(status="done").exists():
            time.sleep(0.05)
        with pytest.raises(LaneTaken):
            run_lane(run.pk, place=0)
        assert tasks.lane(run.pk, 0) == 0
        answered = (run_lane(run.pk, place=1), lane.result(20))
    assert sum(answered) == 30 and min(answered) > 3
    assert run_lane(run.pk, place=0) == 0  # nothing is left to send, and the place is free
