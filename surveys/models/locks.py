"""PostgreSQL's advisory locks: one at a time, over processes and hosts. A lock is a name and a number."""

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
    """Wait for the lock and keep it until the transaction ends. Holders of a shared one keep out only the others."""
    _ask(HOLD_SHARED if shared else HOLD, name, key)


@contextmanager
def alone(name: str, key: int = 0, on: BaseDatabaseWrapper | None = None) -> Iterator[bool]:
    """Whether nobody else has the lock; if so it is held meanwhile.

    It belongs to the connection `on`, so that it ends with the process, however that ends, and so that the same
    connection could take it twice.
    """
    is_mine = _ask(TRY, name, key, on)
    try:
        yield is_mine
    finally:
        if is_mine:
            _ask(RELEASE, name, key, on)


@contextmanager
def alone_in_process(name: str, key: int = 0) -> Iterator[bool]:
    """As `alone`, and another thread or caller of the same process does not get it either."""
    beside = connections.create_connection("default")
    try:
        with alone(name, key, beside) as is_mine:
            yield is_mine
    finally:
        beside.close()


def is_held(name: str, key: int) -> bool:
    """Whether somebody has it now: work that says `running` without it was ended in the middle."""
    with connection.cursor() as cursor:
        cursor.execute(HELD, {"name": name, "key": key})
        return cursor.fetchone()[0]


def _ask(statement: str, name: str, key: int, on: BaseDatabaseWrapper | None = None) -> bool:
    with (on or connection).cursor() as cursor:
        cursor.execute(statement, [name, key])
        return cursor.fetchone()[0]
