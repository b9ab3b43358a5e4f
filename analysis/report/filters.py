"""The filters of Compare, each declared once with all that addresses, pages, the API and the report need."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol, Self
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.answers.compared import runs_of
from analysis.charts.figure import prompt_name
from analysis.models import Run
from analysis.models.conditions import LABELS, SOURCES
from analysis.report.dataset import FIELD
from surveys.models import ChatbotContext, Participant, Study
from surveys.reading.checks import CHECKS
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import language_name, say_offered

LONGEST_VALUE = 200
Mask = NDArray[np.bool_]
WITH, WITHOUT, ONLY = "with them", "without them", "nothing else"


class FilterError(ValueError):
    """A meaningless filter; the message says which one and what there is."""


class Offer:
    """The values that a study offers to filters, looked up on demand."""

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def definition(self) -> Definition:
        return definition_of(self.study.current_id)

    @cached_property
    def runs(self) -> list[Run]:
        return list(runs_of(self.study).select_related("endpoint"))

    @property
    def versions(self) -> list[int]:
        seen = Participant.objects.filter(study=self.study).values_list("version__number", flat=True)
        return sorted({*seen, self.study.current.number})

    @property
    def models_shown(self) -> list[str]:
        shown = ChatbotContext.objects.filter(participant__study=self.study).exclude(model_shown="")
        return sorted(set(shown.values_list("model_shown", flat=True)))

    @property
    def answers(self) -> Iterator[tuple[str, str]]:
        return ((question.slug, option) for question in self.definition.questions for option in question.options)

    def of_runs(self, setting: str) -> list[Any]:
        """The values of a setting that runs have."""
        return sorted({getattr(run, setting) for run in self.runs} - {None})


@dataclass(frozen=True)
class Filter:
    """One filter. Its name and default are those of its field in `Filters`.

    If it has a value, `people` and `answers` select the rows of these tables that count, `source` the sources compared,
    `prompt` the prompts shown. `of_rows`: it only selects among the rows of most parts, which are computed without it.
    """

    label: str
    help: str = ""  # for the API
    type: type = str
    options: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # value → words in the form, in the sentence
    offered: Callable[[Offer], Mapping[Any, str]] = lambda offer: {}  # values of the study → words
    people: Callable[[pd.DataFrame, Any], Mask] | None = None
    answers: Callable[[pd.DataFrame, Any], Mask] | None = None
    source: Callable[[Any, Any], bool] | None = None
    prompt: Callable[[str, Any], bool] | None = None
    of_rows: bool = False

    @property
    def is_of_field(self) -> bool:
        """Whether it says whose answers count."""
        return bool(self.people or self.answers)

    def read(self, name: str, values: tuple[str, ...]) -> Any:
        """Read the value in an address. Raises FilterError."""
        if not self.options:
            return _READERS[self.type](name, values)
        if len(values) > 1 or values[0] not in self.options:
            raise FilterError(f"{name} is one of {', '.join(self.options)}, not {' and '.join(values)[:60]}.")
        return values[0]

    def say(self, value: Any) -> list[str]:
        """The words for the value in a sentence; none for a default."""
        if self.options:
            return [words] if (words := self.options[value][1]) else []
        if self.type is tuple:
            return [f"{question} answered “{answer}”" for question, answer in value]
        joined = " with " if self.label == "Pair" else " or "
        return [f"{self.label.lower()} {joined.join(map(str, value))}"] if value else []


def choice(label: str, options: dict[str, tuple[str, str]], **more: Any) -> Any:
    """A filter that always has one of these values; the first is the default."""
    return field(default=next(iter(options)), metadata={"filter": Filter(label, options=options, **more)})


def several(label: str, help: str, offered: Callable[[Offer], Mapping[Any, str]], **more: Any) -> Any:
    """A filter that keeps any of the values named, and everything if none is."""
    return field(default=(), metadata={"filter": Filter(label, help, offered=offered, **more)})


def plain(values: Iterable[Any]) -> dict[Any, str]:
    return {value: str(value) for value in values}


def among(column: str) -> Callable[[pd.DataFrame, Any], Mask]:
    return lambda rows, wanted: rows[column].isin(wanted).to_numpy()


def only_marked(wanted: str, marked: Any) -> Any:
    """Apply `with`, `without` or `only` to marks: a mask or a single value."""
    return marked | True if wanted == "with" else marked == (wanted == "only")


def marked(column: str) -> Callable[[pd.DataFrame, Any], Mask]:
    return lambda rows, wanted: only_marked(wanted, rows[column].to_numpy(bool))


def flagged(rows: pd.DataFrame, wanted: str) -> Mask:
    """Select by flags as `only_marked` does; given a check's name, keep answers that it did not flag."""
    if wanted in CHECKS:
        return ~rows["flags"].map(lambda names: wanted in names).to_numpy(bool)
    return only_marked(wanted, rows["flagged"].to_numpy(bool))


