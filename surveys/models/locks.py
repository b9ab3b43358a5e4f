"""PostgreSQL advisory locks, which hold across processes and hosts. A lock is a name and a number."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections
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


def hold(name: str, key: int, shared: bool = False) -> None:
    """Wait for the lock and keep it until the transaction ends. A shared lock excludes only exclusive ones."""
    _ask(HOLD_SHARED if shared else HOLD, name, key)


@contextmanager
def alone(name: str, key: int = 0, on: BaseDatabaseWrapper | None = None) -> Iterator[bool]:
    """Try to take the lock; yield whether it was free, and hold it meanwhile if so.

    It belongs to the connection `on`: it ends with the process, however that ends, but the same connection could take
    it twice.
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
