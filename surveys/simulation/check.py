"""What must be true after a simulation: what people saw against what the database holds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Count, Q

from surveys.models import AnonymousExit, Flag, Participant, Place, QuotaCell, Study
from surveys.participation.recruitment import CODES
from surveys.reading.answers import clean_text
from surveys.simulation.annotators.check import check_items, check_slots
from surveys.simulation.people import Story
from surveys.simulation.stored import stored_of
from surveys.studies.lifecycle import definition_of
from surveys.study_files.definitions import Definition

State = Participant.State
OPEN = (State.SCREENING, State.ACTIVE, State.TIMED_OUT)


@dataclass
class Exits:
    """How many simulated people the study counts without knowing them."""

    no_consent: int
    withdrawn: int


def count_exits(study: Study) -> Exits:
    rows = AnonymousExit.objects.filter(version__study=study, origin=Participant.Origin.SIMULATED)
    return Exits(*(rows.filter(kind=kind).count() for kind in ("no_consent", "withdrawn")))


def find_violations(study: Study, stories: Iterable[Story], before: Exits) -> Iterator[str]:
    """One sentence for each thing that is not as it must be."""
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
    """In one state, the one that the person saw, with its code."""
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
    """Every confirmed answer stored exactly once; the newest one counts; nothing that was never sent."""
    stored = list(stored_of(row))
    for sent in dict.fromkeys(story.confirmed):
        found = sum(answer.is_of(sent) for answer in stored)
        if found != 1:
            yield f"a confirmed answer to {sent.slug} is stored {found} times"
    newest = {answer.slug: answer.text for answer in stored}
    for slug, texts in story.newest.items():
        if None not in texts and newest.get(slug) not in {clean_text(text) for text in texts}:
            yield f"the answer to {slug} is not the one sent last"
    known = {(slug, clean_text(text)) for slug, text in story.sent}
    for answer in stored:
        if (answer.slug, answer.text) not in known and not answer.is_cut:
            yield f"an answer to {answer.slug} was never sent: {answer.text[:40]!r}"


def check_flags(story: Story, row: Participant) -> Iterator[str]:
    """What was shown about a paste and decided by the person is kept."""
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


def check_exits(stories: list[Story], before: Exits, after: Exits) -> Iterator[str]:
    withdrawn = sum(story.end == "withdrawn" for story in stories)
    if after.withdrawn - before.withdrawn != withdrawn:
        yield f"{withdrawn} people withdrew and {after.withdrawn - before.withdrawn} were counted"
    refused = sum(story.refusals for story in stories)
    if after.no_consent - before.no_consent != refused:
        yield f"{refused} times somebody said no and {after.no_consent - before.no_consent} were counted"
