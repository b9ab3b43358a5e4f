"""What holds for every page about people: not stored by caches or search engines, forms taken whole or not."""

import logging
import re
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.template.loader import render_to_string
from django.views.defaults import page_not_found

log = logging.getLogger(__name__)

AWAY_STATES = ("08", "53", "57P")  # PostgreSQL: connection lost, no connection left, shut down or starting
PRIVATE = ("/s/", "/a/", "/console/", "/api/", "/admin/")


# What a log may not hold: the signed part of a participant's address, who Prolific says they are, rows of tables.
LINK = re.compile(r"(/[as]/[\w-]+/)[^/\s~]+~[\w-]+|(PROLIFIC_PID=|SESSION_ID=)[^&\s'\"]+")
ROW = re.compile(r"^(DETAIL|CONTEXT): .*(?:\n {2,}.*)*", re.MULTILINE)


class PrivateFormatter(logging.Formatter):
    """Lines of a log without what they may not hold, tracebacks and their messages included."""

    def format(self, record: logging.LogRecord) -> str:
        text = LINK.sub(lambda found: f"{found[1] or found[2]}…", super().format(record))
        return ROW.sub(r"\1: left out", text)


class PrivatePagesMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(("/s/", "/a/")) and is_cut_short(request):
            return HttpResponseBadRequest("This form arrived incomplete. Please send it again.")
        response = self.get_response(request)
        if request.path.startswith(PRIVATE):
            response.headers.setdefault("Cache-Control", "no-store, private")
            response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """Who follows a damaged link reads the same page wherever it runs, never Django's own for developers."""
        if is_away(fault):
            return come_back(fault)
        return page_not_found(request, fault) if isinstance(fault, Http404) else None


def is_away(fault: BaseException) -> bool:
    """Whether the database ended, starts, does not answer or has no connection left: not a fault of ours."""
    if isinstance(fault, InterfaceError):
        return True
    state = getattr(fault.__cause__, "sqlstate", None)
    return isinstance(fault, OperationalError) and (state is None or state.startswith(AWAY_STATES))


def come_back(fault: Exception) -> HttpResponse:
    """The same form may be sent again. Logged without the address, which may be a participant's link."""
    log.error("The database is away: %s", " ".join(str(fault).split()))
    response = HttpResponse(render_to_string("500.html"), status=503, headers={"Retry-After": "5"})
    response._has_been_logged = True  # else Django names the address
    return response


def is_cut_short(request: HttpRequest) -> bool:
    """Whether the line broke within a form. The server hands over what came, and a part of an answer is none."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return request.method == "POST" and length.isdecimal() and len(request.body) < int(length)
