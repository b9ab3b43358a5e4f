"""Kinds of tasks: how each is asked, the form of its reply, and what becomes of it.

Here is the one reader of models' replies: it finds the object that a task asks for, whatever is around it or inside it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from analysis.models import Completion, Conversation, Corpus, CorpusUser, Instruction, Run, Task
from analysis.people.corpora.records import Message, storable
from surveys.models import AnnotationItem, Study
from surveys.reading.nesting import read_json_at
from surveys.studies.labels import ModelRater

Object = dict[str, Any]
Schema = Mapping[str, Any]


class NewTask(NamedTuple):
    """A task to plan. Its key names it among all tasks of its kind, and contains no text about a person."""

    key: str
    payload: dict[str, Any]
    conversation: Conversation | None = None
    user: CorpusUser | None = None
    annotation_item: AnnotationItem | None = None


class Sought(NamedTuple):
    """Which of a study's items to ask about: those that people doubt by a `rule` (empty: none), or that models do."""

    rule: str = ""
    models: Sequence[ModelRater] = ()
    again: bool = False  # revisions of revisions too


@dataclass(frozen=True)
class TaskKind:
    """A kind of task. Raise `version` whenever a word of its messages changes: it tells runs apart.

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
    # Of a study of annotators, by the kind of its items; `ask STUDY` knows the task by these.
    studies: Mapping[str, Callable[[Study, Sought], Iterator[NewTask]]] = field(default_factory=dict)
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

EXCERPT = 80  # characters of a reply in a fault
SHOWN = 60  # characters of each of two answers in a fault
OPENING = re.compile(r'\{\s*["}]')
THOUGHTS = re.compile(r"\A\s*<(think|thinking|thought)>", re.I)
AFTER_THOUGHTS = re.compile(r"</(?:think|thinking|thought)>", re.I)


class TaskFault(Exception):
    """A reply that does not say what was asked; the message says why, in a sentence."""


class NoObject(TaskFault):
    """A reply without the object that was asked for."""


def read_object(reply: str, *needed: str, read: Callable[[Object], Object] = dict, aside: Sequence[str] = ()) -> Object:
    """Apply `read` to the object that has all `needed` names.

    Prose, fences and other objects around it make no difference, nor do objects and braces inside it. Objects that
    `read` rejects do not count if another can be read. Two that differ in more than what is `aside` are no answer.
    Raises TaskFault.
    """
    said: list[Object] = []
    fault: TaskFault = NoObject(f"The reply is no JSON with {', '.join(needed)}: {shorten(reply)}")
    for entry in fitting(objects_in(without_thoughts(reply), needed), needed):
        try:
            found = read(entry)
        except TaskFault as error:
            fault = error
        else:
            said.append(found)
    if not said:
        raise fault
    answers = [{name: value for name, value in each.items() if name not in aside} for each in said]
    if other := next((each for each in answers if each != answers[0]), None):
        raise TaskFault(f"The reply gives two different answers: {_brief(answers[0])} and {_brief(other)}.")
    return said[0]


def fitting(entries: Iterable[Any], needed: Sequence[str]) -> Iterator[Object]:
    """Yield the outermost objects that have all `needed` names."""
    for entry in entries:
        if isinstance(entry, dict) and all(name in entry for name in needed):
            yield entry
        elif isinstance(entry, (dict, list)):
            yield from fitting(entry.values() if isinstance(entry, dict) else entry, needed)


def without_thoughts(reply: str) -> str:
    """What a reasoning model says after its thoughts; empty if it does not finish them."""
    if thoughts := list(AFTER_THOUGHTS.finditer(reply)):
        return reply[thoughts[-1].end() :]
    return "" if THOUGHTS.match(reply) else reply


def objects_in(text: str, needed: Sequence[str] = ()) -> Iterator[Object]:
    """Yield the complete objects in a text, in order and ready for storage; of a broken one, those inside it.

    Raises TaskFault if an object gives a `needed` name twice with different values.
    """
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=lambda pairs: _object_of(pairs, needed))
    opening = OPENING.search(text)
    while opening:
        try:
            said, at = read_json_at(decoder, text, opening.start())
        except ValueError:
            at = opening.start() + 1
        else:
            yield said
        opening = OPENING.search(text, at)


def _object_of(pairs: Sequence[tuple[str, Any]], needed: Sequence[str]) -> Object:
    said: Object = {}
    for name, value in pairs:
        kept = _storable(value)
        if name in needed and said.get(name, kept) != kept:
            raise TaskFault(f"The reply says {name} twice: {_brief(said[name])} and {_brief(kept)}.")
        said[storable(name)] = kept
    return said


def _storable(said: Any) -> Any:
    """As PostgreSQL can hold it, unlike all that JSON can escape. Objects inside are converted already."""
    if isinstance(said, list):
        return [_storable(entry) for entry in said]
    return storable(said) if isinstance(said, str) else said


def _brief(said: Any) -> str:
    text = json.dumps(said, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def shorten(reply: str) -> str:
    said = " ".join(reply.split())
    return f"“{said[:EXCERPT]}{'…' if len(said) > EXCERPT else ''}”" if said else "it is empty."


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
