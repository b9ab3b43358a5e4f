"""What holds for every page about people: not stored by caches or search engines, forms taken whole or not.

And what participants' pages go without: they know nobody by a cookie, so no session, account or message is looked up.
"""

import logging
import re
from binascii import a2b_qp
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache

from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.functional import cached_property
from django.views.defaults import page_not_found

log = logging.getLogger(__name__)
Answering = Callable[[HttpRequest], HttpResponse]

PARTICIPANTS = ("/s/", "/a/")
PRIVATE = (*PARTICIPANTS, "/console/", "/api/", "/admin/")
NOT_KEPT = {"Cache-Control": "no-store, private", "X-Robots-Tag": "noindex, nofollow"}
URLENCODED = ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded;charset=utf-8")
NO_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
AWAY_STATES = ("08", "53", "57P")  # PostgreSQL: connection lost, no connection left, shut down or starting


class PrivatePagesMiddleware:
    def __init__(self, get_response: Answering) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith(PRIVATE):
            for name, value in NOT_KEPT.items():
                response.headers.setdefault(name, value)
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
    fields: dict[str, list[str]] = {}
    for field in body.split(b"&"):
        if field:
            name, _, value = field.partition(b"=")
            fields.setdefault(decode(name), []).append(decode(value))
    form = QueryDict()
    dict.update(form, fields)  # as it holds them; to append them one by one takes as long as to decode them
    return form


def decode(field: bytes) -> str:
    """Every % is followed by two digits of base 16."""
    quoted = field.replace(b"=", b"=3D").replace(b"%", b"=").replace(b"+", b" ")
    return a2b_qp(quoted).decode(errors="replace")


class Innermost:
    """The last of all middlewares: what it calls is the page itself."""

    page: Answering

    def __init__(self, get_response: Answering) -> None:
        self.get_response = Innermost.page = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class ParticipantsMiddleware:
    """The first of all: participants' pages are answered here, past all other middleware, which cost half a page.

    What those would have done for these pages is done at once: the host's name and the scheme are checked, the language
    is the browser's until the page chooses another, and headers that are the same for all are made only once.
    """

    def __init__(self, get_response: Answering) -> None:
        self.others, self.page = get_response, Innermost.page  # Django makes the last of all first
        self.secured = SecurityMiddleware(self.page)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # An address without its last slash is Django's to complete.
        if not (request.path.startswith(PARTICIPANTS) and request.path.endswith("/")):
            return self.others(request)
        request.get_host()  # refuses names that are not ours
        translation.activate(preferred_language(request.META.get("HTTP_ACCEPT_LANGUAGE", "")))
        request.LANGUAGE_CODE = translation.get_language()
        response = self.secured.process_request(request) or refuse(request) or self.page(request)
        # All at once: to set one by one takes as long as to find the page.
        response.headers._store = {**self.headers[request.is_secure()], **response.headers._store}
        response.headers.setdefault("Content-Language", translation.get_language())
        if not response.streaming:
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    @cached_property
    def headers(self) -> dict[bool, dict[str, tuple[str, str]]]:
        """Those of every page, over plain HTTP and over TLS, as responses hold them."""
        return {secure: self.headers_over(scheme) for secure, scheme in ((False, "http"), (True, "https"))}

    def headers_over(self, scheme: str) -> dict[str, tuple[str, str]]:
        request, response = HttpRequest(), HttpResponse()
        request._get_scheme = lambda: scheme
        policy = CSPMiddleware(self.page).get_policy_parts(request, response)
        self.secured.process_response(request, response)
        XFrameOptionsMiddleware(self.page).process_response(request, response)
        del response["Content-Type"]
        own = {"Content-Security-Policy": build_policy(**asdict(policy)), "Vary": "Accept-Language"}
        for name, value in (own | NOT_KEPT).items():
            response[name] = value
        return response.headers._store


def refuse(request: HttpRequest) -> HttpResponse | None:
    """The answer to a form that did not arrive whole; every other one is taken apart."""
    if request.method == "POST":
        if is_cut_short(request):
            return HttpResponseBadRequest("This form arrived incomplete. Please send it again.")
        if fields := read_form(request):
            request.POST = fields
    return None


@lru_cache(maxsize=256)
def preferred_language(header: str) -> str:
    """Of the pages that we have; browsers send one of a few headers."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"] = header
    return translation.get_language_from_request(request)
