"""Finding people, labels for researchers, and decisions about one person by hand."""

import secrets
from collections.abc import Mapping

from django.db import transaction
from django.db.models import Count, Exists, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from surveys.annotation.work import begin, has_pages
from surveys.models import PROLIFIC_ID, Annotation, AnnotationItem, Flag, Participant, Response, Slot, Study
from surveys.participation import recruitment
from surveys.participation.prolific import Visit
from surveys.reading.checks import CHECKS
from surveys.studies import audit
from surveys.studies.flow import people_of, who_or_main
from surveys.studies.lifecycle import annotation_of

# Orders by their name in the address: label and columns.
SORTS = {
    "newest": ("Newest first", ("-id",)),
    "oldest": ("Oldest first", ("id",)),
    "seen": ("Last seen first", ("-last_seen_at", "-id")),
    "answers": ("Most answers first", ("-answered", "-id")),
    "flags": ("Most flags first", ("-flagged", "-id")),
    "name": ("By name", ("pseudonym",)),
}


def find_people(study: Study, wanted: Mapping[str, str], with_pids: bool) -> QuerySet[Participant]:
    """The people who pass the filters, in the order asked for. An unknown value filters nothing.

    `wanted` has who, state, cell, flag, q and sort. A whole Prolific id finds its person only `with_pids`.
    """
    people = people_of(study, who_or_main(wanted.get("who", "")))
    if wanted.get("state") in Participant.State.values:
        people = people.filter(state=wanted["state"])
    if wanted.get("cell", "").isdecimal():
        people = people.filter(cell=int(wanted["cell"][:9]))
    if wanted.get("flag") in CHECKS:
        people = people.filter(Exists(Flag.objects.filter(participant=OuterRef("pk"), check_name=wanted["flag"])))
    text = wanted.get("q", "").strip().replace("\x00", "")
    if PROLIFIC_ID.fullmatch(text) and with_pids:
        people = people.filter(pid=text)
    elif text:
        people = people.filter(pseudonym__icontains=text)
    _, order = SORTS.get(wanted.get("sort", ""), SORTS["newest"])
    return with_counts(people, study).select_related("cell", "version").order_by(*order)


def with_counts(people: QuerySet[Participant], study: Study) -> QuerySet[Participant]:
    """Each person with the numbers of answered prompts, or of an annotator's labels, and of flags."""
    answers = Response.objects.filter(participant=OuterRef("pk"), accepted=True)
    answered = count_in(answers, Count("prompt", distinct=True))
    if annotation_of(study):
        work = Slot.objects.filter(item__purpose=AnnotationItem.Purpose.WORK, done_at__isnull=False)
        answered = count_in(work.filter(participant=OuterRef("pk")), Count("id"))
        # Imported people have no slots.
        imported = Annotation.objects.filter(participant__origin=Participant.Origin.IMPORTED)
        answered += count_in(imported.filter(participant=OuterRef("pk")), Count("item", distinct=True))
    flags = Flag.objects.filter(participant=OuterRef("pk"))
    return people.annotate(answered=answered, flagged=count_in(flags, Count("id")))


def count_in(rows: QuerySet, count: Count, by: str = "participant") -> Coalesce:
    # One subquery for each column: joined, they would multiply each other's rows.
    counted = rows.order_by().values(by).annotate(n=count).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


# --- labels for researchers, by the slugs in rows ---

CHECK_NAMES = {name: check.label for name, check in CHECKS.items()}
REASON_NAMES = {
    "chatbot": "uses none of the chatbots",
    "no-group": "belongs to no group of this study",
    "cells-full": "every fitting cell was full",
    "not-invited": "was not invited",
    "no-work-left": "no item was left to judge",
    "comprehension-failed-twice": "about the instructions",
    "training-failed-twice": "in the training",
    "no-copying": "copying or pasting does not work on their device",
    "no-window": "no chatbot and page on one device",
    "no-chatbot": "the chatbot does not answer, or no log-in",
    "no-access": "not with their screen reader, magnifier or keyboard",
    "other": "something else",
    "returned-by-participant": "by the participant",
    "returned-on-prolific": "on Prolific",
    "returned-at-prolific": "on Prolific, as Prolific reported",
    "at questions": "at the first questions",
    "at instructions": "at the instructions",
    "at comprehension": "at the comprehension check",
    "at context": "at the chatbot context",
    "at prompts": "at the prompts",
    "at debrief": "at the last page",
    "at end": "after the end",
}


def reason_name(reason: str) -> str:
    """A reason in words; a screening question's slug is named as such."""
    return REASON_NAMES.get(reason, f"question “{reason}”" if " " not in reason else reason)


# --- decided by hand ---

State = Participant.State


class DecisionError(Exception):
    """A decision that the person's state does not allow; the message says why."""


def start_preview(study: Study, actor: str) -> Participant:
    """Begin a preview: a participant like any other that takes no place and never counts. Raises DecisionError."""
    if not has_pages(study):
        raise DecisionError(f"The labels of {study.slug} were collected elsewhere: there are no pages to preview.")
    if study.archived_at:
        raise DecisionError(f"{study.slug} is in the archive. Take it back first.")
    with transaction.atomic():
        visit = Visit(*(secrets.token_hex(12) for _ in range(3)))
        participant = begin(recruitment.give_consent(study, visit, Participant.Origin.PREVIEW))
        audit.record(study, actor, "previewed", participant.pseudonym)
        return participant


def mark_returned(participant: Participant, actor: str) -> Participant:
    """End the participation of a person who returned the submission on Prolific, which frees their place."""
    with transaction.atomic():
        before = recruitment.lock(participant)
        if before.has_ended:
            raise DecisionError(f"{before} has already ended ({before.get_state_display().lower()}).")
        after = recruitment.stop(before, State.RETURNED, "returned-on-prolific")
        audit.record(after.study, actor, "marked as returned", after.pseudonym, before=before.state)
        return after
