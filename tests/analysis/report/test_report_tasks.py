"""Workers are asked once for a part of a report, and compute it for the filters requested."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection

from analysis.models import MetricValue
from analysis.report import reports, tasks
from analysis.report.bundle.bundles import snapshot
from analysis.report.filters import Filters
from analysis.report.reports import APART, Reporting, keep_part, report
from tests.analysis.report.report_samples import make_teas
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    with redis.Redis.from_url(settings.REDIS_URL) as store:
        for key in store.scan_iter("report:*"):
            store.delete(key)
    yield


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    orders: list[Any] = []
    monkeypatch.setattr(tasks.compute_report, "delay", lambda *order: orders.append(order))
    return orders


def test_a_part_is_asked_for_once_for_the_same_answers(sent: list[Any]) -> None:
    assert tasks.enqueue_report(1, "memory=on", ["about", "items"], "ab") == ["about", "items"]
    assert tasks.enqueue_report(1, "memory=on", ["items", "drift"], "ab") == ["drift"]
    assert tasks.enqueue_report(1, "memory=on", ["items"], "ab") == []
    assert tasks.enqueue_report(1, "memory=on", ["items"], "cd") == ["items"]
    assert [order[2] for order in sent] == [["about", "items"], ["drift"], ["items"]]


def test_a_worker_computes_the_parts_of_the_view(sent: list[Any]) -> None:
    study = make_teas()
    assert tasks.compute_report(study.pk, "memory=on", ["about", "choices"]) == 2
    view = Reporting(study, Filters(memory=("on",)))
    assert (view.is_kept("choices"), view.is_kept("items")) == (True, False)
    assert not Reporting(study).is_kept("choices")


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_at_once_compute_once() -> None:
    study = make_study("draft")
    done: list[int] = []
    inside, go_on = threading.Event(), threading.Event()

    def compute() -> list[str]:
        done.append(1)
        inside.set()
        go_on.wait(10)
        return ["computed"]

    found: list[Any] = []

    def ask() -> None:
        with closing(connection):
            found.append(keep_part(study, "part:view", "fingerprint", compute).value)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    threads[0].start()
    inside.wait(10)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert (found, done) == ([["computed"]] * 3, [1])


def test_what_a_transaction_has_not_committed_is_computed_by_one_process() -> None:
    assert not reports.may_fork()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dies", [False, True])
def test_a_second_process_takes_parts_of_a_large_report_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dies: bool
) -> None:
    study = make_teas()
    alone = report(study, draws=20)
    MetricValue.objects.all().delete()
    first, compute, fork, seconds = os.getpid(), Reporting.kept, os.fork, []

    def forked() -> int:
        seconds.append(fork())
        return seconds[0]

    def kept(view: Reporting, name: str) -> MetricValue:
        began = time.monotonic()
        while os.getpid() == first and not list(tmp_path.iterdir()) and time.monotonic() < began + 20:
            time.sleep(0.01)
        if os.getpid() != first and dies:
            (tmp_path / "died").touch()
            os._exit(1)
        found = compute(view, name)
        if os.getpid() != first:
            (tmp_path / name).touch()
        return found

    monkeypatch.setattr(os, "fork", forked)
    monkeypatch.setattr(Reporting, "kept", kept)
    monkeypatch.setattr(reports, "MANY", 1)
    monkeypatch.setattr(reports, "may_fork", lambda: True)  # whatever the computer has
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest-xdist has a thread of its own
    together = report(study, draws=20)
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {"died"} if dies else there & set(APART) == there != set()
    assert together | {"generated_at": ""} == alone | {"generated_at": ""}
    with pytest.raises(ChildProcessError):  # it has ended and nothing of it is left
        os.waitpid(seconds[0], os.WNOHANG)


@pytest.mark.django_db(transaction=True)
def test_what_comes_while_a_bundle_is_written_is_not_in_it() -> None:
    study = make_study()

    def come() -> None:
        with closing(connection):
            make_participant(study)

    with snapshot():
        assert not study.participants.exists()
        beside = threading.Thread(target=come)
        beside.start()
        beside.join()
        assert not study.participants.exists()
    assert study.participants.exists()
