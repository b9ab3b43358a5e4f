"""Tasks about doubted attributes: what speaks against them, which kind of mistake it is, and how to correct it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from analysis.models import Task
from analysis.people.corpora.records import Message
from analysis.people.stages.doubted import find_doubts
from analysis.runs.asking.kinds import NewTask, Object, Schema, Sought, TaskFault, TaskKind, ask, closed, reading, text
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import ERROR
from surveys.studies.labels import ModelRater

CONCLUDED = "A model has concluded the statement below about a person from the quotes below it."
DOUBTED = f"""
{CONCLUDED} People who read the person's
conversations do not find the statement right, or are not sure.
"""
# If no person was asked: what the models that flagged it say.
FLAGGED = f"""
{CONCLUDED} Another model does not find
the statement supported by the quotes.
"""
REASON = """
Say in one or two sentences what speaks against it: what is not in the quotes, taken too far, or mixed up.
"""
CATEGORY = """
Choose what is wrong with it. Where several things are, choose the one without which the statement would be right.

{choices}
"""
REFINE = """
Put it right, or take it back:
- "revise": write the statement so that the quotes support all of it, and no more; keep it a sentence about the person
  that can be understood by itself.
- "withdraw": nothing that would hold in another conversation is supported.
"""
CHOICES = "\n".join(f'- "{choice.value}": {choice.label}. {choice.hint}'.rstrip() for choice in ERROR.choices)
CHOICES_HERE = "{choices}"  # in an instruction
REASON_SCHEMA = closed(reason=text("one or two sentences"))
CATEGORY_SCHEMA = closed(category=text("one of the above", ERROR.values))
REFINE_SCHEMA = closed(
    reasoning=text("what the quotes support"),
    action=text("revise or withdraw", ("revise", "withdraw")),
    attribute=text("the new statement, empty where it is withdrawn"),
)
LONGEST = 2_000
Flags = Mapping[str, Sequence[ModelRater | None]]  # who doubts an item, by its key; None: people


def doubted_tasks(study: Study, chosen: Sought) -> Iterator[NewTask]:
    doubts = find_doubts(study, chosen.rule, chosen.models)
    return item_tasks(items_of(study, doubts), doubts)


def refine_tasks(study: Study, chosen: Sought) -> Iterator[NewTask]:
    doubts = find_doubts(study, chosen.rule, chosen.models)
    items = items_of(study, doubts)
    return item_tasks(items if chosen.again else refined_at_most_once(study, items), doubts)


def items_of(study: Study, doubts: Flags) -> QuerySet[AnnotationItem]:
    return AnnotationItem.objects.filter(study=study, pilot=False, key__in=doubts).order_by("position")


def refined_at_most_once(study: Study, items: Iterable[AnnotationItem]) -> list[AnnotationItem]:
    """Leave out revisions of revisions, by then doubted three times: otherwise refining could go on for ever."""
    revisions = AnnotationItem.objects.filter(study=study, payload__has_key="before")
    known = set(revisions.values_list("key", flat=True))
    return [item for item in items if item.payload.get("before") not in known]


def item_tasks(items: Iterable[AnnotationItem], flags: Flags) -> Iterator[NewTask]:
    return (NewTask(f"item {item.pk}", flagged_by(item, flags), annotation_item=item) for item in items)


def flagged_by(item: AnnotationItem, flags: Flags) -> dict[str, Any]:
    """Which models flagged the item, and whether people doubt it too; empty if only people do."""
    models = [each.named for each in flags[item.key] if each]
    return {"flagged_by": models, "doubted": None in flags[item.key]} if models else {}


def category_tasks(study: Study, chosen: Sought) -> Iterator[NewTask]:
    """Yield tasks with the newest reason that a model gave; items without one are left out."""
    rows = Task.objects.filter(annotation_item__study=study, run__instruction__startswith="reason-")
    reasons = dict(rows.filter(values__isnull=False).order_by("pk").values_list("annotation_item", "values__reason"))
    doubts = find_doubts(study, chosen.rule, chosen.models)
    for item in items_of(study, doubts):
        if item.pk in reasons:
            payload = {"reason": reasons[item.pk]} | flagged_by(item, doubts)
            yield NewTask(f"item {item.pk}", payload, annotation_item=item)


def instructed(task: Task, words: str, brought: str = "") -> str:
    """Who doubts the statement and what to do; or an imported instruction in place of both."""
    return brought or f"{DOUBTED if task.payload.get('doubted', True) else FLAGGED}{words}"


def statement(task: Task) -> str:
    shown = task.annotation_item.payload
    quotes = "\n".join(f"- “{snippet['quote']}”" for snippet in shown["evidence"])
    return f"The statement: {shown['attribute']}\n\nThe quotes:\n{quotes}"


def about_item(words: str, schema: Schema) -> Callable[..., list[Message]]:
    return lambda task, instruction="": ask(instructed(task, words, instruction), statement(task), schema)


def text_in(said: Object, name: str) -> str:
    if not isinstance(said[name], str) or not said[name].strip():
        raise TaskFault(f"{name} is empty or no text.")
    return str(said[name]).strip()[:LONGEST]


def write_category(task: Task, instruction: str = "") -> list[Message]:
    """Write the messages; an imported instruction without a place for the choices gets them at its end."""
    shown = f"{statement(task)}\n\nWhat speaks against it: {task.payload['reason']}"
    if instruction and CHOICES_HERE not in instruction:
        instruction = f"{instruction.strip()}\n\n{CHOICES_HERE}"
    asked = instructed(task, CATEGORY, instruction).replace(CHOICES_HERE, CHOICES)
    return ask(asked, shown, CATEGORY_SCHEMA)


def read_choice(said: str, choices: Iterable[str], name: str) -> str:
    word = said.strip().strip("\"'`*. ").casefold()
    if word not in choices:
        raise TaskFault(f"{name} is {said[:40]}; it must be one of {', '.join(choices)}.")
    return word


def revision_in(said: Object) -> Object:
    """`action` with its `reasoning` and, for a revision, the new `attribute`."""
    action = read_choice(str(said["action"]), ("revise", "withdraw"), "action")
    new = str(said.get("attribute") or "").strip() if action == "revise" else ""
    if action == "revise" and not 0 < len(new) <= LONGEST:
        raise TaskFault(f"The new statement has {len(new):,} characters; it must have 1 to {LONGEST:,}.")
    return {"action": action, "attribute": new, "reasoning": str(said.get("reasoning") or "")[:LONGEST]}


REASON_KIND = TaskKind(
    "reason", 1, about_item(REASON, REASON_SCHEMA), reading("reason", lambda said: {"reason": text_in(said, "reason")}),
    REASON_SCHEMA, studies={"attribute": doubted_tasks}, most_tokens=400,
)  # fmt: skip
CATEGORY_KIND = TaskKind(
    "category", 1, write_category,
    reading("category", lambda said: {"category": read_choice(text_in(said, "category"), ERROR.values, "category")}),
    CATEGORY_SCHEMA, studies={"attribute": category_tasks}, most_tokens=200, usual_tokens=20,
)  # fmt: skip
REFINE_KIND = TaskKind(
    "refine", 1, about_item(REFINE, REFINE_SCHEMA), reading("action", revision_in, aside=["reasoning"]),
    REFINE_SCHEMA, studies={"attribute": refine_tasks}, most_tokens=600, usual_tokens=100,
)  # fmt: skip
