"""Pay that keeps the promise: what people earned an hour, cell by cell, and what it costs to make up the rest.

Minutes are those from consent to the end, as on the monitor. Whoever completed counts, overflow included, and so does
whom technical trouble stopped.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import NamedTuple

from surveys.models import Participant, Study
from surveys.prolific.board import UNPAID, Board, Pair
from surveys.prolific.decisions import Amount, fee_of
from surveys.prolific.reconciliation import APPROVED, BONUSES, Ours
from surveys.studies.lifecycle import definition_of

State = Participant.State
FEWEST = 5  # people below which a median says nothing
REASONS = {"cell": "the cell's median below the promise", "person": "own time longer than paid for"}


class Worker(NamedTuple):
    """Somebody who is paid: the submission, hours of work, and cents received or decided."""

    submission: int
    hours: float
    cents: int

    def missing(self, promised: int) -> int:
        """Cents to the promise (cents an hour), rounded up; negative where more was paid."""
        return ceil(round(promised * self.hours, 6)) - self.cents


@dataclass
class CellPay:
    """A cell's people against the promise, which is in cents an hour."""

    id: int | None
    name: str
    promised: int
    workers: list[Worker] = field(default_factory=list)

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
        return round(median(worker.cents / worker.hours for worker in self.workers)) if self.workers else None

    @property
    def each(self) -> int:
        """The least that, paid to everybody of the cell, brings the median to the promise."""
        missing = sorted(worker.missing(self.promised) for worker in self.workers)
        return max(0, missing[len(missing) // 2]) if missing else 0

    def amounts(self, how: str) -> list[Amount]:
        """`cell`: the same for all, so that the median keeps the promise. `person`: to each what is missing."""
        alike = self.each if how == "cell" else None
        owed = (
            (worker.submission, worker.missing(self.promised) if alike is None else alike) for worker in self.workers
        )
        return [Amount(submission, cents, REASONS[how]) for submission, cents in owed if cents > 0]

    @property
    def options(self) -> list[tuple[str, int, int, int]]:
        """(how, people, cents, fee) of what would cost something."""
        found = ((how, self.amounts(how)) for how in REASONS)
        return [(how, len(amounts), cost_of(amounts), fee_of(cost_of(amounts))) for how, amounts in found if amounts]


def cost_of(amounts: Iterable[Amount]) -> int:
    return sum(amount.cents for amount in amounts)


def pay_by_cell(study: Study, board: Board) -> list[CellPay]:
    """The cells that people were paid in, by name."""
    promised = round(definition_of(study.current_id).pay_per_hour * 100)
    cells: dict[int | None, CellPay] = {}
    for ours, worker in find_workers(board.rows):
        cell = cells.setdefault(ours.cell, CellPay(ours.cell, ours.cell_name or "Without a cell", promised))
        cell.workers.append(worker)
    return sorted(cells.values(), key=lambda cell: (cell.id is None, cell.name))


def find_workers(rows: Iterable[Pair]) -> Iterable[tuple[Ours, Worker]]:
    """Each person once, with the submission that is approved, to be approved, or paid by a bonus instead."""
    for row in rows:
        ours, theirs = row.ours, row.theirs
        if not ours or not theirs or ours.state not in (State.COMPLETED, State.TECHNICAL) or ours.seconds is None:
            continue
        bonuses = [each for each in theirs.ledger if each.kind in BONUSES]
        decided = sum(each.cents for each in bonuses if each.state not in UNPAID)
        reward = theirs.reward if theirs.status in (*APPROVED, "AWAITING REVIEW") else 0
        received = reward + max(decided, theirs.bonus)
        if received and row.counts and row.meaning not in ("other-person", "asked-to-return"):
            yield ours, Worker(theirs.id, max(ours.seconds, 1.0) / 3600, received)
