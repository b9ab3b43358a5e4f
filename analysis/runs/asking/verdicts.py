"""What the funnel asks of conversations: whether all of it is in the language, and whether it is a person's own use."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from analysis.corpora.records import Message
from analysis.models import Completion, Corpus, Run, Task
from analysis.people.funnel import keep_verdicts
from analysis.runs.asking.kinds import NewTask, TaskKind, ask, closed, number, read_share, text
from analysis.runs.asking.objects import Object, read_object
from analysis.runs.asking.transcripts import (
    before_material,
    first_span,
    read_conversations,
    transcript_of,
    wanted_language,
)

LANGUAGE = """
Below is a conversation of a person, the user, with a chatbot, the assistant. Say which share of it is in {language},
from 0 (none) to 1 (all of it). Names, code, and single words or formulas that everybody uses do not count against it.
A text in another language that is to be translated, corrected or explained does.
"""
USE = """
Below is a conversation of a person, the user, with a chatbot, the assistant. Say how far the user treats the assistant
as a personal assistant, in a conversation of their own, from 0 to 1.

- Near 1: a person asks, plans, learns, writes or talks for themselves, and reacts to replies.
- Near 0: a program sends requests of one form, as to an interface; long prepared instructions make it a generator of
  texts or images; the user tries to make the model break its rules, or only tests it.
"""
LANGUAGE_SCHEMA = closed(others=text("other languages that stand in it, or none"), share=number("from 0 to 1"))
USE_SCHEMA = closed(reasoning=text("what in the conversation shows it"), score=number("from 0 to 1"))


def whole(task: str, corpus: Corpus, most: int) -> Iterator[NewTask]:
    """One task a conversation; of a long one the beginning is shown."""
    for row in read_conversations(corpus, task):
        if payload := first_span(row.messages, most):
            yield NewTask(row.sha256, payload, row)


def language_tasks(corpus: Corpus, most: int) -> Iterator[NewTask]:
    language = wanted_language(corpus)
    for task in whole("language", corpus, most):
        yield task._replace(key=f"{task.key} {language}"[:200], payload=task.payload | {"language": language})


def write_language(task: Task, instruction: str = LANGUAGE) -> list[Message]:
    asked = instruction.replace("{language}", task.payload["language"])
    return ask(before_material(asked), transcript_of(task), LANGUAGE_SCHEMA)


def write_use(task: Task, instruction: str = USE) -> list[Message]:
    return ask(before_material(instruction), transcript_of(task), USE_SCHEMA)


def read(name: str, other: str, reply: str, task: Task) -> dict[str, Any]:
    def read_one(said: Object) -> Object:
        return {"value": read_share(said[name], name), other: str(said.get(other) or "")[:500]}

    return read_object(reply, name, read=read_one, aside=[other])


def keep(question: str, run: Run, calls: Sequence[Completion]) -> int:
    told = [call.task for call in calls]
    rows = ((task.conversation_id, task.payload.get("language", ""), task.values["value"]) for task in told)
    return keep_verdicts(question, rows, f"{run.endpoint.model[:150]} {run.instruction}")


LANGUAGE_KIND = TaskKind(
    "language", 1, write_language, partial(read, "share", "others"), LANGUAGE_SCHEMA,
    partial(keep, "language"), language_tasks, most_tokens=200, usual_tokens=20,
)  # fmt: skip
USE_KIND = TaskKind(
    "assistant-use", 1, write_use, partial(read, "score", "reasoning"), USE_SCHEMA,
    partial(keep, "assistant-use"), partial(whole, "assistant-use"), most_tokens=400, usual_tokens=60,
)  # fmt: skip
