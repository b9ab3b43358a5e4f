"""What stands on a comparing page: its answer, filters, figures, tables and definitions."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import mark_safe

from analysis.report.filters.filters import filter_options
from analysis.report.findings import findings
from analysis.report.measures import ASKED
from analysis.report.pages.asked import VALUES, Asked, chips_of, form_of
from analysis.report.pages.cells import sort_table
from analysis.report.pages.contents import OVERVIEW, PAGE_OF_KIND, PAGES, Page
from analysis.report.pages.drawings import FILE_WORDS, Drawing, find_drawing
from analysis.report.pages.places import Places, setting_words
from analysis.report.pages.shown import Shown
from analysis.report.parts import DEFINITIONS, PARTS
from surveys.models import Study


def frame(request: HttpRequest, wanted: Page, asked: Asked) -> dict[str, Any]:
    """What a page has before its numbers are there: the others, filters, chips and its address."""
    study = request.study
    offered = filter_options(study)
    return {
        "page": wanted,
        "asked": asked,
        "query": asked.address(),
        "compare_pages": other_pages(study, asked.filters.to_query()),
        "form": form_of(offered, asked.filters),
        "chips": chips_of(offered, asked),
        "hidden": [(name, value) for name, value in (("values", asked.values), ("measure", asked.measure))],
        "link": request.build_absolute_uri(f"{request.path}?{asked.address()}".rstrip("?")),
        "switches": switches_of(wanted, asked),
    }


def other_pages(study: Study, query: str = "") -> list[tuple[str, str, str]]:
    """The entries of the rail: the filters go with the reader."""
    return [(f"compare-{page.name}", page.title, address_of(study, page.name, query)) for page in PAGES.values()]


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
        options = [
            (name, measure.label, asked.address(measure=name), name == asked.measure) for name, measure in ASKED.items()
        ]
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
    picked = places.chosen_prompt if "prompt" in wanted.switches else ""
    return {
        **frame(request, wanted, shown.asked),
        "report": report,
        "answer": of_kind[0]["sentence"] if of_kind else wanted.say(report),
        "found": [finding_links(places, entry) for entry in of_kind],
        "others": [finding_links(places, entry) for entry in of_kind[1:]],
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


def section_of(places: Places, name: str) -> dict[str, Any]:
    """A part's figure and the tables below it."""
    part = PARTS[name]
    options = places.options(part.drawn_as)
    made = [table for listing in part.pages if (table := places.table(listing, options)) is not None]
    return {
        "figure": part.drawn_as,
        **drawing_of(find_drawing(places, part.drawn_as)),
        "tables": [sort_table(table, places.shown.asked.sort) for table in made],
    }


def drawing_of(drawing: Drawing | None) -> dict[str, Any]:
    """The drawing for a template; its SVG is the renderer's, cleaned by figures.svg."""
    return {
        "drawing": drawing,
        "wide": mark_safe(drawing.wide) if drawing else "",  # noqa: S308
        "narrow": mark_safe(drawing.narrow) if drawing else "",  # noqa: S308
        "files": FILE_WORDS,
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
        (places.prompt(prompt["slug"]), asked.with_filters(prompt=(prompt["slug"],)), prompt["slug"] == picked)
        for prompt in lists
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
