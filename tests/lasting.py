"""What is not made for one test alone: rows that last as long as a module's tests, databases of earlier versions."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker


@contextmanager
def lasting_rows(blocker: DjangoDbBlocker) -> Iterator[None]:
    """What is written inside stays until the end. What a test writes meanwhile is undone after it, as always.

    Not for tests with transactions of their own.
    """
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def database_before(name: str, app: str, migration: str) -> Iterator[None]:
    """A database of its own as it was after this migration; to be filled inside, and gone afterwards.

    For tests with transactions of their own.
    """
    tests = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        call_command("migrate", app, migration, verbosity=0)
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = tests
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")
