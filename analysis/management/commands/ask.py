"""Ask a model about a study's items: reasons, categories and revisions of doubted attributes, responses, mentions."""

from collections.abc import Iterator
from functools import partial

from django.core.management.base import CommandError

from analysis.endpoints.endpoints import find_endpoint
from analysis.people.stages.judged import RULES
from analysis.runs.asking.kinds import NewTask, Sought
from analysis.runs.asking.plans import plan_tasks
from analysis.runs.asking.registry import TASKS, find_kind
from analysis.runs.commands import ERRORS, INSTRUCTION, TASK_ARGUMENTS, execute_tasks, format_tasks
from surveys.models import Study
from surveys.studies.imports.actions import Options, Report, StudyAction, arg, flag
from surveys.studies.labels import RaterError, find_rater

ASKED = {name: kind.studies for name, kind in TASKS.items() if kind.studies}
OF_ATTRIBUTES = tuple(name for name, studies in ASKED.items() if "attribute" in studies)


class Command(StudyAction):
    help = "Ask a model about what annotators of a study judged; stopped in the middle, it goes on where it was."
    arguments = (
        arg("task", choices=list(ASKED)),
        arg("--rule", choices=list(RULES), help="when an attribute counts as doubted (default doubt)"),
        arg(
            "--flagged-by",
            nargs="+",
            default=[],
            metavar="NAME",
            help="what these trained models or judges do not call supported; with --rule, what people doubt too",
        ),
        arg(
            "--relevant-by",
            metavar="NAME",
            help="respond: what this trained model or judge calls relevant, instead of people",
        ),
        flag("--again", "refine: revisions of revisions too"),
        *TASK_ARGUMENTS,
        INSTRUCTION,
    )
    faults = (*ERRORS, RaterError)

    def carry_out(self, study: Study, options: Options) -> Report:
        kind = find_kind(options["task"], options["instruction"])
        names = options["flagged_by"] or ([options["relevant_by"]] if options["relevant_by"] else [])
        check_options(kind.name, options)
        models = [find_rater(study, name) for name in names]
        rule = options["rule"] or ("" if models else "doubt")
        wanted = find_tasks(study, kind.name, Sought(rule, models, options["again"]))
        plan = partial(plan_tasks, find_endpoint(options["endpoint"]), kind, wanted, version=study.current)
        chosen_by = {"chosen_by": [model.named for model in models]} if models else {}
        return execute_tasks(kind, plan, {"study": study.slug, **chosen_by}, options)

    def tell(self, report: Report, options: Options) -> str:
        return format_tasks(report)


def check_options(name: str, options: Options) -> None:
    """Raise CommandError if an option is for another task."""
    if options["flagged_by"] and name not in OF_ATTRIBUTES:
        raise CommandError(f"--flagged-by chooses attributes for {', '.join(OF_ATTRIBUTES)}, not for {name}.")
    if options["relevant_by"] and name != "respond":
        raise CommandError(f"--relevant-by chooses what responses are written with (respond), not for {name}.")


def find_tasks(study: Study, name: str, chosen: Sought) -> Iterator[NewTask]:
    """Find what to ask. Raises CommandError."""
    work = study.current.document.get("annotation") if study.current else None
    if not work or work["kind"] not in ASKED[name]:
        wanted = " or ".join(f"`{kind}`" for kind in ASKED[name])
        raise CommandError(f"{name} is asked about studies of annotators with the kind {wanted}.")
    return ASKED[name][work["kind"]](study, chosen)
