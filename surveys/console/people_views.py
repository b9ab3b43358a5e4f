"""Participants: the list, one person with everything they gave, decisions about them, and notes on them and others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Left, Length
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from surveys.console.monitoring.people import CHECK_NAMES, SORTS, DecisionError, find_people, mark_returned, reason_name
from surveys.models import (
    Annotation,
    AnnotationItem,
    AuditEvent,
    Flag,
    Note,
    Participant,
    QuotaCell,
    ReadBack,
    Response,
    Study,
    StudyVersion,
)
from surveys.studies.access import BLINDED, Role, may_see_answers
from surveys.studies.files.definitions import Definition
from surveys.studies.flow import WHO, kinds_of_people, who_or_main
from surveys.studies.labels import newest
from surveys.studies.lifecycle import STATE_WORDS, annotation_of, definition_of, prompts_of
from surveys.studies.pages import address_without_page, may, notes_on, page_of, saying, show, study_page
from surveys.studies.wording import duration, percent, plural

PAGE_SIZE = 50
EXCERPT = 20_000  # characters of an answer that the page itself holds; the rest has an address of its own
FOLD = 1500  # characters from which an answer is folded


@study_page(Role.BLINDED, require_safe)
def participants(request: HttpRequest) -> HttpResponse:
    wanted = {name: request.GET.get(name, "") for name in ("who", "state", "cell", "flag", "q", "sort")}
    wanted["who"] = who_or_main(wanted["who"])
    people = page_of(request, find_people(request.study, wanted, may(request, Role.RESEARCHER)), PAGE_SIZE)
    kinds = kinds_of_people(request.study)
    labels = annotation_of(request.study)  # annotators give these; they paste nothing that could be flagged
    for person in people:
        person.may_be_opened = may_see_answers(request.role, person)
    return show(
        request,
        "console/participants.html",
        "people",
        people=people,
        wanted=wanted,
        filtered=any(wanted[name] for name in ("state", "cell", "flag", "q")),
        has_people=any(kinds.values()),
        kinds=[(who, name, kinds[who]) for who, (name, _) in WHO.items()],
        states=Participant.State.choices,
        labels=labels,
        nobody=say_nobody(request.study, kinds, wanted["who"]),
        cells=QuotaCell.objects.filter(study=request.study),
        checks=CHECK_NAMES.items(),
        sorts=[
            (name, label.replace("answers", "labels") if labels else label)
            for name, (label, _) in SORTS.items()
            if name != "flags" or not labels
        ],
        query=address_without_page(request),
    )


def say_nobody(study: Study, kinds: Mapping[str, int], who: str) -> str:
    if kinds["all"]:
        return f"Nobody of “{WHO[who][0]}” has agreed to take part yet. Choose other people above."
    if study.is_open:
        return "Nobody has agreed to take part yet. The study is open: as soon as somebody comes, they appear here."
    return f"Nobody has agreed to take part yet. The study is {STATE_WORDS[study.state]}."


def find_person(request: HttpRequest, pseudonym: str) -> Participant:
    people = Participant.objects.select_related("cell", "version", "context", "place", "study")
    person = get_object_or_404(people, study=request.study, pseudonym=pseudonym)
    if not may_see_answers(request.role, person):
        raise PermissionDenied(BLINDED)
    return person


@study_page(Role.BLINDED, require_safe)
def participant(request: HttpRequest, pseudonym: str) -> HttpResponse:
    person = find_person(request, pseudonym)
    definition = definition_of(person.version_id)
    revisions, flags = list(revisions_of(person)), list(person.flags.select_related("prompt"))
    sessions, drafts = list(person.sessions.all()), list(person.drafts.all())
    decisions = list(AuditEvent.objects.filter(study=request.study, subject=person.pseudonym))
    return show(
        request,
        "console/participant.html",
        "people",
        person=person,
        notes=notes_on(request, "participant", person.pk),
        reason=reason_name(person.reason) if person.reason else "",
        see_pid=may(request, Role.RESEARCHER),
        can_return=may(request, Role.RESEARCHER) and not person.has_ended,
        prompts=answered_prompts(person, definition, revisions, flags),
        labelled=count_labelled(person) if definition.annotation else None,
        answers=answer_rows(person, definition),
        attention=attention_rows(person, definition),
        seen=describe_perception(person.checks.get("perception")),
        tries=len(person.checks.get("comprehension", [])),
        sessions=sessions,
        decisions=decisions,
        timeline=make_timeline(person, revisions, flags, sessions, drafts, decisions),
    )


def answer_rows(person: Participant, definition: Definition) -> list[tuple[str, str]]:
    """(question, answer) for each question that has an answer, in the file's order."""
    asked = {"chatbot": definition.chatbot_question.text}
    asked |= {question.slug: question.text for question in definition.questions}
    return [(text, person.answers[slug]) for slug, text in asked.items() if person.answers.get(slug)]


