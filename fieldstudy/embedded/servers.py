"""A real PostgreSQL and Valkey from wheels, shared by this copy's processes, if no URL names others."""

import atexit
import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from django.core.management import find_commands

ROOT = Path(__file__).resolve().parents[2]
URL_NAMES = ("DATABASE_URL", "REDIS_URL")

# Django's and the installed apps' commands that talk to the database; ours all may.
DATA_COMMANDS = (
    *("changepassword", "clearsessions", "createsuperuser", "drf_create_token", "dumpdata", "loaddata"),
    *("remove_stale_contenttypes", "runserver", "shell"),
)
# Commands that show or change the tables as they are.
SCHEMA_COMMANDS = (
    *("dbshell", "flush", "inspectdb", "makemigrations", "migrate", "optimizemigration", "showmigrations"),
    *("sqlflush", "sqlmigrate", "sqlsequencereset", "squashmigrations"),
)

_lease: IO[str] | None = None


class ServiceFailure(SystemExit):
    """A failed start of the services; the message is printed without a traceback, exit status 1."""


def var_folder() -> Path:
    return Path(os.environ.get("FIELDSTUDY_VAR") or ROOT / "var").resolve()


def needs_services(argv: list[str]) -> bool:
    """Whether this command line talks to the database: help does not, nor does an unknown command."""
    if len(argv) < 2 or {"-h", "--help", "--version"} & set(argv):
        return False
    if argv[1] == "check":
        return any(argument.startswith("--database") for argument in argv)
    own = (name for app in ("surveys", "analysis") for name in find_commands(str(ROOT / app / "management")))
    return argv[1] in (*DATA_COMMANDS, *SCHEMA_COMMANDS, *own)


def assume_own_computer() -> None:
    """Turn DEBUG on, unless set, if neither database nor queue is named: then this is somebody's own computer."""
    if missing_urls() == set(URL_NAMES):
        os.environ.setdefault("DEBUG", "true")


def attach(*, by_hand: bool = True) -> set[str]:
    """Point the URLs that nobody has set to the embedded services, started if needed; return their names.

    Nothing is started in production, the default for processes of a service manager, which are not `by_hand`.
    """
    if by_hand:
        assume_own_computer()
    missing = missing_urls()
    if not missing or (os.environ.get("DEBUG") or "false").lower() in ("false", "0", "no"):
        return set()
    urls = hold_services()
    os.environ.update({name: urls[name] for name in missing})
    return missing


def missing_urls() -> set[str]:
    return {name for name in URL_NAMES if not os.environ.get(name) and not os.environ.get(f"{name}_FILE")}


def hold_services() -> dict[str, str]:
    """Keep the services up until this process ends (however it ends) and return their URLs.

    Every holder has a shared lock on one file, which the kernel releases for a killed process too.
    The keeper (fieldstudy/embedded/keeper.py) waits for the exclusive lock and then stops the services.
    """
    global _lease
    run = run_folder()
    with open(run / "start.lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if _lease is None:
            lease = open(run / "holders.lock", "w")  # noqa: SIM115 - held open as long as the process lives
            fcntl.flock(lease, fcntl.LOCK_SH)
            _lease = lease
            atexit.register(release_services, os.getpid())
        if is_locked(run / "keeper.lock"):
            return json.loads((run / "services.json").read_text())
        return start_keeper()


def run_folder() -> Path:
    folder = var_folder() / "run"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (var_folder() / "log").mkdir(exist_ok=True)
        (folder / "start.lock").touch()
    except OSError as error:
        raise ServiceFailure(
            f"The folder {var_folder()} cannot be written: {error.strerror}. Make room or make it writable, "
            "or name another folder with FIELDSTUDY_VAR=/path/to/folder."
        ) from None
    return folder


def is_locked(path: Path, how: int = fcntl.LOCK_SH) -> bool:
    """Whether a process holds the lock exclusively; tested by a shared lock, so that two callers do not collide.

    With `LOCK_EX`: whether anybody holds it.
    """
    with open(path, "w") as file:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def start_keeper() -> dict[str, str]:
    with open(var_folder() / "log" / "keeper.log", "w") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "fieldstudy.embedded.keeper", str(var_folder())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C in the terminal is for the holder, not for the database
            text=True,
        )
    assert keeper.stdout is not None
    with keeper.stdout:
        answer = keeper.stdout.read()
    if not answer:
        keeper.wait()
        raise ServiceFailure(
            f"The embedded services did not start; {log.name} says why. Start again, or name a database and "
            "a broker of your own with DATABASE_URL and REDIS_URL."
        )
    urls = json.loads(answer)
    if "failure" in urls:
        keeper.wait()
        raise ServiceFailure(urls["failure"])
    return urls


def release_services(holder: int) -> None:
    """Let go; as the last holder, wait until keeper and services have ended, so that nothing is left behind."""
    global _lease
    if _lease is None or holder != os.getpid():  # a forked child shares the lock and must not give it back
        return
    _lease.close()
    _lease = None
    run, held = var_folder() / "run", 0
    with suppress(OSError):
        while held < 5:  # five times in a row: others hold it too, and the keeper goes on
            time.sleep(0.02)
            ending = is_locked(run / "holders.lock")  # the keeper has it alone
            if not ending and not is_locked(run / "keeper.lock"):
                break
            held = held + 1 if not ending and is_locked(run / "holders.lock", fcntl.LOCK_EX) else 0
