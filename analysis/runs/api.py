"""The API of baselines: runs of a study, and what is done to them."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.exports.api import PAGING, BadRequest, Conflict, Pages, first_fault, page_of
from analysis.exports.refusals import refused
from analysis.models import Run
from analysis.models.conditions import CHOICES
from analysis.models.settings import SETTINGS, STORED, RunSetting
from analysis.runs.lanes.runs import RunError, failures, progress
from analysis.runs.pages.actions import CANNOT_BE_DONE, act, order_run
from analysis.runs.pages.forms import DOLLARS, TOKENS, RunForm, estimate_run
from analysis.runs.pages.reads import OWN, is_simulated, runs_of, stand
from analysis.runs.pages.views import read_budget
from analysis.runs.recipes.plans import say_notes
from analysis.runs.recipes.questions import FORMS
from surveys.studies.access import Role, studies_of, study_for

COUNTS = ("calls", "done", "failed", "in_flight", "pending", "calls_per_second", "eta_seconds")


class EstimateSerializer(serializers.Serializer):
    calls = serializers.IntegerField(help_text="New calls; 0 when the run has all of them already.")
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    usd = serializers.FloatField()
    usd_most = serializers.FloatField(help_text="If every answer has its full length.")


class RunSerializer(serializers.ModelSerializer):
    """What a run is; how far it is stands beside it."""

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
    simulated = serializers.SerializerMethodField(help_text="True when the answers are made up.")
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

    def get_simulated(self, run: Run) -> bool:
        return is_simulated(run)


class StandingSerializer(RunSerializer):
    """A row of the list: a run and how far it is."""

    calls = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    pending = serializers.IntegerField()
    calls_per_second = serializers.FloatField()
    eta_seconds = serializers.IntegerField(allow_null=True)

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, *COUNTS)

    def to_representation(self, standing: Any) -> dict[str, Any]:
        counts = {name: getattr(standing, name) for name in COUNTS}
        return RunSerializer(standing.run).data | counts


def setting_serializer(setting: RunSetting) -> serializers.Field:
    kinds = {int: serializers.IntegerField, bool: serializers.BooleanField}
    return kinds.get(setting.kind, serializers.CharField)(
        required=False, help_text=f"{setting.label}. {setting.help}".strip()
    )


ORDER = inline_serializer(
    "NewRun",
    {
        "benchmark": serializers.CharField(
            required=False, help_text="Its name, to ask its items. Default: the study's prompts are asked."
        ),
        "prompt_form": serializers.ChoiceField(FORMS, required=False, help_text="How an item is put. Default: helm."),
        "worked_examples": serializers.BooleanField(required=False, help_text="Five solved items before each."),
        "prompts": serializers.ListField(
            child=serializers.CharField(), required=False, help_text="Slugs of the study's prompts. Default: all."
        ),
        "condition": serializers.ChoiceField(CHOICES),
        "endpoint": serializers.CharField(help_text="Its name."),
        "repeats": serializers.IntegerField(min_value=1),
        **{setting.name: setting_serializer(setting) for setting in SETTINGS},
        "temperature": serializers.FloatField(required=False, help_text="Default: 1."),
        "seed": serializers.IntegerField(required=False, help_text="Default: 0."),
        "budget": serializers.DecimalField(12, 6, required=False, help_text="Dollars."),
        "batch": serializers.BooleanField(required=False),
        "again": serializers.BooleanField(
            required=False, help_text="A run of its own instead of extending the one of the same plan."
        ),
        "dry_run": serializers.BooleanField(required=False, help_text="Say what it would cost and keep nothing."),
    },
)
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


class Runs(APIView):
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
        return pages.get_paginated_response(StandingSerializer(stand(page), many=True).data)

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
        order = read_order(request.data)
        dry_run = order.pop("dry_run", False)
        if not isinstance(dry_run, bool):
            raise BadRequest("dry_run is true or false.")
        form = RunForm(order, version=study.current, strict=True)
        if not form.is_valid():
            raise BadRequest(first_fault(form))
        if dry_run:
            return self.estimate(form, request.user.get_username())
        newest = study.runs.order_by("-id").values_list("pk", flat=True).first() or 0
        try:
            run, estimate = order_run(form, request.user)
        except RunError as error:
            raise Conflict(str(error)) from None
        except CANNOT_BE_DONE as error:
            raise BadRequest(str(error)) from None
        note = say_notes(form.plan(), form.cleaned_data["repeats"])
        content = {"run": RunSerializer(run).data, "estimate": estimate, "note": note}
        return Response(content, status=201 if run.pk > newest else 200)

    def estimate(self, form: RunForm, actor: str) -> Response:
        """What the order would cost; nothing is kept."""
        try:
            found = estimate_run(form, actor)
        except CANNOT_BE_DONE as error:
            raise BadRequest(str(error)) from None
        estimate = {name: found[name] for name in ("calls", *TOKENS, *DOLLARS)}
        return Response({"run": None, "estimate": estimate, "note": found.get("note", "")})


def read_order(data: Any) -> dict[str, Any]:
    """The request's fields. An unknown one is refused: `repeat` for `repeats` would cost another sum."""
    if not isinstance(data, dict):
        raise BadRequest("Send a JSON object with condition, endpoint and repeats.")
    names = (*RunForm.base_fields, "dry_run")
    unknown = sorted(set(data) - set(names))
    if unknown:
        known = ", ".join(names)
        raise BadRequest(f"{', '.join(unknown)[:100]}: no such field. The fields are {known}.")
    return {name: value for name, value in data.items() if value is not None}


