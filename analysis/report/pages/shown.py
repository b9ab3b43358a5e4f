"""The part of a report that a page shows: read where it is kept, else computed by a worker while the page counts."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from celery.exceptions import OperationalError
from redis import RedisError

from analysis.models import Completion, MetricValue
from analysis.report.dataset import runs_of
from analysis.report.pages.asked import Asked
from analysis.report.pages.contents import Page
from analysis.report.parts import PARTS
from analysis.report.reports import Reporting, views_for, write_report
from analysis.report.tasks import enqueue_report
from surveys.models import Response, Study


@dataclass
class Shown:
    """What is kept of the parts that a page needs. `older` says that newer answers are not counted yet."""

    study: Study
    asked: Asked
    parts: tuple[str, ...]
    kept: dict[str, MetricValue] = field(default_factory=dict)
    older: bool = False

    @cached_property
    def reportings(self) -> dict[str, Reporting]:
        """For each part the view of the report that it is taken from."""
        return views_for(self.study, self.asked.filters, self.parts, every_item=bool(self.asked.q))

    @property
    def fingerprint(self) -> str:
        return "".join(kept.fingerprint[:16] for kept in self.kept.values())

    def look(self) -> list[str]:
        """Find what is kept; the names of the parts that are not there as they should be."""
        wanted = {name: (f"{name}:{view.view}", view.fingerprint) for name, view in self.reportings.items()}
        names = [name for name, _ in wanted.values()]
        rows = MetricValue.objects.filter(study=self.study, name__in=names).order_by("computed_at", "pk")
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

    @cached_property
    def report(self) -> dict[str, Any]:
        """As analysis.reports.report gives it, with these parts and these rows only."""
        return write_report(self.reportings["about"], self.asked.filters, self.kept)


SMALL = 1_000  # texts; a report of so many is computed while the reader waits
PATIENCE = 120  # looks at a report under way, after which a missing worker is suspected


def has_few_texts(study: Study) -> bool:
    responses = Response.objects.filter(participant__study=study)[: SMALL + 1].count()
    if responses > SMALL:
        return False
    answers = Completion.objects.filter(run__in=runs_of(study), status="done")
    return responses + answers[: SMALL + 1].count() <= SMALL


def begin(shown: Shown) -> bool:
    """Ask a worker for the parts, and then for those of the other pages; False when none can be reached."""
    by_query: dict[str, list[str]] = {}
    for part, view in shown.reportings.items():
        by_query.setdefault(view.filters.to_query(), []).append(part)
    try:
        for query, parts in by_query.items():
            others = [part for part in PARTS if part not in shown.reportings] if "about" in parts else []
            enqueue_report(shown.study.pk, query, [*parts, *others], shown.reportings[parts[0]].fingerprint)
    except (OperationalError, RedisError):
        return False
    return True


def standing(wanted: Page, missing: list[str], looks: int) -> dict[str, Any]:
    parts = ("about", *wanted.parts)
    return {
        "parts": [(PARTS[part].words, part not in missing) for part in parts],
        "done": len(parts) - len(missing),
        "all": len(parts),
        "share": round(1000 * (len(parts) - len(missing)) / len(parts)),
        "looks": looks + 1,
        "waits_long": looks > PATIENCE,
    }
