"""Runs: starting, pausing, ending and repeating them, working in this process, and their progress."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connections, transaction
from django.db.models import Case, Count, F, Max, Q, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from analysis.endpoints.endpoints import EndpointError
from analysis.endpoints.limits import waiting_until
from analysis.endpoints.owners.sharing import NotShared, require_shared
from analysis.models import Completion, Run, Schedule
from analysis.models.conditions import ConditionError, drawn_from
from analysis.runs.lanes.calls import expire_leases
from analysis.runs.lanes.lanes import Bounds, run_lane
from analysis.runs.recipes.plans import RunPlanError, cost_so_far, plan_of, plan_run

log = logging.getLogger(__name__)

State, Status = Run.State, Completion.Status
WAIT_SECONDS = 0.5  # until calls of another lane may have come back
UNFINISHED = (Status.PENDING, Status.LEASED)
OPEN_STATES = (State.PLANNED, State.RUNNING, State.PAUSED, State.STOPPED)


class RunError(Exception):
    """An impossible change of a run; the message says why and what to do."""


# --- states


def start(run: Run) -> Run:
    """Let lanes take its calls; queueing or running the lanes is up to the caller."""
    return change_state(run, State.RUNNING, {State.PLANNED, State.RUNNING, State.DONE}, "started")


def pause(run: Run) -> Run:
    """Send nothing more; calls in flight are finished, since they are paid for."""
    return change_state(run, State.PAUSED, {State.PLANNED, State.RUNNING}, "paused")


@transaction.atomic
def resume(run: Run, budget: Decimal | None = None) -> Run:
    if budget is not None:
        Run.objects.filter(pk=run.pk).update(budget=budget)
    return change_state(run, State.RUNNING, {*OPEN_STATES, State.DONE}, "resumed")


def require_unfinished(run: Run) -> None:
    """Raise RunError if nothing is left to go on with; a done run may have been extended since."""
    over = run.state == State.DONE and run.condition != Run.Condition.IMPORTED  # refused with their own words
    if over and not run.completions.filter(status__in=UNFINISHED).exists():
        raise RunError(f"Run {run.pk} is done, so it can't be resumed.")


def cancel(run: Run) -> Run:
    """Cancel for good: unsent calls are never sent. Answers are kept."""
    return change_state(run, State.CANCELLED, set(OPEN_STATES), "cancelled")


def change_state(run: Run, state: str, allowed: set[str], action: str) -> Run:
    with transaction.atomic():
        run = Run.objects.select_for_update(of=("self",)).select_related("endpoint").get(pk=run.pk)
        if run.condition == Run.Condition.IMPORTED:
            raise RunError(f"Run {run.pk} was imported: nothing is sent for it, so it can't be {action}.")
        if run.state not in allowed:
            raise RunError(f"Run {run.pk} is {run.get_state_display().lower()}, so it can't be {action}.")
        run.state, run.reason = state, ""
        if state == State.RUNNING:
            run.began_at = run.began_at or timezone.now()
        run.ended_at = timezone.now() if state == State.CANCELLED else None
        run.save(update_fields=["state", "reason", "began_at", "ended_at"])
    finish_if_empty(run)
    run.refresh_from_db()
    return run


def finish_if_empty(run: Run) -> None:
    """Mark a running run without open calls as done."""
    left = run.completions.filter(status__in=UNFINISHED)
    if run.state == State.RUNNING and not left.exists():
        done = Run.objects.filter(pk=run.pk, state=State.RUNNING)
        done.update(state=State.DONE, ended_at=timezone.now())


def retry_failed(run: Run) -> int:
    """Make every failed call pending again and return how many; lost answers stay counted."""
    with transaction.atomic():
        # Calls before their run: the order in which lanes and erasures lock them.
        failed = run.completions.filter(status=Status.FAILED)
        count = failed.update(status=Status.PENDING, done_at=None, error="", error_kind="")
        run = Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
        if run.state == State.CANCELLED:
            raise RunError(f"Run {run.pk} is cancelled, so its failed calls can't be sent again.")
        if not count:
            raise RunError(f"Run {run.pk} has no failed calls.")
        if run.state == State.DONE:
            Run.objects.filter(pk=run.pk).update(state=State.PLANNED, ended_at=None)
    return count


def run_inline(run: Run, bounds: Bounds = Bounds(), lanes: int = 1) -> Iterator[Run]:  # noqa: B008
    """Work in this process, with this many lanes, until the run ends or stops; yield it after each turn of the first.

    Calls that a killed process left behind come back only when their lease ends, so this waits for them.
    """
    with lanes_beside(run, bounds, lanes - 1):
        while True:
            run_lane(run.pk, bounds)
            run.refresh_from_db()
            yield run
            if run.state != State.RUNNING:
                return
            if not has_calls_to_send(run.pk):
                time.sleep(WAIT_SECONDS)


@contextmanager
def lanes_beside(run: Run, bounds: Bounds, number: int) -> Iterator[None]:
    """Run further lanes in threads of their own, as long as the block lasts."""
    over = threading.Event()
    threads = [threading.Thread(target=work_beside, args=(run.pk, bounds, over)) for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def work_beside(run_id: int, bounds: Bounds, over: threading.Event) -> None:
    try:
        while not over.is_set():
            run_lane(run_id, bounds, over.is_set)
            over.wait(WAIT_SECONDS)
    finally:
        connections.close_all()


# --- looking

# A lane leases calls before it sends them: only sent ones are in flight; the others wait, as do those of dead lanes.
SENT = Q(status=Status.LEASED, sent_at__isnull=False, lease_until__gte=Now())
STANDING = Case(When(~SENT, status=Status.LEASED, then=Value(Status.PENDING.value)), default=F("status"))


@dataclass(frozen=True)
class RunProgress:
    """A run and the state of its calls."""

    run: Run
    done: int
    failed: int
    in_flight: int
    pending: int
    rate: float = 0.0  # calls a second over the last minute

    @property
    def calls(self) -> int:
        return self.done + self.failed + self.left

    @property
    def left(self) -> int:
        return self.pending + self.in_flight

    @property
    def counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in COUNTS}

    @property
    def calls_per_second(self) -> float:
        return round(self.rate, 2)

    @property
    def eta_seconds(self) -> int | None:
        return round(self.left / self.rate) if self.rate and self.run.state == State.RUNNING else None


COUNTS = ("calls", "done", "failed", "in_flight", "pending")


def progress_of(runs: Sequence[Run], rated: Sequence[Run] | None = None) -> list[RunProgress]:
    """Progress of many runs at one look; with rates of the running ones, unless others are `rated`."""
    rates = measure_rates([run for run in runs if run.state == State.RUNNING] if rated is None else rated)
    counts = count_calls(runs)
    columns = {"done": Status.DONE, "failed": Status.FAILED, "in_flight": Status.LEASED, "pending": Status.PENDING}
    return [
        RunProgress(run, **{name: counts[run.pk, of] for name, of in columns.items()}, rate=rates.get(run.pk, 0.0))
        for run in runs
    ]


def count_calls(runs: Sequence[Run]) -> Counter[tuple[int, str]]:
    """Count calls by run and standing, at one moment and by an index alone. Leased calls that are not in flight, as
    read from their rows, are pending.
    """
    calls = Completion.objects.filter(run__in=runs).order_by()
    found: Counter[tuple[int, str]] = Counter()
    for run, status, count in calls.values_list("run", "status").annotate(count=Count("*")):
        found[run, status] = count
    leased = {run: count for (run, status), count in found.items() if status == Status.LEASED}
    if leased:
        sent_calls = calls.filter(SENT, run__in=leased)
        sent: dict[int, int] = dict(sent_calls.values_list("run").annotate(count=Count("*")))
        for run, count in leased.items():
            found[run, Status.LEASED] = min(sent.get(run, 0), count)
            found[run, Status.PENDING] += count - found[run, Status.LEASED]
    return found


def measure_rates(runs: Sequence[Run]) -> dict[int, float]:
    """Calls per second over the last minute, by run."""
    late = Completion.objects.filter(run__in=runs, done_at__gt=timezone.now() - timedelta(seconds=60)).order_by()
    counted: dict[int, int] = dict(late.values_list("run").annotate(count=Count("id"))) if runs else {}
    return {run.pk: counted.get(run.pk, 0) / seconds_at_work(run) for run in runs}


def progress(run: Run, is_new: bool = False) -> dict[str, Any]:
    """A run's progress, for the console, the API and the terminal; `is_new`: the run was read just now."""
    if not is_new:
        run.refresh_from_db()
    (standing,), models = progress_of([run], rated=[run]), served(run)
    return {
        "run": run.pk,
        "state": run.state,
        "reason": run.reason,
        **standing.counts,
        "usd": float(run.spent),
        "reserved_usd": float(run.reserved),
        "budget_usd": None if run.budget is None else float(run.budget),
        "calls_per_second": standing.calls_per_second,
        "eta_seconds": standing.eta_seconds,
        "waiting_until": waiting_until(run.endpoint.name) if run.state == State.RUNNING and standing.left else None,
        "maybe_paid": lost_calls(run),
        "served": models,
        "mixed": len(models) > 1,
    }


