"""Embedded services in a folder of a test's own: starting processes that hold them, and finding their processes."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from django.conf import settings

from fieldstudy.embedded import servers
from tests.lasting import hash_of_migrations

PATIENCE = 180  # seconds, on a computer that has much to do

HOLD = """
import os, sys
from fieldstudy.embedded import servers
servers.attach()
import psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    print(connection.execute("SELECT pg_postmaster_start_time()").fetchone()[0], flush=True)
sys.stdin.read()
"""


def clean_environment(var: Path, **changes: str) -> dict[str, str]:
    """The environment without what the test run has set for its own services."""
    names = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "DATABASE_POOL")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**kept, "FIELDSTUDY_VAR": str(var), "FIELDSTUDY_FSYNC": "off", **changes}


def start_python(*arguments: str, var: Path, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=servers.ROOT,
        env=clean_environment(var, **changes),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_python(*arguments: str, var: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    with start_python(*arguments, var=var, **changes) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def start_holder(var: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a process that holds the services; return it and the start time of the server it sees."""
    holder = start_python("-c", HOLD, var=var)
    return holder, holder.stdout.readline().strip()


def release(holder: subprocess.Popen[str]) -> None:
    holder.communicate(timeout=30)


def processes_of(var: Path) -> list[str]:
    """The command lines of all living processes that name this folder: servers, keeper, worker."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if f"{var}" in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@contextmanager
def services_folder() -> Iterator[Path]:
    """A folder with the data of a server that was started once."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)  # pytest's own folders are closed to the account that PostgreSQL has under root
    release(start_holder(folder)[0])
    yield folder
    assert wait_for(lambda: not processes_of(folder)), processes_of(folder)
    shutil.rmtree(folder)


def migrated_data() -> Path:
    """PostgreSQL's data with all tables, to be copied; made once for the current migrations, and kept."""
    folder = settings.SERVICES_FOLDER / "migrated"
    made = folder / hash_of_migrations()
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not made.exists():
            for old in folder.glob("*/"):
                shutil.rmtree(old)
            with services_folder() as var:
                done = run_python("manage.py", "migrate", "-v0", var=var)
                assert done.returncode == 0, done.stderr
                subprocess.run(["cp", "-a", var / "postgres", folder / "unfinished"], check=True)  # with its owner
            (folder / "unfinished").rename(made)
    return made
