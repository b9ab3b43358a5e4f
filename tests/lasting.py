"""Worlds that many tests look at are made once: rows that last as long as a module's tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from pytest_django import DjangoDbBlocker


@contextmanager
def lasting_rows(blocker: DjangoDbBlocker) -> Iterator[None]:
    """What is written inside stays until the end. What a test writes meanwhile is undone after it, as always.

    Not for tests with transactions of their own.
    """
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
