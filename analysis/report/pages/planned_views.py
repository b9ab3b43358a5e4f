"""Views beside *As planned*: taking a look before the end, and the page of the multiverse."""

import json
from functools import partial
from typing import Any

from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_POST

from analysis.charts.figure import Options, Row
from analysis.charts.rendering import render as render_figure
from analysis.exports.formats import FIGURE_FILES
from analysis.report.multiverse import universes
from analysis.report.multiverse.curve import draw_curve, is_alone, opening_of, rows_alone, say_curve, what_of
from analysis.report.multiverse.universes import curves_of
from analysis.report.pages.contents import MULTIVERSE, navigation
from analysis.report.pages.sections import FILE_WORDS, draw_once, file_of, key_of
from analysis.report.pages.shown import OVERVIEW
from analysis.report.pages.views import compare_page, here
from analysis.report.planned.part import LookError, measure_words, take_look
from analysis.report.planned.verdicts import say_difference
from analysis.report.reports import ReportError, Reporting
from analysis.report.tasks import compute_multiverse
from surveys.models import Study
from surveys.studies import under_way
from surveys.studies.access import Role
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import as_file, saying, show, study_page


@study_page(Role.RESEARCHER, require_POST)
def take(request: HttpRequest) -> HttpResponse:
    """Take a look at the hypotheses at this many people; the audit trail records it."""
    at = request.POST.get("at", "")
    with saying(request, LookError):
        if not (at.isascii() and at.isdecimal() and len(at) < 8):
            raise LookError("A look is at a number of people.")
        take_look(Reporting(planned(request)).data, int(at), request.user.get_username())
    return redirect("compare:overview", request.study.slug)


def planned(request: HttpRequest) -> Study:
    """The study. Raises Http404 if it has no hypotheses about answers."""
    study: Study = request.study
    if study.current_id is None or not definition_of(study.current_id).of_answers:
        raise Http404
    return study


# --- the multiverse


@compare_page
def multiverse(request: HttpRequest) -> HttpResponse:
    return show_multiverse(request)


def show_multiverse(request: HttpRequest, fault: str = "", status: int = 200) -> HttpResponse:
    study = planned(request)
    row, is_today = universes.find_kept(study)
    found = row and row.value
    curves = curves_of(found) if found else []
    try:
        universes.check(study)
    except (universes.MultiverseError, ReportError) as error:
        fault = fault or str(error)
    page: dict[str, Any] = {
        "page": {"name": MULTIVERSE, "title": "Multiverse"},
        **navigation(study, OVERVIEW.name),
        "found": found,
        "answer": opening_of(found, curves) if found else "",
        "is_today": is_today,
        "is_whole": found is not None and universes.is_whole(found),
        "computed_at": row and row.computed_at,
        "curves": [shown(study, curve, number) for number, curve in enumerate(curves, 1)],
        "waits": fault,
        "files": FILE_WORDS,
        **under_way.standing(study, universes.WORK),
    }
    return show(request, "report/multiverse.html", here(OVERVIEW), status, **page)


def shown(study: Study, curve: Row, number: int) -> dict[str, Any]:
    planned = curve["planned"]
    return {name: curve[name] for name in ("text", "n")} | {
        "number": number,
        "measure": measure_words(curve),
        "sentence": say_curve(curve),
        "planned": say_difference({**curve, **planned}) if planned else "",
        "drawn": cache.get(key_of("multiverse", study.pk, curve)),
        "rows": rows_alone(curve),
        "what": what_of(curve),
        "is_alone": is_alone(curve),
    }


@compare_page
def curve_part(request: HttpRequest, number: int) -> HttpResponse:
    """A curve not drawn yet when its page was requested; drawing takes a second."""
    curve = find_curve(request, number)

    def draw() -> list[str]:
        figures = [draw_curve(curve, Options(narrow=narrow)) for narrow in (False, True)]
        return [mark_safe(render_figure(figure, "svg").decode()) for figure in figures]  # noqa: S308

    drawn = draw_once(key_of("multiverse", request.study.pk, curve), draw)
    page = {"study": request.study, "curve": shown(request.study, curve, number) | {"drawn": drawn}}
    return render(request, "report/_multiverse_curve.html", page)


def find_curve(request: HttpRequest, number: int) -> Row:
    found, _ = universes.find_multiverse(planned(request))
    curves = curves_of(found) if found else []
    if not 1 <= number <= len(curves):
        raise Http404
    return curves[number - 1]


@study_page(Role.RESEARCHER, require_POST)
def compute(request: HttpRequest) -> HttpResponse:
    """Have a worker continue the multiverse, unless one does already."""
    study = planned(request)
    try:
        universes.check(study)
    except universes.MultiverseError as fault:
        return show_multiverse(request, str(fault), 409)
    send = partial(compute_multiverse.delay, study.pk)
    if why := under_way.leave_to_worker(study, universes.WORK, send, "multiverse"):
        return show_multiverse(request, why, 503)
    return redirect("compare:multiverse", study.slug)


@compare_page
def progress(request: HttpRequest) -> HttpResponse:
    return under_way.show_progress(request, planned(request), universes.WORK, "report/_multiverse_progress.html")


@compare_page
def document(request: HttpRequest) -> HttpResponse:
    found, is_today = universes.find_multiverse(planned(request))
    if found is None:
        raise Http404
    content = json.dumps(found | {"is_of_todays_answers": is_today}, indent=1, ensure_ascii=False)
    return as_file(content, FIGURE_FILES["json"], f"{request.study.slug}-multiverse.json")


@compare_page
def figure(request: HttpRequest, number: int, kind: str) -> HttpResponse:
    """A curve as a file."""
    content = file_of(draw_curve(find_curve(request, number), Options()), kind, "print")
    return as_file(content, FIGURE_FILES[kind], f"{request.study.slug}-multiverse-{number}.{kind}")


ADDRESS = "console/<slug:slug>/compare/"
urlpatterns = [
    path(f"{ADDRESS}look/", take, name="take-look"),
    path(f"{ADDRESS}multiverse/", multiverse, name="multiverse"),
    path(f"{ADDRESS}multiverse/compute/", compute, name="multiverse-compute"),
    path(f"{ADDRESS}multiverse/progress/", progress, name="multiverse-progress"),
    path(f"{ADDRESS}multiverse.json", document, name="multiverse-document"),
    path(f"{ADDRESS}multiverse/<int:number>/", curve_part, name="multiverse-curve"),
    path(f"{ADDRESS}multiverse/<int:number>.<file:kind>", figure, name="multiverse-figure"),
]