def count_labelled(person: Participant) -> int:
    """How many items an annotator has labelled, in pilot and main study, without training."""
    said = newest(Annotation.objects.filter(participant=person)).filter(state=Annotation.State.GIVEN)
    return said.exclude(item__purpose=AnnotationItem.Purpose.TRAINING).count()


def revisions_of(person: Participant) -> QuerySet[Response]:
    """All revisions without their full texts: one answer may be a megabyte long and have 200 revisions."""
    return (
        person.responses.select_related("prompt")
        .defer("text", "html", "text_sha256")
        .annotate(
            excerpt=Left(F("text"), EXCERPT),
            length=Length("text"),
            html_length=Length("html"),
            unreached=Exists(ReadBack.objects.filter(response=OuterRef("pk"), no_answer=ReadBack.NoAnswer.UNREACHED)),
        )
    )


@dataclass
class Revision:
    response: Response
    evidence: list[str]

    @property
    def size(self) -> str:
        return plural(self.response.length, "character")

    @property
    def folded(self) -> bool:
        return self.response.length > FOLD

    @property
    def cut(self) -> bool:
        return self.response.length > EXCERPT


@dataclass
class PromptAnswer:
    """A prompt with the answer that counts, the other revisions and the flags."""

    number: int
    title: str
    text: str
    answer: Revision | None = None
    others: list[Revision] = field(default_factory=list)
    flags: list[tuple[str, Flag]] = field(default_factory=list)


def answered_prompts(
    person: Participant, definition: Definition, revisions: list[Response], flags: list[Flag]
) -> list[PromptAnswer]:
    """The prompts in this person's order, then answers whose place is unknown, numbered 0."""
    asked = {response.prompt.slug: response.prompt for response in revisions} | prompts_of(person.version_id)
    unplaced = sorted(
        {response.prompt.slug for response in revisions} - {*person.order}, key=lambda at: asked[at].position
    )
    texts = {prompt.slug: prompt.text or prompt.question for prompt in definition.prompts}
    texts |= {slug: each.question for slug, each in definition.set_questions.items()}
    rows = []
    for number, slug in [*enumerate(person.order, 1), *((0, slug) for slug in unplaced)]:
        if not slug:  # of an imported person, who gave no answer at this place
            continue
        prompt = asked[slug]
        row = PromptAnswer(number, prompt.label, texts.get(prompt.base, prompt.text))
        mine = [describe_revision(response) for response in revisions if response.prompt.slug == slug]
        accepted = [revision for revision in mine if revision.response.accepted]
        row.answer = accepted[-1] if accepted else None
        row.others = [revision for revision in reversed(mine) if revision is not row.answer]
        row.flags = [(name_check(flag), flag) for flag in flags if flag.prompt.slug == slug]
        rows.append(row)
    return rows


def describe_revision(response: Response) -> Revision:
    words = [
        describe_timing(response),
        *describe_evidence(response.evidence),
        *describe_personal(response.personal),
        *describe_saying(response),
    ]
    return Revision(response, words)


# --- the evidence of an answer, in words -------------------------------------

COUNTED = {
    "e-mail": "e-mail address",
    "phone": "phone number",
    "name": "name",
    "chat-link": "link to a chat",
    "bank-account": "bank account",
    "card": "card number",
    "social-security": "social-security number",
    "address": "postal address",
    "birth-date": "date of birth",
}


