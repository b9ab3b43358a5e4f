"""The state of collecting: places, people, prompts, pay beside the promise, flags and labels, always counted anew."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from statistics import median

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Case, CharField, Count, Exists, F, Func, OuterRef, Q, QuerySet, Sum, Value, When
from django.utils import timezone

from surveys.annotation.labels import SKIP_REASONS
from surveys.models import (
    Annotation,
    AnnotationItem,
    AnonymousExit,
    Flag,
    Participant,
    Payment,
    QuotaCell,
    Response,
    Session,
    Slot,
    Study,
    Submission,
)
from surveys.reading.checks import CHECKS
from surveys.studies.files.definitions import Definition
from surveys.studies.flow import count_exits, kinds_of_people, people_of, simulated_among
from surveys.studies.labels import newest
from surveys.studies.lifecycle import definition_of, prompts_of
from surveys.studies.wording import plural

State, Step, Origin = Participant.State, Participant.Step, Participant.Origin
FEWEST = 5  # people below which a median says nothing


@dataclass(frozen=True)
class Work:
    """A person's paid work: hours, cents received or decided, and cents an hour that their version promised."""

    hours: float
    cents: int
    promised: int
    submission: int = 0
    cell: int | None = None

    @property
    def per_hour(self) -> float:
        return self.cents / self.hours

    @property
    def missing(self) -> int:
        """Cents missing to the promise, rounded up; negative if more was paid."""
        return ceil(round(self.promised * self.hours, 6)) - self.cents


@dataclass
class HourlyPay:
    """People's work against the promise; `today` is what the newest version promises, in cents an hour."""

    name: str
    today: int
    workers: Sequence[Work] = field(default_factory=list)

    @property
    def n(self) -> int:
        return len(self.workers)

    @property
    def few(self) -> bool:
        return self.n < FEWEST

    @property
    def minutes(self) -> float | None:
        return 60 * median(worker.hours for worker in self.workers) if self.workers else None

    @property
    def per_hour(self) -> int | None:
        """The median of each person's earnings an hour, in cents."""
        return round(median(worker.per_hour for worker in self.workers)) if self.workers else None

    @property
    def promised(self) -> list[int]:
        """The promises of these people's versions, the lowest first; today's promise if there is nobody."""
        return sorted({worker.promised for worker in self.workers} or {self.today})

    @property
    def below(self) -> bool:
        """Whether the median person earned less than their own promise; False for fewer people than FEWEST."""
        return not self.few and median(worker.per_hour / worker.promised for worker in self.workers) < 1


def promise_of(version: int) -> int:
    """The version's promise, in cents an hour."""
    return round(definition_of(version).pay_per_hour * 100)


def work_of(study: Study, people: QuerySet[Participant]) -> list[Work]:
    """The work of all real people who completed, as nobody pays simulated ones; of at least a second each.

    Of an annotator who came several times it is the last sitting, as the end of the others is not kept.
    """
    real = people.filter(state=State.COMPLETED).exclude(origin=Participant.Origin.SIMULATED)
    rows = list(real.order_by().values_list("pk", "cell", "consented_at", "finished_at", "version"))
    sittings = last_sittings(study) if rows and definition_of(study.current_id).annotation else {}
    bonuses, instead = bonuses_of(study, sittings) if rows else ({}, set())
    return [
        Work(
            max((finished - sittings.get(person, consented)).total_seconds(), 1.0) / 3600,
            (0 if person in instead else definition_of(version).pay.cents) + bonuses.get(person, 0),
            promise_of(version),
            cell=cell,
        )
        for person, cell, consented, finished, version in rows
    ]


def last_sittings(study: Study) -> dict[int, datetime]:
    """When the newest sitting began, by participant, of those who came for a further one."""
    further = Session.objects.filter(study=study, rule=Session.Rule.SITTING).order_by("pk")
    return dict(further.values_list("participant", "first_seen_at"))


def bonuses_of(study: Study, sittings: Mapping[int, datetime]) -> tuple[dict[int, int], set[int]]:
    """Cents of bonuses by participant, decided here or shown by Prolific, and who got one in place of the reward.

    Only those of the newest sitting, whose beginnings are `sittings`.
    """
    given = Submission.objects.filter(remote__study=study)
    given = given.filter(Q(bonus__gt=0) | Q(payments__kind__in=Payment.BONUSES)).distinct().prefetch_related("payments")
    there = {submission.submission_id: submission for submission in given if submission.bonuses}
    found: Counter[int] = Counter()
    instead = set()
    if there:
        sessions = Session.objects.filter(study=study, session_id__in=there)
        for session, participant, began in sessions.values_list("session_id", "participant", "first_seen_at"):
            if began >= sittings.get(participant, began):
                found[participant] += there[session].bonuses
                instead.update([participant] if there[session].status in Submission.UNREWARDED else [])
    return dict(found), instead


