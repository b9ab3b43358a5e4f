"""Look at a run, or pause, resume, cancel, retry or repeat it."""

from datetime import datetime

from django.core.management.base import CommandError

from analysis.answers.readings import read_everywhere
from analysis.models import Run
from analysis.runs.asking.replies import waiting_replies
from analysis.runs.commands import WAYS, RunAction, budget, find_study, format_end, send, why_stopped, write_bar
from analysis.runs.lanes import batches, runs
from analysis.runs.lanes.runs import RunProgress, end_schedule, make_schedule, progress_of
from analysis.runs.pages.reads import OWN
from surveys.studies.imports.actions import Options, Report, arg
from surveys.studies.wording import dollars

LINE = "{run:>5}  {asked}  {source}  {model}  {state}, {done:,} of {calls:,}  {cost}"
NONE_YET = "There are no runs yet: run_baseline or run_benchmark."


def show(run: Run, options: Options) -> Report:
    return {**runs.progress(run), "failures": runs.failures(run), "estimate": run.estimate}


def pause(run: Run, options: Options) -> Report:
    return show(runs.pause(run), options)


def resume(run: Run, options: Options) -> Report:
    if not waiting_replies(run).exists():
        runs.require_unfinished(run)
    report = send(runs.resume(run, options["budget"]), options)
    read_everywhere()
    return report


def cancel(run: Run, options: Options) -> Report:
    """Cancel the run; given again, ask once more for what its batches had answered before they were cancelled."""
    if run.state != Run.State.CANCELLED or not batches.open_batches(run):
        run = runs.cancel(run)
    batches.cancel_batches(run.pk)
    batches.work(run.pk)
    return show(run, options)


def retry(run: Run, options: Options) -> Report:
    runs.retry_failed(run)
    return resume(run, options)


def schedule(run: Run, options: Options) -> Report:
    made = make_schedule(run, options["every"])
    return {"run": made.first_run_id, "schedule": str(made), "next_at": made.next_at.isoformat()}


def unschedule(run: Run, options: Options) -> Report:
    end_schedule(run)
    return {"run": run.pk, "schedule": None}


def format_schedule(report: Report) -> str:
    if report["schedule"] is None:
        return f"Run {report['run']} is not repeated any more."
    day = datetime.fromisoformat(report["next_at"])
    return f"Run {report['run']} is repeated {report['schedule']}, next on {day:%d %B %Y}."


def format_run(report: Report) -> str:
    run, lost = Run.objects.select_related("endpoint").get(pk=report["run"]), report["maybe_paid"]
    lines = [f"Run {run.pk} {run.source} {run.endpoint or run.model}", write_bar(report), report["reason"]]
    lines += [f"{failure['count']:,} failed: {failure['reason']}" for failure in report["failures"]]
    if lost["attempts"]:
        lines.append(f"{lost['attempts']:,} attempts may have been paid without an answer ({dollars(lost['usd'])})")
    return "\n".join(filter(None, lines))


def format_list(report: Report) -> str:
    return "\n".join(LINE.format(**row, cost=dollars(row["usd"])) for row in report["runs"]) or NONE_YET


ACTIONS = {each.__name__: each for each in (show, pause, resume, cancel, retry, schedule, unschedule)}
# By a key that only their reports have.
WORDS = {"runs": format_list, "schedule": format_schedule, "failures": format_run, "estimate": format_end}


class Command(RunAction):
    help = "Show a run, or change what becomes of it. Resume goes on with what is pending; retry with what failed."
    arguments = (
        arg("id", help="the run's number; list shows all runs"),
        arg("action", nargs="?", default="show", choices=sorted(ACTIONS)),
        arg("--budget", type=budget, metavar="USD", help="with resume: the new budget"),
        arg("--every", type=int, default=7, metavar="DAYS", help="with schedule: the interval in days"),
        arg("--study", metavar="SLUG", help="with list: only this study's runs"),
        *WAYS,
    )

    def run(self, options: Options) -> Report:
        if options["id"] == "list":
            return list_runs(options["study"])
        number = int(options["id"]) if options["id"].isdecimal() and len(options["id"]) < 19 else None
        run = Run.objects.select_related("endpoint").filter(pk=number).first()
        if run is None:
            raise CommandError(f"There is no run {options['id']}. `manage.py run list` shows all.")
        return ACTIONS[options["action"]](run, options)

    def tell(self, report: Report, options: Options) -> str:
        return next(tell for name, tell in WORDS.items() if name in report)(report)

    def failure(self, report: Report) -> str:
        return why_stopped(report) if "estimate" in report and "failures" not in report else ""


def list_runs(slug: str | None) -> Report:
    """List runs, the newest first; without `slug` also those without a study, which no page shows."""
    found = Run.objects.filter(study=find_study(slug)) if slug else Run.objects.all()
    rows = list(found.select_related("study", *OWN).order_by("-id"))
    return {"runs": [describe(entry) for entry in progress_of(rows)]}


def describe(entry: RunProgress) -> Report:
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
        **entry.counts,
    }


def tasks_of(run: Run) -> str:
    """Name the kind of the run's tasks, with the corpus that they are about."""
    about = f"{run.corpus} " if run.corpus else ""
    return f"{about}{run.instruction}" if run.condition == Run.Condition.TASK else ""
