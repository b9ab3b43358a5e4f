"""Words about runs for readers: how far each is, what it was asked with, and where two differ."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from analysis.endpoints.endpoints import most_tokens
from analysis.models import Run
from analysis.models.conditions import STORED, RunSetting
from analysis.runs.lanes.runs import RunProgress
from surveys.studies.wording import dollars, duration, plural

State = Run.State
BAR = 1000  # width of a bar's own units


def say_state(run: Run, now: dict[str, Any], unreadable: int = 0) -> str:
    """The heading of a run's page; `now` is the run's progress, `unreadable` its replies that are no label or value."""
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
        unread = f"; {'1 reply does' if unreadable == 1 else f'{unreadable:,} replies do'} not say what was asked"
        return f"Done, {answered}{failed}{unread if unreadable else ''}."
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
    """The list's heading: what is running, or how many calls failed, and what waits for somebody; `standings` has all
    that are running, or all if none is.
    """
    if not runs:
        return "No baseline has been run yet."
    running = [entry for entry in standings if entry.run.state == State.RUNNING]
    stopped = sum(run.state == State.STOPPED for run in runs)
    number = plural(len(runs), "run")
    if not running:
        failed = sum(entry.failed for entry in standings)
        said = f"{number}, none is running"
        if failed:
            said += f"; {failed:,} of {plural(sum(entry.calls for entry in standings), 'call')} failed"
    elif len(running) == 1:
        said = f"One of {number} is running: {running[0].run.title}, {say_left(running)}"
    else:
        said = f"{len(running)} of {number} are running, {say_left(running)}"
    waits = f"; {stopped} stopped and waiting for a decision" if stopped else ""
    return f"{said}{waits}."


def say_left(running: Sequence[RunProgress]) -> str:
    """How long until the last run is done, or how many calls are left if that is not known."""
    seconds = [entry.eta_seconds for entry in running]
    if None not in seconds:
        return f"{duration(max(filter(None, seconds), default=0))} to go"
    return f"{plural(sum(entry.pending + entry.in_flight for entry in running), 'call')} to go"


def say_calls(entry: RunProgress) -> str:
    """The line under a run's bar: calls answered, and what else there is to know of them."""
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


def say_before(calls: int, usd: float) -> str:
    """The earlier calls that are sent besides those of an estimate; empty if there are none."""
    return f"{plural(calls, 'call')} planned before will be sent too: about {dollars(usd)}." if calls > 0 else ""


def bar_of(counts: Mapping[str, Any]) -> dict[str, int]:
    """Start and width of each part of a bar."""
    whole = max(counts["calls"], 1)
    wide = {name: round(BAR * counts[name] / whole) for name in ("done", "failed", "in_flight")}
    return {"width": BAR, **wide, "failed_at": wide["done"], "in_flight_at": wide["done"] + wide["failed"]}


# --- what runs were asked with: which of it tells runs of a list apart, and where two runs differ


@dataclass(frozen=True)
class ShownSetting:
    """A setting: its value in a run, None if runs of its kind have none, and how a list says it."""

    label: str
    words: Callable[[Run], str | None]
    short: str = "{}"  # empty: a list has it in a column of its own

    def of(self, run: Run) -> str | None:
        return self.words(run) or None


def declared(setting: RunSetting) -> ShownSetting:
    """A setting that only some conditions take; a row chosen by name is shown for every run that has one."""

    def say(run: Run) -> str | None:
        value = setting.of(run)
        if setting.chooses_row:
            return value
        if not run.registered or setting.name not in run.registered.takes:
            return None
        return yes(value) if setting.kind is bool else str(value or "any") if setting.kind is str else str(value)

    return ShownSetting(setting.label, say, setting.short)


def say_drawn(run: Run) -> list[tuple[str, str]]:
    """Label and value of the settings of the texts in front of the run's prompts."""
    settings = [declared(setting) for setting in STORED if setting.name != "users"]
    return [(setting.label, value) for setting in settings if (value := setting.of(run)) is not None]


def say_asked(run: Run) -> str | None:
    """How many of a study's prompts a run asks; None for other runs, whose title says what they ask."""
    if run.benchmark or run.instruction:
        return None
    return plural(len(run.prompts), "prompt") if run.prompts else "all prompts"


def yes(chosen: bool) -> str:
    return "yes" if chosen else "no"


ENDPOINT = ShownSetting("Endpoint", lambda run: run.endpoint and run.endpoint.name)
# In the order shown. Tasks are asked once each, so they have no repeats and no seed.
SETTINGS = (
    ShownSetting("Condition", lambda run: run.title, ""),
    ShownSetting("Model", lambda run: run.model, ""),
    ENDPOINT,
    ShownSetting("Benchmark", lambda run: run.benchmark, ""),
    ShownSetting("Asked", say_asked),
    ShownSetting("Prompts", lambda run: ", ".join(run.prompts), ""),
    ShownSetting("Version", lambda run: run.version and str(run.version.number), "version {}"),
    ShownSetting("Temperature", lambda run: None if run.temperature is None else f"{run.temperature:g}", "T {}"),
    *map(declared, STORED),
    ShownSetting("Repeats", lambda run: f"{run.repeats:,}" if run.registered else None, "{} repeats"),
    ShownSetting("Seed", lambda run: str(run.seed) if run.registered else None, "seed {}"),
    ShownSetting("Put as", lambda run: run.benchmark and run.prompt_form, "as {}"),
    ShownSetting("Worked examples", lambda run: run.benchmark and yes(run.worked_examples), "examples: {}"),
    ShownSetting("Both orders", lambda run: run.instruction and yes(run.both_orders), "both orders: {}"),
    ShownSetting("Items", lambda run: "pilot" if run.pilot else None),
    ShownSetting("Sent", lambda run: "by batch" if run.batch else "live" if run.endpoint else None),
    ShownSetting("More fields", lambda run: ", ".join(run.request_fields) if run.endpoint else run.imported_settings),
    ShownSetting("Longest reply", lambda run: run.endpoint and str(most_tokens(run.endpoint)), ""),
)
ONE = {"{} repeats": "{} repeat", "{} users": "{} user"}


def differing_settings(runs: Sequence[Run]) -> list[ShownSetting]:
    """Settings in which runs of the list that have them differ; all for a single run."""
    return [setting for setting in SETTINGS if setting.short and (len(runs) == 1 or tells_apart(setting, runs))]


def tells_apart(setting: ShownSetting, runs: Sequence[Run]) -> bool:
    if setting is ENDPOINT:  # only if a model has several: the model has a column of its own
        return len({(run.model, setting.of(run)) for run in runs}) > len({run.model for run in runs})
    return len({setting.of(run) for run in runs} - {None}) > 1


def say_settings(run: Run, settings: Sequence[ShownSetting]) -> str:
    """The settings in one line, such as `T 1 · 400 repeats`."""
    said = ((setting.short, value) for setting in settings if (value := setting.of(run)) is not None)
    return " · ".join((ONE.get(short, short) if value == "1" else short).format(value) for short, value in said)


class SettingRow(NamedTuple):
    label: str
    values: list[str]
    differ: bool


def compare_settings(runs: Sequence[Run]) -> list[SettingRow]:
    """Every setting that one of the runs has, with the value of each, or a dash."""
    rows = [(setting.label, [setting.of(run) for run in runs]) for setting in SETTINGS]
    return [
        SettingRow(label, [value or "–" for value in values], len(set(values)) > 1)
        for label, values in rows
        if any(value is not None for value in values)
    ]
