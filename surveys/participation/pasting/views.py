"""The paste page: copy our prompt, ask the chatbot, paste the answer back; and autosave."""

import json
import uuid
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import URLPattern, include, path
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt

from surveys.models import Participant, Prompt, ReadBack, Response
from surveys.participation import arrival_views as arrival
from surveys.participation import views as participation
from surveys.participation.arrival_views import OWN, shared
from surveys.participation.pasting import capture
from surveys.participation.pasting.read_back import (
    NO_READING,
    UNREACHED,
    ReadReply,
    is_read_later,
    mark_of,
    read_reply,
    reply_of,
    show_reading,
)
from surveys.participation.prepared import mark, may_prepare, show_prepared
from surveys.participation.statements import find_at_prompt, save_draft_at_once, standing_of
from surveys.participation.steps import address, after_prompt, answered_slugs, minutes_left, next_prompt, way_of
from surveys.participation.views import draft_of, page_context, participant_page, read_key, wants_json
from surveys.reading.answers import LONGEST_TEXT, clean_text
from surveys.reading.checks import UNREAD, Finding
from surveys.reading.privacy import is_link_alone, show_personal
from surveys.reading.residue import page_lines
from surveys.studies.access import is_unproven, read_link, within_limit
from surveys.studies.lifecycle import prompts_in, prompts_of

Step = Participant.Step
LARGEST_DRAFT = 1_200_000
LONGEST_SHOWN = 80  # characters of a line of the answer beside one of the page


def find(request: HttpRequest, study: str, pseudonym: str, number: int) -> Participant | None:
    """The person with everything that this page, or the answer it sends, needs."""
    if request.method != "POST":
        return find_at_prompt(study, pseudonym, number)
    sha256 = capture.copy_hash(clean_text(request.POST.get("text", "")))
    return find_at_prompt(study, pseudonym, number, sha256)


@participant_page(Step.PROMPTS, find=find)
def prompt(request: HttpRequest, number: int) -> HttpResponse:
    know_lease(request)
    order = request.participant.order
    if not 1 <= number <= len(order):
        return redirect(next_prompt(request.participant, request.definition))
    if is_unproven() and order[number - 1] in answered_slugs(request.participant):
        return redirect(next_prompt(request.participant, request.definition))
    if request.method == "POST":
        return receive(request, asked_in(request, order[number - 1], request.POST.get("shown_in", "")), number)
    slug = order[number - 1]
    if set(order[: number - 1]) - answered_slugs(request.participant):
        return redirect(next_prompt(request.participant, request.definition))
    standing = standing_of(request.participant)
    if may_prepare(request) and standing and not standing.revisions and f"prompt:{slug}" not in standing.drafts:
        return empty_page(request, slug, number)
    return render(request, "pasting/prompt.html", fresh_page(request, slug, number))


def shown_language(request: HttpRequest, said: str) -> str:
    """The language in which the page says it showed its prompt, if offered, else that of the person's pages."""
    return said if said in request.definition.offered else request.definition.language


def asked_in(request: HttpRequest, slug: str, said: str) -> Prompt:
    return prompts_in(request.participant.version_id, shown_language(request, said))[slug]


def receive(request: HttpRequest, asked: Prompt, number: int) -> HttpResponse:
    submission = read_submission(request, asked)
    if len(submission.text) > LONGEST_TEXT:
        words = gettext("This text is longer than %(limit)s characters. Please paste only the answer.")
        error = words % {"limit": f"{LONGEST_TEXT:,}"}
        return answer_again(request, asked, number, submission, error=error)
    if asked.arm and not (submission.reply.no_answer or request.POST.get("reached")):
        error = gettext("Please do the first step and tick it, or say that you can't find it.")
        return answer_again(request, asked, number, submission, error=error)
    if is_link_alone(clean_text(submission.text)):
        error = render_to_string("pasting/_link_alone.html")
        return answer_again(request, asked, number, submission, error=error)
    try:
        outcome = capture.submit_paste(request.participant, submission)
    except capture.TooManyPastes:
        error = gettext("This answer was changed too many times. The last one that was saved counts.")
        return answer_again(request, asked, number, submission, error=error)
    if not outcome.accepted:
        submission.text = outcome.text
        return answer_again(request, asked, number, submission, outcome=outcome)
    following = after_prompt(request.participant, request.definition, number)
    if outcome.older_page:
        following += "?older=1"
    return HttpResponseRedirect(following)


