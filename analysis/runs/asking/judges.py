"""Judges, whose calls are tasks: what they read about an item, and the labels in their replies."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from analysis.endpoints.endpoints import most_tokens
from analysis.models import Completion, Endpoint, Instruction, Run, Task
from analysis.people.corpora.records import Message
from analysis.runs.asking.kinds import Object, TaskFault, TaskKind, read_object, without_thoughts
from surveys.models import Annotation, AnnotationItem
from surveys.models.hashes import hash_text
from surveys.studies.files.kinds import (
    GENERIC,
    KINDS,
    PERSONALISED,
    LabelFault,
    LabelQuestion,
    fields_of,
    read_labels,
)
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.labels import questions_for, record_judgement
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import RaisedAs

# In the languages that histories are written in, a token has four characters or fewer.
CHARACTERS_PER_TOKEN = 3
CUT = "[… {count} conversation{s} left out: the rest does not fit.]"


@dataclass(frozen=True)
class JudgePrompt:
    """An instruction for judges. Raise `version` whenever a word of it changes: it is part of the rater's name.

    `advice`, by kind, comes between guidelines and item; without any, a judge reads what annotators read, word for
    word. With `imagines` it reads all that is known about the person, as they do; without a profile there is nothing to
    imagine, and an earlier version is asked.
    """

    name: str
    version: int | str
    advice: Mapping[str, str]
    imagines: bool = False
    brought: str = ""  # imported words in place of the guidelines

    @property
    def label(self) -> str:
        return f"{self.name}-{self.version}"

    def write(self, kind: str, guidelines: str, shown: str, asked: str) -> str:
        said = (self.brought or guidelines).strip()
        return "\n\n".join(filter(None, [said, self.advice.get(kind, ""), shown, asked]))


# Leading: it says how often people say yes, which agreement with them is to find out (LEADING_INSTRUCTIONS).
LEADING_ADVICE = (
    "You judge as a careful person would, for the person whom this is about.\n"
    "- Rest on what is shown, not on what could be. Thin evidence is no evidence.\n"
    "- People say yes seldom: most attributes change nothing about most answers.\n"
    "- An answer is not better because it is longer, comes first, or names the attribute.\n"
    "Weigh it silently, then answer."
)
# Names the mistakes that each kind of judgement invites. Nothing here says how often a label is right.
ADVICE = {
    "attribute": (
        "Before you judge the statement, look for each of these mistakes:\n"
        "- Overgeneralisation: one request, one moment or one situation is taken for a lasting trait. To ask for one "
        "translation does not make somebody a learner of that language.\n"
        "- Missing evidence: a detail of the statement is not in the conversations, or not in what the person wrote.\n"
        "- Mixed up with the task: the subject of a task, a role or a fiction, or words of the chatbot are taken for "
        "the person.\n"
        "- Not standing alone: the statement describes the task at hand and says nothing about the person without it.\n"
        "What the person says about themselves, or shows again and again, is evidence. Weigh it silently, then answer."
    ),
    "relevance": (
        "Before you judge, imagine two responses to the prompt: one by a chatbot that knows this about the person, one "
        "by a chatbot that does not. Then look for both kinds of mistake:\n"
        "- To call a shared topic or word relevant although the two responses would say the same.\n"
        "- To call something relevant because a response could mention it, although nothing else would change.\n"
        "- To call something irrelevant because no word is shared, although content, order, depth, tone or examples "
        "would be others.\n"
        "Weigh it silently, then answer."
    ),
    "preference": (
        "Before you judge, read both answers whole, with this attribute in mind. Look for each of these mistakes:\n"
        "- To reward an answer because it names the attribute: what counts is whether it serves the person better.\n"
        "- To punish an answer because it names the attribute where that is of use.\n"
        "- To be led by length, by layout, or by which answer stands first.\n"
        "Weigh it silently, then answer."
    ),
    "error": (
        "Before you choose, hold the statement against each category:\n"
        "- Says too much: a broad or lasting trait from narrow evidence or one moment.\n"
        "- Not supported: it rests on details that are not shown, or that do not match.\n"
        "- Mixed up with the task: the subject, a fiction or the chatbot's words are taken for the person's.\n"
        "- Only about this task: it describes the task at hand and does not stand alone.\n"
        "Where several fit, choose the one without which the statement would be right. Weigh it silently, then answer."
    ),
}


def hash_prompt(prompt: JudgePrompt, kind: str, guidelines: str, questions: Sequence[LabelQuestion]) -> str:
    """SHA-256 of everything that is the same for all items of one kind."""
    words = prompt.write(kind, guidelines, "<item>", ask_for(questions, {}))
    return hash_text(words)


# --- what is shown


def show_attribute(payload: Mapping[str, Any], history: Sequence[Mapping[str, Any]], left: str, room: int) -> str:
    quotes = "\n".join(f"- “{snippet['quote']}”" for snippet in payload["evidence"])
    wanted = {snippet["conversation"] for snippet in payload["evidence"] if snippet["conversation"] is not None}
    written = write_history(history, wanted, room)
    return f"The conversations:\n{written}\n\nWhat was concluded: {payload['attribute']}\n\nBecause of:\n{quotes}"


def write_history(history: Sequence[Mapping[str, Any]], wanted: set[int], room: int) -> str:
    """Whole conversations in their own order, preferring those with evidence; says how many do not fit."""
    texts = {number: write_conversation(number, conversation) for number, conversation in enumerate(history, 1)}
    kept: set[int] = set()
    for number in sorted(texts, key=lambda number: (number not in wanted, number)):
        if len(texts[number]) <= room:
            kept.add(number)
            room -= len(texts[number])
    left_out = len(texts) - len(kept)
    more = [CUT.format(count=left_out, s="" if left_out == 1 else "s")] if left_out else []
    return "\n\n".join([*(texts[number] for number in sorted(kept)), *more])


def write_conversation(number: int, conversation: Mapping[str, Any]) -> str:
    turns = "\n".join(f"{turn['role']}: {turn['text']}" for turn in conversation["turns"])
    title = f" ({conversation['title']})" if conversation.get("title") else ""
    return f"Conversation {number}{title}\n{turns}"


def show_relevance(payload: Mapping[str, Any], history: Sequence[Mapping[str, Any]], left: str, room: int) -> str:
    return f"The prompt:\n{payload['prompt']}\n\nWhat the chatbot would know: {payload['attribute']}"


def show_preference(payload: Mapping[str, Any], history: Sequence[Mapping[str, Any]], left: str, room: int) -> str:
    profile = "\n".join(f"- {line}" for line in payload.get("profile", ()))
    return f"About the person:\n{profile}\n\n{show_pair(payload, left)}" if profile else show_pair(payload, left)


def show_pair(payload: Mapping[str, Any], left: str) -> str:
    right = PERSONALISED if left == GENERIC else GENERIC
    return f"The prompt:\n{payload['prompt']}\n\nAnswer A:\n{payload[left]}\n\nAnswer B:\n{payload[right]}"


def show_imagined(payload: Mapping[str, Any], history: Sequence[Mapping[str, Any]], left: str, room: int) -> str:
    """The profile as annotators see it, with the parts that they are asked about marked, and both responses."""
    asked = [part["text"] for part in payload["attributes"]]
    known = dict.fromkeys([*payload.get("profile", ()), *asked])
    lines = "\n".join(f"- {line}{' (asked about)' if line in asked else ''}" for line in known)
    return f"Imagine that this is true of you:\n{lines}\n\n{show_pair(payload, left)}"


Show = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]], str, int], str]
SHOWN: dict[str, Show] = {
    "attribute": show_attribute,
    "relevance": show_relevance,
    "preference": show_preference,
    "error": show_attribute,
}


# --- the instructions

# Older versions stay, since what was sent is rebuilt from them; new runs ask the last of each name.
INSTRUCTIONS = {
    prompt.label: prompt
    for prompt in (
        JudgePrompt("same", 1, {}),
        JudgePrompt("optimised", 1, dict.fromkeys(KINDS, LEADING_ADVICE)),
        JudgePrompt("optimised", 2, ADVICE),
        JudgePrompt("same", 2, {}, imagines=True),
        JudgePrompt("optimised", 3, ADVICE, imagines=True),
    )
}
PROMPTS = {prompt.name: prompt for prompt in INSTRUCTIONS.values()}


def newest_instruction(name: str, *, with_profile: bool) -> str:
    """Label of the last version for items with a profile, or without."""
    own = (each for each in INSTRUCTIONS.values() if each.name == name)
    return [each.label for each in own if with_profile or not each.imagines][-1]


# --- what is asked


def ask_for(questions: Sequence[LabelQuestion], payload: Mapping[str, Any]) -> str:
    """Every field with its labels, and the JSON to answer in. Models are not asked for free texts."""
    lines, form = [], {}
    parts = {part["id"]: part["text"] for part in payload.get("attributes", ())}
    for field, question in fields_of([q for q in questions if q.is_label], payload).items():
        about = parts.get(field.partition("/")[2], "")
        labels = "; ".join(f'"{choice.value}" = {choice.label}' for choice in question.choices)
        lines.append(f"{field}: {question.text}{f' ({about})' if about else ''} [{labels}]")
        form[field] = "…"
    return "\n".join([*lines, f"Answer with JSON and nothing else: {json.dumps(form, ensure_ascii=False)}"])


# --- the message about one item, rebuilt from the frozen item, the instruction, the order and the room of its task


def work_of(run: Run) -> AnnotationWork:
    """The annotation work that the run's judge does, as annotators do."""
    work = definition_of(run.version_id).annotation
    assert work is not None, "judges are planned for annotation studies only"
    return work


