"""The contents of a comparing page: filters, first screen, sections, notices, links, and texts behind numbers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from analysis.answers.compared import runs_of
from analysis.charts.figure import Report, Row, prompt_name
from analysis.charts.rows import simulated_words
from analysis.models import Completion
from analysis.report.claims.candidates import field_of
from analysis.report.claims.enough import all_out
from analysis.report.columns import ASKED
from analysis.report.dataset import FIELD, OFFLINE
from analysis.report.filters import Filters, filter_options
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.pages.sections import Places, address_of, figure_of, section_of, setting_words
from analysis.report.pages.shown import (
    GROUPS,
    OVERVIEW,
    PAGE_OF_KIND,
    PAGES,
    VALUES,
    Asked,
    Page,
    Shown,
    chips_of,
    form_of,
    in_microseconds,
)
from analysis.report.pairs.sides import offered_sides
from analysis.report.parts import DEFINITIONS
from analysis.report.planned.part import planned_on_page
from analysis.report.planned.part import say as say_planned
from analysis.report.reports import findings
from surveys.models import Response, Study
from surveys.studies.access import studies_of
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import plural

NO_FILTERS = Filters()
MULTIVERSE = "multiverse"  # a page of its own, beside the overview of a study with hypotheses
RULE = "Each side’s answer that shares most items with all others of that side."


def frame(request: HttpRequest, wanted: Page, asked: Asked) -> dict[str, Any]:
    """All that a page shows before its numbers: links to the other pages, filters, chips and its address."""
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
    """The tabs, and the pages of the open one; links keep the filters."""
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
    linked = [finding_links(places, entry) for entry in found]
    sections = [section_of(places, section) for section in wanted.sections]
    opening = first_screen(places) if wanted is OVERVIEW else {}
    planned = planned_on_page(report) if wanted is OVERVIEW else None
    used = ["jsd_excess", "jsd_bits"] * (wanted is OVERVIEW)
    used += [name for section in sections for table in section["tables"] for name in table.definitions]
    used += [name for finding in found for name in finding["definitions"]]
    picked = places.chosen_prompt if "prompt" in wanted.switches else ""
    tested = next((family for family in report["families"] if family["page"] == wanted.name), None)
    notices = list(find_notices(request.study.slug, report, (tested or {}).get("held", 0), shown.older))
    baselines = runs_of(request.study).filter(study=request.study, benchmark="")
    return {
        **frame(request, wanted, shown.asked),
        "report": report,
        "answer": say_planned(report) if planned else wanted.say(report),
        "explored": wanted.say(report) if planned else "",
        "planned": planned,
        **opening,
        "found": linked,
        "others": linked[1:],
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
        "has_runs": baselines.exists,
        "has_failed": Completion.objects.filter(run__in=baselines, status="failed").exists,
        "can_take": any(row["benchmark"] and not row["taken"] for row in report.get("variability", ())),
        "all_excluded": all_out(report),
        "is_narrowed": any(name != "compare" for name, _ in shown.asked.filters.to_pairs()),
        "has_models": any(row["answers"] for row in report["sources"])
        or bool(report.get("benchmarks"))
        or any(row["source"] != FIELD for row in report.get("field_benchmark", ())),
        "looks": 1,
        "unread": report["answers"]["unread"],
        "since": in_microseconds(shown.computed_at),
    }


def finding_links(places: Places, finding: dict[str, Any]) -> dict[str, Any]:
    """Links to the page that shows a finding, and to the texts it rests on."""
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
    return [(prompt_name(slug), asked.with_filters(prompt=(slug,)), slug == picked) for slug in lists]


def searched_with(asked: Asked, picked: str) -> list[tuple[str, str]]:
    """The view's parameters that a search keeps: filters and the prompt shown."""
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
    """Name the pages that compare a source, and why the others do not."""
    if "first" in row:
        return f"Drift only: the settings of run {row['first']} on another day, so that no answer counts twice"
    if row["main"]:
        return "on every page"
    return "Distances only: of several settings the others show temperature 1, the longest history, the most answers"


