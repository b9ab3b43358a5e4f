"""The API for other programs: studies, people, answers and exports, for accounts with a token."""

from dataclasses import asdict
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import StreamingHttpResponse
from django.urls import path, re_path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view, inline_serializer
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.exports.everything import ALL, open_everything
from analysis.exports.exports import (
    ANNOTATION_TABLES,
    TABLES,
    codebook_of,
    note_export,
    open_export,
    reader_of,
    rows_of,
)
from analysis.exports.formats import FORMATS
from analysis.exports.people_tables import Selection
from analysis.exports.refusals import NoSuchAddress, Operation, refused, whole_from
from analysis.exports.views import everything_response, export_response, read_selection
from surveys.models import Study
from surveys.studies.access import Role, studies_of, study_for
from surveys.studies.wording import say_offered

WHOSE = [
    OpenApiParameter("pilot", bool, description="With the pilot's rows. Default: false."),
    OpenApiParameter("preview", bool, description="With previews. Default: false."),
    OpenApiParameter("simulated", bool, description="With simulated people. Default: true."),
    OpenApiParameter("pids", bool, description="With Prolific's ids; for researchers and owners. Default: false."),
]
PAGING = [
    OpenApiParameter("limit", whole_from(1), description="Rows on a page, at most 1,000. Default: 100."),
    OpenApiParameter("offset", whole_from(0), description="Rows to skip."),
]


class BadRequest(APIException):
    status_code = 400
    default_code = "invalid"


class Conflict(APIException):
    status_code = 409
    default_code = "conflict"


def first_fault(form: Any) -> str:
    """Format a form's first fault for a program, which sees no menus."""
    field, faults = next(iter(form.errors.as_data().items()))
    said = faults[0].messages[0]
    if field == "__all__":
        return said
    if faults[0].code == "invalid_choice":
        known = [str(value) for value, _ in form.fields[field].choices if value]
        said += f" {say_offered(str(faults[0].params['value'])[:60], known)}"
    return f"{field}: {said}"


class Pages(LimitOffsetPagination):
    """Oldest first, so that new rows come at the end and never move a page."""

    max_limit = 1_000


def page_of(name: str, rows: serializers.BaseSerializer | serializers.Field) -> Any:
    """Return the schema of a page of these rows."""
    return inline_serializer(
        name,
        {
            "count": serializers.IntegerField(help_text="On all pages."),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": rows,
        },
    )


ROWS = page_of("Rows", serializers.ListField(child=serializers.DictField(), help_text="Columns: see the codebook."))


def describe_rows(name: str, summary: str) -> Any:
    described = extend_schema(
        operation_id=name, parameters=WHOSE + PAGING, responses={200: ROWS, **refused(403)}, summary=summary
    )
    return extend_schema_view(get=described)


class StudySerializer(serializers.ModelSerializer):
    version = serializers.IntegerField(source="current.number", default=None, allow_null=True)
    version_sha256 = serializers.CharField(source="current.sha256", default=None, allow_null=True)
    participants = serializers.IntegerField(
        source="people", help_text="People as the monitor counts them: no pilot, no previews."
    )
    completed = serializers.IntegerField(source="done")

    class Meta:
        model = Study
        fields = (
            "slug",
            "title",
            "state",
            "version",
            "version_sha256",
            "participants",
            "completed",
            "created_at",
            "launched_at",
            "closed_at",
        )


def counted_studies(user: Any) -> QuerySet[Study]:
    people = Selection().people("participants__")
    done = people & Q(participants__state="completed")
    return (
        studies_of(user, Role.BLINDED)
        .select_related("current")
        .annotate(
            people=Count("participants", filter=people, distinct=True),
            done=Count("participants", filter=done, distinct=True),
        )
        .order_by("slug")
    )


class Studies(Operation):
    @extend_schema(
        operation_id="studies",
        parameters=PAGING,
        responses=page_of("StudyPage", StudySerializer(many=True)),
        summary="Your studies",
    )
    def get(self, request: Request) -> Response:
        pages = Pages()
        page = pages.paginate_queryset(counted_studies(request.user), request, view=self)
        return pages.get_paginated_response(StudySerializer(page, many=True).data)


class StudyView(Operation):
    """A view of one study, which only its members find."""

    def find_study(self, slug: str, least: Role = Role.VIEWER) -> Study:
        return study_for(self.request.user, slug, least)


class OneStudy(StudyView):
    @extend_schema(operation_id="study", responses=StudySerializer, summary="One study")
    def get(self, request: Request, slug: str) -> Response:
        self.find_study(slug)
        return Response(StudySerializer(counted_studies(request.user).get(slug=slug)).data)


