"""The content of an annotator's page: one item, its questions with the answers so far, and the progress."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from surveys.annotation.labels import HASTY, SKIP_REASONS, count_words, least_ms
from surveys.annotation.qualification import training_of
from surveys.annotation.texts import Piece, cut_text, find_quote, find_words
from surveys.annotation.work import (
    AnnotationTask,
    LabellingProgress,
    find_last,
    newest_of,
    progress_of,
    seal_task,
    tasks_of_user,
)
from surveys.models import Annotation, AnnotationItem, Participant
from surveys.participation.steps import address
from surveys.participation.views import page_context
from surveys.studies.access import is_unproven
from surveys.studies.files.kinds import KINDS, PART, SIDES, Kind, LabelOption, LabelQuestion, fields_of
from surveys.studies.labels import questions_for, was_read
from surveys.studies.lifecycle import definition_of

State = Annotation.State
LONGEST_SEARCH = 200
MOST_HITS_LINKED = 40
MOST_CHIPS = 12  # of a profile; in a longer one only lines that are asked about are chips
LEAST_TO_ASK = 100  # words; with fewer, nobody can be called too quick


@dataclass(frozen=True)
class AskedQuestion:
    """One question of the page's form: its field, the part of the item it is about, and the answer so far."""

    number: int
    field: str
    question: LabelQuestion
    value: str = ""
    about: str = ""
    fault: str = ""

    @property
    def id(self) -> str:
        return f"question-{self.number}"

    @property
    def text(self) -> str:
        return gettext(self.question.text)

    @property
    def choices(self) -> list[tuple[LabelOption, str, str]]:
        return [(choice, gettext(choice.label), choice.hint and gettext(choice.hint)) for choice in self.question.shown]

    @property
    def columns(self) -> int:
        """The number of columns: choices stand side by side, or below each other if one of them has a hint."""
        return 1 if any(choice.hint for choice in self.question.choices) else len(self.question.choices)

    @property
    def switch(self) -> LabelOption:
        """A toggle's choice when it is on."""
        return self.question.choices[-1]


@dataclass(frozen=True)
class Turn:
    role: str
    pieces: list[Piece]

    @property
    def has_evidence(self) -> bool:
        return any(piece.evidence for piece in self.pieces)


@dataclass(frozen=True)
class ShownConversation:
    title: str
    turns: list[Turn]


@dataclass(frozen=True)
class Card:
    """One of the items about the same user, in the list beside the history."""

    item: AnnotationItem
    url: str
    words: str = ""
    is_open: bool = False


def task_page(
    request: HttpRequest,
    task: AnnotationTask,
    given: Mapping[str, str] | None = None,
    faults: Mapping[str, str] | None = None,
    since: str = "",
) -> dict:
    """Context of the template of an item's kind.

    `given` are labels sent and not saved, `since` the answer that another window has given meanwhile.
    """
    participant, item, kind = request.participant, task.item, KINDS[task.item.kind]
    page = page_context(request, "work", **addresses_of(participant, item), **standing(request, task))
    opened = read_opened(request.POST.get("opened") or request.GET.get("opened", ""), item)
    evidence = list(evidence_of(item, opened))
    questions = questions_for(request.definition.annotation)
    asked = list(questions_of(questions, item, given if given is not None else labels_of(task), faults or {}))
    return page | {
        "task": task,
        "payload": item.payload,
        "kind": kind,
        "title": gettext(kind.title),
        "asked": asked,
        "faults": faults or {},
        "since": since,
        "since_kept": given is None,
        "sides": sides_of(task, kind),
        **profile_of(item, asked),
        "cards": cards_of(participant, task),
        "evidence": evidence,
        "located": any(snippet["link"] for snippet in evidence),
        "opened": ",".join(map(str, opened)),
        # Each form has a key of its own, or an undo right after saving would be taken for the form that was saved.
        **{name: uuid.uuid4() for name in ("key", "skip_key", "undo_key")},
        "page": seal_task(participant, task),
        "skip_reasons": [(code, gettext(words)) for code, words in SKIP_REASONS.items()],
        "back": "labels" if "labels" in (request.GET.get("back"), request.POST.get("back")) else "",
        "guidelines": request.definition.annotation.guidelines,
        "read": task.newest is not None and was_read(task.newest.left, task.newest.trace),
        **haste_of(task, participant),
        **history_of(request, item),
    }


