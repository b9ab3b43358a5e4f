"""The comparing pages, shown at once if their numbers are kept, else once a worker has computed them; their figures;
and the texts behind each number.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import wraps

import numpy as np
from django.core.paginator import Page as PageOfTexts
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from analysis.answers.aliases import alias_map
from analysis.answers.compared import families_of, runs_of, spellings_of
from analysis.answers.readings import unread
from analysis.charts.theme import COLUMN_PX, SCHEMES
from analysis.exports.formats import FIGURE_FILES
from analysis.models import Completion
from analysis.models.conditions import LABELS
from analysis.report.dataset import ALL, FIELD, LETTERS, load_frames
from analysis.report.filters import FilterError, Filters, names_of
from analysis.report.overview import DISTANCE_FIGURE, OVERVIEW_FIGURES
from analysis.report.pages.contents import about_figure, contents, frame, load_texts, navigation, text_of
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
    one_of,
    standing,
)
from analysis.report.questions.variability import NothingToTake, as_prompts, choose
from analysis.report.reports import Reporting
from analysis.report.samples import FIRST, Data, Rows, Source, source_of
from analysis.stats.resampling import UNKNOWN
from surveys.models import Study
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import View, address_without_page, as_file, show, study_page

TAKEN = 4  # of the most variable questions


def compare_page(view: View) -> View:
    """Make a view a page of a study's comparisons; FilterError becomes a page that explains it."""

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
    """Show the progress of a page's numbers; reload the page once they, or older ones, are kept."""
    asked, wanted = Asked.read(request, ignore=("looks", "newer", "since", "unread")), PAGES[name]
    shown = Shown(request.study, asked, wanted.parts)
    missing = shown.look()
    looks, since = number_in(request, "looks", 5), number_in(request, "since", 16)
    part = next((name for name in ("newer", "unread") if name in request.GET), "computing")
    if shown.is_complete and part == "computing":
        return HttpResponse(headers={"HX-Refresh": "true"})
    page = {"study": request.study, "page": wanted, "query": asked.address(), "missing": missing}
    page |= {"since": since, "newer_there": bool(missing) and shown.is_newer_than(since)}
    if part == "unread":
        page["unread"] = unread(request.study)
    return render(request, f"report/_{part}.html", page | standing(shown, missing, looks))


def number_in(request: HttpRequest, name: str, digits: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else 0


# --- files


@compare_page
def figure_part(request: HttpRequest, name: str) -> HttpResponse:
    """A figure not drawn yet when its page was requested."""
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
    one_of("scheme", scheme, SCHEMES)
    width = request.GET.get("width", "")  # mm of a journal column; none if the figure is for a page
    if width and width not in map(str, COLUMN_PX):
        raise FilterError(f"width is one of {', '.join(map(str, COLUMN_PX))} (mm), not {width[:60]}.")
    written = write_figure(Places(computed(request.study, asked, name)), name, kind, scheme, int(width or 0))
    return as_file(written, FIGURE_FILES[kind], f"{request.study.slug}-{name}.{kind}")


# --- the texts behind a number: its author, its reading, and where it names the item

PER_PAGE = 20
ABOUT = ("prompt", "source", "model", "item", "letter", "benchmark", "run", "arm", "occasion")


@dataclass(frozen=True)
class WantedText:
    """The texts wanted: of `runs`, or all; that name `item`, or any; that choose `letter` ("": unknown), or any; for
    the field, of this `asking` (arm and occasion).
    """

    prompt: str
    source: str
    model: str
    item: str = ""
    letter: str | None = None
    benchmark: str = ""
    runs: tuple[int, ...] = ()
    asking: tuple[str, int] = FIRST

    @classmethod
    def read(cls, query: QueryDict) -> "WantedText":
        given = {name: query.get(name, "").replace("\x00", "")[:200] for name in ABOUT if name != "run"}
        arm, occasion = given.pop("arm"), given.pop("occasion")
        runs = tuple(int(run) for run in query.getlist("run") if run.isascii() and run.isdecimal() and len(run) < 10)
        for name in ("source", "model") if given["benchmark"] else ("prompt", "source", "model"):
            if not given[name]:
                raise FilterError(f"{name} is missing: the texts of a number have prompt, source and model.")
        given_letter = given.pop("letter")
        letter = given_letter if "letter" in query else None
        asking = arm, int(occasion) if occasion.isascii() and occasion.isdecimal() and len(occasion) < 4 else 1
        return cls(**given, letter=letter, runs=runs, asking=asking)


@compare_page
def texts(request: HttpRequest) -> HttpResponse:
    asked = Asked.read(request, ignore=ABOUT)
    wanted = WantedText.read(request.GET)
    rows = benchmark_page(request, wanted) if wanted.benchmark else behind_page(request, asked, wanted)
    names = names_of(request.study)
    spellings = spellings_behind(request.study, wanted) if wanted.item else set()
    read = [text_of(request.study, row, spellings) for row in rows.object_list]
    return show(
        request,
        "report/texts.html",
        "compare",
        rows=rows,
        texts=read,
        wanted=wanted,
        **navigation(request.study),
        about=describe(names, wanted, Counter(name for text in read for name in text.named)),
        filters=asked.filters.describe() if asked.filters.to_pairs() else "",
        query=address_without_page(request),
    )


def behind_page(request: HttpRequest, asked: Asked, wanted: WantedText) -> PageOfTexts:
    kind, ids = behind(request.study, asked.filters, wanted)
    page = Paginator(ids, PER_PAGE).get_page(request.GET.get("page"))
    page.object_list = load_texts(kind, list(page.object_list))
    return page


def benchmark_page(request: HttpRequest, wanted: WantedText) -> PageOfTexts:
    """Completions of benchmark runs: of the runs named, else of all of this source and model."""
    runs = runs_of(request.study).filter(benchmark=wanted.benchmark).select_related("endpoint")
    mine = [run.pk for run in runs if (run.source, run.model) == (wanted.source, wanted.model)]
    mine = [run for run in mine if not wanted.runs or run in wanted.runs]
    done = Completion.objects.filter(run__in=mine, status=Completion.Status.DONE).order_by("item_id", "pk")
    rows = done.select_related("run__endpoint", "item", "answer", "user")
    return Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))


