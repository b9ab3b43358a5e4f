"""How far work of a study is that a worker does, for the page that waits for it; kept for a time only."""

import json
from contextlib import suppress
from typing import Any

import redis

from surveys.models import Study
from surveys.studies.access import connection

UNDER_WAY = 900  # seconds after which work that never began is asked for again
STOPPED = 180  # the same of work that had begun


def mark_of(study: Study, work: str) -> str:
    """Of the study alone: the worker and the page that waits for it may run other versions of the code."""
    return f"{work}:{study.pk}"


def progress_of(study: Study, work: str) -> tuple[int, int] | None:
    """Done and in all, as the worker says it; None where nobody has asked for it."""
    with suppress(redis.RedisError):
        if found := connection().get(mark_of(study, work)):
            done, total = json.loads(found)
            return done, total
    return None


def standing(study: Study, work: str) -> dict[str, Any]:
    """For a page: what `progress_of` says, and its share in thousandths."""
    done = progress_of(study, work)
    return {"under_way": done, "share": round(1000 * done[0] / max(1, done[1])) if done else 0}


def set_progress(study: Study, work: str, done: int, total: int) -> None:
    with suppress(redis.RedisError):
        connection().set(mark_of(study, work), json.dumps([done, total]), ex=STOPPED if done else UNDER_WAY)


def forget_progress(study: Study, work: str) -> None:
    with suppress(redis.RedisError):
        connection().delete(mark_of(study, work))