def simulated(people: pd.DataFrame, wanted: str) -> Mask:
    return only_marked(wanted, (people["origin"] == Participant.Origin.SIMULATED).to_numpy())


def completed(people: pd.DataFrame, wanted: str) -> Mask:
    return (people["state"] == Participant.State.COMPLETED).to_numpy() | (wanted == "all")


def answered(people: pd.DataFrame, wanted: Iterable[tuple[str, str]]) -> Mask:
    """Whether people gave one of the wanted answers to each question named."""
    by_question: dict[str, set[str]] = {}
    for question, value in wanted:
        by_question.setdefault(question, set()).add(value)
    everything = by_question.items()
    fitting = [all(str(given.get(name)) in values for name, values in everything) for given in people["answers"]]
    return np.array(fitting, dtype=bool)


def write_value(value: Any) -> str:
    return ":".join(value) if isinstance(value, tuple) else str(value)


# --- values in addresses ------------------------------------------------------


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


_READERS: dict[type, Callable[[str, tuple[str, ...]], Any]]
_READERS = {str: _read_names, int: _read_integers, float: _read_decimals, tuple: _read_answers}


class Query(Protocol):
    """The part of Django's QueryDict needed here."""

    def __iter__(self) -> Iterator[str]: ...

    def getlist(self, key: str) -> Sequence[str]: ...


