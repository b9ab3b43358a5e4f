"""The API of annotation: rows of annotations, and how far raters agree."""

from itertools import islice
from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.agreement.agreements import agreement_of
from analysis.agreement.annotations import OPTIONS, list_offered, read_choice
from analysis.exports.api import StudyView, TableRows, describe_rows
from analysis.exports.refusals import check_named
from surveys.models import Study
from surveys.studies.labels import questions_of

CHUNK = 1_000

CHOICE = [
    OpenApiParameter(name, str, enum=[*option.values] or None, description=option.words)
    for name, option in OPTIONS.items()
]
AGREEMENT = inline_serializer(
    "Agreement",
    {
        "study": serializers.CharField(),
        "threshold": serializers.IntegerField(help_text="Items that a pair must share to count in a mean."),
        "seed": serializers.IntegerField(),
        "claims": serializers.ListField(child=serializers.DictField()),
        "questions": serializers.ListField(child=serializers.DictField()),
        "times": serializers.ListField(child=serializers.DictField()),
        "as_planned": serializers.DictField(required=False, help_text="Of a study with hypotheses."),
    },
)


def check_annotated(study: Study) -> None:
    """Raise NotFound for studies in which nobody annotates."""
    if not questions_of(study):
        raise NotFound(f"{study.slug} is not a study of annotators.")


class Sliced:
    """Pages of rows that can only be iterated, since an annotation makes one row for each of its answers."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def count(self) -> int:
        return self.rows.count()

    def __getitem__(self, part: slice) -> list[dict[str, Any]]:
        return list(islice(self.rows.iterator(chunk_size=CHUNK), part.start, part.stop))


@describe_rows("annotations", "Annotations of a study, each revision")
class Annotations(TableRows):
    table = "annotations"

    def check(self, study: Study) -> None:
        check_annotated(study)

    def sliced(self, rows: Any) -> Sliced:
        return Sliced(rows)


class AgreementNumbers(StudyView):
    @extend_schema(
        operation_id="agreement",
        summary="How far annotators and judges agree, question by question",
        description="As the command `agreement` prints it. What is undefined is null, with `why` beside it.",
        parameters=CHOICE,
        responses=AGREEMENT,
    )
    def get(self, request: Request, slug: str) -> Response:
        study = self.find_study(slug)
        check_annotated(study)
        choice = read_choice(request.query_params)
        if choice.corpus or choice.cluster or choice.tag:
            there = list_offered(study, choice.pilot, most=None)
            for name, known in (("corpus", there.corpora), ("cluster", there.clusters), ("tag", there.tags)):
                if value := request.query_params.get(name):
                    check_named(name, value, known)
        return Response(agreement_of(study, choice))


urlpatterns = [
    path("studies/<slug:slug>/annotations/", Annotations.as_view(), name="annotations"),
    path("studies/<slug:slug>/agreement/", AgreementNumbers.as_view(), name="agreement"),
]