def read_submission(request: HttpRequest, asked: Prompt) -> capture.PasteSubmission:
    form, reply = request.POST, read_reply(request.POST)
    base, shown_at = capture.open_page(form.get("page", ""))
    text, html, rating = form.get("text", ""), form.get("html", ""), form.get("rating", "")
    if asked.arm and "unreached" in form:  # what is in the box is no answer of that state
        text, html, rating, reply = "", "", "", ReadReply(no_answer=UNREACHED)
    return capture.PasteSubmission(
        prompt=asked,
        text=text,
        html=html,
        language=shown_language(request, form.get("shown_in", "")),
        key=read_key(form.get("key", "")),
        evidence=capture.read_evidence(form.get("evidence", ""), request.headers),
        shown_at=shown_at,
        base=base,
        keep=form.get("keep") == "1",
        privacy=form.get("privacy", ""),
        removed=capture.read_counts(form.get("removed", "")),
        reply=reply,
        rating=rating if rating in capture.RATINGS and asks_rating(request, asked) else "",
    )


def asks_rating(request: HttpRequest, asked: Prompt) -> bool:
    rating = request.definition.rating
    return rating is not None and rating.is_asked_of(asked.base)


def describe_asking(request: HttpRequest, asked: Prompt, number: int) -> dict[str, Any]:
    """Context beside the prompt: its arm, how often it was asked before, and whether to ask for a rating."""
    prompts = prompts_of(request.participant.version_id)
    before = request.participant.order[: number - 1]
    return {
        "arm": next((arm for arm in request.definition.arms if arm.slug == asked.arm), None),
        "times_before": sum(prompts[slug].base == asked.base for slug in before),
        "asks_rating": asks_rating(request, asked),
    }


