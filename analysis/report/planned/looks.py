"""Looks at hypotheses before the end: who took which, kept in the audit trail, and what each may spend of alpha."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from analysis.charts.figure import Row
from analysis.stats.hypotheses.families import level_at, spent_at
from surveys.console.wording import plural
from surveys.models import AuditEvent, Participant, Study
from surveys.studies.files.hypotheses import PlanKeys
from surveys.studies.lifecycle import definition_of

ACTION = "look taken"


@dataclass(frozen=True)
class Standing:
    """How far a study with hypotheses is: people who completed, the looks planned before the end, those taken."""

    people: int
    planned: int
    looks: tuple[int, ...]
    taken: tuple[Row, ...]
    is_launched: bool
    is_closed: bool

    @property
    def is_over(self) -> bool:
        return self.is_closed or self.people >= self.planned

    @property
    def end(self) -> int:
        """The people of the last look: all places, or those who came to a study that was closed before."""
        return max(1, self.people) if self.is_closed and self.people < self.planned else self.planned

    @property
    def at(self) -> int | None:
        """The people at the newest look; None before the first."""
        return self.end if self.is_over else self.taken[-1]["at"] if self.taken else None

    @property
    def due(self) -> int | None:
        """The planned look that can be taken: of several that were passed over the last."""
        passed = [at for at in self.looks if (self.at or 0) < at <= self.people]
        return passed[-1] if passed and self.is_launched and not self.is_over else None

    @property
    def next(self) -> int | None:
        """The people at the next look that was planned, the last one included, for whom it waits."""
        return None if self.is_over else next(at for at in (*self.looks, self.planned) if at > self.people)

    def number(self, at: int) -> str:
        """1 of 3"""
        ends = (*self.looks, self.planned)
        return f"{ends.index(at) + 1} of {len(ends)}"

    @property
    def times(self) -> tuple[float, ...]:
        """Of each look the share of the people at the last one; a look that nobody took spends nothing."""
        before = [row["at"] for row in self.taken if row["at"] < self.end]
        return (*(at / self.end for at in before), *((1.0,) if self.is_over else ()))

    @property
    def level(self) -> Callable[[float], float]:
        """Of a family's alpha the p from which on the newest look says something."""
        times = self.times
        whole = times if self.is_over else (*times, 1.0)
        return partial(level_at, len(times) - 1, whole) if times and len(whole) > 1 else float

    def and_at(self, at: int) -> "Standing":
        """As if the look at so many people were taken."""
        return replace(self, taken=(*self.taken, {"at": at}))


def people_of(study: Study) -> int:
    """Who completed, without the pilot."""
    counted = Participant.objects.filter(study=study, state=Participant.State.COMPLETED, pilot=False)
    return counted.exclude(origin=Participant.Origin.PREVIEW).count()


def stand(study: Study, people: int | None = None) -> Standing:
    definition = definition_of(study.current_id)
    return Standing(
        people_of(study) if people is None else people,
        definition.planned_people,
        (definition.plan or PlanKeys()).looks,
        tuple(looks_taken(study)),
        study.is_launched,
        study.closed_at is not None,
    )


def looks_taken(study: Study) -> list[Row]:
    events = AuditEvent.objects.filter(study=study, action=ACTION).order_by("number")
    return [
        {**event.detail, "by": event.actor, "when": event.at.isoformat(timespec="seconds"), "event": event.number}
        for event in events
    ]


def say_look(row: Row) -> str:
    which = f"Look {row['look']}" if row["look"] else "A look that was not planned"
    return f"{which}, at {plural(row['at'], 'person', 'people')}"


def spent_by(standing: Standing, alpha: float) -> float:
    """Of alpha what all looks so far have spent."""
    return spent_at(standing.times[-1], alpha) if standing.times else 0.0
