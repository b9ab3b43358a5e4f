"""The page of the paper that a study's stages repeat, with every figure and table, and their files."""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from analysis.agreement.papers.exhibits import PAPER, RECIPES, Exhibit, Sources, exhibits, make_exhibit, work_kind
from analysis.charts.rendering import render
from analysis.exports.formats import FIGURE_FILES
from analysis.models import Corpus
from analysis.report.pages.sections import file_of
from surveys.annotation.items import stages_of
from surveys.models import Study
from surveys.studies.access import Role, role_in, studies_of
from surveys.studies.pages import show, study_page

HERE = "paper"


def sources_for(request: HttpRequest) -> Sources:
    """Return the stages that the account is a member of and, unless it is a viewer, the corpora. Raises Http404."""
    if not work_kind(request.study):
        raise Http404
    slugs = stages_of(request.study)
    mine = {study.slug: study for study in studies_of(request.user).select_related("current").filter(slug__in=slugs)}
    studies: list[Study] = [request.study, *(mine[slug] for slug in slugs if slug in mine)]
    sees_people = role_in(request.user, request.study) not in (None, Role.VIEWER)
    corpora = Corpus.objects.shown_to(request.user, request.study).order_by("name") if sees_people else ()
    return Sources(studies, list(corpora))


def svg_of(exhibit: Exhibit) -> str:
    """Render the figure inline, so that it takes the page's colours."""
    return mark_safe(render(exhibit.figure, "svg").decode()) if exhibit.figure else ""  # noqa: S308 - the renderer's


@study_page(only=require_safe)
def paper(request: HttpRequest) -> HttpResponse:
    sources = sources_for(request)
    made = list(exhibits(sources))
    there = sum(not each.why for each in made)
    return show(
        request,
        "papers/paper.html",
        HERE,
        paper=PAPER,
        answer=f"{there} of its {len(made)} figures and tables can be made from these studies.",
        exhibits=[(each, svg_of(each)) for each in made],
        simulated=sources.simulated(),
        kinds=list(FIGURE_FILES),
    )


@study_page(only=require_safe)
def figure(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Send one figure; `csv` has its numbers, `json` its spec."""
    recipe = next((each for each in RECIPES if each.number.lower().replace(" ", "-") == name), None)
    made = make_exhibit(recipe, sources_for(request)) if recipe else None
    if made is None or made.figure is None or kind not in FIGURE_FILES:
        raise Http404
    return HttpResponse(file_of(made.figure, kind), content_type=FIGURE_FILES[kind])


ADDRESS = "console/<slug:slug>/paper/"
urlpatterns = [
    path(ADDRESS, paper, name="paper"),
    path(f"{ADDRESS}<slug:name>.<slug:kind>", figure, name="figure"),
]
