"""Every definition that is shown has a place in docs/methods.md, every interval its kind and its unit."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from analysis.report.definitions import DEFINITIONS, INTERVALS
from analysis.report.outputs.tables import SECTIONS
from analysis.report.parts import METRICS
from analysis.report.reports import report
from analysis.stats.intervals import share_interval
from tests.analysis.report.test_bundle import make_world


def test_every_definition_has_its_place_in_the_docs() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "methods.md").read_text()
    assert DEFINITIONS.keys() - set(re.findall(r'<a id="(\w+)"></a>', text)) == set()


def test_every_table_is_of_a_part_and_names_definitions_that_there_are() -> None:
    assert {section.part for section in SECTIONS} == METRICS.keys() - {"about", "flow"}
    assert {name for section in SECTIONS for name in section.definitions} <= DEFINITIONS.keys()
    assert all(section.definitions for section in SECTIONS)


def intervals_in(row: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Where two numbers stand that are an interval, or null where one would stand; `bounds` are none."""
    if isinstance(row, dict):
        for name, value in row.items():
            yield from intervals_in(value, (*path, name))
    elif isinstance(row, list) and row and isinstance(row[0], dict):
        for value in row:
            yield from intervals_in(value, path)
    elif any(word in ("ci", "around") for name in path for word in name.split("_")):
        yield ".".join(path)


@pytest.mark.django_db
def test_every_interval_of_a_report_has_one_kind_and_one_unit() -> None:
    whole = report(make_world(), draws=20)
    said = [(part, entry) for part, entries in whole["intervals"].items() for entry in entries]
    found = {
        (part, column, row.get("kind"))
        for part in METRICS
        for row in (whole[part] if isinstance(whole.get(part), list) else [])
        for column in intervals_in(row)
    }
    matching = {
        place: [
            entry
            for part, entry in said
            if part == place[0] and depth(entry["column"]) == depth(place[1]) and fnmatch(place[1], entry["column"])
            if entry.get("of") in (None, place[2])
        ]
        for place in found
    }
    assert {place: entries for place, entries in matching.items() if len(entries) != 1} == {}
    assert whole["intervals"] == INTERVALS and len(found) > 50
    words = (Path(settings.BASE_DIR) / "docs" / "methods.md").read_text()
    assert all(f"| `{entry[name]}` |" in words for _, entry in said for name in ("kind", "unit"))
    for row in whole["choices"]:
        for share in row["shares"].values():
            assert share["ci"] == pytest.approx(share_interval(round(share["share"] * row["n"]), row["n"]), abs=1e-8)


def depth(column: str) -> int:
    return column.count(".")
