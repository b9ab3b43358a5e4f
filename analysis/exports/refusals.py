"""The API's refusals: all in one shape, and named in its schema."""

from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotFound, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler


class ProblemSerializer(serializers.Serializer):
    """The body of every refusal."""

    detail = serializers.CharField(help_text="What is wrong and what to do, in a sentence.")


def refused(*statuses: int) -> dict[int, type[ProblemSerializer]]:
    """Refusals that only this operation has, for the `responses` of `extend_schema`."""
    return dict.fromkeys(statuses, ProblemSerializer)


class TooLarge(APIException):
    status_code = 413
    default_detail = "The body is too large."


def tell_problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Report refusals by Django itself, such as of a form with too many fields, like all others."""
    if isinstance(error, RequestDataTooBig):
        error = TooLarge()
    elif isinstance(error, SuspiciousOperation):
        error = ParseError("This request can't be read.")
    return exception_handler(error, context)


class TrueSchema(AutoSchema):
    """Adds the refusals that follow from what an operation takes."""

    def _get_response_bodies(self, *given: Any, **more: Any) -> dict[str, Any]:
        statuses = [401] if AllowAny not in self.view.permission_classes else []
        if issubclass(self.view.content_negotiation_class, DefaultContentNegotiation):
            statuses.append(406)
        if "{" in self.path:
            statuses.append(404)
        if self.method == "POST":
            statuses += [400, 413, 415]
        bodies: dict[str, Any] = super()._get_response_bodies(*given, **more)
        told = {
            str(status): self._get_response_for_code(ProblemSerializer, str(status), ["application/json"])
            for status in statuses
        }
        return dict(sorted((told | bodies).items()))


class NoSuchAddress(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound("There is nothing at this address of the API.")
