"""What a server reports about itself: its health, why it does not start, and its container's probe."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection, connections
from django.test import Client
from psycopg_pool import ConnectionPool

from fieldstudy import health, probe
from fieldstudy.embedded import schema
from fieldstudy.embedded.keeper import postgres
from surveys.models.hashes import fingerprint
from tests.surveys.simulation.server import noting_server
from tests.test_settings import SAFE, run_with


@pytest.mark.django_db
def test_health_names_what_is_missing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_worker_seen", (0.0, ""))
    monkeypatch.setattr(health, "ask_worker", lambda: "does not answer")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (
        200,
        {
            **{"ok": True, "database": "ok", "broker": "ok", "worker": "does not answer", "pending_migrations": 0},
            "audit": {"events": 0, "head": fingerprint([])},
        },
    )


@pytest.mark.django_db
def test_health_fails_without_a_broker(client: Client, settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert (answer.json()["broker"], answer.json()["worker"]) == ("does not answer", "unknown")


@pytest.mark.django_db
def test_health_waits_only_shortly_for_a_pool_without_connections(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LONGEST", 0.1, raising=False)
    asked = []
    monkeypatch.setattr(health, "head_of_all", lambda: asked.append("audit"))
    with ConnectionPool("host=/nowhere", open=False, min_size=1, timeout=30) as pool:
        monkeypatch.setattr(type(connections["default"]), "pool", pool)
        answer = client.get("/healthz")
        monkeypatch.undo()
    assert answer.status_code == 503 and asked == []
    assert (answer.json()["database"], answer.json()["audit"]) == ("does not answer", None)


@pytest.mark.django_db
def test_pending_migration_is_told_and_stops_a_server(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'surveys' AND name LIKE '0001%%'")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["pending_migrations"]) == (503, 1)
    with pytest.raises(SystemExit, match=r"lacks 1 migration\(s\), surveys.0001_initial first.*manage.py migrate"):
        schema.refuse_pending_migrations()


def import_server(module: str, database: str) -> subprocess.CompletedProcess[str]:
    environment = SAFE | {"DATABASE_URL": database, "DATABASE_POOL": "0"}
    return run_with(environment, "-c", f"import fieldstudy.{module}; print('serves')")


@pytest.fixture
def empty_database() -> Iterator[str]:
    """The address of a database without tables."""
    settings = connection.settings_dict
    if not settings["HOST"].startswith("/"):
        pytest.skip("DATABASE_URL names a server where databases are not ours to make")
    sockets = Path(settings["HOST"])
    with postgres.connect(sockets, "postgres") as server:
        name = f"unmigrated_{os.getpid()}"  # another process may be at another test of it
        server.execute(f"CREATE DATABASE {name}")
        yield f"postgresql://postgres@/{name}?host={sockets}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.processes
@pytest.mark.parametrize("module", ["wsgi", "asgi"])
def test_server_refuses_to_start_on_pending_migrations(module: str, empty_database: str) -> None:
    done = import_server(module, empty_database)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r"^The database lacks \d+ migration\(s\), .* start again\.$", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("process", ["worker", "beat"])
def test_worker_refuses_to_start_on_pending_migrations(process: str, empty_database: str, tmp_path: Path) -> None:
    environment = SAFE | {"DATABASE_URL": empty_database, "FIELDSTUDY_VAR": str(tmp_path)}
    own = ("--schedule", str(tmp_path / "beat.db"), "--pidfile=") if process == "beat" else ()
    done = run_with(environment, "-m", "celery", "-A", "fieldstudy", process, *own)
    assert done.returncode == 1, done.stderr
    assert re.search(r"(^|: )The database lacks \d+ migration\(s\), .* start again\.$", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


@pytest.mark.processes
def test_command_names_pending_migrations(empty_database: str) -> None:
    environment = SAFE | {"DATABASE_URL": empty_database, "DATABASE_POOL": "0"}
    done = run_with(environment, "manage.py", "report", "demo")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r"^The database lacks \d+ migration\(s\), .* start again\.$", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


@pytest.mark.processes
@pytest.mark.django_db
def test_server_starts_on_a_migrated_database() -> None:
    settings = connection.settings_dict
    where = f"{settings['USER']}:{settings['PASSWORD']}@:{settings['PORT']}"
    done = import_server("wsgi", f"postgresql://{where}/{settings['NAME']}?host={settings['HOST']}")
    assert (done.returncode, done.stdout) == (0, "serves\n"), done.stderr


@pytest.mark.processes
def test_server_says_so_when_no_database_answers() -> None:
    done = import_server("wsgi", "postgresql://nobody@127.0.0.1:1/none")
    assert done.returncode == 1
    assert re.search(r"^The database does not answer: .*DATABASE_URL and start again\.$", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


@pytest.mark.django_db
def test_health_is_answered_without_a_redirect_to_https(client: Client, settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(("status", "result"), [(200, 0), (503, 1)])
def test_probe_asks_under_a_name_the_server_answers_to(
    status: int, result: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", ".study.example.org, other.example.org")
    with noting_server(status) as (address, heard):
        monkeypatch.setattr(probe, "ADDRESS", f"{address}/healthz")
        assert probe.main() == result
    assert [headers["Host"] for headers in heard] == ["study.example.org"]


def test_probe_fails_when_nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "ADDRESS", "http://127.0.0.1:1/healthz")
    assert probe.main() == 1
