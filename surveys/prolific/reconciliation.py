"""Reconciliation: each submission with its participant and payments, and what that means, with one action each."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import FloatField, Func

from surveys.models import Participant, Payment, ProlificStudy, Session, Study, Submission
from surveys.studies.lifecycle import ERASED, definition_of

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


# --- both sides of a study at once

REVIEW_DAYS = 21  # after which Prolific itself approves unreviewed submissions
PAYING = (Kind.APPROVE, Kind.SCREEN_OUT, *BONUSES)
UNPAID = Payment.UNPAID
RANKS = {"AWAITING REVIEW": 3, "ACTIVE": 2, "RESERVED": 2}


class Seconds(Func):
    """A time in seconds: there are thousands, and numbers are read many times faster than dates."""

    template = "EXTRACT(EPOCH FROM %(expressions)s)::float8"
    output_field = FloatField()

    def get_db_converters(self, connection: BaseDatabaseWrapper) -> list:
        """No converters: the database's own numbers are floats already."""
        return []


THERE = ("prolific_id", "status", "currency", "read_at", "fault")
THEIRS = ("id", "submission_id", "pid", "status", "code", "reward", "bonus", "excluded", "completed_at")
PAYMENTS = ("id", "kind", "number", "cents", "state", "reason")
PATHS = (*THERE, *(f"submissions__{name}" for name in THEIRS), *(f"submissions__payments__{name}" for name in PAYMENTS))


@dataclass(slots=True)
class Pair:
    """A submission with the person who came by it, or a session for which Prolific has no submission."""

    meaning: str
    ours: Ours | None
    theirs: Submission | None
    session: str = ""
    counts: bool = True  # whether the person is paid with this submission

    @property
    def is_fine(self) -> bool:
        return MEANINGS[self.meaning].is_fine

    @property
    def name(self) -> str:
        return self.theirs.submission_id if self.theirs else self.session


@dataclass
class Board:
    remotes: list[ProlificStudy] = field(default_factory=list)
    rows: list[Pair] = field(default_factory=list)

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(row.meaning for row in self.rows)

    @cached_property
    def open(self) -> list[Pair]:
        """The pairs that need an action."""
        return [row for row in self.rows if not row.is_fine]

    @property
    def is_erased(self) -> bool:
        """Whether the ids of submissions were erased, after which Prolific knows none of them."""
        return any(row.theirs and row.theirs.submission_id.startswith(ERASED) for row in self.rows)

    @property
    def first_deadline(self) -> datetime | None:
        """The time at which Prolific approves the first submission by itself; None if none awaits review."""
        found = (row.theirs for row in self.rows if row.theirs and row.theirs.status == "AWAITING REVIEW")
        first = min((theirs.completed_at for theirs in found if theirs.completed_at), default=None)
        return first + timedelta(days=REVIEW_DAYS) if first else None


def read_board(study: Study) -> Board:
    """Read both sides, in as many queries however many submissions there are."""
    remotes, submissions = read_theirs(study)
    visits = read_sessions(study)
    read_at = min((remote.read_at.timestamp() for remote in remotes if remote.read_at), default=None)
    chosen = choose(submissions, visits)
    no_data = codes_without_data(study)
    rows = []
    for theirs in submissions:
        ours = visits.get(theirs.submission_id)
        has_other = ours is not None and chosen[ours.participant, ours.sitting] != theirs.submission_id
        if theirs.submission_id.startswith(ERASED) or (ours and read_at and ours.began > read_at):
            meaning = "agree"  # nothing to compare any more, or not yet
        else:
            meaning = meaning_of(ours, theirs, has_other, screen_out_of(ours), no_data)
        rows.append(Pair(meaning, ours, theirs, counts=not has_other))
    there = {theirs.submission_id for theirs in submissions}
    return Board(remotes, rows + list(find_unknown(visits, there, read_at)))


def codes_without_data(study: Study) -> set[str]:
    """The codes given to people of whom nothing is kept, in every version that people can have seen."""
    versions = study.versions.filter(frozen_at__isnull=False).values_list("pk", flat=True)
    codes = [definition_of(version).codes for version in versions]
    return {each.get(outcome, "") for each in codes for outcome in ("no_consent", "withdrawn")}


