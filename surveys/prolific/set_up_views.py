"""The pages about the study on Prolific: comparing it field by field, making, changing and publishing it."""

from collections.abc import Callable
from functools import partial, wraps

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from surveys.console.setup_views import participant_link
from surveys.models import ProlificGroup, ProlificMessage, Study, fee_of
from surveys.prolific import draft
from surveys.prolific.client import ProlificClient, ProlificError
from surveys.prolific.contact import TEMPLATES, ask_messages, make_groups
from surveys.prolific.tasks import keep_contact
from surveys.prolific.views import frame
from surveys.studies.access import Role, studies_of
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import FORM, saying, show, study_page
from surveys.studies.wording import money, plural

MOST_SHOWN = 50  # messages, the newest
PATIENCE = 10.0  # seconds that a page waits for Prolific; it asks once


def asked_once() -> ProlificClient:
    return ProlificClient(patience=PATIENCE, tries=1)


@study_page(Role.RESEARCHER, require_safe)
def on_prolific(request: HttpRequest) -> HttpResponse:
    return show(request, "prolific/set_up.html", "paying", **set_up_page(request.study), **frame())


def set_up_page(study: Study) -> dict:
    """Context of the page: the study as it is on Prolific now, or why it cannot be read."""
    link, remote = participant_link(study), draft.remote_id(study)
    parts: list[draft.DraftField] = []
    status = fault = ""
    if remote:
        try:
            with asked_once() as client:
                theirs = client.content_of(remote)
            parts, status = draft.compare(study, link, theirs), str(theirs.get("status", ""))[:20]
        except ProlificError as error:
            fault = str(error)
    ours = draft.wanted(study, link)
    return {
        "remote": remote,
        "parts": parts,
        "state_there": status,
        "fault": fault,
        "is_draft": status == draft.DRAFT,
        "differs": sum(not part.is_same for part in parts),
        "sentence": say_parts(remote, parts, status),
        "wanted": [(label, draft.show(name, ours[name])) for name, label in draft.LABELS.items()],
        "currency": definition_of(study.current_id).pay.currency,
        "seen": draft.seen_of(study, link),
        "groups": group_rows(study),
        "templates": [(name, label) for name, (label, _) in TEMPLATES.items()],
        "words": [(label, words) for label, words in TEMPLATES.values()],
        "sent": ProlificMessage.objects.filter(study=study).select_related("participant").order_by("-pk")[:MOST_SHOWN],
    }


def group_rows(study: Study) -> list[dict]:
    """The groups that the study file asks for, with those that were made."""
    made = {group.kind: group for group in ProlificGroup.objects.filter(study=study)}
    return [
        {"label": ProlificGroup.Kind(kind).label, "sources": ", ".join(slugs), "group": made.get(kind)}
        | {"is_ours": kind in made and made[kind].sources == slugs}
        for kind, slugs in draft.group_sources(study).items()
    ]


def say_parts(remote: str, parts: list[draft.DraftField], status: str) -> str:
    if not remote:
        return "There is no study on Prolific yet."
    if not parts:
        return "The study on Prolific could not be read."
    where = "The draft on Prolific" if status == draft.DRAFT else "The study on Prolific"
    differs = sum(not part.is_same for part in parts)
    return f"{where} differs in {plural(differs, 'field')}." if differs else f"{where} is as the study file wants it."


def act(request: HttpRequest, step: Callable[[ProlificClient], str]) -> HttpResponse:
    """Take a step, report the outcome, and go back to the page."""
    with saying(request, draft.SetUpError, ProlificError), asked_once() as client:
        messages.success(request, step(client))
    return redirect("paying:set-up", request.study.slug)


Step = Callable[[HttpRequest, ProlificClient], str]


def step_page(step: Step) -> Callable[..., HttpResponse]:
    """Make the view of a step's button, which takes the step at once and reports the outcome."""

    @study_page(Role.RESEARCHER, require_POST)
    @wraps(step)
    def page(request: HttpRequest) -> HttpResponse:
        return act(request, partial(step, request))

    return page


@step_page
def make(request: HttpRequest, client: ProlificClient) -> str:
    name = draft.make_draft(request.study, participant_link(request.study), request.user.get_username(), client)
    return f"The draft {name} is on Prolific. Nobody sees it until somebody publishes it."


@step_page
def update(request: HttpRequest, client: ProlificClient) -> str:
    names = draft.update_draft(request.study, participant_link(request.study), request.user.get_username(), client)
    return f"{plural(len(names), 'field')} of the draft changed." if names else "There was nothing to change."


@step_page
def groups(request: HttpRequest, client: ProlificClient) -> str:
    may_use = set(studies_of(request.user, Role.RESEARCHER).values_list("slug", flat=True))
    made = make_groups(request.study, request.user.get_username(), may_use, client)
    return f"{plural(made, 'group')} in step with the people here."


@study_page(Role.RESEARCHER, FORM)
def publish(request: HttpRequest) -> HttpResponse:
    """Ask once, stating the cost, then publish."""
    study = request.study
    if request.method != "POST":
        pay, places = definition_of(study.current_id).pay, draft.wanted(study, "")["total_available_places"]
        cents = places * pay.cents
        cost = {"pays": money(cents, pay.currency), "fee": money(fee_of(cents), pay.currency), "places": places}
        return show(request, "prolific/publish.html", "paying", **cost, **set_up_page(study), **frame())

    def step(client: ProlificClient) -> str:
        actor, seen = request.user.get_username(), request.POST.get("seen", "")
        draft.publish(study, participant_link(study), actor, client, seen)
        return "The study is published on Prolific."

    return act(request, step)


@study_page(Role.RESEARCHER, require_POST)
def write(request: HttpRequest) -> HttpResponse:
    """Queue the same message to everybody named; the worker sends it."""
    study, template = request.study, request.POST.get("template", "")
    named = request.POST.get("people", "").replace("\0", "")
    try:
        asked = ask_messages(study, template, list(dict.fromkeys(named.split())), request.user.get_username())
    except draft.SetUpError as fault:
        messages.error(request, str(fault))
        page = set_up_page(study) | {"people_named": named, "message": template}
        return show(request, "prolific/set_up.html", "paying", 422, **page, **frame())
    keep_contact.delay(study.pk)
    messages.success(request, f"{plural(asked, 'message')} to be sent in the background.")
    return redirect("paying:set-up", study.slug)


urlpatterns = [
    path("console/<slug:slug>/paying/study/", on_prolific, name="set-up"),
    path("console/<slug:slug>/paying/study/make/", make, name="make"),
    path("console/<slug:slug>/paying/study/update/", update, name="update"),
    path("console/<slug:slug>/paying/study/publish/", publish, name="publish"),
    path("console/<slug:slug>/paying/study/groups/", groups, name="groups"),
    path("console/<slug:slug>/paying/study/write/", write, name="write"),
]
