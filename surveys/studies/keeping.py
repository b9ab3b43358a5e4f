"""A study's title in the console, its archiving, and the deletion of studies that nobody took part in."""

import logging

from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from surveys.models import AnonymousExit, Participant, Place, Slot, Study
from surveys.studies import audit
from surveys.studies.lifecycle import StudyError, lock_study

log = logging.getLogger(__name__)
MADE_UP = (Participant.Origin.PREVIEW, Participant.Origin.SIMULATED)


def rename(study: Study, title: str, actor: str) -> None:
    """Set the title that researchers read; participants go on reading the study file's."""
    with transaction.atomic():
        study = lock_study(study)
        if title != study.title:
            audit.record(study, actor, "renamed", title, before=study.title)
            Study.objects.filter(pk=study.pk).update(title=title)


def archive(study: Study, actor: str) -> None:
    """Archive the study: nobody new can begin until it is taken back. Raises StudyError if it is open or archived."""
    with transaction.atomic():
        study = lock_study(study)
        if study.archived_at:
            raise StudyError(f"{study.slug} is in the archive already.")
        if study.is_open:
            raise StudyError(f"{study.slug} is open. Pause or end it first.")
        Study.objects.filter(pk=study.pk).update(archived_at=timezone.now())
        audit.record(study, actor, "archived")


def take_back(study: Study, actor: str) -> None:
    with transaction.atomic():
        if Study.objects.filter(pk=lock_study(study).pk, archived_at__isnull=False).update(archived_at=None):
            audit.record(study, actor, "taken out of the archive")


def why_kept(study: Study) -> str:
    """Why the study can't be deleted; empty if it can."""
    if study.is_launched:
        return f"It was launched on {study.launched_at:%d %B %Y}."
    if study.is_open:
        return "Its pilot runs."
    exits = AnonymousExit.objects.filter(version__study=study)
    if any(rows.exclude(origin__in=MADE_UP).exists() for rows in (study.participants, exits)):
        return "People took part in it."
    return ""


def instead_of_deleting(study: Study) -> str:
    """Advice on a study that has to stay."""
    if study.archived_at:
        return "It is in the archive already."
    return "Pause or end it, then archive it." if study.is_open else "Archive it instead."


def delete_study(study: Study, actor: str) -> None:
    """Delete it with its previews, simulated people, items and audit trail. Raises StudyError if it has to stay.

    Anything else made with it (runs, drafts on Prolific) keeps it. Its trail goes too, so the log says who did it.
    """
    with transaction.atomic():
        study = lock_study(study)
        if reason := why_kept(study):
            raise StudyError(f"{reason} {instead_of_deleting(study)}")
        try:
            Study.objects.filter(pk=study.pk).update(current=None)
            Place.objects.filter(cell__study=study).delete()
            Slot.objects.filter(item__study=study).delete()
            study.participants.all().delete()
            AnonymousExit.objects.filter(version__study=study).delete()
            study.annotation_items.all().delete()
            study.histories.all().delete()
            study.delete()
        except ProtectedError as error:
            kinds = sorted({str(row._meta.verbose_name) for row in error.protected_objects})
            reason = f"Something was made with it: {', '.join(kinds)}."
            raise StudyError(f"{reason} {instead_of_deleting(study)}") from None
    log.warning("%s deleted the study %s, which was never launched", actor, study.slug)
