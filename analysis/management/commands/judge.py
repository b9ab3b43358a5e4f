"""Let a model judge an annotation study's items, as one more rater."""

from functools import partial

from analysis.agreement.agreements import position_bias
from analysis.models import Run
from analysis.runs.asking.judges import PROMPTS, rater_of
from analysis.runs.asking.plans import plan_judging
from analysis.runs.asking.replies import count_replies, unreadable
from analysis.runs.commands import ERRORS, MOST_EXAMPLES, TASK_ARGUMENTS, say_estimate, why_stopped, work_on_tasks
from surveys.models import Study
from surveys.studies.imports.actions import Options, Report, StudyAction, arg, flag
from surveys.studies.wording import dollars, fill, percent

LONGEST_EXAMPLE = 200
UNDER_WAY = "  the workers go on with it: manage.py run {run}"
IN_BOTH = "  in both orders ({pairs}): {consistent} the same response, {left} left, {right} right twice"


class Command(StudyAction):
    help = "Ask a model what annotators are asked about the same items; stopped in the middle, it goes on where it was."
    arguments = (
        arg(
            "--prompt",
            default="same",
            metavar="NAME",
            help=f"the instruction: {', '.join(PROMPTS)}, or one of import_instruction judge (default same)",
        ),
        arg(
            "--orders",
            choices=("both", "one"),
            default="both",
            help="whether to show two responses in one order or in both",
        ),
        flag("--pilot", "the pilot's items"),
        *TASK_ARGUMENTS,
    )
    faults = ERRORS
    why = ""

    def carry_out(self, study: Study, options: Options) -> Report:
        shown = {"both_orders": options["orders"] == "both", "pilot": options["pilot"]}
        plan = partial(plan_judging, study, options["endpoint"], options["prompt"], **shown)
        run, end = work_on_tasks(plan, options)
        if options["dry_run"]:
            return {"judge": rater_of(run), **end}
        self.why = why_stopped(end)
        return report_on(run, end)

    def tell(self, report: Report, options: Options) -> str:
        return f"{report['judge']}: {say_estimate(report)}" if options["dry_run"] else say(report)

    def failure(self, report: Report) -> str:
        return self.why


def report_on(run: Run, end: Report) -> Report:
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


def say(report: Report) -> str:
    line = "{judge}: {labelled:,} labelled, {unread:reply was,replies were} no label, {failed:call} failed, {cost}"
    lines = [
        fill(line, **report, cost=dollars(report["usd"])),
        *(f"  no label: {reply!r}" for reply in report["examples"]),
    ]
    if report["state"] == Run.State.RUNNING:
        lines.append(UNDER_WAY.format(**report))
    if report["position"]["pairs"]:
        position = report["position"]
        shares = {name: percent(position[name]) for name in ("consistent", "left", "right")}
        lines.append(IN_BOTH.format(pairs=position["pairs"], **shares))
    return "\n".join(lines)
