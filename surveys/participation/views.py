"""The participant's pages from the first questions to the last page; every step works as a plain form."""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from surveys.models import ChatbotContext, Draft, Participant, locks
from surveys.participation import recruitment
from surveys.participation.forms import (
    CheckForm,
    ComprehensionForm,
    ContextForm,
    FigureForm,
    LastForm,
    QuestionsForm,
    TroubleForm,
    question_in_words,
)
from surveys.participation.languages import change_language, language_menu, language_of, speak
from surveys.participation.places import hold_place_again
from surveys.participation.prepared import may_prepare, show_prepared
from surveys.participation.prolific import completion_url
from surveys.participation.statements import find_by_link, standing_of
from surveys.participation.steps import (
    STEPS,
    URL_NAMES,
    address,
    answered_slugs,
    area_of,
    current_page,
    first_work,
    has_reached,
    has_settings,
    minutes_left,
    next_prompt,
    open_page,
    page_name,
    place_of,
    question_pages,
    walked,
    way_of,
)
from surveys.studies.access import is_unproven, read_link, unproven
from surveys.studies.files.schema import AttentionCheck, Chatbot, ComprehensionCheck, settings_asked
from surveys.studies.lifecycle import definition_in
from surveys.studies.perception import figure_for, note_seen

State, Step = Participant.State, Participant.Step


def by_link(request: HttpRequest, study: str, pseudonym: str, **more: object) -> Participant | None:
    return find_by_link(study, pseudonym)


def participant_page(step: str | None = None, own: bool = False, find: Callable = by_link) -> Callable:
    """Decorate a page: find the person behind a signed link, set their language, redirect if this is not their page.

    The link alone gives access (no cookie), hence no CSRF token: a foreign page doesn't know the link. An `own` page
    shows or changes what was given before, so a link without proof does not open it.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @csrf_exempt
        @wraps(view)
        def page(request: HttpRequest, study: str, token: str, **more: object) -> HttpResponse:
            pseudonym, without_proof = read_link(study, token)
            with unproven(without_proof):
                try:
                    # A form that is sent twice counts once, so a page may be made twice as well.
                    made = locks.again(partial(answer, request, study, pseudonym, **more))
                    return as_wanted(request, made)
                except Participant.DoesNotExist:  # another window ended or erased the part at this moment
                    return as_wanted(request, redirect(f"{request.resolver_match.namespace}:resume", study, token))

        def answer(request: HttpRequest, study: str, pseudonym: str, **more: object) -> HttpResponse:
            participant = find(request, study, pseudonym, **more)
            if participant is None:
                return redirect(f"{request.resolver_match.namespace}:withdrawn", study)
            if change_language(request, participant) and request.method == "GET":
                return redirect(without_language(request))
            speak(request, language_of(participant))
            definition = definition_in(participant.version_id, participant.language)
            request.participant, request.definition = participant, definition
            if request.resolver_match.namespace != area_of(definition):
                return redirect(address(participant, "resume"))
            if own and is_unproven():
                return redirect(current_page(participant, definition))
            if step is not None:
                if participant.has_ended or not has_reached(participant, step):
                    return redirect(current_page(participant, definition))
                if participant.state == State.TIMED_OUT:
                    request.participant = recruitment.come_back(participant)
            return view(request, **more)

        return page

    return decorate


def as_wanted(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Give a script that sends a form the next address instead of a redirect: it goes there itself."""
    if isinstance(response, HttpResponseRedirect) and wants_json(request):
        return JsonResponse({"next": response.url})
    return response


def wants_json(request: HttpRequest) -> bool:
    return prefers_json(request.META.get("HTTP_ACCEPT", "*/*"))


