"""Several people at the same moment, each in a thread with a connection of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connection, connections

PATIENCE = 20  # seconds


def at_once(calls: list[Callable[[], Any]], patience: float = PATIENCE) -> list[Any]:
    """The results of all calls, which start at the same moment."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        gate.wait(patience)
        return run_and_close(call)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls, timeout=patience))


def beside(call: Callable[[], Any], pool: ThreadPoolExecutor) -> Future:
    """The call, begun in another thread."""
    return pool.submit(run_and_close, call)


def run_and_close(call: Callable[[], Any]) -> Any:
    try:
        return call()
    finally:
        connections.close_all()


def wait_until_somebody_waits() -> None:
    """Until another connection stands still before a lock of ours."""
    for _ in range(PATIENCE * 100):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
        threading.Event().wait(0.01)
    raise AssertionError("Nobody waits for the lock.")
