"""The filters of Compare: each declared once, with all that addresses, pages, the API and the report need of it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from analysis.charts.theme import name_of_source
from analysis.models.conditions import SOURCES
from analysis.report.dataset import ALL, FIELD
from analysis.report.filters.kinds import (
    ONLY,
    WITH,
    WITHOUT,
    Filter,
    FilterError,
    Mask,
    Offer,
    among,
    answered,
    choice,
    completed,
    marked,
    only_marked,
    plain,
    say_offered,
    several,
    simulated,
    write_value,
)
from surveys.models import ChatbotContext, Study

Row = dict[str, Any]
# Of parts whose rows are made of several prompts or sources: the filters that still choose among them.
MIXED = {"calibration": ("source", "model"), "scores": ()}


class Query(Protocol):
    """The part of Django's QueryDict that is needed."""

    def __iter__(self) -> Iterator[str]: ...

    def getlist(self, key: str) -> Sequence[str]: ...


@dataclass(frozen=True)
class Filters:
    """What is asked for. Empty means everything. The order is that of sentences."""

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
        "Memory",
        "on, off or unknown.",
        lambda offer: plain(ChatbotContext.Switch.values),
        people=among("memory"),
    )
    plan: tuple[str, ...] = several(
        "Plan",
        "free, paid, work or unknown.",
        lambda offer: plain(ChatbotContext.Plan.values),
        people=among("plan"),
    )
    model_shown: tuple[str, ...] = several(
        "Model shown",
        "What people's chatbot called its model.",
        lambda offer: plain(offer.models_shown),
        people=among("model_shown"),
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
        lambda offer: {prompt.slug: prompt.title for prompt in offer.definition.prompts},
        prompt=lambda slug, wanted: slug in wanted,
        of_rows=True,
    )
    source: tuple[str, ...] = several(
        "Source",
        f"{', '.join(SOURCES)}, …",
        lambda offer: {name: name_of_source(name) for name in (FIELD, *offer.of_runs("source"))},
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
        "Sock puppets with so many conversations.",
        lambda offer: {size: f"{size} conversations" for size in offer.of_runs("history_size")},
        type=int,
        source=lambda source, wanted: source.history_size in (None, *wanted),
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
        {"with": (WITH, ""), "without": (WITHOUT, "without answers that a paste check flagged")},
        answers=marked("flagged"),
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
    people: str = choice(
        "People",
        {"completed": ("who completed", ""), "all": ("all who answered", "with people who did not complete")},
        people=completed,
    )

    @classmethod
    def from_query(cls, query: Query, ignore: Collection[str] = ()) -> Self:
        """The filters of a query string; `ignore` are the page's own parameters. Raises FilterError."""
        given: dict[str, Any] = {}
        for name in query:
            values = tuple(dict.fromkeys(value.strip() for value in query.getlist(name) if value.strip()))
            if values and name not in ignore:
                if name not in FILTERS:
                    raise FilterError(f"{name[:60]} is no filter. {say_offered(name, IN_ADDRESSES)}")
                given[name] = FILTERS[name].read(name, values)
        return cls(**given)

    def values(self) -> list[tuple[str, Any]]:
        """Name and value of all that is not as it is by default, one by one, in the order of addresses."""
        pairs: list[tuple[str, Any]] = []
        for name in IN_ADDRESSES:
            value = getattr(self, name)
            if value != getattr(type(self), name):
                pairs += [(name, entry) for entry in (value if isinstance(value, tuple) else (value,))]
        return pairs

    def to_pairs(self) -> list[tuple[str, str]]:
        """The same as an address has it."""
        return [(name, write_value(value)) for name, value in self.values()]

    def to_query(self, **changes: Any) -> str:
        """The query string that `from_query` reads; `changes` are other filters to put in first."""
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
        """Only what says whose answers count: pages that differ in the rest share these."""
        others: dict[str, Any] = {name: () for name, entry in FILTERS.items() if not entry.is_of_field}
        return replace(self, **others)

    # --- what they leave

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
        """The rules about this that have something to leave, each with its filter's value."""
        for name, entry in FILTERS.items():
            leaves, wanted = getattr(entry, what), getattr(self, name)
            if leaves and wanted:
                yield leaves, wanted


FILTERS: dict[str, Filter] = {entry.name: entry.metadata["filter"] for entry in fields(Filters)}
# As addresses have always had them, so that links and kept results go on being found; newer filters stand behind.
OLDEST = ("chatbot", "model", "source", "prompt", "cell", "answer", "memory", "plan", "model_shown", "version")
IN_ADDRESSES = tuple(dict.fromkeys((*OLDEST, "history_size", "temperature", "flagged", *FILTERS)))
ROW_FILTERS = tuple(name for name, entry in FILTERS.items() if entry.of_rows)


def filter_options(study: Study) -> dict[str, Mapping[Any, str]]:
    """For each filter that takes names or numbers, those that this study has, with their words."""
    offer = Offer(study)
    return {name: entry.offered(offer) for name, entry in FILTERS.items() if not entry.options}


def names_of(study: Study) -> dict[tuple[str, str], str]:
    """How prompts, chatbots and groups are called, by filter and slug."""
    offer = Offer(study)
    named = {name: FILTERS[name].offered(offer) for name in ("prompt", "chatbot", "cell")}
    return {(name, slug): words for name, offered in named.items() for slug, words in offered.items()}


def checked(study: Study, filters: Filters) -> Filters:
    """The filters, when everything that they name is there; raises FilterError."""
    if filters.to_pairs():
        check_filters(filters, filter_options(study))
    return filters


def check_filters(filters: Filters, offered: Mapping[str, Collection[Any]]) -> None:
    """FilterError when a filter names something that is not `offered` (name of the filter → its values)."""
    for name in FILTERS:
        for value in getattr(filters, name) if name in offered else ():
            if value not in offered[name]:
                wrong, there = write_value(value), [write_value(entry) for entry in offered[name]]
                raise FilterError(f"{name}={wrong} is unknown here. {say_offered(wrong, there)}")


# --- filters that only choose among rows --------------------------------------


def computed_with(part: str, filters: Filters, every_item: bool = False) -> Filters:
    """What the part is computed with: without what only chooses among its rows, so that one result serves many views.

    `every_item`: of prompts that are asked for by name all items are wanted, not only the frequent ones.
    """
    names = MIXED.get(part, ROW_FILTERS)
    if part == "items" and every_item:
        names = tuple(name for name in names if name != "prompt")
    dropped: dict[str, Any] = dict.fromkeys(names, ())
    return replace(filters, **dropped)


def narrow_groups(groups: Iterable[Row], models: Collection[str]) -> list[Row]:
    """The comparisons of these models; all when there are none."""
    if not models:
        return list(groups)
    kept = [{**group, "models": [model for model in group["models"] if model in models]} for group in groups]
    return [group for group in kept if group["models"]]


def chatbots_of(groups: Iterable[Row]) -> set[str]:
    return {str(group["chatbot"] or ALL) for group in groups}


def narrow(rows: Any, filters: Filters, chatbots: Collection[str]) -> Any:
    """A part's rows as far as the filters leave them; a part that is one object stays."""
    return [row for row in rows if _is_left(row, filters, chatbots)] if isinstance(rows, list) else rows


def _is_left(row: Row, filters: Filters, chatbots: Collection[str]) -> bool:
    """Whether the filters leave the row; a field row belongs to the models that its chatbot is compared with."""
    for name in ROW_FILTERS:
        chosen, value = getattr(filters, name), row.get(name)
        wanted = chatbots if name == "model" and row.get("source") == FIELD else chosen
        if chosen and value is not None and value not in wanted:
            return False
    return True