@lru_cache(maxsize=256)
def prefers_json(accept: str) -> bool:
    """Whether a browser prefers JSON; cached: browsers send few headers, and reading one takes longer than routing."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT"] = accept
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def without_language(request: HttpRequest) -> str:
    """The address without its language, so that going back to it does not change the language again."""
    query = request.GET.copy()
    del query["lang"]
    return f"{request.path}?{query.urlencode()}" if query else request.path


def page_context(request: HttpRequest, step: str, answered: int = 0, **more: Any) -> dict:
    """Context of every participant's page: where they are, help, drafts and how to stop.

    `answered`: how many prompts come before this page, if it is among the prompts.
    """
    participant, asked = request.participant, len(request.participant.order)
    return {
        "participant": participant,
        "definition": request.definition,
        "bot": chatbot_of(request),
        "step": step,
        "place": place_of(step, request.definition) or place_of(participant.step, request.definition),
        "walked": walked(step, request.definition, answered, asked),
        "minutes_left": minutes_left(step, request.definition, 0, asked) if step in way_of(request.definition) else 0,
        **language_menu(request.definition, language_of(participant)),
        "resume_url": address(participant, "resume"),
        "draft_url": address(participant, "draft"),
        "help_url": address(participant, "trouble"),
        "stop_url": address(participant, "stop"),
        "unproven": is_unproven(),
        **more,
    }


def chatbot_of(request: HttpRequest) -> Chatbot | None:
    """The definition's chatbot that this person was assigned, or None before."""
    cell = request.participant.cell
    return next((bot for bot in request.definition.chatbots if cell and bot.slug == cell.chatbot), None)


def go_on(request: HttpRequest, step: str, note: Callable[[dict], dict] = dict) -> HttpResponse:
    """Note that the person has reached `step`, renew their place, and redirect to where they go on.

    `note` adds to their checks. What another window has reached or noted meanwhile stays; if it ended or erased the
    part, raises Participant.DoesNotExist.
    """
    participant = request.participant
    with transaction.atomic():
        there = recruitment.lock(participant)
        if there.has_ended:
            raise Participant.DoesNotExist
        participant.step, participant.checks = max(there.step, step, key=STEPS.index), note(there.checks)
        noted = {"step": participant.step, "checks": participant.checks, "last_seen_at": timezone.now()}
        Participant.objects.filter(pk=participant.pk).update(**noted)
    hold_place_again(participant)
    return redirect(current_page(participant, request.definition))


# While nothing is filled in, these forms depend on the study, the cell, the page and the language alone.
SAME_FOR_ALL = (CheckForm, ContextForm, LastForm)
AGAIN = "again"  # in the address of a page that asks for missing answers


def posted(request: HttpRequest, step: str) -> QueryDict | dict[str, str] | None:
    """The data sent, even if empty: browsers send nothing for unchosen radio buttons. None if nothing was sent.

    Incomplete data is kept as a draft, and the page redirected to reads it back, so that reloading that page, or going
    back to it, sends nothing.
    """
    if request.method == "POST":
        return request.POST
    draft = draft_of(request, step) if AGAIN in request.GET else None
    return draft.data if draft else None


def ask_again(request: HttpRequest, step: str) -> HttpResponse:
    """Keep the form as a draft, and redirect to the page that shows its faults."""
    keep_draft(request, step)
    return redirect(f"{request.path}?{AGAIN}=1")


def keep_draft(request: HttpRequest, step: str) -> None:
    data = {name.replace("\x00", ""): value.replace("\x00", "") for name, value in request.POST.items()}
    kept, is_new = Draft.objects.get_or_create(participant=request.participant, step=step, defaults={"data": data})
    if not is_new:
        kept.number, kept.data, kept.saved_at = kept.number + 1, data, timezone.now()
        kept.save()


def read_key(raw: str) -> uuid.UUID:
    try:
        return uuid.UUID(raw)
    except ValueError:
        return uuid.uuid4()


def draft_of(request: HttpRequest, step: str) -> Draft | None:
    """The draft of a page; None for a link without proof."""
    standing = standing_of(request.participant)
    has_none = is_unproven() or (standing and step not in standing.drafts)
    return None if has_none else Draft.objects.filter(participant=request.participant, step=step).first()


def drop_draft(request: HttpRequest, step: str) -> None:
    """Delete a page's draft, as the answer just given is newer: going back to the page shows the answer."""
    Draft.objects.filter(participant=request.participant, step=step).delete()


