"""Reconciliation: the meaning of every combination of a submission and a participant, with one action each."""

from collections.abc import Iterable
from dataclasses import dataclass

from surveys.models import Participant, Payment, Submission

State, Kind, Paid = Participant.State, Payment.Kind, Payment.State
WORKING = (State.SCREENING, State.ACTIVE, State.TIMED_OUT)
STATUSES = {
    *("RESERVED", "ACTIVE", "TIMED-OUT", "AWAITING REVIEW", "APPROVED", "RETURNED", "REJECTED"),
    *("SCREENED OUT", "PARTIALLY APPROVED"),
}
APPROVED = ("APPROVED", "PARTIALLY APPROVED")
BONUSES = Payment.BONUSES


@dataclass(frozen=True)
class Meaning:
    """A state of both sides; `action` is a kind of payment, another of ACTIONS or empty, `instead` its alternative."""

    label: str
    says: str
    action: str = ""
    is_fine: bool = False
    instead: str = ""


ACTIONS = {
    Kind.APPROVE: "Approve",
    Kind.ASK_RETURN: "Ask to return",
    Kind.SCREEN_OUT: "Pay the screen-out",
    Kind.BONUS: "Pay the reward as a bonus",
    "mark_returned": "Mark as returned here",
    "book": "Take into the ledger",
    "drop": "Propose it anew",
    "again": "Pay it once more",
    "dismiss": "Dismiss",
    "read": "Read back now",
    "look": "Look at the participant",
    "support": "Settle on Prolific",
}
MEANINGS = {
    # To decide.
    "to-approve": Meaning("Completed here, awaiting review there", "The work is done and is to be paid.", Kind.APPROVE),
    "other-code": Meaning(
        "Completed here, another code there",
        "They completed the study; a code that was mistyped or left out takes nothing from that.",
        Kind.APPROVE,
    ),
    "technical": Meaning(
        "Technical trouble here, awaiting review there", "What does not work is not their fault.", Kind.APPROVE
    ),
    "screened-out": Meaning(
        "Screened out or over quota here, awaiting review there",
        "The study file promises something for their time.",
        Kind.SCREEN_OUT,
    ),
    "screened-out-unpaid": Meaning(
        "Screened out or over quota here, awaiting review there; nothing promised",
        "The study file names no pay for a screen-out.",
        Kind.ASK_RETURN,
    ),
    "misunderstood": Meaning(
        f"{State.MISUNDERSTOOD.label}, awaiting review there", "Never a reason to reject.", Kind.ASK_RETURN
    ),
    "returned-here": Meaning("Returned here, awaiting review there", "They stopped.", Kind.ASK_RETURN),
    "no-data": Meaning(
        "No consent or withdrawn, awaiting review there", "Nothing of them is kept here.", Kind.ASK_RETURN
    ),
    "second-submission": Meaning(
        "Second submission of one person", "The other one counts; nobody is paid twice.", Kind.ASK_RETURN
    ),
    "returned-after-completing": Meaning(
        "Completed here, returned there", "The work is done, and a return pays nothing.", Kind.BONUS
    ),
    "timed-out-after-completing": Meaning(
        "Completed here, timed out there", "The work is done, and a time-out pays nothing.", Kind.BONUS
    ),
    "returned-there": Meaning(
        "Returned there, still working here", "Their place can be given to somebody else.", "mark_returned"
    ),
    # To look into.
    "working-here": Meaning(
        "Awaiting review there, not finished here", "They entered a code before the end, or lost the page.", "look"
    ),
    "unknown-here": Meaning(
        "Awaiting review or approved there, never came here", "Nobody with this submission agreed here.", "support"
    ),
    "approved-unfinished": Meaning("Approved there, not completed here", "Paid without having finished.", "look"),
    "screened-out-there": Meaning(
        "Screened out there, completed here", "The difference to the reward is owed.", "support"
    ),
    "rejected": Meaning("Rejected there", "Nothing here is a reason to reject; it can be reversed.", "support"),
    "approved-twice": Meaning("Two submissions of one person approved", "Paid twice.", "support"),
    "other-person": Meaning(
        "Submission of one person, session of another", "Somebody came with an id that is not theirs.", "look"
    ),
    "unknown-there": Meaning(
        "Session here, no such submission there", "The ids were made up, or belong to another study.", "look"
    ),
    "unknown-status": Meaning("A status that is not known here", "Prolific has a new word.", "support"),
    # Money.
    "payment-unknown": Meaning("Sent without an answer", "It may have been paid; nothing is sent again.", "read"),
    "payment-failed": Meaning("Not done", "Prolific refused, or does not show it.", "drop"),
    "bonus-again": Meaning(
        "Bonus that was not done, proposed anew",
        "Nothing else would propose it, and somebody may wait for it.",
        "again",
        instead="dismiss",
    ),
    "bonus-unbooked": Meaning(
        "Bonus there, not in the ledger", "Paid on Prolific's own pages, or by another programme.", "book"
    ),
    "bonus-missing": Meaning("Bonus in the ledger, not there", "It showed before and no longer does.", "support"),
    "on-its-way": Meaning("Decided, on its way", "Sent in the background, then read back.", is_fine=True),
    # Both sides agree, or differ for a moment.
    "agree": Meaning("Both sides agree", "Nothing to do.", is_fine=True),
    "approved-excluded": Meaning(
        "Approved, left out by a rule", "Paid for the work; who is left out of the analysis is paid too.", is_fine=True
    ),
    "asked-to-return": Meaning("Asked to return", "Waits for the participant.", is_fine=True),
    "ended-here": Meaning(
        "Ended here, still working there", "They have not entered their code yet, and may.", is_fine=True
    ),
    "timed-out-there": Meaning(
        "Timed out there, working here", "They may still finish, and are paid when they do.", is_fine=True
    ),
}