# --- the first screen: a sentence in shares of people, one figure and three small ones, and two answers


class Headline(NamedTuple):
    """A claim about an item, with the rows of the two sources it compares."""

    claim: Row
    row: Row
    people: Row


def first_screen(places: Places) -> dict[str, Any]:
    headline = find_headline(places.shown.report)
    far, *small = [figure_of(places, name) | about_figure(places, name) for name in OVERVIEW_FIGURES]
    found: dict[str, Any] = {"far": far, "small": small, "pair": pair_on_page(places, headline)}
    if headline:
        rows = (("people", headline.people), ("calls", headline.row))
        behind = [(f"{row['n']:,} {whose}", places.texts(row)) for whose, row in rows]
        found |= {"detail": headline.claim["detail"], "behind": behind}
    return found


def about_figure(places: Places, name: str) -> dict[str, Any]:
    """A first-screen figure's question, sentence and link; empty for other figures."""
    if name not in OVERVIEW_FIGURES:
        return {}
    figure = OVERVIEW_FIGURES[name]
    return {
        "question": figure.question,
        "sentence": figure.say(places.shown.report),
        "href": places.compared(figure.page, places.shown.asked.address()),
    }


def find_headline(report: Report) -> Headline | None:
    """The overview's first claim, if it is about an item and the filters show both sources; else None."""
    claim = next((claim for claim in report.get("claims") or () if claim["page"] == "overview"), None)
    if claim is None or "headline" not in claim:
        return None
    rows, names = report["heterogeneity"], ("prompt", "source", "model")
    row = next((row for row in rows if all(row[name] == claim[name] for name in names)), None)
    people = field_of(rows, row) if row else None
    return Headline(claim, row, people) if row and people else None


def pair_on_page(places: Places, headline: Headline | None) -> dict[str, Any] | None:
    """A typical answer of the field and one of offline, with the headline's item marked."""
    rows = pair_of(places.shown.report, headline)
    kinds = ("response", "completion")
    found = [load_texts(kind, [row["typical"]]) for kind, row in zip(kinds, rows or (), strict=False)]
    if rows is None or not all(found):
        return None
    item = {str(headline.claim["item"])} if headline else set()
    sides = [
        {"text": text_of(places.shown.study, one, item), "source": row["source"], "name": places.source_cell(row).text}
        | {"model": places.model(row), "all": places.texts(row), "n": row["n"]}
        for (one,), row in zip(found, rows, strict=True)
    ]
    return {"prompt": prompt_name(rows[0]["prompt"]), "sides": sides, "rule": RULE}


def pair_of(report: Report, headline: Headline | None) -> tuple[Row, Row] | None:
    """The rows of the field and of offline whose typical answers are shown: the headline's, else the first pair."""
    rows: list[Any] = list(report.get("heterogeneity") or [])
    if headline:
        rows.sort(key=lambda row: (row["prompt"], row["model"]) != (headline.row["prompt"], headline.row["model"]))
    for row in rows:
        people = field_of(rows, row) if row["source"] == OFFLINE else None
        if people and row.get("typical") and people.get("typical") and people["source"] == FIELD:
            return people, row
    return None


# --- notices: one line above the figure, in full below it


@dataclass(frozen=True)
class Notice:
    """A notice. `look`: its class on the page; `part`: the template of one that renews itself."""

    words: str
    links: tuple[tuple[str, str], ...] = ()
    look: str = "notice"
    part: str = ""


