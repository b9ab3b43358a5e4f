"""Places: leased to a person, renewed by activity, confirmed at the end, given back otherwise.

Locks are always taken in the same order, the person's own row, then cells, then places, so that nobody ever holds
a place while waiting for a person or a cell.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import count

from celery import shared_task
from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from surveys.models import Draw, Participant, Place, QuotaCell, Slot, Study, locks
from surveys.participation.sending import row_of
from surveys.studies import audit
from surveys.studies.lifecycle import definition_of

State = Participant.State
# The person's row first and then their place: the order in which all rules lock.
LIFE = """
person AS (
    UPDATE surveys_participant
    SET last_seen_at = %(now)s,
        state = CASE WHEN state <> 'timed_out' THEN state WHEN step = 'questions' THEN 'screening' ELSE 'active' END
    WHERE id = %(person)s AND finished_at IS NULL
    RETURNING id
), place AS (
    UPDATE surveys_place SET expires_at = %(until)s FROM person
    WHERE participant_id = person.id AND confirmed_at IS NULL
    RETURNING surveys_place.id
)
"""
NOTE_LIFE = f"WITH {LIFE} SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM place)"


def lease_minutes(participant: Participant) -> int:
    return definition_of(participant.version_id).lease_minutes


def free_places(now: datetime) -> Q:
    """Places that may be taken: held by nobody, or by somebody whose lease ran out before they finished."""
    return Q(participant__isnull=True) | Q(confirmed_at__isnull=True, expires_at__lt=now)


def lease_place(participant: Participant, cells: Iterable[QuotaCell], minutes: int) -> Place | None:
    """Take a place in the emptiest of the cells, or return None if all are full. Call it in a transaction.

    Newcomers to a cell queue, so that each sees how full the cells are. Answers never wait for this, as they only renew
    a place of their own; therefore the place is locked too before it is given.
    """
    cells = lock_cells(cells)
    now = timezone.now()
    for cell in emptiest_first(cells, now):
        place = lock_free_place(cell, now)
        if place:
            place.participant, place.expires_at = participant, now + timedelta(minutes=minutes)
            place.save(update_fields=["participant", "expires_at"])
            return place
    return None


def lock_cells(cells: Iterable[QuotaCell]) -> list[QuotaCell]:
    """Lock the cells in one order for all: two people who fit the same two cells must not wait for each other."""
    ids = [cell.pk for cell in cells]
    return list(QuotaCell.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))


def emptiest_first(cells: Iterable[QuotaCell], now: datetime) -> list[QuotaCell]:
    ids = [cell.pk for cell in cells]
    free = Place.objects.filter(free_places(now), cell__in=ids).values("cell").annotate(n=Count("id"))
    left = {row["cell"]: row["n"] for row in free}
    return sorted((cell for cell in cells if left.get(cell.pk)), key=lambda cell: (-left[cell.pk], cell.position))


def lock_free_place(cell: QuotaCell, now: datetime) -> Place | None:
    places = Place.objects.filter(free_places(now), cell=cell).order_by(F("expires_at").asc(nulls_first=True), "number")
    locked = places.select_for_update(of=("self",)).select_related("cell")
    place = locked.first()
    # A place that ran out may be renewed while we wait for it, and PostgreSQL then gives no row although another
    # was given back meanwhile. Each turn of this loop waits for one such neighbour, so it ends.
    while place is None and places.exists():
        place = locked.first()
    return place


def draw_of(place: Place) -> int:
    """The place's draw: the lowest number that no place of its chatbot has, given once. Call it in a transaction.

    Newcomers of all cells queue here, so that the questions least asked with a chatbot come next.
    """
    study, chatbot = place.cell.study_id, place.cell.chatbot
    locks.hold("draws", study)
    if there := Draw.objects.filter(place=place).first():
        return there.number
    taken = set(Draw.objects.filter(study=study, chatbot=chatbot).values_list("number", flat=True))
    number = next(number for number in count() if number not in taken)
    Draw.objects.create(study_id=study, chatbot=chatbot, place=place, number=number)
    return number


def renew(participant: Participant, minutes: int) -> bool:
    """Extend the lease after a sign of activity. False if the person leases no place, or has a confirmed one."""
    until = timezone.now() + timedelta(minutes=minutes)
    return bool(Place.objects.filter(participant=participant, confirmed_at__isnull=True).update(expires_at=until))


def release(participant: Participant) -> int:
    """Give the place back, even a confirmed one."""
    held = Place.objects.filter(participant=participant)
    return held.update(participant=None, expires_at=None, confirmed_at=None)


def release_lease(participant: Participant) -> int:
    """Give a leased place back; one that an annotator's earlier sitting confirmed stays theirs."""
    leased = Place.objects.filter(participant=participant, confirmed_at=None)
    return leased.update(participant=None, expires_at=None)


