"""The one reader of models' replies: finds the object that a task asks for, whatever is around it or inside it."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from analysis.people.corpora.records import storable
from surveys.reading.nesting import read_json_at

Object = dict[str, Any]
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
    """What `read` makes of the object that has all `needed` names.

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
