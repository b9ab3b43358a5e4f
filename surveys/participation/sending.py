"""Prepared statements, each on the thread's connection or one that the pool lends for it alone."""

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

NEVER = 2**31  # runs before psycopg prepares a statement by itself: Django's stay unprepared


def row_of(statement: str, values: dict[str, Any]) -> tuple | None:
    """Run a statement; return its first row. It stays prepared in its connection: parsed once, planned a few times."""
    wrapper, begin = connections[DEFAULT_DB_ALIAS], monotonic()
    run: Callable[..., tuple | None] = ask
    for around in reversed(wrapper.execute_wrappers):
        run = partial(around, run)
    row = run(statement, values, False, {"connection": wrapper})
    if wrapper.queries_logged:
        wrapper.queries_log.append({"sql": statement, "time": f"{monotonic() - begin:.3f}"})
    return row


def ask(statement: str, values: dict[str, Any], many: bool, context: dict[str, Any]) -> tuple | None:
    """Execute a statement, with the arguments that Django gives to execute wrappers.

    It takes the thread's connection, else one of the pool for this statement alone: Django's own way to one is longer,
    and keeps it until the request ends.
    """
    wrapper = context["connection"]
    with wrapper.wrap_database_errors:
        if wrapper.connection is not None or not (pool := wrapper.pool):
            wrapper.ensure_connection()
            wrapper.validate_no_broken_transaction()
            return first_row(wrapper.connection, statement, values)
        if pool.closed:
            pool.open()
        link = pool.getconn()
        try:
            return first_row(link, statement, values)
        finally:
            pool.putconn(link)


def first_row(link: psycopg.Connection, statement: str, values: dict[str, Any]) -> tuple | None:
    link.prepare_threshold = NEVER  # without one nothing is prepared
    return psycopg.Cursor(link).execute(statement, values, prepare=True).fetchone()
