"""Looks at hypotheses before the end: recorded in the audit trail, with the alpha that each may spend."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

from analysis.charts.figure import Row
from analysis.report.planned.verdicts import alphas_in
from analysis.stats.hypotheses.tested import level_at, spent_at
from surveys.models import AuditEvent, Participant, Study
from surveys.studies import audit
from surveys.studies.files.hypotheses import PlanKeys
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import plural

ACTION = "look taken"
END = audit.END_REACHED  # once shown, neither withdrawals nor added places undo it


@dataclass(frozen=True)
class Standing:
    """The progress of a study with hypotheses: people who completed, looks planned before the end, and looks taken."""

    people: int
    planned: int
    looks: tuple[int, ...]
    taken: tuple[Row, ...]
    is_launched: bool
    is_closed: bool

    @property
    def shown(self) -> Row | None:
        """The look at the end, once shown; later amendments do not change it."""
        last = self.taken[-1] if self.taken else {}
        return last if last.get("at", 0) >= last.get("planned", inf) else None

    @property
    def places(self) -> int:
        """The number of people planned, now or when the end was shown."""
        return self.shown["planned"] if self.shown else self.planned

    @property
    def reached(self) -> int:
        """The number of people up to the end; at least that of each look, even if some have withdrawn since."""
        return max([self.shown["people"] if self.shown else self.people, *(row["at"] for row in self.taken)])

    @property
    def is_over(self) -> bool:
        return self.is_closed or self.reached >= self.places

    @property
    def is_unnoted(self) -> bool:
        """Whether all places are filled but the audit trail does not say so yet."""
        return self.is_launched and not self.is_closed and self.people >= self.planned > 0 and not self.shown

    @property
    def end(self) -> int:
        """The number of people at the last look: all places, or as many as came before the study was closed."""
        return max(1, self.reached) if self.is_closed and self.reached < self.places else self.places

    @property
    def newest(self) -> int | None:
        return self.taken[-1]["at"] if self.taken else None

    @property
    def at(self) -> int | None:
        """The number of people at the newest look; None before the first."""
        return self.end if self.is_over else self.newest

    @property
    def due(self) -> int | None:
        """The planned look that can be taken now; if several were passed, the last of them."""
        passed = [at for at in self.looks if (self.at or 0) < at <= self.people]
        return passed[-1] if passed and self.is_launched and not self.is_over else None

    @property
    def next(self) -> int | None:
        """The number of people that the next planned look, or the end, waits for; None at the end."""
        return None if self.is_over else next(at for at in (*self.looks, self.planned) if at > self.reached)

    def number(self, at: int) -> str:
        """The look's place among all planned ones, such as 1 of 3."""
        ends = (*self.looks, self.planned)
        return f"{ends.index(at) + 1} of {len(ends)}"

    @property
    def whole(self) -> int:
        """The number of people at which all of alpha is spent. After a look neither closing the study nor reducing its
        places lowers it.
        """
        planned = (row.get("planned", 0) for row in self.taken)
        return max(self.places, *planned) if self.taken else self.end

    @property
    def before(self) -> tuple[Row, ...]:
        """The looks before the end."""
        return self.taken[:-1] if self.shown else self.taken

    @property
    def times(self) -> tuple[float, ...]:
        """The share of `whole` at each look taken, and at the end if reached."""
        before = sorted({row["at"] / self.whole for row in self.before})
        if not self.is_over:
            return tuple(before)
        now = min(1.0, max(1, self.reached) / self.whole)
        return (*(at for at in before if at < now), now)

    @property
    def level(self) -> Callable[[float], float]:
        """The largest p that passes at the newest look, as a function of a family's alpha."""
        times = self.times
        whole = times if times and times[-1] == 1 else (*times, 1.0)
        return partial(level_at, len(times) - 1, whole) if times and len(whole) > 1 else float

    def and_at(self, at: int, until: str) -> "Standing":
        """The standing after a look at `at` people, who had completed by `until`."""
        which = self.number(at) if at in (*self.looks, self.planned) else ""
        row = {"look": which, "at": at, "until": until, "people": self.people, "planned": self.planned}
        return replace(self, taken=(*self.taken, row))


def people_of(study: Study) -> int:
    """The number of people who completed, without the pilot and previews."""
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
    """The looks taken; the end is the last, if it was shown before the study was closed."""
    events = AuditEvent.objects.filter(study=study, action__in=(ACTION, END)).order_by("number")
    end = next((event.number for event in events if event.action == END), inf)
    return [
        {**event.detail, "alpha": by_family(event.detail["alpha"])}
        | {"by": event.actor, "when": event.at.isoformat(timespec="seconds"), "event": event.number}
        for event in events
        if event.number <= end
    ]


def by_family(alpha: Any) -> list[Row]:
    """Alpha as rows, one a family; earlier versions recorded a mapping."""
    return [{"family": name, **row} for name, row in alpha.items()] if isinstance(alpha, dict) else alpha


def note_look(study: Study, actor: str, action: str, looked: Standing, rows: Collection[Row]) -> None:
    """Record the newest look in the audit trail, with the alpha it spends and its verdicts."""
    look = looked.taken[-1]
    audit.record(
        study,
        actor,
        action,
        f"look {look['look']}" if look["look"] else "not planned",
        **look,
        alpha=[{"family": family, **alpha_of(looked, alpha)} for family, alpha in alphas_in(rows).items()],
        verdicts=[{name: row[name] for name in ("hypothesis", "prompts", "verdict")} for row in rows],
    )


def alpha_of(standing: Standing, alpha: float) -> Row:
    """A family's alpha, the part spent so far, and the largest p with which a single hypothesis passes here."""
    spent, level = spent_at(standing.times[-1], alpha), standing.level(alpha)
    return {"alpha": alpha, "spent": float(f"{spent:.6g}"), "level": float(f"{level:.6g}")}


def say_look(row: Row) -> str:
    which = f"Look {row['look']}" if row["look"] else "A look that was not planned"
    return f"{which}, at {plural(row['at'], 'person', 'people')}"
