"""The comparing pages: shown at once where their numbers are kept, else while a worker computes them."""

from dataclasses import replace
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.answers.compared import runs_of
from analysis.charts.theme import COLUMN_PX, SCHEMES
from analysis.exports.formats import FIGURE_FILES
from analysis.report.columns import ASKED
from analysis.report.filters import FilterError, Filters, filter_options
from analysis.report.overview import DISTANCE_FIGURE, OVERVIEW_FIGURES
from analysis.report.pages.first_screen import about_figure, first_screen
from analysis.report.pages.notices import notices_of
from analysis.report.pages.sections import Places, address_of, draw, drawing_of, section_of, setting_words, write_figure
from analysis.report.pages.shown import (
    FIGURE_PAGES,
    GROUPS,
    OVERVIEW,
    PAGE_OF_KIND,
    PAGES,
    VALUES,
    Asked,
    Page,
    Shown,
    begin,
    chips_of,
    form_of,
    has_few_texts,
    standing,
)
from analysis.report.pairs.sides import offered_sides
from analysis.report.parts import DEFINITIONS
from analysis.report.planned.cards import planned_on_page
from analysis.report.planned.part import say as say_planned
from analysis.report.questions.variability import NothingToTake, as_prompts, choose
from analysis.report.reports import Reporting, findings
from surveys.console.pages import View, as_file, show, study_page
from surveys.models import Study
from surveys.studies.access import studies_of
from surveys.studies.lifecycle import definition_of

NO_FILTERS = Filters()
MULTIVERSE = "multiverse"  # a page of its own, beside the overview of a study with hypotheses
TAKEN = 4  # of the most variable questions


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
        # The form sends every choice; the address keeps those that say something.
        return HttpResponseRedirect(f"{request.path}?{asked.address()}")
    asked = asked.of_pair(request.study) if wanted.name == "pair" else asked
    shown = Shown(request.study, asked, wanted.parts)
    missing = shown.look()
    if missing and (has_few_texts(request.study) or not begin(shown)):
        shown.compute()
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
    """How far the numbers of a page are; the page is loaded again when they are there."""
    asked, wanted = Asked.read(request, ignore=("looks", "newer")), PAGES[name]
    shown = Shown(request.study, asked, wanted.parts)
    missing = shown.look()
    looks = request.GET.get("looks", "0")
    looks_so_far = int(looks) if looks.isascii() and looks.isdecimal() and len(looks) < 6 else 0
    part = "newer" if "newer" in request.GET else "computing"
    if not missing and part == "computing":
        return HttpResponse(headers={"HX-Refresh": "true"})
    page = {"study": request.study, "page": wanted, "query": asked.address(), "missing": missing}
    return render(request, f"report/_{part}.html", page | standing(shown, missing, looks_so_far))


# --- files


@compare_page
def figure_part(request: HttpRequest, name: str) -> HttpResponse:
    """A figure that was not drawn yet when its page was asked for."""
    asked = Asked.read(request)
    places = Places(computed(request.study, asked, name))
    section = {"figure": name, **drawing_of(draw(places, name)), **about_figure(places, name)}
    page = {"study": request.study, "section": section, "query": asked.address()}
    part = "_overview_figure" if name in OVERVIEW_FIGURES and name != DISTANCE_FIGURE.name else "_figure"
    return render(request, f"report/{part}.html", page)


def computed(study: Study, asked: Asked, figure: str) -> Shown:
    """What a figure is drawn from, computed if it is not kept."""
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
    width = request.GET.get("width", "")  # mm of a journal's column; none where the figure is for a page
    if width and width not in map(str, COLUMN_PX):
        raise FilterError(f"width is one of {', '.join(map(str, COLUMN_PX))} (mm), not {width[:60]}.")
    written = write_figure(Places(computed(request.study, asked, name)), name, kind, scheme, int(width or 0))
    return as_file(written, FIGURE_FILES[kind], f"{request.study.slug}-{name}.{kind}")


# --- what stands on a page


def frame(request: HttpRequest, wanted: Page, asked: Asked) -> dict[str, Any]:
    """What a page has before its numbers are there: the others, filters, chips and its address."""
    study = request.study
    offered = filter_options(study)
    return {
        "page": wanted,
        "asked": asked,
        "query": asked.address(),
        **navigation(study, wanted.name, asked.filters),
        "path": request.path,
        "form": form_of(offered, asked.filters),
        "chips": chips_of(offered, asked),
        "hidden": [(name, value) for name, value in (("values", asked.values), ("measure", asked.measure))]
        + [("compare", side) for side in asked.filters.compare],
        "link": request.build_absolute_uri(f"{request.path}?{asked.address()}".rstrip("?")),
        "switches": switches_of(wanted, asked),
        "sides": pair_form(request, asked) if wanted.name == "pair" else None,
    }


def navigation(study: Study, name: str = "", filters: Filters = NO_FILTERS) -> dict[str, Any]:
    """The tabs, and the pages in the one that is open: the filters go with the reader."""
    query, of_pair = replace(filters, compare=()).to_query(), filters.to_query()
    addresses = {page: address_of(study, page, of_pair if page == "pair" else query) for page in PAGES}
    tabs = [
        {"title": title, "address": addresses[pages[0]], "is_here": name in pages} for title, pages in GROUPS.items()
    ]
    together = next((pages for pages in GROUPS.values() if name in pages), ())
    pages = [(page, PAGES[page].title, addresses[page]) for page in together]
    if OVERVIEW.name in together and definition_of(study.current_id).of_answers:
        pages.insert(1, (MULTIVERSE, "Multiverse", reverse("compare:multiverse", args=[study.slug])))
    return {"compare_tabs": tabs, "compare_pages": pages}


