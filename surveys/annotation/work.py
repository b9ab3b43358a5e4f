"""An annotator's next task and progress, and the seal by which a page proves what it showed."""

from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime

from django.core.signing import BadSignature, TimestampSigner, b62_decode
from django.db import transaction
from django.db.models import QuerySet, Value

from surveys.annotation.qualification import gold_left, is_invited, training_of
from surveys.annotation.slots import (
    by_lot,
    held_slots,
    hold_slots,
    is_excluded,
    items_left,
    sitting_of,
    slots_of_sitting,
    takes_slots,
    untouched_items,
    work_for,
)
from surveys.models import Annotation, AnnotationItem, Participant, Session, Slot, Study
from surveys.participation import recruitment
from surveys.participation.places import touch_participant
from surveys.studies.files.kinds import IMPORTED, KINDS
from surveys.studies.labels import kept_people
from surveys.studies.lifecycle import definition_of

Purpose, State = AnnotationItem.Purpose, Annotation.State


@dataclass(frozen=True)
class AnnotationTask:
    """One item for one annotator: the response on the left ("" without sides), and their newest annotation."""

    item: AnnotationItem
    left: str
    newest: Annotation | None = None
    slot: Slot | None = None

    @property
    def is_training(self) -> bool:
        return self.item.purpose == Purpose.TRAINING

    @property
    def revision(self) -> int:
        return self.newest.revision if self.newest else 0


@dataclass(frozen=True)
class LabellingProgress:
    """Items done and items in all, counting those this person is sure of or can still be given now."""

    done: int
    total: int


class NotShown(ValueError):
    """A seal that is not ours or of another person's page, or an item that was erased since."""


# --- beginning --------------------------------------------------------------


def has_pages(study: Study) -> bool:
    """Whether people can take part: studies of labels collected elsewhere have no pages."""
    work = definition_of(study.current_id).annotation
    return work is None or work.kind != IMPORTED


def begin(participant: Participant) -> Participant:
    """Take a newcomer past the first questions at once, if a study of annotators has none."""
    definition = definition_of(participant.version_id)
    if definition.annotation and not definition.questions:
        return admit(recruitment.screen(participant, "", {}))
    return participant


def admit(participant: Participant) -> Participant:
    """After the first questions, end the participation of people not invited or without work left, with a code."""
    if participant.has_ended:
        return participant
    if not is_invited(participant):
        return recruitment.stop(participant, Participant.State.SCREENED_OUT, "not-invited")
    if not has_work(participant):
        return recruitment.stop(participant, Participant.State.OVER_QUOTA, "no-work-left")
    return participant


def may_sit_again(participant: Participant) -> bool:
    """Whether a person who completed a sitting may come for another: the study has more, and work is left.

    From the pilot, only people kept by the gate come into the main study.
    """
    work = work_for(participant)
    had = 1 + participant.sessions.filter(rule=Session.Rule.SITTING).count()
    if had >= work.sittings or not participant.study.is_open or is_excluded(participant):
        return False
    if participant.pilot and participant.study.state != Study.State.PILOT:
        if not kept_people(participant.study).filter(pk=participant.pk).exists():
            return False
        participant = copy(participant)
        participant.pilot = False
    return items_left(participant) > 0


def has_work(participant: Participant) -> bool:
    """Whether there is anything to do: an item held, or one to be had within the quota. Takes no slot."""
    if is_excluded(participant) or training_of(participant).failed:
        return False
    if held_slots(participant).exists():
        return True
    return worked_on(participant) < work_for(participant).quota and items_left(participant) > 0


def worked_on(participant: Participant) -> int:
    """How many work items this person has done or holds in this sitting."""
    if takes_slots(participant):
        return slots_of_sitting(participant).count()
    return newest_of(participant).filter(item__purpose=Purpose.WORK).exclude(state=State.SKIPPED).count()


def may_stop_paid(participant: Participant) -> bool:
    """Whether a person who stops now is paid in full: `least` items are done, or no more can be had."""
    return done_in_sitting(participant) >= work_for(participant).least or not has_work(participant)


