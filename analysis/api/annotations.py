"""The API of annotation: annotations row by row, and how far raters agree."""

from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.agreement_filters import read_choice
from analysis.agreements import agreement_of
from analysis.api.exports import TableRows, told_of_rows
from surveys.access import study_for
from surveys.annotation.counted import questions_of
from surveys.models import Study

CHOICE = [
    OpenApiParameter("pilot", str, enum=["only"], description="The pilot's labels instead of the main ones."),
    OpenApiParameter("simulated", str, enum=["without"], description="Leave made-up people out."),
    OpenApiParameter("corpus", str, description="Items of this corpus."),
    OpenApiParameter("cluster", str, description="Items about this user."),
    OpenApiParameter("tag", str, description="Items with this tag, as name:value."),
]
AGREEMENT = inline_serializer(
    "Agreement",
    {
        "study": serializers.CharField(),
        "threshold": serializers.IntegerField(help_text="Items that a pair must share to count in a mean."),
        "seed": serializers.IntegerField(),
        "questions": serializers.ListField(child=serializers.DictField()),
        "times": serializers.ListField(child=serializers.DictField()),
    },
)


def check_annotated(study: Study) -> None:
    """Raises NotFound for studies in which nobody annotates."""
    if not questions_of(study):
        raise NotFound(f"{study.slug} is no study of annotators.")


@told_of_rows("annotations", "Annotations of a study, each revision")
class Annotations(TableRows):
    table = "annotations"

    def get(self, request: Request, slug: str) -> Response:
        check_annotated(study_for(request.user, slug))
        return super().get(request, slug)


class Agreement(APIView):
    @extend_schema(
        operation_id="agreement",
        summary="How far annotators and judges agree, question by question",
        description="As the command `agreement` prints it. What is undefined is null, with `why` beside it.",
        parameters=CHOICE,
        responses=AGREEMENT,
    )
    def get(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug)
        check_annotated(study)
        return Response(agreement_of(study, read_choice(request.query_params)))
