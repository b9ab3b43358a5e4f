"""Which answers a view is about: read from an address, checked, written back into it, and said in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Protocol, Self
from urllib.parse import urlencode

# Choices of a kind, the default first.
CHOICES: dict[str, tuple[str, ...]] = {
    "excluded": ("without", "with"),
    "flagged": ("with", "without"),
    "pilot": ("without", "with", "only"),
    "simulated": ("with", "without", "only"),
    "people": ("completed", "all"),
}
WORDS = {
    ("excluded", "with"): "excluded answers left in",
    ("flagged", "without"): "without answers that a paste check flagged",
    ("pilot", "with"): "with the pilot's answers",
    ("pilot", "only"): "the pilot's answers only",
    ("simulated", "without"): "without simulated people and models",
    ("simulated", "only"): "simulated people and models only",
    ("people", "all"): "with people who did not complete",
}
NAMES = {
    "chatbot": "chatbot",
    "cell": "group",
    "memory": "memory",
    "plan": "plan",
    "model_shown": "model shown",
    "version": "study version",
    "prompt": "prompt",
    "source": "source",
    "model": "model",
    "history_size": "history size",
    "temperature": "temperature",
}
LONGEST_VALUE = 200


class FilterError(ValueError):
    """A filter that means nothing; the message says which one and what there is."""


class Query(Protocol):
    """The part of Django's QueryDict that is needed."""

    def __iter__(self) -> Iterator[str]: ...

    def getlist(self, key: str) -> Sequence[str]: ...


@dataclass(frozen=True)
class Filters:
    """What is asked for. Empty means everything.

    chatbot, cell, answer, memory, plan, model_shown, version, flagged, excluded, pilot, simulated and people say whose
    answers count as the field; model, source, prompt, history_size and temperature say which comparisons are shown.
    """

    chatbot: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    cell: tuple[str, ...] = ()
    answer: tuple[tuple[str, str], ...] = ()  # question and the answer that people gave to it
    memory: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    model_shown: tuple[str, ...] = ()
    version: tuple[int, ...] = ()
    history_size: tuple[int, ...] = ()
    temperature: tuple[float, ...] = ()
    flagged: str = "with"
    excluded: str = "without"
    pilot: str = "without"
    simulated: str = "with"
    people: str = "completed"

    @classmethod
    def from_query(cls, query: Query, ignore: Collection[str] = ()) -> Self:
        """The filters of a query string; `ignore` are the page's own parameters. Raises FilterError."""
        given: dict[str, Any] = {}
        for name in query:
            values = tuple(dict.fromkeys(value.strip() for value in query.getlist(name) if value.strip()))
            if values and name not in ignore:
                given[name] = READERS[_known(name)](name, values)
        return cls(**given)

    def to_pairs(self) -> list[tuple[str, str]]:
        """Name and value of all that is not as it is by default."""
        pairs: list[tuple[str, str]] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            values = value if isinstance(value, tuple) else (value,)
            pairs += [(field.name, _write(entry)) for entry in values]
        return pairs

    def to_query(self, **changes: Any) -> str:
        """The query string that `from_query` reads; `changes` are other filters to put in first."""
        return urlencode(replace(self, **changes).to_pairs())

    def describe(self) -> str:
        """One sentence, such as: Chatbot chatgpt; memory off; excluded answers left in."""
        parts = [
            f"{words} {' or '.join(str(value) for value in getattr(self, name))}"
            for name, words in NAMES.items()
            if getattr(self, name)
        ]
        parts += [f"{question} answered “{value}”" for question, value in self.answer]
        parts += [words for (name, value), words in WORDS.items() if getattr(self, name) == value]
        sentence = "; ".join(parts) or "all answers of people who completed, excluded ones and the pilot's left out"
        return sentence[0].upper() + sentence[1:] + "."

    @property
    def of_field(self) -> "Filters":
        """Only what says whose answers count: pages that differ in the rest share these."""
        return replace(self, model=(), source=(), prompt=(), history_size=(), temperature=())


def check_filters(filters: Filters, offered: Mapping[str, Collection[Any]]) -> None:
    """FilterError when a filter names something that is not `offered` (name of the filter → its values)."""
    for name in NAMES:
        for value in getattr(filters, name):
            if name in offered and value not in offered[name]:
                raise FilterError(f"{name}={value} is unknown here. {_say_offered(str(value), offered[name])}")
    questions = offered.get("answer")
    for question, value in filters.answer:
        if questions is not None and (question, value) not in questions:
            wrong, known = f"{question}:{value}", [f"{slug}:{option}" for slug, option in questions]
            raise FilterError(f"answer={wrong} is unknown here. {_say_offered(wrong, known)}")


def _say_offered(value: str, offered: Collection[Any]) -> str:
    names = [str(entry) for entry in offered]
    near = get_close_matches(value, names, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"There is {', '.join(names[:20])}." if names else "There is none yet."


def _known(name: str) -> str:
    if name in READERS:
        return name
    raise FilterError(f"{name[:60]} is no filter. {_say_offered(name, READERS)}")


def _write(value: Any) -> str:
    return ":".join(value) if isinstance(value, tuple) else str(value)


def _read_names(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if len(value) > LONGEST_VALUE or not value.isprintable():
            raise FilterError(f"{name} has a value that can't be a name: at most {LONGEST_VALUE} printable characters.")
    return values


def _read_answers(name: str, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = [value.partition(":") for value in _read_names(name, values)]
    for question, colon, answer in pairs:
        if not (question and colon and answer):
            raise FilterError(f"{name}={question[:60]} names no answer: write answer=QUESTION:ANSWER.")
    return tuple((question.strip(), answer.strip()) for question, _, answer in pairs)


def _read_integers(name: str, values: tuple[str, ...]) -> tuple[int, ...]:
    if not all(value.isascii() and value.isdecimal() and len(value) < 10 for value in values):
        raise FilterError(f"{name} takes whole numbers, not {', '.join(values)[:60]}.")
    return tuple(int(value) for value in values)


def _read_decimals(name: str, values: tuple[str, ...]) -> tuple[float, ...]:
    try:
        numbers = tuple(float(value) for value in values)
    except ValueError:
        raise FilterError(f"{name} takes numbers, not {', '.join(values)[:60]}.") from None
    if not all(0 <= number <= 100 for number in numbers):
        raise FilterError(f"{name} takes numbers from 0, not {', '.join(values)[:60]}.")
    return numbers


def _read_choice(name: str, values: tuple[str, ...]) -> str:
    if len(values) > 1 or values[0] not in CHOICES[name]:
        raise FilterError(f"{name} is one of {', '.join(CHOICES[name])}, not {' and '.join(values)[:60]}.")
    return values[0]


READERS: dict[str, Any] = {
    **dict.fromkeys(
        ("chatbot", "model", "source", "prompt", "cell", "memory", "plan", "model_shown"),
        _read_names,
    ),
    "answer": _read_answers,
    **dict.fromkeys(("version", "history_size"), _read_integers),
    "temperature": _read_decimals,
    **dict.fromkeys(CHOICES, _read_choice),
}
