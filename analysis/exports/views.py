"""The console's export page: tables in one format, codebook, notebook, and the token for the API."""

import json
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_GET, require_safe
from rest_framework.authtoken.models import Token

from analysis.exports.codebook import as_document, as_markdown, first_lines
from analysis.exports.everything import Everything, followed, forget_progress, open_everything, progress_of
from analysis.exports.exports import (
    ANNOTATION_TABLES,
    ANSWER_TABLES,
    MODEL_TABLES,
    PEOPLE_TABLES,
    Export,
    codebook_of,
    count_tables,
    open_export,
)
from analysis.exports.formats import FORMATS, Chunks
from analysis.exports.people_tables import Selection
from analysis.exports.refusals import YES
from surveys.studies.access import Role
from surveys.studies.pages import FORM, as_file, may, member_page, saved_as, show, study_page

SECTIONS = {
    "People and what they pasted": PEOPLE_TABLES,
    "What was read": ANSWER_TABLES,
    "Prompts and models": MODEL_TABLES,
    "Annotators and judges": ANNOTATION_TABLES,
}
MOST_TRIES = 15  # seconds for which a page waits for the first news of a download
# Tables ticked at first, if they have rows.
TICKED = (
    *("responses", "participants", "context", "readings", "mentions", "prompts", "runs"),
    *("items", "annotations", "labels"),
)
OF_THE_FILE = ("prompts", "items", "flow")  # tables that may have rows before anybody came
WHOSE = {"simulated": "Simulated people", "pilot": "The pilot", "preview": "Previews"}
KINDS = ("parquet", "csv", "jsonl", "sav")  # in the order in which they are offered
EXAMPLES = settings.BASE_DIR / "examples"
# Examples to begin with: content type by file name.
EXAMPLE_FILES = {"notebook.ipynb": "application/x-ipynb+json", "fieldstudy_client.py": "text/x-python"}


def read_selection(parameters: QueryDict) -> Selection:
    """Read the selection from a query, such as `?pilot=1&simulated=0`."""
    asked = {name: parameters[name].lower() in YES for name in Selection.__annotations__ if parameters.get(name)}
    return Selection(**asked)


def write_selection(selection: Selection) -> str:
    """Write the selection as a query string, without defaults."""
    default, given = asdict(Selection()), asdict(selection)
    return urlencode({name: int(given[name]) for name in given if given[name] != default[name]})


def export_response(export: Export) -> StreamingHttpResponse:
    response = as_stream(export, export.chunks(), export.format.content_type)
    response["X-Audit-Events"], response["X-Audit-Head"] = str(export.event.number), export.event.sha256
    return response


def as_stream(made: Export | Everything, chunks: Chunks, content_type: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(chunks, content_type=content_type, headers={"X-Rows": str(made.rows)})
    return saved_as(made.filename, response)


@study_page(only=require_safe)
def page(request: HttpRequest) -> HttpResponse:
    selection = read_form(request.GET)
    described = codebook_of(request.study).tables
    counts, unread = count_tables(request.study, described, selection)
    ticked = request.GET.getlist("table") or [name for name in TICKED if counts.get(name)]
    ticked = [name for name in ticked if name in counts]
    return show(
        request,
        "exports/export.html",
        "export",
        selection=selection,
        query=write_selection(selection),
        formats=[(kind, FORMATS[kind]) for kind in KINDS],
        kind=kind_of(request.GET),
        sections=[
            (title, [(described[name], counts[name], first_lines(name), name in ticked) for name in names])
            for title, names in SECTIONS.items()
            if counts.keys() >= {*names}
        ],
        counts=counts,
        ticked=ticked,
        rows=sum(counts[name] for name in ticked),
        is_empty=not any(rows for name, rows in counts.items() if name not in OF_THE_FILE),
        unread=unread,
        whose=[(name, label, getattr(selection, name)) for name, label in WHOSE.items()],
        may_see_pids=may(request, Role.RESEARCHER),
    )


def kind_of(parameters: QueryDict) -> str:
    """Read the format of the page's links."""
    return parameters["format"] if parameters.get("format") in FORMATS else KINDS[0]


def read_form(parameters: QueryDict) -> Selection:
    """Like `read_selection`, but once the form is sent, an unticked box means no."""
    if "show" not in parameters:
        return read_selection(parameters)
    return Selection(**{name: name in parameters for name in Selection.__annotations__})


@study_page(only=require_GET)
def download(request: HttpRequest, table: str, kind: str) -> HttpResponse:
    selection = read_selection(request.GET)
    return export_response(open_export(request.user, request.study.slug, table, kind, selection))


def everything_response(made: Everything, user: Any) -> StreamingHttpResponse:
    return as_stream(made, followed(made, user), "application/zip")


@study_page(only=require_GET)
def everything(request: HttpRequest) -> HttpResponse:
    """Download the ticked tables, or all, as one zip file."""
    forget_progress(request.study, request.user)
    kind, tables = request.GET.get("format", "csv"), request.GET.getlist("table")
    made = open_everything(request.user, request.study.slug, kind, read_form(request.GET), tables)
    return everything_response(made, request.user)


@study_page(only=require_safe)
def everything_progress(request: HttpRequest) -> HttpResponse:
    """Show the progress of that download."""
    told, tries = progress_of(request.study, request.user), request.GET.get("tries", "0")
    again = int(tries) + 1 if tries.isdecimal() and len(tries) < 3 and not told else 0
    shown = {"study": request.study, "told": told, "again": again if again <= MOST_TRIES else 0}
    return render(request, "exports/_progress.html", shown)


@study_page(only=require_safe)
def codebook(request: HttpRequest, kind: str) -> HttpResponse:
    described, name = codebook_of(request.study), f"{request.study.slug}-codebook.{kind}"
    if kind == "md":
        return as_file(as_markdown(described), "text/markdown; charset=utf-8", name)
    if kind == "json":
        return as_file(json.dumps(as_document(described), ensure_ascii=False, indent=2), "application/json", name)
    raise Http404("The codebook comes as codebook.md and codebook.json.")


@study_page(only=require_safe)
def example(request: HttpRequest, name: str) -> HttpResponse:
    """Download the notebook, or the client that it and other programs use; both belong in one folder."""
    return as_file((EXAMPLES / name).read_bytes(), EXAMPLE_FILES[name], name)


@FORM
@member_page
def token(request: HttpRequest) -> HttpResponse:
    """Make, replace or revoke the account's API token; it is shown once."""
    made = None
    if request.method == "POST":
        Token.objects.filter(user=request.user).delete()
        if request.POST.get("what") == "make":
            made = Token.objects.create(user=request.user)
    has_token = Token.objects.filter(user=request.user).exists()
    return render(request, "exports/token.html", {"made": made, "has_token": has_token})


urlpatterns = [
    path("console/account/token/", token, name="token"),
    path("console/<slug:slug>/export/", page, name="page"),
    path("console/<slug:slug>/export/codebook.<slug:kind>", codebook, name="codebook"),
    path("console/<slug:slug>/export/everything.zip", everything, name="everything"),
    path("console/<slug:slug>/export/everything/", everything_progress, name="progress"),
    *(
        path(f"console/<slug:slug>/export/{name}", example, {"name": name}, name=name.partition(".")[0])
        for name in EXAMPLE_FILES
    ),
    path("console/<slug:slug>/export/<slug:table>.<slug:kind>", download, name="download"),
]
