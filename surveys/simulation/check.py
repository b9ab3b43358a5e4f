"""Checks after a simulation: the people's own records against the database."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from django.db.models import Count, Max, Q

from surveys.annotation.labels import changed_key
from surveys.annotation.slots import is_excluded
from surveys.models import (
    Annotation,
    AnnotationItem,
    AnonymousExit,
    Flag,
    Participant,
    Place,
    QuotaCell,
    Response,
    Slot,
    Study,
)
from surveys.participation.pasting.capture import UNRATED, key_of
from surveys.participation.pasting.read_back import SaidBack
from surveys.participation.recruitment import CODES
from surveys.reading.answers import clean_text
from surveys.simulation.people import Sent, Story
from surveys.studies.files.definitions import Definition
from surveys.studies.files.kinds import KINDS, fields_of
from surveys.studies.labels import counted, newest
from surveys.studies.lifecycle import definition_of

State = Participant.State
OPEN = (State.SCREENING, State.ACTIVE, State.TIMED_OUT)


def count_exits(study: Study) -> Counter[str]:
    """Anonymous exits of simulated people, by kind."""
    rows = AnonymousExit.objects.filter(version__study=study, origin=Participant.Origin.SIMULATED)
    return Counter(rows.values_list("kind", flat=True))


def find_violations(study: Study, stories: Iterable[Story], before: Counter[str]) -> Iterator[str]:
    """One sentence for each violation."""
    stories = list(stories)
    pids = [story.person.pid for story in stories]
    rows = {row.pid: row for row in Participant.objects.filter(study=study, pid__in=pids)}
    definition = definition_of(study.current_id)
    for story in stories:
        row = rows.get(story.person.pid)
        yield from (f"{story.person.pid}: {fault}" for fault in check_story(story, row, definition))
    yield from check_cells(study)
    yield from check_places(study)
    yield from check_exits(stories, before, count_exits(study))
    yield from check_items(study)


def check_story(story: Story, row: Participant | None, definition: Definition) -> Iterator[str]:
    yield from story.troubles
    if story.end == "withdrawn" or not story.consented:
        if row:
            yield f"is still in the database as {row.state} after {story.end}"
        yield from check_code(story, definition.codes["withdrawn" if story.consented else "no_consent"])
        return
    if row is None:
        yield "took part and is not in the database"
        return
    if row.origin != Participant.Origin.SIMULATED:
        yield f"is marked {row.origin}, not simulated"
    yield from check_end(story, row, definition)
    yield from check_answers(story, row)
    yield from check_flags(story, row)
    yield from check_slots(story, row)


def check_end(story: Story, row: Participant, definition: Definition) -> Iterator[str]:
    """The person is in the state whose end they saw, with its code."""
    if not story.end:
        if row.state not in OPEN:
            yield f"saw no end and is {row.state}"
        return
    if row.state not in CODES:
        yield f"saw an end and is {row.state}"
        return
    outcome = "late" if row.overflow else CODES[State(row.state)]
    yield from check_code(story, definition.codes[outcome])
    if row.state == State.COMPLETED and set(row.order) - {sent.slug for sent in story.confirmed}:
        yield "completed without all answers confirmed"


def check_code(story: Story, code: str) -> Iterator[str]:
    if story.code != code:
        yield f"saw the code {story.code or 'of nothing'!r} where {code!r} was due"


def check_answers(story: Story, row: Participant) -> Iterator[str]:
    """Every confirmed answer is stored exactly once, the newest one counts, and nothing unsent is stored."""
    stored = list(stored_of(row))
    for sent in dict.fromkeys(story.confirmed):
        found = sum(answer.is_of(sent) for answer in stored)
        if found != 1:
            yield f"a confirmed answer to {sent.slug} is stored {found} times"
    newest = {answer.slug: answer.text for answer in stored}
    for slug, texts in story.newest.items():
        if None not in texts and newest.get(slug) not in {clean_text(text) for text in texts if text is not None}:
            yield f"the answer to {slug} is not the one sent last"
    known = {(slug, clean_text(text)) for slug, text in story.sent}
    for answer in stored:
        if (answer.slug, answer.text) not in known and not answer.is_cut:
            yield f"an answer to {answer.slug} was never sent: {answer.text[:40]!r}"


def check_flags(story: Story, row: Participant) -> Iterator[str]:
    """Findings that were shown about a paste and decided by the person are stored."""
    flagged = set(Flag.objects.filter(participant=row).values_list("prompt__slug", flat=True))
    for slug in (story.kept | story.fixed) - flagged:
        yield f"what the checks asked about {slug} is not stored"


# --- the study as a whole ---------------------------------------------------------------------------------


def check_cells(study: Study) -> Iterator[str]:
    """No cell has more counted people than places, and each of them has a confirmed place of their own."""
    counted = Q(participants__state=State.COMPLETED, participants__overflow=False, participants__pilot=False)
    counted &= ~Q(participants__origin__in=["preview", "imported"])
    for cell in QuotaCell.objects.filter(study=study).annotate(done=Count("participants", filter=counted)):
        places, confirmed = cell.places.count(), cell.places.filter(confirmed_at__isnull=False).count()
        if cell.done > places:
            yield f"{cell}: {cell.done} people in {places} places"
        if cell.done != confirmed:
            yield f"{cell}: {cell.done} people completed and {confirmed} places are confirmed"


def check_places(study: Study) -> Iterator[str]:
    """A confirmed place belongs to somebody who completed in its cell; nobody who left holds a place."""
    held = Place.objects.filter(cell__study=study, participant__isnull=False).select_related("participant", "cell")
    for place in held:
        holder = place.participant
        if holder.cell_id != place.cell_id:
            yield f"{place.cell}: place {place.number} is held by somebody of another cell"
        if place.confirmed_at and (holder.state != State.COMPLETED or holder.overflow):
            yield f"{place.cell}: place {place.number} is confirmed for somebody who is {holder.state}"
        if not place.confirmed_at and holder.state not in OPEN:
            yield f"{place.cell}: place {place.number} is held by somebody who is {holder.state}"


def check_exits(stories: list[Story], before: Counter[str], after: Counter[str]) -> Iterator[str]:
    withdrawn = sum(story.end == "withdrawn" for story in stories)
    if (counted := after["withdrawn"] - before["withdrawn"]) != withdrawn:
        yield f"{withdrawn} people withdrew and {counted} were counted"
    refused = sum(story.refusals for story in stories)
    if (counted := after["no_consent"] - before["no_consent"]) != refused:
        yield f"{refused} times somebody said no and {counted} were counted"


# --- items, slots and labels ------------------------------------------------


Purpose, LabelState, Origin = AnnotationItem.Purpose, Annotation.State, Participant.Origin
WORKING = (Participant.State.ACTIVE, Participant.State.TIMED_OUT)
# People who leave give back their slots, so a label that they send later may come too late to count.
GAVE_BACK = ("late", "walk_away", "return", "come_back")


def check_slots(story: Story, row: Participant) -> Iterator[str]:
    """Every work label counts by a done slot of this person, and every done slot has a label."""
    said = Annotation.objects.filter(participant=row, item__purpose=Purpose.WORK)
    given = set(newest(said).filter(state=LabelState.GIVEN).values_list("item__key", flat=True))
    done = set(Slot.objects.filter(participant=row, done_at__isnull=False).values_list("item__key", flat=True))
    yield from (f"holds a done slot of {key} without a label" for key in sorted(done - given))
    if is_excluded(row):
        yield from (f"was excluded and still has a slot of {key}" for key in sorted(done))
    elif story.person.way not in GAVE_BACK:
        skipped = set(said.filter(state=LabelState.SKIPPED).values_list("item__key", flat=True))
        yield from (f"the label of {key} was confirmed and does not count" for key in sorted(given - done - skipped))


def check_items(study: Study) -> Iterator[str]:
    """Every item has its slots, and as many labels count as slots are done, each from a different person."""
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
    """(item, person) of every label that counts by a slot; models and imported people have none."""
    rows = counted(study, pilot=pilot).exclude(participant=None).exclude(participant__origin=Origin.IMPORTED)
    yield from rows.values_list("item", "participant")


def items_with_slots(study: Study) -> list[AnnotationItem]:
    """Work items, with how many labels each wants, has slots for, and has."""
    items = AnnotationItem.objects.filter(study=study, purpose=Purpose.WORK).only("key", "pilot")
    return list(items.annotate(n=Count("slots"), done=Count("slots__done_at"), wanted=Max("slots__wanted")))


def count_overlap(study: Study, pilot: bool) -> dict[str, int]:
    """How many items have all the labels that they want, and how many are still open."""
    items = [item for item in items_with_slots(study) if item.pilot == pilot]
    full = sum(item.done == item.wanted for item in items)
    return {"full": full, "open": len(items) - full}


# --- a person's stored answers and labels, as they were sent ----------------


@dataclass(frozen=True)
class Stored:
    """One answer, or one revision of an item's labels. `again`: other keys under which the same form may be stored."""

    slug: str
    key: uuid.UUID
    text: str
    again: Callable[[uuid.UUID], Iterable[uuid.UUID]]
    is_cut: bool = False  # personal details were taken out

    def is_of(self, sent: Sent) -> bool:
        key = uuid.UUID(sent.key)
        same_form = self.slug == sent.slug and self.key in (key, *self.again(key))
        return same_form and (sent.text is None or self.text == clean_text(sent.text))


