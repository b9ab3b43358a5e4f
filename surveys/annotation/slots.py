"""Slots: taken by one annotator at a time, renewed by activity, and given back if not finished.

An item has exactly as many slots as it wants labels, and a label counts only with a done slot, so no item can have a
label too many, and none by the same person twice. Locks are taken in the order person, then slot; nobody who holds a
slot's lock waits for a person.
"""

import hashlib
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from surveys.models import AnnotationItem, GateVerdict, Participant, Session, Slot
from surveys.participation.places import touch_participant
from surveys.studies.files.kinds import GENERIC, PERSONALISED
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.lifecycle import definition_of

# One slot for one person: free or with its hold run out, on an item of which the person has neither a slot nor an
# annotation. Blocks already begun come first, so that items are finished one after the other and the same people share
# many of them; among equals each person has an order of their own.
OPEN = """
WITH pool AS (
    SELECT * FROM (
        SELECT id, position,
               CASE WHEN %(by_user)s AND cluster <> '' THEN 'user ' || cluster ELSE 'item ' || key END AS block
        FROM surveys_annotationitem
        WHERE study_id = %(study)s AND pilot = %(pilot)s AND purpose = 'work' AND (%(item)s = 0 OR id = %(item)s)
    ) AS items WHERE %(block)s = '' OR block = %(block)s
), begun AS (
    SELECT pool.block, count(slot.participant_id)::float / count(*) AS share
    FROM pool JOIN surveys_slot slot ON slot.item_id = pool.id GROUP BY pool.block
), best AS (
    SELECT slot.id, pool.block, begun.share, slot.side IN (%(left)s, 'either', '') AS suits,
           hashtextextended(pool.block, %(seed)s) AS lot, pool.position, slot.side = %(left)s AS fits, slot.held_until
    FROM surveys_slot slot JOIN pool ON pool.id = slot.item_id JOIN begun USING (block)
    WHERE slot.done_at IS NULL AND (slot.participant_id IS NULL OR slot.held_until < %(now)s)
      AND (%(slot)s = 0 OR slot.id = %(slot)s)
      AND slot.item_id NOT IN (SELECT item_id FROM surveys_slot WHERE participant_id = %(person)s)
      AND (%(again)s
           OR slot.item_id NOT IN (SELECT item_id FROM surveys_annotation WHERE participant_id = %(person)s))
    ORDER BY share DESC, suits DESC, lot, position, fits DESC, held_until NULLS FIRST, id
    LIMIT 200  -- more than are ever locked at one moment
)
SELECT slot.id, best.block FROM best JOIN surveys_slot slot USING (id)
WHERE slot.done_at IS NULL AND (slot.participant_id IS NULL OR slot.held_until < %(now)s)
ORDER BY share DESC, suits DESC, lot, position, fits DESC, best.held_until NULLS FIRST, id
LIMIT 1
"""
# Skips slots that neighbours are taking at this moment.
TAKE = OPEN + "FOR UPDATE OF slot SKIP LOCKED"
# Waits for a slot, as the last ones may be given back after all.
WAIT = OPEN + "FOR UPDATE OF slot"


def work_for(participant: Participant) -> AnnotationWork:
    """The annotation work in the version of the study file that this person began with."""
    work = definition_of(participant.version_id).annotation
    if work is None:
        raise ValueError(f"{participant.study_id} is not a study of annotators.")
    return work


# --- taking -----------------------------------------------------------------


def hold_slots(participant: Participant, count: int = 1) -> list[Slot]:
    """The slots that this person works on now: take missing ones up to `count`, or a user's whole block.

    Call it in a transaction. Fewer than `count`, or none, if the quota is reached or no item is left for this person.
    """
    touch_participant(participant)
    renew_holds(participant)
    work = work_for(participant)
    room = work.quota - slots_of_sitting(participant).count()
    held = list(held_slots(participant))
    if work.block == "user" and held:
        return held
    while len(held) < count and room > 0:
        # A person who has locked slots must not wait for one that somebody else is giving back.
        taken = take_block(participant, work, room, wait=not held)
        if not taken:
            break
        held += taken
        room -= len(taken)
    return held


def take_block(participant: Participant, work: AnnotationWork, room: int, wait: bool) -> list[Slot]:
    """Take one slot and, if blocks are users, one of each other item about the same user, within the quota."""
    first = take_slot(participant, work, wait=wait)
    if first is None:
        return []
    taken, block = [first[0]], first[1]
    while work.block == "user" and len(taken) < room:
        more = take_slot(participant, work, block=block, wait=False)
        if more is None:
            break
        taken.append(more[0])
    return sorted(taken, key=lambda slot: slot.item.position)


