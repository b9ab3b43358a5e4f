"""The page of a replication bundle: waits until workers have computed its report, then hands out the file."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from analysis.answers.kept import keep
from analysis.answers.readings import unread
from analysis.exports.refusals import YES
from analysis.report.bundle.bundles import StudyBundle, begin_bundle
from analysis.report.filters import Filters
from analysis.report.pages.shown import Asked, Shown, ask_for, standing
from analysis.report.pairs.sides import usual_pair
from analysis.report.parts import PARTS
from analysis.report.reports import ReportError, check_definition
from surveys.models import Study
from surveys.studies.lifecycle import annotation_of
from surveys.studies.pages import saved_as, saying, show, study_page

HERE = "export"


@study_page(only=require_safe)
def bundle(request: HttpRequest) -> HttpResponseBase:
    """The replication bundle; with the pasted texts only if requested."""
    return labels_instead(request) or send_bundle(request, begin_bundle)


def send_bundle(request: HttpRequest, begin: Callable[..., StudyBundle]) -> HttpResponseBase:
    """Send the file, or redirect to the export page with a message that says why there is none."""
    with saying(request, ReportError):
        texts = request.GET.get("texts", "").lower() in YES
        made = begin(request.study, request.user.get_username(), texts)
        return saved_as(made.filename, StreamingHttpResponse(made.chunks(), content_type="application/zip"))
    return redirect("export:page", request.study.slug)


def labels_instead(request: HttpRequest) -> HttpResponse | None:
    """Redirect annotation studies to the bundle of labels, which needs no waiting; None for other studies."""
    study = request.study
    if annotation_of(study) is None:
        return None
    texts = {"texts": "1"} if "texts" in request.GET else {}
    return redirect(f"{reverse('agreement:bundle', args=[study.slug])}?{urlencode(texts)}".rstrip("?"))


@study_page(only=require_safe)
def prepare(request: HttpRequest) -> HttpResponse:
    """Have workers compute missing parts; once there are none, the page hands out the file by itself."""
    if elsewhere := labels_instead(request):
        return elsewhere
    file = reverse("compare:bundle", args=[request.study.slug]) + ("?texts=1" if "texts" in request.GET else "")
    with saying(request, ReportError):
        page = bundle_page(request.study)
        return show(request, "report/bundle.html", HERE, file=file, texts="texts" in request.GET, **page)
    return redirect("export:page", request.study.slug)


@study_page(only=require_safe)
def progress(request: HttpRequest) -> HttpResponse:
    """Show the report's progress; reload the page once it is complete, or can no longer be made."""
    try:
        page = bundle_page(request.study)
    except ReportError:
        return HttpResponse(headers={"HX-Refresh": "true"})
    response = show(request, "report/_bundle.html", HERE, texts="texts" in request.GET, **page)
    if page["is_ready"]:
        response["HX-Refresh"] = "true"
    return response


def bundle_page(study: Study) -> dict[str, Any]:
    """The progress of today's report; has workers compute the rest. ReportError without a definition."""
    check_definition(study)
    shown = Shown(study, Asked(Filters(compare=usual_pair(study))), tuple(PARTS))
    missing, is_stuck = shown.missing(), False
    waiting = keep(study, "unread", shown.reportings["about"].fingerprint, lambda: unread(study))
    if missing and not waiting:  # texts read later would change the fingerprint
        is_stuck = not ask_for({part: shown.reportings[part] for part in missing})
    return standing(shown, missing) | {
        "unread": waiting,
        "is_ready": not missing and not waiting,
        "is_stuck": is_stuck,
    }


urlpatterns = [
    path("console/<slug:slug>/export/bundle.zip", bundle, name="bundle"),
    path("console/<slug:slug>/export/bundle/", prepare, name="prepare-bundle"),
    path("console/<slug:slug>/export/bundle/progress/", progress, name="bundle-progress"),
]
