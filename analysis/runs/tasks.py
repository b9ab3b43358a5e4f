"""Background tasks: lanes of runs, their replies, batches, and scheduled repeats. They carry ids instead of rows."""

import logging
import os
import socket
from contextlib import suppress
from typing import Any

import redis
from celery import current_app, shared_task
from celery.signals import worker_shutting_down
from django.conf import settings

from analysis.models import Corpus, Run
from analysis.people.steps import PeopleError, Whose, note_failure, recheck_order
from analysis.runs.asking.plans import order_asking
from analysis.runs.asking.replies import read_all_replies, read_replies
from analysis.runs.lanes import batches
from analysis.runs.lanes.lanes import LaneTaken, run_lane
from analysis.runs.lanes.runs import has_calls_to_send, needs_lane, open_runs, repeat_due

log = logging.getLogger(__name__)
QUEUED_SECONDS = 600  # after which a lane task that never began is taken for lost
BEGUN_SECONDS = 5  # within which a worker begins what it took from the queue
WANTED_SECONDS = 30 * 86400
STOP_SECONDS = 600


def valkey() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5)


def enqueue_lanes(run_id: int, number: int | None = None) -> int:
    """Queue those lanes of a run that are not waiting for a worker yet, and return how many.

    A run has one lane, unless `number` has set another, which holds from then on. Each lane has a place of its own,
    so that one queued twice works once.
    """
    with valkey() as store:
        if number is not None:
            store.set(f"lanes:wanted:{run_id}", number, ex=WANTED_SECONDS)
        wanted = int(store.get(f"lanes:wanted:{run_id}") or 1)
        places = [place for place in range(wanted) if mark_queued(store, run_id, place)]
    for place in places:
        lane.delay(run_id, place)
    return len(places)


def mark_queued(store: redis.Redis, run_id: int, place: int) -> bool:
    """Mark the lane as queued; False if it is already, unless a worker took it and ended before it began."""
    mark = queued(run_id, place)
    if store.set(mark, 1, nx=True, ex=QUEUED_SECONDS):
        return True
    waited = QUEUED_SECONDS - store.ttl(mark)
    is_lost = waited > BEGUN_SECONDS and not store.llen(current_app.conf.task_default_queue)
    return is_lost and bool(store.set(mark, 1, ex=QUEUED_SECONDS))


def queued(run_id: int, place: int) -> str:
    return f"lanes:queued:{run_id}:{place}"


@shared_task
def lane(run_id: int, place: int = 0) -> int:
    """Work for a bounded time, then queue a fresh lane: a long task would be delivered twice."""
    with valkey() as store:
        store.delete(queued(run_id, place))
    try:
        answered = run_lane(run_id, should_stop=worker_is_stopping, place=place)
    except LaneTaken:
        return 0
    if not worker_is_stopping() and has_calls_to_send(run_id):
        enqueue_lanes(run_id)
    read_replies(Run.objects.select_related("endpoint").get(pk=run_id))
    return answered


@shared_task
def watch_runs() -> int:
    """Give lanes to running runs that have none, as after a worker was killed."""
    return sum(enqueue_lanes(run.pk) for run in open_runs() if not run.batch and needs_lane(run))


@shared_task
def read_left_replies() -> int:
    """Read replies that a worker left unread when it ended."""
    return read_all_replies()


@shared_task
def work_batches() -> int:
    """Submit calls in batches, and read back those that are ready."""
    settled = 0
    for run in batches.runs_with_batches():
        try:
            settled += batches.work(run.pk)
        except Exception:  # one run's trouble stops no other
            log.exception("The batches of run %s are looked after again later.", run.pk)
    read_all_replies()
    return settled


@shared_task
def ask_step(corpus_id: int, name: str, settings: dict[str, Any], actor: str, whose: Whose = None) -> None:
    """Plan tasks about a corpus and hand them to lanes; why that failed is noted with the step."""
    corpus = Corpus.objects.get(pk=corpus_id)
    try:
        account, study = recheck_order(whose, corpus, settings) or (None, None)
        run = order_asking(corpus, name, settings, actor, account, study)
    except PeopleError as error:
        note_failure(corpus, name, str(error))
        return
    except Exception as error:
        note_failure(corpus, name, repr(error))
        raise
    if run and run.state == Run.State.RUNNING:
        work_batches.delay() if run.batch else enqueue_lanes(run.pk)


@shared_task
def repeat_runs() -> list[int]:
    """Start the repetitions that are due."""
    runs = repeat_due()
    for run in runs:
        if not run.batch:
            enqueue_lanes(run.pk)
    return [run.pk for run in runs]


def stop_mark(process: int) -> str:
    return f"lanes:stopping:{socket.gethostname()}:{process}"


@worker_shutting_down.connect
def tell_lanes_to_stop(**signal: object) -> None:
    """Tell lanes that their worker is shutting down: it waits for its tasks, and its children do not hear of it."""
    with valkey() as store:
        store.set(stop_mark(os.getpid()), 1, ex=STOP_SECONDS)


def worker_is_stopping() -> bool:
    """Whether the worker is shutting down; False while Valkey is away, so that the lane works on."""
    with suppress(redis.RedisError), valkey() as store:
        return any(store.exists(stop_mark(process)) for process in (os.getpid(), os.getppid()))
    return False
