"""The API of results: a study's report, whole or in parts, and its figures as specs."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.charts.figure import Options, Report
from analysis.charts.rows import names_in
from analysis.exports.api import AnyType, BadRequest, StudyView
from analysis.exports.refusals import NO, YES, say_unknown, whole_from
from analysis.report.columns import ASKED
from analysis.report.filters import FILTERS, Filter, FilterError, Filters
from analysis.report.pages.shown import ask_for, has_few_texts
from analysis.report.pairs.sides import checked
from analysis.report.parts import FIGURES, PART_OF_FIGURE, PARTS, precision
from analysis.report.reports import ReportError, compute_parts, views_for, write_report
from analysis.stats.resampling import DRAWS
from surveys.models import Study
from surveys.studies.access import studies_of
from surveys.studies.wording import RaisedAs

LEAST_DRAWS, MOST_DRAWS, MOST_SEED = 20, 20_000, 2**31
OWN = ("part", "format", "seed", "draws")
OF_FIGURES = ("measure", "rarefied", "narrow", "top")


def parameter_of(name: str, known: Filter) -> OpenApiParameter:
    if known.options:
        values = list(known.options)
        return OpenApiParameter(name, str, enum=values, description=f"Default: {values[0]}.")
    kind = str if known.type is tuple else known.type
    return OpenApiParameter(name, kind, many=True, description=known.help)


CHOSEN = [parameter_of(name, known) for name, known in FILTERS.items()]
DRAWN = [
    OpenApiParameter("seed", whole_from(0, MOST_SEED), description="Default: 0."),
    OpenApiParameter("draws", whole_from(LEAST_DRAWS, MOST_DRAWS), description=f"Random draws. Default: {DRAWS:,}."),
]
REPORT = inline_serializer(
    "Report",
    {
        "study": serializers.CharField(),
        "version": serializers.IntegerField(),
        "generated_at": serializers.DateTimeField(),
        **{
            part: serializers.ListField(child=serializers.DictField(), required=False)
            for part in PARTS
            if part not in ("about", "flow", "pair", "as_planned")
        },
        "flow": serializers.DictField(required=False),
        "as_planned": serializers.DictField(required=False, help_text="Empty without [[hypotheses]]."),
        "pair": serializers.DictField(required=False, help_text="Empty unless `compare` names two sides."),
        "claims": serializers.ListField(child=serializers.DictField(), help_text="All that pages assert."),
        "families": serializers.ListField(child=serializers.DictField(), help_text="By page: what was tested."),
        "definitions": serializers.DictField(child=serializers.CharField()),
        "intervals": serializers.DictField(help_text="By part: kind and unit of each column that is an interval."),
    },
)
COMPUTING = inline_serializer(
    "Computing",
    {
        "detail": serializers.CharField(help_text="That it is being computed."),
        "parts": serializers.ListField(child=serializers.CharField(), help_text="Parts that are not there yet."),
        "address": serializers.URLField(help_text="Where it will be: this address."),
    },
)
SECONDS = 2  # of Retry-After
FIGURE = inline_serializer(
    "Figure",
    {
        "name": serializers.CharField(),
        "title": serializers.CharField(),
        "caption": serializers.CharField(),
        "alt": serializers.CharField(help_text="What is seen, in words."),
        "spec": serializers.DictField(help_text="Vega-Lite."),
        "table": serializers.ListField(child=serializers.DictField()),
        "columns": serializers.ListField(child=serializers.DictField(), help_text="name, label and unit."),
    },
)


class Metrics(StudyView):
    content_negotiation_class = AnyType  # `format` says how rows look, not which type the answer has

    @extend_schema(
        operation_id="metrics",
        summary="A study's report",
        description="Rows by part. What is undefined is null, with `why` beside it. Parts that nothing has changed "
        "since are answered at once. Of a study with many answers a worker computes the others: until they are there "
        "the answer is 202, with the parts that are missing, and Retry-After says when to ask again.",
        parameters=[
            OpenApiParameter("part", str, many=True, enum=list(PARTS), description="Default: all."),
            OpenApiParameter("format", str, enum=["json", "flat"], description="flat: nothing nested in a row."),
            *DRAWN,
            *CHOSEN,
        ],
        responses={200: REPORT, 202: COMPUTING},
    )
    def get(self, request: Request, slug: str) -> Response:
        study = self.find_study(slug)
        parts = [part for part in request.query_params.getlist("part") if part] or list(PARTS)
        found = compute(request, study, parts, OWN)
        if isinstance(found, Response):
            return found
        return Response(flat(found) if request.query_params.get("format") == "flat" else found)


class FigureSpec(StudyView):
    @extend_schema(
        operation_id="figure",
        summary="A figure as a Vega-Lite spec, with its words and its table",
        parameters=[
            OpenApiParameter("name", str, OpenApiParameter.PATH, enum=list(FIGURES)),
            OpenApiParameter("measure", str, description="Where a figure shows one of several measures."),
            OpenApiParameter("rarefied", bool, description="Rarefied values, as on the pages. Default: true."),
            OpenApiParameter("narrow", bool, description="For a phone. Default: false."),
            OpenApiParameter("top", whole_from(1, 100), description="How many items. Default: 12."),
            *DRAWN,
            *CHOSEN,
        ],
        responses={200: FIGURE, 202: COMPUTING},
    )
    def get(self, request: Request, slug: str, name: str) -> Response:
        study = self.find_study(slug)
        if name not in FIGURES:
            raise BadRequest(f"There is no figure {name[:60]!r}. Figures: {', '.join(FIGURES)}.")
        measures = [panel.name for panel in precision.MEASURES] if name == "precision" else [*ASKED]
        if (measure := request.query_params.get("measure")) and measure not in measures:
            raise BadRequest(say_unknown(measure, "measure", measures))
        part = PART_OF_FIGURE[name]
        found = compute(request, study, [part.name, *part.draws_from], (*OWN, *OF_FIGURES))
        if isinstance(found, Response):
            return found
        figure = FIGURES[name](found, read_options(request, found))
        return Response(
            {
                **{field: getattr(figure, field) for field in ("name", "title", "caption", "alt", "spec", "table")},
                "columns": [
                    {part: getattr(column, part) for part in ("name", "label", "unit")} for column in figure.columns
                ],
            }
        )


def compute(request: Request, study: Study, parts: list[str], own: tuple[str, ...]) -> dict[str, Any] | Response:
    """Return the report of these parts; or, if that takes long, ask a worker for it and return 202."""
    query = request.query_params
    seed, draws = int(query.get("seed") or 0), int(query.get("draws") or DRAWS)
    with RaisedAs(BadRequest, FilterError, ReportError):
        filters = checked(study, Filters.from_query(query, ignore=own), studies_of(request.user))
        wanted = [part for part in PARTS if part in parts and part != "about"]
        views = views_for(study, filters, wanted, seed=seed, draws=draws, every_item=True)
        missing = {part: view for part, view in views.items() if not view.is_kept(part)}
        if missing and not (draws <= DRAWS and has_few_texts(study)) and ask_for(missing):
            return computing(request, list(missing))
        return write_report(views["about"], filters, dict(compute_parts(views)))


def computing(request: Request, missing: list[str]) -> Response:
    content = {
        "detail": f"This is being computed; ask again in {SECONDS} seconds.",
        "parts": missing,
        "address": request.build_absolute_uri(),
    }
    return Response(content, status=202, headers={"Retry-After": str(SECONDS)})


def read_options(request: Request, found: Report) -> Options:
    query = request.query_params
    return Options(
        narrow=query.get("narrow", "").lower() in YES,
        rarefied=query.get("rarefied", "").lower() not in NO,
        measure=query.get("measure", ""),
        prompt=query.get("prompt", ""),
        top=int(query.get("top") or Options.top),
        names=names_in(found),
    )


def flat(found: dict[str, Any]) -> dict[str, Any]:
    """The report with the rows of every part flattened."""
    return {
        name: [flatten(row) for row in value] if name in PARTS and isinstance(value, list) else value
        for name, value in found.items()
    }


INTERVALS = ("ci", "bounds")


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """Join nested keys by _, split intervals into two columns, and leave out rows within a row.

    {"ci": [1, 2]} → ci_low, ci_high; {"rarefied": {"n": 5}} → rarefied_n; lists of words are joined by commas.
    """
    return dict(columns_of(row, ()))


def columns_of(row: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        path = (*above, name)
        if isinstance(value, Mapping):
            yield from columns_of(value, path)
        elif is_interval(path, value):
            yield from zip(("_".join((*path, end)) for end in ("low", "high")), value or (None, None), strict=True)
        elif not isinstance(value, list):
            yield "_".join(path), value
        elif not any(isinstance(entry, Mapping) for entry in value):
            yield "_".join(path), ", ".join(str(entry) for entry in value)


def is_interval(path: tuple[str, ...], value: Any) -> bool:
    """Whether it is two numbers, or None where an interval would be, so that every row has the same columns."""
    if isinstance(value, list):
        return len(value) == 2 and all(isinstance(end, int | float) for end in value)
    return value is None and any(word in INTERVALS for name in path for word in name.split("_"))


urlpatterns = [
    path("studies/<slug:slug>/metrics/", Metrics.as_view(), name="metrics"),
    path("studies/<slug:slug>/figures/<slug:name>/", FigureSpec.as_view(), name="figure"),
]
