"""Shared by commands that start runs: their options, the plan they print, and sending with a progress bar."""

import sys
import threading
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError
from django.db import connections

from analysis.endpoints.endpoints import EndpointError, check_endpoint, find_endpoint
from analysis.endpoints.owners.sharing import lend
from analysis.models import Run
from analysis.models.conditions import CONDITIONS, SETTINGS, STORED, ConditionError, RunSetting, drawn_from
from analysis.runs.asking.kinds import TaskKind
from analysis.runs.asking.replies import count_replies, read_replies, say_unreadable
from analysis.runs.lanes import batches
from analysis.runs.lanes.lanes import LaneInterrupted
from analysis.runs.lanes.runs import RunError, failures, planned_before, progress, resume, run_inline, start
from analysis.runs.pages.actions import read_budget
from analysis.runs.pages.words import say_before, say_estimate
from analysis.runs.recipes.plans import Plan, RunPlanError, choose_prompts, plan_run, say_notes
from analysis.runs.tasks import enqueue_lanes, work_batches
from surveys.models import Study, StudyVersion
from surveys.studies.imports import actions
from surveys.studies.imports.actions import ACTOR, Action, Argument, Options, Report, arg, flag
from surveys.studies.wording import RaisedAs, dollars, duration, fill

ERRORS = (RunError, RunPlanError, EndpointError, ConditionError)
IDLE_SECONDS = 15  # without a call in flight before --wait says that there may be no worker
POLL_SECONDS = 0.5
MOST_LANES = 64
BATCH_POLL_SECONDS = 1.0
MOST_EXAMPLES = 5


class RunAction(Action):
    """A command that sends calls. It skips Django's checks, which load every page and cost a second."""

    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            super().handle(*args, **options)
        except ERRORS as error:
            raise CommandError(" ".join(str(error).split())) from None

    def tell(self, report: Report, options: Options) -> str:
        return say_plan(report["estimate"], report["note"]) if "dry_run" in report else format_end(report)

    def failure(self, report: Report) -> str:
        return "" if "dry_run" in report else why_stopped(report)