class TableRows(StudyView):
    """The rows of one export table, page by page. A page with Prolific's ids is noted in the audit trail."""

    table = ""

    def get(self, request: Request, slug: str) -> Response:
        selection = read_selection(request.query_params)
        study = self.find_study(slug, Role.RESEARCHER if selection.pids else Role.VIEWER)
        self.check(study)
        table = codebook_of(study, selection.pids).tables[self.table]
        pages, read = Pages(), reader_of(study, table)
        page = pages.paginate_queryset(self.sliced(rows_of(study, table, selection)), request, view=self)
        if selection.pids:
            note_export(study, request.user.get_username(), self.table, rows=len(page), **asdict(selection))
        return pages.get_paginated_response([read(values) for values in page])

    def check(self, study: Study) -> None:
        """Raise NotFound where the study has no such table."""

    def sliced(self, rows: Any) -> Any:
        """Return the rows as an object that can be counted and sliced."""
        return rows


@describe_rows("participants", "People of a study")
class Participants(TableRows):
    table = "participants"


@describe_rows("responses", "Answers of a study")
class Responses(TableRows):
    table = "responses"


FILE_METHODS = ["get", "options"]  # HEAD would note in the audit trail that somebody took the file


class AnyType(BaseContentNegotiation):
    """The address names the format, so the Accept header decides nothing; errors are JSON."""

    def select_parser(self, request: Request, parsers: list) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: list, format_suffix: str | None = None) -> Any:
        return JSONRenderer(), JSONRenderer.media_type


class ExportFile(Operation):
    http_method_names = FILE_METHODS
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="export",
        summary="A whole table as a file",
        parameters=[
            *WHOSE,
            OpenApiParameter("table", str, OpenApiParameter.PATH, enum=[*TABLES, *ANNOTATION_TABLES]),
            OpenApiParameter("kind", str, OpenApiParameter.PATH, enum=list(FORMATS)),
        ],
        responses={(200, entry.content_type.split(";")[0]): OpenApiTypes.BINARY for entry in FORMATS.values()}
        | refused(403),
    )
    def get(self, request: Request, slug: str, table: str, kind: str) -> StreamingHttpResponse:
        selection = read_selection(request.query_params)
        return export_response(open_export(request.user, slug, table, kind, selection))


class EverythingFile(Operation):
    http_method_names = FILE_METHODS
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="export_everything",
        summary="All tables and the codebook as one zip file",
        parameters=[*WHOSE, OpenApiParameter("format", str, enum=[*FORMATS, ALL], description="Default: csv.")],
        responses={(200, "application/zip"): OpenApiTypes.BINARY, **refused(403)},
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        kind, selection = request.query_params.get("format") or "csv", read_selection(request.query_params)
        return everything_response(open_everything(request.user, slug, kind, selection), request.user)


class ByFormat(DefaultContentNegotiation):
    """Leaves an unknown format to be refused like other wrong values."""

    def filter_renderers(self, renderers: list, format: str) -> list:
        return [renderer for renderer in renderers if renderer.format == format] or renderers


class AboutTheApi(Operation):
    """A view in other formats whose refusals are JSON nonetheless."""

    def handle_exception(self, error: Exception) -> Response:
        self.request.accepted_renderer, self.request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return super().handle_exception(error)


@extend_schema_view(
    get=extend_schema(exclude=True, parameters=[OpenApiParameter("format", str, enum=["yaml", "json"])])
)
class Schema(AboutTheApi, SpectacularAPIView):
    content_negotiation_class = ByFormat


@extend_schema_view(get=extend_schema(exclude=True, parameters=[OpenApiParameter("script", str)]))
class Docs(AboutTheApi, SpectacularSwaggerSplitView):
    url_name, template_name = "api:schema", "exports/api_docs.html"


ONE = "studies/<slug:slug>/"
urlpatterns = [
    path("studies/", Studies.as_view(), name="studies"),
    path(ONE, OneStudy.as_view(), name="study"),
    path(f"{ONE}participants/", Participants.as_view(), name="participants"),
    path(f"{ONE}responses/", Responses.as_view(), name="responses"),
    path(f"{ONE}export/everything.zip", EverythingFile.as_view(), name="everything"),
    path(f"{ONE}export/<slug:table>.<slug:kind>", ExportFile.as_view(), name="export"),
    path("schema/", Schema.as_view(), name="schema"),
    path("docs/", Docs.as_view(), name="docs"),
    re_path(r"^[\s\S]*$", NoSuchAddress.as_view()),
]
