"""What people earned an hour beside what the version they came to promised them: one sum for Collect and Paying."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from django.db.models import Q, QuerySet

from surveys.models import Participant, Payment, Session, Study, Submission
from surveys.studies.lifecycle import definition_of

State = Participant.State
FEWEST = 5  # people below which a median says nothing


@dataclass(frozen=True)
class Work:
    """Somebody's paid work: hours, cents received or decided, and cents an hour that their version promised."""

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
        """Cents to the promise, rounded up; negative where more was paid."""
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
        """The median of what each earned an hour, in cents."""
        return round(median(worker.per_hour for worker in self.workers)) if self.workers else None

    @property
    def promised(self) -> list[int]:
        """What these people's versions promised, the lowest first; today's where there is nobody."""
        return sorted({worker.promised for worker in self.workers} or {self.today})

    @property
    def below(self) -> bool:
        """Whether the median person, each beside their own promise, earned less."""
        return not self.few and median(worker.per_hour / worker.promised for worker in self.workers) < 1


def promise_of(version: int) -> int:
    """Cents an hour."""
    return round(definition_of(version).pay_per_hour * 100)


def work_of(study: Study, people: QuerySet[Participant]) -> list[Work]:
    """Of everybody real who completed: nobody pays simulated people. Nobody takes less than a second."""
    real = people.filter(state=State.COMPLETED).exclude(origin=Participant.Origin.SIMULATED)
    rows = list(real.order_by().values_list("pk", "cell", "consented_at", "finished_at", "version"))
    bonuses = bonuses_of(study) if rows else {}
    return [
        Work(
            max((finished - consented).total_seconds(), 1.0) / 3600,
            round(definition_of(version).pay.amount * 100) + bonuses.get(person, 0),
            promise_of(version),
            cell=cell,
        )
        for person, cell, consented, finished, version in rows
    ]


def bonuses_of(study: Study) -> dict[int, int]:
    """Cents by participant, decided here or shown by Prolific."""
    given = Submission.objects.filter(remote__study=study)
    given = given.filter(Q(bonus__gt=0) | Q(payments__kind__in=Payment.BONUSES)).distinct().prefetch_related("payments")
    cents = {submission.submission_id: submission.bonuses for submission in given}
    found: Counter[int] = Counter()
    if cents:
        sessions = Session.objects.filter(study=study, session_id__in=cents)
        for session, participant in sessions.values_list("session_id", "participant"):
            found[participant] += cents[session]
    return dict(found)
