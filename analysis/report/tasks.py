"""Background work: parts of a report, and the multiverse."""

from collections.abc import Sequence

import redis
from celery import shared_task
from django.conf import settings
from django.http import QueryDict

from analysis.report.filters import Filters
from analysis.report.multiverse.universes import WORK, MultiverseError, is_whole, keep_multiverse
from analysis.report.reports import ReportError, Reporting, compute_parts
from analysis.stats.resampling import DRAWS
from surveys.models import Study
from surveys.studies.under_way import forget_progress

REPORT_SECONDS = 180  # after which a part that never came may be requested again
MULTIVERSE_SECONDS = 1200  # after which another task continues, long before the broker redelivers this one


def enqueue_report(study_id: int, query: str, parts: Sequence[str], fingerprint: str, *draws: int) -> list[str]:
    """Have a worker compute the parts of a view not requested yet, in this order; return these parts.

    `draws`: seed and number of random draws, if not the defaults.
    """
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5) as store:
        marks = {part: f"report:{study_id}:{fingerprint}:{part}" for part in parts}
        new = [part for part, mark in marks.items() if store.set(mark, 1, nx=True, ex=REPORT_SECONDS)]
    if new:
        compute_report.delay(study_id, query, new, *draws)
    return new


@shared_task
def compute_report(study_id: int, query: str, parts: list[str], seed: int = 0, draws: int = DRAWS) -> int:
    """Compute these parts for the filters of a query string, loading the answers once."""
    study = Study.objects.select_related("current").get(pk=study_id)
    reporting = Reporting(study, Filters.from_query(QueryDict(query)), seed, draws)
    return len(dict(compute_parts(dict.fromkeys(parts, reporting))))


@shared_task
def compute_multiverse(study_id: int) -> None:
    study = Study.objects.select_related("current").get(pk=study_id)
    try:
        if is_whole(keep_multiverse(study, MULTIVERSE_SECONDS)):
            forget_progress(study, WORK)
        else:
            compute_multiverse.delay(study_id)
    except (MultiverseError, ReportError):  # the page says why
        forget_progress(study, WORK)
