"""Taking a look at hypotheses before the end: once, with its verdicts, into the audit trail."""

from django.db import transaction

from analysis.report.planned.answers import until_of
from analysis.report.planned.looks import ACTION, Standing, note_look, stand
from analysis.report.planned.part import decided, seen_by
from analysis.report.reports import Reporting
from surveys.console.wording import plural
from surveys.models import Study, locks


class LookError(Exception):
    """A look that cannot be taken; the message says why."""


def take_look(study: Study, at: int, actor: str) -> bool:
    """Look at the hypotheses of the `at` people who completed first; False where somebody has done so before.

    A look that the plan does not have spends alpha too, and is a deviation. Raises LookError.
    """
    data = Reporting(study).data
    with transaction.atomic():
        locks.hold(ACTION, study.pk)
        standing = stand(study, len(data.people))
        if at in {row["at"] for row in standing.taken}:
            return False
        check(standing, at)
        looked = standing.and_at(at, until_of(data, at))
        note_look(study, actor, ACTION, looked, decided(seen_by(data, looked), looked)[0])
    return True


def check(standing: Standing, at: int) -> None:
    if not standing.is_launched:
        raise LookError("The study is not launched: its plan is not frozen yet, and nothing is hidden.")
    if standing.is_over:
        raise LookError("The study is at its end: its hypotheses are shown, and there is nothing to look at before.")
    if not (standing.at or 0) < at <= standing.people:
        raise LookError(f"There is no look to take at {plural(at, 'person', 'people')}.")
    if standing.due and at != standing.due:
        raise LookError(f"Look {standing.number(standing.due)}, which is planned, comes first.")
