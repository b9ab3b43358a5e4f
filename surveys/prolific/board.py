"""Both sides of a study at once: every submission with the participant, its payments and what that means."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, FloatField, Func

from surveys.models import Participant, ProlificStudy, Session, Study
from surveys.prolific.meanings import APPROVED, BONUSES, MEANINGS, Kind, LedgerEntry, Ours, Paid, Theirs, meaning_of
from surveys.studies.lifecycle import ERASED, definition_of

# Prolific approves by itself what nobody has reviewed by then.
REVIEW_DAYS = 21
PAYING = (Kind.APPROVE, Kind.SCREEN_OUT, *BONUSES)
UNPAID = (Paid.FAILED, Paid.DROPPED, Paid.WAIVED)
RANKS = {"AWAITING REVIEW": 3, "ACTIVE": 2, "RESERVED": 2}
THEIRS = ("submission_id", "pid", "status", "code", "reward", "bonus", "excluded")
PAYMENTS = ("id", "kind", "number", "cents", "state", "reason")


class Seconds(Func):
    """A time or a span in seconds: a number is read many times faster than a date, and there are thousands."""

    template = "EXTRACT(EPOCH FROM %(expressions)s)::float8"
    output_field = FloatField()

    def get_db_converters(self, connection: BaseDatabaseWrapper) -> list:
        """None: the database's own numbers are floats already."""
        return []


PATHS = (
    *("prolific_id", "status", "currency", Seconds("read_at"), "fault", "submissions__id"),
    *(f"submissions__{name}" for name in THEIRS),
    Seconds("submissions__completed_at"),
    *(f"submissions__payments__{name}" for name in PAYMENTS),
)


@dataclass(frozen=True)
class Remote:
    """A study on Prolific as it was last read."""

    prolific_id: str
    status: str
    currency: str
    read_at: datetime | None
    fault: str


@dataclass(slots=True)
class Row:
    """One submission, or a session of which Prolific has none."""

    meaning: str
    ours: Ours | None
    theirs: Theirs | None
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
    remotes: list[Remote] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(row.meaning for row in self.rows)

    @cached_property
    def open(self) -> list[Row]:
        """Those that ask for something."""
        return [row for row in self.rows if not row.is_fine]

    @property
    def first_deadline(self) -> datetime | None:
        """When Prolific approves the first one by itself."""
        waiting = [row.theirs for row in self.rows if row.theirs and row.theirs.status == "AWAITING REVIEW"]
        first = min((theirs.completed for theirs in waiting if theirs.completed), default=None)
        return datetime.fromtimestamp(first, UTC) + timedelta(days=REVIEW_DAYS) if first else None


@dataclass(slots=True)
class BoardRow:
    ours: Ours
    origin: str
    began: float
    order: int


def read_board(study: Study) -> Board:
    """Two queries, however many submissions there are."""
    definition = definition_of(study.current_id)
    remotes, submissions = read_theirs(study)
    visits = read_visits(study)
    read_at = min((remote.read_at.timestamp() for remote in remotes if remote.read_at), default=None)
    chosen = choose(submissions, visits)
    no_data = [definition.codes.get(outcome, "") for outcome in ("no_consent", "withdrawn")]
    rows = []
    for theirs in submissions:
        visit = visits.get(theirs.submission_id)
        ours = visit.ours if visit else None
        has_other = ours is not None and chosen[ours.participant] != theirs.submission_id
        if theirs.submission_id.startswith(ERASED) or (visit and read_at and visit.began > read_at):
            meaning = "agree"  # nothing to compare any more, or not yet
        else:
            meaning = meaning_of(ours, theirs, has_other, definition.pay.screen_out_cents, no_data)
        rows.append(Row(meaning, ours, theirs, counts=not has_other))
    there = {theirs.submission_id for theirs in submissions}
    return Board(remotes, rows + list(find_unknown(visits, there, read_at)))


def read_theirs(study: Study) -> tuple[list[Remote], list[Theirs]]:
    remotes: dict[str, Remote] = {}
    submissions: dict[int, Theirs] = {}
    size = len(PATHS) - len(PAYMENTS)
    for row in ProlificStudy.objects.filter(study=study).order_by("pk", "submissions__pk").values_list(*PATHS):
        if row[0] not in remotes:
            read_at = datetime.fromtimestamp(row[3], UTC) if row[3] else None
            remotes[row[0]] = Remote(row[0], row[1], row[2], read_at, row[4])
        if row[5] is None:
            continue
        theirs = submissions.get(row[5])
        if theirs is None:
            theirs = submissions[row[5]] = Theirs(*row[5:size])
        if row[size] is not None:
            theirs.payments.append(LedgerEntry(*row[size:]))
    return list(remotes.values()), list(submissions.values())


def read_visits(study: Study) -> dict[str, BoardRow]:
    """By SESSION_ID, in the order in which they began."""
    person = ("pk", "pseudonym", "pid", "state", "code", "cell", "cell__name")
    took = Seconds(F("participant__finished_at") - F("participant__consented_at"))
    began = ("participant__origin", Seconds("first_seen_at"))
    paths = ("session_id", *(f"participant__{name}" for name in person), took, *began)
    found = Session.objects.filter(study=study).order_by("pk").values_list(*paths)
    return {row[0]: BoardRow(Ours(*row[1:9]), row[9], row[10], order) for order, row in enumerate(found)}


def choose(submissions: Iterable[Theirs], visits: dict[str, BoardRow]) -> dict[int, str]:
    """By participant the one submission that counts: paid, else to be reviewed, else the newest at work."""
    mine: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for theirs in submissions:
        if visit := visits.get(theirs.submission_id):
            mine[visit.ours.participant].append((rank(theirs), visit.order, theirs.submission_id))
    return {person: max(found)[2] for person, found in mine.items()}


def rank(theirs: Theirs) -> int:
    if theirs.status in APPROVED:
        return 4
    paid = any(each.kind in PAYING and each.state not in UNPAID for each in theirs.payments)
    return 4 if paid else RANKS.get(theirs.status, 1)


def find_unknown(visits: dict[str, BoardRow], there: set[str], read_at: float | None) -> Iterable[Row]:
    """Sessions of people from Prolific that began before the last reading and are not in it."""
    for session, visit in visits.items():
        is_ours = visit.origin == Participant.Origin.PROLIFIC and not session.startswith(ERASED)
        if is_ours and session not in there and read_at and visit.began < read_at:
            yield Row("unknown-there", visit.ours, None, session)
