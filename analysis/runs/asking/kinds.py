"""Kinds of tasks: how each is asked, the form of its reply, and what becomes of it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from analysis.models import Completion, Conversation, Corpus, CorpusUser, Instruction, Run, Task
from analysis.people.corpora.records import Message
from analysis.runs.asking.objects import Object, TaskFault, read_object
from surveys.models import AnnotationItem

Schema = Mapping[str, Any]


class NewTask(NamedTuple):
    """A task to plan. Its key names it among all tasks of its kind, and contains no text about a person."""

    key: str
    payload: dict[str, Any]
    conversation: Conversation | None = None
    user: CorpusUser | None = None
    annotation_item: AnnotationItem | None = None


@dataclass(frozen=True)
class TaskKind:
    """A kind of task. Raise `version` whenever a word of its messages changes: runs are told apart by it.

    `keep` stores what was read where it belongs, given the calls with their tasks, and may correct the values.
    """

    name: str
    version: int | str
    write: Callable[..., list[Message]]  # given the task, and words in place of the shipped instruction
    read: Callable[[str, Task], dict[str, Any]]  # raises TaskFault
    schema: Schema | None = None  # of the reply; None: free text
    keep: Callable[[Run, Sequence[Completion]], Any] | None = None
    conversations: Callable[[Corpus, int], Iterator[NewTask]] | None = None  # of a corpus, in so many characters
    count: Callable[[Run], dict[str, Any]] | None = None  # further figures of a run's report
    temperature: float = 0.0
    most_tokens: int | None = 4_096  # of a reply; None: as many as the endpoint allows
    usual_tokens: int = 60
    condition: str = Run.Condition.TASK
    about: Sequence[str] = ("conversation", "annotation_item")  # relations that the messages need

    @property
    def label(self) -> str:
        return f"{self.name}-{self.version}"

    def asked_by(self, instruction: Instruction) -> "TaskKind":
        """The same kind with an imported instruction; its label, and whatever rests on it, names the instruction."""
        version = f"{instruction.name}-{instruction.version}"
        return replace(self, version=version, write=partial(self.write, instruction=instruction.text))


# --- how it is asked


def ask(instruction: str, material: str, schema: Schema | None = None) -> list[Message]:
    """One user message: instruction, material, and the form of the reply in words, for models that take no schema."""
    form = f"Answer with JSON and nothing else: {json.dumps(form_of(schema), ensure_ascii=False)}" if schema else ""
    return [{"role": "user", "content": "\n\n".join(filter(None, [instruction.strip(), material, form]))}]


def asking(words: str, show: Callable[[Task], str], schema: Schema) -> Callable[..., list[Message]]:
    """The `write` of most kinds: these words, or an instruction in their place, and what `show` makes of the task."""
    return lambda task, instruction=words: ask(instruction, show(task), schema)


def form_of(schema: Schema) -> Any:
    """The schema as an example to fill in."""
    if schema["type"] == "object":
        return {name: form_of(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [form_of(schema["items"])]
    return schema.get("description", "…")


def closed(**properties: Schema) -> Schema:
    """Schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def text(description: str, choices: Sequence[str] = ()) -> Schema:
    return {"type": "string", "description": description, **({"enum": list(choices)} if choices else {})}


def number(description: str) -> Schema:
    return {"type": "number", "description": description}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


# --- what it says


def reading(
    name: str, read: Callable[[Object], Object], aside: Sequence[str] = ()
) -> Callable[[str, Task], dict[str, Any]]:
    """The `read` of most kinds: what `read` makes of the object that has `name`."""
    return lambda reply, task: read_object(reply, name, read=read, aside=aside)


def read_share(said: Any, name: str) -> float:
    """A number from 0 to 1, as a number or a text. Raises TaskFault."""
    try:
        value = float(said)
    except (TypeError, ValueError, OverflowError):
        value = -1.0
    if isinstance(said, bool) or not 0 <= value <= 1:
        raise TaskFault(f"{name} is {str(said)[:40]}; it must be a number from 0 to 1.")
    return value