# --- next tasks -------------------------------------------------------------


def next_tasks(participant: Participant, count: int = 1) -> list[AnnotationTask]:
    """The next tasks, at most `count`: training first, then work with gold items among it. Holds their slots.

    Empty if the work is over (complete the participation and pay) or the training failed. Raises
    Participant.DoesNotExist if another window ended the participation.
    """
    with transaction.atomic():
        touch_participant(participant)
        training = training_of(participant)
        if training.due:
            return [task_of(participant, training.due)]
        if training.failed or is_excluded(participant):
            return []
        return list(interleave_gold(participant, count))


def interleave_gold(participant: Participant, count: int) -> Iterator[AnnotationTask]:
    """Work with a gold item after every `gold_every` items; if blocks are users, only between two users."""
    work = work_for(participant)
    gold, met = gold_left(participant)
    done, begun = done_work(participant), work.block == "user" and is_within_user(participant)
    queue: list[AnnotationTask] | None = None
    for _ in range(count):
        if gold and not begun and done // work.gold_every > met:
            yield task_of(participant, gold.pop(0))
            met += 1
            continue
        queue = work_tasks(participant, count) if queue is None else queue
        if not queue:
            return
        yield queue.pop(0)
        done += 1
        begun = work.block == "user" and bool(queue)


def is_within_user(participant: Participant) -> bool:
    """Whether some items about the held items' user are done: a block that is only held has not been begun."""
    users = held_slots(participant).exclude(item__cluster="").values("item__cluster")
    done = participant.slots.filter(done_at__isnull=False, item__pilot=participant.pilot)
    return done.filter(item__cluster__in=users).exists()


def work_tasks(participant: Participant, count: int) -> list[AnnotationTask]:
    if takes_slots(participant):
        return [task_of(participant, slot.item, slot) for slot in hold_slots(participant, count)]
    room = max(0, min(count, work_for(participant).quota - worked_on(participant)))
    return [task_of(participant, item) for item in untouched_items(participant).order_by("position")[:room]]


def task_of(participant: Participant, item: AnnotationItem, slot: Slot | None = None) -> AnnotationTask:
    newest = find_newest(participant, item)
    if not KINDS[item.kind].sided:
        left = ""
    elif slot:
        left = slot.left
    else:
        left = newest.left if newest else by_lot(participant, item.key)
    return AnnotationTask(item, left, newest, slot)


def find_task(participant: Participant, item_id: int) -> AnnotationTask | None:
    """The task of an item that this person holds or has annotated, or of their next gold item; else None.

    No slot records that a gold item's page is open, while other windows change which item is due.
    """
    item = AnnotationItem.objects.filter(study=participant.study_id, pilot=participant.pilot, pk=item_id).first()
    if item is None:
        return None
    task = task_of(participant, item, Slot.objects.filter(item=item, participant=participant).first())
    return task if task.slot or task.newest or item in gold_left(participant)[0][:1] else None


def tasks_of_user(participant: Participant, item: AnnotationItem) -> list[AnnotationTask]:
    """All work about the same user that this person holds or has done, in order, for the list beside the item."""
    if not item.cluster or item.purpose != Purpose.WORK:
        return []
    slots = participant.slots.filter(item__cluster=item.cluster, item__pilot=item.pilot).select_related("item")
    about = newest_of(participant).filter(item__cluster=item.cluster).select_related("item")
    said = {row.item_id: row for row in about}
    return [
        AnnotationTask(slot.item, slot.left, said.get(slot.item_id), slot) for slot in slots.order_by("item__position")
    ]


def done_tasks(participant: Participant) -> list[AnnotationTask]:
    """Tasks that this person has labelled and may change, newest first, without training."""
    newest = newest_of(participant).filter(state=State.GIVEN).exclude(item__purpose=Purpose.TRAINING)
    slots = {slot.item_id: slot for slot in participant.slots.all()}
    rows = newest.select_related("item").order_by("-id")
    return [AnnotationTask(row.item, row.left, row, slots.get(row.item_id)) for row in rows]


# --- progress ---------------------------------------------------------------


