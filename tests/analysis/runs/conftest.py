"""A draft study, a researcher who looks at it, and the runs handed to workers."""

import pytest
from django.test import Client

from analysis.runs.pages import actions
from surveys.models import Study
from tests.factories import make_study
from tests.surveys.console.console_pages import log_in


@pytest.fixture
def study() -> Study:
    return make_study("draft")


@pytest.fixture
def client(study: Study) -> Client:
    return log_in(study, "researcher")


@pytest.fixture
def ten_seconds_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix a run's time at work, however slow the test machine is."""
    monkeypatch.setattr("analysis.runs.lanes.runs.seconds_at_work", lambda run: 10.0)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs handed to workers."""
    runs: list[int] = []
    monkeypatch.setattr(actions, "enqueue_lanes", runs.append)
    return runs