def empty_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The page of a prompt not begun yet, as `fresh_page` would show it, from a prepared page."""
    asked = asked_in(request, slug, "")
    said = describe_asking(request, asked, number)

    def context(stand_in: HttpRequest) -> dict[str, Any]:
        blank = Prompt(slug=mark("slug"), title=mark("title"), text=mark("text"))
        page = paste_page(stand_in, blank, number, 0, "", said)
        return page | {"text": "", "evidence": "", "key": mark("key"), "page": mark("page")}

    own = {"key": uuid.uuid4(), "page": capture.seal_page(0)}
    values = own | {"slug": asked.slug, "title": asked.title, "text": asked.text}
    about = number, asked.arm, said["times_before"], said["asks_rating"]
    return show_prepared(request, "pasting/prompt.html", context, about, values)


def fresh_page(request: HttpRequest, slug: str, number: int) -> dict:
    """The page with the draft or the newest response in it, whichever is newer.

    A prompt that the person has begun to answer stays in the language they were asked in.
    """
    newest = (
        Response.objects.filter(participant=request.participant, prompt__slug=slug)
        .order_by("-revision")
        .only("revision", "text", "evidence", "submitted_at", "language", "rating", "is_unrated")
        .first()
    )
    draft = draft_of(request, f"prompt:{slug}")
    began = draft.data.get("shown_in", "") if draft and draft.data.get("text") else newest.language if newest else ""
    asked = asked_in(request, slug, began)
    said = describe_asking(request, asked, number)
    page = paste_page(request, asked, number, newest.revision if newest else 0, began, said)
    if is_unproven():
        return page
    page |= {"text": newest.text if newest else "", "older": request.GET.get("older")}
    page["evidence"] = json.dumps(newest.evidence) if newest else ""
    page["reached"] = bool(newest and newest.text)
    page["rated"] = capture.UNRATED if newest and newest.is_unrated else str(newest.rating or "") if newest else ""
    reply = ReadReply()
    if draft:
        page["draft_number"] = draft.number
    if draft and (newest is None or draft.saved_at > newest.submitted_at):
        page |= {name: draft.data.get(name, "") for name in ("text", "evidence", "removed", "privacy", "reached")}
        page["rated"] = draft.data.get("rating", "")
        reply = read_reply(draft.data)
    elif newest:
        said = ReadBack.objects.filter(response=newest).first()
        reply = reply_of(said, newest.text) if said else reply
    if page["text"]:
        page |= gate_of(asked, capture.PasteOutcome(page["text"]), reply)
    return page


def gate_of(asked: Prompt, outcome: capture.PasteOutcome, reply: ReadReply) -> dict[str, Any]:
    """Context of the panel below the box: a check's question, and the reading.

    `about` stays the same while nothing in it changes, so that a page need not redraw it.
    """
    finding = next((finding for finding in outcome.findings if finding.check != UNREAD), None)
    has_reading = bool(outcome.text.strip()) and not (finding and finding.check in NO_READING)
    is_later = is_read_later(outcome.text)
    return {
        "finding": {"check": finding.check, "words": translate(finding).partition(". ")} if finding else None,
        "page_words": show_page_words(outcome.text, asked.text) if finding else [],
        "no_answer": [(value, gettext(label)) for value, label in ReadBack.NoAnswer.choices if value != UNREACHED],
        # One question at a time: beside another one, the reading is folded.
        "read": show_reading(asked, outcome.text, reply, outcome.unread and not finding)
        if has_reading and not is_later
        else None,
        "said_before": [] if has_reading and not is_later else reply.fields(),
        "later": has_reading and is_later,
        "messages": [translate(finding) for finding in outcome.findings],
        "about": f"{mark_of(outcome.text)} {finding.check if finding else ''} {outcome.unread}",
    }


def show_page_words(text: str, prompt: str) -> list[tuple[int | None, str]]:
    """Lines of the chatbot's own page with their numbers, and the answer's lines next to them with None.

    An ellipsis marks a gap. Empty if the text holds only the answer.
    """
    lines, gone = text.split("\n"), page_lines(text, prompt)
    full = [at for at, line in enumerate(lines) if line.strip()]
    near = {
        full[at]
        for number, line in enumerate(full)
        if line in gone
        for at in (number - 1, number, number + 1)
        if 0 <= at < len(full)
    }
    shown: list[tuple[int | None, str]] = []
    for number, at in enumerate(full):
        if at in near:
            shown.append((at if at in gone else None, shorten(lines[at])))
        elif number and full[number - 1] in near:
            shown.append((None, "…"))
    return shown


def shorten(line: str) -> str:
    return line.strip() if len(line.strip()) <= LONGEST_SHOWN else f"{line.strip()[:LONGEST_SHOWN]}…"


def gate_json(gate: dict[str, Any]) -> dict[str, Any]:
    """The panel for a script, rendered; `messages` are its questions in words."""
    panel = render_to_string("pasting/_gate.html", gate)
    return {"messages": gate["messages"], "panel": panel, "about": gate["about"]}


def step_name(asked: Prompt) -> str:
    return f"prompt:{asked.slug}"


def paste_page(
    request: HttpRequest, asked: Prompt, number: int, revision: int, language: str, said: dict[str, Any]
) -> dict[str, Any]:
    back = address(request.participant, "prompt", number - 1) if number > 1 else ""
    if number == 1 and not request.definition.settings_later:
        back = address(request.participant, "context")
    return page_context(
        request,
        step_name(asked),
        answered=number - 1,
        prompt=asked,
        shown_in=shown_language(request, language),
        number=number,
        total=len(request.participant.order),
        minutes_left=minutes_left(Step.PROMPTS, request.definition, number - 1, len(request.participant.order)),
        back_url=back,
        key=uuid.uuid4(),
        page=capture.seal_page(revision),
        draft_number=0,
        ratings=capture.RATINGS,
        **said,
    )


def answer_again(
    request: HttpRequest,
    asked: Prompt,
    number: int,
    submission: capture.PasteSubmission,
    outcome: capture.PasteOutcome | None = None,
    error: str = "",
) -> HttpResponse:
    """Show the page again, with the text still in it and our questions about it."""
    personal = outcome.personal if outcome else {}
    gate = gate_of(asked, outcome, submission.reply) if outcome and not personal else {}
    # A held answer is a revision too: the page sent again has seen it, unless it was an older page before.
    revision = submission.base
    if outcome and outcome.revision and not outcome.older_page:
        revision = outcome.revision
    if wants_json(request):
        asks = {"error": error, "personal": personal, "messages": [], "page": capture.seal_page(revision)}
        return JsonResponse(asks | (gate_json(gate) if gate else {}), status=422)
    said = describe_asking(request, asked, number)
    page = paste_page(request, asked, number, revision, submission.language, said)
    draft = draft_of(request, step_name(asked))
    page |= {
        "text": submission.text,
        "html": submission.html,
        "evidence": request.POST.get("evidence", ""),
        "draft_number": draft.number if draft else 0,
        "key": submission.key,
        "privacy": submission.privacy,
        "removed": json.dumps(submission.removed) if submission.removed else "",
        "reached": request.POST.get("reached", ""),
        "rated": submission.rating,
        "error": error,
        "personal": show_personal(submission.text) if personal else [],
    }
    return render(request, "pasting/prompt.html", page | gate)


def translate(finding: Finding) -> str:
    sentence = gettext(finding.message)
    return sentence % finding.detail if finding.detail else sentence


# Minutes of a lease by version, by a study's area and slug; people of versions not in here are looked up first.
LEASES: dict[tuple[str, str], dict[int, int]] = {}


def know_lease(request: HttpRequest) -> None:
    """Remember a version's lease, so that autosaves need not look it up: versions never change."""
    known = LEASES.setdefault((request.resolver_match.namespace, request.definition.slug), {})
    known[request.participant.version_id] = request.definition.lease_minutes


