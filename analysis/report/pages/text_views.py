"""The texts behind a number: who or what wrote each, how it was read, and where it names the item."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, QueryDict

from analysis.answers.aliases import alias_map
from analysis.answers.compared import families_of, runs_of, spellings_of
from analysis.models import Completion
from analysis.models.conditions import LABELS
from analysis.report.dataset import ALL, FIELD, LETTERS, load_frames
from analysis.report.filters import FilterError, Filters, names_of
from analysis.report.pages.contents import navigation
from analysis.report.pages.shown import Asked
from analysis.report.pages.texts import load_texts, text_of
from analysis.report.pages.views import compare_page
from analysis.report.samples import FIRST, Data, Rows, Source, source_of
from analysis.stats.resampling import UNKNOWN
from surveys.models import Study
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import address_without_page, show

PER_PAGE = 20
ABOUT = ("prompt", "source", "model", "item", "letter", "benchmark", "run", "arm", "occasion")


@dataclass(frozen=True)
class WantedText:
    """The number whose texts are wanted: of `runs`, or all of the source; those that name `item`, or any; those that
    choose `letter` ("" is unknown), or any; for the field, of this `asking` (arm and occasion).
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


def behind_page(request: HttpRequest, asked: Asked, wanted: WantedText) -> Page:
    kind, ids = behind(request.study, asked.filters, wanted)
    page = Paginator(ids, PER_PAGE).get_page(request.GET.get("page"))
    page.object_list = load_texts(kind, list(page.object_list))
    return page


def benchmark_page(request: HttpRequest, wanted: WantedText) -> Page:
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
    """Returns `response` (for the field) or `completion`, and the ids in the order in which they are counted."""
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