def describe_evidence(evidence: Mapping[str, Any]) -> list[str]:
    """Sentences about how the text was entered; if unobserved, one that says so, and signs of an agent."""
    signs = describe_agent(evidence)
    if not evidence.get("observed"):
        return ["Not observed: the page ran without JavaScript.", *signs]
    sentences = [
        "The copy button was pressed." if evidence.get("copied_at") else "The copy button was not pressed.",
        describe_entry(evidence),
    ]
    if evidence.get("edited_after"):
        sentences.append("The text was edited after the paste.")
    if lines := evidence.get("page_words"):
        said = ", ".join(f"\u201c{line}\u201d" for line in lines[:3])
        sentences.append(f"{plural(len(lines), 'line')} of the chatbot's page taken out in one press: {said}.")
    if evidence.get("away_ms"):
        sentences.append(f"Away from the page for {duration(evidence['away_ms'] / 1000)}.")
    return [*sentences, *signs]


def describe_agent(evidence: Mapping[str, Any]) -> list[str]:
    signs = [f"The request came from {agent}."] if (agent := evidence.get("agent")) else []
    signs += ["The browser said that a program drives it."] if evidence.get("automated") else []
    return [*signs, "By itself that is no reason to refuse pay."] if signs else []


def describe_entry(evidence: Mapping[str, Any]) -> str:
    pasted, typed, share = evidence.get("pasted", 0), evidence.get("typed", 0), evidence.get("share_pasted")
    if not pasted and not typed:
        return "No typing or pasting was seen."
    times = len(evidence.get("pastes", []))
    how_often = f" in {times:,} pastes" if times > 1 else ""
    part = f" ({percent(share)} pasted)" if isinstance(share, int | float) else ""
    return f"{plural(pasted, 'character')} pasted{how_often}, {typed:,} typed{part}."


