"""A fault-injecting model server for tests, in its own process, and runs that are sent to it."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from django.db import connection

from analysis.endpoints.endpoints import add_endpoint
from analysis.models import Endpoint, Run
from analysis.runs.lanes.lanes import Bounds
from analysis.runs.lanes.runs import run_inline, start
from analysis.runs.recipes.plans import Plan, plan_run
from fieldstudy.embedded import servers
from surveys.models import Study


class Server:
    def __init__(self, address: str) -> None:
        self.address = address

    def log(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.address.removesuffix("/v1") + "/log") as response:
            return json.load(response)

    def requests(self) -> list[dict[str, Any]]:
        return self.log()["requests"]

    def most_in_flight(self) -> int:
        return self.log()["most_in_flight"]

    def answers(self) -> Counter[str]:
        """How often each call got a whole reply."""
        return Counter(request["key"] for request in self.requests() if request["whole"])


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "tests.fake_server", *options]
    process = subprocess.Popen(command, cwd=servers.ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield Server(process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def make_server_endpoint(server: Server, **changes: Any) -> Endpoint:
    given = {"base_url": server.address, "model": "fake-1", "concurrency": 8, "max_tokens": 200}
    return add_endpoint(changes.pop("name", "served"), **given | changes)


def make_fake(**changes: Any) -> Endpoint:
    """An endpoint that answers within this process, without a network."""
    given = {"provider": "fake", "model": "scripted", "concurrency": 8, "max_tokens": 200}
    return add_endpoint(changes.pop("name", "scripted"), **given | changes)


def make_planned(study: Study, endpoint: Endpoint, repeats: int = 5, **changes: Any) -> Run:
    options = {name: changes.pop(name) for name in ("budget", "again") if name in changes}
    plan = Plan(endpoint=endpoint, condition="offline", version=study.current, **changes)
    return plan_run(plan, repeats, "tests", **options)[0]


def work_off(run: Run, bounds: Bounds | None = None) -> Run:
    """Start the run and work in this process until it ends."""
    list(run_inline(start(run), bounds or Bounds()))
    run.refresh_from_db()
    return run


def of_test_database() -> dict[str, str]:
    """The environment for a process that works on the test's database."""
    database = connection.settings_dict
    url = f"postgresql://{database['USER']}@/{database['NAME']}?host={quote(database['HOST'], safe='')}"
    return {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "fieldstudy.settings"}


def wait_for_answers(run: Run, count: int) -> None:
    deadline = time.monotonic() + 90
    while run.completions.filter(status="done").count() < count:
        assert time.monotonic() < deadline, "the worker answers nothing"
        time.sleep(0.05)
