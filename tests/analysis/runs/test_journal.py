"""Answers that a dead lane received but did not store are stored by the next process on its computer."""

import fcntl
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import pytest
from django.utils import timezone

from analysis.models import Run
from analysis.runs.lanes.calls import CallOutcome, expire_leases, write_outcome
from analysis.runs.lanes.journal import Journal, folder, left_behind
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.analysis.runs.servers import make_planned
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(settings: Any, tmp_path: Path) -> Run:
    """A run with two calls of the lane `first` in flight, whose leases last an hour."""
    settings.VAR_FOLDER = tmp_path
    run = make_planned(make_study(), make_endpoint(), repeats=1)
    now = timezone.now()
    run.completions.update(status="leased", lane="first", sent_at=now, lease_until=now + timedelta(hours=1))
    return run


def test_answers_of_a_dead_lane_are_stored_and_only_the_rest_is_sent_again(run: Run) -> None:
    answered, *others = run.completions.order_by("pk")
    journal = Journal(run.pk, "first")
    journal.note(write_outcome(CallOutcome(answered.pk, "done", 1, 0, reply="Assam")))
    assert expire_leases(run.pk) == 0  # it is alive
    for file in journal.files:
        file.close()  # as the system does when the process is killed
    assert expire_leases(run.pk) == len(others) > 0
    assert list(run.completions.filter(status="done").values_list("pk", "reply")) == [(answered.pk, "Assam")]
    assert set(run.completions.exclude(pk=answered.pk).values_list("status", "lost_answers")) == {("pending", 1)}
    assert list(folder().iterdir()) == []


def test_journal_keeps_what_is_not_stored_and_goes_when_all_is(run: Run) -> None:
    journal = Journal(run.pk, "first")
    journal.note("one")
    journal.turn()
    journal.note("two")
    journal.forget()
    assert [path.read_text() for path in sorted(folder().iterdir())] == ["", "two\n"]
    journal.turn()
    journal.forget()
    journal.close()
    assert list(folder().iterdir()) == []


def test_files_are_not_taken_for_left_behind_before_they_are_locked(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_FOLDER = tmp_path
    lock, seen = fcntl.flock, []

    def look_first(file: IO[bytes], how: int) -> None:
        if how == fcntl.LOCK_EX:
            seen.extend(left_behind(7))
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", look_first)
    journal = Journal(7, "first")
    journal.note("an answer")
    assert seen == []
    journal.close()
    assert list(left_behind(7)) == [("first", ["an answer"])]
