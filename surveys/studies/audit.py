"""Write and verify the chain of decisions, signed with a key that the database does not hold."""

import hashlib
import hmac
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from surveys.models import AuditEvent, Study, locks
from surveys.models.hashes import canonical, fingerprint
from surveys.reading.nesting import LONGEST_RECORD, read_json

SYSTEM = "system"
FIRST = "0" * 64
MANIFEST = "MANIFEST.json"  # the file of an export or a bundle that records the state of the chain
END_REACHED = "end reached"  # the end of a plan, at which verdicts were shown
SIGNED = "signed from here on"  # written by `migrate` at the end of chains that are older than signing


def record(study: Study, actor: str, action: str, subject: str = "", **detail: object) -> AuditEvent:
    """Append one event; joins the caller's transaction, so a decision and its event stand or fall together."""
    with transaction.atomic():
        locks.hold("audit", study.pk)  # one writer per study at a time: two events can't follow the same one
        last = AuditEvent.objects.filter(study=study).order_by("-number").first()
        event = AuditEvent(
            study=study,
            number=last.number + 1 if last else 1,
            at=timezone.now(),
            actor=actor,
            action=action,
            subject=subject,
            detail=json.loads(json.dumps(detail, default=str)),
            previous=last.sha256 if last else FIRST,
            key=signing_key(),
        )
        event.sha256 = event_hash(event)
        event.save()
        return event


# --- signing ------------------------------------------------------------------


def known_keys() -> dict[str, bytes]:
    """The keys by name, the signing one first: derived from AUDIT_KEY, or from SECRET_KEY if that is unset.

    A name says nothing about its key. Earlier keys verify what they have signed.
    """
    earlier = (*settings.AUDIT_KEY_FALLBACKS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    secrets = [settings.AUDIT_KEY or settings.SECRET_KEY, *earlier]
    keys = [hmac.digest(secret.encode(), b"audit chain", "sha256") for secret in secrets]
    return {hashlib.sha256(key).hexdigest()[:16]: key for key in keys}


def signing_key() -> str:
    return next(iter(known_keys()))


def content_of(event: AuditEvent) -> list[Any]:
    return [
        event.study_id,
        event.number,
        event.at.isoformat(),
        event.actor,
        event.action,
        event.subject,
        event.detail,
        event.previous,
    ]


def event_hash(event: AuditEvent) -> str:
    """The `sha256` that an event must have. Raises KeyError if its key is not at hand."""
    if not event.key:
        return fingerprint(content_of(event))
    return hmac.new(known_keys()[event.key], canonical(content_of(event)), hashlib.sha256).hexdigest()


# --- verifying ----------------------------------------------------------------


def find_breaks(study: Study) -> Iterator[str]:
    """Yield one sentence for each place where the chain does not hold, or cannot be shown to hold."""
    keys, locked = known_keys(), dict[str, list[int]]()
    before, number = None, 0
    for event in AuditEvent.objects.filter(study=study).order_by("number").iterator():
        number += 1
        if event.number != number:
            yield f"event {number} is missing; the next one is number {event.number}"
            number = event.number
        if event.previous != (before.sha256 if before else FIRST):
            yield f"event {event.number} does not follow the one before it"
        if event.key and event.key not in keys:
            locked.setdefault(event.key, []).append(event.number)
        elif fault := fault_of(event, before):
            yield f"event {event.number} ({event.action}) {fault}"
        before = event
    if before and not before.key:
        yield f"event {before.number}, the newest, is not signed"
    for key, numbers in locked.items():
        yield (
            f"{len(numbers)} event(s), from {numbers[0]} to {numbers[-1]}, cannot be verified without key {key}: name "
            "it in AUDIT_KEY_FALLBACKS, or in SECRET_KEY_FALLBACKS if there was no AUDIT_KEY then"
        )


def fault_of(event: AuditEvent, before: AuditEvent | None) -> str:
    if event.sha256 != event_hash(event):
        is_rehashed = event.sha256 == fingerprint(content_of(event))
        return "was hashed again without the key" if is_rehashed else "was changed after it was written"
    if before and before.key and not event.key:
        return "is not signed, though the one before it is"
    if before and event.key and not before.key and event.action != SIGNED:
        return "is signed, though the one before it is not"
    return ""


# --- the state of the chain, as exports and bundles record it -------------------


def head_of(study: Study) -> dict[str, Any]:
    """The number of events, and hash and time of the newest; kept elsewhere, they reveal later losses."""
    last = AuditEvent.objects.filter(study=study).order_by("-number").first()
    return {
        "events": last.number if last else 0,
        "head": last.sha256 if last else FIRST,
        "at": last.at.isoformat() if last else None,
    }


def head_of_all() -> dict[str, Any]:
    """The number of events of all studies, and one hash over the newest of each."""
    newest = AuditEvent.objects.filter(study=OuterRef("pk")).order_by("-number")
    ends = {name: Subquery(newest.values(name)[:1]) for name in ("number", "sha256")}
    studies = Study.objects.annotate(**ends).exclude(number=None).order_by("pk")
    rows = [list(row) for row in studies.values_list("pk", *ends)]
    return {"events": sum(number for _, number, _ in rows), "head": fingerprint(rows)}


def misfit(study: Study, kept: Mapping[str, Any]) -> str:
    """A sentence on how the chain differs from what `head_of` once returned; empty if it goes on from there."""
    there = head_of(study)["events"]
    if there < kept["events"]:
        return f"events are gone at the end: there were {kept['events']}, and there are {there}"
    event = AuditEvent.objects.filter(study=study, number=kept["events"]).first()
    if event is None or event.sha256 == kept["head"]:  # a gap in the middle is a break of the chain itself
        return ""
    if event.at > datetime.fromisoformat(kept["at"]):
        return f"events up to {event.number} are gone, and others that were written later stand in their place"
    return f"event {event.number} has another hash than it had: it or one before it was changed, and all hashed again"


class ManifestError(Exception):
    """A file that cannot be read, or does not say how the audit trail stood."""


def read_manifest(path: Path) -> dict[str, Any]:
    """Study and `audit` in the manifest of an export or bundle (folder, zip or the file). Raises ManifestError."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                manifest = read_whole(archive.open(MANIFEST))
        else:
            manifest = read_whole((path / MANIFEST if path.is_dir() else path).open("rb"))
        stood = manifest["audit"]
        if datetime.fromisoformat(stood["at"]).tzinfo is None:
            raise ValueError("a time without its zone")
        return {
            "study": str(manifest["study"]),
            "audit": stood | {"events": int(stood["events"]), "head": stood["head"]},
        }
    except OSError as error:
        raise ManifestError(f"{error.filename}: cannot be read: {error.strerror}") from None
    # RuntimeError: a zip that is encrypted, or packed in a way that Python does not know.
    except (ValueError, OverflowError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error):
        raise ManifestError(f"{path}: no {MANIFEST} that says how the audit trail stood.") from None


def read_whole(file: IO[bytes]) -> Any:
    with file:
        content = file.read(LONGEST_RECORD + 1)
    if len(content) > LONGEST_RECORD:
        raise ValueError(f"it has more than {LONGEST_RECORD:,} bytes")
    return read_json(content.decode())
