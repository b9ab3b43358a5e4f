"""The comparing pages: shown at once where their numbers are kept, else while a worker computes them."""

from functools import wraps
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError
from redis import RedisError

from analysis.definitions import DEFINITIONS
from analysis.figures import FIGURES
from analysis.filters import FilterError
from analysis.findings import findings
from analysis.models import Completion
from analysis.tasks import enqueue_report
from analysis.views.compare.asked import MEASURES, VALUES, Asked
from analysis.views.compare.cells import sort_table
from analysis.views.compare.contents import OVERVIEW, PAGE_OF_FIGURE, PAGE_OF_KIND, PAGES, Page, Section
from analysis.views.compare.drawings import FILES, SCHEMES, draw, write_figure
from analysis.views.compare.filter_form import chips_of, form_of
from analysis.views.compare.places import Places, setting_words
from analysis.views.compare.shown import Shown
from analysis.views.compare.tables import MEASURES as MEASURE_NAMES
from analysis.views.compare.tables import chosen_prompt
from surveys.models import Response, Study
from surveys.views.console.pages import View, show, study_page

SMALL = 1_000  # texts; a report of so many is computed while the reader waits
PATIENCE = 40  # looks at a report under way, after which a missing worker is suspected
PART_WORDS = {
    "about": "what there is",
    "heterogeneity": "heterogeneity",
    "choices": "choices",
    "benchmarks": "benchmark runs",
    "calibration": "the nearest sock puppet",
    "cells": "groups of people",
    "contexts": "ways to set up the chatbot",
    "drift": "repetitions",
    "variants": "variants of prompts",
    "items": "items",
    "distances": "distances",
    "scores": "rank correlations",
    "costs": "costs",
    "latency": "waiting times",
    "precision": "precision",
    "sensitivity": "what exclusions change",
}


# --- what is asked for


def compare_page(view: View) -> View:
    """A page of a study's comparisons; an address that means nothing is answered with a sentence."""

    @wraps(view)
    def page(request: HttpRequest, *args: object, **names: object) -> HttpResponse:
        if request.study.current_id is None:
            return show(request, "analysis/compare/wrong.html", "compare", reason="This study has no definition yet.")
        try:
            return view(request, *args, **names)
        except FilterError as error:
            return show(request, "analysis/compare/wrong.html", "compare", 400, reason=str(error))

    return require_safe(study_page()(page))


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
    if missing and has_few_texts(request.study):
        shown.compute()
    elif missing and not begin(shown):
        shown.compute()
    if not shown.is_complete:
        return show(request, "analysis/compare/computing.html", here(wanted), **frame(request, wanted, asked),
                    **standing(wanted, missing, 0))  # fmt: skip
    return show(request, "analysis/compare/page.html", here(wanted), **contents(request, wanted, shown, missing))


def here(wanted: Page) -> str:
    return f"compare-{wanted.name}"


# --- computing


def has_few_texts(study: Study) -> bool:
    responses = Response.objects.filter(participant__study=study)[: SMALL + 1].count()
    if responses > SMALL:
        return False
    runs = Q(run__study=study) | Q(run__study__isnull=True)
    return responses + Completion.objects.filter(runs, status="done")[: SMALL + 1].count() <= SMALL


def begin(shown: Shown) -> bool:
    """Ask a worker for the parts; False when none can be reached."""
    by_query: dict[str, list[str]] = {}
    for part, view in shown.reportings.items():
        by_query.setdefault(view.filters.to_query(), []).append(part)
    try:
        for query, parts in by_query.items():
            enqueue_report(shown.study.pk, query, parts, shown.reportings[parts[0]].fingerprint)
    except (OperationalError, RedisError):
        return False
    return True


def standing(wanted: Page, missing: list[str], looks: int) -> dict[str, Any]:
    parts = ("about", *wanted.parts)
    return {
        "parts": [(PART_WORDS[part], part not in missing) for part in parts],
        "done": len(parts) - len(missing),
        "all": len(parts),
        "share": round(1000 * (len(parts) - len(missing)) / len(parts)),
        "looks": looks + 1,
        "waits_long": looks > PATIENCE,
    }


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
        f"analysis/compare/_{part}.html",
        {"study": request.study, "page": wanted, "query": query, "missing": missing, **more},
    )


# --- the page


def frame(request: HttpRequest, wanted: Page, asked: Asked) -> dict[str, Any]:
    """What a page has before its numbers are there: the others, filters, chips and its address."""
    kept = asked.filters.to_query()
    study = request.study
    return {
        "page": wanted,
        "asked": asked,
        "query": asked.address(),
        "compare_pages": [
            (f"compare-{entry.name}", entry.title, address_of(study, entry.name, kept)) for entry in PAGES.values()
        ],
        "form": form_of(study, asked.filters),
        "chips": chips_of(study, asked),
        "hidden": [(name, value) for name, value in (("values", asked.values), ("measure", asked.measure))],
        "link": request.build_absolute_uri(f"{request.path}?{asked.address()}".rstrip("?")),
        "switches": switches_of(wanted, asked),
    }