def haste_of(task: AnnotationTask, participant: Participant) -> dict[str, int]:
    """The time within which nobody reads the item, and its words; empty for few words or a person already asked."""
    words = count_words(task.item)
    if words < LEAST_TO_ASK or Annotation.objects.filter(participant=participant, trace__hasty__in=HASTY).exists():
        return {}
    return {"quick_ms": least_ms(task.item), "words_to_read": round(words, -2)}


def addresses_of(participant: Participant, item: AnnotationItem) -> dict[str, Any]:
    urls = {f"{name}_url": address(participant, name) for name in ("work", "undo", "labels", "guidelines", "alive")}
    return urls | {f"{name}_url": address(participant, name, item.pk) for name in ("item", "skip")}


# --- progress ---------------------------------------------------------------


def standing(request: HttpRequest, task: AnnotationTask) -> dict[str, Any]:
    """The progress, and the answer that an undo takes back. A page made ahead counts the item before it as done."""
    participant = request.participant
    if task.is_training:
        training = training_of(participant)
        progress = LabellingProgress(training.answered, training.total)
        return {"training": True, "once_more": training.is_repeated, "progress": progress}
    progress, ahead = progress_of(participant), ahead_of(request)
    last = None if ahead or is_unproven() else find_last(participant)
    return {
        "progress": LabellingProgress(progress.done + ahead, progress.total),
        "undo": describe(last) if last else "",
        "ahead": ahead,
        "may_undo": not is_unproven(),
    }


def ahead_of(request: HttpRequest) -> int:
    """1 if the page is fetched while its reader is still at an item that has no label yet, else 0."""
    before = request.GET.get("ahead", "")[:18]
    if not before.isdecimal():
        return 0
    return int(not newest_of(request.participant).filter(item=int(before), state=State.GIVEN).exists())


def describe(annotation: Annotation) -> str:
    """An annotation in the words of the page."""
    if annotation.reason and not annotation.labels:
        return gettext("Skipped")
    return " · ".join(label for _, label in words_of(annotation))


def words_of(annotation: Annotation) -> Iterator[tuple[str, str]]:
    """(part of the item, the label in words) of each answered question; of a toggle only if it is on."""
    item, questions = annotation.item, questions_for(definition_of(annotation.version_id).annotation)
    for field, question in fields_of(questions, item.payload).items():
        value = annotation.labels.get(field, "")
        if question.toggle and value == question.choices[-1].value:
            yield "", gettext(question.text)
        elif question.is_label and not question.toggle and value:
            yield about(item, field, question), label_in_words(question, value)


def label_in_words(question: LabelQuestion, value: str) -> str:
    return next((gettext(choice.label) for choice in question.choices if choice.value == value), value)


def about(item: AnnotationItem, field: str, question: LabelQuestion) -> str:
    """The part of the item that a field asks about; empty if it asks about the whole."""
    parts = item.payload.get(question.per, ()) if question.per else ()
    return next((part["text"] for part in parts if part["id"] == field.split(PART, 1)[1]), "")


def headline(item: AnnotationItem) -> str:
    """An item's name in lists, such as its statement or its prompt."""
    return item.payload.get(KINDS[item.kind].headline) or item.key


def prompt_of(item: AnnotationItem) -> str:
    """The item's prompt; empty if that is the headline."""
    prompt = item.payload.get("prompt", "")
    return "" if prompt == headline(item) else prompt


# --- the form ---------------------------------------------------------------


def labels_of(task: AnnotationTask) -> Mapping[str, str]:
    """This person's labels so far; none in training, which begins anew when it is repeated."""
    return task.newest.labels if task.newest and not task.is_training else {}