def screen_out_of(ours: Ours | None) -> int:
    """Cents that the person's version promises for a screen-out."""
    return definition_of(ours.version).pay.screen_out_cents if ours else 0


def read_theirs(study: Study) -> tuple[list[ProlificStudy], list[Submission]]:
    """Read Prolific's side in one statement, so that all of it is of one moment; only the named fields are filled."""
    remotes: dict[str, ProlificStudy] = {}
    submissions: dict[int, Submission] = {}
    for row in ProlificStudy.objects.filter(study=study).order_by("pk", "submissions__pk").values_list(*PATHS):
        there, theirs, payment = row[: len(THERE)], row[len(THERE) : -len(PAYMENTS)], row[-len(PAYMENTS) :]
        if there[0] not in remotes:
            remotes[there[0]] = ProlificStudy(**dict(zip(THERE, there, strict=True)))
        if theirs[0] is None:
            continue
        if theirs[0] not in submissions:
            submissions[theirs[0]] = Submission(**dict(zip(THEIRS, theirs, strict=True)))
            submissions[theirs[0]].ledger = []
        if payment[0] is not None:
            submissions[theirs[0]].ledger.append(Payment(**dict(zip(PAYMENTS, payment, strict=True))))
    return list(remotes.values()), list(submissions.values())


def read_sessions(study: Study) -> dict[str, Ours]:
    """Read our side by SESSION_ID, in the order in which the sessions began.

    An annotator is paid for each sitting. All but the last were completed, at a time that is not kept.
    """
    person = ("pk", "pseudonym", "pid", "state", "code", "cell", "cell__name", "version", "origin")
    times = (Seconds(name) for name in ("participant__consented_at", "participant__finished_at", "first_seen_at"))
    paths = ("rule", "session_id", *(f"participant__{name}" for name in person), *times)
    rows = Session.objects.filter(study=study).order_by("pk").values_list(*paths)
    found: dict[str, Ours] = {}
    sittings: Counter[int] = Counter()
    begun: dict[int, float] = {}
    for order, (rule, session, *known, consented, finished, seen) in enumerate(rows):
        mine = known[0]
        if rule == Session.Rule.SITTING:
            sittings[mine] += 1
            begun[mine] = seen
        took = finished - begun.get(mine, consented) if finished else None
        facts = [order, *known, took, seen, sittings[mine]]
        found[session] = Ours(*facts)
    for ours in found.values():
        if ours.sitting < sittings[ours.participant]:
            ours.state, ours.seconds = Participant.State.COMPLETED, None
            ours.code = definition_of(ours.version).codes["completed"]
    return found


def choose(submissions: Iterable[Submission], visits: dict[str, Ours]) -> dict[tuple[int, int], str]:
    """The submission that counts, by participant and sitting: paid, else to be reviewed, else active; the newest."""
    mine: dict[tuple[int, int], list[tuple[int, int, str]]] = defaultdict(list)
    for theirs in submissions:
        if ours := visits.get(theirs.submission_id):
            mine[ours.participant, ours.sitting].append((rank(theirs), ours.order, theirs.submission_id))
    return {sitting: max(found)[2] for sitting, found in mine.items()}


def rank(theirs: Submission) -> int:
    if theirs.status in APPROVED:
        return 4
    paid = any(each.kind in PAYING and each.state not in UNPAID for each in theirs.ledger)
    return 4 if paid else RANKS.get(theirs.status, 1)


def find_unknown(visits: dict[str, Ours], there: set[str], read_at: float | None) -> Iterable[Pair]:
    """Find sessions of people from Prolific that began before the last reading and are not in it."""
    for session, ours in visits.items():
        is_theirs = ours.origin == Participant.Origin.PROLIFIC and not session.startswith(ERASED)
        if is_theirs and session not in there and read_at and ours.began < read_at:
            yield Pair("unknown-there", ours, None, session)
