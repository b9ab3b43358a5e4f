"""Every definition that is shown has a place in docs/methods.md, and every table names its definitions."""

import re
from pathlib import Path

from django.conf import settings

from analysis.report.definitions import DEFINITIONS
from analysis.report.outputs.tables import SECTIONS
from analysis.report.parts import METRICS


def test_every_definition_has_its_place_in_the_docs() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "methods.md").read_text()
    assert DEFINITIONS.keys() - set(re.findall(r'<a id="(\w+)"></a>', text)) == set()


def test_every_table_is_of_a_part_and_names_definitions_that_there_are() -> None:
    assert {section.part for section in SECTIONS} == METRICS.keys() - {"about", "flow"}
    assert {name for section in SECTIONS for name in section.definitions} <= DEFINITIONS.keys()
    assert all(section.definitions for section in SECTIONS)
