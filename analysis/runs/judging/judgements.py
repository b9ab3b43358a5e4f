"""Labels out of a judge's replies: each reply is read once, and what is no label stays a reply."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from analysis.models import Completion, Instruction, Run, Task
from analysis.runs.asking.kinds import TaskKind
from analysis.runs.asking.objects import Object, TaskFault, read_object, without_thoughts
from analysis.runs.judging.prompts import INSTRUCTIONS, JudgePrompt, hash_prompt, work_of, write_judged
from analysis.stats.agreement.labels import compare_orders
from surveys.annotation.labels import record_judgement
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.files.kinds import SIDES, LabelFault, LabelQuestion, fields_of, read_labels
from surveys.studies.files.label_questions import questions_for

MIDDLE = 3  # of the labels from 1, the left response, to 5
NOT_SAID = "not said"
LONGEST_REPLY = 2_000  # of what is kept with the label; the whole reply is the call's


def read_judged(reply: str, task: Task) -> dict[str, Any]:
    """The labels by field."""
    return read_reply(reply, questions_for(work_of(task.run)), task.annotation_item.payload)


def keep_labels(prompt: JudgePrompt, run: Run, calls: Sequence[Completion]) -> None:
    """As labels of the judge. The first one that it gave an item in one order stands, and becomes the task's values."""
    work, rater = work_of(run), rater_of(run)
    prompt_sha256 = hash_prompt(prompt, work.kind, work.guidelines, questions_for(work))
    items = AnnotationItem.objects.filter(pk__in=[call.task.annotation_item_id for call in calls])
    # Locked, in one order for everybody: another run of the same judge may be read at the same time.
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
    return {
        "endpoint": run.endpoint.name,
        "provider": run.endpoint.provider,
        "model": run.endpoint.model,
        "model_served": call.model_served,
        "prompt": run.instruction,
        "temperature": run.temperature,
        "reply": call.reply[:LONGEST_REPLY],
        "prompt_tokens": call.prompt_tokens,
        "completion_tokens": call.completion_tokens,
        "usd": float(call.cost),
        "run": run.pk,
        "call": call.pk,
    }


# --- labels in a reply


def read_reply(text: str, questions: Sequence[LabelQuestion], payload: Mapping[str, Any]) -> dict[str, str]:
    """The labels of its object, or, where one thing is asked, of the label alone. A toggle must be said, not assumed.

    Raises TaskFault.
    """
    asked = [question for question in questions if question.is_label]
    fields = fields_of(asked, payload)

    def labels_in(said: Object) -> Object:
        given = {
            name: read_label(question, said[name]) if name in said else NOT_SAID for name, question in fields.items()
        }
        try:
            return read_labels(asked, payload, given)
        except LabelFault as fault:
            raise TaskFault(str(fault)) from None

    if len(fields) == 1:
        ((name, question),) = fields.items()
        if (label := read_label(question, without_thoughts(text))) in question.values:
            return {name: label}
    return read_object(text, *(name for name, question in fields.items() if not question.toggle), read=labels_in)


def read_label(question: LabelQuestion, said: Any) -> str:
    """The label that was meant: its value or its words, in any case, with quotes or a full stop."""
    word = str(said).strip().strip("\"'`*. ").casefold()
    meant = {choice.label.casefold(): choice.value for choice in question.choices}
    meant |= {choice.value.casefold(): choice.value for choice in question.choices}
    return meant.get(word, word[:100] or "nothing")


# --- judges as raters


def rater_of(run: Run) -> str:
    """A judge's name among raters: its endpoint, its instruction, and the temperature where it is not 0."""
    return rater_name(run.endpoint.name, run.instruction, run.temperature)


def rater_name(endpoint: str, instruction: str, temperature: float) -> str:
    return f"{endpoint} {instruction}" + (f" t={temperature:g}" if temperature else "")


def position_bias(study: Study, judge: str) -> dict[str, Any]:
    """Of the things that this judge saw in both orders: how often the same side won, whatever stood there.

    Returns {"pairs", "consistent", "left", "right"}: shares of the pairs in which the two orders agree about the
    response, and in which the label favours the left, or the right, both times. Null shares where there are not pairs.
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
                compare_orders(int(label) - MIDDLE, int(other[name]) - MIDDLE)
                for name, label in newest[item, left].items()
                if name in other
            )
    pairs = counts.total()
    return {"pairs": pairs} | {
        name: counts[name] / pairs if pairs else None for name in ("consistent", "left", "right")
    }


# --- as kinds of tasks


def judge_kind(prompt: JudgePrompt) -> TaskKind:
    return TaskKind(
        prompt.name,
        prompt.version,
        partial(write_judged, prompt),
        read_judged,
        keep=partial(keep_labels, prompt),
        most_tokens=None,
        usual_tokens=40,
        condition=Run.Condition.JUDGE,
        about=["annotation_item__history"],
    )


def judge_told(instruction: Instruction) -> TaskKind:
    """A judge that reads what somebody brought, instead of the annotators' guidelines."""
    return judge_kind(JudgePrompt(instruction.name, instruction.version, {}, True, instruction.text))


JUDGES = [judge_kind(prompt) for prompt in INSTRUCTIONS.values()]
