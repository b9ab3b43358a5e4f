"""Arrival: the address that Prolific sends people to, and consent."""

from collections.abc import Callable
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path, reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from surveys.models import Participant, Study, locks
from surveys.participation import recruitment, views
from surveys.participation.languages import choose_language, language_menu, speak
from surveys.participation.prolific import TOKEN_PARAMETER, Visit, completion_url, is_signed, is_simulated, read_visit
from surveys.participation.steps import area_of, current_page, place_of
from surveys.studies.access import unproven, within_limit
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import definition_in, definition_of

SEEN = "VERSION"  # in the form of the consent page: the hash of the version that it showed


# No cookie carries any right on these pages, so a foreign page has nothing that it could make a browser send along.
@csrf_exempt
@require_http_methods(["GET", "POST", "HEAD"])
def arrive(
    request: HttpRequest,
    study: str,
    begin: Callable[[Participant], Participant] | None = None,
    may_return: recruitment.Returns | None = None,
) -> HttpResponse:
    """The entry page, and the answer to its request for consent; `begin` receives each participant who consents."""
    # A known person may withdraw in another window at the same moment.
    return locks.again(partial(let_in, request, study, begin, may_return), Participant.DoesNotExist)


def let_in(
    request: HttpRequest,
    study: str,
    begin: Callable[[Participant], Participant] | None,
    may_return: recruitment.Returns | None,
) -> HttpResponse:
    if not within_limit(request, "entry"):
        return trouble(request, "busy", status=429)
    found = Study.objects.select_related("current").filter(slug=study).first()
    if found is None or found.current is None:
        return trouble(request, "no-study", status=404)
    definition = definition_of(found.current_id)
    area = area_of(definition)
    if request.resolver_match.namespace != area:
        entry = reverse(f"{area}:arrive", args=[study])
        return HttpResponseRedirect(f"{entry}?{request.META['QUERY_STRING']}", preserve_request=True)
    language = choose_language(request, definition)
    speak(request, language)
    definition = definition_in(found.current_id, language)
    try:
        visit = read_visit(request.POST if request.method == "POST" else request.GET)
    except ValueError as faults:
        return trouble(request, "ids", definition, faults=str(faults), status=400)
    try:
        recruitment.check_visit(found, visit)
    except recruitment.ForgedVisit as fault:
        return trouble(request, "forged", definition, faults=str(fault), status=403)
    if participant := found.participants.filter(pid=visit.pid).first():
        recruitment.record_session(participant, visit, may_return)
        participant.refresh_from_db()
        return to_page(request, participant, visit)
    if not found.is_open:
        return trouble(request, found.state, definition, status=200)
    # A page that was open while the study was amended showed another text, or other pay: it is shown anew.
    seen = request.POST.get(SEEN, found.current.sha256)
    if request.POST.get("consent") == "no" or (request.POST.get("consent") == "yes" and seen == found.current.sha256):
        return decide(request, found, visit, language, begin)
    if request.method == "POST":
        return redirect(f"{request.path}?{request.POST.urlencode()}")
    page = consent_page(request, found, definition, visit) | language_menu(definition, language)
    page["visit"] |= {SEEN: found.current.sha256}
    return render(request, "participation/consent.html", page)


def consent_page(request: HttpRequest, study: Study, definition: Definition, visit: Visit) -> dict:
    return {
        "study": study,
        "definition": definition,
        "visit": visit.as_parameters(),
        "simulated": request.GET.get("SIMULATED") or request.POST.get("SIMULATED", ""),
        "pilot": study.state == Study.State.PILOT,
        "place": place_of("consent", definition),
        "consent_sha256": recruitment.consent_hash(definition),
    }


def decide(
    request: HttpRequest,
    study: Study,
    visit: Visit,
    language: str,
    begin: Callable[[Participant], Participant] | None,
) -> HttpResponse:
    simulated = is_simulated(visit.pid, request.POST.get("SIMULATED", ""))
    origin = Participant.Origin.SIMULATED if simulated else Participant.Origin.PROLIFIC
    if request.POST.get("consent") == "no":
        recruitment.refuse_consent(study, origin)
        refused = reverse(f"{area_of(definition_of(study.current_id))}:no-consent", args=[study.slug])
        return redirect(f"{refused}?lang={language}")
    if not within_limit(request, "consent"):
        return trouble(request, "busy", status=429)
    participant = recruitment.give_consent(study, visit, origin, language)
    if begin:
        participant = begin(participant)
    return to_page(request, participant, visit)


def to_page(request: HttpRequest, participant: Participant, visit: Visit) -> HttpResponse:
    """Redirect to a person's page. A known PID in another session proves nothing unless Prolific signed the visit."""
    token = request.GET.get(TOKEN_PARAMETER) or request.POST.get(TOKEN_PARAMETER, "")
    is_own = recruitment.is_first_session(participant, visit) or is_signed(token, visit)
    with unproven(not is_own):
        return redirect(current_page(participant, definition_of(participant.version_id)))


def no_consent(request: HttpRequest, study: str) -> HttpResponse:
    return farewell(request, study, "no_consent")


def withdrawn(request: HttpRequest, study: str) -> HttpResponse:
    return farewell(request, study, "withdrawn")


def farewell(request: HttpRequest, slug: str, outcome: str) -> HttpResponse:
    """The last page for people of whom nothing is kept; the same for all of them."""
    study = get_object_or_404(Study.objects.filter(current__isnull=False), slug=slug)
    definition = definition_of(study.current_id)
    if outcome not in definition.codes:
        raise Http404("Its labels were collected elsewhere.")
    language = choose_language(request, definition)
    speak(request, language)
    definition = definition_in(study.current_id, language)
    code = definition.codes[outcome]
    page = {
        "definition": definition,
        **language_menu(definition, language),
        "outcome": outcome,
        "code": code,
        "completion_url": completion_url(code),
    }
    page["goes_by_itself"] = outcome == "no_consent"
    return render(request, "participation/end.html", page)


def trouble(
    request: HttpRequest, what: str, definition: Definition | None = None, status: int = 200, faults: str = ""
) -> HttpResponse:
    """A page about a problem on arrival, and the person's options."""
    page = {"what": what, "definition": definition, "faults": faults}
    return render(request, "participation/trouble_at_entry.html", page, status=status)


# Addresses shared by people who paste answers and annotators. A signed link works without cookies.
OWN = "<slug:study>/<str:token>/"
shared: list[URLPattern] = [
    path("<slug:study>/no-consent/", no_consent, name="no-consent"),
    path("<slug:study>/withdrawn/", withdrawn, name="withdrawn"),
    path(OWN, views.resume, name="resume"),
    path(f"{OWN}background/", views.background, name="background"),
    path(f"{OWN}background/<int:page>/", views.background, name="background"),
    path(f"{OWN}comprehension/", views.comprehension, name="comprehension"),
    path(f"{OWN}end/", views.end, name="end"),
]
