"""Participant groups and messages on Prolific.

A group is looked for by its name before it is made, and changing its members twice changes nothing. A message, like a
bonus, is sent once: its row says `sending` before the call leaves, and without an answer nothing is sent again.
"""

from collections.abc import Collection, Iterable

from django.db import IntegrityError, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_noop

from surveys.models import Participant, ProlificGroup, ProlificMessage, Session, Study
from surveys.prolific.client import ProlificClient, ProlificError, Refused, Unsure, read_id
from surveys.prolific.draft import SetUpError, group_sources, internal_name, remote_id
from surveys.prolific.transfer import only_sender
from surveys.studies import audit
from surveys.studies.labels import kept_people
from surveys.studies.lifecycle import ERASED, hold_withdrawals

Kind, State, Origin = ProlificGroup.Kind, ProlificMessage.State, Participant.Origin

# Label and words of each template, by name; participants read them in the language of their pages.
TEMPLATES = {
    "unfinished": (
        "You can go on",
        gettext_noop(
            "You began our study and have not finished it. Open it again from its page on Prolific to go on where you "
            "stopped. If something does not work, please answer this message."
        ),
    ),
    "technical": (
        "Thank you for reporting a problem",
        gettext_noop(
            "You told us that something in our study did not work. Thank you for that. There is nothing more for you "
            "to do, and you are paid for your time."
        ),
    ),
    "return": (
        "Please return your submission",
        gettext_noop(
            "Your answers did not reach the end of our study. Please return your submission on Prolific; this has no "
            "disadvantage for you. If you think that this is a mistake, please answer this message."
        ),
    ),
    "invitation": (
        "The next part is open",
        gettext_noop(
            "Thank you for taking part in our study. Its next part is now open to you: you find it among your studies "
            "on Prolific. Taking part is voluntary."
        ),
    ),
}


# --- groups -------------------------------------------------------------------


def people_of(kind: str, slugs: Iterable[str]) -> set[str]:
    """Prolific ids of people kept by these studies' gates (invited), or who took part in them (blocked)."""
    found = set()
    for study in Study.objects.filter(slug__in=slugs):
        people = kept_people(study) if kind == Kind.INVITED else Participant.objects.filter(study=study)
        pids = people.filter(origin=Origin.PROLIFIC).exclude(pid__startswith=ERASED).values_list("pid", flat=True)
        found.update(pids)
    return found


def make_groups(study: Study, actor: str, may_use: Collection[str], client: ProlificClient) -> int:
    """Make and fill the groups that the study file asks for; return how many.

    `may_use`: slugs of the studies of which `actor` is a researcher. Raises SetUpError for people of any other one.
    """
    sources = group_sources(study)
    if foreign := sorted({slug for slugs in sources.values() for slug in slugs} - set(may_use)):
        raise SetUpError(f"You are no researcher of {', '.join(foreign)}, so its people stay out of a group.")
    if not remote_id(study):
        raise SetUpError("Make the draft first: a group belongs to its workspace.")
    try:
        workspace = read_id(client.content_of(remote_id(study)).get("workspace"))
    except ValueError:
        raise SetUpError("Prolific does not say to which workspace the study belongs.") from None
    for kind, slugs in sources.items():
        name = f"{internal_name(study)}, {Kind(kind).label.lower()}"
        try:
            found = client.groups_called(name, workspace) or [client.make_group(name, workspace)]
        except Unsure as fault:
            raise SetUpError(f"{fault} The group may have been made; try again, and it is looked for first.") from None
        with transaction.atomic():
            group, is_new = ProlificGroup.objects.update_or_create(
                study=study, kind=kind, defaults={"prolific_id": found[0], "sources": slugs}
            )
            audit.record(study, actor, "group on Prolific set up", found[0], kind=kind, sources=slugs)
        bring_into_step(group, actor, client)
    return len(sources)


