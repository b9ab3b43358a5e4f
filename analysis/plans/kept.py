"""Simulated plans that are kept, and how far one under way is."""

import hashlib
import json
import time
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, Max

from analysis.models import MetricValue
from analysis.plans.simulating import Setting, plan_study
from analysis.report.reports import code_version, tidy
from surveys.models import Study

NAME = "plan"
UNDER_WAY = 900  # seconds after which one that never came is asked for again


def fingerprint_of(study: Study) -> str:
    assert study.current is not None
    piloted = study.participants.filter(pilot=True).aggregate(Count("pk"), Max("finished_at"))
    text = json.dumps([study.current.sha256, code_version(), repr(Setting()), piloted], default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def find_plan(study: Study) -> dict[str, Any] | None:
    """The plan of today's version with the usual setting, where it was simulated."""
    row = MetricValue.objects.filter(study=study, name=NAME, fingerprint=fingerprint_of(study)).first()
    return row.value if row else None


def mark_of(study: Study) -> str:
    return f"plan:{study.pk}:{fingerprint_of(study)}"


def progress_of(study: Study) -> tuple[int, int] | None:
    """Done and in all; None where nobody has asked for it."""
    found: tuple[int, int] | None = cache.get(mark_of(study))
    return found


def set_progress(study: Study, done: int, total: int) -> None:
    cache.set(mark_of(study), (done, total), UNDER_WAY)


def forget_progress(study: Study) -> None:
    cache.delete(mark_of(study))


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
