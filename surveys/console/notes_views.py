"""Notes on the pages of what they are about: the list that a page shows, and the forms that write and change one."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from surveys.console.pages import study_page
from surveys.models import Note
from surveys.studies.access import Role
from surveys.studies.notes import ABOUT, LONGEST, NoteError, change_note, notes_about, write_note


def notes_on(request: HttpRequest, kind: str, key: int) -> dict:
    """For `console/_notes.html`. Blinded members read none: a note may say what somebody saw."""
    rows = notes_about(request.study, kind, key) if request.role != Role.BLINDED else ()
    return {"rows": rows, "kind": kind, "key": key, "back": request.get_full_path(), "longest": LONGEST}


@study_page(Role.RESEARCHER)
@require_POST
def write(request: HttpRequest, kind: str, key: int) -> HttpResponse:
    if kind not in ABOUT:
        raise Http404
    model, way = ABOUT[kind]
    thing = get_object_or_404(model, **{way: request.study, "pk": key})
    try:
        write_note(request.study, kind, thing, request.user, request.POST.get("text", ""))
    except NoteError as error:
        messages.error(request, str(error))
    return back(request)


@study_page(Role.RESEARCHER)
@require_POST
def change(request: HttpRequest, number: int) -> HttpResponse:
    """Only its author changes or deletes a note."""
    note = get_object_or_404(Note, study=request.study, author=request.user, pk=number)
    try:
        if "delete" in request.POST:
            note.delete()
        else:
            change_note(note, request.POST.get("text", ""))
    except NoteError as error:
        messages.error(request, str(error))
    return back(request)


def back(request: HttpRequest) -> HttpResponse:
    """To the page of this study that the form stands on."""
    address = request.POST.get("back", "")
    if address.startswith(f"/console/{request.study.slug}/") and url_has_allowed_host_and_scheme(address, None):
        return redirect(address)
    return redirect("console:study", request.study.slug)