OPEN = (State.SCREENING, State.ACTIVE)


@dataclass(frozen=True)
class CellProgress:
    """A quota cell's places: filled for good, leased to somebody at work, free."""

    id: int
    name: str
    places: int
    filled: int
    leased: int

    @property
    def free(self) -> int:
        return self.places - self.filled - self.leased

    @property
    def share(self) -> float:
        return self.filled / self.places if self.places else 1.0


class PlacesOfCells:
    """The places of all cells together."""

    cells: list[CellProgress]

    @property
    def places(self) -> int:
        return sum(cell.places for cell in self.cells)

    @property
    def filled(self) -> int:
        return sum(cell.filled for cell in self.cells)

    @property
    def leased(self) -> int:
        return sum(cell.leased for cell in self.cells)


@dataclass(frozen=True)
class AtPrompt:
    """A prompt, with the numbers of people who have answered it, work on it now, and stopped at it."""

    title: str
    answered: int
    here: int
    stopped: int


@dataclass(frozen=True)
class FlagCount:
    check: str
    shown: int
    fixed: int
    kept: int

    @property
    def undecided(self) -> int:
        return self.shown - self.fixed - self.kept


@dataclass
class Monitor(PlacesOfCells):
    """All numbers of the page, for the people that `who` names (see flow.WHO)."""

    who: str
    at: datetime
    cells: list[CellProgress]
    states: dict[str, int]
    exits: dict[str, int]
    prompts: list[AtPrompt]
    pay: HourlyPay
    pay_by_cell: list[HourlyPay]
    flags: list[FlagCount]
    kinds: dict[str, int]
    simulated: int
    last_answer: datetime | None
    steps: dict[str, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        return self.places - self.filled - self.leased

    @property
    def people(self) -> int:
        return sum(self.states.values()) + sum(self.exits.values())


def watch(study: Study, who: str = "main") -> Monitor:
    """All numbers of the live monitor, without imported people, who were never here."""
    people = people_of(study, who).exclude(origin=Origin.IMPORTED)
    exits, left = count_exits(study, who), Counter[str]()
    for kind, _, n in exits:
        left[kind] += n
    cells, kinds = list(count_cells(study)), kinds_of_people(study)
    work, today = work_of(study, people), promise_of(study.current_id)
    return Monitor(
        who=who,
        at=timezone.now(),
        cells=cells,
        states=count_by(people, "state", State.values),
        # Of those who said no, and those who withdrew, only a count is kept.
        exits={kind: left[kind] for kind in AnonymousExit.Kind.values},
        # People at the prompts are in `count_prompts`, prompt by prompt.
        steps=count_by(people.filter(state__in=OPEN), "step", [step for step in Step.values if step != Step.END]),
        prompts=count_prompts(study, people),
        pay=HourlyPay("All cells", today, work),
        pay_by_cell=[HourlyPay(cell.name, today, [one for one in work if one.cell == cell.id]) for cell in cells],
        flags=count_flags(people),
        kinds=kinds,
        simulated=simulated_among(kinds, exits, who),
        last_answer=time_of_last_answer(people),
    )


def time_of_last_answer(people: QuerySet[Participant]) -> datetime | None:
    """When the newest answer was pasted or, if there is none, the newest label given."""
    # By the key, which has an index: the newest row is found without reading the others.
    answers = Response.objects.filter(participant__in=people).order_by("-pk").values_list("submitted_at", flat=True)
    labels = Annotation.objects.filter(participant__in=people).order_by("-pk").values_list("created_at", flat=True)
    return answers.first() or labels.first()


def places_of_cells() -> tuple[Count, Count, Count]:
    """Counts of all, filled and leased places. One whose lease ran out is free: the next person may take it at once."""
    confirmed = Q(places__confirmed_at__isnull=False)
    working = Q(places__confirmed_at__isnull=True, places__expires_at__gte=timezone.now())
    return Count("places"), Count("places", filter=confirmed), Count("places", filter=working)


def count_cells(study: Study) -> Iterable[CellProgress]:
    total, filled, leased = places_of_cells()
    rows = QuotaCell.objects.filter(study=study).annotate(total=total, filled=filled, leased=leased)
    for row in rows.order_by("position"):
        yield CellProgress(row.pk, row.name, row.total, row.filled, row.leased)


def count_by(rows: QuerySet, column: str, values: list[str]) -> dict[str, int]:
    """Numbers of rows by these values of a column, in this order, zeros included."""
    return dict.fromkeys(values, 0) | dict(
        rows.filter(**{f"{column}__in": values}).order_by().values_list(column).annotate(n=Count("id"))
    )


def count_prompts(study: Study, people: QuerySet[Participant]) -> list[AtPrompt]:
    """The prompts of the current version in the file's order, then those that only older versions have."""
    answered = dict(
        Response.objects.filter(participant__in=people, accepted=True)
        .order_by()
        .values_list("prompt__slug")
        .annotate(n=Count("participant", distinct=True))
    )
    accepted, definition = Q(responses__accepted=True), definition_of(study.current_id)
    came = Q(step=Step.PROMPTS) | Q(context__isnull=False) | Exists(Response.objects.filter(participant=OuterRef("pk")))
    if definition.settings_later:  # nothing else tells who ended at the first prompt
        came |= Q(step=Step.END) & ~Q(state=State.MISUNDERSTOOD)
    unfinished = (
        people.filter(came)
        .exclude(state=State.COMPLETED)
        .exclude(order=[])
        .annotate(done=ArrayAgg("responses__prompt__slug", filter=accepted, distinct=True, default=[]))
        .order_by()
        .values_list("state", "order", "done")
    )
    here: Counter[str] = Counter()
    stopped: Counter[str] = Counter()
    for state, order, done in unfinished:
        at = next((slug for slug in order if slug not in done), "")
        (here if state in OPEN else stopped)[at] += 1
    titles = {slug: prompt.label for slug, prompt in prompts_of(study.current_id).items()}
    slugs = [*titles, *sorted({*answered, *here, *stopped} - {*titles, ""})]
    rows = [AtPrompt(titles.get(slug, slug), answered.get(slug, 0), here[slug], stopped[slug]) for slug in slugs]
    return merge_drawn(rows, slugs, definition)


def merge_drawn(rows: list[AtPrompt], slugs: list[str], definition: Definition) -> list[AtPrompt]:
    """Merge the rows of the set's questions into one."""
    if not definition.matrix:
        return rows
    drawn = [row for row, slug in zip(rows, slugs, strict=True) if slug in definition.set_questions]
    counts = (sum(getattr(row, name) for row in drawn) for name in ("answered", "here", "stopped"))
    others = [row for row, slug in zip(rows, slugs, strict=True) if slug not in definition.set_questions]
    return [*others, AtPrompt(f"Questions of {definition.matrix.set}", *counts)]


def count_flags(people: QuerySet[Participant]) -> list[FlagCount]:
    """Counts of every check in its order, even of those that never flagged anything."""
    rows = Flag.objects.filter(participant__in=people).order_by().values_list("check_name", "outcome")
    counts: dict[tuple[str, str], int] = {(check, outcome): n for check, outcome, n in rows.annotate(n=Count("id"))}
    return [
        FlagCount(
            check,
            sum(counts.get((check, outcome), 0) for outcome in Flag.Outcome.values),
            counts.get((check, Flag.Outcome.FIXED), 0),
            counts.get((check, Flag.Outcome.KEPT), 0),
        )
        for check in CHECKS
    ]


# --- the answer in words ------------------------------------------------------


def behind(cells: list[CellProgress]) -> CellProgress | None:
    """The cell that fills slowest, if it is clearly (15 points) below the median of the others."""
    if len(cells) < 2 or not any(cell.filled for cell in cells):
        return None
    slowest = min(cells, key=lambda cell: cell.share)
    others = [cell.share for cell in cells if cell is not slowest]
    return slowest if median(others) - slowest.share >= 0.15 else None


def say_state(study: Study, cells: list[CellProgress], missing: int = 0) -> str:
    """A sentence on how full the study is and what needs attention; `missing`: labels of the main study not given."""
    places, full, leased = (sum(getattr(cell, name) for cell in cells) for name in ("places", "filled", "leased"))
    filled = say_filled(full, places)
    if study.state == Study.State.DRAFT:
        return "Nobody can take part yet: the study is a draft."
    if study.state == Study.State.PILOT:
        return "The pilot runs. Its people fill no places."
    if study.state == Study.State.CLOSED:
        return f"The study is closed. {filled}." if places else "The study is closed."
    if study.state == Study.State.PAUSED:
        return f"Recruiting is paused. {filled}, {people_work(leased)}."
    if places and full == places:
        all_of_them = "The only place is filled" if places == 1 else f"All {places:,} places are filled"
        lacks = f", and {plural(missing, 'label')} {'is' if missing == 1 else 'are'} missing."
        return f"{all_of_them}{lacks if missing else '. The study can be closed.'}"
    slow = behind(cells)
    return f"{filled}, {people_work(leased)}." + (f" {slow.name} is behind." if slow else "")


def say_filled(filled: int, places: int) -> str:
    return f"{filled:,} of {places:,} places {'is' if filled == 1 else 'are'} filled"


def people_work(n: int) -> str:
    if not n:
        return "nobody is working now"
    return "1 participant is working now" if n == 1 else f"{n:,} participants are working now"


# --- labelling -----------------------------------------------------------------


FULL, BEGUN, UNTOUCHED = "full", "begun", "untouched"


@dataclass(frozen=True)
class ItemProgress:
    """Items of the pilot or main study by their progress, and their labels: wanted, given, held now."""

    pilot: bool
    full: int
    begun: int
    untouched: int
    wanted: int
    given: int
    held: int

    @property
    def items(self) -> int:
        return self.full + self.begun + self.untouched


def count_items(study: Study) -> list[ItemProgress]:
    """Progress of the main study, then of the pilot, each if it has items. A label is given once its slot is done."""
    done = Q(slots__done_at__isnull=False)
    held = Q(slots__done_at__isnull=True, slots__held_until__gte=timezone.now())
    items = AnnotationItem.objects.filter(study=study, purpose=AnnotationItem.Purpose.WORK).order_by()
    each = items.annotate(
        wanted=Count("slots"), given=Count("slots", filter=done), held=Count("slots", filter=held)
    ).annotate(
        stage=Case(
            When(given__gte=F("wanted"), then=Value(FULL)),
            When(given__gt=0, then=Value(BEGUN)),
            default=Value(UNTOUCHED),
            output_field=CharField(),
        )
    )
    return [part for pilot in (False, True) if (part := add_up(each.filter(pilot=pilot), pilot)).items]


def say_labels(study: Study, parts: list[ItemProgress]) -> str:
    """A sentence if nothing is left to label in the pilot or main study, whichever is open; else empty."""
    pilot = study.state == Study.State.PILOT
    if study.state not in (Study.State.PILOT, Study.State.LIVE):
        return ""
    part = next((part for part in parts if part.pilot == pilot), None)
    if part is None or part.full < part.items:
        return ""
    next_step = "The pilot can be decided at the gate." if pilot else "The study can be closed."
    return f"Every label is there ({part.wanted:,}). {next_step}"


def count_missing(study: Study) -> int:
    """Labels of the main study that nobody has given; 0 in studies without annotators."""
    return Slot.objects.filter(item__study=study, item__pilot=False, done_at=None).count()


def add_up(items: QuerySet[AnnotationItem], pilot: bool) -> ItemProgress:
    sums = items.aggregate(
        **{stage: Count("pk", filter=Q(stage=stage)) for stage in (FULL, BEGUN, UNTOUCHED)},
        **{f"sum_{name}": Sum(name, default=0) for name in ("wanted", "given", "held")},
    )
    return ItemProgress(
        pilot, sums[FULL], sums[BEGUN], sums[UNTOUCHED], sums["sum_wanted"], sums["sum_given"], sums["sum_held"]
    )


def count_skips(study: Study) -> list[tuple[str, int]]:
    """(reason, number) of items that annotators skipped and did not label later; the most frequent first."""
    code = Func(F("reason"), Value(":"), Value(1), function="split_part", output_field=CharField())
    skipped = newest(Annotation.objects.filter(item__study=study)).filter(state=Annotation.State.SKIPPED)
    real = skipped.exclude(participant__origin=Participant.Origin.PREVIEW)
    counts = real.annotate(code=code).order_by().values_list("code").annotate(n=Count("id")).order_by("-n", "code")
    return [(SKIP_REASONS.get(code, code), n) for code, n in counts]
