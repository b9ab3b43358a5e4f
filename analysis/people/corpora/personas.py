"""Profiles for simulated users: a persona and sentences, read from files and drawn by seed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction

from analysis.models import Persona, PersonaSet
from analysis.people.corpora.importing import NAME, note_origin
from analysis.people.corpora.records import storable
from analysis.people.corpora.seeded_sampling import draw, generator
from surveys.models.hashes import hash_text
from surveys.reading.nesting import read_json, say_fault
from surveys.studies.imports.files import CellFault, Faults, batches, open_lines

SENTENCES = 5  # drawn when the sentences stand alone; a group of one person's sentences is used as it is


class Pools(NamedTuple):
    """The sorted hashes of a set's rows, by what the rows hold."""

    descriptions: list[str]  # rows with a description
    groups: list[str]  # several sentences of one person
    sentences: list[str]  # single sentences


def pools_of(personas: PersonaSet) -> Pools:
    pools = Pools([], [], [])
    rows = personas.personas.order_by("sha256").values_list("sha256", "description", "sentences")
    for sha256, description, sentences in rows.iterator():
        pool = pools.descriptions if description else pools.groups if len(sentences) > 1 else pools.sentences
        pool.append(sha256)
    return pools


def draw_profiles(pools: Pools, seed: int, number: int) -> list[list[str]]:
    """Draw, for each of the first `number` users, the hashes of the rows that make up the profile.

    No two users share a persona until all are used; a larger `number` changes no profile.
    """
    people = pools.descriptions or pools.groups
    extra = pools.groups if pools.descriptions else []
    main = _dealt(people, seed, "persona", number)
    more = _dealt(extra, seed, "sentences", number)
    singles = [] if extra or (people and not pools.descriptions) else pools.sentences
    return [[*main[index], *more[index], *_single_sentences(singles, seed, index)] for index in range(number)]


def _dealt(pool: Sequence[str], seed: int, what: str, number: int) -> list[list[str]]:
    """Deal one row to each user: the pool is shuffled by seed, and anew whenever it is used up."""
    dealt: list[str] = []
    while pool and len(dealt) < number:
        dealt += draw(pool, len(pool), generator(seed, what, len(dealt) // len(pool)))
    return [[row] for row in dealt[:number]] if pool else [[] for _ in range(number)]


def _single_sentences(pool: Sequence[str], seed: int, index: int) -> list[str]:
    return draw(pool, min(SENTENCES, len(pool)), generator(seed, index, "single sentences"))


def rows_of(personas: PersonaSet, hashes: Sequence[str]) -> list[Persona]:
    """The rows in the order of the hashes; missing ones are left out."""
    found = {row.sha256: row for row in personas.personas.filter(sha256__in=hashes)}
    return [found[sha256] for sha256 in hashes if sha256 in found]


def profile_of(rows: Sequence[Persona]) -> str:
    """The system message that describes the user; docs/runs.md shows it."""
    parts = [f"Profile of the user:\n{row.description}" for row in rows if row.description]
    sentences = [f"- {sentence}" for row in rows for sentence in row.sentences]
    if sentences:
        parts.append("\n".join(["What the user says about themselves:", *sentences]))
    return "\n\n".join(parts)


# --- files: JSONL with descriptions or sentences, or one text a line

DESCRIPTION_FIELDS = ("persona", "description")  # PersonaHub's name, and ours
SENTENCE_FIELDS = ("sentences", "personality", "profile")  # ours, and two in which PersonaChat is passed on
BATCH = 1000
LINES_NAMED = 10


class PersonaFileError(Exception):
    """The file was not imported; the message names the lines."""


class PersonaLine(NamedTuple):
    description: str
    sentences: list[str]
    source_id: str = ""


def import_personas(
    name: str, path: Path, kind: str = "persona", *, source: str = "", licence: str = ""
) -> tuple[int, int]:
    """Import a file into the set `name`; return how many were new and how many are in the file.

    A line of a text file is a `persona` (a description) or a `sentence`. One bad line refuses the whole file. Source
    and licence are noted; empty ones change nothing. Raises PersonaFileError.
    """
    if not NAME.fullmatch(name):
        raise PersonaFileError(f"{name!r} is not a valid name for a set: use up to 50 letters, digits, - and _.")
    try:
        _check_file(path, kind)
        with transaction.atomic():
            counts = _store(name, _read_lines(path, kind, Faults()))
            note_origin(name, source, licence, PersonaSet)
            return counts
    except OSError as error:
        raise PersonaFileError(f"{path} can't be read: {error.strerror}.") from None


def _check_file(path: Path, kind: str) -> None:
    """Raise PersonaFileError with the first bad lines, or if there is no line at all."""
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
        record = read_json(text)
    except ValueError as error:
        raise CellFault(f"is not JSON ({say_fault(error).removeprefix('it is no JSON: ')})") from None
    if not isinstance(record, Mapping):
        raise CellFault("is not an object")
    description = next((record[name] for name in DESCRIPTION_FIELDS if name in record), "")
    sentences: Any = next((record[name] for name in SENTENCE_FIELDS if name in record), [])
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
    for batch in batches(lines, BATCH, lambda line: len(line.description) + sum(map(len, line.sentences))):
        number += len(batch)
        Persona.objects.bulk_create([make_row(personas, line) for line in batch], ignore_conflicts=True)
    return personas.personas.count() - before, number


def make_row(personas: PersonaSet, line: PersonaLine) -> Persona:
    content = json.dumps([line.description, line.sentences], ensure_ascii=False, separators=(",", ":"))
    return Persona(
        set=personas,
        sha256=hash_text(content),
        source_id=line.source_id,
        description=line.description,
        sentences=line.sentences,
    )
