"""Set-up: the definition to read, its versions, and the steps from draft to closed."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from surveys.annotation.items import has_items
from surveys.console.monitoring.people import CHECK_NAMES, DecisionError, start_preview
from surveys.models import Study, StudyVersion, TeamRequest
from surveys.participation.steps import address, area_of
from surveys.studies import keeping, lifecycle, second_person
from surveys.studies.access import Role
from surveys.studies.files.definitions import Definition, in_language, prompt_text
from surveys.studies.files.schema import OUTCOMES
from surveys.studies.flow import OUTCOME_NAMES
from surveys.studies.members import lift_blinding
from surveys.studies.pages import FORM, may, notes_on, saved_as, saying, show, study_page
from surveys.studies.second_person import SecondPersonError
from surveys.studies.wording import language_name

State = Study.State
NOBODY_WAITS = "Nobody waits for an answer any more."
PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
# To choose on Prolific for each code: its type there, and the action on the submission.
CODE_TYPES = {
    "completed": ("COMPLETED", "Manually review, then approve"),
    "no_consent": ("NO_CONSENT", "Request a return"),
    "screened_out": (
        "OTHER",
        "Manually review, where the study file promises a screen-out; otherwise request a return",
    ),
    "over_quota": (
        "OTHER",
        "Manually review; pay a screen-out that the study file promises, otherwise request a return",
    ),
    "misunderstood": ("OTHER", "Request a return; this does not count as a failed attention check"),
    "technical": ("OTHER", "Manually review; pay for the time spent"),
    "late": ("OTHER", "Manually review, then approve: the work was done"),
    "withdrawn": ("OTHER", "Request a return"),
    "returned": ("OTHER", "Request a return"),
}


@dataclass(frozen=True)
class LifeStep:
    """A step in a study's life: its rule, its button, and the consequences to read first."""

    rule: Callable[[Study, str], None]
    button: str
    title: str
    consequences: tuple[str, ...]
    states: tuple[str, ...] = ()  # in which the set-up has the button
    least: Role = Role.RESEARCHER
    done: str = ""  # message afterwards; empty: the study's new state
    page: str = "setup"  # that has the button
    archived: bool = False  # a step of studies in the archive


STEPS = {
    "pilot": LifeStep(
        lifecycle.start_pilot,
        "Start the pilot",
        "Start the pilot?",
        (
            "The link works from now on. Everybody who comes is marked as part of the pilot.",
            "People in the pilot fill no places and are left out of the main data. They are paid like everybody else.",
        ),
        (State.DRAFT,),
    ),
    "end-pilot": LifeStep(
        lifecycle.end_pilot,
        "End the pilot",
        "End the pilot?",
        ("Nobody new can begin. People who have begun may finish and are paid.", "The study is a draft again."),
        (State.PILOT,),
    ),
    "launch": LifeStep(
        lifecycle.launch,
        "Launch",
        "Launch the study?",
        (
            "What participants see is frozen, with the hash below over every text and every page.",
            "A later change is an amendment: it needs a reason, and people who began keep what they saw.",
            "The link works from now on, and people fill places.",
        ),
        (State.DRAFT, State.PILOT),
    ),
    "pause": LifeStep(
        lifecycle.pause,
        "Pause recruiting",
        "Pause recruiting?",
        ("Nobody new can begin. People who have begun may finish and are paid.", "You can resume at any time."),
        (State.LIVE,),
    ),
    "resume": LifeStep(
        lifecycle.resume,
        "Resume recruiting",
        "Resume recruiting?",
        ("The link works again, with the current version.",),
        (State.PAUSED,),
    ),
    "close": LifeStep(
        lifecycle.close,
        "Close the study",
        "Close the study for good?",
        ("Nobody new can begin, and this can't be undone.", "People who have begun may finish and are paid."),
        (State.LIVE, State.PAUSED),
    ),
    "unblind": LifeStep(
        lift_blinding,
        "Lift the blinding",
        "Lift the blinding?",
        (
            "Blinded members see everything that viewers see from now on: answers, comparisons and exports.",
            "It can't be undone, and stands in the audit trail with your name and theirs.",
        ),
        least=Role.OWNER,
        done="The blinding is lifted. Blinded members see what viewers see.",
        page="members",
    ),
    "archive": LifeStep(
        keeping.archive,
        "Archive",
        "Put the study into the archive?",
        (
            "It folds away in the list of studies, and nobody new can begin. People who have begun may finish.",
            "All pages, data and exports stay. You can take it back at any time.",
        ),
        (State.DRAFT, State.PAUSED, State.CLOSED),
    ),
    "take-back": LifeStep(
        keeping.take_back,
        "Take it out of the archive",
        "Take the study out of the archive?",
        ("It stands in the list of studies again, in the state in which it was.",),
        (State.DRAFT, State.PAUSED, State.CLOSED),
        archived=True,
    ),
}


