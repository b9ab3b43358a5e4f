"""The console's export page: every table in every format, the codebook, and the token for the API."""

import json

from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe
from rest_framework.authtoken.models import Token

from analysis.exports.codebook import as_document, as_markdown
from analysis.exports.exports import Export, codebook_of, count_tables, open_export
from analysis.exports.formats import FORMATS
from analysis.exports.people_tables import Selection
from surveys.access.access import Role
from surveys.console.pages import may, member_page, show, study_page

YES = ("1", "true", "yes", "on")


def read_selection(parameters: QueryDict) -> Selection:
    """Which people an address asks for, such as `?pilot=1&simulated=0`."""
    asked = {name: parameters[name].lower() in YES for name in Selection.__annotations__ if name in parameters}
    return Selection(**asked)


def write_selection(selection: Selection) -> str:
    """The same as an address' query; what is left to its default is left out."""
    default, query = Selection(), QueryDict(mutable=True)
    for name in Selection.__annotations__:
        if getattr(selection, name) != getattr(default, name):
            query[name] = "1" if getattr(selection, name) else "0"
    return query.urlencode()


def export_response(export: Export) -> StreamingHttpResponse:
    response = StreamingHttpResponse(export.chunks(), content_type=export.format.content_type)
    response["Content-Disposition"] = f'attachment; filename="{export.filename}"'
    response["X-Rows"] = str(export.rows)
    return response


@require_safe
@study_page()
def page(request: HttpRequest) -> HttpResponse:
    selection = read_form(request.GET)
    counts = count_tables(request.study, selection)
    described = codebook_of(request.study).tables
    return show(
        request,
        "exports/export.html",
        "export",
        selection=selection,
        query=write_selection(selection),
        formats=FORMATS,
        tables=[(described[name], rows) for name, rows in counts.items()],
        counts=counts,
        may_see_pids=may(request, Role.RESEARCHER),
    )


def read_form(parameters: QueryDict) -> Selection:
    """As `read_selection`, but a box that was not ticked counts as a no once the form was sent."""
    if "show" not in parameters:
        return read_selection(parameters)
    return Selection(**{name: name in parameters for name in Selection.__annotations__})


@require_safe
@study_page()
def download(request: HttpRequest, table: str, kind: str) -> HttpResponse:
    selection = read_selection(request.GET)
    return export_response(open_export(request.user, request.study.slug, table, kind, selection))


@require_safe
@study_page()
def codebook(request: HttpRequest, kind: str) -> HttpResponse:
    described = codebook_of(request.study)
    if kind == "md":
        response = HttpResponse(as_markdown(described), content_type="text/markdown; charset=utf-8")
    elif kind == "json":
        text = json.dumps(as_document(described), ensure_ascii=False, indent=2)
        response = HttpResponse(text, content_type="application/json")
    else:
        raise Http404("The codebook comes as codebook.md and codebook.json.")
    response["Content-Disposition"] = f'attachment; filename="{described.study}-codebook.{kind}"'
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@member_page
def token(request: HttpRequest) -> HttpResponse:
    """The account's token for the API: made, replaced and taken back here, shown once."""
    made = None
    if request.method == "POST":
        Token.objects.filter(user=request.user).delete()
        if request.POST.get("what") == "make":
            made = Token.objects.create(user=request.user)
    has_token = Token.objects.filter(user=request.user).exists()
    return render(request, "exports/token.html", {"made": made, "has_token": has_token})
