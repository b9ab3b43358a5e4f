"""Transfer: reads every submission back into rows, sends decided payments once, and settles them by what shows.

`sending` is committed before a call leaves. A call without an answer, or a worker that died, leaves `unknown`, which
only reading back resolves. A bonus is sent only while Prolific shows exactly the bonuses in the ledger.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from surveys.models import Participant, Payment, ProlificStudy, Session, Study, Submission, locks
from surveys.prolific.client import ProlificClient, ProlificError, Refused, Unsure
from surveys.prolific.reconciliation import APPROVED, BONUSES, Kind, Paid
from surveys.studies import audit
from surveys.studies.exclusions import excluded_people
from surveys.studies.lifecycle import ERASED, definition_of, hold_withdrawals
from surveys.studies.wording import RaisedAs

# Prolific pays "in the following minutes"; a payment that does not show by then did not happen.
SHOWN_BY = timedelta(hours=1)
BATCH = 100  # payments of one call
ROWS = 1_000  # submissions of one statement
COPIED = ("pid", "status", "started_at", "completed_at", "code", "reward", "bonus", "excluded", "seen_at")
LIVE = (Study.State.PILOT, Study.State.LIVE, Study.State.PAUSED)
OPEN = (Paid.SENDING, Paid.UNKNOWN, Paid.SENT)
RETURN_REASON = "Your answers did not reach the end of our study. Please return your submission; write to us for help."

# --- reading back -------------------------------------------------------------


def read_back(study: Study, client: ProlificClient) -> int:
    """Read every submission of the study from Prolific; return how many there are.

    Raises ProlificError, which is kept with the study on Prolific so that the page can show it.
    """
    read = 0
    for prolific_id in prolific_ids(study):
        remote = claim(study, prolific_id)
        try:
            read += read_submissions(study, remote, client)
        except ProlificError as fault:
            ProlificStudy.objects.filter(pk=remote.pk).update(fault=str(fault)[:500])
            raise
    return read


def prolific_ids(study: Study) -> list[str]:
    """The studies on Prolific that the study file names, or that were read before."""
    named = definition_of(study.current_id).prolific_study_ids if study.current_id else ()
    known = ProlificStudy.objects.filter(study=study).values_list("prolific_id", flat=True)
    return list(dict.fromkeys([*named, *known]))


def claim(study: Study, prolific_id: str) -> ProlificStudy:
    """The row of a study on Prolific. Raises ProlificError if another study here pays it, or its ids were erased."""
    remote, _ = ProlificStudy.objects.get_or_create(prolific_id=prolific_id, defaults={"study": study})
    if remote.study_id != study.pk:
        raise ProlificError(f"The study {prolific_id} on Prolific is paid by another study here.")
    if remote.submissions.filter(submission_id__startswith=ERASED).exists():
        raise ProlificError("The Prolific ids of this study were erased, so nothing is read back.")
    return remote


def read_submissions(study: Study, remote: ProlificStudy, client: ProlificClient) -> int:
    began = timezone.now()
    theirs = client.study(remote.prolific_id)
    currency = definition_of(study.current_id).pay.currency
    if theirs.currency and theirs.currency != currency:
        raise ProlificError(f"Prolific pays in {theirs.currency}, the study file in {currency}. Nothing was read.")
    found = fill_bonuses(client.submissions(remote.prolific_id), client)
    save_submissions(study, remote, found, theirs.reward, began)
    ProlificStudy.objects.filter(pk=remote.pk).update(
        status=theirs.status,
        reward=theirs.reward,
        currency=theirs.currency,
        places=theirs.places,
        read_at=began,
        fault="",
    )
    return len(found)


def fill_bonuses(found: Iterable[Submission], client: ProlificClient) -> list[Submission]:
    """Read submissions one by one if the list does not tell their bonuses and a payment is on its way."""
    rows = list(found)
    silent = [row.submission_id for row in rows if row.bonus is None]
    asked = Payment.objects.filter(submission__submission_id__in=silent, state__in=OPEN)
    wanted = set(asked.values_list("submission__submission_id", flat=True))
    return [client.submission(row.submission_id) if row.submission_id in wanted else row for row in rows]


def save_submissions(study: Study, remote: ProlificStudy, found: list[Submission], reward: int, at: datetime) -> None:
    """Overwrite submissions with Prolific's current data; the PID is kept only of people who are participants here."""
    with transaction.atomic():
        hold_withdrawals(study)
        people = dict(Participant.objects.filter(study=study).values_list("pid", "pk"))
        sessions = dict(Session.objects.filter(study=study).values_list("session_id", "participant"))
        left_out = excluded_people(study)
        known = dict(remote.submissions.values_list("submission_id", "bonus"))
        rows = list({row.submission_id: row for row in found}.values())
        for row in rows:
            row.remote, row.seen_at = remote, at
            row.pid = row.pid if row.pid in people else ""
            row.reward = reward if row.reward is None else row.reward
            row.bonus = known.get(row.submission_id, 0) if row.bonus is None else row.bonus
            row.excluded = sessions.get(row.submission_id) in left_out
        Submission.objects.bulk_create(
            rows, ROWS, update_conflicts=True, unique_fields=["submission_id"], update_fields=COPIED
        )


