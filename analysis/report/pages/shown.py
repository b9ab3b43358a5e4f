"""The comparing pages, the views that addresses ask for, and the kept results that they show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self
from urllib.parse import urlencode

from celery.exceptions import OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import register_converter
from django.urls.converters import StringConverter
from redis import RedisError

from analysis.answers.compared import runs_of
from analysis.charts.figure import Report
from analysis.exports.formats import FIGURE_FILES
from analysis.models import Completion, MetricValue
from analysis.report.claims.enough import all_out, too_few, unread_in
from analysis.report.claims.gate import opening_of
from analysis.report.columns import ASKED
from analysis.report.filters import FILTERS, FilterError, Filters, write_value
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.pairs.sides import checked, usual_pair
from analysis.report.parts import PARTS
from analysis.report.parts.heterogeneity import say_alone
from analysis.report.reports import Reporting, views_for, write_report
from analysis.report.tasks import enqueue_report
from analysis.stats.resampling import DRAWS
from surveys.models import Response, Study
from surveys.studies.access import studies_of


@dataclass(frozen=True)
class Page:
    """A comparing page. It needs `parts`, and shows those in `shown`, or all of them.

    `kind`: the claims that lead to it; `switches`: what a reader may choose on it.
    """

    name: str
    title: str
    question: str
    parts: tuple[str, ...]
    kind: str = ""
    switches: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None
    of_people: bool = True  # without answers of people it has nothing to say

    @property
    def sections(self) -> tuple[str, ...]:
        return self.parts if self.shown is None else self.shown

    def say(self, report: Report) -> str:
        """The opening: its first claim or that none is sure, why nothing is compared, or its question."""
        say = say_nothing_tested if self.name == "overview" else PARTS[self.parts[0]].say
        why = (say_nobody(report) if self.of_people else "") or (say(report) if say else "")
        return opening_of(report, self.name) or why or self.question


def say_nobody(report: Report) -> str:
    """Why no person's answer counts although there are some; else empty."""
    return "" if report["answers"]["field"] else all_out(report) or unread_in(report)


def say_nothing_tested(report: Report) -> str:
    return say_alone(report) or too_few(report["heterogeneity"] or report["choices"])


OVERVIEW = Page(
    "overview",
    "Compare",
    "What differs most between the field, offline runs and sock puppets.",
    ("heterogeneity", "choices", "benchmarks", "calibration", "cells", "drift", "person_or_dice", "arms", "as_planned"),
    shown=(),
)
PAGES: dict[str, Page] = {
    page.name: page
    for page in (
        OVERVIEW,
        Page("pair", "Pair", "What differs between two sides of your choice?", ("pair",), "pair", of_people=False),
        Page(
            "heterogeneity",
            "Heterogeneity",
            "How varied are the answers of each source?",
            ("heterogeneity",),
            "heterogeneity",
            ("values",),
        ),
        Page(
            "choices",
            "Choices",
            "Which option does each source take, and how often is it right?",
            ("choices",),
            "choices",
        ),
        Page(
            "benchmarks",
            "Benchmarks",
            "How far apart are the scores of single runs?",
            ("benchmarks", "variability"),
            "benchmarks",
            of_people=False,
        ),
        Page(
            "field-benchmark",
            "In the field",
            "How right is the chatbot for the people who use it, and do runs say so too?",
            ("field_benchmark",),
        ),
        Page(
            "items",
            "Items",
            "What does each source recommend?",
            ("items", "heterogeneity"),
            "items",
            ("prompt", "search"),
            ("items",),
        ),
        Page(
            "distances",
            "Distances",
            "How far is each source from the field, and which sock puppet comes nearest?",
            ("distances", "calibration", "scores", "mixes"),
            "calibration",
            shown=("calibration", "distances", "mixes", "scores"),
        ),
        Page(
            "blend",
            "Blend",
            "Which blend of sources comes nearest to the field, and is it nearer than each of them alone?",
            ("blend",),
        ),
        Page(
            "person-or-dice",
            "Person or dice",
            "Do answers differ because people do, or would one person, asked twice, get answers as different?",
            ("person_or_dice", "arms"),
            "person-or-dice",
        ),
        Page(
            "explanations",
            "Explanations",
            "What in a person, their settings or the survey goes with answers far from everybody else’s?",
            ("explanations", "taken", "positions"),
            "explanations",
        ),
        Page(
            "demographics",
            "Demographics",
            "Do groups of people, and ways to set up the chatbot, get different answers?",
            ("cells", "contexts"),
            "demographics",
            ("values", "measure"),
        ),
        Page(
            "drift",
            "Drift",
            "Does the same run give the same answers on another day, or to a noisy variant of a prompt?",
            ("drift", "variants"),
            "drift",
            of_people=False,
        ),
        Page(
            "costs",
            "Cost and latency",
            "What do completions cost, and how long do they take?",
            ("costs", "latency"),
            of_people=False,
        ),
        Page(
            "precision",
            "Precision",
            "How wide will the intervals be with a planned number of answers?",
            ("precision",),
        ),
        Page(
            "sensitivity",
            "Sensitivity",
            "What changes with or without flagged and excluded answers?",
            ("sensitivity",),
            "",
            ("measure",),
        ),
    )
}
# The tabs and their pages; a tab opens its first one.
GROUPS: dict[str, tuple[str, ...]] = {
    "Answer": ("overview", "pair"),
    "What people get": ("items", "choices"),
    "How varied, and for whom": (
        *("heterogeneity", "demographics", "distances", "blend"),
        *("person-or-dice", "explanations"),
    ),
    "Scores": ("benchmarks", "field-benchmark"),
    "Checks": ("drift", "precision", "sensitivity", "costs"),
}
# The page that shows a figure, whose parts are needed to draw it.
PAGE_OF_FIGURE = {PARTS[part].drawn_as: page for page in PAGES.values() for part in page.sections}
FIGURE_PAGES = PAGE_OF_FIGURE | dict.fromkeys(OVERVIEW_FIGURES, OVERVIEW)
# Where a finding leads.
PAGE_OF_KIND = {page.kind: page.name for page in PAGES.values() if page.kind}


