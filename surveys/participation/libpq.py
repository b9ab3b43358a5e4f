"""How statements that stay prepared are sent: straight to PostgreSQL's own library.

Django's cursor and psycopg's take ten times as long as the library to send a prepared statement and to read one row
(benchmarks/README.md).
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache, partial
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus

PLACE = re.compile(r"%\((\w+)\)s")
PREPARED: WeakKeyDictionary[psycopg.Connection, set[bytes]] = WeakKeyDictionary()
LOADERS: dict[int, Any] = {
    16: b"t".__eq__,
    **dict.fromkeys((20, 21, 23), int),
    1184: lambda value: datetime.fromisoformat(value.decode()),
}  # by PostgreSQL's numbers of types: boolean, whole numbers, timestamp with time zone; all else is text


class Statement(NamedTuple):
    name: bytes
    text: bytes  # with numbered places
    values: tuple[str, ...]  # what belongs there


@lru_cache(maxsize=64)
def numbered(statement: str) -> Statement:
    values = tuple(dict.fromkeys(PLACE.findall(statement)))
    text = PLACE.sub(lambda found: f"${values.index(found[1]) + 1}", statement).encode()
    return Statement(hashlib.sha256(text).hexdigest()[:32].encode(), text, values)


def as_text(value: object) -> bytes | None:
    """As PostgreSQL reads it, whose statement knows of which type it is."""
    if value is None:
        return None
    if isinstance(value, list):
        quoted = [str(item).replace("\\", "\\\\").replace('"', '\\"') for item in value]
        value = "{" + ",".join(f'"{item}"' for item in quoted) + "}"
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    if "\x00" in text:
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return text.encode()


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
    known, wrapper = numbered(statement), context["connection"]
    with wrapper.wrap_database_errors, link_of(wrapper) as link:
        found = send(link, known, [as_text(values[name]) for name in known.values])
        if not found.ntuples:
            return None
        cells = [(found.get_value(0, at), LOADERS.get(found.ftype(at), bytes.decode)) for at in range(found.nfields)]
        return tuple(None if value is None else load(value) for value, load in cells)


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


def send(link: psycopg.Connection, statement: Statement, values: list[Any]) -> psycopg.pq.abc.PGresult:
    sender, prepared = link.pgconn, PREPARED.setdefault(link, set())
    if not link.autocommit and sender.transaction_status == TransactionStatus.IDLE:
        checked(sender.exec_(b"BEGIN"))
    if statement.name not in prepared:
        checked(sender.prepare(statement.name, statement.text))
        prepared.add(statement.name)
    return checked(sender.exec_prepared(statement.name, values))


def checked(result: psycopg.pq.abc.PGresult) -> psycopg.pq.abc.PGresult:
    if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        return result
    if result.error_field(DiagnosticField.SQLSTATE) is None:  # the library's own: the line is broken
        raise psycopg.OperationalError(result.get_error_message())
    raise psycopg.errors.error_from_result(result)
