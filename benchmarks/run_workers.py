"""From a run's order to its first call, and what a SIGKILL of its worker costs: `python -m benchmarks run_workers`.

The order goes to the console, in this process, or to `manage.py run_baseline --inline`. The SIGKILL hits a Celery
worker with the schedule, and all its processes, while 32 calls are in flight; another worker starts at once, as under a
supervisor. A call is paid twice if the model server answered it twice.
"""

import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command

from benchmarks.goals import ROWS, Goal
from benchmarks.runs import add_bench_endpoint, plan, requests_of, serving
from benchmarks.server import database_of_its_own
from fieldstudy.embedded import servers
from fieldstudy.embedded.children import following_parent

IN_FLIGHT = 32
KILLED_AT = (20, 200)  # the model's response time in ms
ANSWERED_BEFORE = 300
PATIENCE = 180
# A worker without its broker may ignore signals, so it is killed with all its processes when its standard input
# ends, as it does with ours.
WITH_US = ["sh", "-c", '"$@" & read -r _; kill -KILL 0', "worker"]
MOST_SECONDS_CONSOLE, MOST_SECONDS_COMMAND, MOST_SECONDS_STILL = 1.0, 2.0, 15.0


def goals(quick: bool) -> list[Goal]:
    rounds = 1 if quick else 5
    with database_of_its_own() as var:
        call_command("collectstatic", interactive=False, verbosity=0)
        call_command("load_study", str(servers.ROOT / "surveys" / "studies" / "demo.toml"), verbosity=0)
        with working(var):
            console = statistics.median(start_from_console() for _ in range(rounds))
        command = statistics.median(start_by_command() for _ in range(rounds))
        kills = [kill_and_go_on(var, latency) for latency in (KILLED_AT[-1:] if quick else KILLED_AT)]
    twice, still = (max(column) for column in zip(*kills, strict=True))
    measured = ((console, MOST_SECONDS_CONSOLE, "s"), (command, MOST_SECONDS_COMMAND, "s"))
    measured += ((twice, IN_FLIGHT, "calls"), (still, MOST_SECONDS_STILL, "s"))
    return [Goal(work, *row) for work, row in zip(ROWS["run_workers"], measured, strict=True)]


@contextmanager
def working(var: Path) -> Iterator[subprocess.Popen]:
    """Run a worker with two processes and the schedule; yield it once it takes tasks."""
    from fieldstudy.celery import app

    options = ["-A", "fieldstudy", "worker", "--beat", "--concurrency", "2", "--without-gossip", "--without-mingle"]
    command = [sys.executable, "-m", "celery", *options, "--schedule", str(var / "beat.db"), "--loglevel", "ERROR"]
    with (var / "log" / "worker.log").open("ab") as log:
        streams = {"stdin": subprocess.PIPE, "stdout": log, "stderr": log}
        worker = subprocess.Popen([*WITH_US, *command], cwd=servers.ROOT, start_new_session=True, **streams)
    try:
        wait_until(lambda: app.control.inspect(timeout=0.5).ping(), "The worker does not start.")
        yield worker
    finally:
        kill(worker)


def kill(worker: subprocess.Popen) -> None:
    if worker.poll() is None:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def start_from_console() -> float:
    """Return the seconds from submitting the form of a new run to the first call."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    from analysis.runs.lanes.runs import open_runs

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(get_user_model().objects.get_or_create(username="benchmark", is_superuser=True)[0])
    address = "/console/demo/baselines/new/"
    with serving("--latency", "fixed:200") as model:
        endpoint = add_bench_endpoint(model)
        assert client.get(address).status_code == 200
        began = time.time()
        given = {
            "endpoint": endpoint.name,
            "condition": "offline",
            "repeats": 25,
            "users": 1,
            "temperature": 1,
            "seed": 0,
        }
        answer = client.post(address, given | {"start": "1"})
        assert answer.status_code == 302, answer.content.decode()
        seconds = first_call(model) - began
        # A lane whose model server is gone would keep the worker busy retrying.
        wait_until(lambda: not open_runs().exists(), "The run does not end.")
        return seconds


def start_by_command() -> float:
    """Return the seconds from the start of the command to its first call."""
    with serving("--latency", "fixed:200") as model:
        endpoint = add_bench_endpoint(model)
        began = time.time()
        options = ["demo", "--endpoint", endpoint.name, "--condition", "offline", "--repeats", "25", "--inline"]
        command = subprocess.Popen(
            [sys.executable, "manage.py", "run_baseline", *options],
            cwd=servers.ROOT,
            stdout=sys.stderr.fileno(),  # our standard output is for the rows
            preexec_fn=following_parent(signal.SIGKILL),
        )
        try:
            seconds = first_call(model) - began
            assert command.wait(PATIENCE) == 0
            return seconds
        finally:
            command.kill()


def first_call(model: str) -> float:
    wait_until(lambda: requests_of(model), "No call comes.")
    return min(request["at"] for request in requests_of(model))


def kill_and_go_on(var: Path, latency: int) -> tuple[int, float]:
    """Return how many calls were paid twice, and the seconds from the kill to the next call."""
    from analysis.runs.tasks import enqueue_lanes

    with serving("--latency", f"fixed:{latency}") as model:
        run = plan(model, 3000 if latency < 100 else 900, concurrency=IN_FLIGHT)
        with working(var) as worker:
            enqueue_lanes(run.pk)
            wait_until(lambda: answered(run) > ANSWERED_BEFORE, "The worker answers nothing.")
            kill(worker)
            killed = time.time()
        with working(var):
            wait_until(lambda: run.completions.exclude(status="done").count() == 0, "The run does not end.")
        seen = requests_of(model)
    twice = sum(number > 1 for number in Counter(request["key"] for request in seen if request["whole"]).values())
    still = min(request["at"] for request in seen if request["at"] > killed) - killed
    print(f"killed at {latency} ms a call: {twice} paid twice, {still:.1f} s until it went on", flush=True)
    return twice, still


def answered(run) -> int:
    return run.completions.filter(status="done").count()


def wait_until(found, otherwise: str) -> None:
    end = time.monotonic() + PATIENCE
    while not found():
        if time.monotonic() > end:
            raise SystemExit(otherwise)
        time.sleep(0.05)