@study_page(Role.BLINDED, require_safe)
def setup(request: HttpRequest) -> HttpResponse:
    return show_version(request, "console/setup.html", request.study.current)


@study_page(Role.BLINDED, require_safe)
def version(request: HttpRequest, number: int) -> HttpResponse:
    """An earlier version, to read."""
    shown = get_object_or_404(StudyVersion, study=request.study, number=number)
    return show_version(request, "console/version.html", shown)


def show_version(request: HttpRequest, template: str, shown: StudyVersion) -> HttpResponse:
    page = setup_page(request.study, shown) | {"notes": notes_on(request, "version", shown.pk)}
    return show(request, template, "setup", **page)


@study_page(Role.BLINDED, require_safe)
def version_document(request: HttpRequest, number: int) -> HttpResponse:
    """The hashed content as a file: for a registry, or to check the hash elsewhere."""
    shown = get_object_or_404(StudyVersion, study=request.study, number=number)
    content = {"sha256": shown.sha256, "document": shown.document, "interface": shown.interface_sha256}
    response = JsonResponse(content, json_dumps_params={"ensure_ascii": False, "indent": 2})
    return saved_as(f"{request.study.slug}-version-{number}.json", response)


def setup_page(study: Study, shown: StudyVersion) -> dict:
    definition = lifecycle.definition_of(shown.pk)
    wanted = lifecycle.definition_of(study.current_id).second_person
    return {
        "version": shown,
        "definition": definition,
        "versions": study.versions.defer("document").order_by("-number"),
        "prompts": [
            (prompt, prompt_text(prompt), words_in_languages(definition, place))
            for place, prompt in enumerate(definition.prompts)
        ],
        "languages": [language_name(code) for code in definition.offered],
        "codes": code_rows(definition),
        "items": study.annotation_items.count(),
        "places": definition.planned_people,
        "checks": [(check, CHECK_NAMES.get(check, check)) for check in definition.paste_checks],
        "pages_changed": shown.interface_sha256 != lifecycle.interface_hash(),
        "steps": [
            (name, step)
            for name, step in STEPS.items()
            if study.state in step.states and step.archived == bool(study.archived_at)
        ],
        "participant_link": participant_link(study),
        "told": [(each, "launch this study") for each in second_person.shown_requests(wanted, "launch", study)],
    }


def words_in_languages(definition: Definition, place: int) -> list[dict[str, str]]:
    """Title and text of a prompt in each further language of the study."""
    found = [(code, in_language(definition, code).prompts[place]) for code in definition.languages]
    return [
        {"code": code, "name": language_name(code), "title": prompt.title, "text": prompt_text(prompt)}
        for code, prompt in found
    ]


def code_rows(definition: Definition) -> list[dict]:
    names = [*OUTCOMES, *sorted(set(definition.codes) - set(OUTCOMES))]
    names_of_codes = OUTCOME_NAMES | {"late": "Late, after the place was given away"}
    return [
        {"name": names_of_codes[name], "code": code, "type": CODE_TYPES[name][0], "action": CODE_TYPES[name][1]}
        for name in names
        if (code := definition.codes.get(name)) is not None
    ]


def participant_link(study: Study) -> str:
    area = area_of(lifecycle.definition_of(study.current_id))
    return f"{settings.SITE_URL}{reverse(f'{area}:arrive', args=[study.slug])}?{PLACEHOLDERS}"


@study_page(Role.RESEARCHER, require_POST)
def preview(request: HttpRequest) -> HttpResponse:
    with saying(request, DecisionError):
        return redirect(address(start_preview(request.study, request.user.get_username()), "resume"))
    return redirect("console:setup", request.study.slug)


