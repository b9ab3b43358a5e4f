"""Reads persona files: JSONL with descriptions or sentences, or one text a line."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction

from analysis.corpora.records import storable
from analysis.models import Persona, PersonaSet

DESCRIPTIONS = ("persona", "description")  # PersonaHub's name, and ours
SENTENCES = ("sentences", "personality", "profile")  # ours, and two in which PersonaChat is passed on
BATCH = 1000
NAME = re.compile(r"[-a-zA-Z0-9_]{1,50}")
LINES_NAMED = 10


class PersonaFileError(Exception):
    """The file was not imported; the message names the lines."""


class Line(NamedTuple):
    description: str
    sentences: list[str]
    source_id: str = ""


def import_personas(name: str, path: Path, kind: str = "persona") -> tuple[int, int]:
    """Import a file into the set `name`; returns how many were new and how many in the file.

    A line of a text file is a `persona` (a description) or a `sentence`. One bad line refuses the whole file.
    """
    if not NAME.fullmatch(name):
        raise PersonaFileError(f"{name!r} is no name for a set: use up to 50 letters, digits, - and _.")
    try:
        with path.open(encoding="utf-8-sig") as file:
            check_lines(path, read_lines(file, path, kind))
            file.seek(0)
            with transaction.atomic():
                return store(name, (line for _, line in read_lines(file, path, kind)))
    except OSError as error:
        raise PersonaFileError(f"{path} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise PersonaFileError(f"{path} is not UTF-8: {error}. Save it as UTF-8.") from None


def read_lines(file: Any, path: Path, kind: str) -> Iterator[tuple[int, Line | str]]:
    """Each line with its number, or with what is wrong with it."""
    is_text = path.suffix.lower() not in (".jsonl", ".json", ".ndjson")
    for number, written in enumerate(file, 1):
        text = storable(written).strip()
        if not text:
            yield number, "is empty"
        elif is_text:
            yield number, Line(text, []) if kind == "persona" else Line("", [text])
        else:
            yield number, read_object(text)


def read_object(text: str) -> Line | str:
    try:
        record = json.loads(text)
    except ValueError as error:
        return f"is no JSON ({error})"
    if not isinstance(record, Mapping):
        return "is no object"
    description = next((record[name] for name in DESCRIPTIONS if name in record), "")
    sentences = next((record[name] for name in SENTENCES if name in record), [])
    if not isinstance(description, str) or not is_list_of_texts(sentences):
        return "needs a text in 'persona' and a list of texts in 'sentences'"
    if not description.strip() and not sentences:
        return "has neither 'persona' nor 'sentences'"
    cleaned = [storable(sentence).strip() for sentence in sentences]
    return Line(storable(description).strip(), cleaned, storable(record.get("id"))[:200])


def is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) and part.strip() for part in value)


def check_lines(path: Path, lines: Iterator[tuple[int, Line | str]]) -> None:
    """Raise with the first bad lines; also when there is no line at all."""
    number, bad = 0, []
    for number, line in lines:
        if isinstance(line, str):
            bad.append(f"line {number} {line}")
    if bad:
        more = f" and {len(bad) - LINES_NAMED} more" if len(bad) > LINES_NAMED else ""
        raise PersonaFileError(f"{path}: {'; '.join(bad[:LINES_NAMED])}{more}. Nothing was imported.")
    if not number:
        raise PersonaFileError(f"{path} is empty. Nothing was imported.")


def store(name: str, lines: Iterator[Any]) -> tuple[int, int]:
    personas, _ = PersonaSet.objects.get_or_create(name=name)
    before, number = personas.personas.count(), 0
    while batch := list(islice(lines, BATCH)):
        number += len(batch)
        Persona.objects.bulk_create([make_row(personas, line) for line in batch], ignore_conflicts=True)
    return personas.personas.count() - before, number


def make_row(personas: PersonaSet, line: Line) -> Persona:
    content = json.dumps([line.description, line.sentences], ensure_ascii=False, separators=(",", ":"))
    return Persona(
        set=personas,
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        source_id=line.source_id,
        description=line.description,
        sentences=line.sentences,
    )
