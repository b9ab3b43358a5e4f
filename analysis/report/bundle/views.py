"""The bundle as a download."""

from django.contrib import messages
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from analysis.exports.views import YES
from analysis.report.bundle.bundles import open_bundle
from analysis.report.reports import ReportError
from surveys.console.pages import study_page


@require_safe
@study_page()
def bundle(request: HttpRequest) -> HttpResponseBase:
    """The replication bundle; with the pasted texts only where they are asked for."""
    try:
        made = open_bundle(request.user, request.study.slug, texts=request.GET.get("texts", "").lower() in YES)
    except ReportError as error:
        messages.error(request, str(error))
        return redirect("export:page", request.study.slug)
    response = StreamingHttpResponse(made.chunks(), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{made.filename}"'
    return response
