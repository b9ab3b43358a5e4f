"""Annotators' labels: given, changed, skipped and taken back, each time as a new revision."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from surveys.annotation.qualification import Feedback, feedback_on, training_of
from surveys.annotation.slots import claim_slot, renew_holds, work_for
from surveys.annotation.work import ShownTask, find_last, find_newest
from surveys.models import Annotation, AnnotationItem, Participant, Slot
from surveys.participation import recruitment
from surveys.participation.places import FREE, touch_participant
from surveys.studies.files.kinds import KINDS, LONGEST_REASON, LabelFault, read_labels

Purpose, State = AnnotationItem.Purpose, Annotation.State
MOST_REVISIONS = 200
SKIP_REASONS = {
    "uncomfortable": "It is upsetting or too private",
    "unclear": "I cannot tell what is meant",
    "language": "It is in a language that I do not read",
    "broken": "Something is missing or not shown",
    "other": "Another reason",
}


class TooManyLabelRevisions(Exception):
    """One label was changed too often."""


class AnsweredSince(Exception):
    """Another window has answered this item since the page was made, and saving would replace that answer."""


@dataclass(frozen=True)
class LabelSubmission:
    """An annotation page's form as the server reads it; `labels` by field, such as `quality` or `preference/a1`."""

    labels: Mapping[str, str]
    key: uuid.UUID = field(default_factory=uuid.uuid4)
    opened: tuple[int, ...] = ()
    active_ms: int | None = None
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LabelOutcome:
    """The outcome of a submission, now committed."""

    annotation: Annotation
    feedback: tuple[Feedback, ...] = ()
    failed_training: bool = False


def submit(participant: Participant, shown: ShownTask, submission: LabelSubmission) -> LabelOutcome:
    """Keep one revision of one item's labels. The same key and labels again are the same revision.

    Raises LabelFault if an answer is missing or unknown, AnsweredSince, TooManyLabelRevisions, and
    Participant.DoesNotExist if the participation has ended.
    """
    item = shown.item
    with transaction.atomic():
        touch_participant(participant)
        said = find_newest(participant, item) if item.purpose == Purpose.TRAINING else None
        if said and (said.key == submission.key or training_of(participant).due != item):
            return outcome_of(participant, said)  # sent again after its feedback
        labels = read_labels(KINDS[item.kind].questions, item.payload, submission.labels)
        key, known = find_form(participant, submission.key, labels)
        if known:
            return outcome_of(participant, known)
        check_newest(participant, shown, submission.key, labels)
        slot = claim_slot(participant, item, shown.left)
        if slot:
            slot.done_at = slot.done_at or timezone.now()
            slot.save(update_fields=["done_at"])
        about = {"labels": labels, "opened": list(submission.opened), "active_ms": submission.active_ms}
        trace: dict[str, Any] = {**submission.trace, "least_ms": least_ms(item)} if submission.trace else {}
        annotation = write(participant, shown, State.GIVEN, key, trace=trace, **about)
        renew_holds(participant)
        return outcome_of(participant, annotation)


def outcome_of(participant: Participant, annotation: Annotation) -> LabelOutcome:
    if annotation.item.purpose != Purpose.TRAINING:
        return LabelOutcome(annotation)
    failed = training_of(participant).failed
    if failed:
        recruitment.stop(participant, Participant.State.MISUNDERSTOOD, "training-failed-twice")
    return LabelOutcome(annotation, feedback=feedback_on(annotation.item, annotation), failed_training=failed)


def skip(
    participant: Participant, shown: ShownTask, reason: str, words: str = "", key: uuid.UUID | None = None
) -> Annotation:
    """Skip an item, which this person is not given again. `reason` is one of SKIP_REASONS.

    Raises LabelFault, and as `submit` does.
    """
    if shown.item.purpose == Purpose.TRAINING:
        raise LabelFault({"reason": "is not asked for: training items can't be skipped"})
    if reason not in SKIP_REASONS:
        raise LabelFault({"reason": f"must be one of {', '.join(SKIP_REASONS)}"})
    key = key or uuid.uuid4()
    why = f"{reason}: {words.strip()}" if words.strip() else reason
    with transaction.atomic():
        touch_participant(participant)
        if known := find_by_key(participant, key):
            return known
        check_newest(participant, shown, key)
        Slot.objects.filter(item=shown.item, participant=participant).update(**FREE)
        annotation = write(participant, shown, State.SKIPPED, key, reason=why.replace("\x00", "")[:LONGEST_REASON])
        renew_holds(participant)
        return annotation


