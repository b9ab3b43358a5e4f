"""What the console and the API do to a run: by the rules, in the audit trail, then handed to workers."""

import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.db import transaction

from analysis.endpoints.endpoints import EndpointError, check_endpoint
from analysis.endpoints.providers.openai import openai_package
from analysis.models import Run
from analysis.models.conditions import ConditionError
from analysis.models.settings import drawn_from
from analysis.owners.sharing import NotShared, hold, refusal, require_role, require_sending, require_shared
from analysis.runs.lanes.batches import cancel_batches
from analysis.runs.lanes.runs import RunError, cancel, end_schedule, make_schedule, pause, resume, retry_failed, start
from analysis.runs.pages.forms import RunForm
from analysis.runs.recipes.plans import RunPlanError, plan_run
from analysis.runs.tasks import enqueue_lanes, work_batches
from surveys.console.wording import exact_dollars, plural
from surveys.models import Study
from surveys.studies import audit

log = logging.getLogger(__name__)
MOST_NOTE = 2000  # characters
CANNOT_BE_DONE = (RunError, RunPlanError, EndpointError, ConditionError, NotShared)


def order_run(form: RunForm, account: Any) -> tuple[Run, dict[str, Any]]:
    """Plan what the form asks for and start it; the run, and what its new calls will cost."""
    plan, given = form.plan(), form.cleaned_data
    study, actor = plan.version.study, account.get_username()
    check_endpoint(plan.endpoint, plan.temperature)
    with transaction.atomic():
        run, estimate = plan_run(plan, given["repeats"], actor, budget=given["budget"], again=given["again"])
        require_role(account, study)
        require_shared(study, plan.endpoint, *drawn_from(plan))
        run = start(run)
        audit.record(
            study, actor, "baseline started", name_of(run), condition=run.condition, benchmark=run.benchmark,
            endpoint=run.endpoint.name, model=run.endpoint.model, budget=given["budget"], **estimate,
        )  # fmt: skip
        send_on_commit(run)
    return run, estimate


def name_of(run: Run) -> str:
    return f"run {run.pk}"


def send_on_commit(run: Run) -> None:
    """Robust: without a broker the run waits, running, for the watcher that gives lanes to such runs."""
    if run.state != Run.State.RUNNING:
        return
    send = work_batches.delay if run.batch else lambda: enqueue_lanes(run.pk)
    transaction.on_commit(send, robust=True)


def act(action: str, run: Run, account: Any, study: Study, **given: Any) -> str:
    """Do one of ACTIONS on the pages of `study`; returns what was done, in a sentence.

    Raises NotShared where the account may not any more, or the study may not use what a run sends or is sent with.
    """
    with transaction.atomic():
        require_role(account, study)
        hold(study)
        if not Run.objects.shown_to(account, study).filter(pk=run.pk).exists():
            raise NotShared(refusal(run, study))
        if action in SENDING and run.endpoint:
            require_sending(run, account, study)
        said, detail = ACTIONS[action](run, **given)
        audit.record(study, account.get_username(), f"baseline {NOTED[action]}", name_of(run), **detail)
    if action == "cancel" and run.batch:
        end_batches(run)
    return said


def pause_run(run: Run) -> tuple[str, dict]:
    pause(run)
    return "Paused. Nothing more is sent; calls in flight are finished.", {}


def resume_run(run: Run, budget: Decimal | None = None) -> tuple[str, dict]:
    if budget is not None and budget <= run.spent:
        raise RunError(
            f"{exact_dollars(budget)} is not more than the {exact_dollars(run.spent)} spent already. "
            "Give a larger budget."
        )
    send_on_commit(resume(run, budget))
    return "Resumed.", {} if budget is None else {"budget": budget}


def cancel_run(run: Run) -> tuple[str, dict]:
    cancel(run)
    return "Cancelled. The answers so far are kept.", {}


def retry_run(run: Run) -> tuple[str, dict]:
    again = retry_failed(run)
    if not again:
        raise RunError(f"Run {run.pk} has no failed calls.")
    send_on_commit(resume(run))
    return f"{plural(again, 'failed call')} will be sent again.", {"calls": again}


def repeat_run(run: Run, days: int = 7) -> tuple[str, dict]:
    schedule = make_schedule(run, days)
    return f"It is repeated every {days} days, next on {schedule.next_at:%-d %B %Y}.", {"every_days": days}


def stop_repeating(run: Run) -> tuple[str, dict]:
    if not end_schedule(run):
        raise RunError(f"Run {run.pk} is not repeated.")
    return "It is not repeated any more.", {}


def write_note(run: Run, note: str = "") -> tuple[str, dict]:
    note = note.replace("\0", "").strip()[:MOST_NOTE]
    if note == run.note:
        raise RunError("The note says that already.")
    before = run.note
    Run.objects.filter(pk=run.pk).update(note=note)
    return "The note is saved." if note else "The note is gone.", {"note": note, "before": before}


def end_batches(run: Run) -> None:
    """The run is cancelled, whether the provider hears of it or not; what it answers costs what it costs."""
    try:
        cancel_batches(run.pk)
    except (EndpointError, openai_package().APIError) as error:
        log.warning("The provider was not told that run %s is cancelled: %s", run.pk, error)


ACTIONS: dict[str, Callable[..., tuple[str, dict]]] = {
    "pause": pause_run,
    "resume": resume_run,
    "cancel": cancel_run,
    "retry": retry_run,
    "repeat": repeat_run,
    "stop-repeating": stop_repeating,
    "note": write_note,
}
SENDING = ("resume", "retry", "repeat")
NOTED = {
    "pause": "paused",
    "resume": "resumed",
    "cancel": "cancelled",
    "retry": "sent failed calls again",
    "repeat": "repeated by schedule",
    "stop-repeating": "no longer repeated",
    "note": "note written",
}
