"""The editor's pages: begin a working copy, edit it as forms or text beside previews, make it a study or version."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace, csp_update
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from surveys.console.editor import copies, writing
from surveys.console.editor.preview_pages import money_of, pages_of
from surveys.console.editor.sections import (
    LANGUAGES,
    SECTIONS,
    SectionPart,
    languages_left,
    locate,
    parts_of_section,
    sections_for,
    turned_away,
)
from surveys.console.study_views import line_of, say_outcome
from surveys.models import WorkingCopy
from surveys.participation.languages import speak
from surveys.participation.views import as_wanted
from surveys.studies.access import Role, may_make_studies, studies_of, study_and_role, study_for
from surveys.studies.differences import changes_to
from surveys.studies.files.definitions import LARGEST_FILE, StudyFileError, read_keys
from surveys.studies.files.lines import join_place
from surveys.studies.files.schema import LISTS
from surveys.studies.lifecycle import StudyError, definition_of, shipped_studies
from surveys.studies.pages import FORM, as_file, member_page, saying, show, study_page

View = Callable[..., HttpResponse]


def copy_page(only: Callable[[View], View]) -> Callable[[View], View]:
    """Decorate a page of an account's own working copy; that of a study needs a role there too."""

    def decorate(view: View) -> View:
        view = only(view)

        @wraps(view)
        @member_page
        def page(request: HttpRequest, number: int, *args: object, **names: object) -> HttpResponse:
            own = WorkingCopy.objects.filter(owner=request.user).select_related("study__current")
            copy = get_object_or_404(own, pk=number)
            if copy.study:
                request.study, request.role = study_and_role(request.user, copy.study.slug, Role.RESEARCHER)
            return view(request, copy, *args, **names)

        return page

    return decorate


def show_copy(request: HttpRequest, template: str, status: int = 200, **page: object) -> HttpResponse:
    """Render a page, inside the frame of the copy's study if it has one."""
    if hasattr(request, "study"):
        return show(request, template, "edit", status, **page)
    return render(request, template, page, status=status)


@csp_update({"frame-src": [SELF]})
@copy_page(FORM)
def edit(request: HttpRequest, copy: WorkingCopy, section: str = "about") -> HttpResponse:
    if not copies.check(copy).is_readable:
        return redirect("editor:text", copy.pk)
    if request.method != "POST":
        return section_page(request, copy, section)
    do, unsaved = request.POST.get("do", ""), changes_in(request, copy, section)
    if number_in(request) != copy.revision and (unsaved or do != "make"):  # a double click changes nothing anew
        return section_page(request, copy, section, 409, unsaved=unsaved)
    try:
        text = arranged(with_changes(copy.text, unsaved), do)
        if not copies.save(copy, copy.revision, text):
            return section_page(request, copy, section, 409, unsaved=unsaved)
    except (writing.CannotWriteError, StudyError) as fault:
        return section_page(request, copy, section, 422, unsaved=unsaved, problem=str(fault))
    if do == "make":
        return make_revision(request, copy, copy.revision)
    return redirect(f"{reverse('editor:edit', args=[copy.pk, section])}{anchor_after(do, text)}")


def number_in(request: HttpRequest) -> int:
    posted = request.POST.get("revision", "")
    return int(posted) if posted.isdecimal() and len(posted) < 10 else 0


Changes = dict[str, dict[str, writing.Value | None]]  # by table and key


def changes_in(request: HttpRequest, copy: WorkingCopy, name: str) -> Changes:
    """The form's changes to the file."""
    found: Changes = {}
    for part in parts_named(copy.text, name):
        for card in part.cards:
            for each in card.fields:
                if changes := each.change(request.POST):
                    found.setdefault(each.table, {}).update(changes)
    return found


def with_changes(text: str, changes: Changes) -> str:
    for table, each in changes.items():
        text = writing.change(text, table, each)
    return text


def parts_named(text: str, name: str) -> list[SectionPart]:
    raw = writing.read(text)
    section = next((each for each in sections_for(raw) if each.name == name), None)
    if section is None:
        raise Http404
    return parts_of_section(section, raw, writing.plain(text))


