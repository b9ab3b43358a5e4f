"""Reads persona files: JSONL with descriptions or sentences, or one text a line."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction

from analysis.corpora.records import storable
from analysis.models import Persona, PersonaSet
from surveys.imports.files import CellFault, Faults, batches, open_lines

DESCRIPTIONS = ("persona", "description")  # PersonaHub's name, and ours
SENTENCES = ("sentences", "personality", "profile")  # ours, and two in which PersonaChat is passed on
BATCH = 1000
NAME = re.compile(r"[-a-zA-Z0-9_]{1,50}")
LINES_NAMED = 10


class PersonaFileError(Exception):
    """The file was not imported; the message names the lines."""


class PersonaLine(NamedTuple):
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
        _check_file(path, kind)
        with transaction.atomic():
            return _store(name, _read_lines(path, kind, Faults()))
    except OSError as error:
        raise PersonaFileError(f"{path} can't be read: {error.strerror}.") from None


def _check_file(path: Path, kind: str) -> None:
    """Raise with the first bad lines; also when there is no line at all."""
    faults = Faults()
    number = sum(1 for _ in _read_lines(path, kind, faults))
    if faults.count:
        bad = "; ".join(f"line {fault.line} {fault.message}" for fault in faults.first[:LINES_NAMED])
        more = f" and {faults.count - LINES_NAMED} more" if faults.count > LINES_NAMED else ""
        raise PersonaFileError(f"{path}: {bad}{more}. Nothing was imported.")
    if not number:
        raise PersonaFileError(f"{path} is empty. Nothing was imported.")


def _read_lines(path: Path, kind: str, faults: Faults) -> Iterator[PersonaLine]:
    is_text = path.suffix.lower() not in (".jsonl", ".json", ".ndjson")
    with open_lines(path, faults) as lines:
        for number, written in enumerate(lines, 1):
            text = storable(written).strip()
            try:
                yield _read_text(text, kind) if is_text else _read_object(text)
            except CellFault as fault:
                faults.add(number, str(fault))


def _read_text(text: str, kind: str) -> PersonaLine:
    if not text:
        raise CellFault("is empty")
    return PersonaLine(text, []) if kind == "persona" else PersonaLine("", [text])


def _read_object(text: str) -> PersonaLine:
    if not text:
        raise CellFault("is empty")
    try:
        record = json.loads(text)
    except ValueError as error:
        raise CellFault(f"is no JSON ({error})") from None
    if not isinstance(record, Mapping):
        raise CellFault("is no object")
    description = next((record[name] for name in DESCRIPTIONS if name in record), "")
    sentences = next((record[name] for name in SENTENCES if name in record), [])
    if not isinstance(description, str) or not _is_list_of_texts(sentences):
        raise CellFault("needs a text in 'persona' and a list of texts in 'sentences'")
    if not description.strip() and not sentences:
        raise CellFault("has neither 'persona' nor 'sentences'")
    cleaned = [storable(sentence).strip() for sentence in sentences]
    return PersonaLine(storable(description).strip(), cleaned, storable(record.get("id"))[:200])


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) and part.strip() for part in value)


def _store(name: str, lines: Iterator[PersonaLine]) -> tuple[int, int]:
    personas, _ = PersonaSet.objects.get_or_create(name=name)
    before, number = personas.personas.count(), 0
    for batch in batches(lines, BATCH):
        number += len(batch)
        Persona.objects.bulk_create([make_row(personas, line) for line in batch], ignore_conflicts=True)
    return personas.personas.count() - before, number


def make_row(personas: PersonaSet, line: PersonaLine) -> Persona:
    content = json.dumps([line.description, line.sentences], ensure_ascii=False, separators=(",", ":"))
    return Persona(
        set=personas,
        sha256=hashlib.sha256(content.encode()).hexdigest(),
        source_id=line.source_id,
        description=line.description,
        sentences=line.sentences,
    )
