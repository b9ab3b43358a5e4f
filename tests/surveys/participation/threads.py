"""Several people at the same moment, each in a thread with its own connection."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection, connections

PATIENCE = 20  # seconds
T = TypeVar("T")


def at_once(calls: list[Callable[[], Any]], patience: float = PATIENCE) -> list[Any]:
    """Run all calls at the same moment and return their results."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        gate.wait(patience)
        return run_and_close(call)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls, timeout=patience))


def beside(call: Callable[[], Any], pool: ThreadPoolExecutor) -> Future:
    """Start the call in another thread."""
    return pool.submit(run_and_close, call)


def giving_way(call: Callable[[], T]) -> T:
    """Run the call on a connection that is the one to give way if it meets another in the wrong order."""
    with connection.cursor() as cursor:
        cursor.execute("SET deadlock_timeout = '50ms'")
    return call()


def run_and_close(call: Callable[[], Any]) -> Any:
    try:
        return call()
    finally:
        connections.close_all()


def wait_until_somebody_waits() -> None:
    """Block until some connection waits for a lock."""
    for _ in range(PATIENCE * 100):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
        threading.Event().wait(0.01)
    raise AssertionError("Nobody waits for the lock.")
