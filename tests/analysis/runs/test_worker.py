"""A real Celery worker takes a run's lanes, and hands them over when it is asked to end."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from analysis.models import Run
from analysis.runs import tasks
from analysis.runs.lanes import runs
from fieldstudy.celery import app
from fieldstudy.embedded import servers
from tests.analysis.runs.servers import (
    Server,
    make_planned,
    make_server_endpoint,
    of_test_database,
    serving,
    wait_for_answers,
)
from tests.embedded import wait_for
from tests.factories import make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.processes]


@contextmanager
def working() -> Iterator[subprocess.Popen]:
    """A worker with two processes on the test's database."""
    options = ["-A", "fieldstudy", "worker", "--concurrency", "2", "--loglevel", "ERROR"]
    worker = subprocess.Popen([sys.executable, "-m", "celery", *options], cwd=servers.ROOT, env=of_test_database())
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


@pytest.fixture(autouse=True)
def empty_queue() -> Iterator[None]:
    app.control.purge()
    with tasks.valkey() as store:
        for key in store.scan_iter("lanes:*"):
            store.delete(key)
    yield
    app.control.purge()


def make_running(server: Server, repeats: int) -> Run:
    return runs.start(make_planned(make_study(), make_server_endpoint(server, concurrency=4), repeats))


def test_worker_that_is_asked_to_end_stores_what_is_in_flight_and_the_next_goes_on() -> None:
    with serving("--latency", "fixed:300") as server:
        run = make_running(server, repeats=100)
        tasks.enqueue_lanes(run.pk, 2)
        with working() as worker:
            wait_for_answers(run, 20)
            assert server.most_in_flight() == 8  # two lanes
            asked = time.monotonic()
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0 and time.monotonic() - asked < 15
        left = run.completions.exclude(status="done")
        assert set(left.values_list("status", "lane", "lost_answers", "attempts")) == {("pending", "", 0, 0)}
        assert len(server.answers()) == run.completions.filter(status="done").count() < 200
        assert tasks.watch_runs() == 2  # no worker is left
        with working():
            wait_for_answers(run, 200)
            assert wait_for(Run.objects.filter(pk=run.pk, state="done").exists)  # the last lane closes it
        assert set(server.answers().values()) == {1} and len(server.answers()) == 200
