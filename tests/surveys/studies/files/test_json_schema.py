"""The published JSON Schema is current, accepts every study the checker accepts, and finds every fault it can."""

import json
import tomllib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator

from surveys.studies.files.definitions import StudyFileError, parse_study

ROOT = Path(__file__).resolve().parents[4]
STUDIES = ROOT / "surveys" / "studies"
PUBLISHED = (ROOT / "examples" / "study.schema.json").read_text(encoding="utf-8")
VALIDATOR = Draft202012Validator(json.loads(PUBLISHED))
SAMPLE = (STUDIES / "field-13.toml").read_text(encoding="utf-8")
# By kind of fault: what the sample has, and what replaces it.
FAULTS = {
    "unknown key": ("minutes =", "minuets = 3\nminutes ="),
    "missing key": ("title =", "# title ="),
    "other type": ("\nminutes = ", "\nminutes = 'many' # "),
    "too small": ("\nminutes = ", "\nminutes = 0 # "),
    "too large": ("\nminutes = ", "\nminutes = 241 # "),
    "pattern": ('slug = "field-13"', 'slug = "Field 13"'),
    "choice": ('currency = "', 'currency = "E'),
    "money": ("amount = 5.00", "amount = 0"),
    "blank text": ("\ncontact = ", "\ncontact = ' ' # "),
    "long text": ("\ncontact = ", f"\ncontact = '{'x' * 301}' # "),
    "too few entries": ('options = ["Yes", "No"]', 'options = ["Yes"]'),
    "repeated entry": ("\nprolific_study_ids = ", f"\nprolific_study_ids = ['{'a' * 24}', '{'a' * 24}'] # "),
    "missing table": ("\n[debrief]\ntext", "\n[recruiting]\ndescription"),
    "key of another kind": ('kind = "recommendation"', 'kind = "recommendation"\nrequest = "Please."'),
    "table for others": ("\n[debrief]\n", "\n[annotation]\n[debrief]\n"),
}


def described(schema: Any, place: str = "") -> Iterator[tuple[str, bool]]:
    """Every key of every table, with whether it has a description."""
    if isinstance(schema, dict):
        for name, key in (schema.get("properties") or {}).items():
            if isinstance(key, dict) and "properties" not in key and key.get("type") != "array" and name != "languages":
                yield f"{place}.{name}", bool(key.get("description"))
        for name, part in schema.items():
            yield from described(part, f"{place}.{name}")
    elif isinstance(schema, list):
        for part in schema:
            yield from described(part, place)


def test_published_schema_is_what_the_command_prints() -> None:
    printed = StringIO()
    call_command("study_schema", stdout=printed)
    assert printed.getvalue() == PUBLISHED, "manage.py study_schema > examples/study.schema.json renews it"
    Draft202012Validator.check_schema(json.loads(PUBLISHED))


def test_every_key_says_what_it_holds() -> None:
    keys = dict(described(json.loads(PUBLISHED)))
    assert len(keys) > 100
    assert [name for name, is_described in keys.items() if not is_described] == []


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_study_fits(path: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(tomllib.loads(path.read_text(encoding="utf-8")))] == []


@pytest.mark.parametrize("kind", FAULTS)
def test_fault_that_a_schema_can_express_is_found_by_both(kind: str) -> None:
    before, after = FAULTS[kind]
    assert before in SAMPLE
    faulty = SAMPLE.replace(before, after, 1)
    assert not VALIDATOR.is_valid(tomllib.loads(faulty))
    with pytest.raises(StudyFileError):
        parse_study(faulty.encode(), "field-13")
