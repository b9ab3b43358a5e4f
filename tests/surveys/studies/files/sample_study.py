"""A small study for tests, any piece of whose file can be replaced."""

from pathlib import Path
from typing import Any

import pytest

from surveys.studies.files.definitions import Definition, StudyFault, StudyFileError, parse_study
from surveys.studies.files.languages import Texts

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
GOOD = (SAMPLES / "teas.toml").read_text(encoding="utf-8")
# The same study in German, as a further part of the file.
IN_GERMAN = (SAMPLES / "teas.de.toml").read_text(encoding="utf-8")
# Further prompts for the same study, some of them asked again: on a second occasion, in an arm, with a rating.
ASKED_AGAIN = (SAMPLES / "teas.again.toml").read_text(encoding="utf-8")


def changed(*changes: tuple[str, str]) -> str:
    """The file's text with the first occurrence of each old piece replaced by the new one."""
    text = GOOD
    for old, new in changes:
        assert old in text, f"{old!r} is not in the sample"
        text = text.replace(old, new, 1)
    return text


def faults_of(content: str | bytes, name: str | None = "teas", **more: Any) -> list[StudyFault]:
    """All faults of a file that must be refused."""
    with pytest.raises(StudyFileError) as caught:
        parse_study(content.encode() if isinstance(content, str) else content, name, **more)
    return caught.value.faults


def fault_at(place: str, content: str | bytes, name: str | None = "teas") -> StudyFault:
    """The first fault at this place, whatever other faults the file has."""
    return next(fault for fault in faults_of(content, name) if fault.place == place)


def make_definition(*changes: tuple[str, str]) -> Definition:
    return parse_study(changed(*changes).encode(), "teas")


def make_asking_definition(*changes: tuple[str, str]) -> Definition:
    """The study with repeated askings, pieces of whose part of the file are replaced."""
    text = ASKED_AGAIN
    for old, new in changes:
        assert old in text, f"{old!r} is not in the sample"
        text = text.replace(old, new, 1)
    return parse_study((GOOD + text).encode(), "teas")


def read_german() -> dict[str, Texts]:
    """`languages` of the sample with its German texts."""
    return parse_study((GOOD + IN_GERMAN).encode(), "teas").languages
