"""A plan that is killed resumes from what it had, and gives the same result as one that was not."""

import json
import signal
import subprocess
import sys
import time
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from analysis.models import MetricValue
from analysis.plans import kept, simulating
from analysis.plans.kept import CELL, KeptCells, find_plan, keep_plan
from analysis.report.reports import tidy
from surveys.participation import recruitment
from surveys.studies.lifecycle import definition_of
from tests.analysis.plans.test_looks import LOOKED_AT
from tests.analysis.runs.servers import of_test_database
from tests.factories import State, make_participant, make_study

SIZES, REPLICATES = (100, 200), 60


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_a_killed_plan_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study("draft", LOOKED_AT)
    given = ["plan", "teas", "--people", *map(str, SIZES), "--replicates", str(REPLICATES), "--json"]
    with subprocess.Popen(
        [sys.executable, "manage.py", *given], env=of_test_database(), stdout=subprocess.DEVNULL
    ) as worker:
        deadline = time.monotonic() + 120
        while MetricValue.objects.filter(name=CELL).count() < 2:
            assert worker.poll() is None and time.monotonic() < deadline, "it simulates nothing"
            time.sleep(0.02)
        worker.send_signal(signal.SIGKILL)
    there, anew = MetricValue.objects.filter(name=CELL).count(), []
    simulate_size = simulating.simulate_size

    def counted(*place: Any) -> Any:
        anew.append(place)
        return simulate_size(*place)

    monkeypatch.setattr(simulating, "simulate_size", counted)
    out = StringIO()
    call_command(*given, stdout=out)
    found = json.loads(out.getvalue())
    assert there >= 2 and len(anew) == 3 * len(SIZES) + 1 - there
    assert not MetricValue.objects.filter(name=CELL).exists()
    setting = simulating.Setting(SIZES, REPLICATES)
    whole = simulating.simulate(definition_of(study.current_id), setting)
    assert [tidy(found[name]) == tidy(whole[name]) for name in ("rows", "looks", "nothing")] == [True] * 3


@pytest.mark.django_db
def test_what_a_withdrawal_came_into_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study("pilot", LOOKED_AT)
    cells = KeptCells(study, simulating.Setting())
    cells.keep("middle", 100, {"rows": []}, 1)

    def simulated(*place: Any, cells: KeptCells, **more: Any) -> Any:
        recruitment.withdraw(make_participant(study, State.COMPLETED))
        cells.keep("middle", 100, {"rows": []}, 1)
        assert cells.find("middle", 100) is None
        return {"rows": []}

    assert cells.find("middle", 100) is not None
    monkeypatch.setattr(kept, "plan_study", simulated)
    keep_plan(study)
    assert not MetricValue.objects.filter(study=study).exists()


@pytest.mark.django_db
def test_a_plan_is_kept_for_what_it_was_begun_with(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study("pilot", LOOKED_AT)
    monkeypatch.setattr(kept, "plan_study", lambda *place, **more: {"rows": []})
    keep_plan(study)
    assert find_plan(study) == {"rows": [], "analysis": kept.plan_version()}
    monkeypatch.setattr(kept, "plan_study", lambda *place, **more: {"rows": [make_participant(study).pk]})
    keep_plan(study)
    assert find_plan(study) is None  # somebody has joined the pilot since