def write_judged(prompt: JudgePrompt, task: Task) -> list[Message]:
    """Write the message; a history gets the room that the rest leaves."""
    work, item, left = work_of(task.run), task.annotation_item, task.payload["left"]
    show = show_imagined if prompt.imagines and work.kind == "preference" else SHOWN[work.kind]
    asked = ask_for(questions_for(work), item.payload)
    content = prompt.write(work.kind, work.guidelines, show(item.payload, (), left, 0), asked)
    if item.history is not None:
        room = task.payload["room"] - len(content)
        shown = show(item.payload, item.history.conversations, left, room)
        content = prompt.write(work.kind, work.guidelines, shown, asked)
    return [{"role": "user", "content": content}]


def message_room(endpoint: Endpoint) -> int:
    """Characters that certainly fit into the endpoint's window with the reply."""
    return max(0, endpoint.context_window - most_tokens(endpoint)) * CHARACTERS_PER_TOKEN


NOT_SAID = "not said"
LONGEST_REPLY = 2_000  # of what is kept with the label; the whole reply is the call's


def keep_labels(prompt: JudgePrompt, run: Run, calls: Sequence[Completion]) -> None:
    """Keep labels as the judge's. An earlier one of the same item and order stands, and becomes the task's values."""
    work, rater = work_of(run), rater_of(run)
    prompt_sha256 = hash_prompt(prompt, work.kind, work.guidelines, questions_for(work))
    items = AnnotationItem.objects.filter(pk__in=[call.task.annotation_item_id for call in calls])
    # Locked, in the same order by all, since another run of the same judge may be read at the same time.
    list(items.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    known = Annotation.objects.filter(item__in=items, judge=rater).order_by("revision")
    said = {(row.item_id, row.left): row for row in known}
    for call in calls:
        task, left = call.task, call.task.payload["left"]
        label = said.get((task.annotation_item_id, left)) or record_judgement(
            task.annotation_item,
            rater,
            task.values,
            left=left,
            version=run.version,
            active_ms=call.latency_ms,
            detail=detail_of(run, call) | {"prompt_sha256": prompt_sha256},
        )
        task.values = label.labels


def detail_of(run: Run, call: Completion) -> dict[str, Any]:
    """How a label came about, to be kept with it."""
    endpoint = run.endpoint
    return {
        **{"endpoint": endpoint.name, "provider": endpoint.provider, "model": endpoint.model},
        **{"model_served": call.model_served, "prompt": run.instruction, "temperature": run.temperature},
        "reply": call.reply[:LONGEST_REPLY],
        **{"prompt_tokens": call.prompt_tokens, "completion_tokens": call.completion_tokens},
        **{"usd": float(call.cost), "run": run.pk, "call": call.pk},
    }


# --- labels in a reply


def read_reply(text: str, questions: Sequence[LabelQuestion], payload: Mapping[str, Any]) -> dict[str, str]:
    """Read the labels from the reply's object or, if only one field is asked, from a bare label.

    A toggle must be stated, not assumed. Raises TaskFault.
    """
    asked = [question for question in questions if question.is_label]
    fields = fields_of(asked, payload)

    def labels_in(said: Object) -> Object:
        given = {
            name: read_label(question, said[name]) if name in said else NOT_SAID for name, question in fields.items()
        }
        with RaisedAs(TaskFault, LabelFault):
            return read_labels(asked, payload, given)

    if len(fields) == 1:
        ((name, question),) = fields.items()
        if (label := read_label(question, without_thoughts(text))) in question.values:
            return {name: label}
    return read_object(text, *(name for name, question in fields.items() if not question.toggle), read=labels_in)


def read_label(question: LabelQuestion, said: Any) -> str:
    """The label meant: its value or its words, in any case, even with quotes or a full stop."""
    word = str(said).strip().strip("\"'`*. ").casefold()
    meant = {choice.label.casefold(): choice.value for choice in question.choices}
    meant |= {choice.value.casefold(): choice.value for choice in question.choices}
    return meant.get(word, word[:100] or "nothing")


# --- judges as raters


def rater_of(run: Run) -> str:
    """The judge's name as a rater: its endpoint, its instruction, and the temperature unless it is 0."""
    return rater_name(run.endpoint.name, run.instruction, run.temperature)


def rater_name(endpoint: str, instruction: str, temperature: float) -> str:
    return f"{endpoint} {instruction}" + (f" t={temperature:g}" if temperature else "")


# --- as kinds of tasks


def judge_kind(prompt: JudgePrompt) -> TaskKind:
    return TaskKind(
        prompt.name,
        prompt.version,
        partial(write_judged, prompt),
        lambda reply, task: read_reply(reply, questions_for(work_of(task.run)), task.annotation_item.payload),
        keep=partial(keep_labels, prompt),
        most_tokens=None,
        usual_tokens=40,
        condition=Run.Condition.JUDGE,
        about=["annotation_item__history"],
    )


def imported_judge(instruction: Instruction) -> TaskKind:
    """A judge with an imported instruction instead of the annotators' guidelines."""
    return judge_kind(JudgePrompt(instruction.name, instruction.version, {}, True, instruction.text))


JUDGES = [judge_kind(prompt) for prompt in INSTRUCTIONS.values()]
