"""What console and API do to a run: checked, noted in the audit trail, then handed to workers."""

import logging
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from django.db import transaction

from analysis.endpoints.endpoints import EndpointError
from analysis.endpoints.owners.sharing import NotShared, hold, refusal, require_role, require_sending
from analysis.endpoints.providers.openai import openai_package
from analysis.models import Run
from analysis.models.conditions import ConditionError
from analysis.runs.lanes.batches import cancel_batches
from analysis.runs.lanes.runs import (
    RunError,
    cancel,
    end_schedule,
    make_schedule,
    pause,
    require_unfinished,
    resume,
    retry_failed,
)
from analysis.runs.recipes.plans import RunPlanError
from analysis.runs.tasks import enqueue_lanes, work_batches
from surveys.models import Study
from surveys.studies import audit
from surveys.studies.wording import exact_dollars, plural

log = logging.getLogger(__name__)
MOST_NOTE = 2000  # characters
CANNOT_BE_DONE = (RunError, RunPlanError, EndpointError, ConditionError, NotShared)


def name_of(run: Run) -> str:
    return f"run {run.pk}"


def send_on_commit(run: Run) -> None:
    """Send the run after the commit; robust: without a broker it waits, running, for the watcher that gives lanes."""
    if run.state != Run.State.RUNNING:
        return
    send = work_batches.delay if run.batch else lambda: enqueue_lanes(run.pk)
    transaction.on_commit(send, robust=True)


def act(action: str, run: Run, account: Any, study: Study, **given: Any) -> str:
    """Do one of ACTIONS on the pages of `study`; return what was done, in a sentence.

    Raises NotShared if the account may no longer do it, or the study may not use the run's endpoint or sources.
    """
    with transaction.atomic():
        require_role(account, study)
        hold(study)
        if not Run.objects.shown_to(account, study).filter(pk=run.pk).exists():
            raise NotShared(refusal(run, study))
        if ACTIONS[action].sends and run.endpoint:
            require_sending(run, account, study)
        said, detail = ACTIONS[action].do(run, **given)
        audit.record(study, account.get_username(), f"baseline {ACTIONS[action].noted}", name_of(run), **detail)
    if action == "cancel" and run.batch:  # cancelled even if the provider is not told; what it answers is paid for
        try:
            cancel_batches(run.pk)
        except (EndpointError, openai_package().APIError) as error:
            log.warning("The provider was not told that run %s is cancelled: %s", run.pk, error)
    return said


Done = tuple[str, dict[str, Any]]  # a sentence, and details for the audit trail


def pause_run(run: Run) -> Done:
    pause(run)
    return "Paused. Nothing more is sent; calls in flight are finished.", {}


def resume_run(run: Run, budget: Decimal | None = None) -> Done:
    require_unfinished(run)
    if budget is not None and budget <= run.spent:
        raise RunError(
            f"{exact_dollars(budget)} is not more than the {exact_dollars(run.spent)} spent already. "
            "Give a larger budget."
        )
    send_on_commit(resume(run, budget))
    return "Resumed.", {} if budget is None else {"budget": budget}


def cancel_run(run: Run) -> Done:
    cancel(run)
    return "Cancelled. The answers so far are kept.", {}


def retry_run(run: Run) -> Done:
    again = retry_failed(run)
    send_on_commit(resume(run))
    return f"{plural(again, 'failed call')} will be sent again.", {"calls": again}


def repeat_run(run: Run, days: int = 7) -> Done:
    schedule = make_schedule(run, days)
    return f"It is repeated {schedule}, next on {schedule.next_at:%-d %B %Y}.", {"every_days": days}


def stop_repeating(run: Run) -> Done:
    end_schedule(run)
    return "It is not repeated any more.", {}


def write_note(run: Run, note: str = "") -> Done:
    note = note.replace("\0", "").strip()[:MOST_NOTE]
    if note == run.note:
        raise RunError("The note says that already.")
    before = run.note
    Run.objects.filter(pk=run.pk).update(note=note)
    return "The note is saved." if note else "The note is gone.", {"note": note, "before": before}


class RunControl(NamedTuple):
    """An action on a run."""

    do: Callable[..., Done]
    noted: str  # in the audit trail
    summary: str = ""  # in the API; actions without one are not in it
    able: Collection[str] = ()  # the states in which its button makes sense
    question: str = ""  # before what can't be undone
    sends: bool = False


State = Run.State
BEGUN = {State.PLANNED, State.RUNNING}
HELD = {State.PAUSED, State.STOPPED}
ACTIONS = {
    "pause": RunControl(pause_run, "paused", "Pause: nothing more is sent", BEGUN),
    "resume": RunControl(resume_run, "resumed", "Go on with what is pending", {State.PLANNED, *HELD}, sends=True),
    "cancel": RunControl(cancel_run, "cancelled", "Cancel for good", BEGUN | HELD, "Cancel this run?"),
    "retry": RunControl(
        retry_run, "sent failed calls again", "Send the failed calls again", set(State) - {State.CANCELLED}, sends=True
    ),
    "repeat": RunControl(repeat_run, "repeated by schedule", sends=True),
    "stop-repeating": RunControl(stop_repeating, "no longer repeated"),
    "note": RunControl(write_note, "note written", "Write what is to be remembered of it"),
}


def read_given(action: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The action's arguments from a form or a program. Raises RunError."""
    if action == "note":
        if not isinstance(given.get("note"), str):
            raise RunError("Send the note as a text, empty to take it away.")
        return {"note": given["note"]}
    if action == "resume" and given.get("budget") is not None:
        return {"budget": read_budget(given["budget"])}
    if action == "repeat":
        days = given.get("days", "7")
        if not (days.isdecimal() and len(days) < 4 and 1 <= int(days) <= 366):
            raise RunError("Say after how many days it repeats: a whole number from 1 to 366.")
        return {"days": int(days)}
    return {}


def read_budget(text: object) -> Decimal:
    try:
        budget = Decimal(str(text))
    except InvalidOperation:
        raise RunError(f"“{str(text)[:40]}” is not an amount in dollars.") from None
    if not budget.is_finite() or not 0 < budget < 1_000_000:
        raise RunError("The budget must be above 0 and below 1,000,000 dollars.")
    return round(budget, 6)
