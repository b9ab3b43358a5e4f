"""A draft study, a researcher who looks at it, and the runs handed to workers."""

import pytest

from analysis.runs.pages import actions
from tests.factories import make_study
from tests.surveys.console.console_pages import log_in

study = pytest.fixture(lambda: make_study("draft"))
client = pytest.fixture(lambda study: log_in(study, "researcher"))


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
