"""The API of completions: the calls of a study's runs with what was answered."""

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.exports.api import PAGING, BadRequest, Pages, page_of
from analysis.exports.refusals import refused
from analysis.models import Completion
from analysis.runs.pages.reads import LEFT, is_simulated
from surveys.studies.access import study_for

FILTERS = [
    OpenApiParameter("run", int, description="Only this run's."),
    OpenApiParameter("prompt", str, description="Only this prompt's, by its slug."),
    OpenApiParameter("status", str, enum=Completion.Status.values, description="Default: all."),
]


class CompletionSerializer(serializers.ModelSerializer):
    run = serializers.IntegerField(source="run_id")
    condition = serializers.CharField(source="run.condition")
    model = serializers.CharField(source="run.model", help_text="Asked; see model_served.")
    simulated = serializers.SerializerMethodField(help_text="True when the answer is made up.")
    prompt = serializers.CharField(source="prompt.slug", default=None, allow_null=True)
    item = serializers.CharField(source="item.item", default=None, allow_null=True)
    annotation_item = serializers.CharField(
        source="task.annotation_item.key",
        default=None,
        allow_null=True,
        help_text="Of a judge's call: the item that it is about.",
    )
    task = serializers.CharField(
        source="task.key", default=None, allow_null=True, help_text="Of a task's call: its name in the run."
    )
    left = serializers.CharField(help_text="Of a judge's call: which response stands on the left, if any.")
    user = serializers.IntegerField(source="user.index", default=None, allow_null=True)

    class Meta:
        model = Completion
        fields = (
            *("id", "run", "condition", "model", "simulated", "prompt", "item"),
            *("annotation_item", "task", "left", "user", "repeat", "status"),
            *("reply", "finish_reason", "model_served", "fingerprint", "request_id", "messages_sha256"),
            *("included", "skipped", "prompt_tokens", "cached_tokens", "completion_tokens", "latency_ms"),
            *("attempts", "lost_answers", "cost", "error", "error_kind", "sent_at", "done_at"),
        )

    def get_simulated(self, completion: Completion) -> bool:
        return is_simulated(completion.run)


class Completions(APIView):
    @extend_schema(
        operation_id="completions",
        parameters=FILTERS + PAGING,
        responses={200: page_of("CompletionPage", CompletionSerializer(many=True)), **refused(400)},
        summary="Calls of a study's runs and their answers",
    )
    def get(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug)
        rows = (
            filtered(Completion.objects.filter(run__study=study), request)
            .select_related("run__endpoint", "prompt", "item", "user", "task__annotation_item")
            .annotate(left=LEFT)
            .defer("task__payload", "task__values", "task__annotation_item__payload")
            .defer("user__recipe", "prompt__text", "item__question", "item__choices")
            .order_by("id")
        )
        pages = Pages()
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response(CompletionSerializer(page, many=True).data)


def filtered(rows: QuerySet[Completion], request: Request) -> QuerySet[Completion]:
    run, status = request.query_params.get("run"), request.query_params.get("status")
    if run:
        if not run.isdecimal() or len(run) > 18:
            raise BadRequest("run takes a run's number.")
        rows = rows.filter(run=int(run))
    if status:
        if status not in Completion.Status.values:
            raise BadRequest(f"status is one of {', '.join(Completion.Status.values)}.")
        rows = rows.filter(status=status)
    if prompt := request.query_params.get("prompt"):
        rows = rows.filter(prompt__slug=prompt.replace("\0", "")[:60])
    return rows
