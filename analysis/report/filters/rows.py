"""Filters that only choose among rows: a part is computed without them, so that one result serves many views."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from analysis.report.filters.filters import Filters
from analysis.report.samples import ALL, FIELD

Row = dict[str, Any]
ROW_FILTERS = ("prompt", "source", "model")
# Except where rows are made of several prompts or sources.
PART_ROW_FILTERS: dict[str, tuple[str, ...]] = {"calibration": ("source", "model"), "scores": ()}


def computed_with(part: str, filters: Filters, every_item: bool = False) -> Filters:
    """What the part is computed with.

    `every_item`: of prompts that are asked for by name all items are wanted, not only the frequent ones.
    """
    names = PART_ROW_FILTERS.get(part, ROW_FILTERS)
    if part == "items" and every_item:
        names = ("source", "model")
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
    return [row for row in rows if is_left(row, filters, chatbots)] if isinstance(rows, list) else rows


def is_left(row: Row, filters: Filters, chatbots: Collection[str]) -> bool:
    """Whether the filters leave the row; a field row belongs to the models that its chatbot is compared with."""
    prompt, source, model = (row.get(name) for name in ("prompt", "source", "model"))
    if filters.prompt and prompt is not None and prompt not in filters.prompt:
        return False
    if filters.source and source is not None and source not in filters.source:
        return False
    wanted = chatbots if source == FIELD else filters.model
    return not filters.model or model is None or model in wanted
