"""The API of runs, of a study or about a corpus: listing, starting and changing them, and their calls with replies."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.exports.api import PAGING, BadRequest, Conflict, Pages, first_fault, page_of
from analysis.exports.refusals import TRUE, Operation, check_named, refused, say_unknown, whole_from
from analysis.models import Completion, Run
from analysis.models.conditions import STORED
from analysis.people.pages.api import STEPS, corpus_and_study, describe_steps
from analysis.people.pages.views import order_step
from analysis.people.steps import PeopleError
from analysis.runs.asking.plans import ORDERED
from analysis.runs.lanes.runs import COUNTS, RunError, RunProgress, failures, progress, progress_of
from analysis.runs.pages.actions import ACTIONS, CANNOT_BE_DONE, MOST_NOTE, act, read_given
from analysis.runs.pages.asking_views import AskForm
from analysis.runs.pages.new_run import DOLLARS, TOKENS, RunForm, estimate_run, order_run
from analysis.runs.pages.reads import LEFT, OWN, runs_about_corpora, runs_of
from analysis.runs.recipes.plans import Plan, say_notes
from analysis.runs.tasks import ask_step
from surveys.models import Prompt, Study
from surveys.studies.access import Role, studies_of, study_for
from surveys.studies.wording import RaisedAs


class EstimateSerializer(serializers.Serializer):
    calls = serializers.IntegerField(help_text="New calls; 0 when the run has all of them already.")
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    usd = serializers.FloatField()
    usd_most = serializers.FloatField(help_text="If every answer has its full length.")


class RunSerializer(serializers.ModelSerializer):
    """A run without its progress."""

    study = serializers.SlugRelatedField(slug_field="slug", read_only=True, allow_null=True)
    version = serializers.IntegerField(source="version.number", default=None, allow_null=True)
    endpoint = serializers.CharField(source="endpoint.name", default="")
    model = serializers.CharField()
    vars().update(
        {
            setting.name: serializers.CharField(source=f"{setting.name}.name", default=None, allow_null=True)
            for setting in STORED
            if setting.chooses_row
        }
    )
    simulated = serializers.BooleanField(
        source="is_simulated", read_only=True, help_text="True when the answers are made up."
    )
    first_run = serializers.IntegerField(source="first_run_id", allow_null=True)
    usd = serializers.FloatField(source="spent")
    budget_usd = serializers.FloatField(source="budget", allow_null=True)

    class Meta:
        model = Run
        fields: tuple[str, ...] = (
            *("id", "study", "version", "benchmark", "prompt_form", "worked_examples", "condition", "endpoint"),
            *("model", "simulated", "state", "reason", "prompts", "note", "temperature", "repeats", "seed"),
            *(setting.name for setting in STORED),
            *("instruction", "both_orders", "pilot"),
            *("batch", "usd", "budget_usd", "first_run", "created_by", "created_at", "began_at", "ended_at"),
        )


class StandingSerializer(RunSerializer):
    """A row of the list: a run with its progress."""

    vars().update({name: serializers.IntegerField() for name in COUNTS})
    calls_per_second = serializers.FloatField()
    eta_seconds = serializers.IntegerField(allow_null=True)

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, *COUNTS, "calls_per_second", "eta_seconds")

    def to_representation(self, standing: RunProgress) -> dict[str, Any]:
        rate = {"calls_per_second": standing.calls_per_second, "eta_seconds": standing.eta_seconds}
        return RunSerializer(standing.run).data | standing.counts | rate


# Help for programs on form fields, in place of the page's words.
RUN_HELP = {
    "benchmark": "Its name, to ask its items. Default: the study's prompts are asked.",
    "prompt_form": f"How an item is put. Default: {Plan.prompt_form}.",
    "prompts": "Slugs of the study's prompts. Default: all.",
    "endpoint": "Its name.",
    "dry_run": "Say what it would cost and keep nothing.",
    **{name: f"Default: {getattr(Plan, name):g}." for name in ("temperature", "seed")},
}
KINDS = ("BooleanField", "DecimalField", "FloatField", "IntegerField")  # with one name in forms and serializers
BOUNDS = ("min_value", "max_value", "max_digits", "decimal_places")


def order_fields(form: type[forms.Form], helps: Mapping[str, str]) -> dict[str, serializers.Field]:
    """The fields of a form as a program sends them, for the schema."""
    fields = {name: order_field(field, helps.get(name)) for name, field in form.base_fields.items()}
    return fields | {"dry_run": serializers.BooleanField(required=False, help_text=helps["dry_run"])}


def order_field(field: Any, help_text: str | None) -> serializers.Field:
    words = help_text or " ".join(filter(None, (field.label and f"{field.label}.", field.help_text)))
    said = {"required": field.required, "help_text": words}
    said |= {bound: getattr(field, bound) for bound in BOUNDS if hasattr(field, bound)}
    if isinstance(field, forms.MultipleChoiceField):
        return serializers.ListField(child=serializers.CharField(), **said)
    if type(field) is forms.ChoiceField and field.choices:
        return serializers.ChoiceField(field.choices, **said)
    kind = type(field).__name__
    return getattr(serializers, kind if kind in KINDS else "CharField")(**said)


ORDER = inline_serializer("NewRun", order_fields(RunForm, RUN_HELP))
STARTED = inline_serializer(
    "StartedRun",
    {
        "run": RunSerializer(allow_null=True, help_text="Null after a dry run."),
        "estimate": EstimateSerializer(),
        "note": serializers.CharField(help_text="What so few simulated users cannot show, or empty."),
    },
)
PROGRESS = inline_serializer(
    "RunProgress",
    {
        "run": RunSerializer(),
        "progress": serializers.DictField(
            help_text="calls, done, failed, in_flight, pending, usd, reserved_usd, budget_usd, "
            "calls_per_second, eta_seconds, waiting_until, maybe_paid, served, mixed."
        ),
        "failures": serializers.ListField(child=serializers.DictField()),
        "estimate": serializers.DictField(),
    },
)


class Runs(Operation):
    @extend_schema(
        operation_id="runs",
        parameters=PAGING,
        responses=page_of("RunPage", StandingSerializer(many=True)),
        summary="Runs of a study, the newest first",
    )
    def get(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug)
        pages = Pages()
        page = pages.paginate_queryset(runs_of(study).select_related("study"), request, view=self)
        return pages.get_paginated_response(StandingSerializer(progress_of(page), many=True).data)

    @extend_schema(
        operation_id="start_run",
        request=ORDER,
        responses={201: STARTED, 200: STARTED, **refused(403, 409)},
        summary="Start a run, or extend the one of the same plan (200)",
        description="Sending the same again adds no call. Bad input is answered with 400 and one sentence.",
    )
    def post(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug, Role.RESEARCHER)
        if study.current is None:
            raise BadRequest(f"{study.slug} has no prompts yet. Load its study file first.")
        order, dry_run = read_order(request.data, RunForm.base_fields)
        form = RunForm(order, version=study.current, strict=True)
        if not form.is_valid():
            raise BadRequest(first_fault(form))
        if dry_run:
            return self.estimate(form, request.user.get_username())
        newest = study.runs.order_by("-id").values_list("pk", flat=True).first() or 0
        with RaisedAs(BadRequest, *CANNOT_BE_DONE), RaisedAs(Conflict, RunError):
            run, estimate = order_run(form, request.user)
        note = say_notes(form.plan(), form.cleaned_data["repeats"])
        content = {"run": RunSerializer(run).data, "estimate": estimate, "note": note}
        return Response(content, status=201 if run.pk > newest else 200)

    def estimate(self, form: RunForm, actor: str) -> Response:
        """What the order would cost; nothing is kept."""
        with RaisedAs(BadRequest, *CANNOT_BE_DONE):
            found = estimate_run(form, actor)
        estimate = {name: found[name] for name in ("calls", *TOKENS, *DOLLARS)}
        return Response({"run": None, "estimate": estimate, "note": found.get("note", "")})


def read_order(data: Mapping[str, Any], fields: Iterable[str]) -> tuple[dict[str, Any], bool]:
    """The fields given, and whether it is a dry run. A field that another order has is refused: it could cost more."""
    known = (*fields, "dry_run")
    if unknown := sorted(set(data) - set(known)):
        raise BadRequest(say_unknown(unknown[0], "field", known))
    given = {name: value for name, value in data.items() if value is not None}
    return given, given.pop("dry_run", False) in TRUE


def run_for(request: Request, number: int, least: Role = Role.VIEWER) -> Run:
    """The run, for members of its study; 404 for everybody else, 403 if the role is too small."""
    mine = Run.objects.filter(study__in=studies_of(request.user, Role.BLINDED))
    run = get_object_or_404(mine.select_related("study", *OWN), pk=number)
    study_for(request.user, run.study.slug, least)
    return run


class OneRun(Operation):
    @extend_schema(operation_id="run", responses=PROGRESS, summary="How far a run is")
    def get(self, request: Request, number: int) -> Response:
        return Response(describe_run(run_for(request, number)))


def describe_run(run: Run) -> dict[str, Any]:
    now = progress(run)
    return {
        "run": RunSerializer(run).data,
        "progress": {name: value for name, value in now.items() if name not in ("run", "state", "reason")},
        "failures": failures(run),
        "estimate": run.estimate,
    }


RESUME = inline_serializer(
    "Resume", {"budget": serializers.DecimalField(12, 6, required=False, help_text="The new budget.")}
)
NOTE = inline_serializer("Note", {"note": serializers.CharField(allow_blank=True, help_text="Up to 2,000 characters.")})


def change_run(action: str, run: Run, request: Request, study: Study) -> Response:
    """Do one of ACTIONS to a run by the means of this study, and respond with its progress."""
    with RaisedAs(BadRequest, RunError):
        given = read_given(action, request.data if isinstance(request.data, dict) else {})
    note = given.get("note", "").strip()
    if len(note) > MOST_NOTE:
        raise BadRequest(f"A note has at most {MOST_NOTE:,} characters; this one has {len(note):,}.")
    if "\0" in note:
        raise BadRequest("The note holds the character NUL, which cannot be stored.")
    with RaisedAs(Conflict, *CANNOT_BE_DONE):
        act(action, run, request.user, study, **given)
    return Response(describe_run(run))


class ChangeRun(Operation):
    """One of the actions of a run; which one stands in the address."""

    action = ""

    def post(self, request: Request, number: int) -> Response:
        run = run_for(request, number, Role.RESEARCHER)
        return change_run(self.action, run, request, run.study)


def changing(action: str, summary: str, body: Any = None) -> Any:
    """The view of an action, with its schema."""
    responses = {200: PROGRESS, **refused(403, 409)}
    schema = extend_schema(operation_id=f"{action}_run", request=body, responses=responses, summary=summary)
    view: Any = type(f"{action.capitalize()}Run", (ChangeRun,), {"action": action})
    return extend_schema_view(post=schema)(view).as_view()


BODIES = {"resume": RESUME, "note": NOTE}
CHANGES = {
    name: changing(name, control.summary, BODIES.get(name)) for name, control in ACTIONS.items() if control.summary
}


# --- calls with their answers

FILTERS = [
    OpenApiParameter("run", whole_from(1), description="Only this run's."),
    OpenApiParameter("prompt", str, description="Only this prompt's, by its slug."),
    OpenApiParameter("status", str, enum=Completion.Status.values, description="Default: all."),
]


class CompletionSerializer(serializers.ModelSerializer):
    run = serializers.IntegerField(source="run_id")
    condition = serializers.CharField(source="run.condition")
    model = serializers.CharField(source="run.model", help_text="Asked; see model_served.")
    simulated = serializers.BooleanField(
        source="run.is_simulated", read_only=True, help_text="True when the answer is made up."
    )
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


class Completions(Operation):
    @extend_schema(
        operation_id="completions",
        parameters=FILTERS + PAGING,
        responses=page_of("CompletionPage", CompletionSerializer(many=True)),
        summary="Calls of a study's runs and their answers",
    )
    def get(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug)
        rows = (
            filtered(Completion.objects.filter(run__study=study), request, study)
            .select_related("run__endpoint", "prompt", "item", "user", "task__annotation_item")
            .annotate(left=LEFT)
            .defer("task__payload", "task__values", "task__annotation_item__payload")
            .defer("user__recipe", "prompt__text", "item__question", "item__choices")
            .order_by("id")
        )
        pages = Pages()
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response(CompletionSerializer(page, many=True).data)


def filtered(rows: QuerySet[Completion], request: Request, study: Study) -> QuerySet[Completion]:
    query = request.query_params
    if run := query.get("run"):
        check_named("run", str(int(run)), [str(pk) for pk in study.runs.order_by("-id").values_list("pk", flat=True)])
        rows = rows.filter(run=int(run))
    if status := query.get("status"):
        rows = rows.filter(status=status)
    if prompt := query.get("prompt"):
        prompts = Prompt.objects.filter(version__study=study).order_by("slug").values_list("slug", flat=True)
        check_named("prompt", prompt, [*prompts.distinct()])
        rows = rows.filter(prompt__slug=prompt)
    return rows


# --- runs about a corpus, which belong to no study

ASKING_HELP = {
    "endpoint": "Its name.",
    "texts": "Of candidates: what people might ask, one a line, or JSON lines with id and prompt.",
    "prompts": "Of candidates: the study that has them.",
    "dry_run": "Plan it and send nothing.",
}
ASKING = inline_serializer("Asking", order_fields(AskForm, ASKING_HELP))
BUTTONS = [action for action, control in ACTIONS.items() if control.able]


class CorpusRuns(Operation):
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
        return pages.get_paginated_response(StandingSerializer(progress_of(page), many=True).data)


class AskCorpus(Operation):
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
        with RaisedAs(Conflict, PeopleError):
            order_step(found, task, settings, request.user, study, ask_step)
        return Response(describe_steps(found), status=202)


class ChangeCorpusRun(Operation):
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


ABOUT = "studies/<slug:slug>/people/<slug:corpus>/"
urlpatterns = [
    path("studies/<slug:slug>/runs/", Runs.as_view(), name="runs"),
    path("studies/<slug:slug>/completions/", Completions.as_view(), name="completions"),
    path(f"{ABOUT}runs/", CorpusRuns.as_view(), name="corpus-runs"),
    path(f"{ABOUT}runs/<int:number>/<slug:action>/", ChangeCorpusRun.as_view(), name="change-corpus-run"),
    path(f"{ABOUT}ask/<slug:task>/", AskCorpus.as_view(), name="ask-corpus"),
    path("runs/<int:number>/", OneRun.as_view(), name="run"),
    *(path(f"runs/<int:number>/{action}/", view, name=f"{action}-run") for action, view in CHANGES.items()),
]