# --- one turn -----------------------------------------------------------------


def pay_and_read_back(study: Study, client: ProlificClient) -> bool:
    """Read back, settle, send decided payments, and read back again. False if another process does so already."""
    with only_sender(study) as is_mine:
        if not is_mine:
            return False
        # An earlier sender held the lock. It is gone, and how far it came is unknown.
        unsure = Payment.objects.filter(of_study(study), state=Paid.SENDING)
        change(unsure, Paid.UNKNOWN, "the sender ended in the middle")
        read_back(study, client)
        settle(study)
        if send_decided(study, client):
            read_back(study, client)
            settle(study)
        return True


def only_sender(study: Study) -> AbstractContextManager[bool]:
    return locks.alone("prolific", study.pk)


def of_study(study: Study) -> Q:
    return Q(submission__remote__study=study)


def change(rows: QuerySet[Payment], state: str, note: str = "") -> int:
    settled = timezone.now() if state in (Paid.PAID, Paid.FAILED) else None
    return rows.update(state=state, note=note[:300], settled_at=settled)


def set_state(payments: Iterable[Payment], state: str, note: str = "") -> None:
    change(Payment.objects.filter(pk__in=[payment.pk for payment in payments]), state, note)


# --- settling -----------------------------------------------------------------


def settle(study: Study) -> None:
    """Resolve sent payments by what Prolific has shown since; send nothing."""
    sent = Payment.objects.filter(of_study(study), state__in=[Paid.SENT, Paid.UNKNOWN]).select_related("submission")
    booked = booked_bonuses(study)
    outcomes: Counter[str] = Counter()
    for payment in sent.order_by("pk"):
        submission = payment.submission
        if payment.sent_at is None or submission.seen_at <= payment.sent_at:
            continue  # not read since
        state, note = outcome_of(payment, submission, booked[submission.pk])
        if state:
            outcomes[state] += change(Payment.objects.filter(pk=payment.pk, state=payment.state), state, note)
        if state == Paid.PAID and payment.kind in BONUSES:
            booked[submission.pk] += payment.cents
    if outcomes:
        audit.record(study, audit.SYSTEM, "payments read back", outcomes=dict(outcomes))


def booked_bonuses(study: Study) -> Counter[int]:
    """Cents of bonuses that Prolific has shown, by submission."""
    paid = Payment.objects.filter(of_study(study), kind__in=BONUSES, state=Paid.PAID).order_by()
    return Counter(dict(paid.values_list("submission").annotate(cents=Sum("cents"))))


def outcome_of(payment: Payment, submission: Submission, booked: int) -> tuple[str, str]:
    """The resulting state of a payment, with a note; both empty while it is unknown."""
    is_unsure, is_late = payment.state == Paid.UNKNOWN, submission.seen_at > payment.sent_at + SHOWN_BY
    if payment.kind == Kind.ASK_RETURN:
        return (Paid.DECIDED if is_unsure else Paid.PAID), ""
    if payment.kind == Kind.APPROVE:
        if submission.status == "AWAITING REVIEW":  # approving again changes nothing
            return (Paid.DECIDED if is_unsure or is_late else ""), ""
        is_there = submission.status in APPROVED
        return (Paid.PAID, "") if is_there else (Paid.FAILED, f"Prolific shows {submission.status}.")
    if payment.kind == Kind.SCREEN_OUT:
        if submission.status == "SCREENED OUT":
            return Paid.PAID, ""
        return (Paid.FAILED, f"Prolific shows {submission.status}.") if is_late else ("", "")
    if submission.bonus >= booked + payment.cents:
        return Paid.PAID, ""
    return (Paid.FAILED, "Prolific does not show it an hour later.") if is_late else ("", "")


# --- sending ------------------------------------------------------------------

Call = Callable[[list[Payment]], None]


