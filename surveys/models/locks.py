"""Concurrency: repeating rules that collided with another transaction, and PostgreSQL advisory locks.

Locks hold across processes and hosts. A lock is a name and a number.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import DatabaseError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

HOLD = "SELECT pg_advisory_xact_lock(hashtext(%s), %s)"
HOLD_SHARED = "SELECT pg_advisory_xact_lock_shared(hashtext(%s), %s)"
TRY = "SELECT pg_try_advisory_lock(hashtext(%s), %s)"
RELEASE = "SELECT pg_advisory_unlock(hashtext(%s), %s)"
HELD = """
SELECT EXISTS(
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND classid = hashtext(%(name)s)::oid AND objid = %(key)s::int::oid AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""
ATTEMPTS = 8
# PostgreSQL: a row that is referred to is gone, a row has come, could not serialize, deadlock, lock not available.
PASSING = ("23503", "23505", "40001", "40P01", "55P03")
T = TypeVar("T")


def hold(name: str, key: int, shared: bool = False) -> None:
    """Wait for the lock and keep it until the transaction ends. A shared lock excludes only exclusive ones."""
    _ask(HOLD_SHARED if shared else HOLD, name, key)


@contextmanager
def alone(name: str, key: int = 0, on: BaseDatabaseWrapper | None = None) -> Iterator[bool]:
    """Try to take the lock; yield whether it was free, and hold it meanwhile if so.

    It belongs to the connection `on`: it ends with the process, however that ends, but the same connection can take it
    twice.
    """
    is_mine = _ask(TRY, name, key, on)
    try:
        yield is_mine
    finally:
        if is_mine:
            _ask(RELEASE, name, key, on)


@contextmanager
def alone_in_process(name: str, key: int = 0) -> Iterator[bool]:
    """Like `alone`, but exclude other threads and callers of this process too."""
    beside = connections.create_connection("default")
    try:
        with alone(name, key, beside) as is_mine:
            yield is_mine
    finally:
        beside.close()


def is_held(name: str, key: int) -> bool:
    """Whether anybody holds the lock now; work marked `running` without it was cut off."""
    with connection.cursor() as cursor:
        cursor.execute(HELD, {"name": name, "key": key})
        return cursor.fetchone()[0]


def _ask(statement: str, name: str, key: int, on: BaseDatabaseWrapper | None = None) -> bool:
    with (on or connection).cursor() as cursor:
        cursor.execute(statement, [name, key])
        return cursor.fetchone()[0]


def again(rule: Callable[[], T], *also: type[Exception]) -> T:
    """Run a rule that is safe to repeat, anew if another connection made it fail, and return its result."""
    for attempt in range(1, ATTEMPTS):
        try:
            return rule()
        except (DatabaseError, *also) as fault:
            if isinstance(fault, DatabaseError) and not is_passing(fault):
                raise
            time.sleep(random.uniform(0, 0.01 * 2**attempt))
    return rule()


def is_passing(fault: DatabaseError) -> bool:
    """Whether the next attempt may succeed: a row was erased or made, or two transactions waited for each other."""
    met_no_row = type(fault) is DatabaseError  # of `update_fields`
    return met_no_row or getattr(fault.__cause__, "sqlstate", None) in PASSING