def stored_of(row: Participant) -> Iterator[Stored]:
    """Everything stored of this person, the oldest revision first."""
    answers = Response.objects.filter(participant=row, accepted=True).select_related("prompt")
    for answer in answers.prefetch_related("read_backs").order_by("revision"):
        rating = UNRATED if answer.is_unrated else str(answer.rating or "")
        said_of_it = [
            SaidBack(one.verdict, names=tuple(one.names), letter=one.letter) for one in answer.read_backs.all()
        ]
        keys = partial(keys_when_kept, said=said_of_it, rating=rating)
        yield Stored(answer.prompt.slug, answer.key, answer.text, keys, "removed" in answer.personal)
    for label in Annotation.objects.filter(participant=row).select_related("item").order_by("revision"):
        yield Stored(label.item.key, label.key, describe(label), partial(keys_when_changed, said=label))


def keys_when_kept(key: uuid.UUID, said: Iterable[SaidBack], rating: str) -> Iterator[uuid.UUID]:
    """Keys of an answer that was rated, whose reading was corrected, or that was asked about and then kept."""
    for corrected in ("", *(back.key for back in said if back.key)):
        own = key_of(key, corrected, rating)
        yield from (own, uuid.uuid5(own, "kept"))


def keys_when_changed(key: uuid.UUID, said: Annotation) -> tuple[uuid.UUID]:
    return (changed_key(key, labels=said.labels),)


def describe(said: Annotation) -> str:
    if said.state != LabelState.GIVEN:
        return write_labels(said.state)
    asked = fields_of(KINDS[said.item.kind].questions, said.item.payload)
    off = {name for name, question in asked.items() if question.toggle and said.labels[name] == question.values[0]}
    labels = {name: value for name, value in said.labels.items() if name not in off}
    return write_labels(said.state, labels, said.left)


def write_labels(state: str, labels: Mapping[str, str] | None = None, left: str = "") -> str:
    """The same text for the same labels: those chosen, without toggles that are off, and the response on the left."""
    return json.dumps({"state": state, "labels": labels or {}, "left": left}, sort_keys=True)