def spellings_behind(study: Study, wanted: WantedText) -> set[str]:
    """Every normalised spelling that counts as the item."""
    families = families_of(definition_of(study.current_id))
    family = families.get(wanted.prompt, wanted.prompt)
    table = spellings_of(alias_map(study), families).get(family, {})
    return {wanted.item, *(spelling for spelling, item in table.items() if item == wanted.item)}


def describe(names: dict[tuple[str, str], str], wanted: WantedText, named: Counter[str]) -> dict[str, str]:
    """The words of the heading, with the item as these texts most often write it."""
    whose = wanted.model
    if wanted.source == FIELD:
        whose = "everybody" if wanted.model == ALL else names.get(("chatbot", wanted.model), wanted.model)
        arm, occasion = wanted.asking
        whose += f", {arm or f'occasion {occasion}'}" if wanted.asking != FIRST else ""
    return {
        "source": LABELS.get(wanted.source, wanted.source),
        "whose": whose,
        "prompt": wanted.benchmark or names.get(("prompt", wanted.prompt), wanted.prompt),
        "item": named.most_common(1)[0][0] if named else wanted.item,
    }


# --- which answers a number counts


def behind(study: Study, filters: Filters, wanted: WantedText) -> tuple[str, list[int]]:
    """Return `response` (for the field) or `completion`, and the ids of those that the number counts."""
    kind = "response" if wanted.source == FIELD else "completion"
    frames = load_frames(study, [wanted.prompt] if wanted.asking == FIRST else ())
    data = Data(study, definition_of(study.current_id), frames, filters).asked(*wanted.asking)
    found = find_source(data, wanted.source, wanted.model, wanted.runs)
    if found is None or wanted.prompt not in frames.prompts:
        return kind, []
    rows = data.rows_of(found, wanted.prompt)
    if wanted.item:
        rows = naming(data, found, wanted.prompt, rows, wanted.item)
    columns = data.frame(found.is_field).columns
    if wanted.letter is not None:
        option = LETTERS.index(wanted.letter) if wanted.letter and wanted.letter in LETTERS else UNKNOWN
        rows = rows[columns["option"][rows] == option]
    return kind, columns["id"][rows].tolist()


def find_source(data: Data, source: str, model: str, runs: Collection[int]) -> Source | None:
    if source == FIELD:
        return Source(FIELD, model, None if model == ALL else model)
    if runs:
        key, there = (source, model), data.frames.runs.values()
        named = [run for run in there if run.pk in runs and (run.source, run.model) == key]
        one = source_of(named[0], data.definition) if named else None
        return one and replace(one, runs=tuple(run.pk for run in named))
    return next((found for found in data.main_sources if (found.name, found.model) == (source, model)), None)


def naming(data: Data, source: Source, prompt: str, rows: Rows, item: str) -> Rows:
    vocabulary = data.frames.vocabulary(prompt)
    if item not in vocabulary:
        return rows[:0]
    frame = data.frame(source.is_field)
    named = np.zeros(len(frame.table), dtype=bool)
    named[frame.rows[frame.codes == vocabulary.index(item)]] = True
    return rows[named[rows]]


ADDRESS = "console/<slug:slug>/compare/"
urlpatterns = [
    path(ADDRESS, overview, name="overview"),
    path(f"{ADDRESS}questions.toml", questions, name="questions"),
    path(f"{ADDRESS}texts/", texts, name="texts"),
    path(f"{ADDRESS}<compare-page:name>/", page, name="page"),
    path(f"{ADDRESS}computing/<any-compare-page:name>/", computing, name="computing"),
    path(f"{ADDRESS}figures/<figure:name>/", figure_part, name="figure-part"),
    path(f"{ADDRESS}figures/<figure:name>.<file:kind>", figure, name="figure"),
]
