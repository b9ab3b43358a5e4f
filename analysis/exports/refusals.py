"""The API's refusals: all in one shape, declared in its schema, and of everything that the schema does not declare."""

import io
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpResponsePermanentRedirect, QueryDict
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotFound, ParseError, UnsupportedMediaType
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import APISettings
from rest_framework.views import APIView, exception_handler

from surveys.reading.nesting import is_deep_json
from surveys.studies.wording import say_offered

TRUE = (True, "true")  # in a body
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
MOST_WHOLE = 10**18 - 1  # that the database surely takes


class ProblemSerializer(serializers.Serializer):
    """The body of every refusal."""

    detail = serializers.CharField(help_text="What is wrong and what to do, in a sentence.")


def refused(*statuses: int) -> dict[int, type[ProblemSerializer]]:
    """Return the refusals that only this operation has, for the `responses` of `extend_schema`."""
    return dict.fromkeys(statuses, ProblemSerializer)


class TooLarge(APIException):
    status_code = 413
    default_detail = "The body is too large."


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn Django's own refusals, such as of a form with too many fields, into the same shape as others."""
    if isinstance(error, RequestDataTooBig):
        error = TooLarge()
    elif isinstance(error, SuspiciousOperation):
        error = ParseError("This request can't be read.")
    return exception_handler(error, context)


class TrueSchema(AutoSchema):
    """Adds the refusals that follow from what an operation takes."""

    def _get_response_bodies(self, *given: Any, **more: Any) -> dict[str, Any]:
        statuses = [400, 401] if AllowAny not in self.view.permission_classes else [400]
        if issubclass(self.view.content_negotiation_class, DefaultContentNegotiation):
            statuses.append(406)
        if "{" in self.path:
            statuses.append(404)
        if self.method == "POST":
            statuses += [413, 415]
        bodies: dict[str, Any] = super()._get_response_bodies(*given, **more)
        added = {
            str(status): self._get_response_for_code(ProblemSerializer, str(status), ["application/json"])
            for status in statuses
        }
        return dict(sorted((added | bodies).items()))


def whole_from(least: int, most: int | None = None) -> dict[str, Any]:
    """Return the type of a parameter that takes whole numbers."""
    return {"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most})


class ByAccept(DefaultContentNegotiation):
    """Leaves the parameter `format` to the operations that have one."""

    settings = APISettings({"URL_FORMAT_OVERRIDE": None})


class WholeJSONParser(JSONParser):
    """Refuses what is nested too deeply."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        content = stream.read()
        encoding = (parser_context or {}).get("encoding") or "utf-8"
        if is_deep_json(content.decode(encoding, "replace")):
            raise ParseError("This JSON is nested too deeply.")
        return super().parse(io.BytesIO(content), media_type, parser_context)


class Operation(APIView):
    """A view that refuses parameters and fields that its schema does not declare, and wrong values of parameters."""

    content_negotiation_class: Any = ByAccept
    parser_classes = (WholeJSONParser, FormParser, MultiPartParser)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        declared = getattr(getattr(self, request.method.lower(), None), "kwargs", {}).get("schema")
        if declared is None:  # OPTIONS, or a method that is not allowed
            return
        schema = declared()
        schema.view = self
        check_query(request.query_params, schema.get_override_parameters())
        if request.method == "POST":
            if (encoding := request.headers.get("Content-Encoding") or "identity").lower() != "identity":
                raise UnsupportedMediaType(encoding, f"Send the body as it is, without {encoding[:40]}.")
            body = schema.get_request_serializer()
            check_body(request.data, body.fields if body else {})


def check_query(query: QueryDict, declared: Iterable[OpenApiParameter]) -> None:
    """Raise ParseError for undeclared, repeated or wrong parameters; an empty value counts as none."""
    known = {entry.name: entry for entry in declared if entry.location == OpenApiParameter.QUERY}
    for name, values in query.lists():
        if name not in known:
            raise ParseError(say_unknown(name, "parameter", known))
        if len({*values}) > 1 and not known[name].many:
            raise ParseError(f"{name} is given more than once.")
        for value in filter(None, values):
            if wanted := say_wanted(value, known[name]):
                raise ParseError(f"{name} {wanted}, not {value[:40]!r}.")


def check_body(data: Any, fields: Mapping[str, serializers.Field]) -> None:
    """Raise ParseError for undeclared fields and wrong booleans, which forms send as words."""
    if not isinstance(data, dict):
        raise ParseError(f"Send a JSON object. {say_there('field', fields)}")
    for name, value in data.items():
        if name not in fields:
            raise ParseError(say_unknown(name, "field", fields))
        if isinstance(fields[name], serializers.BooleanField) and value not in (None, *TRUE, False, "false"):
            raise ParseError(f"{name} is true or false, not {value!r:.40}.")


def say_unknown(name: str, kind: str, known: Collection[str]) -> str:
    near = get_close_matches(name[:60], known, 1)
    return f"{name[:60]}: no such {kind}. {f'Did you mean {near[0]}?' if near else say_there(kind, known)}"


def check_named(name: str, value: str, known: Collection[str]) -> None:
    """Raise ParseError if the study lacks what a parameter names."""
    if value not in known:
        raise ParseError(f"{name}={value[:60]} is unknown here. {say_offered(value[:60], [*known])}")


def say_there(kind: str, known: Collection[str]) -> str:
    return f"The {kind}s are {', '.join(known)}." if known else f"There is no {kind} here."


def say_wanted(value: str, parameter: OpenApiParameter) -> str:
    """Say what the parameter takes if this value is wrong, else nothing."""
    kind = parameter.type
    if parameter.enum:
        *names, last = (*parameter.enum, "left out") if len(parameter.enum) == 1 else parameter.enum
        return "" if value in parameter.enum else f"is {', '.join(names)} or {last}"
    if kind is bool:
        return "" if value.lower() in (*YES, *NO) else "is true or false"
    if not isinstance(kind, dict):
        return ""
    least, most, number = kind["minimum"], kind.get("maximum", MOST_WHOLE), value.strip()
    if number.isascii() and number.isdecimal() and len(number) < 19 and least <= int(number) <= most:
        return ""
    return f"takes {least:,} to {most:,}" if "maximum" in kind else f"takes whole numbers from {least}"


class NoSuchAddress(APIView):
    """Redirects only GET and HEAD to the address with a slash, since other methods would become a GET."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        ends = request.path.endswith("/") or "." in request.path.rsplit("/", 1)[1]
        if ends or request.method not in ("GET", "HEAD"):
            more = "" if ends else " Addresses end with a slash."
            raise NotFound(f"There is nothing at this address of the API.{more}")

    def get(self, request: Request) -> HttpResponsePermanentRedirect:
        return HttpResponsePermanentRedirect(request.get_full_path(force_append_slash=True))
