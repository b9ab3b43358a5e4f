"""A judge's run: a task for each item, and order of the responses, that this judge has not labelled."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from analysis.endpoints.endpoints import find_endpoint
from analysis.models import Endpoint, Run
from analysis.models.conditions import ConditionError
from analysis.runs.asking.kinds import NewTask, TaskKind
from analysis.runs.asking.plans import plan_tasks
from analysis.runs.asking.registry import JUDGE, VERSIONS, find_kind
from analysis.runs.judging.judgements import rater_name
from analysis.runs.judging.prompts import PROMPTS, SHOWN, message_room, newest_instruction
from analysis.runs.recipes.plans import RunPlanError
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.files.kinds import KINDS, SIDES
from surveys.studies.lifecycle import definition_of


def plan_judging(
    study: Study,
    endpoint: str,
    prompt: str,
    actor: str,
    *,
    both_orders: bool = True,
    pilot: bool = False,
    temperature: float | None = None,
    **how: Any,
) -> tuple[Run, dict[str, Any]]:
    """Ask about the items that people work on; `how` and the result are those of `plan_tasks`.

    Raises RunPlanError, EndpointError.
    """
    work = definition_of(study.current_id).annotation if study.current_id else None
    if work is None or work.kind not in KINDS:
        raise RunPlanError(f"{study.slug} has no items to judge: it is not an annotation study.")
    if work.kind not in SHOWN:
        raise RunPlanError(
            f"Nothing says yet how the kind {work.kind} is shown to a model; see SHOWN in runs.judging.prompts."
        )
    items = items_of(study, pilot)
    if not items.exists():
        raise RunPlanError(f"{study} has no {'pilot ' if pilot else ''}items to judge. Import some with import_items.")
    asked, sided = find_endpoint(endpoint), KINDS[work.kind].sided
    shipped = prompt in PROMPTS
    kind = VERSIONS[choose_instruction(prompt, items, study, asked)] if shipped else find_brought(prompt)
    warmth = kind.temperature if temperature is None else temperature
    orders = ("",) if not sided else SIDES if both_orders else SIDES[:1]
    wanted = judge_tasks(items, rater_name(asked.name, kind.label, warmth), orders, message_room(asked))
    about = {"version": study.current, "both_orders": both_orders and sided, "pilot": pilot}
    return plan_tasks(asked, kind, wanted, actor, temperature=warmth, **about, **how)


def find_brought(name: str) -> TaskKind:
    try:
        return find_kind(JUDGE, name)
    except ConditionError as error:
        raise RunPlanError(f"There is no instruction {name!r}; there are {', '.join(PROMPTS)}. {error}") from None


def choose_instruction(name: str, items: QuerySet[AnnotationItem], study: Study, endpoint: Endpoint) -> str:
    """With the profile where items have one; a judge of the study that began without goes on as it began."""
    plain = newest_instruction(name, with_profile=False)
    began = Run.objects.filter(study=study, endpoint=endpoint, condition=Run.Condition.JUDGE, instruction=plain)
    has_profile = items.filter(payload__has_key="profile").exists()
    return newest_instruction(name, with_profile=has_profile and not began.exists())


def items_of(study: Study, pilot: bool) -> QuerySet[AnnotationItem]:
    """What a judge is to label: the items that people work on, without those that train or test people."""
    return AnnotationItem.objects.filter(study=study, pilot=pilot, purpose=AnnotationItem.Purpose.WORK)


def judge_tasks(items: QuerySet[AnnotationItem], rater: str, orders: Sequence[str], room: int) -> Iterator[NewTask]:
    """Item by item, both orders next to each other, without those that the rater has labelled, in whichever run.

    The `room` that a message may have, in characters, stays with the task, so that the message is rebuilt the same.
    """
    labels = Annotation.objects.filter(item__in=items, judge=rater)
    labelled = set(labels.values_list("item", "left"))
    for item in items.prefetch_related("history").order_by("position").iterator(chunk_size=20):
        for left in orders:
            if (item.pk, left) not in labelled:
                yield NewTask(f"item {item.pk} {left}".strip(), {"left": left, "room": room}, annotation_item=item)