def take_slot(
    participant: Participant, work: AnnotationWork, *, wait: bool, block: str = "", item: int = 0, left: str = ""
) -> tuple[Slot, str] | None:
    """Take one free slot, of the block or item if one is named; return it with its block, or None.

    With `wait`, if there is no other, wait for a slot that somebody is taking or giving back at this moment.
    """
    values = {
        "study": participant.study_id,
        "pilot": participant.pilot,
        "person": participant.pk,
        "by_user": work.block == "user",
        "block": block,
        "item": item,
        "slot": 0,
        "again": bool(item),  # an item that is named was worked on by this person before
        "left": left or wanted_left(participant),
        "seed": int(hashlib.sha256(participant.pseudonym.encode()).hexdigest()[:15], 16),
        "now": timezone.now(),
    }
    found = lock_one(TAKE, values)
    # Neighbours are taking or giving back the slots that are left. Each turn waits for one of them, so this ends.
    while found is None and wait and (beside := run_one(OPEN, values)):
        found = lock_one(WAIT, values | {"slot": beside[0]})
    if found is None:
        return None
    slot = Slot.objects.select_related("item").get(pk=found[0])
    grant(slot, participant, work, values["left"])
    return slot, found[1]


def lock_one(statement: str, values: dict[str, object]) -> tuple[int, str] | None:
    """The row that the statement locks; without one, release its vain locks.

    PostgreSQL keeps the lock on a row that it waited for, even if the row was taken meanwhile; two people who went on
    to wait with such locks could deadlock.
    """
    with transaction.atomic():
        found = run_one(statement, values)
        transaction.set_rollback(found is None)
    return found


def run_one(statement: str, values: dict[str, object]) -> tuple[int, str] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()


def grant(slot: Slot, participant: Participant, work: AnnotationWork, left: str) -> None:
    now = timezone.now()
    slot.participant, slot.taken_at = participant, now
    slot.held_until = now + timedelta(minutes=work.hold_minutes)
    slot.left = left if slot.side == Slot.EITHER else slot.side
    slot.save(update_fields=["participant", "taken_at", "held_until", "left"])


def wanted_left(participant: Participant) -> str:
    """The response this person has seen less often on the left; if equal, one by their pseudonym."""
    lefts = list(participant.slots.values_list("left", flat=True))
    generic, personalised = lefts.count(GENERIC), lefts.count(PERSONALISED)
    if generic == personalised:
        return by_lot(participant, str(len(lefts)))
    return GENERIC if generic < personalised else PERSONALISED


def by_lot(participant: Participant, seed: str) -> str:
    digest = hashlib.sha256(f"{participant.pseudonym}\n{seed}".encode()).digest()
    return (GENERIC, PERSONALISED)[digest[0] % 2]


def claim_slot(participant: Participant, item: AnnotationItem, left: str) -> Slot | None:
    """This person's own slot of the item, or a free one, if possible with the same response on the left.

    For people away so long that the hold ran out and the slot was given to another. Call it in a transaction, with the
    person's row locked and no slot's. None if all slots are gone, or for items and people without slots.
    """
    own = Slot.objects.select_related("item").filter(item=item, participant=participant).first()
    if own or not takes_slots(participant) or item.purpose != AnnotationItem.Purpose.WORK:
        return own
    taken = take_slot(participant, work_for(participant), wait=True, item=item.pk, left=left)
    return taken[0] if taken else None


# --- holding and giving back ------------------------------------------------


def takes_slots(participant: Participant) -> bool:
    """Whether this person fills slots: previews work on items without filling them; excluded people no longer do."""
    return participant.origin != Participant.Origin.PREVIEW and not is_excluded(participant)


def is_excluded(participant: Participant) -> bool:
    """Whether the newest gate decision about this person excludes them."""
    newest = GateVerdict.objects.filter(participant=participant).order_by("-decision__number").first()
    return newest is not None and not newest.kept


def sitting_of(participant: Participant) -> datetime | None:
    """When this sitting began, if it is a further one; else None."""
    sittings = participant.sessions.filter(rule=Session.Rule.SITTING).order_by("-id")
    return sittings.values_list("first_seen_at", flat=True).first()


def slots_of_sitting(participant: Participant) -> QuerySet[Slot]:
    """Slots of this sitting alone, which count towards the quota."""
    began = sitting_of(participant)
    return participant.slots.filter(taken_at__gte=began) if began else participant.slots.all()


def held_slots(participant: Participant) -> QuerySet[Slot]:
    """Slots that this person is working on, in the order of the items."""
    return participant.slots.filter(done_at=None).select_related("item").order_by("item__position")


def renew_holds(participant: Participant) -> int:
    """Extend every hold after a sign of activity; return how many slots this person still holds."""
    until = timezone.now() + timedelta(minutes=work_for(participant).hold_minutes)
    return participant.slots.filter(done_at=None).update(held_until=until)


# --- work left --------------------------------------------------------------


def untouched_items(participant: Participant) -> QuerySet[AnnotationItem]:
    """Work items without an annotation by this person."""
    items = AnnotationItem.objects.filter(study=participant.study_id, pilot=participant.pilot)
    return items.filter(purpose=AnnotationItem.Purpose.WORK).exclude(annotations__participant=participant)


def items_left(participant: Participant) -> int:
    """How many more items this person could be given now, besides those they hold and whatever the quota."""
    items = untouched_items(participant)
    if not takes_slots(participant):
        return items.count()
    free = Q(participant=None) | Q(done_at=None, held_until__lt=timezone.now())
    mine = participant.slots.values("item")
    open_items = Slot.objects.filter(free, item__in=items).exclude(item__in=mine)
    return open_items.aggregate(n=Count("item", distinct=True))["n"]
