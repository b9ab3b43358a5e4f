"""Look at a run, or pause, resume, cancel, retry or repeat it."""

import json

from django.core.management.base import BaseCommand, CommandError

from analysis import runs
from analysis.batches import cancel_batches
from analysis.models import Run
from analysis.progress_bar import write_bar
from analysis.run_commands import add_way_arguments, dollars, one_line_errors, send
from analysis.schedules import end_schedule, make_schedule


class Command(BaseCommand):
    help = "Show a run, or change what becomes of it. Resume goes on with what is pending; retry with what failed."

    def add_arguments(self, parser) -> None:
        parser.add_argument("id", type=int)
        parser.add_argument("action", nargs="?", default="show", choices=sorted(ACTIONS))
        parser.add_argument("--budget", type=dollars, metavar="USD", help="with resume: the new budget")
        parser.add_argument("--every", type=int, default=7, metavar="DAYS", help="with schedule")
        add_way_arguments(parser)

    def handle(self, *args, **options) -> None:
        run = Run.objects.select_related("endpoint").filter(pk=options["id"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['id']}.")
        with one_line_errors():
            ACTIONS[options["action"]](self, run, options)

    def show(self, run: Run, options: dict) -> None:
        now = {**runs.progress(run), "failures": runs.failures(run), "estimate": run.estimate}
        lost = now["maybe_paid"]
        lines = [f"Run {run.pk} {run.condition} {run.endpoint}", write_bar(now), now["reason"]]
        lines += [f"{failure['count']:,} failed: {failure['reason']}" for failure in now["failures"]]
        if lost["attempts"]:
            lines.append(f"{lost['attempts']:,} attempts may have been paid without an answer (${lost['usd']:.4f})")
        self.stdout.write(json.dumps(now) if options["json"] else "\n".join(line for line in lines if line))

    def pause(self, run: Run, options: dict) -> None:
        self.show(runs.pause(run), options)

    def resume(self, run: Run, options: dict) -> None:
        send(runs.resume(run, options["budget"]), options, self.stdout)

    def cancel(self, run: Run, options: dict) -> None:
        run = runs.cancel(run)
        cancel_batches(run.pk)
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


ACTIONS = {
    "show": Command.show,
    "pause": Command.pause,
    "resume": Command.resume,
    "cancel": Command.cancel,
    "retry": Command.retry,
    "schedule": Command.schedule,
    "unschedule": Command.unschedule,
}
