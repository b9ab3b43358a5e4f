"""The comparing pages: shown at once if their numbers are kept, else once a worker has computed them."""

from functools import wraps

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from analysis.charts.theme import COLUMN_PX, SCHEMES
from analysis.exports.formats import FIGURE_FILES
from analysis.report.filters import FilterError
from analysis.report.overview import DISTANCE_FIGURE, OVERVIEW_FIGURES
from analysis.report.pages.contents import about_figure, contents, frame, navigation
from analysis.report.pages.sections import Places, draw, drawing_of, write_figure
from analysis.report.pages.shown import (
    FIGURE_PAGES,
    OVERVIEW,
    PAGES,
    Asked,
    Page,
    Shown,
    begin,
    has_few_texts,
    standing,
)
from analysis.report.questions.variability import NothingToTake, as_prompts, choose
from analysis.report.reports import Reporting
from surveys.models import Study
from surveys.studies.pages import View, as_file, show, study_page

TAKEN = 4  # of the most variable questions


def compare_page(view: View) -> View:
    """Makes a view a page of a study's comparisons; FilterError becomes a page that explains it."""

    @wraps(view)
    def page(request: HttpRequest, *args: object, **names: object) -> HttpResponse:
        if request.study.current_id is None:
            return wrong(request, "This study has no definition yet. Load its study file first.", 200)
        try:
            return view(request, *args, **names)
        except FilterError as error:
            return wrong(request, str(error), 400)

    return require_safe(study_page()(page))


def wrong(request: HttpRequest, reason: str, status: int) -> HttpResponse:
    return show(request, "report/wrong.html", "compare", status, reason=reason, **navigation(request.study))


@compare_page
def overview(request: HttpRequest) -> HttpResponse:
    return show_page(request, OVERVIEW)


@compare_page
def page(request: HttpRequest, name: str) -> HttpResponse:
    return show_page(request, PAGES[name])


def show_page(request: HttpRequest, wanted: Page) -> HttpResponse:
    asked = Asked.read(request)
    if "show" in request.GET:
        # The form sends every choice; the address keeps those that are not defaults.
        return HttpResponseRedirect(f"{request.path}?{asked.address()}")
    asked = asked.of_pair(request.study) if wanted.name == "pair" else asked
    shown = Shown(request.study, asked, wanted.parts)
    missing = shown.look()
    if missing and (has_few_texts(request.study) or not begin(shown)):
        shown.compute()
        missing = []
    if not shown.is_complete:
        page = frame(request, wanted, asked) | standing(shown, missing)
        return show(request, "report/computing.html", here(wanted), **page)
    return show(request, "report/page.html", here(wanted), **contents(request, wanted, shown, missing))


@compare_page
def questions(request: HttpRequest) -> HttpResponse:
    """The most variable questions that the study does not ask, as prompts for its file."""
    try:
        items = choose(Reporting(request.study).part("variability"), TAKEN)
    except NothingToTake as nothing:
        return wrong(request, str(nothing), 404)
    return as_file(as_prompts(items), "application/toml; charset=utf-8", f"{request.study.slug}-questions.toml")


def here(wanted: Page) -> str:
    return f"compare-{wanted.name}"


@compare_page
def computing(request: HttpRequest, name: str) -> HttpResponse:
    """Shows how far the numbers of a page are; reloads the page once they, or older ones, are there."""
    asked, wanted = Asked.read(request, ignore=("looks", "newer")), PAGES[name]
    shown = Shown(request.study, asked, wanted.parts)
    missing = shown.look()
    looks = request.GET.get("looks", "0")
    looks_so_far = int(looks) if looks.isascii() and looks.isdecimal() and len(looks) < 6 else 0
    part = "newer" if "newer" in request.GET else "computing"
    if shown.is_complete and part == "computing":
        return HttpResponse(headers={"HX-Refresh": "true"})
    page = {"study": request.study, "page": wanted, "query": asked.address(), "missing": missing}
    return render(request, f"report/_{part}.html", page | standing(shown, missing, looks_so_far))


# --- files


@compare_page
def figure_part(request: HttpRequest, name: str) -> HttpResponse:
    """A figure that was not drawn yet when its page was requested."""
    asked = Asked.read(request)
    places = Places(computed(request.study, asked, name))
    section = {"figure": name, **drawing_of(draw(places, name)), **about_figure(places, name)}
    page = {"study": request.study, "section": section, "query": asked.address()}
    part = "_overview_figure" if name in OVERVIEW_FIGURES and name != DISTANCE_FIGURE.name else "_figure"
    return render(request, f"report/{part}.html", page)


def computed(study: Study, asked: Asked, figure: str) -> Shown:
    """The parts that a figure is drawn from, computed if they are not kept."""
    shown = Shown(study, asked, FIGURE_PAGES[figure].parts)
    if shown.look():
        shown.compute()
    return shown


@compare_page
def figure(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    asked = Asked.read(request, ignore=("scheme", "width"))
    scheme = request.GET.get("scheme", "print" if kind == "pdf" else "light")
    if scheme not in SCHEMES:
        raise FilterError(f"scheme is one of {', '.join(SCHEMES)}, not {scheme[:60]}.")
    width = request.GET.get("width", "")  # mm of a journal column; none if the figure is for a page
    if width and width not in map(str, COLUMN_PX):
        raise FilterError(f"width is one of {', '.join(map(str, COLUMN_PX))} (mm), not {width[:60]}.")
    written = write_figure(Places(computed(request.study, asked, name)), name, kind, scheme, int(width or 0))
    return as_file(written, FIGURE_FILES[kind], f"{request.study.slug}-{name}.{kind}")