def find_notices(slug: str, report: Report, held: int, newer: bool) -> Iterator[Notice]:
    """Yield all notices, most severe first: simulated data, numbers not counted yet or open to change, and the rest."""
    answers = report["answers"]

    def page(name: str) -> str:
        return reverse(f"answers:{name}", args=[slug])

    if simulated := simulated_words(report):
        yield Notice(simulated, look="banner")
    if newer:
        yield Notice("These numbers leave the newest answers out.", part="newer")
    if count := answers["unread"]:
        yield Notice(f"These numbers leave out {plural(count, 'unread text')}.", part="unread")
    if count := answers["outdated"]:
        words = f"{plural(count, 'reading')} {is_or_are(count)} by earlier rules."
        yield Notice(words, (("See what today’s would change", page("changes")),))
    back = f"{plural(held, 'comparison')} {is_or_are(held)} held back"
    if count := answers["waiting"]:
        verbs = ("waits", "counts") if count == 1 else ("wait", "count")
        words = f"{plural(count, 'answer')} {verbs[0]} to be checked, and {verbs[1]} as read until then."
        yield Notice(f"{words} {back}." if held else words, (("Check them", page("review")),))
    elif held:
        link = ("Look at them", f"{page('list')}?state=unknown")
        yield Notice(f"{back}: in too many answers nothing was found.", (link,))
    if words := report["languages"]["sentence"]:
        yield Notice(words)
    if words := report["reading_error"]:
        yield Notice(words, (("Check the sample", f"{page('accuracy')}#sample"),), "soft")


def is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


LONGEST_SHOWN = 4_000  # letters of a text; its own page has the rest


@dataclass(frozen=True)
class Text:
    """One text as the page shows it."""

    who: str
    href: str
    answer_href: str
    letter: str
    names: list[str]
    named: list[str]  # as the text writes the item that was asked for
    marked: SafeString
    is_cut: bool
    is_read: bool


def load_texts(kind: str, ids: list[int]) -> list[Response | Completion]:
    """Load responses or completions in the order of the ids."""
    if kind == "response":
        rows: Any = Response.objects.select_related("participant", "prompt", "answer")
    else:
        rows = Completion.objects.select_related("run__endpoint", "prompt", "answer", "user")
    by_id = rows.in_bulk(ids)
    return [by_id[pk] for pk in ids if pk in by_id]


def text_of(study: Study, row: Response | Completion, spellings: set[str]) -> Text:
    answer = getattr(row, "answer", None)
    whole = row.text if isinstance(row, Response) else row.reply
    said = list(zip(answer.items, answer.names, strict=False)) if answer else []
    named = [name for item, name in said if item in spellings]
    who, href = person_of(study, row) if isinstance(row, Response) else call_of(study, row)
    of_study = isinstance(row, Response) or row.run.study_id == study.pk
    return Text(
        who=who,
        href=href,
        answer_href=reverse("answers:answer", args=[study.slug, answer.pk]) if answer and of_study else "",
        letter=answer.letter if answer else "",
        names=[name for _, name in said],
        named=named,
        marked=mark_names(whole[:LONGEST_SHOWN], named),
        is_cut=len(whole) > LONGEST_SHOWN,
        is_read=answer is not None,
    )


def person_of(study: Study, row: Response) -> tuple[str, str]:
    address = reverse("console:participant", args=[study.slug, row.participant.pseudonym])
    return f"Participant {row.participant.pseudonym}", f"{address}#{row.prompt.slug}"


def call_of(study: Study, row: Completion) -> tuple[str, str]:
    part = f", user {row.user.index}" if row.user_id else ""
    item = f", {row.item}" if row.item_id else ""
    who = f"Run {row.run_id}{part}, repeat {row.repeat}{item}"
    return who, reverse("baselines:completion", args=[study.slug, row.run_id, row.pk])


def mark_names(text: str, names: Iterable[str]) -> SafeString:
    """Escape the text and mark every occurrence of a name."""
    wanted = sorted({name for name in names if name}, key=len, reverse=True)
    if not wanted:
        return SafeString(escape(text))
    pattern = re.compile("|".join(re.escape(name) for name in wanted), re.IGNORECASE)
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), f"<mark>{escape(match.group())}</mark>"]
        end = match.end()
    return mark_safe("".join([*parts, escape(text[end:])]))  # noqa: S308 - every piece is escaped
