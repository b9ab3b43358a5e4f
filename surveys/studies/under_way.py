"""Progress of a study's background work, for the page that waits for it; it expires."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import redis
from celery.exceptions import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from surveys.models import Study
from surveys.studies.access import connection

UNDER_WAY = 900  # seconds after which work that never began is requested again
STOPPED = 180  # the same for work that had begun


def mark_of(study: Study, work: str) -> str:
    """The key of a study's work; it names no version, since worker and page may run different code."""
    return f"{work}:{study.pk}"


def progress_of(study: Study, work: str) -> tuple[int, int] | None:
    """Steps done and in all, as reported by the worker; None if nobody has asked for the work."""
    with suppress(redis.RedisError):
        if found := connection().get(mark_of(study, work)):
            done, total = json.loads(found)
            return done, total
    return None


def standing(study: Study, work: str) -> dict[str, Any]:
    """Context of a page: `progress_of`, and its share in thousandths."""
    done = progress_of(study, work)
    return {"under_way": done, "share": round(1000 * done[0] / max(1, done[1])) if done else 0}


def show_progress(request: HttpRequest, study: Study, work: str, template: str) -> HttpResponse:
    """Show the progress; reload the page once the work has ended."""
    now = standing(study, work)
    if now["under_way"] is None:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, template, {"study": study, **now})


def leave_to_worker(study: Study, work: str, send: Callable[[], object], command: str, total: int = 0) -> str:
    """Enqueue the work by `send` unless it is under way; return why that failed, empty if it did not."""
    try:
        if connection().set(mark_of(study, work), json.dumps([0, total]), ex=UNDER_WAY, nx=True):
            send()
    except (OperationalError, redis.RedisError):
        forget_progress(study, work)
        return f"No worker can be reached. Start one, or run manage.py {command} on the server."
    return ""


def set_progress(study: Study, work: str, done: int, total: int) -> None:
    with suppress(redis.RedisError):
        connection().set(mark_of(study, work), json.dumps([done, total]), ex=STOPPED if done else UNDER_WAY)


def forget_progress(study: Study, work: str) -> None:
    with suppress(redis.RedisError):
        connection().delete(mark_of(study, work))