@dataclass(slots=True)
class Ours:
    """Our data on the person who came with a submission's id; `order` counts the study's sessions."""

    order: int
    participant: int
    pseudonym: str
    pid: str
    state: str
    code: str
    cell: int | None
    cell_name: str | None
    version: int
    origin: str
    seconds: float | None  # from consent, or the beginning of a further sitting, to the end
    began: float  # when the session began, in seconds
    sitting: int = 0  # of an annotator, from 0

    @property
    def state_name(self) -> str:
        return State(self.state).label


def booked(theirs: Submission) -> int:
    """Cents of bonuses that were read back as paid."""
    return sum(entry.cents for entry in theirs.ledger if entry.kind in BONUSES and entry.state == Paid.PAID)


def given_up(theirs: Submission) -> list[Payment]:
    """Bonuses given by hand that were not done; the others are proposed anew by a meaning or the promise."""
    return [
        entry
        for entry in theirs.ledger
        if entry.kind == Kind.BONUS and entry.state == Paid.DROPPED and entry.reason not in MEANINGS
    ]


def meaning_of(ours: Ours | None, theirs: Submission, has_other: bool, screen_out: int, no_data: Iterable[str]) -> str:
    """The key of MEANINGS; a bonus to be proposed anew waits until nothing else is to be done.

    `has_other`: whether another submission of the same person counts instead. `screen_out`: cents that the person's
    version pays for a screen-out. `no_data`: codes of people of whom nothing is kept.
    """
    found = compare(ours, theirs, has_other, screen_out, no_data)
    return "bonus-again" if given_up(theirs) and MEANINGS[found].is_fine and found != "on-its-way" else found


def compare(ours: Ours | None, theirs: Submission, has_other: bool, screen_out: int, no_data: Iterable[str]) -> str:
    """The key of MEANINGS without regard to bonuses proposed anew."""
    if theirs.status not in STATUSES:
        return "unknown-status"
    if money := meaning_of_money(theirs):
        return money
    if ours is None:
        return meaning_if_unknown(theirs, no_data)
    if ours.pid != theirs.pid:
        return "other-person"
    if theirs.status == "AWAITING REVIEW":
        if theirs.done(Kind.ASK_RETURN):
            return "asked-to-return"
        return "second-submission" if has_other else meaning_if_awaiting(ours, theirs, screen_out)
    if theirs.status in APPROVED:
        return "approved-twice" if has_other else meaning_if_approved(ours, theirs)
    if has_other and theirs.status != "REJECTED":
        return "agree"
    return meaning_of_rest(ours, theirs)


def meaning_of_money(theirs: Submission) -> str:
    if not theirs.ledger and not theirs.bonus:
        return ""
    if theirs.is_any(Paid.UNKNOWN):
        return "payment-unknown"
    if theirs.is_any(Paid.FAILED):
        return "payment-failed"
    if theirs.is_any(Paid.DECIDED, Paid.SENDING, Paid.SENT):
        return "on-its-way"
    if theirs.bonus != booked(theirs):
        return "bonus-unbooked" if theirs.bonus > booked(theirs) else "bonus-missing"
    return ""


def meaning_if_unknown(theirs: Submission, no_data: Iterable[str]) -> str:
    if theirs.done(Kind.ASK_RETURN) and theirs.status == "AWAITING REVIEW":
        return "asked-to-return"
    if theirs.status == "AWAITING REVIEW":
        return "no-data" if theirs.code in no_data else "unknown-here"
    if theirs.status in APPROVED:
        return "agree" if theirs.code in no_data else "unknown-here"
    return "rejected" if theirs.status == "REJECTED" else "agree"


def meaning_if_awaiting(ours: Ours, theirs: Submission, screen_out: int) -> str:
    if ours.state == State.COMPLETED:
        return "to-approve" if theirs.code == ours.code else "other-code"
    if ours.state in (State.SCREENED_OUT, State.OVER_QUOTA):
        return "screened-out" if screen_out else "screened-out-unpaid"
    named = {State.TECHNICAL: "technical", State.MISUNDERSTOOD: "misunderstood", State.RETURNED: "returned-here"}
    return named.get(State(ours.state), "working-here")


def meaning_if_approved(ours: Ours, theirs: Submission) -> str:
    if ours.state == State.COMPLETED:
        return "approved-excluded" if theirs.excluded else "agree"
    return "agree" if ours.state == State.TECHNICAL else "approved-unfinished"


def meaning_of_rest(ours: Ours, theirs: Submission) -> str:
    status, completed, working = theirs.status, ours.state == State.COMPLETED, ours.state in WORKING
    if status == "REJECTED":
        return "rejected"
    if status == "SCREENED OUT":
        return "screened-out-there" if completed else "agree"
    if status in Submission.UNREWARDED and completed:
        return "agree" if theirs.done(Kind.BONUS, Kind.APPROVE) else f"{status.lower()}-after-completing"
    if status == "RETURNED":
        return "returned-there" if working else "agree"
    if status == "TIMED-OUT":
        return "timed-out-there" if working else "agree"
    return "agree" if working else "ended-here"
