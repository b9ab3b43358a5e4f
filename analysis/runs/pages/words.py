"""What a reader is told about runs: where one stands in a sentence, and bars."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from analysis.models import Run
from analysis.runs.pages.reads import RunProgress
from surveys.console.wording import dollars, duration, plural

State = Run.State
BAR = 1000  # width of a bar's own units


def say_state(run: Run, now: dict[str, Any]) -> str:
    """The page's heading; `now` is the run's progress."""
    ended, calls = now["done"] + now["failed"], now["calls"]
    answered = f"{now['done']:,} of {plural(calls, 'call')} answered"
    if run.state == State.PLANNED:
        return f"Planned: {plural(calls - ended, 'call')} to send, {answered}."
    if run.state == State.STOPPED:
        return f"Stopped, {answered}: {run.reason}"
    if run.state == State.CANCELLED:
        return f"Cancelled, {answered}."
    if run.state == State.PAUSED:
        flying = f" {plural(now['in_flight'], 'call')} still in flight." if now["in_flight"] else ""
        return f"Paused, {answered}.{flying}"
    if run.state == State.DONE:
        failed = f"; {now['failed']:,} failed" if now["failed"] else ""
        return f"Done, {answered}{failed}."
    return say_running(answered, now)


def say_running(answered: str, now: dict[str, Any]) -> str:
    if now["waiting_until"]:
        at = datetime.fromtimestamp(now["waiting_until"], UTC)
        return f"Running, {answered}. The provider asked us to wait until {at:%H:%M:%S} UTC."
    if now["eta_seconds"] is not None:
        return f"Running, {answered}, about {duration(now['eta_seconds'])} to go."
    if now["in_flight"]:
        return f"Running, {answered}; {plural(now['in_flight'], 'call')} in flight."
    return f"Running, {answered}. No worker has taken it yet."


def say_runs(runs: Sequence[Run], standings: Sequence[RunProgress]) -> str:
    """The list's heading: what goes on, and what waits for somebody; `standings` has all that are running."""
    if not runs:
        return "No baseline has been run yet."
    running = [entry for entry in standings if entry.run.state == State.RUNNING]
    stopped = sum(run.state == State.STOPPED for run in runs)
    number = plural(len(runs), "run")
    if not running:
        said = f"{number}, none is running"
    elif len(running) == 1:
        said = f"One of {number} is running: {running[0].run.title}, {say_left(running)}"
    else:
        said = f"{len(running)} of {number} are running, {say_left(running)}"
    waits = f"; {stopped} stopped and waiting for you" if stopped else ""
    return f"{said}{waits}."


def say_left(running: Sequence[RunProgress]) -> str:
    """How long until the last one is done, or how many calls are left where no one can say that yet."""
    seconds = [entry.eta_seconds for entry in running]
    if None not in seconds:
        return f"{duration(max(filter(None, seconds), default=0))} to go"
    return f"{plural(sum(entry.pending + entry.in_flight for entry in running), 'call')} to go"


def say_calls(entry: RunProgress) -> str:
    """Under a run's bar: what is answered, and what else there is to know of its calls."""
    parts = [f"{entry.done:,} of {entry.calls:,}"]
    if entry.failed:
        parts.append(f"{entry.failed:,} failed")
    if entry.run.state == State.RUNNING:
        parts += [f"{duration(entry.eta_seconds)} to go"] if entry.eta_seconds is not None else []
        parts += [f"{entry.calls_per_second:g} calls/s"] if entry.calls_per_second else []
    if entry.in_flight:
        parts.append(f"{entry.in_flight:,} in flight")
    return " · ".join(parts)


def say_day(at: datetime, now: datetime) -> str:
    if at.date() == now.date():
        return "today"
    return f"{at:%-d %b}" if at.year == now.year else f"{at:%-d %b %Y}"


def say_estimate(estimate: dict[str, Any]) -> str:
    return (
        f"{plural(estimate['calls'], 'call')}, about {estimate['prompt_tokens']:,} tokens in and "
        f"{estimate['completion_tokens']:,} out: {dollars(estimate['usd'])}, at most "
        f"{dollars(estimate['usd_most'])}."
    )


def bar_of(done: int, failed: int, in_flight: int, calls: int) -> dict[str, int]:
    """Where each part of a bar begins and how wide it is."""
    whole = max(calls, 1)
    parts = {"done": done, "failed": failed, "in_flight": in_flight}
    wide = {name: round(BAR * part / whole) for name, part in parts.items()}
    return {"width": BAR, **wide, "failed_at": wide["done"], "in_flight_at": wide["done"] + wide["failed"]}
