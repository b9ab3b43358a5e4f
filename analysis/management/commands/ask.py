"""Ask a model about a study's items: reasons, categories and revisions of doubted attributes, responses, mentions."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from django.core.management.base import CommandError

from analysis.endpoints.endpoints import find_endpoint
from analysis.people.stages.doubted import RULES, find_doubts
from analysis.runs.asking.items import category_tasks, item_tasks
from analysis.runs.asking.kinds import NewTask
from analysis.runs.asking.pairs import item_mention_tasks, mention_tasks, respond_tasks, responses_of
from analysis.runs.asking.plans import plan_tasks
from analysis.runs.asking.registry import find_kind
from analysis.runs.commands import ERRORS, INSTRUCTION, TASK_ARGUMENTS, execute_tasks, tell_tasks
from surveys.models import AnnotationItem, Study
from surveys.studies.imports.actions import Options, Report, StudyAction, arg, flag
from surveys.studies.labels import ModelRater, RaterError, find_rater

# By the kind of items that a study's annotators judge.
ASKED = {
    "attribute": ("reason", "category", "refine"),
    "relevance": ("respond", "mentions"),
    "preference": ("mentions",),
}


class Command(StudyAction):
    help = "Ask a model about what annotators of a study judged; stopped in the middle, it goes on where it was."
    arguments = (
        arg("task", choices=list(dict.fromkeys(name for names in ASKED.values() for name in names))),
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
        wanted = find_tasks(study, kind.name, options["rule"] or ("" if models else "doubt"), models, options["again"])
        plan = partial(plan_tasks, find_endpoint(options["endpoint"]), kind, wanted, version=study.current)
        chosen_by = {"chosen_by": [model.named for model in models]} if models else {}
        return execute_tasks(kind, plan, {"study": study.slug, **chosen_by}, options)

    def tell(self, report: Report, options: Options) -> str:
        return tell_tasks(report)


def check_options(name: str, options: Options) -> None:
    """Raise CommandError if an option is for another task."""
    if options["flagged_by"] and name not in ASKED["attribute"]:
        raise CommandError(f"--flagged-by chooses attributes for {', '.join(ASKED['attribute'])}, not for {name}.")
    if options["relevant_by"] and name != "respond":
        raise CommandError(f"--relevant-by chooses what responses are written with (respond), not for {name}.")


def find_tasks(
    study: Study, name: str, rule: str, models: Sequence[ModelRater], again: bool = False
) -> Iterator[NewTask]:
    """Find what to ask. `rule`: of people, empty if only the models choose. Raises CommandError."""
    work = study.current.document.get("annotation") if study.current else None
    if not work or name not in ASKED.get(work["kind"], ()):
        wanted = " or ".join(f"`{kind}`" for kind, names in ASKED.items() if name in names)
        raise CommandError(f"{name} is asked about studies of annotators with the kind {wanted}.")
    if name == "respond":
        return respond_tasks(study, next(iter(models), None))
    if name == "mentions":
        return mention_tasks(responses_of(study)) if work["kind"] == "relevance" else item_mention_tasks(study)
    doubts = find_doubts(study, rule, models)
    items = AnnotationItem.objects.filter(study=study, pilot=False, key__in=doubts).order_by("position")
    if name == "category":
        return category_tasks(study, items, doubts)
    return item_tasks(items if name != "refine" or again else refined_at_most_once(study, items), doubts)


def refined_at_most_once(study: Study, items: Iterable[AnnotationItem]) -> list[AnnotationItem]:
    """Leave out revisions of revisions, by then doubted three times: otherwise refining could go on for ever."""
    revisions = AnnotationItem.objects.filter(study=study, payload__has_key="before")
    known = set(revisions.values_list("key", flat=True))
    return [item for item in items if item.payload.get("before") not in known]