def form_page(
    request: HttpRequest,
    template: str,
    step: str,
    form: Any,
    back: tuple[Any, ...] = (),
    answered: int = 0,
    **more: Any,
) -> HttpResponse:
    """The page of a form, filled from its draft; `back` names the page before."""
    if request.method == "POST" and not is_unproven():
        return ask_again(request, step)
    draft = draft_of(request, step)
    if draft and not form.is_bound:
        form.initial |= draft.data

    def context(shown_to: HttpRequest) -> dict[str, Any]:
        back_url = address(shown_to.participant, *back) if back else ""
        number = draft.number if draft else 0
        return page_context(shown_to, step, answered, form=form, draft_number=number, back_url=back_url, **more)

    is_blank = not (draft or form.is_bound or any(form.initial.values()) or more)
    if is_blank and type(form) in SAME_FOR_ALL and may_prepare(request):
        return show_prepared(request, template, context, (step, back, answered), {})
    return render(request, template, context(request))


@participant_page()
def resume(request: HttpRequest) -> HttpResponse:
    return redirect(current_page(request.participant, request.definition))


@participant_page(Step.QUESTIONS)
def questions(
    request: HttpRequest, page: int = 1, admit: Callable[[Participant], Participant] | None = None
) -> HttpResponse:
    """The questions that decide who takes part; `admit` has the last word after the screening."""

    def decide(answers: dict[str, str]) -> Participant:
        participant = recruitment.screen(request.participant, answers.pop("chatbot", ""), answers)
        return admit(participant) if admit else participant

    return question_page(request, Step.QUESTIONS, page, decide)


@participant_page(Step.BACKGROUND)
def background(request: HttpRequest, page: int = 1) -> HttpResponse:
    """The other questions, for people who may take part."""
    end = partial(recruitment.note_answers, request.participant, following=Step.INSTRUCTIONS)
    return question_page(request, Step.BACKGROUND, page, end)


def question_page(
    request: HttpRequest, step: str, page: int, end: Callable[[dict[str, str]], Participant]
) -> HttpResponse:
    """One page of questions. The last one calls `end`; the answers to earlier ones are kept and can be changed."""
    participant, pages = request.participant, question_pages(request.definition, step)
    now = open_page(participant, request.definition, step)
    if participant.step != step or not 1 <= page <= now:
        return redirect(current_page(participant, request.definition))
    name, known = page_name(step, page), QuestionsForm.initial_of(participant.answers)
    form = QuestionsForm(request.definition, pages[page - 1], posted(request, name), initial=known)
    if request.method == "POST" and form.is_valid():
        answers = {**participant.answers, **form.answers()}
        is_last = page == now == len(pages)
        drop_draft(request, name)
        participant = end(answers) if is_last else recruitment.note_answers(participant, form.answers())
        return redirect(current_page(participant, request.definition))
    back = (URL_NAMES[Step(step)], *([page - 1] if page > 2 else [])) if page > 1 else ()
    return form_page(request, "participation/questions.html", name, form, back, page=page)


@participant_page(Step.INSTRUCTIONS)
def instructions(request: HttpRequest, template: str = "participation/instructions.html") -> HttpResponse:
    if request.method == "POST":
        following = Step.COMPREHENSION if request.definition.comprehension else first_work(request.definition)
        return go_on(request, following)
    definition = request.definition
    again = len(set(request.participant.order) - definition.set_questions.keys()) > len(definition.prompts)
    return render(request, template, page_context(request, Step.INSTRUCTIONS) | {"comes_again": again})


@participant_page(Step.COMPREHENSION)
def comprehension(request: HttpRequest) -> HttpResponse:
    """The comprehension checks: two tries, as Prolific asks, then a kind end with its own code, never a rejection."""
    checks, following = request.definition.comprehension, first_work(request.definition)
    if not checks or has_reached(request.participant, following):
        return go_on(request, following)
    form = ComprehensionForm(checks, posted(request, Step.COMPREHENSION))
    if request.method == "POST" and form.is_valid():
        return try_comprehension(request, form.cleaned_data, following)
    tries = request.participant.checks.get("comprehension", [])
    wrong = failed_checks(checks, tries[-1]) if tries else []
    if tries and not form.is_bound and not is_unproven():
        form = ComprehensionForm(checks, initial=tries[-1])
    more: dict[str, Any] = {"wrong": wrong, "again": bool(wrong), "tries": len(tries)}
    return form_page(request, "participation/comprehension.html", Step.COMPREHENSION, form, **more)


