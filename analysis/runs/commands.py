"""What the commands that start runs share: their options, the plan they print, and the way to the end."""

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError

from analysis.endpoints.endpoints import EndpointError, check_endpoint, find_endpoint
from analysis.models import Corpus, PersonaSet, Run
from analysis.models.conditions import CONDITIONS, ConditionError
from analysis.owners.sharing import lend
from analysis.runs.asking.kinds import TaskKind
from analysis.runs.asking.replies import count_replies, read_replies, say_unreadable
from analysis.runs.lanes import batches
from analysis.runs.lanes.lanes import LaneInterrupted
from analysis.runs.lanes.runs import RunError, failures, progress, resume, run_inline, start
from analysis.runs.pages.words import say_estimate
from analysis.runs.progress import Bar, show
from analysis.runs.recipes.fitting import TokenizerError
from analysis.runs.recipes.plans import Plan, PlanError, choose_prompts, plan_run, say_few_users
from analysis.runs.recipes.questions import BenchmarkPromptError
from analysis.runs.tasks import enqueue_lanes, work_batches
from surveys.console.wording import dollars
from surveys.imports import study_command
from surveys.imports.study_command import ACTOR
from surveys.models import Study, StudyVersion

ERRORS = (RunError, PlanError, EndpointError, ConditionError, TokenizerError, BenchmarkPromptError)
IDLE_SECONDS = 15  # without a call in flight, until --wait says that there may be no worker
POLL_SECONDS = 0.5
MOST_LANES = 64
BATCH_POLL_SECONDS = 1.0
MOST_EXAMPLES = 5


class RunCommand(BaseCommand):
    """A command that sends calls. Django's checks, which load every page, would hold the first back by a second."""

    requires_system_checks: list[str] = []


def add_run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--endpoint", required=True, metavar="NAME")
    parser.add_argument("--condition", required=True, choices=list(CONDITIONS))
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="draws of each prompt and user")
    parser.add_argument("--users", type=int, default=1, metavar="N", help="simulated users")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--corpus", metavar="NAME")
    parser.add_argument("--personas", metavar="NAME")
    parser.add_argument("--history-size", type=int, metavar="K", help="conversations in front (default 100)")
    parser.add_argument(
        "--language", metavar="CODE", help="SP-History: of the conversations; any for all (default the study's)"
    )
    parser.add_argument("--toxic", action="store_true", help="SP-History: toxic and redacted conversations too")
    parser.add_argument("--per-user", action="store_true", help="SP-RAG: within one user's own history")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=parse_dollars, metavar="USD")
    parser.add_argument("--batch", action="store_true", help="send through the provider's batch API")
    parser.add_argument("--new", action="store_true", help="a run of its own instead of extending the earlier one")
    parser.add_argument("--dry-run", action="store_true", help="say what it would cost and keep nothing")
    add_way_arguments(parser)


def add_prompts_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--prompts", nargs="+", metavar="SLUG", default=[], help="only these (default all)")


def add_way_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--inline", action="store_true", help="run the lanes in this process, without a worker")
    add_waiting_arguments(parser)
    parser.add_argument("--json", action="store_true")


def add_waiting_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="follow the workers to the end")
    parser.add_argument(
        "--lanes", type=lanes, metavar="N", help="that work at a time, each with the endpoint's concurrency (default 1)"
    )


