"""Portions: how many items of how many people go to annotators, drawn by a rule and a seed."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from django.db.models import Q, QuerySet

from analysis.models import Attribute
from analysis.people.steps import PeopleError
from surveys.models import AnnotationItem, Study

T = TypeVar("T")


@dataclass(frozen=True)
class Portion:
    """At most `items` in all, of at most `people`; None: as many as there are.

    The main study leaves out what its pilot has, and the other way round, unless `both` lets it be asked twice.
    Conversations that their source marks as toxic or redacted are shown to nobody unless `marked`.
    """

    items: int | None = None
    people: int | None = None
    seed: int = 0
    both: bool = False
    marked: bool = False
    sample: str = ""  # the name of a further sample; empty: the studied users

    def check(self) -> None:
        """Raise PeopleError if a limit is below 1."""
        if any(number is not None and number < 1 for number in (self.items, self.people)):
            raise PeopleError("A portion has 1 item or more, of 1 person or more.")

    @property
    def is_whole(self) -> bool:
        return self.items is None and self.people is None

    def room(self, there: int) -> int | None:
        return None if self.items is None else max(0, self.items - there)


WHOLE = Portion()
TOXIC_OR_REDACTED = Q(toxic=True) | Q(redacted=True)  # of conversations


def shown_rows(rows: QuerySet[Attribute], portion: Portion) -> QuerySet[Attribute]:
    """Exclude rows that rest on a conversation that annotators are not shown."""
    marked = Q(conversation__toxic=True) | Q(conversation__redacted=True)
    return rows if portion.marked else rows.exclude(marked)


@dataclass(frozen=True)
class KnownKeys:
    """The keys of a study's items, in the part that is being filled (`here`) and in its other one (`there`)."""

    here: frozenset[str]
    there: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.here | self.there


NOTHING_KNOWN = KnownKeys(frozenset(), frozenset())


def known_keys(study: Study, pilot: bool, portion: Portion, **about: Any) -> KnownKeys:
    """Read the keys of a study's items. The study must be locked, so that of two concurrent pushes one adds nothing."""
    rows = AnnotationItem.objects.filter(study=study, **about)
    keys: dict[bool, set[str]] = {True: set(), False: set()}
    for key, in_pilot in rows.values_list("key", "pilot"):
        keys[in_pilot].add(key)
    return KnownKeys(frozenset(keys[pilot]), frozenset() if portion.both else frozenset(keys[not pilot]))


def interleave(groups: Iterable[Sequence[T]]) -> list[T]:
    """Interleave the groups, one of each in turn, so that any beginning of the result takes an even share of each."""
    known = list(groups)
    longest = max(map(len, known), default=0)
    return [group[place] for place in range(longest) for group in known if place < len(group)]


def draw_balanced(
    candidates: Sequence[T],
    names_of: Callable[[T], Sequence[Hashable]],
    number: int,
    order_of: Callable[[T], str],
    taken: Collection[Sequence[Hashable]] = (),
) -> list[T]:
    """Draw `number` candidates, each time the one whose names have had the smallest share so far.

    `names_of` gives a candidate's name for each feature (such as writer, prompt, user); those in `taken` count from the
    start. Ties go by `order_of`, a hash with the seed.
    """
    ordered = sorted(candidates, key=order_of)
    if not ordered or number < 1:
        return []
    columns = [dict.fromkeys(column) for column in zip(*map(names_of, ordered), strict=True)]
    places = [{name: place for place, name in enumerate(column)} for column in columns]
    codes = np.array([[places[at][name] for at, name in enumerate(names_of(each))] for each in ordered])
    counts = [np.zeros(len(column)) for column in columns]
    for names in taken:
        for at, name in enumerate(names):
            if name in places[at]:
                counts[at][places[at][name]] += 1
    free, drawn = np.ones(len(ordered), bool), []
    for _ in range(min(number, len(ordered))):
        # The names of a feature with few of them occur more often, so counts are weighted by the number of names.
        shares = sum(count[codes[:, at]] * len(count) for at, count in enumerate(counts))
        best = int(np.argmin(np.where(free, shares, np.inf)))
        free[best] = False
        drawn.append(ordered[best])
        for at, count in enumerate(counts):
            count[codes[best, at]] += 1
    return drawn
