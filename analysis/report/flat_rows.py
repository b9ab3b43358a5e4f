"""Rows of a report without anything nested in them, one value a column, as data frames like them."""

from collections.abc import Iterator, Mapping
from typing import Any

INTERVALS = ("ci", "around", "bounds")


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """Keys joined by _; an interval gets columns of its ends; rows within a row are left out.

    {"ci": [1, 2]} → ci_low, ci_high; {"rarefied": {"n": 5}} → rarefied_n; lists of words are joined by commas.
    """
    return dict(columns_of(row, ()))


def columns_of(row: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        path = (*above, name)
        if isinstance(value, Mapping):
            yield from columns_of(value, path)
        elif is_interval(path, value):
            yield from zip(("_".join((*path, end)) for end in ("low", "high")), value or (None, None), strict=True)
        elif not isinstance(value, list):
            yield "_".join(path), value
        elif not any(isinstance(entry, Mapping) for entry in value):
            yield "_".join(path), ", ".join(str(entry) for entry in value)


def is_interval(path: tuple[str, ...], value: Any) -> bool:
    """Two numbers; or nothing where an interval would stand, so that its columns are there in every row."""
    if isinstance(value, list):
        return len(value) == 2 and all(isinstance(end, int | float) for end in value)
    return value is None and any(word in INTERVALS for name in path for word in name.split("_"))
