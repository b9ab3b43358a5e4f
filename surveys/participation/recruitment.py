"""The rules of taking part: how each participation begins, goes on and ends."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import CASCADE, Model, Q
from django.utils import timezone

from surveys.models import AnonymousExit, Participant, QuotaCell, Session, Study, StudyVersion, Submission, locks
from surveys.participation.places import (
    confirm_place,
    draw_of,
    hold_place_again,
    lease_place,
    release,
    release_holds,
    release_lease,
    release_slots,
)
from surveys.participation.prolific import Visit
from surveys.participation.steps import open_page
from surveys.studies import access
from surveys.studies.files.definitions import Definition, cells_for, screened_out
from surveys.studies.files.schema import SEVERAL
from surveys.studies.lifecycle import definition_in, definition_of, erase_notes, share_withdrawals

State, Step, Origin = Participant.State, Participant.Step, Participant.Origin


class ForgedVisit(Exception):
    """IDs that can't belong together."""


# --- arriving ---------------------------------------------------------------


def check_visit(study: Study, visit: Visit) -> None:
    """Raise ForgedVisit if the study id is not ours or the session is somebody else's."""
    definition = definition_of(study.current_id)
    if definition.prolific_study_ids and visit.study_id not in definition.prolific_study_ids:
        raise ForgedVisit("STUDY_ID")
    owner = Session.objects.filter(study=study, session_id=visit.session_id).select_related("participant").first()
    if owner and owner.participant.pid != visit.pid:
        raise ForgedVisit("SESSION_ID")


def consent_hash(definition: Definition) -> str:
    """Hash of the consent's version and the file's texts on its page: summary and text."""
    consent = definition.consent
    return hashlib.sha256("\n".join([consent.version, *consent.summary, consent.text]).encode()).hexdigest()


def give_consent(study: Study, visit: Visit, origin: str = Origin.PROLIFIC, language: str = "en") -> Participant:
    """Make the participant, or find the one that a double click or another tab made a moment ago."""
    definition = definition_in(study.current_id, language)
    try:
        with transaction.atomic():
            participant = Participant.objects.create(
                study=study,
                version_id=study.current_id,
                pid=visit.pid,
                pseudonym=access.make_pseudonym(),
                origin=origin,
                pilot=study.state == Study.State.PILOT,
                language=language,
                consent_version=definition.consent.version,
                consent_language=definition.language,
                consent_sha256=consent_hash(definition),
            )
            record_session(participant, visit)
    except IntegrityError:
        participant = Participant.objects.get(study=study, pid=visit.pid)
        record_session(participant, visit)
    return participant


def refuse_consent(study: Study, origin: str = Origin.PROLIFIC) -> None:
    """Count one more person who refused; nothing that could name them is kept."""
    record_anonymous_exit(study.current, AnonymousExit.Kind.NO_CONSENT, origin, study.state == Study.State.PILOT)


Returns = Callable[[Participant], bool]  # whether a person who completed may come for a further sitting


def record_session(participant: Participant, visit: Visit, may_return: Returns | None = None) -> Session:
    """Keep every SESSION_ID of a person with the rule that was applied to it.

    A known id only moves its `last_seen_at`. A new one continues an open participation where it was, and reopens one
    that was returned, or completed if `may_return`; after any other end it shows the ending and its code again.
    """
    session = Session.objects.filter(study=participant.study_id, session_id=visit.session_id).first()
    if session:
        Session.objects.filter(pk=session.pk).update(last_seen_at=timezone.now())
        return session
    if not participant.sessions.exists():
        rule = Session.Rule.FIRST
    elif participant.state == State.RETURNED:
        rule = Session.Rule.REOPENED
        reopen(participant)
    elif participant.state == State.COMPLETED and may_return and may_return(participant):
        rule = Session.Rule.SITTING
        reopen(participant, State.COMPLETED)
    elif participant.has_ended:
        rule = Session.Rule.AFTER_END
    else:
        rule = Session.Rule.RESUMED
    session, _ = Session.objects.get_or_create(
        study_id=participant.study_id,
        session_id=visit.session_id,
        defaults={"participant": participant, "prolific_study_id": visit.study_id, "rule": rule},
    )
    return session


def is_first_session(participant: Participant, visit: Visit) -> bool:
    """Whether the visit has the SESSION_ID that the person came with first, which nobody else knows."""
    return participant.sessions.filter(session_id=visit.session_id, rule=Session.Rule.FIRST).exists()


