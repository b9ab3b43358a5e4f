"""Keeps a multiverse while it is computed, so that an interrupted one goes on where it stopped."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import redis
from django.db import transaction
from django.utils import timezone

from analysis.models import MetricValue
from analysis.report.filters import Filters
from analysis.report.multiverse.choices import Answers
from analysis.report.multiverse.universes import done_in, explore
from analysis.report.planned.looks import stand
from analysis.report.reports import Reporting, check_definition, fingerprint, stamp_of, tidy
from analysis.stats.resampling import DRAWS
from surveys.models import Study
from surveys.studies.access import connection
from surveys.studies.lifecycle import definition_of, hold_withdrawals, withdrawals
from surveys.studies.wording import plural

NAME, SEED = "multiverse", 0
EVERY = 5.0  # seconds between saves
UNDER_WAY = 300  # seconds after which one that never came may be asked for again
Progress = Callable[[int, int], None]


class MultiverseError(Exception):
    """A multiverse that cannot be computed; the message says why and what to do."""


def check(study: Study) -> None:
    """Raises MultiverseError if there are no hypotheses, or before the end, when each universe would be a look."""
    check_definition(study)
    if not definition_of(study.current_id).of_answers:
        raise MultiverseError(f"{study.slug} has no hypotheses. Write [[hypotheses]] in its study file and load it.")
    standing = stand(study)
    if standing.is_launched and not standing.is_over:
        raise MultiverseError(
            "Not before the end, since each universe would be a look: "
            f"{standing.people:,} of {plural(standing.planned, 'person', 'people')}."
        )


def fingerprint_of(study: Study) -> str:
    return fingerprint(Filters(), SEED, DRAWS, stamp_of(study))


def find_multiverse(study: Study) -> tuple[dict[str, Any] | None, bool]:
    """The multiverse of today's answers, or the last whole one while that is not whole; and whether it is today's."""
    row, is_today = find_kept(study)
    return row and row.value, is_today


def find_kept(study: Study) -> tuple[MetricValue | None, bool]:
    rows = list(MetricValue.objects.filter(study=study, name=NAME).order_by("-computed_at"))
    now = fingerprint_of(study) if rows else ""
    today = next((row for row in rows if row.fingerprint == now), None)
    older = next((row for row in rows if row.fingerprint != now and is_whole(row.value)), None)
    if today and (is_whole(today.value) or not older):
        return today, True
    return older, False


def is_whole(document: dict[str, Any]) -> bool:
    return bool(document["done"] == document["all"])


def progress_of(study: Study) -> tuple[int, int] | None:
    """How many universes of today's answers are done, and of how many; None if nobody computes them."""
    with suppress(redis.RedisError):
        if isinstance(found := connection().get(mark_of(study)), bytes):
            done, _, total = found.partition(b"/")
            return int(done), int(total or 0)
    return None


def mark_of(study: Study) -> str:
    return f"multiverse:{study.pk}"


def mark(study: Study, done: int = 0, total: int = 0, is_new: bool = False) -> bool:
    """Notes the progress; for a new one only if nobody computes it yet, else returns False. Raises RedisError."""
    return bool(connection().set(mark_of(study), f"{done}/{total}", ex=UNDER_WAY, nx=is_new))


def unmark(study: Study) -> None:
    with suppress(redis.RedisError):
        connection().delete(mark_of(study))


def keep_multiverse(
    study: Study, seconds: float = float("inf"), progress: Progress = lambda done, total: None
) -> dict[str, Any]:
    """Continues the multiverse of today's answers for about `seconds`. Raises MultiverseError."""
    check(study)
    Reporting(study).part("as_planned")  # notes that the end was reached and shown
    stamp, before = fingerprint_of(study), withdrawals(study)
    kept = MetricValue.objects.filter(study=study, name=NAME, fingerprint=stamp).first()
    began = saved = time.monotonic()
    document: dict[str, Any] = {}
    for document in explore(Answers(study), done_in(kept.value if kept else None), SEED, DRAWS):
        progress(document["done"], document["all"])
        with suppress(redis.RedisError):
            mark(study, document["done"], document["all"])
        now = time.monotonic()
        if is_whole(document) or now - saved > EVERY or now - began > seconds:
            save(study, stamp, document, now - began, before)
            saved = now
        if now - began > seconds:
            break
    return tidy(document)


def save(study: Study, stamp: str, document: dict[str, Any], seconds: float, before: int) -> None:
    with transaction.atomic():
        hold_withdrawals(study)
        if withdrawals(study) != before:  # it may hold answers withdrawn meanwhile
            raise MultiverseError("Somebody withdrew while it was computed. Start it again.")
        rows = MetricValue.objects.filter(study=study, name=NAME)
        new = {"value": tidy(document), "seconds": seconds, "computed_at": timezone.now()}
        rows.update_or_create(fingerprint=stamp, defaults=new, create_defaults=new | {"study": study, "name": NAME})
        if is_whole(document):
            rows.exclude(fingerprint=stamp).delete()