def hold_place_again(participant: Participant) -> bool:
    """Renew the person's place, or take one in the same cell; True if they hold one or need none."""
    if not needs_place(participant):
        return True
    minutes = lease_minutes(participant)
    if (
        renew(participant, minutes)
        or Place.objects.filter(participant=participant, confirmed_at__isnull=False).exists()
    ):
        return True  # a confirmed place stays theirs from sitting to sitting
    with transaction.atomic():
        list(Participant.objects.select_for_update().filter(pk=participant.pk).values("pk"))
        # Another window of theirs may have taken one while we waited.
        return renew(participant, minutes) or lease_place(participant, [participant.cell], minutes) is not None


def confirm_place(participant: Participant) -> bool:
    now = timezone.now()
    held = Place.objects.filter(participant=participant)
    if held.update(confirmed_at=now):
        return True
    leased = lease_place(participant, [participant.cell], lease_minutes(participant))
    return bool(leased and held.update(confirmed_at=now))


def release_expired(study: Study) -> int:
    """Give back places whose lease ran out, and mark people who left as timed out, each by the lease of their version.

    Return how many places.
    """
    now = timezone.now()
    expired = Place.objects.filter(cell__study=study, confirmed_at__isnull=True, expires_at__lt=now)
    with transaction.atomic():
        freed = list(expired.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True))
        Place.objects.filter(pk__in=freed).update(participant=None, expires_at=None)
        if freed:
            audit.record(study, audit.SYSTEM, "places released", places=len(freed))
    # A transaction of its own: nobody ever holds a place while waiting for a person.
    working = Participant.objects.filter(study=study, state__in=[State.SCREENING, State.ACTIVE])
    with transaction.atomic():
        for version in working.order_by().values_list("version_id", flat=True).distinct():
            gone = now - timedelta(minutes=definition_of(version).lease_minutes)
            left = working.filter(version_id=version, last_seen_at__lt=gone).select_for_update(skip_locked=True)
            Participant.objects.filter(pk__in=list(left.values_list("pk", flat=True))).update(state=State.TIMED_OUT)
    return len(freed)


@shared_task(name="surveys.participation.tasks.release_places")
def release_places() -> int:
    """Give back expired places in every study, as people of an ended pilot are in a draft; return how many."""
    return sum(release_expired(study) for study in Study.objects.filter(current__isnull=False))


def touch_participant(participant: Participant) -> datetime:
    """Note that the person is active, and renew their lease or take a place again if it was given away; return now.

    Call it first in a transaction: changing the person's row locks it, so that two tabs of one person queue; other
    people never wait. Raises DoesNotExist if another tab has just ended the participation.
    """
    now, until = lease_from_now(participant)
    stay(participant, *note_life(participant, now, until))
    return now


def note_life(participant: Participant, now: datetime, until: datetime) -> tuple[bool, bool]:
    """Lock the person's row, note that they are active, renew their place; return whether row and place were found."""
    person, place = row_of(NOTE_LIFE, {"person": participant.pk, "now": now, "until": until}) or (0, 0)
    return bool(person), bool(place)


def lease_from_now(participant: Participant) -> tuple[datetime, datetime]:
    now = timezone.now()
    return now, now + timedelta(minutes=lease_minutes(participant))


def needs_place(participant: Participant) -> bool:
    return participant.cell_id is not None and participant.is_counted


def stay(participant: Participant, is_open: bool, is_held: bool) -> None:
    """Take a place again if theirs was given away, by the results of `note_life`."""
    if not is_open:
        raise Participant.DoesNotExist("The part has ended.")
    if not is_held:
        hold_place_again(participant)


# --- slots of annotators ----------------------------------------------------

FREE = {"participant": None, "taken_at": None, "held_until": None, "done_at": None, "left": ""}


def release_holds(participant: Participant) -> int:
    """Give back slots that are not done; labels that were given stay and count."""
    return Slot.objects.filter(participant=participant, done_at=None).update(**FREE)


def release_slots(people: Iterable[Participant]) -> int:
    """Give back all slots, done ones too: these people's labels stop counting, and the items ask others."""
    ids = [person.pk for person in people]
    return Slot.objects.filter(participant__in=ids).update(**FREE)
