"""Reads each reply once: into values, which its kind stores, or into the reason why there are none."""

import logging
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from analysis.models import Completion, Run, Task
from analysis.models.runs import ASIDE
from analysis.runs.asking.kinds import TaskFault
from analysis.runs.asking.registry import kind_of

log = logging.getLogger(__name__)

BATCH = 100
LONGEST_FAULT = 300
Status = Completion.Status


def read_replies(run: Run) -> int:
    """Read the run's unread replies and return how many. Concurrent readers each read their own."""
    read = 0
    while run.condition in ASIDE and waiting_replies(run).exists():
        read += read_batch(run)
    return read


def read_again(runs: QuerySet[Run]) -> int:
    """Read unreadable replies again, since an earlier version may have failed; return how many now are readable."""
    faulty = Task.objects.filter(~Q(fault=""), run__in=runs, completions__status=Status.DONE)
    before, asked = faulty.count(), list(runs.filter(Exists(faulty.filter(run=OuterRef("pk")))))
    Task.objects.filter(pk__in=list(faulty.values_list("pk", flat=True))).update(read_at=None, fault="")
    for run in asked:
        read_replies(run)
    return before - faulty.count()


def read_all_replies() -> int:
    """Read replies that workers left unread when they ended."""
    unread = Task.objects.filter(run=OuterRef("pk"), read_at__isnull=True, completions__status=Status.DONE)
    read = 0
    for run in Run.objects.filter(Exists(unread)).select_related("endpoint", "corpus", "version"):
        try:
            read += read_replies(run)
        except Exception:  # such as an instruction that this version lacks: one run's trouble stops no other
            log.exception("The replies of run %s are not read.", run.pk)
    return read


def waiting_replies(run: Run) -> QuerySet[Completion]:
    return run.completions.filter(status=Status.DONE, task__isnull=False, task__read_at__isnull=True)


@transaction.atomic
def read_batch(run: Run) -> int:
    """Read a batch. Calls are locked, then looked up again, so that a reader who waited skips what others have read."""
    kind = kind_of(run)
    locked = waiting_replies(run).select_for_update(of=("self",), no_key=True).order_by("task_id")
    keys = list(locked.values_list("pk", flat=True)[:BATCH])
    calls = Completion.objects.filter(pk__in=keys, task__read_at__isnull=True).order_by("task_id")
    calls = list(calls.select_related("task").prefetch_related(*(f"task__{name}" for name in kind.about)))
    for call in calls:
        call.task.run, call.task.read_at = run, timezone.now()
        try:
            call.task.values = kind.read(call.reply, call.task)
        except TaskFault as fault:
            call.task.fault = str(fault)[:LONGEST_FAULT]
    if kind.keep:
        kind.keep(run, [call for call in calls if call.task.values is not None])
    Task.objects.bulk_update([call.task for call in calls], ["values", "fault", "read_at"])
    return len(calls)


def count_replies(run: Run) -> dict[str, int]:
    """Counts of the replies: `read`, `unreadable`, and `waiting` to be read."""
    done = run.completions.filter(status=Status.DONE)
    return done.aggregate(
        read=Count("pk", filter=Q(task__values__isnull=False)),
        unreadable=Count("pk", filter=~Q(task__fault="")),
        waiting=Count("pk", filter=Q(task__read_at__isnull=True)),
    )


def unreadable(run: Run) -> QuerySet[Completion]:
    """Calls whose reply does not say what was asked."""
    return run.completions.filter(~Q(task__fault=""), task__isnull=False).order_by("position")


def say_unreadable(run: Run, most: int) -> list[dict[str, Any]]:
    """The first `most` unreadable ones, each with the number of its call and why."""
    return [{"call": call, "fault": fault} for call, fault in unreadable(run).values_list("pk", "task__fault")[:most]]
