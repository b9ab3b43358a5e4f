"""Taking a look at hypotheses before the end: once, with its verdicts, into the audit trail."""

from typing import Any

from django.db import transaction

from analysis.report.planned.looks import ACTION, Standing, spent_by, stand
from analysis.report.planned.part import decided
from analysis.report.reports import Reporting
from surveys.console.wording import plural
from surveys.models import Study, locks
from surveys.studies import audit


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
        looked = standing.and_at(at)
        rows, _ = decided(data, looked)
        which = standing.number(at) if at in standing.looks else ""
        audit.record(
            study,
            actor,
            ACTION,
            f"look {which}" if which else "not planned",
            look=which,
            at=at,
            people=standing.people,
            alpha={str(row["family"]): alpha_of(looked, row["alpha"]) for row in rows},
            verdicts=[{name: row[name] for name in ("hypothesis", "prompts", "verdict")} for row in rows],
        )
    return True


def alpha_of(standing: Standing, alpha: float) -> dict[str, Any]:
    """Of a family: its alpha, what is spent of it so far, and the p from which on a hypothesis alone passes here."""
    spent, level = spent_by(standing, alpha), standing.level(alpha)
    return {"alpha": alpha, "spent": float(f"{spent:.6g}"), "level": float(f"{level:.6g}")}


def check(standing: Standing, at: int) -> None:
    if not standing.is_launched:
        raise LookError("The study is not launched: its plan is not frozen yet, and nothing is hidden.")
    if standing.is_over:
        raise LookError("The study is at its end: its hypotheses are shown, and there is nothing to look at before.")
    if not (standing.at or 0) < at <= standing.people:
        raise LookError(f"There is no look to take at {plural(at, 'person', 'people')}.")
    if standing.due and at != standing.due:
        raise LookError(f"Look {standing.number(standing.due)}, which is planned, comes first.")
