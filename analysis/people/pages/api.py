"""The API of people: corpora and their steps, users and attributes row by row."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.exports.api import PAGING, ROWS, BadRequest, Conflict, Pages, first_fault
from analysis.exports.refusals import TRUE, Operation, refused
from analysis.models import Attribute, Corpus
from analysis.people.exporting import ATTRIBUTE, USER
from analysis.people.pages import reads
from analysis.people.pages.forms import FORMS, studies_for_items
from analysis.people.pages.items import order_of, push_for
from analysis.people.pages.views import order_step
from analysis.people.pages.waiting import CorpusStanding, asking_runs, cost_of, next_step, what_waits
from analysis.people.stages.pairs import DEFAULTS
from analysis.people.stages.pushes import PUSHES
from analysis.people.steps import PeopleError
from surveys.models import Study
from surveys.studies.access import Role, study_for
from surveys.studies.wording import RaisedAs

STEPS = inline_serializer(
    "PeopleSteps",
    {
        "corpus": serializers.CharField(),
        "steps": serializers.DictField(
            child=serializers.DictField(), help_text="By name: state, share, settings, and what the command prints."
        ),
    },
)
STANDING = inline_serializer(
    "CorpusStanding",
    {
        "corpus": serializers.CharField(),
        "steps": serializers.DictField(child=serializers.DictField(), help_text="By name, as after a start."),
        "usd": serializers.FloatField(
            help_text="What the account's and the study's runs of tasks about it have cost so far."
        ),
        "next": serializers.CharField(allow_null=True, help_text="The step to do next."),
        "waits": serializers.ListField(
            child=serializers.DictField(), help_text="What waits: words, and the step or the run."
        ),
        "verifiers": serializers.ListField(
            child=serializers.DictField(),
            help_text="Models that learned from people: rater, version, study, labelled, flagged, asked.",
        ),
        "not_asked": serializers.DictField(help_text="By task: conversations not asked about yet."),
    },
)
CORPORA = inline_serializer(
    "Corpora", {"corpora": serializers.ListField(child=serializers.DictField(), help_text="With their sizes.")}
)

PUSH = inline_serializer(
    "PushItems",
    {
        "source": serializers.CharField(required=False, help_text="A corpus, or the study of the stage before."),
        "pilot": serializers.BooleanField(default=False, help_text="For the pilot’s annotators."),
        "dry": serializers.BooleanField(default=False, help_text="Count, and add nothing."),
        "by": serializers.CharField(required=False, help_text="Of pairs: the endpoint that proposed candidates."),
        "users": serializers.IntegerField(default=DEFAULTS.users, help_text="Of pairs: users a prompt."),
        "least": serializers.IntegerField(default=DEFAULTS.least, help_text="Of pairs: candidates at least."),
        "items": serializers.IntegerField(required=False, help_text="At most so many in all."),
        "people": serializers.IntegerField(required=False, help_text="Of at most so many users, by seed."),
        "seed": serializers.IntegerField(default=0, help_text="Which ones."),
    },
)
PUSHED = inline_serializer(
    "PushedItems",
    {
        "dry": serializers.BooleanField(),
        "items": serializers.IntegerField(help_text="New ones. Beside them stands what the command prints."),
        "slots": serializers.IntegerField(),
    },
)


def corpus_and_study(request: Request, slug: str, name: str) -> tuple[Corpus, Study]:
    study = study_for(request.user, slug, Role.RESEARCHER)
    return get_object_or_404(Corpus.objects.shown_to(request.user, study), name=name), study


def describe_steps(corpus: Corpus) -> dict[str, Any]:
    steps = {
        name: {
            **{"state": step["state"], "share": step["row"].share, "settings": step["row"].settings},
            **{"report": step["row"].report, "reason": step["row"].reason},
        }
        for name, step in reads.steps_of(corpus).items()
    }
    return {"corpus": corpus.name, "steps": steps}


class Corpora(Operation):
    @extend_schema(
        operation_id="corpora",
        responses={200: CORPORA, **refused(403)},
        summary="Corpora that the study may use, and the account's own, with their sizes",
    )
    def get(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug, Role.RESEARCHER)
        return Response({"corpora": reads.corpora(request.user, study)})


class OneCorpus(Operation):
    @extend_schema(
        operation_id="corpus",
        responses={200: STANDING, **refused(403)},
        summary="What was done with a corpus, and what waits",
    )
    def get(self, request: Request, slug: str, corpus: str) -> Response:
        found, study = corpus_and_study(request, slug, corpus)
        runs = asking_runs(found, request.user, study)
        standing = CorpusStanding(found, reads.steps_of(found), runs)
        upcoming = next_step(standing)
        return Response(
            {
                **describe_steps(found),
                "usd": float(cost_of(runs)),
                "next": upcoming and upcoming.step,
                "waits": [wait._asdict() for wait in what_waits(standing)],
                "not_asked": standing.unasked,
                "verifiers": reads.verifiers(found, studies_for_items(request.user)),
            }
        )


class StartStep(Operation):
    @extend_schema(
        parameters=[OpenApiParameter("step", str, OpenApiParameter.PATH, enum=list(FORMS))],
        operation_id="start_people_step",
        request=inline_serializer("PeopleSettings", {"settings": serializers.DictField(required=False)}),
        responses={202: STEPS, **refused(403, 409)},
        summary="Begin filter, merge, sample or push; settings that are not given are those of the paper",
    )
    def post(self, request: Request, slug: str, corpus: str, step: str) -> Response:
        found, study = corpus_and_study(request, slug, corpus)
        if step not in FORMS:
            raise Http404
        given = request.data.get("settings", {}) if isinstance(request.data, dict) else {}
        whose = {"user": request.user, "study": study, "corpus": found}
        blank = FORMS[step](**whose)
        if not isinstance(given, dict) or set(given) - set(blank.fields):
            raise BadRequest(f"settings may name {', '.join(blank.fields)}.")
        form = FORMS[step]({name: field.initial for name, field in blank.fields.items()} | given, **whose)
        if not form.is_valid():
            raise BadRequest(first_fault(form))
        with RaisedAs(Conflict, PeopleError):
            order_step(found, step, form.cleaned_data, request.user, study)
        return Response(describe_steps(found), status=202)


class PushItems(Operation):
    @extend_schema(
        parameters=[OpenApiParameter("name", str, OpenApiParameter.PATH, enum=list(PUSHES))],
        operation_id="push_items",
        request=PUSH,
        responses={200: PUSHED, **refused(403, 409)},
        summary="Add a stage's items, or count them: people (of a corpus), refined, relevant (of the stage before)",
    )
    def post(self, request: Request, slug: str, name: str) -> Response:
        study = study_for(request.user, slug, Role.RESEARCHER)
        data = dict(request.data.items())
        usual = {"users": DEFAULTS.users, "least": DEFAULTS.least}
        form, order = order_of(request.user, study, name, usual | data)
        if order is None:
            raise BadRequest(first_fault(form))
        with RaisedAs(Conflict, PeopleError):
            return Response(push_for(request.user, name, order, dry=data.get("dry") in TRUE))


class PagedRows(Operation):
    """Pages of rows, as `export_people` writes them."""

    columns: dict[str, str]

    def rows(self, corpus: Corpus) -> QuerySet[Any]:
        raise NotImplementedError

    def get(self, request: Request, slug: str, corpus: str) -> Response:
        rows, pages = self.rows(corpus_and_study(request, slug, corpus)[0]).values(*self.columns.values()), Pages()
        page = pages.paginate_queryset(rows, request, view=self)
        shown = [{name: row[path] for name, path in self.columns.items()} for row in page]
        return pages.get_paginated_response(shown)


def described(name: str, summary: str) -> Any:
    return extend_schema_view(
        get=extend_schema(operation_id=name, parameters=PAGING, responses={200: ROWS, **refused(403)}, summary=summary)
    )


@described("corpus_users", "Users of a corpus, by key")
class Users(PagedRows):
    columns = {name: name for name in USER}

    def rows(self, corpus: Corpus) -> QuerySet[Any]:
        return corpus.users.order_by("key")


@described("attributes", "Attributes of a corpus's users, as they came")
class Attributes(PagedRows):
    columns = ATTRIBUTE

    def rows(self, corpus: Corpus) -> QuerySet[Any]:
        return Attribute.objects.filter(user__corpus=corpus).order_by("id")


PEOPLE = "studies/<slug:slug>/people/"
ONE = f"{PEOPLE}<slug:corpus>/"
urlpatterns = [
    path("studies/<slug:slug>/push/<slug:name>/", PushItems.as_view(), name="push"),
    path(PEOPLE, Corpora.as_view(), name="corpora"),
    path(ONE, OneCorpus.as_view(), name="corpus"),
    path(f"{ONE}users/", Users.as_view(), name="corpus-users"),
    path(f"{ONE}attributes/", Attributes.as_view(), name="attributes"),
    path(f"{ONE}<str:step>/", StartStep.as_view(), name="people-step"),
]
