"""Beginning a working copy, and what becomes of it: a study, a version, or nothing."""

from csp.constants import SELF
from csp.decorators import csp_update
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from surveys.console.pages import member_page, study_page
from surveys.console.study_views import say_outcome
from surveys.editor import copies, writing
from surveys.editor.pages import copy_page
from surveys.editor.sections import SECTIONS
from surveys.editor.views import number_in, section_page
from surveys.models import WorkingCopy
from surveys.studies.access import Role, may_make_studies, studies_of, study_for
from surveys.studies.files.definitions import LARGEST_FILE, StudyFileError
from surveys.studies.lifecycle import StudyError, definition_of, shipped_studies


@member_page
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """From a study that comes with the platform, one that the account may see, or a file."""
    if not may_make_studies(request.user):
        return render(request, "console/no_new_study.html", status=403)
    known, problem = shipped_studies(), ""
    if request.method == "POST":
        try:
            return redirect("editor:first", begun(request).pk)
        except (StudyFileError, writing.CannotWriteError) as fault:
            problem = str(fault)
    page = {
        "templates": known.items(),
        "studies": studies_of(request.user).filter(current__isnull=False),
        "copies": request.user.working_copies.filter(study=None),
        "problem": problem,
    }
    return render(request, "editor/start.html", page, status=422 if problem else 200)


def begun(request: HttpRequest) -> WorkingCopy:
    if chosen := request.FILES.get("file"):
        return copies.begin(request.user, chosen.read(LARGEST_FILE + 1), chosen.name[:200])
    if slug := request.POST.get("study"):
        study = study_for(request.user, slug)
        text = copies.file_of(definition_of(study.current_id))
        return copies.begin(request.user, text.encode(), f"a copy of {slug}")
    name = request.POST.get("template", "")
    if name not in shipped_studies():
        raise Http404
    return copies.begin(request.user, copies.text_of(name), f"the template {name}")


@study_page(Role.RESEARCHER)
@require_safe
def edit_study(request: HttpRequest) -> HttpResponse:
    """The account's working copy of this study."""
    try:
        return redirect("editor:first", copies.copy_of(request.study, request.user).pk)
    except writing.CannotWriteError as fault:
        messages.error(request, str(fault))
        return redirect("console:new-version", request.study.slug)


@csp_update({"frame-src": [SELF]})
@copy_page
@require_POST
def make(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    """The study, or its next version."""
    amendment, against = request.POST.get("amendment", "").strip(), request.POST.get("against", "")
    if not copy.study and not may_make_studies(request.user):
        return render(request, "console/no_new_study.html", status=403)
    try:
        study, outcome = copies.make(copy, request.user, amendment, number_in(request), against)
    except StudyError as fault:
        messages.error(request, str(fault))
        if not copies.check(copy).is_readable:
            return redirect("editor:text", copy.pk)
        return section_page(request, copy, SECTIONS[0].name, 422, amendment=amendment)
    if outcome == "created":
        messages.success(request, f"{study.title} has been created as a draft. You are its owner.")
    elif outcome == "present":
        messages.info(request, "The study has been created already.")
    else:
        say_outcome(request, study, outcome)
    return redirect("console:setup", study.slug)


@copy_page
@require_POST
def drop(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    """Give up the working copy; a study that was made of it stays."""
    copy.delete()
    messages.success(request, "Your working copy is gone. Nothing else was changed.")
    return redirect("console:setup", copy.study.slug) if copy.study else redirect("editor:start")
