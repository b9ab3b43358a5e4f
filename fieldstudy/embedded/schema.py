"""Checks the database for pending migrations, and brings the embedded one up to date."""

import io
import sys
import time
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

ON_TERMINAL, IN_LOG = 0.1, 5.0  # seconds between two lines
MIGRATION_LOCK = 0x6669656C  # one number for every process that migrates this database


def migrations_on_disk() -> set[tuple[str, str]]:
    """All migrations, by file names: loading Django's whole migration graph would cost each command 0.2 s."""
    return {
        (app.label, file.stem)
        for app in apps.get_app_configs()
        for file in (Path(app.path) / "migrations").glob("[0-9]*.py")
    }


def pending_migrations() -> list[str]:
    applied = set(MigrationRecorder(connection).applied_migrations())
    return [f"{app}.{name}" for app, name in sorted(migrations_on_disk() - applied)]


def apply_pending_migrations() -> None:
    """Migrate under a lock: of two processes that start at once, the second waits and finds nothing to do."""
    if not pending_migrations():
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            if pending := pending_migrations():
                with AppliedMigrations(len(pending)) as applied:
                    call_command("migrate", verbosity=1, interactive=False, no_color=True, stdout=applied)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])


class AppliedMigrations(io.StringIO):
    """The progress of `migrate`: in one line on a terminal, elsewhere a line now and then."""

    def __init__(self, total: int) -> None:
        super().__init__()
        self.total, self.number, self.shown = total, 0, time.monotonic()

    def write(self, words: str) -> int:
        if "Applying" in words:
            self.number += 1
            live, now = sys.stderr.isatty(), time.monotonic()
            if now - self.shown >= (ON_TERMINAL if live else IN_LOG):
                self.shown = now
                line = f"Making the tables of the database: {self.number} of {self.total} steps"
                print(f"\r\x1b[K{line}" if live else line, end="" if live else "\n", file=sys.stderr, flush=True)
        return super().write(words)

    def __exit__(self, *error: object) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def refuse_pending_migrations() -> None:
    """End a process if the tables are not those the code expects."""
    if pending := pending_migrations():
        raise SystemExit(
            f"The database lacks {len(pending)} migration(s), {pending[0]} first. Run `python manage.py migrate` "
            "and start again."
        )


def refuse_to_serve() -> None:
    """End a server's start if the tables are not those the code expects, or cannot be seen."""
    try:
        refuse_pending_migrations()
    except OperationalError as error:
        reason = " ".join(str(error).split()).rstrip(".?")
        raise SystemExit(f"The database does not answer: {reason}. Check DATABASE_URL and start again.") from None
