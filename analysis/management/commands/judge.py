"""Let a model judge an annotation study's items, as one more rater."""

from functools import partial
from typing import Any

from django.core.management.base import CommandParser

from analysis.models import Run
from analysis.runs.asking.replies import count_replies, unreadable
from analysis.runs.commands import ERRORS, MOST_EXAMPLES, add_task_arguments, check_end, say_estimate, work_on_tasks
from analysis.runs.judging.judgements import position_bias, rater_of
from analysis.runs.judging.plans import plan_judging
from analysis.runs.judging.prompts import PROMPTS
from analysis.runs.progress import dollars, percent
from surveys.imports.study_command import StudyCommand
from surveys.models import Study

LONGEST_EXAMPLE = 200
UNDER_WAY = "  the workers go on with it: manage.py run {run}"
IN_BOTH = "  in both orders ({pairs}): {consistent} the same response, {left} left, {right} right twice"


class Command(StudyCommand):
    help = "Ask a model what annotators are asked about the same items; stopped in the middle, it goes on where it was."

    faults = ERRORS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        shipped = f"the instruction: {', '.join(PROMPTS)}, or one of import_instruction judge (default same)"
        parser.add_argument("--prompt", default="same", metavar="NAME", help=shipped)
        parser.add_argument("--orders", choices=("both", "one"), default="both", help="of two responses")
        parser.add_argument("--pilot", action="store_true", help="the pilot's items")
        add_task_arguments(parser)

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        shown = {"both_orders": options["orders"] == "both", "pilot": options["pilot"]}
        plan = partial(plan_judging, study, options["endpoint"], options["prompt"], **shown)
        run, end = work_on_tasks(plan, options)
        if options["dry_run"]:
            judge = rater_of(run)
            self.tell(options, {"judge": judge, **end}, f"{judge}: {say_estimate(end)}")
            return
        report = report_on(run, end)
        self.tell(options, report, say(report))
        check_end(run, end)


def report_on(run: Run, end: dict[str, Any]) -> dict[str, Any]:
    counts = count_replies(run)
    replies = unreadable(run).values_list("reply", flat=True)[:MOST_EXAMPLES]
    return {
        "run": run.pk,
        "judge": rater_of(run),
        "state": end["state"],
        "planned": end["calls"],
        "labelled": counts["read"],
        "unread": counts["unreadable"],
        "waiting": counts["waiting"],
        "failed": end["failed"],
        "usd": end["usd"],
        "stopped": end["reason"] if end["state"] == Run.State.STOPPED else "",
        "examples": [reply[:LONGEST_EXAMPLE] for reply in replies],
        "position": position_bias(run.study, rater_of(run)),
    }


def say(report: dict[str, Any]) -> str:
    line = "{judge}: {labelled:,} labelled, {unread:,} replies were no label, {failed:,} calls failed, {cost}"
    lines = [
        line.format(**report, cost=dollars(report["usd"])),
        *(f"  no label: {reply!r}" for reply in report["examples"]),
    ]
    if report["state"] == Run.State.RUNNING:
        lines.append(UNDER_WAY.format(**report))
    if report["position"]["pairs"]:
        position = report["position"]
        shares = {name: percent(position[name]) for name in ("consistent", "left", "right")}
        lines.append(IN_BOTH.format(pairs=position["pairs"], **shares))
    return "\n".join(lines)
