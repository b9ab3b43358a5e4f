"""Pages of agreement: the matrix of raters with its tables, the items on which two disagree, and one item."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from analysis.agreement import tables
from analysis.agreement.agreements import agreement_of, rows_for
from analysis.agreement.annotations import (
    REVISED,
    WITHOUT,
    LabelChoice,
    QuestionLabels,
    compare_raters,
    cross_table,
    find_first_compared,
    find_items,
    gather,
    list_offered,
    read_choice,
    write_choice,
)
from analysis.agreement.bundles import begin_label_bundle
from analysis.agreement.figures import AGREEMENT_FIGURES, FIGURES, draw_figure
from analysis.agreement.follow_ups.tables import (
    make_categories,
    make_mention_models,
    make_mention_writers,
    make_reasonings,
    make_revisions,
)
from analysis.agreement.kind_tables import (
    compare_published,
    make_maybe,
    make_orders,
    make_ratings,
    make_sides,
    make_trained,
    make_verification,
)
from analysis.charts.figure import Options
from analysis.charts.rendering import render
from analysis.exports.formats import FIGURE_FILES, csv_cell
from analysis.report.pages.bundle_views import send_bundle
from analysis.report.pages.sections import draw_once, file_of, key_of
from analysis.report.planned.part import planned_on_page
from analysis.report.planned.verdicts import say_verdicts
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.labels import counted, rater_name
from surveys.studies.lifecycle import annotation_of
from surveys.studies.pages import address_without_page, as_file, saved_as, show, study_page

HERE, DIFFERING = "agreement", "differing"
PAGE_SIZE = 50


def work_of(study: Study) -> AnnotationWork:
    """Return the study's annotation work. Raises Http404 in studies without it, which have no pages of agreement."""
    work = annotation_of(study)
    if work is None:
        raise Http404
    return work


@study_page(only=require_safe)
def overview(request: HttpRequest) -> HttpResponse:
    work, choice = work_of(request.study), read_choice(request.GET)
    measure, least = read_measure(request), read_least(request)
    found = rows_for(request.study, choice)
    question = pick_question(found, request.GET.get("question", ""))
    page: dict[str, Any] = {"question": question, "answer": tables.summarise_agreement(question)}
    if question["labels"]:
        page |= contents_of(question, found["times"], measure, least)
        page["items"] = tables.say_items(question)
        page["intervals"] = tables.say_intervals(question, found["seed"])
        if page["many"]:
            page["heat"] = heat_map(question | {"least": least}, measure, found["simulated"])
        page["published"] = compare_published(work, question, choice.pilot) if question is found["questions"][0] else []
    return show(
        request,
        "agreement/overview.html",
        HERE,
        choice=choice,
        chosen=choice != LabelChoice(pilot=choice.pilot),
        offered=list_offered(request.study, choice.pilot),
        revised=REVISED,
        without=[(name, words) for name, (words, _) in WITHOUT.items()],
        questions=found["questions"],
        simulated=found["simulated"],
        plain=write_choice(choice),
        query=write_choice(choice, question=question["question"]),
        threshold=found["threshold"],
        planned=plan_on_page(found),
        measures=tables.MEASURES,
        figures=FIGURES if question.get("ratings") else AGREEMENT_FIGURES,
        measure=measure,
        least=least,
        leasts=tables.LEASTS,
        **page,
    )


def plan_on_page(found: dict[str, Any]) -> dict[str, Any] | None:
    """Return the verdicts at the top of the page; None for a study without hypotheses."""
    planned = planned_on_page(found)
    return planned and planned | {"said": say_verdicts(found["as_planned"]["hypotheses"])}


