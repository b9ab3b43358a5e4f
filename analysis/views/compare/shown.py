"""The part of a report that a page shows: read where it is kept, narrowed to what the address asks for."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from analysis.definitions import DEFINITIONS
from analysis.filters import Filters
from analysis.models import MetricValue
from analysis.reports import Reporting
from analysis.samples import ALL, FIELD
from analysis.views.compare.asked import Asked
from surveys.models import Study

Row = dict[str, Any]
# Filters that only choose among rows: the report is computed without them, so that one result serves many views.
ROW_FILTERS = ("prompt", "source", "model")
# Except where rows are made of several prompts or sources.
PART_ROW_FILTERS: dict[str, tuple[str, ...]] = {"calibration": ("source", "model"), "scores": ()}


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
        by_filters: dict[Filters, Reporting] = {}
        found = {}
        for part in ("about", *self.parts):
            filters = computed_with(part, self.asked)
            if filters not in by_filters:
                by_filters[filters] = Reporting(self.study, filters)
            found[part] = by_filters[filters]
        return found

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
        filters = self.asked.filters
        about = dict(self.kept["about"].value)
        about["groups"] = narrow_groups(about["groups"], filters.model)
        chatbots = {str(group["chatbot"] or ALL) for group in about["groups"]}
        heading = self.reportings["about"].heading()
        return {
            **heading,
            "filters": {"query": filters.to_query(), "words": filters.describe()},
            "generated_at": self.computed_at.isoformat(timespec="seconds"),
            **about,
            **{name: narrow(self.kept[name].value, filters, chatbots) for name in self.parts},
            "definitions": DEFINITIONS,
        }


def computed_with(part: str, asked: Asked) -> Filters:
    names = PART_ROW_FILTERS.get(part, ROW_FILTERS)
    if part == "items" and asked.q:
        names = ("source", "model")  # every item of the prompt is searched, not only the frequent ones
    dropped: dict[str, Any] = dict.fromkeys(names, ())
    return replace(asked.filters, **dropped)


def narrow_groups(groups: Iterable[Row], models: Collection[str]) -> list[Row]:
    if not models:
        return list(groups)
    kept = [{**group, "models": [model for model in group["models"] if model in models]} for group in groups]
    return [group for group in kept if group["models"]]


def narrow(rows: Any, filters: Filters, chatbots: Collection[str]) -> Any:
    return [row for row in rows if is_shown(row, filters, chatbots)] if isinstance(rows, list) else rows


def is_shown(row: Row, filters: Filters, chatbots: Collection[str]) -> bool:
    """Whether the filters leave the row; a field row belongs to the models that its chatbot is compared with."""
    prompt, source, model = (row.get(name) for name in ("prompt", "source", "model"))
    if filters.prompt and prompt is not None and prompt not in filters.prompt:
        return False
    if filters.source and source is not None and source not in filters.source:
        return False
    wanted = chatbots if source == FIELD else filters.model
    return not filters.model or model is None or model in wanted
