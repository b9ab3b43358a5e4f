"""The shared part of console pages: access, the frame around them, and notes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from typing import TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import redirect_to_login
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render, resolve_url
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string
from django.views.decorators.http import require_http_methods

from surveys.models import Note
from surveys.studies.access import RANK, Role, study_and_role

View = Callable[..., HttpResponse]
R = TypeVar("R", bound=HttpResponseBase)
FORM = require_http_methods(["GET", "HEAD", "POST"])  # a page with a form
STOPS_POLLING = 286  # htmx: nothing more will come


def member_page(view: View) -> View:
    """Decorate a page for everybody with an account; refusals, missing pages and form-only addresses are explained."""

    @wraps(view)
    def page(request: HttpRequest, *args: object, **names: object) -> HttpResponse:
        use_english(request)
        if not request.user.is_authenticated:
            return ask_to_log_in(request)
        try:
            answer = view(request, *args, **names)
        except PermissionDenied as refusal:
            return render(request, "console/refused.html", {"why": str(refusal)}, status=403)
        except Http404:
            return render(request, "console/missing.html", status=404)
        if request.method == "GET" and answer.status_code == 405:
            answer.write(render_to_string("console/only_sent.html", request=request))
        return answer

    return page


def use_english(request: HttpRequest) -> None:
    """Switch to English, the console's only language; else Django's own messages would follow the browser."""
    translation.activate("en")
    request.LANGUAGE_CODE = "en"


def study_page(least: Role = Role.VIEWER, only: Callable[[View], View] | None = None) -> Callable[[View], View]:
    """Decorate a page of one study: only members find it, roles below `least` are refused; `only` limits methods."""

    def decorate(view: View) -> View:
        view = only(view) if only else view

        @wraps(view)
        @member_page
        def page(request: HttpRequest, slug: str, *args: object, **names: object) -> HttpResponse:
            request.study, request.role = study_and_role(request.user, slug, least)
            return view(request, *args, **names)

        return page

    return decorate


def ask_to_log_in(request: HttpRequest) -> HttpResponse:
    """Lead to the log-in and back; a form that was sent is held in the log-in's page, and offered afterwards."""
    studies = resolve_url("console:studies")
    if request.headers.get("HX-Request"):
        # A part of a page must not become a log-in form: the browser is sent there as a whole.
        here = urlsplit(request.headers.get("HX-Current-URL", ""))._replace(scheme="", netloc="").geturl()
        return HttpResponse(headers={"HX-Redirect": redirect_to_login(here or studies).url})
    if request.method == "POST":
        sent = form_of(request)
        sealed = signing.dumps(sent, salt=UNSENT, compress=True) if sent else ""
        page = {"form": AuthenticationForm(request), "next": studies, "was_sent": True, UNSENT: sealed}
        return render(request, "console/login.html", page, status=401)
    return redirect_to_login(request.get_full_path())


UNSENT = "unsent"  # the log-in form's field with another form, and the salt of that form's signature
LONGEST_WAIT = timedelta(hours=12)
Form = tuple[str, list[tuple[str, list[str]]]]  # its address, and the values of its fields


def form_of(request: HttpRequest) -> Form | None:
    """The form that was sent; None with files, which cannot be sent again, or passwords, which no page repeats."""
    fields = [(name, values) for name, values in request.POST.lists() if name != "csrfmiddlewaretoken"]
    if request.FILES or any("password" in name for name, _ in fields):
        return None
    return request.get_full_path(), fields


def offer_again(request: HttpRequest, form: Form, why: str, status: int = 200) -> HttpResponse:
    """Show the page whose button sends a form that was not taken."""
    return render(request, "console/unsent.html", {"path": form[0], "fields": form[1], "why": why}, status=status)


def offer_unsent(request: HttpRequest) -> HttpResponse | None:
    """Offer the form that the log-in held; None if it held none that this server signed."""
    try:
        form = signing.loads(request.POST.get(UNSENT, ""), salt=UNSENT, max_age=LONGEST_WAIT)
    except signing.BadSignature:
        return None
    return offer_again(request, form, "You were logged out.")


def refuse_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid CSRF token: one from a page of ours, older than the log-in, can be sent again."""
    use_english(request)
    is_ours = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    form = form_of(request) if is_ours else None
    if form is None:
        return render(request, "console/refused_form.html", status=403)
    if not request.user.is_authenticated:
        return ask_to_log_in(request)
    return offer_again(request, form, "You have logged in since you opened the form.", status=403)


@contextmanager
def saying(request: HttpRequest, *faults: type[Exception]) -> Iterator[None]:
    """Show these faults as messages on the next page."""
    try:
        yield
    except faults as fault:
        messages.error(request, str(fault))


def may(request: HttpRequest, least: Role) -> bool:
    return RANK[request.role] >= RANK[least]


def show(request: HttpRequest, template: str, here: str, status: int = 200, **page: object) -> HttpResponse:
    """Render a study's page; `here` is its tab. The frame is lazy, as parts of pages never look at it."""
    frame = {
        "frame": SimpleLazyObject(lambda: import_string(settings.CONSOLE_FRAME)(request, here)),
        "study": request.study,
        "here": here,
        "role": request.role,
        "may_act": may(request, Role.RESEARCHER),
        "may_own": may(request, Role.OWNER),
    }
    return render(request, template, frame | page, status=status)


def show_live(request: HttpRequest, template: str, here: str, **page: object) -> HttpResponse:
    """Render a part that htmx polls while something is `live`; when nothing is any more, reload the page."""
    if page["live"]:
        return show(request, template, here, status=200, **page)
    response = show(request, template, here, STOPS_POLLING, **page)
    response["HX-Refresh"] = "true"
    return response


def notes_on(request: HttpRequest, kind: str, key: int) -> dict:
    """Context of `console/_notes.html`, the oldest first; notes about a person include those about their answers.

    Blinded members read no notes, as one may tell what another member saw.
    """
    about = Q(**{kind: key})
    if kind == "participant":
        about |= Q(response__participant=key)
    notes = Note.objects.filter(about, study=request.study).select_related("author", "response__prompt").order_by("pk")
    rows = notes if request.role != Role.BLINDED else ()
    return {"rows": rows, "kind": kind, "key": key, "back": request.get_full_path(), "longest": Note.LONGEST}


def page_of(request: HttpRequest, rows: QuerySet, size: int, count: int | None = None) -> Page:
    """The page of rows that the request asks for; `count` is the number of all rows, if known."""
    pages = Paginator(rows, size)
    if count is not None:
        pages.count = count
    return pages.get_page(request.GET.get("page"))


def address_without_page(request: HttpRequest) -> str:
    """The query string without its page, for links to other pages."""
    query = request.GET.copy()
    query.pop("page", None)
    return f"{query.urlencode()}&" if query else ""


def as_file(content: str | bytes, content_type: str, name: str) -> HttpResponse:
    return saved_as(name, HttpResponse(content, content_type=content_type))


def saved_as(name: str, response: R) -> R:
    """The response as a file of this name, which a browser saves instead of showing it."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
