"""The page that waits for a replication bundle: workers compute its report, and the file comes when that is there."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.answers.kept import keep
from analysis.answers.readings import unread
from analysis.models import MetricValue
from analysis.report.parts import PARTS
from analysis.report.reports import ReportError, Reporting
from analysis.report.tasks import enqueue_report
from surveys.console.pages import show, study_page
from surveys.models import Study

HERE = "export"


@require_safe
@study_page()
def prepare(request: HttpRequest) -> HttpResponse:
    """Have what is missing computed; when nothing is, the page hands out the file by itself."""
    try:
        page = bundle_page(request.study)
    except ReportError as error:
        messages.error(request, str(error))
        return redirect("export:page", request.study.slug)
    file = reverse("compare:bundle", args=[request.study.slug]) + ("?texts=1" if "texts" in request.GET else "")
    return show(request, "report/bundle.html", HERE, file=file, texts="texts" in request.GET, **page)


@require_safe
@study_page()
def progress(request: HttpRequest) -> HttpResponse:
    """How far the report is; the page is loaded anew when it is there, or cannot be made any more."""
    try:
        page = bundle_page(request.study)
    except ReportError:
        return HttpResponse(headers={"HX-Refresh": "true"})
    response = show(request, "report/_bundle.html", HERE, texts="texts" in request.GET, **page)
    if page["is_ready"]:
        response["HX-Refresh"] = "true"
    return response


def bundle_page(study: Study) -> dict[str, Any]:
    """Which parts are computed, of the answers as they are read now. Raises ReportError where there is nothing yet."""
    reporting = Reporting(study)
    waiting = keep(study, "unread", reporting.fingerprint, lambda: unread(study))
    names = {part: f"{part}:{reporting.view}" for part in PARTS}
    kept = MetricValue.objects.filter(study=study, name__in=names.values(), fingerprint=reporting.fingerprint)
    there = {*kept.values_list("name", flat=True)}
    parts = {part: name in there for part, name in names.items()}
    missing = [part for part, is_there in parts.items() if not is_there]
    if missing and not waiting:  # else they would be computed twice
        enqueue_report(study.pk, "", missing, reporting.fingerprint)
    return {
        "parts": [(PARTS[part].words, is_there) for part, is_there in parts.items()],
        "done": len(parts) - len(missing),
        "all": len(parts),
        "share": round(1000 * (len(parts) - len(missing)) / len(parts)),
        "unread": waiting,
        "is_ready": not missing and not waiting,
    }
