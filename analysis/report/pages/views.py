"""The comparing pages: shown at once where their numbers are kept, else while a worker computes them."""

from functools import wraps

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from analysis.report.filters.kinds import FilterError
from analysis.report.pages.asked import Asked
from analysis.report.pages.contents import OVERVIEW, PAGE_OF_FIGURE, PAGES, Page
from analysis.report.pages.drawings import FILES, SCHEMES, draw, write_figure
from analysis.report.pages.page_contents import contents, drawing_of, frame, other_pages
from analysis.report.pages.places import Places
from analysis.report.pages.shown import Shown, begin, has_few_texts, standing
from surveys.console.pages import View, show, study_page
from surveys.models import Study

# --- what is asked for


def compare_page(view: View) -> View:
    """A page of a study's comparisons; an address that means nothing is answered with a sentence."""

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
    return show(
        request,
        "report/wrong.html",
        "compare",
        status,
        reason=reason,
        compare_pages=other_pages(request.study),
    )


@compare_page
def overview(request: HttpRequest) -> HttpResponse:
    return show_page(request, OVERVIEW)


@compare_page
def page(request: HttpRequest, name: str) -> HttpResponse:
    return show_page(request, PAGES[name])


def show_page(request: HttpRequest, wanted: Page) -> HttpResponse:
    asked = Asked.read(request.study, request.GET)
    if "show" in request.GET:
        # The form sends every choice; the address keeps those that say something.
        return HttpResponseRedirect(f"{request.path}?{asked.address()}")
    shown = Shown(request.study, asked, wanted.parts)
    missing = shown.look()
    if missing and (has_few_texts(request.study) or not begin(shown)):
        shown.compute()
    if not shown.is_complete:
        page = frame(request, wanted, asked) | standing(wanted, missing, 0)
        return show(request, "report/computing.html", here(wanted), **page)
    return show(request, "report/page.html", here(wanted), **contents(request, wanted, shown, missing))


def here(wanted: Page) -> str:
    return f"compare-{wanted.name}"


@compare_page
def computing(request: HttpRequest, name: str) -> HttpResponse:
    """How far the numbers of a page are; the page is loaded again when they are there."""
    asked = Asked.read(request.study, request.GET, ignore=("looks", "newer"))
    wanted = PAGES[name]
    shown = Shown(request.study, asked, wanted.parts)
    missing = shown.look()
    looks = request.GET.get("looks", "0")
    looks_so_far = int(looks) if looks.isascii() and looks.isdecimal() and len(looks) < 6 else 0
    part = "newer" if "newer" in request.GET else "computing"
    if not missing and part == "computing":
        return HttpResponse(headers={"HX-Refresh": "true"})
    more = standing(wanted, missing, looks_so_far)
    query = asked.address()
    return render(
        request,
        f"report/_{part}.html",
        {"study": request.study, "page": wanted, "query": query, "missing": missing, **more},
    )


# --- files


@compare_page
def figure_part(request: HttpRequest, name: str) -> HttpResponse:
    """A figure that was not drawn yet when its page was asked for."""
    asked = Asked.read(request.study, request.GET)
    places = Places(computed(request.study, asked, name))
    section = {"figure": name, **drawing_of(draw(places, name))}
    page = {"study": request.study, "section": section, "query": asked.address()}
    return render(request, "report/_figure.html", page)


def computed(study: Study, asked: Asked, figure: str) -> Shown:
    """What a figure is drawn from, computed if it is not kept."""
    shown = Shown(study, asked, PAGE_OF_FIGURE[figure].parts)
    if shown.look():
        shown.compute()
    return shown


@compare_page
def figure(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    asked = Asked.read(request.study, request.GET, ignore=("scheme",))
    scheme = request.GET.get("scheme", "print" if kind == "pdf" else "light")
    if scheme not in SCHEMES:
        raise FilterError(f"scheme is one of {', '.join(SCHEMES)}, not {scheme[:60]}.")
    written = write_figure(Places(computed(request.study, asked, name)), name, kind, scheme)
    response = HttpResponse(written, content_type=FILES[kind])
    response["Content-Disposition"] = f'attachment; filename="{request.study.slug}-{name}.{kind}"'
    return response
