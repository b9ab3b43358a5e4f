"""What holds for every page about people: not stored by caches or search engines, forms taken whole or not.

And what participants' pages go without: they know nobody by a cookie, so no session, account or message is looked up.
"""

import logging
import re
from binascii import a2b_qp
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.template.loader import render_to_string
from django.utils.functional import cached_property
from django.views.defaults import page_not_found

log = logging.getLogger(__name__)

PARTICIPANTS = ("/s/", "/a/")
PRIVATE = (*PARTICIPANTS, "/console/", "/api/", "/admin/")
URLENCODED = ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded;charset=utf-8")
NO_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
AWAY_STATES = ("08", "53", "57P")  # PostgreSQL: connection lost, no connection left, shut down or starting


class PrivatePagesMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and request.path.startswith(PARTICIPANTS):
            if is_cut_short(request):
                return HttpResponseBadRequest("This form arrived incomplete. Please send it again.")
            if fields := read_form(request):
                request.POST = fields
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
    return length.isdecimal() and len(request.body) < int(length)


def read_form(request: HttpRequest) -> QueryDict | None:
    """The fields of a form as browsers send them; None for every other, which Django reads itself, or refuses.

    Python takes %-encoding apart escape by escape: an answer with its HTML takes longer to decode than to store. In C
    it is quoted-printable with another sign (benchmarks/README.md).
    """
    body, kind = request.body, request.META.get("CONTENT_TYPE", "").replace(" ", "").lower()
    many = body.count(b"&") >= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    large = len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if kind not in URLENCODED or many or large or NO_ESCAPE.search(body):
        return None
    form = QueryDict(mutable=True)
    for field in body.split(b"&"):
        if field:
            name, _, value = field.partition(b"=")
            form.appendlist(decode(name), decode(value))
    form._mutable = False
    return form


def decode(field: bytes) -> str:
    """Every % is followed by two digits of base 16."""
    quoted = field.replace(b"=", b"=3D").replace(b"%", b"=").replace(b"+", b" ")
    return a2b_qp(quoted).decode(errors="replace")


class ContentPolicy(CSPMiddleware):
    """The policy of participants' pages is the same for all, without a nonce: written out once, not for each answer."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(PARTICIPANTS):
            return super().__call__(request)
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self.policy)
        return response

    @cached_property
    def policy(self) -> str:
        return build_policy(**asdict(self.get_policy_parts(HttpRequest(), HttpResponse())))


def for_researchers(middleware: type) -> type:
    """The same, passed over on participants' pages: half of what a page cost beside its content."""

    class ForResearchers(middleware):
        def __call__(self, request: HttpRequest) -> Any:
            if request.path.startswith(PARTICIPANTS):
                return self.get_response(request)
            return super().__call__(request)

    return ForResearchers


Sessions = for_researchers(SessionMiddleware)
Accounts = for_researchers(AuthenticationMiddleware)
Messages = for_researchers(MessageMiddleware)
