"""Write and verify the chain of decisions."""

import json
from collections.abc import Iterator

from django.db import connection, transaction
from django.utils import timezone

from surveys.models import AuditEvent, Study
from surveys.models.hashes import fingerprint

SYSTEM = "system"
FIRST = "0" * 64


def record(study: Study, actor: str, action: str, subject: str = "", **detail: object) -> AuditEvent:
    """Append one event; joins the caller's transaction, so a decision and its event stand or fall together."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            # One writer a study at a time: two events can't follow the same one.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('audit'), %s)", [study.pk])
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
        )
        event.sha256 = event_hash(event)
        event.save()
        return event


def event_hash(event: AuditEvent) -> str:
    content = [
        event.study_id,
        event.number,
        event.at.isoformat(),
        event.actor,
        event.action,
        event.subject,
        event.detail,
        event.previous,
    ]
    return fingerprint(content)


def find_breaks(study: Study) -> Iterator[str]:
    """One sentence for each place where the chain does not hold."""
    previous, number = FIRST, 0
    for event in AuditEvent.objects.filter(study=study).order_by("number").iterator():
        number += 1
        if event.number != number:
            yield f"event {number} is missing; the next one is number {event.number}"
            number = event.number
        if event.previous != previous:
            yield f"event {event.number} does not follow the one before it"
        if event.sha256 != event_hash(event):
            yield f"event {event.number} ({event.action}) was changed after it was written"
        previous = event.sha256