def parse_dollars(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not an amount") from None


def lanes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LANES:
        raise ArgumentTypeError(f"{text} is not a number of lanes: from 1 to {MOST_LANES}")
    return int(text)


@contextmanager
def one_line_errors() -> Iterator[None]:
    try:
        yield
    except ERRORS as error:
        raise CommandError(" ".join(str(error).split())) from None


def execute(options: dict[str, Any], stdout: TextIO, version: StudyVersion | None = None, **more: Any) -> None:
    """Plan the run, print what it costs, and send it in the way that was asked for."""
    with one_line_errors():
        plan = read_plan(options, version, **more)
        if not options["dry_run"]:
            check_endpoint(plan.endpoint, plan.temperature)
        run, estimate = plan_run(
            plan, options["repeats"], ACTOR, budget=options["budget"], again=options["new"],
            dry_run=options["dry_run"],
        )  # fmt: skip
        if version and not options["dry_run"]:
            for source in filter(None, (run.corpus, run.personas)):
                lend(source, version.study, ACTOR)  # its members see the messages of the run
        note = say_few_users(plan, options["repeats"])
        words = " ".join(filter(None, (say_estimate(estimate), note)))
        if options["dry_run"]:
            report(stdout, options["json"], {"dry_run": True, "estimate": estimate, "note": note}, words)
            return
        print(f"Run {run.pk}: {words}", file=sys.stderr)
        send(run, options, stdout)


def read_plan(options: dict[str, Any], version: StudyVersion | None, **more: Any) -> Plan:
    return Plan(
        endpoint=find_endpoint(options["endpoint"]),
        version=version,
        prompts=choose_prompts(version, options.get("prompts", ())),
        corpus=find_named(Corpus, options["corpus"], "corpus", "import_corpus"),
        personas=find_named(PersonaSet, options["personas"], "persona set", "import_personas"),
        **{name: options[name] for name in ("condition", "users", "temperature", "history_size", "seed", "batch")},
        **{name: options[name] for name in ("language", "toxic")},
        per_user=options["per_user"],
        **more,
    )


def find_study(slug: str) -> Study:
    """A study that has prompts."""
    study = study_command.find_study(slug)
    if study.current is None:
        raise CommandError(f"{study.slug} has no prompts yet. Load its study file first.")
    return study


def find_named(model: Any, name: str | None, what: str, command: str) -> Any:
    if name is None:
        return None
    found = model.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(model.objects.values_list("name", flat=True)) or "none yet"
        raise PlanError(f"There is no {what} {name!r} ({known}). Import it with {command}.")
    return found


def send(run: Run, options: dict[str, Any], stdout: TextIO) -> None:
    tell_end(send_off(run, options), options, stdout)


def send_off(run: Run, options: dict[str, Any]) -> Run:
    """Start the run, and work on it or hand it to the workers, in the way that was asked for."""
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
    idle_since, told = time.monotonic(), False
    while (now := show(run))["state"] == Run.State.RUNNING:
        if now["in_flight"]:
            idle_since = time.monotonic()
        if not told and time.monotonic() - idle_since > IDLE_SECONDS and not now["waiting_until"]:
            told = True
            print(
                "\nNo worker has taken this run yet. Start one (`celery -A fieldstudy worker`), or work on it here: "
                f"`manage.py run {run.pk} resume --inline`.",
                file=sys.stderr,
            )
        time.sleep(POLL_SECONDS)


def tell_end(run: Run, options: dict[str, Any], stdout: TextIO) -> None:
    """The last word: what was done, or why it stopped (exit status 1)."""
    end = progress(run)
    line = f"Run {end['run']}: {end['state']}, {end['done']:,} of {end['calls']:,} answered, {dollars(end['usd'])}"
    tell_faults(run, end)
    if end["state"] != Run.State.STOPPED:
        report(stdout, options["json"], {**end, "estimate": run.estimate}, line)
    check_end(run, end)


def tell_faults(run: Run, end: dict[str, Any]) -> None:
    for failure in failures(run)[:5]:
        print(f"{failure['count']:,} failed: {failure['reason']}", file=sys.stderr)
    if end["mixed"]:
        names = ", ".join(f"{part['model']} {part['fingerprint']}".strip() for part in end["served"])
        print(f"This run mixes {len(end['served'])} served models: {names}", file=sys.stderr)


def check_end(run: Run, end: dict[str, Any]) -> None:
    """Exit status 1 where nothing came of it, or less than was asked for."""
    if end["state"] == Run.State.STOPPED:
        raise CommandError(f"Run {run.pk} stopped after {end['done']:,} answers: {end['reason']}")
    if end["calls"] and end["failed"] == end["calls"]:
        raise CommandError(f"Run {run.pk}: all {end['failed']:,} calls failed.")


def report(stdout: TextIO, as_json: bool, document: dict[str, Any], line: str) -> None:
    stdout.write(json.dumps(document) if as_json else line)


# --- tasks


def add_task_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--endpoint", required=True, metavar="NAME")
    parser.add_argument("--temperature", type=float, help="(default that of the task)")
    parser.add_argument("--limit", type=int, metavar="N", help="at most this many calls")
    parser.add_argument("--budget", type=parse_dollars, metavar="USD")
    parser.add_argument("--batch", action="store_true", help="send through the provider's batch API")
    parser.add_argument("--new", action="store_true", help="a run of its own for what could not be read")
    parser.add_argument("--dry-run", action="store_true", help="say what it would cost and keep nothing")
    parser.add_argument("--workers", action="store_true", help="leave the calls to the workers")
    add_waiting_arguments(parser)


def add_instruction_option(parser: ArgumentParser) -> None:
    words = "words of import_instruction instead of the shipped ones"
    parser.add_argument("--instruction", default="", metavar="NAME", help=words)


PlanTasks = Callable[..., tuple[Run, dict[str, Any]]]


def work_on_tasks(plan: PlanTasks, options: dict[str, Any]) -> tuple[Run, dict[str, Any]]:
    """Plan a run of tasks and send it in the way that was asked for; the run, and its estimate or where it then is."""
    if options["limit"] is not None and options["limit"] < 1:
        raise CommandError("--limit must be 1 or more.")
    how = {name: options[name] for name in ("temperature", "limit", "budget", "batch", "dry_run")}
    if not options["dry_run"]:
        check_endpoint(find_endpoint(options["endpoint"]), options["temperature"] or 0.0)
    run, estimate = plan(ACTOR, again=options["new"], **how)
    if options["dry_run"]:
        return run, estimate
    print(f"Run {run.pk}: {say_estimate(estimate)}", file=sys.stderr)
    run = send_off(resume(run), {**options, "inline": not (options["workers"] or options["wait"])})
    end = progress(run)
    tell_faults(run, end)
    return run, end


def execute_tasks(kind: TaskKind, plan: PlanTasks, about: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Work on a run of tasks, and say what became of its replies."""
    about = about | {"task": kind.label, "endpoint": options["endpoint"]}
    run, end = work_on_tasks(plan, options)
    if options["dry_run"]:
        return about | {"dry_run": True, **end}
    stopped = f"Run {run.pk} stopped after {end['done']:,} answers: {end['reason']}"
    failed = f"Run {run.pk}: all {end['failed']:,} calls failed."
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
        "stopped": stopped if end["state"] == "stopped" else failed if end["calls"] == end["failed"] > 0 else "",
    }


def tell_tasks(report: dict[str, Any]) -> str:
    if "dry_run" in report:
        return f"{report.get('corpus') or report['study']}, {report['task']}: {say_estimate(report)}"
    line = "{of}, {task}: {read:,} replies read, {unreadable:,} could not be, {failed:,} calls failed, {cost}"
    lines = [line.format(**report, of=report.get("corpus") or report["study"], cost=dollars(report["usd"]))]
    lines += [f"  call {entry['call']}: {entry['fault']}" for entry in report["examples"]]
    if "attributes" in report:
        lines.append(FOUND.format(**report))
        lines += [f"  no attribute: {why}" for why in report["refused_examples"]]
    if report["state"] == "running":
        lines.append(f"  the workers go on with it: manage.py run {report['run']}")
    return "\n".join(lines)


FOUND = (
    "  {attributes:,} attributes of {users:,} users, {low_confidence:,} of too little confidence; {unlocated:,} of "
    "{quotes:,} quotes stand in no conversation; {refused:,} entries were no attributes"
)
