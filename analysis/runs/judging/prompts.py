"""What a judge is told: the annotators' own instruction, or one of its kind that was written for models."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.corpora.records import Message
from analysis.models import Endpoint, Run, Task
from surveys.studies.files.kinds import GENERIC, KINDS, PERSONALISED, LabelQuestion, fields_of
from surveys.studies.files.label_questions import questions_for
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.lifecycle import definition_of

# A character is a quarter of a token or more in the languages that histories are written in.
CHARACTERS_PER_TOKEN = 3
CUT = "[… {count} conversation{s} left out: the rest does not fit.]"


@dataclass(frozen=True)
class JudgePrompt:
    """A way to instruct a judge. Raise `version` whenever a word of it changes: it is part of the rater's name.

    `advice` by kind stands between the guidelines and the item; without any, a judge reads what annotators read, word
    for word. With `imagines` it reads all that is known about the person, as they do; without a profile there is
    nothing to imagine, and an earlier version is asked.
    """

    name: str
    version: int | str
    advice: Mapping[str, str]
    imagines: bool = False
    brought: str = ""  # words that stand for the guidelines

    @property
    def label(self) -> str:
        return f"{self.name}-{self.version}"

    def write(self, kind: str, guidelines: str, shown: str, asked: str) -> str:
        said = (self.brought or guidelines).strip()
        return "\n\n".join(filter(None, [said, self.advice.get(kind, ""), shown, asked]))


# Says how often people say yes, which is what agreement with people is to find out: in `LEADING_INSTRUCTIONS`.
LEADING_ADVICE = (
    "You judge as a careful person would, for the person whom this is about.\n"
    "- Rest on what is shown, not on what could be. Thin evidence is no evidence.\n"
    "- People say yes seldom: most attributes change nothing about most answers.\n"
    "- An answer is not better because it is longer, comes first, or names the attribute.\n"
    "Weigh it silently, then answer."
)
# Made of the mistakes that each kind of judgement invites. Nothing here says how often a label is right.
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
    """SHA-256 over everything that is the same for all items of one kind."""
    words = prompt.write(kind, guidelines, "<item>", ask_for(questions, {}))
    return hashlib.sha256(words.encode()).hexdigest()


# --- what is shown


def show_attribute(payload: Mapping[str, Any], history: Sequence[Mapping[str, Any]], left: str, room: int) -> str:
    quotes = "\n".join(f"- “{snippet['quote']}”" for snippet in payload["evidence"])
    wanted = {snippet["conversation"] for snippet in payload["evidence"] if snippet["conversation"] is not None}
    written = write_history(history, wanted, room)
    return f"The conversations:\n{written}\n\nWhat was concluded: {payload['attribute']}\n\nBecause of:\n{quotes}"


def write_history(history: Sequence[Mapping[str, Any]], wanted: set[int], room: int) -> str:
    """Whole conversations, those with evidence before others, in their own order; what does not fit is said."""
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
    """The profile as annotators see it: all that is known, and which of it they are asked about."""
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


def show_of(prompt: JudgePrompt, kind: str) -> Show:
    return show_imagined if prompt.imagines and kind == "preference" else SHOWN[kind]


# --- the instructions

# Older versions stay, since what was sent is rebuilt from them; of each name the last one is asked.
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
    """The label of the last version that is asked about items with a profile, or without."""
    own = (each for each in INSTRUCTIONS.values() if each.name == name)
    return [each.label for each in own if with_profile or not each.imagines][-1]


# --- what is asked


def ask_for(questions: Sequence[LabelQuestion], payload: Mapping[str, Any]) -> str:
    """Every field with its labels, and the JSON to answer in. Free texts are not asked of models."""
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
    """What the run's judge is to label, as annotators are."""
    work = definition_of(run.version_id).annotation
    assert work is not None, "judges are planned for annotation studies only"
    return work


def write_judged(prompt: JudgePrompt, task: Task) -> list[Message]:
    """Of a history only what the rest of the message leaves room for."""
    work, item, left = work_of(task.run), task.annotation_item, task.payload["left"]
    show, asked = show_of(prompt, work.kind), ask_for(questions_for(work), item.payload)
    content = prompt.write(work.kind, work.guidelines, show(item.payload, (), left, 0), asked)
    if item.history is not None:
        room = task.payload["room"] - len(content)
        shown = show(item.payload, item.history.conversations, left, room)
        content = prompt.write(work.kind, work.guidelines, shown, asked)
    return [{"role": "user", "content": content}]


def message_room(endpoint: Endpoint) -> int:
    """Characters that are certain to fit into the endpoint's window beside the reply."""
    return max(0, endpoint.context_window - endpoint.max_tokens) * CHARACTERS_PER_TOKEN