# --- what an address asks for: filters, and how a page shows the report

VALUES = ("rarefied", "raw")
MEASURES = tuple(ASKED)
# The pages' own parameters; all others are filters.
OWN = ("values", "measure", "sort", "q", "page", "show")
LONGEST_SEARCH = 200
MOST_OFFERED = 40
# Filters with a menu of their own; the others are behind one more.
MENUS = ("chatbot", "cell", "source", "excluded")
IN_FORM = tuple(name for name in dict.fromkeys(("prompt", "model", "chatbot", "source", *FILTERS)) if name != "compare")


@dataclass(frozen=True)
class Asked:
    """One view of the report."""

    filters: Filters
    values: str = VALUES[0]
    measure: str = MEASURES[0]
    sort: str = ""  # table and column, such as `items.2`, with a minus in front for descending order
    q: str = ""

    @classmethod
    def read(cls, request: HttpRequest, ignore: tuple[str, ...] = ()) -> Self:
        """Read the view from a request. Raises FilterError."""
        query = request.GET
        filters = checked(request.study, Filters.from_query(query, (*OWN, *ignore)), studies_of(request.user))
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
        own = [(name, getattr(asked, name)) for name in ("values", "measure", "sort", "q")]
        return urlencode([*asked.filters.to_pairs(), *((name, v) for name, v in own if v != getattr(Asked, name))])

    def of_pair(self, study: Study) -> Self:
        """The same view, with the usual pair if no sides are named."""
        if self.filters.compare or not (usual := usual_pair(study)):
            return self
        return replace(self, filters=replace(self.filters, compare=usual))

    def with_filters(self, **changes: Any) -> str:
        return self.address(filters=replace(self.filters, **changes))


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return the value. Raises FilterError if it is not known."""
    if value not in known:
        raise FilterError(f"{name} is one of {', '.join(known)}, not {value[:60]}.")
    return value


# --- the filters as a form and as chips


@dataclass(frozen=True)
class Option:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class FilterField:
    """One filter of the form; a `single` one always has one option chosen."""

    name: str
    label: str
    options: list[Option]
    single: bool

    @property
    def is_long(self) -> bool:
        return len(self.options) > 5

    @property
    def is_menu(self) -> bool:
        return self.name in MENUS

    @property
    def chosen(self) -> str:
        """The label of its menu: all or both, the name of a single one, or the number chosen."""
        names = [option.label for option in self.options if option.chosen]
        if len(names) in (0, len(self.options)):
            return "all" if len(self.options) != 2 else "both"
        return names[0] if len(names) == 1 else f"{len(names)} of {len(self.options)}"


@dataclass(frozen=True)
class Chip:
    """A filter that is on, and the view without it."""

    words: str
    query: str


Offered = Mapping[str, Mapping[Any, str]]


def words_of(offered: Offered, name: str) -> dict[Any, str]:
    """The values of a filter, with their words."""
    return {value: words for value, (words, _) in FILTERS[name].options.items()} or dict(offered[name])


def form_of(offered: Offered, filters: Filters) -> list[FilterField]:
    """The fields of the form, without filters that leave no choice."""
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
        if name != "compare"
    ]


# --- results: read if kept, else computed by a worker while the page waits


@dataclass
class Shown:
    """The kept results of the parts that a page needs. `older`: whether newer answers are not counted yet."""

    study: Study
    asked: Asked
    parts: tuple[str, ...]
    kept: dict[str, MetricValue] = field(default_factory=dict)
    older: bool = False

    @cached_property
    def reportings(self) -> dict[str, Reporting]:
        """The view in which each part is computed."""
        return views_for(self.study, self.asked.filters, self.parts, every_item=bool(self.asked.q))

    @property
    def fingerprint(self) -> str:
        return "".join(kept.fingerprint[:16] for kept in self.kept.values())

    @property
    def wanted(self) -> dict[str, tuple[str, str]]:
        """The name and fingerprint of each part's kept result."""
        return {name: (f"{name}:{view.view}", view.fingerprint) for name, view in self.reportings.items()}

    @property
    def rows(self) -> QuerySet[MetricValue]:
        names = [name for name, _ in self.wanted.values()]
        return MetricValue.objects.filter(study=self.study, name__in=names)

    def missing(self) -> list[str]:
        """The names of parts not kept for today's answers, found without reading results."""
        there = {*self.rows.values_list("name", "fingerprint")}
        return [part for part, key in self.wanted.items() if key not in there]

    def look(self) -> list[str]:
        """Find kept results, older ones included; return the names of parts not kept for today's answers."""
        wanted, rows = self.wanted, self.rows.order_by("computed_at", "pk")
        newest = {row.name: row for row in rows}
        exact = {(row.name, row.fingerprint): row for row in rows}
        missing = [part for part, key in wanted.items() if key not in exact]
        found = {part: exact.get(key) or newest.get(key[0]) for part, key in wanted.items()}
        self.kept = {part: row for part, row in found.items() if row is not None}
        self.older = bool(missing) and len(self.kept) == len(wanted)
        return missing

    def compute(self) -> None:
        self.kept = {part: view.kept(part) for part, view in self.reportings.items()}
        self.older = False

    @property
    def is_complete(self) -> bool:
        return len(self.kept) == len(self.reportings)

    @property
    def computed_at(self) -> datetime:
        return max(row.computed_at for row in self.kept.values())

    def is_newer_than(self, since: int) -> bool:
        """Whether all parts were computed after `since`, in microseconds."""
        return 0 < since < min((in_microseconds(row.computed_at) for row in self.kept.values()), default=0)

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report of `analysis.report.reports.report` with these parts and rows only."""
        return write_report(self.reportings["about"], self.asked.filters, self.kept)


def in_microseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)


SMALL = 1_000  # texts, up to which a report is computed while the reader waits
PATIENCE = 120  # polls of a report under way, after which a worker is assumed missing


def has_few_texts(study: Study) -> bool:
    responses = Response.objects.filter(participant__study=study)[: SMALL + 1].count()
    if responses > SMALL:
        return False
    answers = Completion.objects.filter(run__in=runs_of(study), status="done")
    return responses + answers[: SMALL + 1].count() <= SMALL


def begin(shown: Shown) -> bool:
    """Ask a worker for the parts, then for all others; return False if none can be reached."""
    return ask_for(shown.reportings, [part for part in PARTS if part not in shown.reportings])


def ask_for(views: Mapping[str, Reporting], others: Sequence[str] = ()) -> bool:
    """Ask a worker for each part in its view, then for others in that of `about`; False if none can be reached."""
    by_query: dict[str, list[str]] = {}
    for part, view in views.items():
        by_query.setdefault(view.filters.to_query(), []).append(part)
    try:
        for query, parts in by_query.items():
            view, more = views[parts[0]], others if "about" in parts else ()
            own = () if (view.seed, view.draws) == (0, DRAWS) else (view.seed, view.draws)
            enqueue_report(view.study.pk, query, [*parts, *more], view.fingerprint, *own)
    except (OperationalError, RedisError):
        return False
    return True


def standing(shown: Shown, missing: Sequence[str], looks: int = 0) -> dict[str, Any]:
    """The progress of the parts."""
    parts = shown.reportings
    return {
        "parts": [(PARTS[part].words, part not in missing) for part in parts],
        "done": len(parts) - len(missing),
        "all": len(parts),
        "share": round(1000 * (len(parts) - len(missing)) / len(parts)),
        "looks": looks + 1,
        "waits_long": looks > PATIENCE,
    }


def register_one_of(name: str, words: Iterable[str]) -> None:
    """Register a path converter for these words."""
    register_converter(type(name, (StringConverter,), {"regex": "|".join(words)}), name)


register_one_of("compare-page", (name for name in PAGES if name != OVERVIEW.name))
register_one_of("any-compare-page", PAGES)
register_one_of("figure", FIGURE_PAGES)
register_one_of("file", FIGURE_FILES)