def describe_personal(personal: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Personal details removed before sending, and those that the person chose to leave in."""
    verbs = {"removed": "Taken out before sending", "kept": "Left in by the participant"}
    return [
        f"{verbs[what]}: {', '.join(f'{n} × {COUNTED.get(kind, kind)}' for kind, n in counts.items())}."
        for what, counts in personal.items()
        if what in verbs and counts
    ]


def describe_saying(response: Response) -> list[str]:
    """The person's rating in words, or that they could not find the state of the account."""
    rated = [f"Rated {response.rating} of 5."] if response.rating else []
    rated += ["Said that they cannot rate it."] if response.is_unrated else []
    return rated + (["Said that they cannot find this state of the account."] if response.unreached else [])


def describe_timing(response: Response) -> str:
    """The time between sending the page and getting the form back, by the server's clock."""
    if response.shown_at is None:
        return "The time on the page is not known."
    return f"{duration((response.submitted_at - response.shown_at).total_seconds())} on the page."


# --- other facts about a person -------------------------------------------------


def name_check(flag: Flag) -> str:
    return CHECK_NAMES.get(flag.check_name, flag.check_name)


def attention_rows(person: Participant, definition: Definition) -> list[dict]:
    given = person.checks.get("attention", {})
    return [
        {"text": check.text, "given": given[check.slug]["answer"], "passed": given[check.slug]["passed"]}
        for check in definition.attention
        if check.slug in given
    ]


def describe_perception(noted: dict | None) -> str:
    """The answer about the figure in moving dots. A wrong one says little about one person, and nothing about pay."""
    if not noted:
        return ""
    right = {True: "right", False: "not right", None: "a person may say so"}[noted["right"]]
    asked = "in words instead" if noted["alternative"] else f"shown: {noted['figure']}"
    return f"{asked}; chosen: {noted['picked']}; {right}. Never by itself a reason to refuse pay."


Event = tuple[datetime, str, str]


def make_timeline(
    person: Participant, revisions: Any, flags: Any, sessions: Any, drafts: Any, decisions: Any
) -> list[Event]:
    """(when, what, detail) of everything that has a time, from the first to the last."""
    events: list[Event] = [(person.consented_at, "Consent given", f"version {person.consent_version}")]
    events += [(session.first_seen_at, "Visit", session.get_rule_display()) for session in sessions]
    if hasattr(person, "context"):
        events.append((person.context.recorded_at, "Chatbot context given", str(person.context)))
    for response in revisions:
        what = "Answer stored" if response.accepted else "Answer held by a check"
        detail = f"{response.prompt.label}, revision {response.revision}, {plural(response.length, 'character')}"
        events.append((response.submitted_at, what, detail))
    for flag in flags:
        events.append((flag.shown_at, "Question shown", f"{name_check(flag)}: {flag.prompt.label}"))
    events += [(draft.saved_at, "Last saved automatically", f"{draft.step}, {draft.number} times") for draft in drafts]
    events += [(decision.at, f"{decision.action} by {decision.actor}".capitalize(), "") for decision in decisions]
    if person.finished_at:
        events.append((person.finished_at, person.get_state_display(), person.code and f"code {person.code}"))
    return sorted(events, key=lambda event: event[0])


@study_page(Role.BLINDED, require_safe)
def response_text(request: HttpRequest, pseudonym: str, number: int) -> HttpResponse:
    """One revision's text to the letter, as plain text: a browser never takes it for a page."""
    person = find_person(request, pseudonym)
    text = get_object_or_404(person.responses.values_list("text", flat=True), pk=number)
    return HttpResponse(text.encode("utf-8"), content_type="text/plain; charset=utf-8")


@study_page(Role.RESEARCHER, require_POST)
def call_returned(request: HttpRequest, pseudonym: str) -> HttpResponse:
    person = find_person(request, pseudonym)
    freed = "; the place is free again" if hasattr(person, "place") else ""
    with saying(request, DecisionError):
        mark_returned(person, request.user.get_username())
        messages.success(request, f"{person} has been marked as returned{freed}.")
    return redirect("console:participant", request.study.slug, person.pseudonym)


# --- notes: only its author changes one; the audit trail has none, as they must be erasable

# The model that a note can be about, and the lookup from its row to the study.
ABOUT: dict[str, tuple[type, str]] = {
    "participant": (Participant, "study"),
    "response": (Response, "participant__study"),
    "version": (StudyVersion, "study"),
}


class NoteError(Exception):
    """A note that is empty or too long."""


def read_note(text: str) -> str:
    said = text.replace("\x00", "").replace("\r\n", "\n").strip()
    if not said:
        raise NoteError("The note is empty.")
    if len(said) > Note.LONGEST:
        raise NoteError(f"A note has at most {Note.LONGEST:,} characters; this one has {len(said):,}.")
    return said


@study_page(Role.RESEARCHER, require_POST)
def write_note(request: HttpRequest, kind: str, key: int) -> HttpResponse:
    if kind not in ABOUT:
        raise Http404
    model, way = ABOUT[kind]
    thing = get_object_or_404(model, **{way: request.study, "pk": key})
    with saying(request, NoteError):
        text = read_note(request.POST.get("text", ""))
        Note.objects.create(study=request.study, author=request.user, text=text, **{kind: thing})
    return back_from_note(request)


@study_page(Role.RESEARCHER, require_POST)
def change_note(request: HttpRequest, number: int) -> HttpResponse:
    """Change or delete a note, which only its author may do."""
    note = get_object_or_404(Note, study=request.study, author=request.user, pk=number)
    with saying(request, NoteError):
        if "delete" in request.POST:
            note.delete()
        else:
            note.text, note.changed_at = read_note(request.POST.get("text", "")), timezone.now()
            note.save(update_fields=["text", "changed_at"])
    return back_from_note(request)


def back_from_note(request: HttpRequest) -> HttpResponse:
    """Redirect to the page of this study that has the form."""
    address = request.POST.get("back", "")
    if address.startswith(f"/console/{request.study.slug}/") and url_has_allowed_host_and_scheme(address, None):
        return redirect(address)
    return redirect("console:study", request.study.slug)


urlpatterns = [
    path("<slug:slug>/participants/", participants, name="participants"),
    path("<slug:slug>/participants/<slug:pseudonym>/", participant, name="participant"),
    path("<slug:slug>/participants/<slug:pseudonym>/returned/", call_returned, name="call-returned"),
    path("<slug:slug>/participants/<slug:pseudonym>/<int:number>.txt", response_text, name="response-text"),
    path("<slug:slug>/notes/<slug:kind>/<int:key>/", write_note, name="write-note"),
    path("<slug:slug>/notes/<int:number>/", change_note, name="change-note"),
]
