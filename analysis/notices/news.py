"""Kinds of news about a study, each found by one function in what other rooms have counted."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from django.conf import settings

from analysis.models import MetricValue, Run, TrainedModel
from surveys.console.monitoring.monitor import HourlyPay, behind, count_cells, promise_of, work_of
from surveys.models import AnnotationItem, Participant, Slot, Study
from surveys.studies.flow import people_of
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import THIN, dollars, money, money_range, percent, plural

BUDGET = Decimal("0.8")  # the share of a run's budget that is news once spent
FULL = 0.9  # of the disk
SURE = 0.05  # p after Holm below which drift is sure, as in the report


@dataclass(frozen=True)
class News:
    """A piece of news, recognised by its `key` and told again when `stands` changes."""

    key: str
    words: str
    stands: str = ""


def stalled(study: Study) -> Iterator[News]:
    if study.state == Study.State.LIVE and (slow := behind(list(count_cells(study)))):
        yield News(f"cell {slow.id}", f"{slow.name} is behind: {slow.filled:,} of {slow.places:,} places are filled.")


def low_pay(study: Study) -> Iterator[News]:
    people = people_of(study, "main").exclude(origin=Participant.Origin.IMPORTED)
    pay = HourlyPay("", promise_of(study.current_id), work_of(study, people))
    if pay.below and pay.per_hour is not None:
        currency = definition_of(study.current_id).pay.currency
        earned, promised = money(pay.per_hour, currency), money_range(pay.promised, currency)
        yield News("pay", f"Pay is below the promise: median {earned} an hour (n = {pay.n:,}), promised {promised}.")


def spent_budgets(study: Study) -> Iterator[News]:
    for run in study.runs.filter(state=Run.State.RUNNING, budget__gt=0):
        if run.spent >= BUDGET * run.budget:
            share = percent(float(run.spent / run.budget))
            yield News(f"budget {run.pk}", f"Run {run.pk} has spent {share} of its budget of {dollars(run.budget)}.")


def failures(study: Study) -> Iterator[News]:
    for run in study.runs.filter(state=Run.State.STOPPED):
        yield News(f"run {run.pk}", f"Run {run.pk} stopped early: {run.reason or 'no reason is known'}", run.reason)
    for model in TrainedModel.objects.filter(study=study, state=TrainedModel.State.FAILED):
        yield News(f"model {model.pk}", f"The training of {model.name} failed.", model.reason)


def drift(study: Study) -> Iterator[News]:
    """Read the newest drift that was computed; compute nothing."""
    kept = MetricValue.objects.filter(study=study, name__startswith="drift:").order_by("-computed_at").first()
    tested = [row for row in kept.value if row.get("p_holm") is not None] if kept else []
    sure = [row for row in tested if row["p_holm"] < SURE]
    if sure:
        where = sorted({str(row["again"]) for row in sure})
        words = f"Models answer otherwise than on the first day: {plural(len(sure), 'comparison')} of a repeated run."
        yield News("drift", words, ", ".join(where))


def gate_ready(study: Study) -> Iterator[News]:
    """Yield news once the pilot's items have all their labels, until somebody decides which annotators to keep."""
    if not definition_of(study.current_id).annotation or study.gate_decisions.exists():
        return
    purpose = AnnotationItem.Purpose.WORK
    slots = Slot.objects.filter(item__study=study, item__pilot=True, item__purpose=purpose)
    if slots.exists() and not slots.filter(done_at=None).exists():
        yield News("gate", "The pilot’s items have all their labels: the gate can be decided.")


def full_disk() -> list[News]:
    """News about this server's disk, which belongs to no study. VAR_FOLDER may not exist yet."""
    folder = Path(settings.VAR_FOLDER).resolve()
    disk = shutil.disk_usage(next(each for each in (folder, *folder.parents) if each.is_dir()))
    full = disk.used >= FULL * disk.total
    return [News("disk", f"The server’s disk is {percent(disk.used / disk.total)} full.")] if full else []


NEWS: dict[str, Callable[[Study], Iterator[News]]] = {
    "a cell that is behind": stalled,
    "pay below the promise": low_pay,
    f"a run that has spent 80{THIN}% of its budget": spent_budgets,
    "a run or training that failed": failures,
    "drift of a repeated run": drift,
    "a pilot gate that can be decided": gate_ready,
}


def news_of(study: Study) -> list[News]:
    if study.current_id is None or study.archived_at:
        return []
    return [piece for find in NEWS.values() for piece in find(study)]