def seconds_at_work(run: Run) -> float:
    if run.began_at is None:
        return 60.0
    return min(60.0, max(1.0, (timezone.now() - run.began_at).total_seconds()))


def lost_calls(run: Run) -> dict[str, Any]:
    """Attempts that may have been paid for without an answer, and what they cost if they were."""
    rows = lost_rows(run).values_list("lost_answers", "prompt_tokens", "completion_tokens", "cost")
    known = [(lost, cost) for lost, _, written, cost in rows if written is not None]
    total = sum(row[0] for row in rows)
    unit = Decimal(str(run.estimate.get("usd", 0))) / max(1, run.estimate.get("calls", 0) or 1)
    usd = sum((lost * cost for lost, cost in known), Decimal(0)) + (total - sum(n for n, _ in known)) * unit
    return {"calls": len(rows), "attempts": total, "usd": float(round(usd, 8))}


def lost_rows(run: Run) -> QuerySet[Completion]:
    return run.completions.filter(lost_answers__gt=0).order_by("position")


def served(run: Run) -> list[dict[str, Any]]:
    """Models and fingerprints that have answered; more than one means that the run is a mixture."""
    rows = run.completions.filter(status=Status.DONE).order_by().values("fingerprint", model=F("model_served"))
    found = rows.annotate(completions=Count("id")).order_by("-completions", "model", "fingerprint")
    return list(found.values("model", "fingerprint", "completions"))


