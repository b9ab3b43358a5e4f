"""Pages that differ between people in a few places only: rendered once for a stand-in, then filled in.

Rendering a Django template takes ten times as long as all else in showing a prompt (benchmarks/README.md). The stand-in
has nobody's data, so nothing of one person can reach another.
"""

import re
import secrets
from collections.abc import Callable, Hashable, Mapping
from html import escape
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from surveys.models import Participant
from surveys.participation.statements import cell_of
from surveys.studies.access import is_unproven, sign_link
from surveys.studies.lifecycle import definition_in

# Random, so that no text of a study or a person contains it.
SECRET = secrets.token_hex(16)
NOBODY = "nobody"
MARK = re.compile(f"{SECRET}-([a-z_]+);")
INDENTED = re.compile(r"\n\s+")  # of the templates, a fifth of a page; values filled in keep theirs
MOST_PAGES = 512  # of some ten thousand characters each
PAGES: dict[Hashable, list[str]] = {}
Context = Callable[[HttpRequest], dict[str, Any]]


def mark(name: str) -> str:
    """A placeholder in a page for a value."""
    return f"{SECRET}-{name};"


class ReaderKey(NamedTuple):
    """Everything about a person that a prepared page may depend on."""

    version_id: int
    language: str
    cell_id: int | None
    origin: str
    pilot: bool
    step: str
    order: tuple[str, ...]  # as long as theirs, and nobody's


def reader_of(participant: Participant) -> ReaderKey:
    known = {name: getattr(participant, name) for name in ReaderKey._fields}
    return ReaderKey(**known | {"order": (NOBODY,) * len(participant.order)})


def may_prepare(request: HttpRequest) -> bool:
    """Whether a prepared page will do: a query in the address asks for more, and a link without proof gets less."""
    return request.method == "GET" and not request.META.get("QUERY_STRING") and not is_unproven()


def show_prepared(
    request: HttpRequest, template: str, context: Context, about: Hashable, values: Mapping[str, object]
) -> HttpResponse:
    """The template with the context of a stand-in, its marks replaced by `values`, escaped.

    `about` is what the context depends on besides the reader; pages with the same `about` are one.
    """
    key = template, reader_of(request.participant), about
    if key not in PAGES:
        if len(PAGES) >= MOST_PAGES:
            PAGES.clear()
        PAGES[key] = prepare(template, key[1], context)
    link = sign_link(request.definition.slug, request.participant.pseudonym)
    filled = {name: escape(str(value)) for name, value in values.items()} | {"link": link}
    page = "".join(filled[part] if at % 2 else part for at, part in enumerate(PAGES[key]))
    return HttpResponse(page.encode(), content_type="text/html; charset=utf-8")


def prepare(template: str, reader: ReaderKey, context: Context) -> list[str]:
    """The page between its marks, alternating with the marks' names."""
    stand_in = Participant(pseudonym=NOBODY, **reader._asdict())
    if reader.cell_id:
        stand_in.cell = cell_of(reader.cell_id)
    request = HttpRequest()
    request.participant, request.definition = stand_in, definition_in(reader.version_id, reader.language)
    page = INDENTED.sub("\n", render_to_string(template, context(request), request))
    return MARK.split(page.replace(sign_link(request.definition.slug, NOBODY), mark("link")))
