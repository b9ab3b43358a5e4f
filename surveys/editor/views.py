"""The editor: a section as a form, the whole as text, and the pages as people see them."""

from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace, csp_update
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from surveys.console.study_views import line_of
from surveys.editor import copies, writing
from surveys.editor.money import money_of
from surveys.editor.pages import copy_page, show_copy
from surveys.editor.preview_pages import pages_of
from surveys.editor.sections import (
    LANGUAGES,
    FileSection,
    SectionPart,
    languages_left,
    locate,
    parts_of_section,
    sections_for,
    turned_away,
)
from surveys.models import WorkingCopy
from surveys.participation.languages import speak
from surveys.participation.views import as_wanted
from surveys.studies.differences import changes_to
from surveys.studies.files.definitions import read_keys
from surveys.studies.files.lines import join_place
from surveys.studies.files.schema import LISTS
from surveys.studies.lifecycle import StudyError


@csp_update({"frame-src": [SELF]})
@copy_page
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, copy: WorkingCopy, section: str = "about") -> HttpResponse:
    checked = copies.check(copy)
    if not checked.is_readable:
        return redirect("editor:text", copy.pk)
    if request.method != "POST":
        return section_page(request, copy, section)
    unsaved = changes_in(request, copy, section)
    if number_in(request) != copy.revision:
        return section_page(request, copy, section, 409, unsaved=unsaved)
    try:
        text = arranged(with_changes(copy.text, unsaved), request.POST.get("do", ""))
        if not copies.save(copy, copy.revision, text):
            return section_page(request, copy, section, 409, unsaved=unsaved)
    except (writing.CannotWriteError, StudyError) as fault:
        return section_page(request, copy, section, 422, unsaved=unsaved, problem=str(fault))
    return redirect(
        f"{reverse('editor:edit', args=[copy.pk, section])}{anchor_after(request.POST.get('do', ''), text)}"
    )


def number_in(request: HttpRequest) -> int:
    posted = request.POST.get("revision", "")
    return int(posted) if posted.isdecimal() and len(posted) < 10 else 0


Changes = dict[str, dict[str, writing.Value | None]]  # by table and key


def changes_in(request: HttpRequest, copy: WorkingCopy, name: str) -> Changes:
    """What the form says otherwise than the file."""
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
    count = len(writing.read(text).get(name, ())) if what != "speak" else 0
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
    """Where the page is shown after a button: at the entry that it was about."""
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
    """What all pages of the editor show: how the copy stands, what it changes, and its pages."""
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
    """How this text of the copy stands: sections with their faults, and money."""
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
    to_fix = {section.name: sum(fault.section == section.name for fault in faults) for section in sections}
    return page | {
        "turned_away": turned_away(raw),
        "title": raw.get("title") or copy.origin,
        "sections": [(section, entries_in(section, parts), to_fix[section.name]) for section in sections],
        "parts_by_section": parts,
        "faults": faults,
        "money": money,
    }


def entries_in(section: FileSection, parts: dict[str, list[SectionPart]]) -> int:
    return sum(len(part.cards) for part in parts[section.name] if part.is_list)


@copy_page
@require_POST
def standing(request: HttpRequest, copy: WorkingCopy, section: str) -> HttpResponse:
    """Money and faults of what is typed, without saving it."""
    if not copies.check(copy).is_readable:
        return HttpResponse(status=409)
    try:
        text = with_changes(copy.text, changes_in(request, copy, section))
    except writing.CannotWriteError:
        text = copy.text
    return render(request, "editor/_standing.html", standing_of(copy, text, section))


@copy_page
@require_http_methods(["GET", "HEAD", "POST"])
def edit_text(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    """The same as one text."""
    status, text = 200, copy.text
    if request.method == "POST":
        posted = writing.plain(request.POST.get("text", ""))
        text = copy.text if posted == writing.plain(copy.text) else writing.with_ends_of(copy.text, posted)
        try:
            if number_in(request) == copy.revision and copies.save(copy, copy.revision, text):
                return redirect("editor:text", copy.pk)
            status = 409
        except StudyError as fault:
            status = 422
            messages.error(request, str(fault))
    page = page_of(copy, "text")
    written = writing.plain(copy.text).splitlines()
    page["lines"] = [(fault, line_of(written, fault.line)) for fault in page["checked"].faults]
    page |= {"unsaved_text": text if status != 200 else "", "conflict": status == 409, "revision": copy.revision}
    return show_copy(request, "editor/text.html", status, **page)


@copy_page
@require_safe
def download(request: HttpRequest, copy: WorkingCopy) -> HttpResponse:
    checked = copies.check(copy)
    slug = writing.read(copy.text).get("slug") if checked.is_readable else ""
    name = slug if isinstance(slug, str) and slug.replace("-", "").isalnum() else "study"
    response = HttpResponse(copy.text.encode(), content_type="application/toml")
    response["Content-Disposition"] = f'attachment; filename="{name}.toml"'
    return response


@csrf_exempt
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF]})
@copy_page
@require_http_methods(["GET", "HEAD", "POST"])
def seen(request: HttpRequest, copy: WorkingCopy, page: int) -> HttpResponse:
    """A page as participants see it. What is sent from there is kept nowhere; it leads to the next page."""
    definition = copies.check(copy).definition
    previews = pages_of(definition) if definition else []
    if definition is None or page >= len(previews):
        raise Http404
    if request.method == "POST":
        return as_wanted(request, redirect("editor:seen", copy.pk, min(page + 1, len(previews) - 1)))
    speak(request, definition.language)
    shown = pages_of(definition)[page]
    return render(request, shown.template, shown.content(request))