def address_of(study: Study, name: str, query: str = "") -> str:
    path = reverse("compare:overview", args=[study.slug])
    path = path if name == OVERVIEW.name else reverse("compare:page", args=[study.slug, name])
    return f"{path}?{query}" if query else path


def switches_of(wanted: Page, asked: Asked) -> list[dict[str, Any]]:
    """The page's own choices, each a row of links."""
    found = []
    if "values" in wanted.switches:
        options = [(value, value, asked.address(values=value), value == asked.values) for value in VALUES]
        found.append({"label": "Values", "options": options})
    if "measure" in wanted.switches:
        words = dict(MEASURE_NAMES)
        options = [(name, words[name], asked.address(measure=name), name == asked.measure) for name in MEASURES]
        found.append({"label": "Measure", "options": options})
    return found


def contents(request: HttpRequest, wanted: Page, shown: Shown, missing: list[str]) -> dict[str, Any]:
    places = Places(shown)
    report = shown.report
    found = findings(report)
    of_kind = found if wanted is OVERVIEW else [entry for entry in found if entry["kind"] == wanted.kind]
    sections = [section_of(places, section) for section in wanted.sections]
    used = [name for section in sections for table in section["tables"] for name in table.definitions]
    used += [name for finding in of_kind for name in finding["definitions"]]
    picked = chosen_prompt(places) if "prompt" in wanted.switches else ""
    return {
        **frame(request, wanted, shown.asked),
        "report": report,
        "answer": of_kind[0]["sentence"] if of_kind else wanted.say(places),
        "found": [finding_links(places, entry) for entry in of_kind],
        "sections": sections,
        "definitions": [(name, DEFINITIONS[name]) for name in dict.fromkeys(used) if name in DEFINITIONS],
        "computed_at": shown.computed_at,
        "newer": shown.older,
        "missing": missing,
        "picker": picker_of(places, picked) if picked else [],
        "picked": picked,
        "plain_query": shown.asked.address(sort=""),
        "without_search": shown.asked.address(q="", sort=""),
        "kept_pairs": searched_with(shown.asked, picked),
        "compared": [compared_row(places, row) for row in report["sources"]],
        "has_models": any(row["answers"] for row in report["sources"]) or bool(report.get("benchmarks")),
        "looks": 1,
    }


def section_of(places: Places, section: Section) -> dict[str, Any]:
    drawing = draw(places, section.figure) if section.figure in FIGURES else None
    made = [table for make in section.tables if (table := make(places)) is not None]
    return {
        "drawing": drawing,
        "wide": mark_safe(drawing.wide) if drawing else "",  # noqa: S308 - the renderer's, cleaned by figures.svg
        "narrow": mark_safe(drawing.narrow) if drawing else "",  # noqa: S308
        "files": [(kind.upper(), kind) for kind in FILES],
        "tables": [sort_table(table, places.shown.asked.sort) for table in made],
    }


def finding_links(places: Places, finding: dict[str, Any]) -> dict[str, Any]:
    """Where a finding is shown, and the texts it rests on."""
    params = finding["params"]
    filters = {name: (params[name],) for name in ("prompt",) if name in params}
    query = places.shown.asked.with_filters(**filters)
    name = PAGE_OF_KIND.get(finding["kind"], OVERVIEW.name)
    texts = ""
    if {"prompt", "source", "model"} <= params.keys():
        texts = places.texts(params, **{key: params[key] for key in ("item",) if key in params})
    return {
        "sentence": finding["sentence"],
        "page": PAGES[name].title,
        "href": address_of(places.shown.study, name, query),
        "texts": texts,
    }


def picker_of(places: Places, picked: str) -> list[tuple[str, str, bool]]:
    lists = [prompt for prompt in places.shown.report["prompts"] if prompt["kind"] == "recommendation"]
    asked = places.shown.asked
    return [
        (prompt["title"], asked.with_filters(prompt=(prompt["slug"],)), prompt["slug"] == picked) for prompt in lists
    ]


def searched_with(asked: Asked, picked: str) -> list[tuple[str, str]]:
    """What a search keeps of the view: its filters, and the prompt that is shown."""
    kept = [pair for pair in asked.filters.to_pairs() if pair[0] != "prompt"]
    return [*kept, ("prompt", picked)] if picked else kept


def compared_row(places: Places, row: dict[str, Any]) -> dict[str, Any]:
    return row | {
        "source": places.source_cell(row).text,
        "chatbot": places.chatbot(row["chatbot"]),
        "setting": setting_words(row),
    }


# --- files


@compare_page
def figure(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    asked = Asked.read(request.study, request.GET, ignore=("scheme",))
    scheme = request.GET.get("scheme", "print" if kind == "pdf" else "light")
    if scheme not in SCHEMES:
        raise FilterError(f"scheme is one of {', '.join(SCHEMES)}, not {scheme[:60]}.")
    shown = Shown(request.study, asked, PAGE_OF_FIGURE[name].parts)
    if shown.look():
        shown.compute()
    written = write_figure(Places(shown), name, kind, scheme)
    response = HttpResponse(written, content_type=FILES[kind])
    response["Content-Disposition"] = f'attachment; filename="{request.study.slug}-{name}.{kind}"'
    return response
