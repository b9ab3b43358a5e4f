"""Tasks between stages of annotation, whose replies become items.

About prompts and people: which attributes may matter, a response with them, which ones it mentions. About doubted
attributes: what speaks against them, which kind of mistake it is, and how to correct it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.db.models import QuerySet

from analysis.models import Attribute, Corpus, Task
from analysis.people.corpora.records import Message, short_hash
from analysis.people.pushing import studied_users
from analysis.people.stages.judged import find_doubts
from analysis.people.stages.prompt_lists import ListedPrompt
from analysis.people.stages.relevant import SUREST, count_votes, relevant_pairs
from analysis.people.steps import require_merged
from analysis.runs.asking.kinds import (
    NewTask,
    Object,
    Schema,
    Sought,
    TaskFault,
    TaskKind,
    ask,
    asking,
    closed,
    listed,
    number,
    read_object,
    reading,
    text,
)
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import ERROR, GENERIC, PERSONALISED
from surveys.studies.labels import ModelRater

CANDIDATES = """
Below are a prompt to a chatbot and numbered attributes of the person who asks. List the numbers of those that might
change what a good response says: its content, order, depth, tone or examples. A shared topic or word is not enough.
Leave the list empty where none might.
"""
MENTIONS = """
Below are a response of a chatbot and numbered attributes of the person whom it answers. List the numbers of those that
the response names or plainly refers to. What only fits an attribute, without referring to it, does not count.
"""
CANDIDATES_SCHEMA = closed(relevant=listed(number("the number of an attribute")))
MENTIONS_SCHEMA = closed(mentioned=listed(number("the number of an attribute")))
ABOUT = "This is known about the user:\n{attributes}\nUse it where it makes the response better for them."
ATTRIBUTES_HERE = "{attributes}"  # in an instruction
MOST_ATTRIBUTES = 60  # the surest of a user
LONGEST_RESPONSE = 50_000  # characters
LONGEST_NUMBER = 10  # digits


def show(name: str, task: Task) -> str:
    """The prompt or the response, and the numbered attributes."""
    listed = "\n".join(f"{place}. {attribute}" for place, attribute in enumerate(task.payload["attributes"], 1))
    return f"The {name}:\n{task.payload[name]}\n\nThe attributes:\n{listed}"


def read_numbers(reply: str, most: int, name: str) -> list[int]:
    """Places from 1, sorted, each once. Raises TaskFault."""
    return list(read_object(reply, name, read=lambda said: {name: places_in(said[name], most, name)})[name])


def places_in(said: Any, most: int, name: str) -> list[int]:
    entries = said if isinstance(said, list) else [said]
    places = [int(entry) if str(entry).isdecimal() and len(str(entry)) < LONGEST_NUMBER else 0 for entry in entries]
    wrong = [entry for entry, place in zip(entries, places, strict=True) if not 1 <= place <= most]
    if wrong:
        raise TaskFault(f"{name} names {str(wrong[0])[:40]}; there are attributes from 1 to {most}.")
    return sorted(set(places))


# --- candidates: every prompt with every sampled user


def candidate_tasks(corpus: Corpus, prompts: Sequence[ListedPrompt], sample: str = "") -> Iterator[NewTask]:
    """Yield a task for each prompt and each sampled user (kept, if nobody was sampled) with merged attributes."""
    require_merged(corpus)
    for user in studied_users(corpus, sample):
        merged = Attribute.objects.filter(user=user, cluster_size__isnull=False)
        known = dict(merged.order_by(SUREST, "id").values_list("id", "text")[:MOST_ATTRIBUTES])
        for prompt in prompts if known else ():
            key = f"{short_hash(prompt.text)} {user.pk} {short_hash(*known.values())}"
            shown = {"prompt": prompt.text, "ids": list(known), "attributes": list(known.values())}
            yield NewTask(key, shown | ({"name": prompt.name} if prompt.name else {}), user=user)


def read_candidates(reply: str, task: Task) -> dict[str, Any]:
    """`candidates`: the ids of the attributes."""
    ids = task.payload["ids"]
    return {"candidates": [ids[place - 1] for place in read_numbers(reply, len(ids), "relevant")]}


# --- responses: a personalised one for each pair of prompt and user, and a generic one for each prompt


def respond_tasks(study: Study, chosen: Sought) -> Iterator[NewTask]:
    """Yield tasks for a relevance study's responses: to pairs with an attribute that people, or a model, call relevant.

    People and models who call the same relevant share a response; the generic one serves all who ask the same.
    """
    by, generic = next(iter(chosen.models), None), set()
    for pair in relevant_pairs(study, count_votes(study, by)):
        for arm, key, known in ((GENERIC, pair.prompt_key, []), (PERSONALISED, pair.key, pair.attributes)):
            if arm == GENERIC and key in generic:
                continue
            generic.add(key)
            payload: dict[str, Any] = {"prompt": pair.prompt, "arm": arm, "attributes": known}
            payload |= {"relevant_by": by.named} if by else {}
            yield NewTask(f"{arm} {key}", payload, annotation_item=pair.items[0])


def write_respond(task: Task, instruction: str = ABOUT) -> list[Message]:
    """Write the messages; an imported instruction without a place for the attributes gets them at its end."""
    known = "\n".join(f"- {attribute}" for attribute in task.payload["attributes"])
    about = instruction if ATTRIBUTES_HERE in instruction else f"{instruction.strip()}\n{ATTRIBUTES_HERE}"
    front: list[Message] = [{"role": "system", "content": about.replace(ATTRIBUTES_HERE, known)}] if known else []
    return [*front, {"role": "user", "content": task.payload["prompt"]}]


def read_respond(reply: str, task: Task) -> dict[str, Any]:
    if not reply.strip():
        raise TaskFault("The response is empty.")
    return {"response": reply.strip()[:LONGEST_RESPONSE]}


# --- mentions: of what a personalised response could refer to


def mention_tasks(study: Study, chosen: Sought) -> Iterator[NewTask]:
    for task in responses_of(study):
        if task.payload["attributes"]:
            payload = {"response": task.values["response"], "attributes": task.payload["attributes"]}
            key = short_hash(payload["response"], *payload["attributes"])
            yield NewTask(f"{key} {task.annotation_item_id}", payload, annotation_item=task.annotation_item)


def item_mention_tasks(study: Study, chosen: Sought) -> Iterator[NewTask]:
    """Yield a task for each personalised response of a preference study, with the attributes that it is rated for."""
    rows = AnnotationItem.objects.filter(study=study, pilot=False, purpose=AnnotationItem.Purpose.WORK)
    for item in rows.order_by("position").iterator(chunk_size=200):
        attributes = [part["text"] for part in item.payload["attributes"]]
        payload = {"response": item.payload[PERSONALISED], "attributes": attributes}
        yield NewTask(f"{short_hash(payload['response'], *attributes)} {item.pk}", payload, annotation_item=item)


def responses_of(study: Study) -> Iterator[Task]:
    rows = Task.objects.filter(annotation_item__study=study, run__instruction__startswith="respond-")
    found = rows.filter(values__isnull=False).select_related("annotation_item").order_by("pk")
    return found.iterator(chunk_size=200)


def read_mentions(reply: str, task: Task) -> dict[str, Any]:
    """`mentioned`: for each attribute, whether it is."""
    most = len(task.payload["attributes"])
    places = read_numbers(reply, most, "mentioned")
    return {"mentioned": [place in places for place in range(1, most + 1)]}


CANDIDATES_KIND = TaskKind(
    "candidates", 1, asking(CANDIDATES, partial(show, "prompt"), CANDIDATES_SCHEMA), read_candidates,
    CANDIDATES_SCHEMA, most_tokens=400, usual_tokens=20,
)  # fmt: skip
MENTIONS_KIND = TaskKind(
    "mentions", 1, asking(MENTIONS, partial(show, "response"), MENTIONS_SCHEMA), read_mentions,
    MENTIONS_SCHEMA, studies={"relevance": mention_tasks, "preference": item_mention_tasks},
    most_tokens=400, usual_tokens=20,
)  # fmt: skip
RESPOND_KIND = TaskKind(
    "respond", 1, write_respond, read_respond, studies={"relevance": respond_tasks}, temperature=1.0, usual_tokens=500
)


# --- doubted attributes

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
LONGEST_TEXT = 2_000  # characters
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
    return str(said[name]).strip()[:LONGEST_TEXT]


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
    if action == "revise" and not 0 < len(new) <= LONGEST_TEXT:
        raise TaskFault(f"The new statement has {len(new):,} characters; it must have 1 to {LONGEST_TEXT:,}.")
    return {"action": action, "attribute": new, "reasoning": str(said.get("reasoning") or "")[:LONGEST_TEXT]}


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
