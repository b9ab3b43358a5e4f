"""Changes that a study file would make to its study: each place in the document with its old and new value."""

import json
from collections.abc import Iterator
from os.path import commonprefix
from typing import Any, NamedTuple

from surveys.models import Study
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import with_benchmark_items

NAMES = ("slug", "id")  # keys that identify the entries of a list, in whatever order
NEAR = 30  # characters shown around a change in a long text


class VersionDifference(NamedTuple):
    """One change; `before` is empty for additions, `after` for removals."""

    place: str
    before: str
    after: str


def changes_to(study: Study, definition: Definition) -> list[VersionDifference]:
    """The definition's changes to the current version; long texts are cut to the part that differs."""
    found = differences(study.current.document if study.current else {}, with_benchmark_items(definition).to_document())
    return [VersionDifference(place, *_around(before, after)) for place, before, after in found]


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[VersionDifference]:
    """The differences in the document's order; additions come last within their part."""
    return list(_walk("", before, after))


def _walk(place: str, before: Any, after: Any) -> Iterator[VersionDifference]:
    if before == after:
        return
    old, new = _parts(before), _parts(after)
    if old is None or new is None:
        yield VersionDifference(place, _written(before), _written(after))
        return
    kept, moved = [name for name in old if name in new], [name for name in new if name in old]
    if isinstance(after, list) and kept != moved:
        yield VersionDifference(place, ", ".join(kept), ", ".join(moved))
    for name in dict.fromkeys([*old, *new]):
        yield from _walk(f"{place}.{name}" if place else name, old.get(name), new.get(name))


def _parts(value: Any) -> dict[str, Any] | None:
    """A table by its keys, or a list of tables by their slugs, ids or numbers; None for everything else."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        name = next((name for name in NAMES if all(name in entry for entry in value)), "")
        named = {str(entry[name]) if name else str(place): entry for place, entry in enumerate(value, 1)}
        return named if len(named) == len(value) else None
    return None


def _written(value: Any) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _around(old: str, new: str) -> tuple[str, str]:
    """Cut long texts to the part that differs, with a little before and after it."""
    if max(len(old), len(new)) <= 4 * NEAR:
        return old, new
    start = max(0, len(commonprefix([old, new])) - NEAR)
    behind = len(commonprefix([old[start:][::-1], new[start:][::-1]]))
    end = max(0, behind - NEAR)
    shown = [text[start : len(text) - end] for text in (old, new)]
    first, second = (f"{'…' if start else ''}{text}{'…' if end else ''}" if text else "" for text in shown)
    return first, second
