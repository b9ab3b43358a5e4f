"""The console's export page: every table in every format, and the codebook."""

import json

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from analysis.codebook_files import as_document, as_markdown
from analysis.export_formats import FORMATS
from analysis.exports import Export, count_tables, open_export
from analysis.tables import Selection
from surveys.access import RANK, Role, role_in, study_for
from surveys.codebook import codebook_of

YES = ("1", "true", "yes", "on")


def read_selection(parameters: QueryDict) -> Selection:
    """Which people an address asks for, such as `?pilot=1&simulated=0`."""
    asked = {
        name: parameters[name].lower() in YES for name in Selection.__annotations__ if name in parameters
    }
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


@login_required
@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    study = study_for(request.user, slug)
    selection = read_form(request.GET)
    counts = count_tables(study, selection)
    described = codebook_of(study).tables
    context = {
        "study": study,
        "selection": selection,
        "query": write_selection(selection),
        "formats": FORMATS,
        "tables": [(described[name], rows) for name, rows in counts.items()],
        "may_see_pids": RANK[role_in(request.user, study)] >= RANK[Role.RESEARCHER],
    }
    return render(request, "analysis/export.html", context)


def read_form(parameters: QueryDict) -> Selection:
    """As `read_selection`, but a box that was not ticked counts as a no once the form was sent."""
    if "show" not in parameters:
        return read_selection(parameters)
    return Selection(**{name: name in parameters for name in Selection.__annotations__})


@login_required
@require_safe
def download(request: HttpRequest, slug: str, table: str, kind: str) -> HttpResponse:
    selection = read_selection(request.GET)
    return export_response(open_export(request.user, slug, table, kind, selection))


@login_required
@require_safe
def codebook(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    described = codebook_of(study_for(request.user, slug))
    if kind == "md":
        response = HttpResponse(as_markdown(described), content_type="text/markdown; charset=utf-8")
    elif kind == "json":
        text = json.dumps(as_document(described), ensure_ascii=False, indent=2)
        response = HttpResponse(text, content_type="application/json")
    else:
        raise Http404("The codebook comes as codebook.md and codebook.json.")
    response["Content-Disposition"] = f'attachment; filename="{slug}-codebook.{kind}"'
    return response
