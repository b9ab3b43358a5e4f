"""What an address of the comparing pages asks for: filters, as a form and as chips too, and how a page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from django.http import QueryDict

from analysis.report.filters.filters import FILTERS, Filters, checked
from analysis.report.filters.kinds import FilterError, write_value
from analysis.report.measures import ASKED
from surveys.models import Study

VALUES = ("rarefied", "raw")
MEASURES = tuple(ASKED)
# The pages' own parameters; all others are filters.
OWN = ("values", "measure", "sort", "q", "page", "show")
LONGEST_SEARCH = 200
MOST_OFFERED = 40
IN_FORM = tuple(dict.fromkeys(("prompt", "model", "chatbot", "source", *FILTERS)))


@dataclass(frozen=True)
class Asked:
    """One view of the report."""

    filters: Filters
    values: str = VALUES[0]
    measure: str = MEASURES[0]
    sort: str = ""  # table and column, such as `items.2`, with a minus in front for falling
    q: str = ""

    @classmethod
    def read(cls, study: Study, query: QueryDict, ignore: tuple[str, ...] = ()) -> Self:
        """Raises FilterError."""
        filters = checked(study, Filters.from_query(query, ignore=(*OWN, *ignore)))
        return cls(
            filters,
            _one_of("values", query.get("values") or VALUES[0], VALUES),
            _one_of("measure", query.get("measure") or MEASURES[0], MEASURES),
            query.get("sort", "")[:60],
            query.get("q", "").strip()[:LONGEST_SEARCH],
        )

    @property
    def rarefied(self) -> bool:
        return self.values == "rarefied"

    def address(self, **changes: Any) -> str:
        """The query of this view with changes; `filters` may be one of them."""
        asked = replace(self, **changes)
        own = [(name, getattr(asked, name)) for name in ("values", "measure", "sort", "q")]
        return urlencode([*asked.filters.to_pairs(), *((name, v) for name, v in own if v != getattr(Asked, name))])

    def with_filters(self, **changes: Any) -> str:
        return self.address(filters=replace(self.filters, **changes))


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise FilterError(f"{name} is one of {', '.join(known)}, not {value[:60]}.")
    return value


# --- the filters as a form and as chips ---------------------------------------


@dataclass(frozen=True)
class Option:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class FilterField:
    """One filter of the form; of `single` ones one option is always chosen."""

    name: str
    label: str
    options: list[Option]
    single: bool

    @property
    def is_long(self) -> bool:
        return len(self.options) > 5


@dataclass(frozen=True)
class Chip:
    """A filter that is on, and the view without it."""

    words: str
    query: str


Offered = Mapping[str, Mapping[Any, str]]


def words_of(offered: Offered, name: str) -> dict[Any, str]:
    """The values of a filter and how each is written."""
    return {value: words for value, (words, _) in FILTERS[name].options.items()} or dict(offered[name])


def form_of(offered: Offered, filters: Filters) -> list[FilterField]:
    """A filter that leaves no choice is not shown."""
    found = []
    for name in IN_FORM:
        single, chosen = bool(FILTERS[name].options), getattr(filters, name)
        options = [
            Option(write_value(value), words, value == chosen if single else value in chosen)
            for value, words in words_of(offered, name).items()
        ][:MOST_OFFERED]
        if len(options) > 1:
            found.append(FilterField(name, FILTERS[name].label, options, single))
    return found


def chips_of(offered: Offered, asked: Asked) -> list[Chip]:
    return [
        Chip(
            f"{FILTERS[name].label}: {words_of(offered, name).get(value, value)}",
            asked.address(filters=asked.filters.without(name, value)),
        )
        for name, value in asked.filters.values()
    ]