# --- screening ---------------------------------------------------


def lock(participant: Participant) -> Participant:
    """Lock and return the participant's row, so that two tabs queue. Always before any place."""
    return Participant.objects.select_for_update(of=("self",)).select_related("study").get(pk=participant.pk)


def screen(participant: Participant, chatbot_answer: str, answers: Mapping[str, str]) -> Participant:
    """Store all first answers, then decide once: screened out, over quota, or a place."""
    with transaction.atomic():
        participant = lock(participant)
        if participant.step != Step.QUESTIONS or participant.has_ended:
            return participant
        definition = definition_of(participant.version_id)
        participant.answers = {"chatbot": chatbot_answer, **answers} if definition.chatbots else dict(answers)
        reason = screened_out(definition, answers, chatbot_answer)
        cells = cells_for(definition, chatbots_of(definition, chatbot_answer), answers)
        if reason or not cells:
            return end(participant, State.SCREENED_OUT, reason or "no-group")
        if not take_part(participant, definition, cells):
            return end(participant, State.OVER_QUOTA, "cells-full")
        participant.state = State.ACTIVE
        participant.step = Step.BACKGROUND if open_page(participant, definition, Step.BACKGROUND) else Step.INSTRUCTIONS
        participant.last_seen_at = timezone.now()
        participant.save()
        return participant


def note_answers(participant: Participant, answers: Mapping[str, str], following: str = "") -> Participant:
    """Keep the answers of a page of questions; `following` is the step after the last page."""
    with transaction.atomic():
        step = participant.step
        participant = lock(participant)
        if participant.step != step or participant.has_ended:
            return participant
        participant.answers = {**participant.answers, **answers}
        participant.step = following or step
        participant.last_seen_at = timezone.now()
        participant.save(update_fields=["answers", "step", "last_seen_at"])
        hold_place_again(participant)
        return participant


def chatbots_of(definition: Definition, answer: str) -> list[str]:
    """Chatbots that an answer to the first question stands for: the named one, or all of them for `several`.

    Annotators are not asked: their cells are crossed with no chatbot, which has the empty slug.
    """
    slugs = [slug for slug, _ in definition.branches]
    return slugs if answer == SEVERAL or not definition.chatbots else [slug for slug in slugs if slug == answer]


def take_part(participant: Participant, definition: Definition, cells: list[tuple[str, str]]) -> bool:
    """Give the participant a cell, a place in it (if counted) and an order; False if every cell is full."""
    wanted = Q()
    for chatbot, slug in cells:
        wanted |= Q(chatbot=chatbot, slug=slug)
    rows = list(QuotaCell.objects.filter(wanted, study=participant.study_id))
    if not participant.is_counted:
        # Not counted, so no place; the cell and the row of the order scheme are drawn by chance.
        number = int(hashlib.sha256(participant.pseudonym.encode()).hexdigest()[:7], 16)
        participant.cell, draw = rows[number % len(rows)], number % (len(definition.set_questions) or 1)
    else:
        place = lease_place(participant, rows, definition.lease_minutes)
        if place is None:
            return False
        number, participant.cell = place.number, place.cell
        draw = draw_of(place) if definition.matrix else 0
    participant.order_number = number
    if definition.prompts:  # annotators have none
        cell = f"{participant.cell.chatbot}\n{participant.cell.slug}"
        participant.order = definition.order_of(number, cell, participant.pseudonym, draw)
    return True


def come_back(participant: Participant) -> Participant:
    """Reactivate a person who timed out, in a place if one can still be had."""
    with transaction.atomic():
        participant = lock(participant)
        if participant.state != State.TIMED_OUT:
            return participant
        participant.state = State.SCREENING if participant.step == Step.QUESTIONS else State.ACTIVE
        participant.last_seen_at = timezone.now()
        participant.save(update_fields=["state", "last_seen_at"])
        hold_place_again(participant)
        return participant


# --- ends -------------------------------------------------------------------

CODES: dict[str, str] = {
    State.COMPLETED: "completed",
    State.SCREENED_OUT: "screened_out",
    State.OVER_QUOTA: "over_quota",
    State.MISUNDERSTOOD: "misunderstood",
    State.TECHNICAL: "technical",
    State.RETURNED: "returned",
}


