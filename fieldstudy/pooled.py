"""Pooled connections: the newest goes first, and is known to be alive without asking PostgreSQL each time."""

from collections import deque
from functools import cached_property
from select import POLLIN, poll
from typing import Any

import psycopg


class PooledConnection(psycopg.Connection):
    def execute(self, query: Any, params: Any = None, **options: Any) -> psycopg.Cursor:
        """Send nothing for the empty statement, by which a pool asks whether a connection is alive, if it is.

        A server that has ended closes its side, so that there is something to read. Sent and waited for, the question
        costs a tenth of a participant's page (benchmarks/README.md); nobody looks at the cursor.
        """
        if query == "" and not has_something_to_read(self.fileno()):
            return self.unused
        return super().execute(query, params, **options)

    @cached_property
    def unused(self) -> psycopg.Cursor:
        return self.cursor()


def has_something_to_read(socket: int) -> bool:
    asked = poll()
    asked.register(socket, POLLIN)
    return bool(asked.poll(0))


class NewestFirst(deque):
    popleft = deque.pop


def hand_out_newest_first(pool: Any) -> None:
    """Make a pool, before it is opened, hand out the newest first.

    Connections that take turns find that their processors have forgotten them, which costs PostgreSQL a fifth of a
    submission (benchmarks/README.md).
    """
    pool._pool = NewestFirst()
