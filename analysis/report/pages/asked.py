"""What an address of the comparing pages asks for: filters of the report, and how a page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from django.http import QueryDict

from analysis.report.filters.filters import FilterError, Filters
from analysis.report.filters.options import checked
from analysis.report.measures import ASKED
from surveys.models import Study

VALUES = ("rarefied", "raw")
MEASURES = tuple(ASKED)
# The pages' own parameters; all others are filters.
OWN = ("values", "measure", "sort", "q", "page", "show")
LONGEST_SEARCH = 200


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
            one_of("values", query.get("values") or VALUES[0], VALUES),
            one_of("measure", query.get("measure") or MEASURES[0], MEASURES),
            query.get("sort", "")[:60],
            query.get("q", "").strip()[:LONGEST_SEARCH],
        )

    @property
    def rarefied(self) -> bool:
        return self.values == "rarefied"

    def address(self, **changes: Any) -> str:
        """The query of this view with changes; `filters` may be one of them."""
        asked = replace(self, **changes)
        own = {name: getattr(asked, name) for name in ("values", "measure", "sort", "q")}
        default = {"values": VALUES[0], "measure": MEASURES[0], "sort": "", "q": ""}
        pairs = [(name, value) for name, value in own.items() if value != default[name]]
        return urlencode([*asked.filters.to_pairs(), *pairs])

    def with_filters(self, **changes: Any) -> str:
        return self.address(filters=replace(self.filters, **changes))


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise FilterError(f"{name} is one of {', '.join(known)}, not {value[:60]}.")
    return value


def drop_value(filters: Filters, name: str, written: str) -> Filters:
    """The filters without one of their values."""
    kept = [pair for pair in filters.to_pairs() if pair != (name, written)]
    return Filters.from_query(query_of(kept))


def query_of(pairs: list[tuple[str, str]] | Mapping[str, str]) -> QueryDict:
    return QueryDict(urlencode(pairs))