@dataclass(frozen=True)
class Filters:
    """The filters of a view. Empty means everything. Fields are in the order of sentences."""

    chatbot: tuple[str, ...] = several(
        "Chatbot",
        "Whose answers count as the field: users of a chatbot.",
        lambda offer: {bot.slug: bot.name for bot in offer.definition.chatbots},
        people=among("chatbot"),
        source=lambda source, wanted: source.chatbot in wanted,
    )
    cell: tuple[str, ...] = several(
        "Group",
        "People of a demographic group.",
        lambda offer: {cell.slug: cell.name for cell in offer.definition.cells},
        people=among("cell"),
    )
    memory: tuple[str, ...] = several(
        "Memory", "on, off or unknown.", lambda offer: plain(ChatbotContext.Switch.values), people=among("memory")
    )
    personalisation: tuple[str, ...] = several(
        "Custom instructions",
        "on, off or unknown.",
        lambda offer: plain(ChatbotContext.Switch.values),
        people=among("personalisation"),
    )
    plan: tuple[str, ...] = several(
        "Plan", "free, paid, work or unknown.", lambda offer: plain(ChatbotContext.Plan.values), people=among("plan")
    )
    model_shown: tuple[str, ...] = several(
        "Model shown",
        "What people's chatbot called its model.",
        lambda offer: plain(offer.models_shown),
        people=among("model_shown"),
    )
    device: tuple[str, ...] = several(
        "Device",
        "computer, phone or tablet.",
        lambda offer: plain(ChatbotContext.Device.values),
        people=among("device"),
    )
    language: tuple[str, ...] = several(
        "Language",
        "Answers to prompts that were shown in this language, such as de.",
        lambda offer: {code: language_name(code) for code in offer.definition.offered},
        answers=among("language"),
    )
    version: tuple[int, ...] = several(
        "Study version",
        "People who took part in this version of the study.",
        lambda offer: plain(offer.versions),
        type=int,
        people=among("version"),
    )
    prompt: tuple[str, ...] = several(
        "Prompt",
        "Slug of a prompt.",
        lambda offer: {prompt.slug: prompt_name(prompt.slug) for prompt in offer.definition.prompts},
        prompt=lambda slug, wanted: slug in wanted,
        of_rows=True,
    )
    source: tuple[str, ...] = several(
        "Source",
        f"{', '.join(SOURCES)}, …",
        lambda offer: {name: LABELS.get(name, name) for name in (FIELD, *offer.of_runs("source"))},
        source=lambda source, wanted: source.name in wanted,
        of_rows=True,
    )
    model: tuple[str, ...] = several(
        "Model",
        "Comparisons shown: with this model.",
        lambda offer: plain(offer.of_runs("model")),
        source=lambda source, wanted: source.model in wanted,
        of_rows=True,
    )
    history_size: tuple[int, ...] = several(
        "History size",
        "Sock puppets with this many conversations.",
        lambda offer: {size: f"{size} conversations" for size in offer.of_runs("history_size")},
        type=int,
        source=lambda source, wanted: source.history_size in (None, *wanted),
    )
    memory_size: tuple[int, ...] = several(
        "Memory size",
        "Sock puppets with this many attributes.",
        lambda offer: {size: f"{size} attributes" for size in offer.of_runs("memory_size")},
        type=int,
        source=lambda source, wanted: source.memory_size in (None, *wanted),
    )
    temperature: tuple[float, ...] = several(
        "Temperature",
        "Runs at this temperature.",
        lambda offer: plain(offer.of_runs("temperature")),
        type=float,
        source=lambda source, wanted: source.temperature in wanted,
    )
    answer: tuple[tuple[str, str], ...] = several(
        "Answered",
        "People by an answer, as question:answer.",
        lambda offer: {given: ": ".join(given) for given in offer.answers},
        type=tuple,
        people=answered,
    )
    excluded: str = choice(
        "Excluded answers",
        {"without": (WITHOUT, ""), "with": (WITH, "excluded answers left in")},
        answers=marked("excluded"),
    )
    flagged: str = choice(
        "Flagged answers",
        {"with": (WITH, ""), "without": (WITHOUT, "without answers that a paste check flagged")}
        | {
            name: (f"without: {check.label.lower()}", f"without answers flagged as “{check.label.lower()}”")
            for name, check in CHECKS.items()
        },
        answers=flagged,
    )
    pilot: str = choice(
        "The pilot",
        {
            "without": (WITHOUT, ""),
            "with": (WITH, "with the pilot's answers"),
            "only": (ONLY, "the pilot's answers only"),
        },
        people=marked("pilot"),
    )
    simulated: str = choice(
        "Simulated people and models",
        {
            "with": (WITH, ""),
            "without": (WITHOUT, "without simulated people and models"),
            "only": (ONLY, "simulated people and models only"),
        },
        people=simulated,
        source=lambda source, wanted: bool(only_marked(wanted, source.simulated)),
    )
    compare: tuple[str, ...] = several(
        "Pair",
        "Two sides to compare with each other, such as field/chatgpt and offline/gpt-4o-mini; `pair` has the answer.",
        lambda offer: {},
    )
    people: str = choice(
        "People",
        {"completed": ("who completed", ""), "all": ("all who answered", "with people who did not complete")},
        people=completed,
    )

    @classmethod
    def from_query(cls, query: Query, ignore: Collection[str] = ()) -> Self:
        """Read the filters of a query string; `ignore` are the page's own parameters. Raises FilterError."""
        given: dict[str, Any] = {}
        for name in query:
            values = tuple(dict.fromkeys(value.strip() for value in query.getlist(name) if value.strip()))
            if values and name not in ignore:
                if name not in FILTERS:
                    raise FilterError(f"{name[:60]} is not a filter. {say_offered(name, IN_ADDRESSES)}")
                given[name] = FILTERS[name].read(name, values)
        return cls(**given)

    def values(self) -> list[tuple[str, Any]]:
        """Names and values that differ from the defaults, one by one, in the order of addresses."""
        pairs: list[tuple[str, Any]] = []
        for name in IN_ADDRESSES:
            value = getattr(self, name)
            if value != getattr(type(self), name):
                pairs += [(name, entry) for entry in (value if isinstance(value, tuple) else (value,))]
        return pairs

    def to_pairs(self) -> list[tuple[str, str]]:
        """The same as written in an address."""
        return [(name, write_value(value)) for name, value in self.values()]

    def to_query(self, **changes: Any) -> str:
        """The query string for `from_query`, after these changes."""
        return urlencode(replace(self, **changes).to_pairs())

    def describe(self) -> str:
        """One sentence, such as: Chatbot chatgpt; memory off; excluded answers left in."""
        parts = [words for name, entry in FILTERS.items() for words in entry.say(getattr(self, name))]
        sentence = "; ".join(parts) or "all answers of people who completed, excluded ones and the pilot's left out"
        return sentence[0].upper() + sentence[1:] + "."

    def without(self, name: str, value: Any) -> Self:
        """The filters without one of their values."""
        left: Any = tuple(entry for entry in getattr(self, name) if entry != value)
        return replace(self, **{name: getattr(type(self), name) if FILTERS[name].options else left})

    @property
    def of_field(self) -> Self:
        """Only the filters that select whose answers count; pages that differ in others share these."""
        others: dict[str, Any] = {name: () for name, entry in FILTERS.items() if not entry.is_of_field}
        return replace(self, **others)

    # --- rows, sources and prompts left by them

    def mask_people(self, people: pd.DataFrame) -> Mask:
        return self._mask("people", people)

    def mask_answers(self, table: pd.DataFrame) -> Mask:
        return self._mask("answers", table)

    def _mask(self, what: str, rows: pd.DataFrame) -> Mask:
        mask: Mask = np.ones(len(rows), dtype=bool)
        for leaves, wanted in self._set(what):
            mask &= leaves(rows, wanted)
        return mask

    def wants_source(self, source: Any) -> bool:
        return all(leaves(source, wanted) for leaves, wanted in self._set("source"))

    def wants_prompt(self, slug: str) -> bool:
        return all(leaves(slug, wanted) for leaves, wanted in self._set("prompt"))

    def _set(self, what: str) -> Iterator[tuple[Callable[[Any, Any], Any], Any]]:
        """Yield the rules about `what` whose filter has a value, each with that value."""
        for name, entry in FILTERS.items():
            leaves, wanted = getattr(entry, what), getattr(self, name)
            if leaves and wanted:
                yield leaves, wanted