def take_back(participant: Participant, key: uuid.UUID | None = None) -> Annotation | None:
    """Undo this person's last submit or skip; return the withdrawal, or None if there is nothing to undo.

    The item is theirs again, unless they had skipped it and others have taken all its slots since.
    """
    key = key or uuid.uuid4()
    with transaction.atomic():
        touch_participant(participant)
        if known := find_by_key(participant, key):
            return known
        undone = find_last(participant)
        if undone is None:
            return None
        if slot := claim_slot(participant, undone.item, undone.left):
            slot.done_at = None
            slot.save(update_fields=["done_at"])
        shown = ShownTask(undone.item, undone.left, undone.revision, None)
        annotation = write(participant, shown, State.WITHDRAWN, key, labels=undone.labels, reason=undone.reason)
        renew_holds(participant)
        return annotation


def check_newest(
    participant: Participant, shown: ShownTask, key: uuid.UUID, labels: Mapping[str, str] | None = None
) -> None:
    """Raise AnsweredSince if a page would replace an answer that it neither knew of nor gave itself."""
    newest = find_newest(participant, shown.item)
    if newest is None or newest.state != State.GIVEN or newest.revision <= shown.revision or newest.labels == labels:
        return
    if newest.key not in (key, changed_key(key, newest.labels)):
        raise AnsweredSince


def find_form(
    participant: Participant, key: uuid.UUID, labels: Mapping[str, str]
) -> tuple[uuid.UUID, Annotation | None]:
    """The key of this form with these labels, and its annotation if stored; other labels make another form."""
    known = find_by_key(participant, key)
    if known and known.labels != labels:
        key = changed_key(key, labels)
        known = find_by_key(participant, key)
    return key, known


def changed_key(key: uuid.UUID, labels: Mapping[str, str]) -> uuid.UUID:
    """The key of a form that was changed and sent again before the next page came."""
    return uuid.uuid5(key, json.dumps(labels, sort_keys=True))


def find_by_key(participant: Participant, key: uuid.UUID) -> Annotation | None:
    return Annotation.objects.select_related("item").filter(participant=participant, key=key).first()


def write(participant: Participant, shown: ShownTask, state: str, key: uuid.UUID, **values: Any) -> Annotation:
    newest = find_newest(participant, shown.item)
    revision = newest.revision + 1 if newest else 1
    if revision > MOST_REVISIONS:
        raise TooManyLabelRevisions(f"This label was already changed {MOST_REVISIONS} times.")
    if newest and newest.trace and values.get("trace"):  # parts read then count as read now
        values["trace"]["ends"] = newest.trace["ends"] | values["trace"]["ends"]
    return Annotation.objects.create(
        item=shown.item,
        participant=participant,
        version_id=participant.version_id,
        revision=revision,
        state=state,
        key=key,
        left=shown.left,
        shown_at=shown.at,
        guidelines_version=work_for(participant).guidelines_version,
        **values,
    )


# --- the page's notes on labelling ---

COUNTS = ("keys", "pointer", "presses", "scrolls", "untrusted")
HASTY = ("read", "again")
LONGEST_TRACE, OBJECTS = 1_000, 3  # characters, and the trace with its `ends` and `seen`
WORD = 6  # characters, with the space, so that languages without spaces have words too
FASTEST = 10  # words a second: twice the speed of reading with comprehension


def count_words(item: AnnotationItem) -> int:
    """The approximate number of words to read; a history is searched, not read, and does not count."""
    texts = list(item.payload.values())
    size = 0
    while texts:
        one = texts.pop()
        size += len(one) if isinstance(one, str) else 0
        texts += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return size // WORD


def least_ms(item: AnnotationItem) -> int:
    return count_words(item) * 1000 // FASTEST


def read_trace(raw: str) -> dict[str, Any]:
    """The page's own notes on labelling, cut to the documented keys; {} without JavaScript.

    {"ends": {"A", "B": ms of work after which the end of this answer had been in view}, "seen": {"A", "B",
    "history": ms of work with it in view}, "keys", "pointer" (moves), "presses", "scrolls": how many the browser
    reported, "untrusted": how many a script made, "automated": the browser says that a program drives it, "hasty":
    "read" or "again", if the page asked whether everything was read}. Stored with "least_ms", the time within which
    nobody can read the item.
    """
    try:
        given = json.loads(raw[:LONGEST_TRACE]) if "[" not in raw and raw.count("{") <= OBJECTS else None
    except ValueError:
        return {}
    if not isinstance(given, dict):
        return {}
    kept: dict[str, Any] = {name: read_whole(given.get(name)) for name in COUNTS}
    for name, parts in (("ends", "AB"), ("seen", ("A", "B", "history"))):
        found = given.get(name)
        kept[name] = (
            {part: read_whole(found[part]) for part in parts if part in found} if isinstance(found, dict) else {}
        )
    hasty = given.get("hasty")
    return kept | {"automated": given.get("automated") is True, "hasty": hasty if hasty in HASTY else ""}


def read_whole(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e12 else 0