@study_page(Role.RESEARCHER, FORM)
def change_state(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation, listing all consequences; then take the step."""
    step = STEPS.get(name)
    if step is None:
        raise Http404
    if not may(request, step.least):
        raise PermissionDenied(f"This needs the role of {step.least.label.lower()} in the study.")
    back = reverse(f"console:{step.page}", args=[request.study.slug])
    asks = name == "launch" and "launch" in lifecycle.definition_of(request.study.current_id).second_person
    if request.method != "POST":
        page = setup_page(request.study, request.study.current) | {"asks": asks}
        page["warnings"] = warnings_before(name, request.study, page["definition"])
        if asks:
            page["asked"] = second_person.waiting(request.study, "launch").first()
            page["stale"] = stale_launch(request.study, page["asked"])
        return show(request, "console/change_state.html", step.page, step=step, name=name, leave=back, **page)
    with saying(request, lifecycle.StudyError, SecondPersonError):
        if asks:
            messages.success(request, launch_by_two(request))
            return redirect(back)
        if "answer" in request.POST:
            raise SecondPersonError(NOBODY_WAITS)
        step.rule(request.study, request.user.get_username())
        request.study.refresh_from_db()
        state = lifecycle.STATE_WORDS[request.study.state]
        where = " and in the archive" if request.study.archived_at else ""
        messages.success(request, step.done or f"Done. The study is {state}{where} now.")
    return redirect(back)


def warnings_before(name: str, study: Study, definition: Definition) -> list[str]:
    """Warn before a launch or pilot of what nobody could take back."""
    if name not in ("launch", "pilot"):
        return []
    where = " for the pilot" if name == "pilot" else ""
    nothing = f"There are no items{where} yet: whoever comes finds nothing to judge. The page Items adds some."
    found = [nothing] if definition.annotation and not has_items(study, name == "pilot") else []
    return found + (lifecycle.launch_warnings(definition) if name == "launch" else [])


def launch_by_two(request: HttpRequest) -> str:
    """Ask for the launch, or answer a request for it; return what happened, in a sentence."""
    study, account, said = request.study, request.user, request.POST.get("answer", "")
    if said not in ("confirm", "decline"):
        second_person.ask(study, "launch", "launch", account, lifecycle.what_is_launched(study))
        return "You have asked. The study is launched once another researcher or owner confirms it."
    known = {str(each.pk): each for each in study.team_requests.filter(what="launch").select_related("asked_by")}
    asked = known.get(request.POST.get("request", ""))
    if asked is None:
        raise SecondPersonError(NOBODY_WAITS)
    if said == "decline":
        second_person.decline(asked, account, request.POST.get("reason", ""))
        return f"You have declined. {asked.asked_by} sees why."
    second_person.confirm(asked, account, lambda second: lifecycle.launch(study, account.get_username(), second))
    return f"Done, as {asked.asked_by} asked. The study is live now."


def stale_launch(study: Study, asked: TeamRequest | None) -> str:
    """Why the launch asked for cannot be confirmed any more; empty if it can."""
    if asked is None or asked.detail == lifecycle.what_is_launched(study):
        return ""
    return f"The study or its pages have changed since {asked.asked_by} asked. It has to be asked anew."


@study_page(Role.OWNER, require_POST)
def rename(request: HttpRequest) -> HttpResponse:
    title = " ".join(request.POST.get("title", "").replace("\x00", "").split())
    if not 0 < len(title) <= Study._meta.get_field("title").max_length:
        messages.error(request, "A title has 1 to 200 characters.")
    else:
        keeping.rename(request.study, title, request.user.get_username())
        messages.success(request, f"The study is called {title} in the console.")
    return redirect("console:setup", request.study.slug)


@study_page(Role.OWNER, FORM)
def delete(request: HttpRequest) -> HttpResponse:
    """Ask for the slug to be typed, then delete a study that was never launched."""
    study, problem = request.study, ""
    if request.method == "POST":
        try:
            if request.POST.get("slug", "").strip() != study.slug:
                raise lifecycle.StudyError(f"This is not {study.slug}. Nothing was deleted.")
            keeping.delete_study(study, request.user.get_username())
        except lifecycle.StudyError as error:
            problem = str(error)
        else:
            messages.success(request, f"{study.title} has been deleted.")
            return redirect("console:studies")
    page = {"problem": problem, "kept": keeping.why_kept(study), "people": study.participants.count()}
    page["instead"] = keeping.instead_of_deleting(study)
    return show(request, "console/delete.html", "setup", 409 if problem else 200, **page)


urlpatterns = [
    path("<slug:slug>/setup/", setup, name="setup"),
    path("<slug:slug>/setup/preview/", preview, name="preview"),
    path("<slug:slug>/setup/versions/<int:number>/", version, name="version"),
    path("<slug:slug>/setup/versions/<int:number>.json", version_document, name="version-document"),
    path("<slug:slug>/setup/state/<slug:name>/", change_state, name="change-state"),
    path("<slug:slug>/setup/rename/", rename, name="rename"),
    path("<slug:slug>/setup/delete/", delete, name="delete"),
]