def run_for(request: Request, number: int, least: Role = Role.VIEWER) -> Run:
    """The run, for members of its study; 404 for everybody else, 403 for too small a role."""
    mine = Run.objects.filter(study__in=studies_of(request.user))
    run = get_object_or_404(mine.select_related("study", *OWN), pk=number)
    study_for(request.user, run.study.slug, least)
    return run


class OneRun(APIView):
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


def told(name: str, summary: str, request: Any = None) -> Any:
    """What the schema says of an action."""
    told_of = extend_schema(
        operation_id=name, request=request, responses={200: PROGRESS, **refused(403, 409)}, summary=summary
    )
    return extend_schema_view(post=told_of)


class ChangeRun(APIView):
    """One of the actions of a run; which one stands in the address."""

    action = ""

    def post(self, request: Request, number: int) -> Response:
        run = run_for(request, number, Role.RESEARCHER)
        try:
            act(self.action, run, request.user, run.study, **self.read(request))
        except CANNOT_BE_DONE as error:
            raise Conflict(str(error)) from None
        return Response(describe_run(run_for(request, number)))

    def read(self, request: Request) -> dict[str, Any]:
        return {}


@told("pause_run", "Pause: nothing more is sent")
class PauseRun(ChangeRun):
    action = "pause"


@told("resume_run", "Go on with what is pending", RESUME)
class ResumeRun(ChangeRun):
    action = "resume"

    def read(self, request: Request) -> dict[str, Any]:
        given = request.data.get("budget") if isinstance(request.data, dict) else None
        try:
            return {} if given is None else {"budget": read_budget(given)}
        except RunError as error:
            raise BadRequest(str(error)) from None


@told("cancel_run", "Cancel for good")
class CancelRun(ChangeRun):
    action = "cancel"


@told("note_run", "Write what is to be remembered of it", NOTE)
class NoteRun(ChangeRun):
    action = "note"

    def read(self, request: Request) -> dict[str, Any]:
        note = request.data.get("note") if isinstance(request.data, dict) else None
        if not isinstance(note, str):
            raise BadRequest("Send the note as a text, empty to take it away.")
        return {"note": note}


@told("retry_run", "Send the failed calls again")
class RetryRun(ChangeRun):
    action = "retry"