def pair_form(request: HttpRequest, asked: Asked) -> dict[str, Any]:
    """The menus of both sides, and the address with the sides swapped."""
    offered = offered_sides(request.study, studies_of(request.user))
    known = {text for _, sides in offered for text in sides}
    own = {text: text for text in asked.filters.compare if text not in known}
    chosen = asked.filters.compare or ("", "")
    groups = [*offered, *([("As written in the address", own)] if own else [])]
    return {
        "chosen": list(zip(("Compare", "with"), chosen, strict=True)),
        "groups": groups,
        "swapped": asked.with_filters(compare=chosen[::-1]),
        "kept": [(name, value) for name, value in asked.filters.to_pairs() if name != "compare"],
    }


def switches_of(wanted: Page, asked: Asked) -> list[dict[str, Any]]:
    """The page's own choices, each a row of links."""
    found = []
    if "values" in wanted.switches:
        options = [(value, value, asked.address(values=value), value == asked.values) for value in VALUES]
        found.append({"label": "Values", "options": options})
    if "measure" in wanted.switches:
        options = [
            (name, measure.label, asked.address(measure=name), name == asked.measure) for name, measure in ASKED.items()
        ]
        found.append({"label": "Measure", "options": options})
    return found


def contents(request: HttpRequest, wanted: Page, shown: Shown, missing: list[str]) -> dict[str, Any]:
    places = Places(shown)
    report = shown.report
    found = findings(report, wanted.name)
    sections = [section_of(places, section) for section in wanted.sections]
    opening = first_screen(places) if wanted is OVERVIEW else {}
    planned = planned_on_page(report) if wanted is OVERVIEW else None
    used = list(opening.pop("used", ()))
    used += [name for section in sections for table in section["tables"] for name in table.definitions]
    used += [name for finding in found for name in finding["definitions"]]
    picked = places.chosen_prompt if "prompt" in wanted.switches else ""
    tested = next((family for family in report["families"] if family["page"] == wanted.name), None)
    notices = notices_of(request.study.slug, report, tested, shown.asked.address(), shown.older)
    return {
        **frame(request, wanted, shown.asked),
        "report": report,
        "answer": say_planned(report) if planned else wanted.say(report),
        "explored": wanted.say(report) if planned else "",
        "planned": planned,
        **opening,
        "found": [finding_links(places, entry) for entry in found],
        "others": [finding_links(places, entry) for entry in found[1:]],
        "tested": tested,
        "notices": notices,
        "more_notices": len(notices) - 1,
        "sections": sections,
        "definitions": [(name, DEFINITIONS[name]) for name in dict.fromkeys(used) if name in DEFINITIONS],
        "computed_at": shown.computed_at,
        "missing": missing,
        "picker": picker_of(places, picked) if picked else [],
        "picked": picked,
        "plain_query": shown.asked.address(sort=""),
        "without_search": shown.asked.address(q="", sort=""),
        "kept_pairs": searched_with(shown.asked, picked),
        "compared": [compared_row(places, row) for row in (*report["sources"], *report.get("repeated", ()))],
        "has_runs": runs_of(request.study).filter(study=request.study).exists,
        "can_take": any(row["benchmark"] and not row["taken"] for row in report.get("variability", ())),
        "has_models": any(row["answers"] for row in report["sources"]) or bool(report.get("benchmarks")),
        "looks": 1,
    }


def finding_links(places: Places, finding: dict[str, Any]) -> dict[str, Any]:
    """Where a finding is shown, and the texts it rests on."""
    params = finding["params"]
    query = places.shown.asked.with_filters(**({"prompt": (params["prompt"],)} if "prompt" in params else {}))
    name = PAGE_OF_KIND.get(finding["kind"], OVERVIEW.name)
    texts = ""
    if {"prompt", "source", "model"} <= params.keys():
        texts = places.texts(params, **{key: params[key] for key in ("item",) if key in params})
    return {
        "sentence": finding["sentence"],
        "page": PAGES[name].title,
        "href": places.compared(name, query),
        "texts": texts,
    }


def picker_of(places: Places, picked: str) -> list[tuple[str, str, bool]]:
    asked = places.shown.asked
    lists = [prompt["slug"] for prompt in places.shown.report["prompts"] if prompt["kind"] == "recommendation"]
    return [(places.prompt(slug), asked.with_filters(prompt=(slug,)), slug == picked) for slug in lists]


def searched_with(asked: Asked, picked: str) -> list[tuple[str, str]]:
    """What a search keeps of the view: its filters, and the prompt that is shown."""
    kept = [pair for pair in asked.filters.to_pairs() if pair[0] != "prompt"]
    return [*kept, ("prompt", picked)] if picked else kept


def compared_row(places: Places, row: dict[str, Any]) -> dict[str, Any]:
    return row | {
        "source": places.source_cell(row).text,
        "chatbot": places.chatbot(row["chatbot"]),
        "setting": setting_words(row),
        "where": where_compared(row),
    }


def where_compared(row: dict[str, Any]) -> str:
    """On which pages a source is compared, and why not on the others."""
    if "first" in row:
        return f"Drift only: the settings of run {row['first']} on another day, so that no answer counts twice"
    if row["main"]:
        return "on every page"
    return "Distances only: of several settings the others show temperature 1, the longest history, the most answers"
