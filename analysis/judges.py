"""Models as raters: the same items, the same instruction, both orders; what they say is kept as labels are."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from analysis.asking import Ask, Spent, Told, ask_all
from analysis.endpoints import find_endpoint, price
from analysis.judge_prompts import CHARACTERS_PER_TOKEN, PROMPTS, SHOWN, JudgePrompt, ask_for, hash_prompt
from analysis.models import Endpoint
from surveys.annotation.labels import record_judgement
from surveys.annotation_kinds import KINDS, SIDES, LabelFault, Question, fields_of, questions_for
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies import definition_of

# In dollars nothing is known about a reply before it comes; judges answer with a few words.
REPLY_TOKENS = 40
OBJECT = re.compile(r"\{[^{}]*\}")


class JudgeError(Exception):
    """Judging that cannot begin, with a sentence that says what to do."""


@dataclass(frozen=True)
class Judge:
    """One rater: an endpoint with one way to instruct it, at one temperature."""

    study: Study
    endpoint: Endpoint
    prompt: JudgePrompt
    temperature: float

    @property
    def name(self) -> str:
        warm = f" t={self.temperature:g}" if self.temperature else ""
        return f"{self.endpoint.name} {self.prompt.label}{warm}"


@dataclass(frozen=True)
class Task:
    """One item to judge, in one order of the responses."""

    item: int
    left: str


@dataclass
class Judged:
    """What became of it: labels kept, replies that were no labels, failed calls, dollars."""

    judge: str
    planned: int
    labelled: int = 0
    unread: int = 0
    failed: int = 0
    usd: Decimal = Decimal(0)
    stopped: str = ""
    examples: list[str] = field(default_factory=list)  # the first replies that could not be read


def find_judge(study: Study, endpoint: str, prompt: str = "same", temperature: float = 0.0) -> Judge:
    """Raises JudgeError, EndpointError."""
    work = definition_of(study.current_id).annotation if study.current_id else None
    if work is None or work.kind not in KINDS:
        raise JudgeError(f"{study.slug} has no items to judge: it is no annotation study.")
    if work.kind not in SHOWN:
        raise JudgeError(
            f"Nobody has written yet how the kind {work.kind} is shown to a model; see judge_prompts.SHOWN."
        )
    if prompt not in PROMPTS:
        raise JudgeError(f"There is no instruction {prompt!r}; there are {', '.join(PROMPTS)}.")
    return Judge(study, find_endpoint(endpoint), PROMPTS[prompt], temperature)


def open_tasks(judge: Judge, *, both_orders: bool = True, pilot: bool = False, limit: int | None = None) -> list[Task]:
    """What this judge has not labelled yet, item by item; for kinds with sides in both orders, or the first."""
    kind = KINDS[definition_of(judge.study.current_id).annotation.kind]
    orders: Sequence[str] = ("",) if not kind.sided else SIDES if both_orders else SIDES[:1]
    items = AnnotationItem.objects.filter(study=judge.study, pilot=pilot, purpose=AnnotationItem.Purpose.WORK)
    done = set(Annotation.objects.filter(item__study=judge.study, judge=judge.name).values_list("item", "left"))
    keys = items.order_by("position").values_list("pk", flat=True)
    return [Task(key, left) for key in keys for left in orders if (key, left) not in done][:limit]


def estimate(judge: Judge, tasks: Sequence[Task]) -> dict[str, Any]:
    """Calls, tokens and dollars, from the first tasks of the list."""
    sample = list(write_asks(judge, tasks[:20]))
    each = sum(len(ask.messages[0]["content"]) for ask in sample) // CHARACTERS_PER_TOKEN // max(len(sample), 1)
    tokens = (each * len(tasks), REPLY_TOKENS * len(tasks))
    usd = price(judge.endpoint, *tokens)
    return {
        "judge": judge.name,
        "calls": len(tasks),
        "tokens_in": tokens[0],
        "tokens_out": tokens[1],
        "usd": float(usd),
    }


def judge_items(
    judge: Judge,
    tasks: Sequence[Task],
    budget: Decimal | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Judged:
    """Ask about each task and keep its labels, batch by batch; a second order goes on where it was.

    A reply that is no label is counted and kept nowhere: nothing is guessed. Raises EndpointError.
    """
    judged = Judged(judge.name, len(tasks))
    items = Items(judge)

    def store(told: list[Told]) -> None:
        for done in told:
            items.keep(done, judged)

    spent = ask_all(
        judge.endpoint,
        judge.temperature,
        tasks,
        lambda batch: list(write_asks(judge, batch)),
        store,
        budget,
        progress,
    )
    return take_over(judged, spent)


def take_over(judged: Judged, spent: Spent) -> Judged:
    judged.failed, judged.usd, judged.stopped = spent.failed, spent.usd, spent.stopped
    return judged


def write_asks(judge: Judge, tasks: Iterable[Task]) -> Iterator[Ask]:
    tasks = list(tasks)
    work = definition_of(judge.study.current_id).annotation
    questions = questions_for(work)
    rows = AnnotationItem.objects.select_related("history").in_bulk([task.item for task in tasks])
    room = (
        (judge.endpoint.context_window - judge.endpoint.max_tokens) * CHARACTERS_PER_TOKEN
        - len(work.guidelines)
        - 4_000
    )
    for task in tasks:
        item = rows[task.item]
        history = item.history.conversations if item.history else ()
        shown = SHOWN[work.kind](item.payload, history, task.left, room)
        words = judge.prompt.write(work.guidelines, shown, ask_for(questions, item.payload))
        yield Ask(task, f"judge-{task.item}-{task.left}-{judge.prompt.label}", [{"role": "user", "content": words}])


class Items:
    """Keeps what the judge says of each item."""

    def __init__(self, judge: Judge) -> None:
        work = definition_of(judge.study.current_id).annotation
        self.judge, self.questions = judge, questions_for(work)
        self.hash = hash_prompt(judge.prompt, work.guidelines, self.questions)

    def keep(self, told: Told, judged: Judged) -> None:
        task: Task = told.ask.about
        item = AnnotationItem.objects.select_related("study__current").get(pk=task.item)
        labels = read_reply(told.reply.text, self.questions, item.payload)
        try:
            record_judgement(
                item, self.judge.name, labels, left=task.left, active_ms=told.milliseconds, detail=self.detail(told)
            )
            judged.labelled += 1
        except LabelFault:
            judged.unread += 1
            judged.examples = [*judged.examples, told.reply.text[:200]][:5]

    def detail(self, told: Told) -> dict[str, Any]:
        reply = told.reply
        cost = price(self.judge.endpoint, reply.prompt_tokens or 0, reply.completion_tokens or 0)
        return {
            "endpoint": self.judge.endpoint.name,
            "provider": self.judge.endpoint.provider,
            "model": self.judge.endpoint.model,
            "model_served": reply.model,
            "prompt": self.judge.prompt.label,
            "prompt_sha256": self.hash,
            "temperature": self.judge.temperature,
            "reply": reply.text[:2_000],
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "usd": float(cost),
        }


# --- reading ----------------------------------------------------------------


def read_reply(text: str, questions: Sequence[Question], payload: Mapping[str, Any]) -> dict[str, str]:
    """The labels in a reply: of its last JSON object, or, where one thing is asked, of the label alone.

    What is missing or no label is left for `record_judgement` to refuse. A toggle must be said, not assumed.
    """
    fields = fields_of([question for question in questions if question.is_label], payload)
    for found in reversed(OBJECT.findall(text)):
        try:
            said = json.loads(found)
        except ValueError:
            continue
        labels = {name: read_label(question, said[name]) for name, question in fields.items() if name in said}
        if missing := {name for name, question in fields.items() if question.toggle and name not in labels}:
            labels |= dict.fromkeys(missing, "not said")
        return labels
    needed = {name: question for name, question in fields.items() if not question.toggle}
    if len(needed) == len(fields) == 1:
        ((name, question),) = needed.items()
        return {name: read_label(question, text)}
    return {}


def read_label(question: Question, said: Any) -> str:
    """The label that was meant: its value or its words, in any case, with quotes or a full stop."""
    word = str(said).strip().strip("\"'`*. ").casefold()
    meant = {choice.label.casefold(): choice.value for choice in question.choices}
    meant |= {choice.value.casefold(): choice.value for choice in question.choices}
    return meant.get(word, word[:100] or "nothing")


# --- the order shown --------------------------------------------------------


def position_bias(study: Study, judge: str) -> dict[str, Any]:
    """Of the things that this judge saw in both orders: how often the same side won, whatever stood there.

    Returns {"pairs", "consistent", "left", "right"}: shares of the pairs in which the two orders agree about the
    response, and in which the label favours the left, or the right, both times. Null shares where there are no pairs.
    """
    rows = Annotation.objects.filter(item__study=study, judge=judge, state=Annotation.State.GIVEN).exclude(left="")
    newest: dict[tuple[int, str], dict[str, str]] = {}
    for item, left, labels in rows.order_by("revision").values_list("item", "left", "labels"):
        newest[item, left] = labels
    counts: Counter[str] = Counter()
    for item, left in newest:
        if left == SIDES[0] and (item, SIDES[1]) in newest:
            other = newest[item, SIDES[1]]
            counts.update(
                compare_orders(newest[item, left][name], other[name]) for name in newest[item, left] if name in other
            )
    pairs = counts.total()
    return {"pairs": pairs} | {
        name: counts[name] / pairs if pairs else None for name in ("consistent", "left", "right")
    }


def compare_orders(first: str, second: str) -> str:
    """Two labels from 1 (left) to 5 (right): the same response both times, or the same side."""
    one, two = int(first) - 3, int(second) - 3
    if one * two > 0:
        return "left" if one < 0 else "right"
    return "consistent" if one * two < 0 or one == two == 0 else "mixed"
