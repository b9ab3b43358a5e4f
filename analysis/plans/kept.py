"""Simulated plans that are kept, and how far one under way is."""

import hashlib
import json
import time
from typing import Any

from django.db import transaction
from django.db.models import Count, Max

from analysis.models import MetricValue
from analysis.plans.simulating import Setting, plan_study
from analysis.report.reports import code_version, tidy
from surveys.models import Study
from surveys.studies import under_way

NAME = "plan"


def fingerprint_of(study: Study) -> str:
    assert study.current is not None
    piloted = study.participants.filter(pilot=True).aggregate(Count("pk"), Max("finished_at"))
    text = json.dumps([study.current.sha256, code_version(), repr(Setting()), piloted], default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def find_plan(study: Study) -> dict[str, Any] | None:
    """The plan of today's version with the usual setting, where it was simulated."""
    row = MetricValue.objects.filter(study=study, name=NAME, fingerprint=fingerprint_of(study)).first()
    return row.value if row else None


def progress_of(study: Study) -> tuple[int, int] | None:
    """Done and in all, as the worker that simulates it says; None where nobody has asked for it."""
    return under_way.progress_of(study, NAME)


def set_progress(study: Study, done: int, total: int) -> None:
    under_way.set_progress(study, NAME, done, total)


def forget_progress(study: Study) -> None:
    under_way.forget_progress(study, NAME)


def keep_plan(study: Study) -> None:
    """Simulate it and keep it in place of an earlier one; raises PlanError."""
    began = time.monotonic()
    try:
        value = tidy(plan_study(study, Setting(), lambda done, total: set_progress(study, done, total)))
    finally:
        forget_progress(study)
    with transaction.atomic():
        MetricValue.objects.filter(study=study, name=NAME).delete()
        MetricValue.objects.create(
            study=study,
            name=NAME,
            fingerprint=fingerprint_of(study),
            value=value,
            seconds=time.monotonic() - began,
        )