FILTERS: dict[str, Filter] = {entry.name: entry.metadata["filter"] for entry in fields(Filters)}
# The order of addresses must not change, so that links and kept results are still found; newer filters follow.
OLDEST = ("chatbot", "model", "source", "prompt", "cell", "answer", "memory", "plan", "model_shown", "version")
IN_ADDRESSES = tuple(dict.fromkeys((*OLDEST, "history_size", "temperature", "flagged", *FILTERS)))
ROW_FILTERS = tuple(name for name, entry in FILTERS.items() if entry.of_rows)
OF_SETTINGS = tuple(name for name, entry in FILTERS.items() if entry.source and not entry.of_rows)


def filter_options(study: Study) -> dict[str, Mapping[Any, str]]:
    """The values that a study has, with their words, for each filter that takes names or numbers."""
    offer = Offer(study)
    return {name: entry.offered(offer) for name, entry in FILTERS.items() if not entry.options and name != "compare"}


def names_of(study: Study) -> dict[tuple[str, str], str]:
    """Display names of prompts, chatbots and groups, by filter and slug."""
    offer = Offer(study)
    named = {name: FILTERS[name].offered(offer) for name in ("prompt", "chatbot", "cell")}
    return {(name, slug): words for name, offered in named.items() for slug, words in offered.items()}


def check_filters(filters: Filters, offered: Mapping[str, Collection[Any]]) -> None:
    """Raise FilterError if a filter has a value that is not `offered` (filter name → its values)."""
    for name in FILTERS:
        for value in getattr(filters, name) if name in offered else ():
            if value not in offered[name]:
                wrong, there = write_value(value), [write_value(entry) for entry in offered[name]]
                raise FilterError(f"{name}={wrong} is unknown here. {say_offered(wrong, there)}")