def questions_of(
    questions: Iterable[LabelQuestion], item: AnnotationItem, given: Mapping[str, str], faults: Mapping[str, str]
) -> Iterator[AskedQuestion]:
    for number, (field, question) in enumerate(fields_of(questions, item.payload).items(), 1):
        wanted = gettext("Please choose one answer.") if question.is_label else gettext("Please shorten this text.")
        fault = wanted if field in faults else ""
        yield AskedQuestion(number, field, question, given.get(field, ""), about(item, field, question), fault)


def sides_of(task: AnnotationTask, kind: Kind) -> list[tuple[str, str]]:
    """The two responses as answers A and B, the left one first."""
    if not kind.sided:
        return []
    order = sorted(SIDES, key=lambda side: side != task.left)
    return list(zip("AB", (task.item.payload[side] for side in order), strict=True))


def profile_of(item: AnnotationItem, asked: list[AskedQuestion]) -> dict[str, Any]:
    """The profile as chips, each line with the question that asks about it, if one does.

    If it is long, lines that nothing asks about form a list of their own, so that the answers stay near.
    """
    questions = {one.about: one.id for one in asked if one.about}
    chips = [(text, questions.get(text, "")) for text in dict.fromkeys([*item.payload.get("profile", ()), *questions])]
    if len(chips) <= MOST_CHIPS:
        return {"chips": chips}
    return {
        "chips": [(text, question) for text, question in chips if question],
        "known": [text for text, question in chips if not question],
    }


def cards_of(participant: Participant, task: AnnotationTask) -> list[Card]:
    """This person's items about the same user, and the open one even if others have taken its slots.

    A link without proof shows no answers.
    """
    mine = tasks_of_user(participant, task.item)
    if all(one.item != task.item for one in mine):
        mine = [*mine, task]
    return [
        Card(
            one.item,
            address(participant, "item", one.item.pk),
            describe(one.newest) if one.newest and one.newest.state != State.WITHDRAWN and not is_unproven() else "",
            one.item.pk == task.item.pk,
        )
        for one in mine
    ]


# --- history and evidence ---------------------------------------------------


def evidence_of(item: AnnotationItem, opened: list[int]) -> Iterator[dict[str, Any]]:
    """Each quote with its number and the link that opens it without scripts."""
    for number, snippet in enumerate(item.payload.get("evidence", ()), 1):
        after = ",".join(map(str, sorted({*opened, number})))
        link = f"?opened={after}#evidence-{number}" if snippet["turn"] else ""
        yield {"number": number, "quote": snippet["quote"], "link": link}


def read_opened(raw: str, item: AnnotationItem) -> list[int]:
    """Numbers of the snippets that were opened; anything else in the field is ignored."""
    there = range(1, len(item.payload.get("evidence", ())) + 1)
    numbers = {int(part) for part in raw[:2_000].split(",") if part.isdecimal() and len(part) < 6}
    return sorted(numbers & set(there))


def history_of(request: HttpRequest, item: AnnotationItem) -> dict[str, Any]:
    """The conversations with evidence and search hits marked in them; empty for items without a history."""
    if item.history is None:
        return {}
    words, hits, conversations = request.GET.get("find", "").strip()[:LONGEST_SEARCH], 0, []
    snippets = list(enumerate(item.payload.get("evidence", ()), 1))
    for number, conversation in enumerate(item.history.conversations, 1):
        turns = []
        for place, turn in enumerate(conversation["turns"], 1):
            here = [(n, s["quote"]) for n, s in snippets if (s["conversation"], s["turn"]) == (number, place)]
            found = find_words(turn["text"], words, hits + 1)
            hits += len(found)
            quoted = [mark for n, quote in here for mark in find_quote(turn["text"], quote, n)]
            turns.append(Turn(turn["role"], cut_text(turn["text"], [*quoted, *found])))
        conversations.append(ShownConversation(conversation["title"], turns))
    linked = range(1, min(hits, MOST_HITS_LINKED) + 1)
    return {"conversations": conversations, "find": words, "hits": hits, "linked_hits": linked}