def try_comprehension(request: HttpRequest, given: dict[str, str], following: str) -> HttpResponse:
    """Count one try. The same answers from a page that did not know of that try are the same try, sent twice."""
    checks, known = request.definition.comprehension, request.POST.get("tries", "")
    with transaction.atomic():
        participant = recruitment.lock(request.participant)
        tries = participant.checks.get("comprehension", [])
        has_passed = bool(tries) and not failed_checks(checks, tries[-1])  # in another window, at this moment
        if not (has_passed or (tries and tries[-1] == given and known != str(len(tries)))):
            tries = participant.checks["comprehension"] = [*tries, given]
            participant.save(update_fields=["checks"])
    if has_passed or not failed_checks(checks, given):
        return go_on(request, following)
    if len(tries) >= 2 and not participant.has_ended:
        participant = recruitment.stop(participant, State.MISUNDERSTOOD, "comprehension-failed-twice")
    return redirect(current_page(participant, request.definition))


def failed_checks(checks: Sequence[ComprehensionCheck], given: Mapping[str, str]) -> list[ComprehensionCheck]:
    return [check for check in checks if not check.passed_by(given.get(check.slug, ""))]


@participant_page(Step.CONTEXT)
def context(request: HttpRequest) -> HttpResponse:
    known = getattr(request.participant, "context", None) if has_settings(request.participant) else None
    if known and is_unproven():
        return go_on(request, Step.PROMPTS)
    bot = chatbot_of(request)
    form = ContextForm(request.definition, bot, posted(request, Step.CONTEXT), instance=known)
    if request.method == "POST" and form.is_valid():
        given = form.save(commit=False)
        given.product = bot.slug if bot else form.cleaned_data["product"]
        given.device = device_of(request.headers.get("User-Agent", ""))
        for name, value in settings_asked(request.definition.questions, request.participant.answers).items():
            setattr(given, name, value)
        given.participant, given.recorded_at = request.participant, timezone.now()
        given.save()
        if standing := standing_of(request.participant):
            request.participant.standing = standing._replace(has_settings=True)
        drop_draft(request, Step.CONTEXT)
        return go_on(request, Step.PROMPTS)
    answered = len(answered_slugs(request.participant)) if request.definition.settings_later else 0
    return form_page(request, "participation/context.html", Step.CONTEXT, form, answered=answered)


def device_of(user_agent: str) -> str:
    """The device that the browser names; an iPad that calls itself a Mac is a computer."""
    if re.search(r"iPad|Tablet|Android(?!.*Mobile)", user_agent):
        return ChatbotContext.Device.TABLET
    is_phone = re.search(r"Mobi|iPhone|Android", user_agent)
    return ChatbotContext.Device.PHONE if is_phone else ChatbotContext.Device.COMPUTER


@participant_page(Step.PROMPTS)
def attention(request: HttpRequest, slug: str) -> HttpResponse:
    """An attention check between two prompts; the result is noted and never ends a participation."""
    participant, check = request.participant, {check.slug: check for check in request.definition.attention}.get(slug)
    given = participant.checks.get("attention", {})
    if check is None or slug in given:
        return redirect(next_prompt(participant, request.definition))
    form = CheckForm(check, posted(request, f"attention:{slug}"))
    if request.method == "POST" and form.is_valid():
        return go_on(request, Step.PROMPTS, partial(note_attention, check, form.cleaned_data["answer"]))
    answered = len(answered_slugs(participant))
    return form_page(request, "participation/attention.html", f"attention:{slug}", form, answered=answered)


def note_attention(check: AttentionCheck, answer: str, checks: dict) -> dict:
    """The checks with this answer, unless the check was answered before."""
    noted = {check.slug: {"answer": answer, "passed": check.passed_by(answer)}} | checks.get("attention", {})
    return checks | {"attention": noted}


