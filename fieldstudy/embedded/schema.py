"""Whether the database's tables are those that the code expects, and bringing the embedded one up to date."""

from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

MIGRATION_LOCK = 0x6669656C  # one number for every process that migrates this database


def migrations_on_disk() -> set[tuple[str, str]]:
    """Read from the file names: loading Django's whole migration graph would cost each command 0.2 s."""
    return {
        (app.label, file.stem)
        for app in apps.get_app_configs()
        for file in (Path(app.path) / "migrations").glob("[0-9]*.py")
    }


def pending_migrations() -> list[str]:
    applied = set(MigrationRecorder(connection).applied_migrations())
    return [f"{app}.{name}" for app, name in sorted(migrations_on_disk() - applied)]


def apply_pending_migrations() -> None:
    """Two processes may start at once: the second waits for the first and finds nothing to do."""
    if not pending_migrations():
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            if pending_migrations():
                call_command("migrate", verbosity=0, interactive=False)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])


def refuse_pending_migrations() -> None:
    """End a server's start while the tables are not those of the code, or cannot be seen."""
    try:
        pending = pending_migrations()
    except OperationalError as error:
        reason = " ".join(str(error).split()).rstrip(".?")
        raise SystemExit(f"The database does not answer: {reason}. Check DATABASE_URL and start again.") from None
    if pending:
        raise SystemExit(
            f"The database lacks {len(pending)} migration(s), {pending[0]} first. Stop the servers, run "
            "`python manage.py migrate` and start again."
        )
