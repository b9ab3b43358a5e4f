"""Look at a run, or pause, resume, cancel, retry or repeat it."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.answers.readings import read_everywhere
from analysis.models import Run
from analysis.runs.commands import RunCommand, add_way_arguments, find_study, one_line_errors, parse_dollars, send
from analysis.runs.lanes import batches, runs
from analysis.runs.lanes.runs import end_schedule, make_schedule
from analysis.runs.pages.reads import OWN, RunProgress, stand
from analysis.runs.progress import dollars, write_bar

LINE = "{run:>5}  {asked}  {source}  {model}  {state}, {done:,} of {calls:,}  {cost}"


class Command(RunCommand):
    help = "Show a run, or change what becomes of it. Resume goes on with what is pending; retry with what failed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", help="the run's number; list shows all runs")
        parser.add_argument("action", nargs="?", default="show", choices=sorted(ACTIONS))
        parser.add_argument("--budget", type=parse_dollars, metavar="USD", help="with resume: the new budget")
        parser.add_argument("--every", type=int, default=7, metavar="DAYS", help="with schedule")
        parser.add_argument("--study", metavar="SLUG", help="with list: only this study's runs")
        add_way_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["id"] == "list":
            return self.show_all(options["study"], options["json"])
        number = int(options["id"]) if options["id"].isdecimal() and len(options["id"]) < 19 else None
        run = Run.objects.select_related("endpoint").filter(pk=number).first()
        if run is None:
            raise CommandError(f"There is no run {options['id']}. `manage.py run list` shows all.")
        with one_line_errors():
            ACTIONS[options["action"]](self, run, options)
        if options["action"] in ("resume", "retry"):
            read_everywhere()

    def show_all(self, slug: str | None, as_json: bool) -> None:
        """The newest first, and those without a study too, which no page shows."""
        found = Run.objects.filter(study=find_study(slug)) if slug else Run.objects.all()
        rows = [describe(entry) for entry in stand(list(found.select_related("study", *OWN).order_by("-id")))]
        lines = [LINE.format(**row, cost=dollars(row["usd"])) for row in rows] or [
            "There are no runs yet: run_baseline or run_benchmark."
        ]
        self.stdout.write(json.dumps({"runs": rows}) if as_json else "\n".join(lines))

    def show(self, run: Run, options: dict) -> None:
        now = {**runs.progress(run), "failures": runs.failures(run), "estimate": run.estimate}
        lost = now["maybe_paid"]
        lines = [f"Run {run.pk} {run.source} {run.endpoint or run.model}", write_bar(now), now["reason"]]
        lines += [f"{failure['count']:,} failed: {failure['reason']}" for failure in now["failures"]]
        if lost["attempts"]:
            lines.append(f"{lost['attempts']:,} attempts may have been paid without an answer ({dollars(lost['usd'])})")
        self.stdout.write(json.dumps(now) if options["json"] else "\n".join(line for line in lines if line))

    def pause(self, run: Run, options: dict) -> None:
        self.show(runs.pause(run), options)

    def resume(self, run: Run, options: dict) -> None:
        send(runs.resume(run, options["budget"]), options, self.stdout)

    def cancel(self, run: Run, options: dict) -> None:
        """Said again, it asks once more for what the run's batches had answered before they were cancelled."""
        if run.state != Run.State.CANCELLED or not batches.open_batches(run):
            run = runs.cancel(run)
        batches.cancel_batches(run.pk)
        batches.work(run.pk)
        self.show(run, options)

    def retry(self, run: Run, options: dict) -> None:
        if not runs.retry_failed(run):
            raise CommandError(f"Run {run.pk} has no failed calls.")
        send(runs.resume(run, options["budget"]), options, self.stdout)

    def schedule(self, run: Run, options: dict) -> None:
        schedule = make_schedule(run, options["every"])
        self.stdout.write(f"Run {schedule.first_run_id} is repeated {schedule}, next on {schedule.next_at:%d %B %Y}.")

    def unschedule(self, run: Run, options: dict) -> None:
        if not end_schedule(run):
            raise CommandError(f"Run {run.pk} is not repeated.")
        self.stdout.write(f"Run {run.pk} is not repeated any more.")


def describe(entry: RunProgress) -> dict[str, Any]:
    run, study = entry.run, entry.run.study
    return {
        "run": run.pk,
        "study": study and study.slug,
        "benchmark": run.benchmark,
        "asked": " ".join(part for part in (study and study.slug, run.benchmark, tasks_of(run)) if part),
        "source": run.source,
        "model": run.model,
        "state": run.state,
        "usd": float(run.spent),
        **{name: getattr(entry, name) for name in ("calls", "done", "failed", "in_flight", "pending")},
    }


def tasks_of(run: Run) -> str:
    """The kind of its tasks, with the corpus that they are about."""
    about = f"{run.corpus} " if run.corpus else ""
    return f"{about}{run.instruction}" if run.condition == Run.Condition.TASK else ""


ACTIONS = {
    "show": Command.show,
    "pause": Command.pause,
    "resume": Command.resume,
    "cancel": Command.cancel,
    "retry": Command.retry,
    "schedule": Command.schedule,
    "unschedule": Command.unschedule,
}