def end(participant: Participant, state: str, reason: str = "") -> Participant:
    """End a participation and give it its code. The row must be locked."""
    definition = definition_of(participant.version_id)
    codes = definition.codes
    participant.state, participant.step, participant.reason = state, Step.END, reason
    participant.code = codes["late" if participant.overflow else CODES[state]]
    participant.finished_at = participant.last_seen_at = timezone.now()
    participant.save()
    participant.drafts.filter(step="trouble").delete()  # nobody comes back to that page
    if state != State.COMPLETED:
        release_lease(participant)
    if definition.annotation:
        release_holds(participant)
    return participant


def complete(participant: Participant) -> Participant:
    """Complete a participation: confirm the place; without one, keep the answers as overflow, and pay."""
    with transaction.atomic():
        participant = lock(participant)
        if participant.has_ended:
            return participant
        if participant.state == State.TIMED_OUT:
            participant.state = State.ACTIVE
        if participant.is_counted:
            participant.overflow = not confirm_place(participant)
        participant.drafts.all().delete()
        return end(participant, State.COMPLETED)


def stop(participant: Participant, state: str, reason: str = "") -> Participant:
    """End an open participation as returned, technical or misunderstood; ended ones stay as they are."""
    with transaction.atomic():
        participant = lock(participant)
        return participant if participant.has_ended else end(participant, state, reason)


def reopen(participant: Participant, after: str = State.RETURNED) -> Participant:
    """Reopen a returned participation, or a completed one for a further sitting.

    By such a sitting people of the pilot join the main study once the pilot is over.
    """
    with transaction.atomic():
        participant = lock(participant)
        if participant.state != after:
            return participant
        if after == State.COMPLETED:
            participant.overflow = False
            participant.pilot &= participant.study.state == Study.State.PILOT
        participant.state = State.SCREENING if participant.cell_id is None else State.ACTIVE
        participant.step = furthest_step(participant)
        participant.reason = participant.code = ""
        participant.finished_at = None
        participant.last_seen_at = timezone.now()
        participant.save()
        hold_place_again(participant)
        return participant


def furthest_step(participant: Participant) -> str:
    """The furthest step a person reached, inferred from their answers."""
    if participant.cell_id is None:
        return Step.QUESTIONS
    if hasattr(participant, "context") or participant.annotations.exists():
        return Step.PROMPTS
    is_open = open_page(participant, definition_of(participant.version_id), Step.BACKGROUND)
    return Step.BACKGROUND if is_open else Step.INSTRUCTIONS


def withdraw(participant: Participant) -> str:
    """Erase the person and all their data in one transaction; return the code for them. Only an anonymous exit stays.

    Raises Participant.DoesNotExist if another window erased it.
    """
    return locks.again(partial(erase, participant))


def erase(participant: Participant) -> str:
    with transaction.atomic():
        share_withdrawals(participant.study_id)
        participant = lock(participant)
        lock_below(Participant, [participant.pk])
        code = definition_of(participant.version_id).codes["withdrawn"]
        kind, step = AnonymousExit.Kind.WITHDRAWN, participant.step
        record_anonymous_exit(participant.version, kind, participant.origin, participant.pilot, step)
        release(participant)
        release_slots([participant])
        mirrored = Submission.objects.filter(remote__study=participant.study_id, pid=participant.pid)
        erase_notes(participant.study, mirrored)
        mirrored.update(pid="")
        participant.prolific_messages.all().delete()
        participant.delete()
        return code


def lock_below(model: type[Model], keys: Collection[int]) -> None:
    """Lock the rows that are erased with these and have others below them, so that none is added meanwhile.

    From the person down and by key: the order of all code that locks responses and the answers read from them.
    """
    for relation in relations_of(model) if keys else ():
        if relations_of(relation.related_model):
            rows = relation.related_model.objects.filter(**{f"{relation.field.name}__in": keys})
            lock_below(relation.related_model, [*rows.select_for_update().order_by("pk").values_list("pk", flat=True)])


def relations_of(model: type[Model]) -> list[Any]:
    return [relation for relation in model._meta.related_objects if relation.on_delete is CASCADE]


def record_anonymous_exit(version: StudyVersion, kind: str, origin: str, pilot: bool, step: str = "") -> None:
    # The day only: with the minute, Prolific's own list would name the person again.
    today = timezone.now().date()
    AnonymousExit.objects.create(version=version, kind=kind, origin=origin, pilot=pilot, step=step, day=today)