@csrf_exempt
def draft(request: HttpRequest, study: str, token: str) -> HttpResponse:
    """Autosave. Reply with the draft's number after the commit, or with 409 if a newer page saved since.

    With `check=1` (right after a paste) the reply also holds what the paste checks notice.
    """
    pseudonym, without_proof = read_link(study, token)
    if request.method != "POST":
        return HttpResponse(status=405, headers={"Allow": "POST"})
    if not within_limit(request, "draft"):
        return JsonResponse({"error": "busy"}, status=429)
    known = LEASES.get((request.resolver_match.namespace, study))
    step = request.POST.get("step", "")
    plain = not (without_proof or request.META.get("QUERY_STRING") or request.POST.get("check") or "\x00" in step)
    if known and plain and step.startswith("prompt:"):
        now, data = timezone.now(), capture.cleaned(draft_data(request))
        saved = save_draft_at_once(study, pseudonym, known, now, step.removeprefix("prompt:"), data, number_in(request))
        if saved is not None:
            return saved_as(saved, now)
    return looked_up_draft(request, study=study, token=token)


def draft_data(request: HttpRequest) -> dict[str, str]:
    return {
        name: value
        for name, value in request.POST.items()
        if name not in ("step", "number", "check") and len(value) <= LARGEST_DRAFT
    }


def number_in(request: HttpRequest) -> int:
    number = request.POST.get("number", "0")
    return int(number[:9]) if number.isdecimal() else 0


def saved_as(number: int, now: datetime, **more: Any) -> HttpResponse:
    answer = {"number": number, "saved_at": now.isoformat(), **more}
    return HttpResponse(json.dumps(answer).encode(), content_type="application/json")


@participant_page(Step.QUESTIONS)
def looked_up_draft(request: HttpRequest) -> HttpResponse:
    """Autosave after looking the person up: they may come back, need a message, or be asked about the text."""
    if is_unproven():
        message = gettext("This visit keeps nothing until you press the button below.")
        return JsonResponse({"newer": True, "message": message}, status=409)
    know_lease(request)
    participant, step = request.participant, request.POST.get("step", "")
    if step not in draft_steps(request):
        return JsonResponse({"error": "unknown step"}, status=400)
    saved = capture.save_draft(participant, step, draft_data(request), number_in(request))
    if saved is None:
        message = gettext("A newer page saved this answer. Reload to see it; what you see here stays until you do.")
        return JsonResponse({"newer": True, "message": message}, status=409)
    now, slug = timezone.now(), step.removeprefix("prompt:")
    if slug not in participant.order or not request.POST.get("check"):
        return saved_as(saved, now)
    asked = asked_in(request, slug, request.POST.get("shown_in", ""))
    outcome = capture.check_draft(participant, asked, request.POST.get("text", ""))
    return saved_as(saved, now, **gate_json(gate_of(asked, outcome, read_reply(request.POST))))


def draft_steps(request: HttpRequest) -> set[str]:
    """Names of pages that have drafts; others are refused, or anybody could fill the database."""
    prompts = (f"prompt:{slug}" for slug in request.participant.order)
    checks = (f"attention:{check.slug}" for check in request.definition.attention)
    between = {Step.CONTEXT} if request.definition.settings_later else set()
    return {*way_of(request.definition), *between, *prompts, *checks}


DRAFT = path(f"{OWN}draft/", draft, name="draft")
# Most frequent addresses first.
answering: list[URLPattern] = [
    path(f"{OWN}prompt/<int:number>/", prompt, name="prompt"),
    DRAFT,
    path("<slug:study>/", arrival.arrive, name="arrive"),
    path(f"{OWN}questions/", participation.questions, name="questions"),
    path(f"{OWN}questions/<int:page>/", participation.questions, name="questions"),
    path(f"{OWN}instructions/", participation.instructions, name="instructions"),
    path(f"{OWN}chatbot/", participation.context, name="context"),
    path(f"{OWN}attention/<slug:slug>/", participation.attention, name="attention"),
    path(f"{OWN}perception/", participation.perception, name="perception"),
    path(f"{OWN}debrief/", participation.debrief, name="debrief"),
    path(f"{OWN}help/", participation.trouble, name="trouble"),
    path(f"{OWN}stop/", participation.stop, name="stop"),
]
urlpatterns = [path("s/", include((answering + shared, "survey")))]
