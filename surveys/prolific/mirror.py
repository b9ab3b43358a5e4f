"""The mirror: every submission as Prolific has it, read back into rows."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from surveys.models import Participant, Payment, ProlificStudy, Session, Study, Submission
from surveys.prolific.client import ProlificClient, ProlificError
from surveys.studies.exclusions import excluded_people
from surveys.studies.lifecycle import ERASED, definition_of, hold_withdrawals

BATCH = 1_000
COPIED = ("pid", "status", "started_at", "completed_at", "code", "reward", "bonus", "excluded", "seen_at")
LIVE = (Study.State.PILOT, Study.State.LIVE, Study.State.PAUSED)
OPEN = (Payment.State.SENDING, Payment.State.UNKNOWN, Payment.State.SENT)


def read_back(study: Study, client: ProlificClient) -> int:
    """Read every submission of the study from Prolific; returns how many there are.

    Raises ProlificError, which is kept with the study on Prolific so that the page can say it.
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
    """The studies on Prolific that the study file names, now or when they were read before."""
    named = definition_of(study.current_id).prolific_study_ids if study.current_id else ()
    known = ProlificStudy.objects.filter(study=study).values_list("prolific_id", flat=True)
    return list(dict.fromkeys([*named, *known]))


def claim(study: Study, prolific_id: str) -> ProlificStudy:
    """The row of a study on Prolific. Raises ProlificError when another study here has it: one pays, not two."""
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
    """Where the list says nothing of bonuses, those with a payment on its way are read one by one."""
    rows = list(found)
    silent = [row.submission_id for row in rows if row.bonus is None]
    asked = Payment.objects.filter(submission__submission_id__in=silent, state__in=OPEN)
    wanted = set(asked.values_list("submission__submission_id", flat=True)) if silent else set()
    return [client.submission(row.submission_id) if row.submission_id in wanted else row for row in rows]


def save_submissions(study: Study, remote: ProlificStudy, found: list[Submission], reward: int, at: datetime) -> None:
    """Write what Prolific says over what it said before. A PID is kept of people who are participants here."""
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
            rows, BATCH, update_conflicts=True, unique_fields=["submission_id"], update_fields=COPIED
        )
