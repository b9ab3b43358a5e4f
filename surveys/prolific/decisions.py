"""Decisions: the board's proposals, bonuses and top-ups go into the ledger, with the account that decided them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils import timezone

from surveys.console.monitoring.monitor import HourlyPay, Work, promise_of
from surveys.console.monitoring.people import DecisionError, mark_returned
from surveys.models import Participant, Payment, Study, Submission, TeamRequest, fee_of
from surveys.prolific.reconciliation import (
    ACTIONS,
    APPROVED,
    MEANINGS,
    Board,
    Kind,
    Ours,
    Paid,
    Pair,
    booked,
    given_up,
    read_board,
    screen_out_of,
)
from surveys.studies import audit, second_person
from surveys.studies.lifecycle import definition_of, hold_withdrawals

MONEY = {Kind.APPROVE, Kind.SCREEN_OUT, Kind.BONUS, Kind.TOP_UP}
HERE = {"mark_returned", "book", "drop", "dismiss"}  # actions in this database alone
# The rows of a sheet: submission, cents, and the submission's newest payment, so that a later one shows.
Listed = list[tuple[int, int, int]]


class ListChanged(DecisionError):
    """A decision on a list that is no longer true."""

    def __init__(self) -> None:
        super().__init__("The numbers have changed since you saw them. Nothing was decided; look again.")


@dataclass(frozen=True)
class ProposedDecision:
    """The decision proposed for all rows of one meaning, and its cost in cents."""

    meaning: str
    count: int
    cents: int

    @property
    def action(self) -> str:
        return MEANINGS[self.meaning].action

    @property
    def fee(self) -> int:
        return fee_of(self.cents)

    @property
    def can_decide(self) -> bool:
        return self.action in HERE or self.action == "again" or self.action in Kind.values

    @property
    def moves_money(self) -> bool:
        return self.action in MONEY or self.action == "again"


@dataclass(frozen=True)
class Amount:
    """A payment to be decided."""

    submission: int
    cents: int
    reason: str = ""


def propose(board: Board) -> list[ProposedDecision]:
    """Make one proposal for each meaning that needs an action and has rows, in the order of MEANINGS."""
    sums: dict[str, list[int]] = {}
    for row in board.open:
        sums.setdefault(row.meaning, []).append(cents_of(row))
    return [ProposedDecision(name, len(sums[name]), sum(sums[name])) for name in MEANINGS if name in sums]


def cents_of(row: Pair) -> int:
    """The cents that the row's own action pays; for a screen-out those that the person's version promised."""
    action, theirs = MEANINGS[row.meaning].action, row.theirs
    if theirs is None or action not in (*MONEY, "book", "again"):
        return 0
    if action == "again":
        return sum(entry.cents for entry in given_up(theirs))
    if action == Kind.SCREEN_OUT:
        return screen_out_of(row.ours)
    return theirs.bonus - booked(theirs) if action == "book" else theirs.reward


def rows_of(board: Board, meaning: str) -> list[Pair]:
    return [row for row in board.open if row.meaning == meaning]


def amounts_of(rows: Iterable[Pair]) -> list[Amount]:
    """The amount that each row's own action pays."""
    return [Amount(row.theirs.id, cents_of(row), row.meaning) for row in rows if row.theirs]


def listed(board: Board, amounts: Iterable[Amount]) -> Listed:
    """The rows of a sheet with these amounts, sorted."""
    ledgers = {row.theirs.id: row.theirs.ledger for row in board.rows if row.theirs}
    newest = {name: max((each.id for each in entries), default=0) for name, entries in ledgers.items()}
    return sorted((each.submission, each.cents, newest.get(each.submission, 0)) for each in amounts)


def decide_listed(study: Study, meaning: str, actor: str, seen: Listed, second: TeamRequest | None = None) -> int:
    """Decide a meaning's proposal for exactly the people on a sheet; raises ListChanged otherwise."""
    return decide(study, meaning, actor, len(seen), sum(cents for _, cents, _ in seen), seen=seen, second=second)


def decide(
    study: Study,
    meaning: str,
    actor: str,
    count: int,
    cents: int,
    *,
    instead: bool = False,
    seen: Listed | None = None,
    second: TeamRequest | None = None,
) -> int:
    """Decide a meaning's proposal, or its alternative (`instead`), for all its rows; return how many.

    `count`, `cents` and `seen` are as the person saw them. Raises ListChanged if they are no longer true, so that two
    people who decide at once decide once. `second`: the confirmed request, if the study file wants a second person.
    """
    with transaction.atomic():
        lock(study)
        board = read_board(study)
        proposal = find_proposal(board, meaning, count, cents)
        rows = rows_of(board, meaning)
        if seen is not None and listed(board, amounts_of(rows)) != seen:
            raise ListChanged
        if proposal.moves_money and not instead:
            require_second(study, second)
        action = MEANINGS[meaning].instead if instead else proposal.action
        carry_out(study, action, rows, actor)
        detail = {"submissions": count, "cents": cents, "why": meaning}
        audit.record(study, actor, f"decided: {ACTIONS[action].lower()}", "", **detail)
    return count


def find_proposal(board: Board, meaning: str, count: int, cents: int) -> ProposedDecision:
    """The proposal that a person saw; raises ListChanged if it is no longer true."""
    proposal = next((each for each in propose(board) if each.meaning == meaning), None)
    if proposal is None or (proposal.count, proposal.cents) != (count, cents) or not proposal.can_decide:
        raise ListChanged
    return proposal