def arranged(text: str, do: str) -> str:
    """The text after a button: `add/prompts`, `remove/prompts/3`, `up/prompts/3`, `down/prompts/3`, `speak/de`."""
    what, _, rest = do.partition("/")
    name, _, number = rest.partition("/")
    count = len(writing.read(text).get(name, ())) if name in LISTS else 0
    at = int(number) if number.isdecimal() and len(number) < 5 else 0
    if what == "add" and name in LISTS:
        return writing.add_entry(text, name)
    if what == "speak" and name in languages_left(writing.read(text)):
        return writing.add_table(text, f"{LANGUAGES}.{name}")
    if what == "remove" and 0 < at <= count:
        return writing.remove_entry(text, name, at)
    if (what == "up" and 1 < at <= count) or (what == "down" and 0 < at < count):
        return writing.move_entry(text, name, at if what == "up" else at + 1)
    return text


def anchor_after(do: str, text: str) -> str:
    """The anchor to show after a button: the entry that it was about."""
    what, _, rest = do.partition("/")
    name, _, number = rest.partition("/")
    if what == "add":
        return f"#{name}[{len(writing.read(text).get(name, ()))}]"
    if what in ("up", "down") and number.isdecimal():
        return f"#{name}[{int(number) + (1 if what == 'down' else -1)}]"
    return f"#{name}" if what == "remove" else ""


def section_page(
    request: HttpRequest,
    copy: WorkingCopy,
    name: str,
    status: int = 200,
    unsaved: Changes | None = None,
    problem: str = "",
    amendment: str = "",
) -> HttpResponse:
    page = page_of(copy, name)
    if name not in page["parts_by_section"]:
        raise Http404
    page |= {"parts": page["parts_by_section"][name], "problem": problem, "revision": copy.revision}
    page |= {"conflict": status == 409, "amendment": amendment}
    page["unsaved"] = [
        (join_place(table, key), "\n".join(value) if isinstance(value, list) else value or "")
        for table, keys in (unsaved or {}).items()
        for key, value in keys.items()
    ]
    page["languages_left"] = languages_left(writing.read(copy.text)) if name == LANGUAGES else {}
    return show_copy(request, "editor/edit.html", status, **page)


def page_of(copy: WorkingCopy, here: str) -> dict[str, Any]:
    """Context of all the editor's pages: the copy's state, its changes, and its previews."""
    page = standing_of(copy, copy.text, here)
    checked: copies.Checked = page["checked"]
    definition = checked.definition
    previews = pages_of(definition) if definition else []
    return page | {
        "previews": list(enumerate(previews)),
        "seen": next((at for at, preview in enumerate(previews) if preview.section == here), 0),
        "changes": changes_to(copy.study, definition) if copy.study and definition and not checked.faults else [],
        "is_behind": copies.is_behind(copy),
    }


def standing_of(copy: WorkingCopy, text: str, here: str) -> dict[str, Any]:
    """The state of this text of the copy: sections with their faults, and costs."""
    checked = copies.check(copy, text)
    page: dict[str, Any] = {"copy": copy, "section_name": here, "checked": checked, "faults": []}
    if not checked.is_readable:
        return page | {"sections": [], "parts_by_section": {}}
    raw, plain = writing.read(text), writing.plain(text)
    sections = sections_for(raw)
    parts = {section.name: parts_of_section(section, raw, plain) for section in sections}
    faults, money = locate(checked.faults, parts), money_of(read_keys(raw)[0])
    for card in (card for name in parts for part in parts[name] if part.name == "cells" for card in part.cards):
        places = next((each.raw for each in card.fields if each.key == "places" and type(each.raw) is int), 0)
        card.people, card.cost = (places * money.branches, money.cost(places)) if money else (0, "")
    cards = [card for part in parts.get(here, ()) for card in part.cards]
    to_fix = {section.name: sum(fault.section == section.name for fault in faults) for section in sections}
    return page | {
        "turned_away": turned_away(raw),
        "title": raw.get("title") or copy.origin,
        "sections": [
            (section, sum(len(part.cards) for part in parts[section.name] if part.is_list), to_fix[section.name])
            for section in sections
        ],
        "parts_by_section": parts,
        "in_section": [*parts.get(here, ()), *cards, *(each for card in cards for each in card.fields)],
        "faults": faults,
        "money": money,
    }


@copy_page(require_POST)
def standing(request: HttpRequest, copy: WorkingCopy, section: str) -> HttpResponse:
    """Costs and faults of the typed form, without saving it."""
    if not copies.check(copy).is_readable:
        return HttpResponse(status=409)
    try:
        text = with_changes(copy.text, changes_in(request, copy, section))
    except writing.CannotWriteError:
        text = copy.text
    page = standing_of(copy, text, section)
    page["shown"] = request.POST.getlist("shown")  # where the page shows faults by now
    return render(request, "editor/_standing.html", page)


