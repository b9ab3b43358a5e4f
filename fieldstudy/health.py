"""/healthz: whether database, broker and worker answer and the tables are up to date."""

import time
from typing import Any

import psycopg
import redis
from celery import current_app
from celery.exceptions import OperationalError
from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fieldstudy.embedded.schema import pending_migrations
from surveys.studies.audit import head_of_all

# Seconds for which an answer is remembered: anybody may ask, and asking the worker is not free.
REMEMBERED = {"ok": 5.0, "does not answer": 1.0, "unknown": 1.0}
LONGEST = 4.0  # seconds of waiting for a connection: health checks give up sooner than pages
_worker_seen: tuple[float, str] = (0.0, "")


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while pages can be served and answers stored; a missing worker is reported, but stops neither."""
    database, pending = check_database()
    broker = check_broker()
    report = {
        "database": database,
        "broker": broker,
        "worker": check_worker() if broker == "ok" else "unknown",
        "pending_migrations": pending,
        "audit": check_audit() if database == "ok" else None,
    }
    healthy = database == broker == "ok" and pending == 0
    return JsonResponse({"ok": healthy, **report}, status=200 if healthy else 503)


def check_database() -> tuple[str, int | None]:
    try:
        if pool := connection.pool:
            pool.open()
            with pool.connection(timeout=LONGEST):
                pass
        return "ok", len(pending_migrations())
    except (Error, psycopg.Error):
        return "does not answer", None


def check_audit() -> dict[str, Any] | None:
    """How many events the audit trails of all studies have, and one hash over their ends."""
    try:
        return head_of_all()
    except Error:
        return None


def check_broker() -> str:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except (redis.RedisError, ValueError):
        return "does not answer"
    return "ok"


def check_worker() -> str:
    global _worker_seen
    at, answer = _worker_seen
    if not answer or time.monotonic() - at > REMEMBERED[answer]:
        answer = ask_worker()
        _worker_seen = (time.monotonic(), answer)
    return answer


def ask_worker() -> str:
    try:
        replies = current_app.control.broadcast("ping", reply=True, limit=1, timeout=1)
    except (OperationalError, OSError, redis.RedisError):  # the last after a restart of the broker
        return "unknown"
    return "ok" if replies else "does not answer"
