"""Statements that stay prepared, each on a connection that the pool lends for it alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql.base import DatabaseWrapper

NEVER = 2**31  # times that a statement runs before it is prepared unasked: those of Django stay as they are


def row_of(statement: str, values: dict[str, Any]) -> tuple | None:
    """The first row. The statement stays prepared in its connection: sent once, planned a few times."""
    wrapper, begin = connections[DEFAULT_DB_ALIAS], monotonic()
    run: Callable[..., tuple | None] = ask
    for around in reversed(wrapper.execute_wrappers):
        run = partial(around, run)
    row = run(statement, values, False, {"connection": wrapper})
    if wrapper.queries_logged:
        wrapper.queries_log.append({"sql": statement, "time": f"{monotonic() - begin:.3f}"})
    return row


def ask(statement: str, values: dict[str, Any], many: bool, context: dict[str, Any]) -> tuple | None:
    """With the arguments that Django gives to what wraps the execution of statements."""
    wrapper = context["connection"]
    with wrapper.wrap_database_errors, link_of(wrapper) as link:
        link.prepare_threshold = NEVER  # without one nothing is prepared
        return psycopg.Cursor(link).execute(statement, values, prepare=True).fetchone()


@contextmanager
def link_of(wrapper: DatabaseWrapper) -> Iterator[psycopg.Connection]:
    """The connection that this thread has, else one of the pool for this statement alone.

    Django asks for one in a long way, to keep it until the request ends.
    """
    if wrapper.connection is not None or not wrapper.pool:
        wrapper.ensure_connection()
        wrapper.validate_no_broken_transaction()
        yield wrapper.connection
        return
    pool = wrapper.pool
    if pool.closed:
        pool.open()
    link = pool.getconn()
    try:
        yield link
    finally:
        pool.putconn(link)