def parse_dollars(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not an amount") from None


def budget(text: str) -> Decimal:
    with RaisedAs(ArgumentTypeError, RunError):
        return read_budget(text)


def lanes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LANES:
        raise ArgumentTypeError(f"{text} is not a number of lanes: from 1 to {MOST_LANES}")
    return int(text)


def setting_argument(setting: RunSetting) -> Argument:
    takers = ", ".join(condition.label for condition in CONDITIONS.values() if setting.name in condition.takes)
    words = f"{takers}: {setting.label}. {setting.help}".strip()
    if setting.kind is bool:
        return flag(setting.flag, words)
    read = int if setting.kind is int else str
    return arg(setting.flag, type=read, default=setting.default, metavar=setting.metavar, help=words)


WAITING = (
    flag("--wait", "follow the workers to the end"),
    arg("--lanes", type=lanes, metavar="N", help="at a time, each with the endpoint's concurrency (default 1)"),
)
WAYS = (flag("--inline", "run the lanes in this process, without a worker"), *WAITING)
ORDER = (
    arg("--endpoint", required=True, metavar="NAME"),
    arg("--budget", type=budget, metavar="USD"),
    flag("--batch", "send through the provider's batch API"),
    flag("--dry-run", "say what it would cost and keep nothing"),
)
RUN_ARGUMENTS = (
    *ORDER,
    arg("--condition", required=True, choices=list(CONDITIONS)),
    arg("--repeats", type=int, default=1, metavar="N", help="draws of each prompt, of a sock puppet by each user"),
    arg("--temperature", type=float, default=Plan.temperature),
    *map(setting_argument, SETTINGS),
    arg("--seed", type=int, default=Plan.seed),
    flag("--new", "a run of its own instead of extending the earlier one"),
    *WAYS,
)
PROMPTS = arg("--prompts", nargs="+", metavar="SLUG", default=[], help="only these (default all)")


def carry_out(options: Options, version: StudyVersion | None = None, **more: Any) -> Report:
    """Plan the run, say what it costs, and send it as the options ask."""
    plan, repeats = read_plan(options, version, **more), read_repeats(options)
    if not options["dry_run"]:
        check_endpoint(plan.endpoint, plan.temperature)
    how = {"budget": options["budget"], "again": options["new"], "dry_run": options["dry_run"]}
    run, estimate = plan_run(plan, repeats, ACTOR, **how)
    note = say_notes(plan, repeats)
    if options["dry_run"]:
        print_waiting(run, 0)
        return {"dry_run": True, "estimate": estimate, "note": note}
    if version:
        for source in drawn_from(run):
            lend(source, version.study, ACTOR)  # its members see the messages of the run
    actions.say(f"Run {run.pk}: {say_plan(estimate, note)}")
    print_waiting(run, estimate["calls"])
    return send(run, options)


def print_waiting(run: Run, new: int) -> None:
    """Say which earlier calls are sent too; the estimate has only the `new` ones."""
    if words := say_before(*planned_before(run, new)):
        actions.say(words)


def say_plan(estimate: Report, note: str) -> str:
    return f"{say_estimate(estimate)} {note}".rstrip()


def read_plan(options: Options, version: StudyVersion | None, **more: Any) -> Plan:
    return Plan(
        endpoint=find_endpoint(options["endpoint"]),
        version=version,
        prompts=choose_prompts(version, options.get("prompts", ())),
        **{name: options[name] for name in ("condition", "temperature", "seed", "batch")},
        **{setting.name: find_value(setting, options[setting.name]) for setting in STORED},
        **more,
    )


def find_study(slug: str) -> Study:
    """A study that has prompts. Raises CommandError."""
    study = actions.find_study(slug)
    if study.current is None:
        raise CommandError(f"{study.slug} has no prompts yet. Load its study file first.")
    return study


def read_repeats(options: Options) -> int:
    """Repeats, which for a sock puppet are those of each simulated user, under either option. Raises RunPlanError."""
    own, repeats, condition = options["repeats_per_user"], int(options["repeats"]), CONDITIONS[options["condition"]]
    if own is None:
        return repeats
    if not condition.is_puppet:
        raise RunPlanError(f"{condition.label} has no simulated users: ask for more repeats instead (--repeats).")
    if repeats not in (1, own):
        raise RunPlanError("Of a sock puppet, --repeats says the same as --repeats-per-user: give one of the two.")
    return int(own)


def find_value(setting: RunSetting, given: Any) -> Any:
    """The value of an option or, if it names a row, that row. Raises RunPlanError."""
    if given is None or not setting.chooses_row:
        return given
    rows = setting.kind.objects
    found = rows.filter(name=given).first()
    if found is None:
        known = ", ".join(rows.values_list("name", flat=True)) or "none yet"
        raise RunPlanError(f"There is no {setting.noun} {given!r} ({known}). Import it with import_{setting.name}.")
    return found


def send(run: Run, options: Options) -> Report:
    """Send the run and return how it ended. Raises CommandError if it stopped."""
    run = send_off(run, options)
    end = progress(run)
    print_failures(run, end)
    if end["state"] == Run.State.STOPPED:
        raise CommandError(why_stopped(end))
    return {**end, "estimate": run.estimate}


def send_off(run: Run, options: Options) -> Run:
    """Start the run, and work on it or hand it to workers, as the options ask."""
    if run.batch and options["lanes"]:
        raise RunError(f"Run {run.pk} goes through the batch API, which has no lanes. Leave out --lanes.")
    run = start(run)
    try:
        if options["inline"]:
            run_here(run, options["lanes"] or 1)
        else:
            work_batches.delay() if run.batch else enqueue_lanes(run.pk, options["lanes"])
            if options["wait"]:
                follow(run)
    finally:
        read_replies(run)
    return run


def run_here(run: Run, number: int) -> None:
    if run.batch:
        while run.state == Run.State.RUNNING:
            batches.work(run.pk)
            show(run)
            time.sleep(BATCH_POLL_SECONDS if run.state == Run.State.RUNNING else 0)
        return
    try:
        with Bar(run):
            for _ in run_inline(run, lanes=number):
                pass
    except LaneInterrupted:
        raise CommandError(f"Interrupted. Continue with `manage.py run {run.pk} resume --inline`.") from None


def follow(run: Run) -> None:
    """Watch the workers until the run ends."""
    idle_since, has_warned = time.monotonic(), False
    while (now := show(run))["state"] == Run.State.RUNNING:
        if now["in_flight"]:
            idle_since = time.monotonic()
        if not has_warned and time.monotonic() - idle_since > IDLE_SECONDS and not now["waiting_until"]:
            has_warned = True
            print(
                "\nNo worker has taken this run yet. Start one (`celery -A fieldstudy worker`), or work on it here: "
                f"`manage.py run {run.pk} resume --inline`.",
                file=sys.stderr,
            )
        time.sleep(POLL_SECONDS)


def print_failures(run: Run, end: Report) -> None:
    for failure in failures(run)[:5]:
        actions.say(f"{failure['count']:,} failed: {failure['reason']}")
    if end["mixed"]:
        names = ", ".join(f"{part['model']} {part['fingerprint']}".strip() for part in end["served"])
        actions.say(f"This run mixes {len(end['served'])} served models: {names}")


def format_end(end: Report) -> str:
    words = "Run {run}: {state}, {done:,} of {calls:,} answered, {cost}"
    return words.format(**end, cost=dollars(end["usd"]))


def why_stopped(end: Report) -> str:
    """Why the run stopped, or that all its calls failed; empty otherwise."""
    if end["state"] == Run.State.STOPPED:
        return f"Run {end['run']} stopped after {end['done']:,} answers: {end['reason']}"
    if end["calls"] and end["failed"] == end["calls"]:
        return f"Run {end['run']}: all {end['failed']:,} calls failed."
    return ""


# --- tasks


TASK_ARGUMENTS = (
    *ORDER,
    arg("--temperature", type=float, help="(default that of the task)"),
    arg("--limit", type=int, metavar="N", help="at most this many calls"),
    flag("--new", "a run of its own for what could not be read"),
    flag("--workers", "leave the calls to the workers"),
    *WAITING,
)
INSTRUCTION = arg(
    "--instruction", default="", metavar="NAME", help="words of import_instruction instead of the shipped ones"
)
PlanTasks = Callable[..., tuple[Run, dict[str, Any]]]


def work_on_tasks(plan: PlanTasks, options: Options) -> tuple[Run, Report]:
    """Plan a run of tasks and send it as the options ask; return it, and its progress or a dry run's estimate."""
    if options["limit"] is not None and options["limit"] < 1:
        raise CommandError("--limit must be 1 or more.")
    how = {name: options[name] for name in ("temperature", "limit", "budget", "batch", "dry_run")}
    if not options["dry_run"]:
        check_endpoint(find_endpoint(options["endpoint"]), options["temperature"] or 0.0)
    run, estimate = plan(ACTOR, again=options["new"], **how)
    if options["dry_run"]:
        print_waiting(run, 0)
        return run, estimate
    actions.say(f"Run {run.pk}: {say_estimate(estimate)}")
    print_waiting(run, estimate["calls"])
    run = send_off(resume(run), {**options, "inline": not (options["workers"] or options["wait"])})
    end = progress(run)
    print_failures(run, end)
    return run, end


def execute_tasks(kind: TaskKind, plan: PlanTasks, about: Report, options: Options) -> Report:
    """Work on a run of tasks, and report what became of its replies."""
    about = about | {"task": kind.label, "endpoint": options["endpoint"]}
    run, end = work_on_tasks(plan, options)
    if options["dry_run"]:
        return about | {"dry_run": True, **end}
    return about | {
        "run": run.pk,
        "state": end["state"],
        "planned": end["calls"],
        **count_replies(run),
        "failed": end["failed"],
        "usd": end["usd"],
        "estimate": run.estimate,
        "examples": say_unreadable(run, MOST_EXAMPLES),
        **(kind.count(run) if kind.count else {}),
        "stopped": why_stopped(end),
    }


def format_tasks(report: Report) -> str:
    if "dry_run" in report:
        return f"{report.get('corpus') or report['study']}, {report['task']}: {say_estimate(report)}"
    line = "{of}, {task}: {read:reply,replies} read, {unreadable:,} could not be, {failed:call} failed, {cost}"
    lines = [fill(line, **report, of=report.get("corpus") or report["study"], cost=dollars(report["usd"]))]
    lines += [f"  call {entry['call']}: {entry['fault']}" for entry in report["examples"]]
    if "attributes" in report:
        lines.append(fill(FOUND, **report))
        lines += [f"  no attribute: {why}" for why in report["refused_examples"]]
    if report["state"] == "running":
        lines.append(f"  the workers go on with it: manage.py run {report['run']}")
    return "\n".join(lines)


FOUND = (
    "  {attributes:attribute} of {users:user}, {low_confidence:,} of too little confidence; {unlocated:,} of "
    "{quotes:quote} in no conversation; {refused:entry was no attribute,entries were no attributes}"
)


WIDTH = 30
SECONDS = 1.0


class Bar:
    """A run's progress, shown beside the lane that works on it."""

    def __init__(self, run: Run) -> None:
        self.run_id = run.pk
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.draw, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()
        show(Run.objects.select_related("endpoint").get(pk=self.run_id))
        if sys.stderr.isatty():
            print(file=sys.stderr)

    def draw(self) -> None:
        run = Run.objects.select_related("endpoint").get(pk=self.run_id)
        while not self.ended.wait(SECONDS):
            show(run)
        connections.close_all()


def show(run: Run) -> dict[str, Any]:
    """Draw the bar once and return the progress; unless on a terminal, draw only at the end."""
    now = progress(run)
    if sys.stderr.isatty():
        print("\r" + write_bar(now).ljust(100), end="", file=sys.stderr, flush=True)
    elif now["state"] != Run.State.RUNNING:
        print(write_bar(now), file=sys.stderr)
    return now


def write_bar(now: dict[str, Any]) -> str:
    ended = now["done"] + now["failed"]
    filled = WIDTH * ended // max(1, now["calls"])
    parts = [f"{'█' * filled}{'░' * (WIDTH - filled)} {ended:,}/{now['calls']:,}", dollars(now["usd"])]
    if now["failed"]:
        parts.append(f"{now['failed']:,} failed")
    if now["state"] == Run.State.RUNNING:
        parts.append(f"{now['calls_per_second']:g} a second")
        if now["eta_seconds"] is not None:
            parts.append(f"{duration(now['eta_seconds'])} left")
    else:
        parts.append(now["state"])
    if now["waiting_until"]:
        parts.append("waiting for the provider")
    return "  ".join(parts)