def newest_of(participant: Participant) -> QuerySet[Annotation]:
    """The newest revision of each item that this person has annotated, in the pilot or the main study alone."""
    rows = Annotation.objects.filter(participant=participant, item__pilot=participant.pilot)
    return Annotation.objects.filter(pk__in=rows.order_by("item_id", "-revision").distinct("item_id").values("pk"))


def find_newest(participant: Participant, item: AnnotationItem) -> Annotation | None:
    said = Annotation.objects.select_related("item").filter(participant=participant, item=item)
    return said.order_by("-revision").first()


def find_last(participant: Participant) -> Annotation | None:
    """The last answer or skip that this person did not take back, without training."""
    rows = newest_of(participant).exclude(state=State.WITHDRAWN).exclude(item__purpose=Purpose.TRAINING)
    return rows.select_related("item").order_by("-id").first()


def labelled_work(participant: Participant) -> QuerySet[Annotation]:
    """This person's current labels of work items, without training and gold."""
    return newest_of(participant).filter(item__purpose=Purpose.WORK, state=State.GIVEN)


def done_work(participant: Participant) -> int:
    return labelled_work(participant).count()


def done_before(participant: Participant, purpose: str = Purpose.WORK) -> int:
    """How many items this person had labelled (or, if gold, met) when this sitting began."""
    began = sitting_of(participant)
    if began is None:
        return 0
    earlier = Annotation.objects.filter(participant=participant, created_at__lt=began).values("item")
    rows = newest_of(participant).filter(item__purpose=purpose, item__in=earlier)
    return (rows.filter(state=State.GIVEN) if purpose == Purpose.WORK else rows).count()


def done_in_sitting(participant: Participant) -> int:
    return done_work(participant) - done_before(participant)


def done_and_held(participant: Participant) -> tuple[int, int]:
    """Labels done and slots held, in one statement: an answer that arrives between two counts would be in neither."""
    done = labelled_work(participant).order_by().annotate(what=Value("done")).values_list("what")
    held = held_slots(participant).order_by().annotate(what=Value("held")).values_list("what")
    counts = Counter(what for (what,) in done.union(held, all=True))
    return counts["done"], counts["held"]


def progress_of(participant: Participant) -> LabellingProgress:
    """Work and gold items of this sitting, done and in all; the total falls when others take the last items."""
    work = work_for(participant)
    done, held = done_and_held(participant)
    more = max(0, min(work.quota - worked_on(participant), items_left(participant)))
    total = done + held + more
    gold, met = gold_left(participant)
    expected = max(met, min(met + len(gold), max(0, total - 1) // work.gold_every))
    before = done_before(participant) + done_before(participant, Purpose.GOLD)
    return LabellingProgress(done + met - before, total + expected - before)


# --- seals ------------------------------------------------------------------

PAGE = TimestampSigner(salt="annotation-page", sep="~")


@dataclass(frozen=True)
class ShownTask:
    """A task as its page showed it: item, response on the left, newest revision, and when the page was sent."""

    item: AnnotationItem
    left: str
    revision: int
    at: datetime | None


def seal_task(participant: Participant, task: AnnotationTask) -> str:
    """Sign a task for the page's form, to prove later, however late, that it was shown to this person."""
    return PAGE.sign(f"{participant.pk}.{task.item.pk}.{task.left}.{task.revision}")


def open_task(participant: Participant, sealed: str) -> ShownTask:
    """Read a page's seal. Raises NotShown."""
    try:
        person, item, left, revision = PAGE.unsign(sealed).split(".")
    except (BadSignature, ValueError):
        raise NotShown("This page was not sent by us.") from None
    if int(person) != participant.pk:
        raise NotShown("This page was sent to somebody else.")
    shown = AnnotationItem.objects.filter(pk=int(item)).first()
    if shown is None:
        raise NotShown("What this page showed was erased.")
    at = datetime.fromtimestamp(b62_decode(sealed.rsplit(PAGE.sep, 2)[1]), tz=UTC)
    return ShownTask(shown, left, int(revision), at)