def pick_question(found: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the question of this name, else the first."""
    named = [question for question in found["questions"] if question["question"] == name]
    return (named or found["questions"])[0]


def read_measure(request: HttpRequest) -> str:
    asked = request.GET.get("measure", "")
    return asked if asked in tables.MEASURES else "kappa"


def read_least(request: HttpRequest) -> int:
    """Read how many items two raters must share for a cell of the matrix."""
    asked = request.GET.get("least", "")
    return next((least for least in tables.LEASTS if asked == str(least)), tables.LEAST)


def heat_map(question: dict[str, Any], measure: str, simulated: list[str]) -> dict[str, Any]:
    """Render the matrix of many raters for wide and narrow pages; drawings are cached by content."""

    def draw() -> dict[str, str]:
        both = {"wide": Options(measure=measure), "narrow": Options(narrow=True, measure=measure)}
        drawn = {side: draw_figure("matrix", question, options, simulated) for side, options in both.items()}
        pictures = {side: render(figure, "svg").decode() for side, figure in drawn.items()}
        return pictures | {"caption": drawn["wide"].caption}

    about = question["question"], question["pairs"], question["least"], measure, simulated
    found = draw_once(key_of("agreement-heat", *about), draw)
    return found | {side: mark_safe(found[side]) for side in ("wide", "narrow")}  # noqa: S308 - the renderer's


def contents_of(question: dict[str, Any], times: list[dict[str, Any]], measure: str, least: int) -> dict[str, Any]:
    return {
        "matrix": tables.make_matrix(question, measure, least),
        "many": len(question["raters"]) > tables.FEW_RATERS,
        "pairs": tables.make_pairs(question),
        "more_pairs": sum(pair["n"] > 0 for pair in question["pairs"]) > tables.MOST_PAIRS,
        "columns": tables.label_columns(question),
        "coefficients": tables.make_coefficients(question),
        "shares": tables.make_shares(question),
        "groups": tables.make_groups(question),
        "whose": tables.whose_labels(question),
        "ratings": make_ratings(question),
        "revisions": make_revisions(question),
        "categories": make_categories(question),
        "reasonings": make_reasonings(question),
        "mention_models": make_mention_models(question),
        "mention_writers": make_mention_writers(question),
        "labels": question["values"],
        "raters": tables.make_raters(question, times),
        "scores": [*tables.SCORES, tables.F1_OF_ALL],
        "together": question["together"] | {"scores": [score.cell(question["together"]) for score in tables.SCORES]},
        "maybe": make_maybe(question),
        "verification": make_verification(question),
        "trained": make_trained(question),
        "versions": [row for row in question["raters"] if row.get("version")],
        "orders": make_orders(question),
        "sides": make_sides(question),
        "neither": question.get("sides", {}).get("neither"),
        "skew": tables.groups_of(question)[question["group"]]["skew"],
    }


@study_page(only=require_safe)
def numbers(request: HttpRequest) -> HttpResponse:
    """Send the JSON that the command prints."""
    work_of(request.study)
    found = agreement_of(request.study, read_choice(request.GET))
    return saved_as(f"{request.study.slug}-agreement.json", JsonResponse(found))


@study_page(only=require_safe)
def bundle(request: HttpRequest) -> HttpResponseBase:
    """Send the replication bundle of labels."""
    work_of(request.study)
    return send_bundle(request, begin_label_bundle)


@study_page(only=require_safe)
def groups(request: HttpRequest) -> HttpResponse:
    """Send one question's agreement and label shares by corpus, kind of item, user and statement, as CSV."""
    work_of(request.study)
    question = pick_question(rows_for(request.study, read_choice(request.GET)), request.GET.get("question", ""))
    return as_file(write_groups(question), FIGURE_FILES["csv"], f"{request.study.slug}-groups.csv")


def write_groups(question: Mapping[str, Any]) -> str:
    """Write a row for each number of each group, with its n, interval, and the reason if undefined."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["grouping", "group", "measure", "n", "value", "low", "high", "why"])
    for name in tables.GROUP_TITLES:
        for row in question.get(f"by_{name}", ()):
            numbers = {column.name: row[column.name] for column in tables.OF_PARTS}
            numbers |= {f"share of {label}": row["shares"][label] for label in question["values"]}
            for measure, found in numbers.items():
                ends = found["ci"] or ("", "")
                cells = [row[name], measure, found["n"], found["value"], *ends, found.get("why", "")]
                writer.writerow([name, *map(csv_cell, cells)])
    return out.getvalue()


@study_page(only=require_safe)
def figure(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Send a figure of one question; `json` is its Vega-Lite spec with the numbers, `csv` the numbers alone."""
    work_of(request.study)
    if name not in FIGURES or kind not in FIGURE_FILES:
        raise Http404
    found = rows_for(request.study, read_choice(request.GET))
    question = pick_question(found, request.GET.get("question", "")) | {"least": read_least(request)}
    drawn = draw_figure(name, question, Options(measure=read_measure(request)), found["simulated"])
    return as_file(file_of(drawn, kind), FIGURE_FILES[kind], f"{request.study.slug}-{name}.{kind}")


# --- items ------------------------------------------------------------------


@study_page(only=require_safe)
def differing(request: HttpRequest) -> HttpResponse:
    """Show items that two raters, or one and the majority of the others, labelled differently or with chosen labels."""
    work_of(request.study)
    choice, a, b = read_choice(request.GET), request.GET.get("a", ""), request.GET.get("b", "")
    every = gather(request.study, choice)
    if not request.GET.get("question"):
        first = find_first_compared(every)
        if first is None:
            return show(request, "agreement/none_differ.html", DIFFERING)
        asked, a, b = (first[0], a, b) if a else first
    else:
        asked = find_question(every, request.GET["question"])
    if a not in asked.raters or b and b not in asked.raters:
        raise Http404
    splits = compare_raters(asked, a, b)
    first_label, second_label = request.GET.get("first", ""), request.GET.get("second", "")
    chosen = [
        split
        for split in splits
        if (split.first == first_label and split.second == second_label if first_label else split.differs)
    ]
    page = Paginator(chosen, PAGE_SIZE).get_page(request.GET.get("page"))
    items = find_items(request.study, choice.pilot, [split.item for split in page])
    return show(
        request,
        "agreement/differing.html",
        DIFFERING,
        rows=page,
        shown=[(split, *items[split.item]) for split in page],
        question=asked.question,
        names=asked.names,
        a=a,
        b=b,
        first_label=first_label,
        second_label=second_label,
        common=len(splits),
        differ=sum(split.differs for split in splits),
        table=cross_table(asked, splits),
        back=write_choice(choice, question=asked.question.name),
        pair=write_choice(choice, question=asked.question.name, a=a, b=b),
        query=address_without_page(request),
    )


def find_question(asked: list[QuestionLabels], name: str) -> QuestionLabels:
    """Find the question of this name. Raises Http404."""
    for each in asked:
        if each.question.name == name:
            return each
    raise Http404


@study_page(only=require_safe)
def item(request: HttpRequest, key: int) -> HttpResponse:
    """Show the item as annotators saw it, with all annotations and models' replies."""
    rows = AnnotationItem.objects.filter(study=request.study).select_related("history")
    found = get_object_or_404(rows, pk=key)
    counting = set(counted(request.study, pilot=found.pilot).filter(item=found).values_list("pk", flat=True))
    told = found.tasks.filter(values__isnull=False).select_related("run__endpoint")
    said = found.annotations.select_related("participant").order_by("judge", "participant", "revision")
    return show(
        request,
        "agreement/item.html",
        HERE,
        item=found,
        parts=list(read_payload(found.payload)),
        whole="history" in request.GET,
        back=back_from(request),
        said=[(row, name_of(row), row.pk in counting) for row in said],
        told=[(task.run, list(task.values.items())) for task in told.order_by("pk")],
    )


def back_from(request: HttpRequest) -> str:
    """Return the query of the list that led here, if any."""
    query = request.GET.copy()
    query.pop("history", None)
    return query.urlencode() if "a" in query else ""


def name_of(row: Annotation) -> str:
    person = row.participant
    return row.judge if person is None else rater_name(person.origin, person.pid, person.pseudonym)


def read_payload(payload: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, texts) of each part of an item, in its order."""
    for name, value in payload.items():
        entries = value if isinstance(value, list) else [value]
        yield name, [text_of(entry) for entry in entries]


def text_of(entry: Any) -> str:
    if isinstance(entry, dict):
        return str(entry.get("quote") or entry.get("text") or ", ".join(f"{k}: {v}" for k, v in entry.items()))
    return str(entry)


ADDRESS = "console/<slug:slug>/agreement/"
urlpatterns = [
    path(ADDRESS, overview, name="overview"),
    path(f"{ADDRESS}numbers.json", numbers, name="numbers"),
    path(f"{ADDRESS}groups.csv", groups, name="groups"),
    path(f"{ADDRESS}bundle.zip", bundle, name="bundle"),
    path(f"{ADDRESS}figures/<slug:name>.<slug:kind>", figure, name="figure"),
    path(f"{ADDRESS}items/", differing, name="differing"),
    path(f"{ADDRESS}items/<int:key>/", item, name="item"),
]
