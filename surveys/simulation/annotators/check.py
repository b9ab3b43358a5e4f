"""What must be true of items, slots and labels after a simulation."""

from collections import Counter
from collections.abc import Iterator

from django.db.models import Count, Max

from surveys.annotation.counted import counted, newest
from surveys.annotation.slots import is_excluded
from surveys.models import Annotation, AnnotationItem, Participant, Slot, Study
from surveys.simulation.people import Story

Purpose, State, Origin = AnnotationItem.Purpose, Annotation.State, Participant.Origin
WORKING = (Participant.State.ACTIVE, Participant.State.TIMED_OUT)
# Whoever leaves gives back what they hold, so a label that they send later may come too late to count.
GAVE_BACK = ("late", "walk_away", "return", "come_back")


def check_slots(story: Story, row: Participant) -> Iterator[str]:
    """Every label of the work has a slot of this person, by which it counts; every done slot has a label."""
    said = Annotation.objects.filter(participant=row, item__purpose=Purpose.WORK)
    given = set(newest(said).filter(state=State.GIVEN).values_list("item__key", flat=True))
    done = set(Slot.objects.filter(participant=row, done_at__isnull=False).values_list("item__key", flat=True))
    yield from (f"holds a done slot of {key} without a label" for key in sorted(done - given))
    if is_excluded(row):
        yield from (f"was excluded and still has a slot of {key}" for key in sorted(done))
    elif story.person.way not in GAVE_BACK:
        skipped = set(said.filter(state=State.SKIPPED).values_list("item__key", flat=True))
        yield from (f"the label of {key} was confirmed and does not count" for key in sorted(given - done - skipped))


def check_items(study: Study) -> Iterator[str]:
    """Every item has its slots, and as many labels that count as slots are done, each from somebody else."""
    pairs = Counter(pair for pilot in (False, True) for pair in labels_by_people(study, pilot))
    labels = Counter(item for item, _ in pairs.elements())
    for item in items_with_slots(study):
        if item.n != item.wanted:
            yield f"{item.key}: {item.n} slots where {item.wanted} labels are wanted"
        if labels[item.pk] != item.done:
            yield f"{item.key}: {labels[item.pk]} labels count and {item.done} slots are done"
        if labels[item.pk] > item.wanted:
            yield f"{item.key}: {labels[item.pk]} labels count where {item.wanted} are wanted"
    twice = {item for (item, _), n in pairs.items() if n > 1}
    for key in AnnotationItem.objects.filter(pk__in=twice).values_list("key", flat=True):
        yield f"{key}: somebody's label counts twice"
    left = Slot.objects.filter(item__study=study, participant__isnull=False, done_at=None)
    for slot in left.exclude(participant__state__in=WORKING).select_related("item", "participant"):
        yield f"{slot.item}: a slot is held by somebody who is {slot.participant.state}"


def labels_by_people(study: Study, pilot: bool) -> Iterator[tuple[int, int]]:
    """Item and person of every label that counts by a slot; models and imported people have none."""
    rows = counted(study, pilot=pilot).exclude(participant=None).exclude(participant__origin=Origin.IMPORTED)
    yield from rows.values_list("item", "participant")


def items_with_slots(study: Study) -> list[AnnotationItem]:
    """The items of the work, with how many labels each wants, has slots for, and has."""
    items = AnnotationItem.objects.filter(study=study, purpose=Purpose.WORK).only("key", "pilot")
    return list(items.annotate(n=Count("slots"), done=Count("slots__done_at"), wanted=Max("slots__wanted")))


def count_overlap(study: Study, pilot: bool) -> dict[str, int]:
    """How many items have all the labels that they want, and how many are still open."""
    items = [item for item in items_with_slots(study) if item.pilot == pilot]
    full = sum(item.done == item.wanted for item in items)
    return {"full": full, "open": len(items) - full}
