"""Both sides of a study at once: every submission with the participant, its payments and their meaning."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import FloatField, Func

from surveys.models import Participant, Payment, ProlificStudy, Session, Study, Submission
from surveys.prolific.reconciliation import APPROVED, BONUSES, MEANINGS, Kind, Ours, meaning_of
from surveys.studies.lifecycle import ERASED, definition_of

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