@csp_update({"frame-src": [SELF]})
@copy_page(FORM)
def edit_text(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    """Edit the whole file as one text."""
    status, text = 200, copy.text
    if request.method == "POST":
        posted = writing.plain(request.POST.get("text", ""))
        text = copy.text if posted == writing.plain(copy.text) else writing.with_ends_of(copy.text, posted)
        try:
            makes = request.POST.get("do") == "make"
            is_newest = number_in(request) == copy.revision or (makes and text == copy.text)
            if is_newest and copies.save(copy, copy.revision, text):
                return make_revision(request, copy, copy.revision) if makes else redirect("editor:text", copy.pk)
            status = 409
        except StudyError as fault:
            status = 422
            messages.error(request, str(fault))
    page = page_of(copy, "text")
    written = writing.plain(copy.text).splitlines()
    page["lines"] = [(fault, line_of(written, fault.line)) for fault in page["checked"].faults]
    page |= {"unsaved_text": text if status != 200 else "", "conflict": status == 409, "revision": copy.revision}
    return show_copy(request, "editor/text.html", status, **page)


@copy_page(require_safe)
def download(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    checked = copies.check(copy)
    slug = writing.read(copy.text).get("slug") if checked.is_readable else ""
    name = slug if isinstance(slug, str) and slug.replace("-", "").isalnum() else "study"
    return as_file(copy.text, "application/toml", f"{name}.toml")


@csrf_exempt
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF]})
@copy_page(FORM)
def seen(request: HttpRequest, copy: WorkingCopy, page: int) -> HttpResponse:
    """A page as participants see it. A form sent from it is not kept and leads to the next page."""
    definition = copies.check(copy).definition
    previews = pages_of(definition) if definition else []
    if definition is None or page >= len(previews):
        raise Http404
    if request.method == "POST":
        return as_wanted(request, redirect("editor:seen", copy.pk, min(page + 1, len(previews) - 1)))
    speak(request, definition.language)
    shown = pages_of(definition)[page]
    return render(request, shown.template, shown.content(request))


# --- beginning a working copy, and making it a study or version, or dropping it


@member_page
@FORM
def start(request: HttpRequest) -> HttpResponse:
    """Begin a working copy from a shipped study, one that the account may see, or a file."""
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
        text = copies.file_of(definition_of(study_for(request.user, slug).current_id))
        return copies.begin(request.user, text.encode(), f"a copy of {slug}")
    name = request.POST.get("template", "")
    if name not in shipped_studies():
        raise Http404
    return copies.begin(request.user, copies.text_of(name), f"the template {name}")


@study_page(Role.RESEARCHER, require_safe)
def edit_study(request: HttpRequest) -> HttpResponse:
    """Open the account's working copy of this study."""
    with saying(request, writing.CannotWriteError):
        return redirect("editor:first", copies.copy_of(request.study, request.user).pk)
    return redirect("console:new-version", request.study.slug)


@csp_update({"frame-src": [SELF]})
@copy_page(require_POST)
def make(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    """Make the study, or its next version."""
    return make_revision(request, copy, number_in(request))


def make_revision(request: HttpRequest, copy: WorkingCopy, revision: int) -> HttpResponse:
    amendment, against = request.POST.get("amendment", "").strip(), request.POST.get("against", "")
    if not copy.study and not may_make_studies(request.user):
        return render(request, "console/no_new_study.html", status=403)
    try:
        study, outcome = copies.make(copy, request.user, amendment, revision, against)
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


@copy_page(require_POST)
def drop(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    """Delete the working copy; a study made of it stays."""
    copy.delete()
    messages.success(request, "Your working copy is gone. Nothing else was changed.")
    return redirect("console:setup", copy.study.slug) if copy.study else redirect("editor:start")


urlpatterns = [
    path("console/new/start/", start, name="start"),
    path("console/new/<int:number>/", edit, name="first"),
    path("console/new/<int:number>/text/", edit_text, name="text"),
    path("console/new/<int:number>/file.toml", download, name="download"),
    path("console/new/<int:number>/make/", make, name="make"),
    path("console/new/<int:number>/drop/", drop, name="drop"),
    path("console/new/<int:number>/seen/<int:page>/", seen, name="seen"),
    path("console/new/<int:number>/<slug:section>/", edit, name="edit"),
    path("console/new/<int:number>/<slug:section>/standing/", standing, name="standing"),
    path("console/<slug:slug>/setup/edit/", edit_study, name="study"),
]
