"""Notes of researchers, each changed and deleted by its author. The audit trail has none: they must be erasable."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet
from django.utils import timezone

from surveys.models import Note, Participant, Response, Study, StudyVersion

LONGEST = 1000
# What a note can be about: the model, and how its row is known to belong to a study.
ABOUT: dict[str, tuple[type, str]] = {
    "participant": (Participant, "study"),
    "response": (Response, "participant__study"),
    "version": (StudyVersion, "study"),
}


class NoteError(Exception):
    """A note that says nothing or too much."""


def notes_about(study: Study, kind: str, key: int) -> QuerySet[Note]:
    """The oldest first; about a person with those about their answers."""
    about = Q(**{kind: key})
    if kind == "participant":
        about |= Q(response__participant=key)
    return Note.objects.filter(about, study=study).select_related("author", "response__prompt").order_by("pk")


def write_note(study: Study, kind: str, thing: Any, account: AbstractBaseUser, text: str) -> Note:
    return Note.objects.create(study=study, author=account, text=read_text(text), **{kind: thing})


def change_note(note: Note, text: str) -> None:
    note.text, note.changed_at = read_text(text), timezone.now()
    note.save(update_fields=["text", "changed_at"])


def read_text(text: str) -> str:
    said = text.replace("\x00", "").replace("\r\n", "\n").strip()
    if not said:
        raise NoteError("The note is empty.")
    if len(said) > LONGEST:
        raise NoteError(f"A note has at most {LONGEST:,} characters; this one has {len(said):,}.")
    return said
