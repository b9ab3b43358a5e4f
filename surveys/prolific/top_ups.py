"""Pay that keeps the promise: what people earned an hour, cell by cell, and what it costs to make up the rest.

Minutes are those from consent to the end, as on the monitor. Whoever completed counts, overflow included, and so does
whom technical trouble stopped.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from surveys.models import Participant, Study
from surveys.monitoring.hourly_pay import HourlyPay, Work, promise_of
from surveys.prolific.board import Board, Pair
from surveys.prolific.decisions import Amount, fee_of
from surveys.prolific.reconciliation import APPROVED, Ours

State = Participant.State
REASONS = {"cell": "the cell's median below the promise", "person": "own time longer than paid for"}


@dataclass
class CellPay(HourlyPay):
    """A cell's people against the promises of the versions they came to."""

    id: int | None = None

    @property
    def each(self) -> int:
        """The least that, paid to everybody of the cell, brings the median to the promise."""
        missing = sorted(worker.missing for worker in self.workers)
        return max(0, missing[len(missing) // 2]) if missing else 0

    def amounts(self, how: str) -> list[Amount]:
        """`cell`: the same for all, so that the median keeps the promise. `person`: to each what is missing."""
        alike = self.each if how == "cell" else None
        owed = ((worker.submission, worker.missing if alike is None else alike) for worker in self.workers)
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
    names: dict[int | None, str] = {}
    work: dict[int | None, list[Work]] = {}
    for ours, worker in find_workers(board.rows):
        names[ours.cell] = ours.cell_name or "Without a cell"
        work.setdefault(ours.cell, []).append(worker)
    today = promise_of(study.current_id)
    cells = [CellPay(names[cell], today, workers, cell) for cell, workers in work.items()]
    return sorted(cells, key=lambda cell: (cell.id is None, cell.name))


def find_workers(rows: Iterable[Pair]) -> Iterable[tuple[Ours, Work]]:
    """Each person once, with the submission that is approved, to be approved, or paid by a bonus instead."""
    for row in rows:
        ours, theirs = row.ours, row.theirs
        if not ours or not theirs or ours.state not in (State.COMPLETED, State.TECHNICAL) or ours.seconds is None:
            continue
        reward = theirs.reward if theirs.status in (*APPROVED, "AWAITING REVIEW") else 0
        received = reward + theirs.bonuses
        if received and row.counts and row.meaning not in ("other-person", "asked-to-return"):
            yield ours, Work(max(ours.seconds, 1.0) / 3600, received, promise_of(ours.version), theirs.id)