def lock(study: Study) -> None:
    """Allow one decision per study at a time. Participants never wait for this, unless they withdraw."""
    hold_withdrawals(study)
    second_person.lock(study.pk)


def carry_out(study: Study, action: str, rows: list[Pair], actor: str) -> None:
    found = [row.theirs for row in rows if row.theirs]
    if action == "mark_returned":
        for row in rows:
            mark_returned(Participant.objects.get(study=study, pseudonym=row.ours.pseudonym if row.ours else ""), actor)
    elif action == "drop":
        ids = [each.id for each in found]
        Payment.objects.filter(submission__in=ids, state=Paid.FAILED).update(state=Paid.DROPPED)
    elif action in ("again", "dismiss"):
        ids = [entry.id for each in found for entry in given_up(each)]
        waived = {"state": Paid.WAIVED}
        again = {"state": Paid.DECIDED, "decided_by": actor, "decided_at": timezone.now(), "settled_at": None}
        Payment.objects.filter(pk__in=ids, state=Paid.DROPPED).update(**again if action == "again" else waived)
    elif action == "book":
        amounts = [replace(each, reason="paid on Prolific, taken over") for each in amounts_of(rows)]
        record(found, amounts, Kind.BONUS, actor, is_paid=True)
    else:
        record(found, amounts_of(rows), action, actor)


def record(
    found: Iterable[Submission], amounts: list[Amount], kind: str, actor: str, is_paid: bool = False
) -> list[Payment]:
    """Write payments, each with the next number of its kind, so that the database refuses a second of the same."""
    last = {each.id: max((one.number for one in each.ledger if one.kind == kind), default=0) for each in found}
    now, more = timezone.now(), {}
    if is_paid:
        more = {"state": Paid.PAID, "sent_at": now, "settled_at": now}
    rows = [
        Payment(
            submission_id=amount.submission,
            kind=kind,
            number=last[amount.submission] + 1,
            cents=amount.cents,
            reason=amount.reason,
            decided_by=actor,
            decided_at=now,
            **more,
        )
        for amount in amounts
    ]
    return Payment.objects.bulk_create(rows)


def require_second(study: Study, second: TeamRequest | None) -> None:
    second_person.require(definition_of(study.current_id).second_person, TeamRequest.What.PAY, study, second)


def decide_amounts(
    study: Study, kind: str, amounts: list[Amount], actor: str, seen: Listed, second: TeamRequest | None = None
) -> int:
    """Decide bonuses or top-ups of any amount; return how many.

    `seen` is the list that the person saw. Raises ListChanged if somebody on it has got another payment since, so that
    a form sent twice pays once, and DecisionError if there is nobody to pay.
    """
    with transaction.atomic():
        lock(study)
        board = read_board(study)
        if board.is_erased:
            raise DecisionError("Nothing was decided: the Prolific ids were erased, so nobody can be paid any more.")
        theirs = {row.theirs.id: row.theirs for row in board.rows if row.theirs}
        if not amounts or any(amount.submission not in theirs or amount.cents <= 0 for amount in amounts):
            raise DecisionError("Nothing was decided: there is nobody to pay, or an amount is not above zero.")
        if listed(board, amounts) != seen:
            raise ListChanged
        require_second(study, second)
        record(theirs.values(), amounts, kind, actor)
        cents = sum(amount.cents for amount in amounts)
        reasons = sorted({amount.reason for amount in amounts})
        detail = {"submissions": len(amounts), "cents": cents, "why": reasons}
        audit.record(study, actor, f"decided: {Kind(kind).label.lower()}", "", **detail)
    return len(amounts)


# --- top-ups: pay that keeps the promise of an hour's pay, cell by cell -------
# Minutes are those from consent to the end, as on the monitor. Everyone who completed counts, including overflow and
# people stopped by technical trouble.

State = Participant.State
REASONS = {"cell": "the cell's median below the promise", "person": "own time longer than paid for"}


@dataclass
class CellPay(HourlyPay):
    """The people of a cell against the promises of their versions."""

    id: int | None = None

    @property
    def each(self) -> int:
        """Cents that the middle person lacks (of an even number the upper of the two), paid to all of the cell."""
        missing = sorted(worker.missing for worker in self.workers)
        return max(0, missing[len(missing) // 2]) if missing else 0

    def amounts(self, how: str) -> list[Amount]:
        """Payments by `cell`: the same to all, so that the median keeps the promise; by `person`: each one's lack."""
        alike = self.each if how == "cell" else None
        owed = ((worker.submission, worker.missing if alike is None else alike) for worker in self.workers)
        return [Amount(submission, cents, REASONS[how]) for submission, cents in owed if cents > 0]

    @property
    def options(self) -> list[tuple[str, int, int, int]]:
        """(how, people, cents, fee) of the ways that would cost something."""
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
    """Find each person once, with the submission that is approved, to be approved, or paid by a bonus instead."""
    for row in rows:
        ours, theirs = row.ours, row.theirs
        if not ours or not theirs or ours.state not in (State.COMPLETED, State.TECHNICAL) or ours.seconds is None:
            continue
        reward = theirs.reward if theirs.status in (*APPROVED, "AWAITING REVIEW") else 0
        received = reward + theirs.bonuses
        if received and row.counts and row.meaning not in ("other-person", "asked-to-return"):
            yield ours, Work(max(ours.seconds, 1.0) / 3600, received, promise_of(ours.version), theirs.id)