def bring_into_step(group: ProlificGroup, actor: str, client: ProlificClient) -> None:
    """Add missing people; remove those no longer kept by a gate. Nobody leaves a group of blocked people."""
    wanted, there = people_of(group.kind, group.sources), client.members(group.prolific_id)
    is_erased = Participant.objects.filter(study__slug__in=group.sources, pid__startswith=ERASED).exists()
    more = sorted(wanted - there)
    fewer = sorted(there - wanted) if group.kind == Kind.INVITED and not is_erased else []
    if more or fewer:
        audit.record(
            group.study, actor, "group on Prolific changed", group.prolific_id, added=len(more), removed=len(fewer)
        )
        client.change_members(group.prolific_id, more, fewer)
    members = len(there | wanted) - len(fewer)
    ProlificGroup.objects.filter(pk=group.pk).update(members=members, kept_at=timezone.now(), fault="")


def keep_groups(study: Study, client: ProlificClient) -> None:
    """Update the groups that a person has set up, in the background; faults are stored for the page."""
    for group in ProlificGroup.objects.filter(study=study).select_related("study"):
        try:
            bring_into_step(group, audit.SYSTEM, client)
        except ProlificError as fault:
            ProlificGroup.objects.filter(pk=group.pk).update(fault=str(fault)[:500])


# --- messages -----------------------------------------------------------------


def ask_messages(study: Study, template: str, names: list[str], actor: str) -> int:
    """Queue a message to each person named; return how many. Raises SetUpError, and then nobody is written to."""
    if template not in TEMPLATES:
        raise SetUpError("Choose one of the messages.")
    known = Participant.objects.filter(study=study, origin=Origin.PROLIFIC, pseudonym__in=names)
    try:
        with transaction.atomic():
            hold_withdrawals(study)
            people = {person.pseudonym: person for person in known.exclude(pid__startswith=ERASED)}
            if unknown := [name for name in names if name not in people]:
                raise SetUpError(f"Nobody was written to: {unknown[0][:20]} is nobody of this study on Prolific.")
            if not people:
                raise SetUpError("Name at least one participant.")
            rows = [
                ProlificMessage(study=study, participant=person, template=template, asked_by=actor)
                for person in people.values()
            ]
            ProlificMessage.objects.bulk_create(rows)
            audit.record(study, actor, "messages asked for", template, people=sorted(people))
    except IntegrityError:
        raise SetUpError("Nobody was written to: somebody named has had this message before.") from None
    return len(rows)


def send_messages(study: Study, client: ProlificClient) -> int:
    """Send the queued messages, one after the other; return how many. Raises ProlificError if sending must wait."""
    sent = 0
    mine = ProlificMessage.objects.filter(study=study)
    with only_sender(study) as is_mine:
        if not is_mine:
            return 0
        mine.filter(state=State.SENDING).update(state=State.UNKNOWN, note="the sender ended in the middle")
        for message in mine.filter(state=State.ASKED).select_related("participant"):
            if not mine.filter(pk=message.pk).update(state=State.SENDING, note=""):
                continue  # the person has withdrawn since
            state, note = send_one(message, client)
            mine.filter(pk=message.pk).update(state=state, note=note[:300])
            if state == State.ASKED:
                raise ProlificError(note)
            sent += state == State.SENT
        if sent:
            audit.record(study, audit.SYSTEM, "messages sent", people=sent)
    return sent


def send_one(message: ProlificMessage, client: ProlificClient) -> tuple[str, str]:
    """Send a message; return its new state and a note. `asked`: it did not leave, and may later."""
    person = message.participant
    session = Session.objects.filter(participant=person).order_by("pk").last()
    if session is None or not session.prolific_study_id or person.pid.startswith(ERASED):
        return State.FAILED, "Their ids were erased."
    with translation.override(person.language):
        words = gettext(TEMPLATES[message.template][1])
    try:
        client.write(person.pid, session.prolific_study_id, words)
    except Unsure as fault:
        return State.UNKNOWN, str(fault)
    except Refused as refusal:
        return (State.ASKED if refusal.status in (401, 403) else State.FAILED), str(refusal)
    except ProlificError as fault:
        return State.ASKED, str(fault)
    return State.SENT, ""
