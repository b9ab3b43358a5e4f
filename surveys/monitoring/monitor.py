"""How collecting stands: places, people, prompts, pay and flags, counted from the rows each time."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from surveys.models import Annotation, AnonymousExit, Flag, Participant, QuotaCell, Response, Study
from surveys.monitoring.hourly_pay import HourlyPay, promise_of, work_of
from surveys.monitoring.people import WHO, kinds_of_people, people_of
from surveys.reading.checks import CHECKS
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import definition_of, prompts_of

State, Step, Origin = Participant.State, Participant.Step, Participant.Origin
OPEN = (State.SCREENING, State.ACTIVE)


@dataclass(frozen=True)
class CellProgress:
    """A quota cell's places: filled for good, leased to somebody who works, free."""

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
    """A prompt with how many have answered it, work on it now, and stopped at it."""

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
    """All numbers of the page, for the people that `who` names (see people.WHO)."""

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
    last_answer: datetime | None
    steps: dict[str, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        return self.places - self.filled - self.leased

    @property
    def people(self) -> int:
        return sum(self.states.values()) + sum(self.exits.values())


def watch(study: Study, who: str = "main") -> Monitor:
    """Everything that the live monitor shows. Imported people never were here, so they are left out."""
    people = people_of(study, who).exclude(origin=Origin.IMPORTED)
    cells = list(count_cells(study))
    work, today = work_of(study, people), promise_of(study.current_id)
    return Monitor(
        who=who,
        at=timezone.now(),
        cells=cells,
        states=count_states(people),
        exits=count_exits(study, who),
        steps=count_steps(people),
        prompts=count_prompts(study, people),
        pay=HourlyPay("All cells", today, work),
        pay_by_cell=[HourlyPay(cell.name, today, [one for one in work if one.cell == cell.id]) for cell in cells],
        flags=count_flags(people),
        kinds=kinds_of_people(study),
        last_answer=time_of_last_answer(people),
    )


def time_of_last_answer(people: QuerySet[Participant]) -> datetime | None:
    """Of the newest pasted answer, or, where there is none, of the newest label."""
    # By the key, which has an index: the newest row is found without reading the others.
    answers = Response.objects.filter(participant__in=people).order_by("-pk").values_list("submitted_at", flat=True)
    labels = Annotation.objects.filter(participant__in=people).order_by("-pk").values_list("created_at", flat=True)
    return answers.first() or labels.first()


def places_of_cells() -> tuple[Count, Count, Count]:
    """All, filled and leased ones. A lease that ran out is a free place: the next person may take it at once."""
    confirmed = Q(places__confirmed_at__isnull=False)
    working = Q(places__confirmed_at__isnull=True, places__expires_at__gte=timezone.now())
    return Count("places"), Count("places", filter=confirmed), Count("places", filter=working)


def count_cells(study: Study) -> Iterable[CellProgress]:
    total, filled, leased = places_of_cells()
    rows = QuotaCell.objects.filter(study=study).annotate(total=total, filled=filled, leased=leased)
    for row in rows.order_by("position"):
        yield CellProgress(row.pk, row.name, row.total, row.filled, row.leased)


def count_states(people: QuerySet[Participant]) -> dict[str, int]:
    """People by state, every state named, in the order in which they are shown."""
    counts = dict(people.order_by().values_list("state").annotate(n=Count("id")))
    return {state: counts.get(state, 0) for state in State.values}


def count_exits(study: Study, who: str) -> dict[str, int]:
    """People of whom only a count is kept: those who said no, and those who withdrew."""
    exits = AnonymousExit.objects.filter(WHO[who][1], version__study=study)
    counts = dict(exits.order_by().values_list("kind").annotate(n=Count("id")))
    return {kind: counts.get(kind, 0) for kind in AnonymousExit.Kind.values}


def count_steps(people: QuerySet[Participant]) -> dict[str, int]:
    """Where people who work now are, by step; those at the prompts stand in `count_prompts` one by one."""
    counts = dict(people.filter(state__in=OPEN).order_by().values_list("step").annotate(n=Count("id")))
    return {step: counts.get(step, 0) for step in Step.values if step != Step.END}


def count_prompts(study: Study, people: QuerySet[Participant]) -> list[AtPrompt]:
    """The prompts of the current version in the file's order, then those that only older versions have."""
    answered = dict(
        Response.objects.filter(participant__in=people, accepted=True)
        .order_by()
        .values_list("prompt__slug")
        .annotate(n=Count("participant", distinct=True))
    )
    accepted = Q(responses__accepted=True)
    unfinished = (
        people.filter(step__in=[Step.PROMPTS, Step.END])
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
    return together(rows, slugs, definition_of(study.current_id))


def together(rows: list[AtPrompt], slugs: list[str], definition: Definition) -> list[AtPrompt]:
    """With one row for all questions of the study's set."""
    if not definition.matrix:
        return rows
    drawn = [row for row, slug in zip(rows, slugs, strict=True) if slug in definition.set_questions]
    counts = (sum(getattr(row, name) for row in drawn) for name in ("answered", "here", "stopped"))
    others = [row for row, slug in zip(rows, slugs, strict=True) if slug not in definition.set_questions]
    return [*others, AtPrompt(f"Questions of {definition.matrix.set}", *counts)]


def count_flags(people: QuerySet[Participant]) -> list[FlagCount]:
    """Every check in its order, also those that never spoke."""
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
    """The cell that fills slowest, when it lies clearly (15 points) below the middle of the others."""
    if len(cells) < 2 or not any(cell.filled for cell in cells):
        return None
    slowest = min(cells, key=lambda cell: cell.share)
    others = [cell.share for cell in cells if cell is not slowest]
    return slowest if median(others) - slowest.share >= 0.15 else None


def say_state(study: Study, cells: list[CellProgress]) -> str:
    """How full the study is, and what needs attention."""
    places, full, leased = (sum(getattr(cell, name) for cell in cells) for name in ("places", "filled", "leased"))
    filled = f"{full:,} of {places:,} places are filled"
    if study.state == Study.State.DRAFT:
        return "Nobody can take part yet: the study is a draft."
    if study.state == Study.State.PILOT:
        return "The pilot runs. Its people fill no places."
    if study.state == Study.State.CLOSED:
        return f"The study is closed. {filled}."
    if study.state == Study.State.PAUSED:
        return f"Recruiting is paused. {filled}, {people_work(leased)}."
    if places and full == places:
        return f"All {places:,} places are filled. The study can be closed."
    slow = behind(cells)
    return f"{filled}, {people_work(leased)}." + (f" {slow.name} is behind." if slow else "")


def people_work(n: int) -> str:
    if not n:
        return "nobody is working now"
    return "1 participant is working now" if n == 1 else f"{n:,} participants are working now"