def planned_before(run: Run, new: int) -> tuple[int, float]:
    """Count the calls that a run would send besides the `new` ones, and what they will cost, in dollars."""
    left = run.completions.filter(status__in=UNFINISHED).count()
    before = left - new
    return before, float(cost_so_far(run) - run.spent) * before / max(left, 1)


def failures(run: Run) -> list[dict[str, Any]]:
    """Failed calls, grouped by reason, the most frequent first."""
    rows = run.completions.filter(status=Status.FAILED).order_by().values(kind=F("error_kind"), reason=F("error"))
    return list(rows.annotate(count=Count("id"), example=Max("id")).order_by("-count"))


def open_runs() -> QuerySet[Run]:
    return Run.objects.filter(state=State.RUNNING)


def needs_lane(run: Run) -> bool:
    """Whether calls wait and no lane works on them."""
    waiting = has_calls_to_send(run.pk)
    return waiting and not run.completions.filter(status=Status.LEASED).exists()


def has_calls_to_send(run_id: int) -> bool:
    """Whether the run is running and another lane would find calls, once expired leases are taken back."""
    run = Run.objects.get(pk=run_id)
    expire_leases(run_id)
    finish_if_empty(run)
    return run.state == State.RUNNING and run.completions.filter(status=Status.PENDING).exists()


# --- the same run again every so many days, to see a model drift; each repetition is a run of its own

SCHEDULER = "schedule"
ONCE = {
    Run.Condition.IMPORTED: "was imported",
    Run.Condition.JUDGE: "is a judge's, who labels each item once",
    Run.Condition.TASK: "asks each task once",
}


def make_schedule(run: Run, every_days: int = 7) -> Schedule:
    """Repeat the first run of its kind every `every_days` days from now on. Raises RunError."""
    if every_days < 1:
        raise RunError("A run is repeated every day at most: --every takes a number of days from 1.")
    first = run.first_run or run
    if first.condition in ONCE:
        raise RunError(f"Run {first.pk} {ONCE[first.condition]}, so it can't be repeated.")
    due = timezone.now() + timedelta(days=every_days)
    schedule, _ = Schedule.objects.update_or_create(
        first_run=first, defaults={"every_days": every_days, "next_at": due, "active": True}
    )
    return schedule


def end_schedule(run: Run) -> None:
    if not Schedule.objects.filter(first_run=run.first_run or run, active=True).update(active=False):
        raise RunError(f"Run {run.pk} is not repeated.")


def repeat_due(now: datetime | None = None) -> list[Run]:
    """Plan and start the repetitions that are due; one that cannot be is skipped, not postponed."""
    due = Schedule.objects.filter(active=True, next_at__lte=now or timezone.now()).values_list("pk", flat=True)
    return [run for pk in list(due) if (run := repeat_one(pk, now or timezone.now()))]


def repeat_one(schedule_id: int, now: datetime) -> Run | None:
    with transaction.atomic():
        schedule = Schedule.objects.select_for_update().select_related("first_run").get(pk=schedule_id)
        if schedule.next_at > now or not schedule.active:  # another process was faster
            return None
        missed = (now - schedule.next_at) // timedelta(days=schedule.every_days)
        schedule.next_at += timedelta(days=schedule.every_days) * (missed + 1)
        schedule.save(update_fields=["next_at"])
        first = schedule.first_run
        if first.study:
            try:
                require_shared(first.study, first.endpoint, *drawn_from(first))
            except NotShared as error:
                log.warning("Run %s is not repeated this time: %s", first.pk, error)
                return None
        how = {"budget": first.budget, "again": True, "first_run": first}
        try:
            run, _ = plan_run(plan_of(first), first.repeats, SCHEDULER, **how)
        except (RunPlanError, ConditionError, EndpointError) as error:
            log.warning("Run %s is not repeated this time: %s", first.pk, error)
            return None
    return start(run)
