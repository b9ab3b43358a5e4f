"""Many runs at one look: how far each is, in as many statements for thirty runs as for one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, QuerySet
from django.utils import timezone

from analysis.models import Completion, Endpoint, Run
from analysis.runs.lanes.runs import seconds_at_work
from surveys.models import Study

Status = Completion.Status
OWN = ("endpoint", "version", "corpus", "personas")


@dataclass(frozen=True)
class Standing:
    """A run and what has become of its calls."""

    run: Run
    done: int
    failed: int
    in_flight: int
    pending: int
    calls_per_second: float

    @property
    def calls(self) -> int:
        return self.done + self.failed + self.in_flight + self.pending

    @property
    def eta_seconds(self) -> int | None:
        left = self.pending + self.in_flight
        going = self.run.state == Run.State.RUNNING and self.calls_per_second
        return round(left / self.calls_per_second) if going else None


def runs_of(study: Study) -> QuerySet[Run]:
    """The study's runs, the newest first, with all that a row shows."""
    return Run.objects.filter(study=study).select_related(*OWN).order_by("-id")


def is_simulated(run: Run) -> bool:
    """Whether its answers are made up: nobody may take them for a model's."""
    return run.endpoint is not None and run.endpoint.provider == Endpoint.Provider.FAKE


def stand(runs: Sequence[Run]) -> list[Standing]:
    counts, rates = count_calls(runs), measure_rates(runs)
    return [
        Standing(
            run,
            done=counts.get((run.pk, Status.DONE), 0),
            failed=counts.get((run.pk, Status.FAILED), 0),
            in_flight=counts.get((run.pk, Status.LEASED), 0),
            pending=counts.get((run.pk, Status.PENDING), 0),
            calls_per_second=rates.get(run.pk, 0.0),
        )
        for run in runs
    ]


def count_calls(runs: Sequence[Run]) -> dict[tuple[int, str], int]:
    rows = Completion.objects.filter(run__in=runs).order_by().values_list("run", "status")
    return {(run, status): count for run, status, count in rows.annotate(count=Count("id"))}


def measure_rates(runs: Sequence[Run]) -> dict[int, float]:
    """Calls a second over the last minute, of those that are running."""
    running = {run.pk: run for run in runs if run.state == Run.State.RUNNING}
    late = Completion.objects.filter(run__in=running, done_at__gt=timezone.now() - timedelta(seconds=60)).order_by()
    counted: Any = late.values_list("run").annotate(count=Count("id"))
    return {run: round(count / seconds_at_work(running[run]), 2) for run, count in counted}
