"""The same run again every so many days, to see a model drift; each repetition is a run of its own."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from analysis.models import Run, Schedule
from analysis.runs.lanes.runs import RunError, start
from analysis.runs.recipes.plans import plan_of, plan_run

ACTOR = "schedule"


def make_schedule(run: Run, every_days: int = 7) -> Schedule:
    """Repeat the first run of its kind, from now on."""
    if every_days < 1:
        raise RunError("A run is repeated every day at most: --every takes a number of days from 1.")
    first = run.first_run or run
    if first.condition == Run.Condition.IMPORTED:
        raise RunError(f"Run {first.pk} was imported, so it can't be repeated.")
    if first.condition == Run.Condition.JUDGE:
        raise RunError(f"Run {first.pk} is a judge's, who labels each item once, so it can't be repeated.")
    due = timezone.now() + timedelta(days=every_days)
    schedule, _ = Schedule.objects.update_or_create(
        first_run=first, defaults={"every_days": every_days, "next_at": due, "active": True}
    )
    return schedule


def end_schedule(run: Run) -> bool:
    """Whether there was one to end."""
    return Schedule.objects.filter(first_run=run.first_run or run, active=True).update(active=False) > 0


def repeat_due(now: datetime | None = None) -> list[Run]:
    """Plan and start the runs that are due; a repetition that cannot be paid is left out, not postponed."""
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
        run, _ = plan_run(plan_of(first), first.repeats, ACTOR, budget=first.budget, again=True, first_run=first)
    return start(run)
