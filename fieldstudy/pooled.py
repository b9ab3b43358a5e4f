"""The connections of the pool: still there when they are handed out, without asking PostgreSQL each time."""

from select import POLLIN, poll
from typing import Any

import psycopg


class PooledConnection(psycopg.Connection):
    def execute(self, query: Any, params: Any = None, **options: Any) -> psycopg.Cursor:
        """Of the empty statement, by which a pool asks whether a connection is alive, nothing is sent where it is.

        A server that has ended closes its side, so that there is something to read. Sent and waited for, the question
        costs a tenth of a participant's page (benchmarks/README.md).
        """
        if query == "" and not has_something_to_read(self.fileno()):
            return self.cursor()
        return super().execute(query, params, **options)


def has_something_to_read(socket: int) -> bool:
    asked = poll()
    asked.register(socket, POLLIN)
    return bool(asked.poll(0))
