"""Pages about people: kept out of caches and search engines; incomplete forms are refused. Faster Django middleware."""

import logging
from collections.abc import Callable
from functools import partial

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.messages.storage import default_storage
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.middleware.locale import LocaleMiddleware
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject, empty
from django.views.defaults import page_not_found

log = logging.getLogger(__name__)
Answering = Callable[[HttpRequest], HttpResponse]

PARTICIPANTS = ("/s/", "/a/")
PRIVATE = (*PARTICIPANTS, "/console/", "/api/", "/admin/")
NOT_KEPT = {"Cache-Control": "no-store, private", "X-Robots-Tag": "noindex, nofollow"}
MOST_FIELDS = 500  # of a participant or annotator; researchers' forms have more
AWAY_STATES = ("08", "53", "57P")  # PostgreSQL: connection lost, no connection left, shut down or starting


class PrivatePagesMiddleware:
    def __init__(self, get_response: Answering) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = cut_short(request) or self.get_response(request)
        if response.status_code == 404 and request.resolver_match is None:  # Django's lists all addresses if DEBUG
            response = page_not_found(request, Http404())
        if request.path.startswith(PRIVATE):
            for name, value in NOT_KEPT.items():
                response.headers.setdefault(name, value)
        return response

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """Answer 503 if the database is away; for a damaged link show our 404 page, never Django's for developers."""
        if is_away(fault):
            return come_back(fault)
        return page_not_found(request, fault) if isinstance(fault, Http404) else None


class SamePolicyMiddleware(CSPMiddleware):
    """The content security policy, built once for all pages that add nothing to it."""

    def __init__(self, get_response: Answering) -> None:
        super().__init__(get_response)
        self.policy = build_policy()

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        has_own = hasattr(request, "_csp_nonce") or any(name.startswith("_csp") for name in vars(response))
        if has_own or response.status_code in (404, 500):
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, self.policy)
        return response


class NoPathLocaleMiddleware(LocaleMiddleware):
    """The language of a page, never looked for in its address."""

    def process_request(self, request: HttpRequest) -> None:
        translation.activate(translation.get_language_from_request(request))
        request.LANGUAGE_CODE = translation.get_language()

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        patch_vary_headers(response, ("Accept-Language",))
        response.headers.setdefault("Content-Language", translation.get_language())
        return response


class LazyMessageMiddleware(MessageMiddleware):
    """Messages, only looked for when a page shows or adds one."""

    def process_request(self, request: HttpRequest) -> None:
        request._messages = SimpleLazyObject(partial(default_storage, request))

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        messages = getattr(request, "_messages", None)
        return response if getattr(messages, "_wrapped", None) is empty else super().process_response(request, response)


def is_away(fault: BaseException) -> bool:
    """Whether the database has stopped, is starting, does not answer or has no connection left: no fault of ours."""
    if isinstance(fault, InterfaceError):
        return True
    state = getattr(fault.__cause__, "sqlstate", None)
    return isinstance(fault, OperationalError) and (state is None or state.startswith(AWAY_STATES))


def come_back(fault: Exception) -> HttpResponse:
    """Say that the form may be sent again. Logged without the address, which may be a participant's link."""
    log.error("The database is away: %s", " ".join(str(fault).split()))
    response = HttpResponse(render_to_string("500.html"), status=503, headers={"Retry-After": "5"})
    response._has_been_logged = True  # else Django names the address
    return response


def cut_short(request: HttpRequest) -> HttpResponse | None:
    """Refuse a form that was cut off on its way or has too many fields; else return None."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if request.method != "POST" or not request.path.startswith(PARTICIPANTS) or not length.isdecimal():
        return None
    if len(request.body) < int(length):
        return HttpResponseBadRequest("This form arrived incomplete. Please send it again.")
    boundary = f"--{request.content_params.get('boundary')}".encode(errors="replace")
    most = {
        "application/x-www-form-urlencoded": (b"&", MOST_FIELDS - 1),
        "multipart/form-data": (boundary, MOST_FIELDS + 1),  # before each part, and after the last
    }
    mark, count = most.get(request.content_type, (b"", 0))
    if mark and request.body.count(mark) > count:
        return HttpResponseBadRequest(f"A form here has at most {MOST_FIELDS} fields.")
    return None