def send_decided(study: Study, client: ProlificClient) -> int:
    """Send all decided payments, one call after the other, as Prolific asks; return how many."""
    sent = 0
    for remote in ProlificStudy.objects.filter(study=study):
        for kind, call in calls(remote, client).items():
            kinds = BONUSES if kind == Kind.BONUS else (kind,)
            while payments := take_decided(remote, kinds):
                cents = sum(each.cents for each in payments)
                audit.record(study, audit.SYSTEM, "payments sent", kind=kind, submissions=len(payments), cents=cents)
                for batch in make_batches(payments):
                    send(batch, call)
                sent += len(payments)
    return sent


def calls(remote: ProlificStudy, client: ProlificClient) -> dict[str, Call]:
    study = remote.prolific_id

    def pay_bonuses(batch: list[Payment]) -> None:
        with RaisedAs(ProlificError, Unsure):  # preparing pays nobody
            prepared = client.prepare_bonus(study, {each.submission.submission_id: each.cents for each in batch})
        client.pay_bonus(prepared)

    def ask(batch: list[Payment]) -> None:
        for each in batch:
            client.ask_to_return(each.submission.submission_id, RETURN_REASON)

    return {
        Kind.APPROVE: lambda batch: client.approve(names(batch)),
        Kind.SCREEN_OUT: lambda batch: client.screen_out(study, names(batch), batch[0].cents),
        Kind.ASK_RETURN: ask,
        Kind.BONUS: pay_bonuses,
    }


def names(batch: Iterable[Payment]) -> list[str]:
    return [each.submission.submission_id for each in batch]


def make_batches(payments: list[Payment]) -> list[list[Payment]]:
    """Make batches of one call each: screen-outs by amount, requests to return one by one, others together."""
    if payments[0].kind == Kind.ASK_RETURN:
        return [[each] for each in payments]
    if payments[0].kind != Kind.SCREEN_OUT:
        return [payments]
    return [[each for each in payments if each.cents == cents] for cents in {each.cents for each in payments}]


def take_decided(remote: ProlificStudy, kinds: Sequence[str]) -> list[Payment]:
    """Take decided payments and commit them as `sending`; of bonuses one per submission with none on its way."""
    decided = Payment.objects.filter(submission__remote=remote, kind__in=kinds, state=Paid.DECIDED)
    if Kind.BONUS in kinds:
        refuse_unbooked(remote, decided)
        decided = decided.filter(pk__in=next_bonuses(remote, decided))
    with transaction.atomic(durable=True):
        rows = decided.select_for_update(skip_locked=True, of=("self",)).select_related("submission").order_by("pk")
        taken = list(rows[:BATCH])
        now = timezone.now()
        Payment.objects.filter(pk__in=[each.pk for each in taken]).update(state=Paid.SENDING, sent_at=now, note="")
    return taken


def next_bonuses(remote: ProlificStudy, decided: QuerySet[Payment]) -> list[int]:
    """The first decided bonus of each submission with none on its way, at most BATCH.

    Chosen here: one statement, which PostgreSQL plans badly while tables are newer than its statistics, took minutes
    for 800.
    """
    open_ones = Payment.objects.filter(submission__remote=remote, kind__in=BONUSES, state__in=OPEN)
    busy = set(open_ones.values_list("submission_id", flat=True))
    first: dict[int, int] = {}
    for pk, submission in decided.order_by("pk").values_list("pk", "submission_id"):
        first.setdefault(submission, pk)
    return [pk for submission, pk in first.items() if submission not in busy][:BATCH]


def refuse_unbooked(remote: ProlificStudy, decided: QuerySet[Payment]) -> None:
    """Fail bonuses if Prolific shows another sum than the ledger has: it may be this bonus, paid already."""
    booked = booked_bonuses(remote.study)
    for payment in decided.select_related("submission"):
        shown, known = payment.submission.bonus, booked[payment.submission_id]
        if shown != known:
            note = f"Prolific shows {shown / 100:.2f} of bonuses, the ledger has {known / 100:.2f}. Settle that first."
            change(Payment.objects.filter(pk=payment.pk, state=Paid.DECIDED), Paid.FAILED, note)


def send(batch: list[Payment], call: Call) -> None:
    """Make one call and record its outcome. A refused batch is sent in halves, down to the payments refused."""
    try:
        call(batch)
    except Unsure as fault:
        set_state(batch, Paid.UNKNOWN, str(fault))
    except Refused as refusal:
        if refusal.status in (401, 403):
            set_state(batch, Paid.DECIDED, str(refusal))
            raise
        if len(batch) == 1:
            set_state(batch, Paid.FAILED, str(refusal))
            return
        for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            send(half, call)
    except ProlificError as fault:
        set_state(batch, Paid.DECIDED, str(fault))
        raise
    else:
        set_state(batch, Paid.SENT)
