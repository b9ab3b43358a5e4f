"""What outlasts a single test: migrated databases, and rows that last for a module's tests."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

TEMPLATES_LOCK = 0x74656D70  # one number for all processes of tests on a server of databases


@contextmanager
def lasting_rows(blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep rows written inside until the context ends; what a test writes meanwhile is undone after it, as always.

    Not for tests with transactions of their own.
    """
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def lasting_world(make: Callable[[], Any], compute: Callable[[Any], Any] = lambda made: None) -> Any:
    """A module's fixture: the key of what `make` makes, with all that belongs to it, once for the tests that use it.

    What `compute` computes from it and keeps is there for each of these tests too.
    """

    @pytest.fixture(scope="module")
    def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[int]:
        with lasting_rows(django_db_blocker):
            made = make()
            compute(made)
            yield made.pk

    return world


def copied_world(make: Callable[[], Any]) -> Any:
    """A fixture: what `make` makes of an empty database, whose rows the module's further tests find copied.

    For tests with transactions of their own too, where rows cannot last.
    """
    kept: dict[str, Any] = {}

    @pytest.fixture(name=make.__name__)
    def world(db: None) -> Any:
        if kept:
            write_rows(kept["rows"])
        else:
            assert read_rows() == {}, f"{make.__name__} is made first"
            made = make()
            kept.update(manager=type(made)._default_manager, pk=made.pk, rows=read_rows())
        return kept["manager"].get(pk=kept["pk"])

    return world


def filled_tables() -> list[str]:
    """All tables but those that the migrations fill, which stay so that they need not be filled after each test."""
    return sorted({*connection.introspection.django_table_names()} - {"django_content_type", "auth_permission"})


def read_rows() -> dict[str, bytes]:
    """The rows of each table that has some, as PostgreSQL copies them."""
    found = {}
    with connection.cursor() as cursor:
        for table in filled_tables():
            with cursor.copy(f"COPY {table} TO STDOUT") as copy:
                found[table] = b"".join(copy)
    return {table: rows for table, rows in found.items() if rows}


def write_rows(tables: dict[str, bytes]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # in any order
        for table, rows in tables.items():
            with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                copy.write(rows)
        cursor.execute("SET LOCAL session_replication_role = origin")


def migrated_template(*until: str) -> str:
    """The name of a database to copy, with all migrations or those up to (app, name).

    It is made once for the current migrations, and stays on the server after the run.
    """
    migrations = f"template_{hash_of_migrations()}_"
    name = migrations + "_".join(until or ("all",))
    with connection._nodb_cursor() as server:
        server.execute("SELECT pg_advisory_lock(%s)", [TEMPLATES_LOCK])
        server.execute("SELECT datname FROM pg_database WHERE starts_with(datname, 'template_')")
        found = {datname for (datname,) in server.fetchall()}
        if name not in found:
            for old in ["unfinished_template", *(each for each in found if not each.startswith(migrations))]:
                server.execute(f"DROP DATABASE IF EXISTS {old} WITH (FORCE)")
            server.execute("CREATE DATABASE unfinished_template")
            with connected_to("unfinished_template"):
                call_command("migrate", *until, verbosity=0)
            server.execute(f"ALTER DATABASE unfinished_template RENAME TO {name}")
    return name


def hash_of_migrations() -> str:
    """A hash of what makes migrated databases differ: the migrations, the apps, and Django with its own rows."""
    digest = hashlib.sha256(" ".join((django.__version__, *settings.INSTALLED_APPS)).encode())
    for app in apps.get_app_configs():
        for path in sorted((Path(app.path) / "migrations").glob("[0-9]*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    connection.close()
    before, connection.settings_dict["NAME"] = connection.settings_dict["NAME"], name
    ContentType.objects.clear_cache()
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
        ContentType.objects.clear_cache()


@contextmanager
def database_before(name: str, app: str, migration: str) -> Iterator[None]:
    """A separate database as it was after this migration: filled inside the context, dropped after it.

    For tests with transactions of their own.
    """
    template = migrated_template(app, migration)
    with connection._nodb_cursor() as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            with connected_to(name):
                yield
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