@participant_page(Step.PROMPTS)
def perception(request: HttpRequest) -> HttpResponse:
    """A figure in moving dots or, without scripts, a question in words; the result never ends a participation."""
    participant, asked = request.participant, request.definition.perception
    if asked is None or "perception" in participant.checks:
        return redirect(next_prompt(participant, request.definition))
    given = posted(request, "perception")
    in_words = bool(given and given.get("words"))
    seen = FigureForm(None if in_words else given)
    words = CheckForm(question_in_words(asked), given if in_words else None)
    form = words if in_words else seen
    if request.method == "POST" and form.is_valid():
        noted = note_seen(participant.pseudonym, asked, request.POST.dict() | form.cleaned_data, in_words)
        return go_on(request, Step.PROMPTS, lambda checks: {"perception": noted} | checks)
    answered = len(answered_slugs(participant))
    more: dict[str, Any] = {"seen": seen, "words": words, "in_words": in_words}
    more["dots"] = figure_for(participant.pseudonym)[1]
    more["in_study_words"] = request.definition.language if asked.text else ""
    more["minutes_left"] = minutes_left("perception", request.definition, answered, len(participant.order))
    return form_page(request, "participation/perception.html", "perception", form, answered=answered, **more)


@participant_page(Step.PROMPTS)
def debrief(request: HttpRequest) -> HttpResponse:
    participant = request.participant
    following = next_prompt(participant, request.definition)
    if following != address(participant, "debrief"):
        return redirect(following)
    return last_page(request, "participation/debrief.html", ("prompt", len(participant.order)))


def last_page(request: HttpRequest, template: str, back: tuple[Any, ...], **more: Any) -> HttpResponse:
    """The last page; sending it completes the participation."""
    participant = request.participant
    comments = "" if is_unproven() else participant.comments
    form = LastForm(posted(request, Step.DEBRIEF), initial={"comments": comments})
    if request.method == "POST" and form.is_valid():
        Participant.objects.filter(pk=participant.pk).update(comments=form.cleaned_data["comments"])
        participant = recruitment.complete(participant)
        return redirect(current_page(participant, request.definition))
    return form_page(request, template, Step.DEBRIEF, form, back, **more)


@participant_page()
def end(request: HttpRequest) -> HttpResponse:
    participant = request.participant
    if not participant.has_ended:
        return redirect(current_page(participant, request.definition))
    if request.method == "POST" and participant.state == State.RETURNED:
        return redirect(current_page(recruitment.reopen(participant), request.definition))
    outcome = "late" if participant.overflow else participant.state
    page = page_context(request, Step.END, outcome=outcome, code=participant.code)
    page["completion_url"] = completion_url(participant.code)
    # Somebody who returned may go on after all, and a researcher's preview has nothing to finish at Prolific.
    page["goes_by_itself"] = outcome != State.RETURNED and participant.origin != Participant.Origin.PREVIEW
    return render(request, "participation/end.html", page)


@participant_page()
def trouble(request: HttpRequest, template: str = "participation/trouble.html") -> HttpResponse:
    """Help if something does not work, and a paid way out for people who can't go on."""
    if request.method == "POST" and request.participant.has_ended:
        drop_draft(request, "trouble")
        return redirect(current_page(request.participant, request.definition))
    if request.method == "POST" and is_unproven():
        return redirect(address(request.participant, "stop"))  # which says how to stop without proof
    form = TroubleForm(posted(request, "trouble"))
    if request.method == "POST" and form.is_valid():
        participant = recruitment.stop(request.participant, State.TECHNICAL, form.reason())
        return redirect(current_page(participant, request.definition))
    return form_page(request, template, "trouble", form)


@participant_page()
def stop(request: HttpRequest) -> HttpResponse:
    return leave(request) or render(request, "participation/stop.html", page_context(request, "stop"))


def leave(request: HttpRequest, **more: Any) -> HttpResponse | None:
    """Two ways to stop: return the submission and leave the answers, or erase everything. None before a choice.

    Erasing must be confirmed by a tick on a page of its own; `more` is that page's further context.
    """
    if is_unproven():
        return None
    if request.method == "POST" and request.POST.get("how") == "withdraw" and "sure" in request.POST:
        recruitment.withdraw(request.participant)
        erased = reverse(f"{area_of(request.definition)}:withdrawn", args=[request.definition.slug])
        return redirect(f"{erased}?lang={language_of(request.participant)}")
    if request.method == "POST" and request.POST.get("how") == "return":
        participant = recruitment.stop(request.participant, State.RETURNED, "returned-by-participant")
        return redirect(current_page(participant, request.definition))
    if request.method == "POST":
        return redirect(f"{request.path}?erase=1" if request.POST.get("how") == "withdraw" else request.path)
    if "erase" in request.GET:
        return render(request, "participation/erase.html", page_context(request, "stop", **more))
    return None
