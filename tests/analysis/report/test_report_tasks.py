"""Parts of a report are asked of a worker once, and computed for the filters that were asked for."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings

from analysis.report import tasks
from analysis.report.filters import Filters
from analysis.report.reports import Reporting
from tests.analysis.report.report_samples import is_kept, make_teas

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
    assert (is_kept(view, "choices"), is_kept(view, "items")) == (True, False)
    assert not is_kept(Reporting(study), "choices")
