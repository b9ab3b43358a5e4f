"""Stands in for docker and curl: runs the containers' programs here, with a database on this computer."""

import json
import os
import subprocess
import sys
from pathlib import Path

TAKE_A_VALUE = {"-e", "--user", "--username", "--profile"}
NO_DIGEST = "stand-in@sha256:" + "0" * 64


def main() -> int:
    settings = json.loads(Path(sys.argv[1]).read_text())
    program, arguments = sys.argv[2], sys.argv[3:]
    with open(settings["log"], "a") as log:
        log.write(json.dumps([program, *arguments]) + "\n")
    if program == "curl" or arguments[0] == "pull":
        return 0
    if arguments[:2] == ["image", "inspect"]:
        print(NO_DIGEST)
        return 0
    assert arguments[0] == "compose", arguments
    action, rest = arguments[1], arguments[2:]
    if action == "up":
        return prepare(settings)
    if action in ("exec", "run"):
        return run(settings, *service_and_command(rest))
    assert action in ("stop", "build"), arguments
    return 0


def service_and_command(rest: list[str]) -> tuple[str, list[str]]:
    at = 0
    while rest[at].startswith("-"):
        at += 2 if rest[at] in TAKE_A_VALUE else 1
    return rest[at], rest[at + 1 :]


def prepare(settings: dict) -> int:
    """Do what the service `db` does at its first start, and `migrate` once for each database; later, nothing."""
    role = "DO $$ BEGIN CREATE ROLE fieldstudy SUPERUSER LOGIN; EXCEPTION WHEN duplicate_object THEN END $$"
    in_database(settings, ["psql", "-U", "postgres", "-q", "-d", "postgres", "-c", role])
    if not (found := number_of_database(settings)):
        in_database(settings, ["createdb", "-U", "fieldstudy", "fieldstudy"])
        found = number_of_database(settings)
    migrated = Path(settings["migrated"])
    if migrated.exists() and migrated.read_text() == found:
        return 0
    migrated.write_text(found)
    return in_python(settings, ["manage.py", "migrate", "-v0"], Path())


def number_of_database(settings: dict) -> str:
    """The database's number, a new one each time it is created; empty if there is none."""
    asked = "SELECT oid FROM pg_database WHERE datname = 'fieldstudy'"
    listed = database_command(settings, ["psql", "-U", "postgres", "-tA", "-d", "postgres", "-c", asked])
    return subprocess.run(listed, capture_output=True, text=True, check=True).stdout.strip()


def run(settings: dict, service: str, command: list[str]) -> int:
    if service == "db":
        return in_database(settings, command)
    if service == "tools":
        return in_python(settings, [str(Path("manage.py").resolve()), *command], Path("../fieldstudy-files"))
    if service == "migrate":
        return in_python(settings, ["manage.py", "migrate", "--noinput", "-v0"], Path())
    assert service in ("web", "worker") and command[0] == "python", (service, command)
    return in_python(settings, command[1:], Path())


def database_command(settings: dict, command: list[str]) -> list[str]:
    return [f"{settings['programs']}/{command[0]}", "-h", settings["sockets"], *command[1:]]


def in_database(settings: dict, command: list[str]) -> int:
    return subprocess.run(database_command(settings, command)).returncode


def in_python(settings: dict, command: list[str], folder: Path) -> int:
    """Run with the settings in .env, as compose passes them on. Only the first command has Django check itself."""
    checked = Path(settings["checked"])
    more = ["--skip-checks"] if checked.exists() and "manage.py" in command[0] else []
    lines = [line.partition("=") for line in Path(".env").read_text().splitlines() if "=" in line and line[0] != "#"]
    named = {
        "DATABASE_URL": f"postgresql://fieldstudy@/fieldstudy?host={settings['sockets']}",
        "REDIS_URL": settings["redis"],
        "DEBUG": "false",
        "DATABASE_POOL": "0",
    }
    environment = {**os.environ, **{name: value for name, _, value in lines}, **named}
    status = subprocess.run([sys.executable, *command, *more], cwd=folder, env=environment).returncode
    checked.touch()
    return status


if __name__ == "__main__":
    sys.exit(main())
