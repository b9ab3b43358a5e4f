"""The API of what is asked of models about a corpus, which belongs to no study."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.exports.api import PAGING, BadRequest, Conflict, Pages, first_fault, page_of
from analysis.exports.refusals import refused
from analysis.people.pages.api import STEPS, corpus_and_study, tell_steps
from analysis.people.pages.views import order_step
from analysis.people.steps import PeopleError
from analysis.runs.api import PROGRESS, RESUME, StandingSerializer, change_run, order_fields, read_order
from analysis.runs.asking.orders import ORDERED
from analysis.runs.lanes.runs import stand
from analysis.runs.pages.actions import ACTIONS
from analysis.runs.pages.asking_views import AskForm
from analysis.runs.pages.reads import runs_about_corpora
from analysis.runs.tasks import ask_step

TOLD = {
    "endpoint": "Its name.",
    "texts": "Of candidates: what people might ask, one a line, or JSON lines with id and prompt.",
    "prompts": "Of candidates: the study that has them.",
    "dry_run": "Plan it and send nothing.",
}
ASKING = inline_serializer("Asking", order_fields(AskForm, TOLD))
BUTTONS = [action for action, control in ACTIONS.items() if control.able]


class CorpusRuns(APIView):
    @extend_schema(
        operation_id="corpus_runs",
        parameters=PAGING,
        responses={200: page_of("CorpusRunPage", StandingSerializer(many=True)), **refused(403)},
        summary="Runs that ask about a corpus, the newest first",
    )
    def get(self, request: Request, slug: str, corpus: str) -> Response:
        (found, study), pages = corpus_and_study(request, slug, corpus), Pages()
        rows = runs_about_corpora(request.user, study).filter(corpus=found)
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response(StandingSerializer(stand(page), many=True).data)


class AskCorpus(APIView):
    @extend_schema(
        operation_id="ask_corpus",
        parameters=[OpenApiParameter("task", str, OpenApiParameter.PATH, enum=list(ORDERED))],
        request=ASKING,
        responses={202: STEPS, **refused(403, 409)},
        summary="Ask a model about a corpus: language, assistant-use, extract or candidates",
        description="A worker plans it as a step of the corpus, whose report then has calls and dollars, and the run.",
    )
    def post(self, request: Request, slug: str, corpus: str, task: str) -> Response:
        found, study = corpus_and_study(request, slug, corpus)
        if task not in ORDERED:
            raise Http404
        how = {"task": task, "user": request.user, "study": study}
        given, dry_run = read_order(request.data, AskForm(**how).fields)
        form = AskForm(given, **how)
        if not form.is_valid():
            raise BadRequest(first_fault(form))
        settings = form.settings() | ({"dry_run": True} if dry_run else {})
        try:
            order_step(found, task, settings, request.user, study, ask_step)
        except PeopleError as error:
            raise Conflict(str(error)) from None
        return Response(tell_steps(found), status=202)


class ChangeCorpusRun(APIView):
    @extend_schema(
        operation_id="change_corpus_run",
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=BUTTONS)],
        request=RESUME,
        responses={200: PROGRESS, **refused(403, 409)},
        summary="Pause, resume, cancel or retry a run about a corpus",
    )
    def post(self, request: Request, slug: str, corpus: str, number: int, action: str) -> Response:
        found, study = corpus_and_study(request, slug, corpus)
        run = get_object_or_404(runs_about_corpora(request.user, study).filter(corpus=found), pk=number)
        if action not in BUTTONS:
            raise Http404
        return change_run(action, run, request, study)
