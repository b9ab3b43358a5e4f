"""Writing and changing notes. Only its author changes a note; the audit trail has none, as they must be erasable."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from surveys.models import Note, Participant, Response, StudyVersion
from surveys.studies.access import Role
from surveys.studies.pages import saying, study_page

# What a note can be about: the model, and the lookup from its row to the study.
ABOUT: dict[str, tuple[type, str]] = {
    "participant": (Participant, "study"),
    "response": (Response, "participant__study"),
    "version": (StudyVersion, "study"),
}


class NoteError(Exception):
    """A note that says nothing or too much."""


def read_text(text: str) -> str:
    said = text.replace("\x00", "").replace("\r\n", "\n").strip()
    if not said:
        raise NoteError("The note is empty.")
    if len(said) > Note.LONGEST:
        raise NoteError(f"A note has at most {Note.LONGEST:,} characters; this one has {len(said):,}.")
    return said


@study_page(Role.RESEARCHER, require_POST)
def write(request: HttpRequest, kind: str, key: int) -> HttpResponse:
    if kind not in ABOUT:
        raise Http404
    model, way = ABOUT[kind]
    thing = get_object_or_404(model, **{way: request.study, "pk": key})
    with saying(request, NoteError):
        text = read_text(request.POST.get("text", ""))
        Note.objects.create(study=request.study, author=request.user, text=text, **{kind: thing})
    return back(request)


@study_page(Role.RESEARCHER, require_POST)
def change(request: HttpRequest, number: int) -> HttpResponse:
    """Change or delete a note, which only its author may do."""
    note = get_object_or_404(Note, study=request.study, author=request.user, pk=number)
    with saying(request, NoteError):
        if "delete" in request.POST:
            note.delete()
        else:
            note.text, note.changed_at = read_text(request.POST.get("text", "")), timezone.now()
            note.save(update_fields=["text", "changed_at"])
    return back(request)


def back(request: HttpRequest) -> HttpResponse:
    """Redirect to the page of this study that has the form."""
    address = request.POST.get("back", "")
    if address.startswith(f"/console/{request.study.slug}/") and url_has_allowed_host_and_scheme(address, None):
        return redirect(address)
    return redirect("console:study", request.study.slug)
