"""Computed parts, kept by what they were computed from: found again, computed once, and old ones thrown away."""

import time
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from analysis.models import MetricValue
from surveys.models import Study

MOST_KEPT = 500  # of one study: parts × views that somebody has looked at


def find_part(study: Study, name: str, fingerprint: str) -> MetricValue | None:
    return MetricValue.objects.filter(study=study, name=name, fingerprint=fingerprint).first()


def keep_part(study: Study, name: str, fingerprint: str, compute: Callable[[], Any]) -> MetricValue:
    """The part of this name and fingerprint. Who asks while somebody else computes it waits for that."""
    if found := find_part(study, name, fingerprint):
        return found
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s), %s)", [f"report {name}", study.pk])
        if found := find_part(study, name, fingerprint):
            return found
        began = time.monotonic()
        value = compute()
        kept = MetricValue.objects.create(
            study=study, name=name, fingerprint=fingerprint, value=value, seconds=time.monotonic() - began
        )
        discard_old(kept)
    return kept


def discard_old(kept: MetricValue) -> None:
    """What the same part was before, and beyond MOST_KEPT what was computed longest ago."""
    rows = MetricValue.objects.filter(study=kept.study_id)
    rows.filter(name=kept.name).exclude(pk=kept.pk).delete()
    oldest = rows.order_by("-computed_at", "-pk").values_list("pk", flat=True)[MOST_KEPT:]
    rows.filter(pk__in=list(oldest)).delete()
