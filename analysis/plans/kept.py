"""Stored plans: those simulated, the finished parts of one under way, and the plan frozen at the launch."""

import hashlib
import json
import time
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from celery import shared_task
from django.db import transaction
from django.db.models import Count, Max

from analysis.models import MetricValue
from analysis.plans.annotators.simulating import RaterSetting, plan_annotators
from analysis.plans.simulating import Cell, Setting, plan_study
from analysis.report.reports import code_version, tidy
from surveys.models import Annotation, Study
from surveys.studies import under_way
from surveys.studies.lifecycle import annotation_of, hold_withdrawals, lock_study, withdrawals
from surveys.studies.wording import join_words

NAME, CELL = "plan", "plan cell"
Row = dict[str, Any]


@cache
def plan_version() -> str:
    digest = hashlib.sha256(code_version().encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


plan_version()  # as in reports


def fingerprint_of(study: Study, *more: object) -> str:
    """SHA-256 of the study file, the code and all else that a result rests on."""
    assert study.current is not None
    text = json.dumps([study.current.sha256, plan_version(), *more], default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def has_annotators(study: Study) -> bool:
    return annotation_of(study) is not None


def usual_setting(study: Study) -> Setting | RaterSetting:
    return RaterSetting() if has_annotators(study) else Setting()


def fingerprint_of_plan(study: Study) -> str:
    setting = usual_setting(study)
    if isinstance(setting, RaterSetting):  # items, labels and decisions are only ever added
        items, pilot = study.annotation_items, Annotation.objects.filter(item__study=study, item__pilot=True)
        rests_on = [rows.aggregate(Max("pk")) for rows in (items, pilot, study.gate_decisions)]
        return fingerprint_of(study, setting, rests_on)
    piloted = study.participants.filter(pilot=True).aggregate(count=Count("pk"), last=Max("finished_at"))
    return fingerprint_of(study, setting, piloted)


def find_kept(study: Study) -> MetricValue | None:
    """The plan for today's study and analysis with the usual setting, if simulated."""
    return MetricValue.objects.filter(study=study, name=NAME, fingerprint=fingerprint_of_plan(study)).first()


def find_plan(study: Study) -> dict[str, Any] | None:
    row = find_kept(study)
    return row.value if row else None


def find_frozen(study: Study) -> MetricValue | None:
    """The last plan kept before the launch, of any version, so its rows must stay readable. A withdrawal from its pilot
    deletes it; any withdrawal deletes one of annotators, which is not shown as frozen.
    """
    if study.launched_at is None:
        return None
    rows = MetricValue.objects.filter(study=study, name=NAME, computed_at__lte=study.launched_at)
    return rows.order_by("computed_at").last()


class KeptCells:
    """Storage of each simulated scenario and size, from which an interrupted plan resumes. The key covers the scenario,
    and with it what was seen of a pilot or another study.
    """

    def __init__(self, study: Study, setting: Setting | RaterSetting) -> None:
        self.study, self.setting = study, setting.of_cell
        self.before = withdrawals(study)

    def _key(self, scenario: object, size: object) -> dict[str, Any]:
        fingerprint = fingerprint_of(self.study, self.setting, scenario, size)
        return {"study": self.study, "name": CELL, "fingerprint": fingerprint}

    def find(self, scenario: object, size: object) -> Cell | None:
        row = MetricValue.objects.filter(**self._key(scenario, size)).first()
        return row.value if row else None

    def keep(self, scenario: object, size: object, cell: Cell, seconds: float) -> None:
        given = {"value": tidy(cell), "seconds": seconds}
        with transaction.atomic():
            if self.hold():
                MetricValue.objects.update_or_create(**self._key(scenario, size), defaults=given)

    def hold(self) -> bool:
        """Block withdrawals until the transaction ends; return whether there was none since the simulation began, as
        nothing kept may rest on withdrawn answers.
        """
        hold_withdrawals(self.study)
        return withdrawals(self.study) == self.before

    def forget(self) -> None:
        MetricValue.objects.filter(study=self.study, name=CELL).delete()


def keep_plan(study: Study) -> None:
    """Simulate the plan and keep it under its fingerprint at the beginning, replacing plans not frozen; keep nothing if
    somebody withdrew meanwhile. Raises PlanError.
    """
    began, setting = time.monotonic(), usual_setting(study)
    cells, fingerprint = KeptCells(study, setting), fingerprint_of_plan(study)
    progress = partial(under_way.set_progress, study, NAME)
    try:
        if isinstance(setting, RaterSetting):
            value = tidy(plan_annotators(study, setting, progress, cells))
        else:
            value = tidy(plan_study(study, setting, progress, cells=cells))
    finally:
        under_way.forget_progress(study, NAME)
    given = {"value": value | {"analysis": plan_version()}, "seconds": time.monotonic() - began}
    with transaction.atomic():
        if cells.hold():
            cells.forget()
            rows = MetricValue.objects.filter(study=study, name=NAME)
            frozen = find_frozen(lock_study(study))  # it may have been launched meanwhile
            rows.exclude(pk__in=[frozen.pk] if frozen else []).delete()
            rows.get_or_create(study=study, name=NAME, fingerprint=fingerprint, defaults=given)


@shared_task(name="analysis.plans.tasks.simulate_plan")
def simulate_plan(study_id: int) -> None:
    keep_plan(Study.objects.select_related("current").get(pk=study_id))


def day(at: date) -> str:
    return f"{at:%-d %b %Y}"


def say_simulated(kept: MetricValue) -> str:
    analysis = kept.value["analysis"][:8] if "analysis" in kept.value else "of an earlier version"
    return f"Simulated on {day(kept.computed_at)} for version {kept.value['version']} by analysis {analysis}"


def say_changes(study: Study, frozen: MetricValue, at: datetime | None) -> str:
    assert study.current is not None and study.launched_at is not None
    changes = []
    if frozen.value["version_sha256"] != study.current.sha256:
        how = "was amended to" if study.current.amendment else "became"
        changes.append(f"the study {how} version {study.current.number} on {day(study.current.created_at)}")
    if frozen.value.get("analysis") != plan_version():
        changes.append(f"the analysis has changed to {plan_version()[:8]}")
    now = f"were simulated on {day(at)}" if at else "are not simulated yet"
    return (
        f"{say_simulated(frozen)}, frozen at the launch on {day(study.launched_at)}; since it was "
        f"simulated, {join_words(changes) or 'the pilot has changed'}; today’s numbers {now}."
    )
