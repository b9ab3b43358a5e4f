"""The people of a corpus as files: users with verdicts, attributes with evidence, and how they were made."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.exports.exports import write_whole
from analysis.models import Attribute, Corpus
from analysis.people.steps import PeopleError

CHUNK = 2_000
USER = ("key", "conversations", "messages", "left_out_by", "verdicts", "generalist", "band", "place")
ATTRIBUTE = {
    **{"id": "id", "user": "user__key", "text": "text", "confidence": "confidence", "reasoning": "reasoning"},
    **{"evidence": "evidence", "conversation": "conversation__sha256", "source_id": "conversation__source_id"},
    **{"place": "place", "generator": "generator", "sensitive": "sensitive", "left_out_by": "left_out_by"},
    **{"merged_into": "merged_into", "cluster_size": "cluster_size", "cluster_confidence": "cluster_confidence"},
}
STEP = ("name", "state", "settings", "report", "reason", "started_by", "began_at", "ended_at")


def export_people(corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Write users.jsonl, attributes.jsonl and steps.json; docs/people.md describes them.

    Raises PeopleError if the corpus has no users yet, OSError.
    """
    if not corpus.users.exists():
        raise PeopleError(f"Nobody is known of {corpus.name} yet: people {corpus.name} filter, or import_attributes.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    users = corpus.users.order_by("key").values(*USER).iterator(CHUNK)
    rows = Attribute.objects.filter(user__corpus=corpus).order_by("user__key", "id").values(*ATTRIBUTE.values())
    attributes = ({name: row[path] for name, path in ATTRIBUTE.items()} for row in rows.iterator(CHUNK))
    origin = {"corpus": corpus.name, "format": corpus.format, "source": corpus.source, "licence": corpus.licence}
    steps = {**origin, "steps": list(corpus.steps.order_by("id").values(*STEP))}
    done = {
        **{"corpus": corpus.name, "folder": str(folder)},
        "users": _write_lines(folder / "users.jsonl", users),
        "attributes": _write_lines(folder / "attributes.jsonl", attributes),
    }
    write_whole(folder / "steps.json", iter([json.dumps(steps, indent=2, default=str, ensure_ascii=False).encode()]))
    return done


def _write_lines(path: Path, rows: Iterator[dict[str, Any]]) -> int:
    number = 0

    def lines() -> Iterator[bytes]:
        nonlocal number
        for row in rows:
            yield json.dumps(row, ensure_ascii=False).encode() + b"\n"
            number += 1

    write_whole(path, lines())
    return number
