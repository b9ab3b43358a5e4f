"""docs/study-files.md describes the format that the code reads."""

import re
from pathlib import Path

from surveys.reading.checks import CHECKS
from surveys.studies.files.askings import SCHEMES
from surveys.studies.files.definitions import parse_study
from surveys.studies.files.schema import LISTS, PROMPT_KINDS, TABLES, StudyHead, keys_of

DOCS = (Path(__file__).resolve().parents[4] / "docs" / "study-files.md").read_text(encoding="utf-8")


def test_example_of_the_docs_is_a_study():
    study = parse_study(re.search(r"```toml\n(.*?)```", DOCS, re.DOTALL)[1].encode(), "tea")
    assert (len(study.prompts), study.cells[0].places, study.pay_per_hour) == (1, 20, 12)


def test_docs_name_every_key_and_table():
    tables = [StudyHead, *(table for group in (TABLES, LISTS, PROMPT_KINDS) for table in group.values())]
    keys = {key for table in tables for key in keys_of(table)}
    assert [key for key in sorted(keys) if f"`{key}`" not in DOCS] == []
    assert [name for name in LISTS if f"### `[[{name}]]`" not in DOCS] == []
    assert [name for name in TABLES if f"### `[{name}]`" not in DOCS and f"| `{name}` |" not in DOCS] == []


def test_docs_name_every_scheme_and_check():
    assert [name for name in (*SCHEMES, *CHECKS) if f"`{name}`" not in DOCS] == []
