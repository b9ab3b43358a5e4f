"""A platform to break: PostgreSQL, Valkey, two web processes, a worker and beat, with their own data.

Whatever ends is restarted by `start`, as a service manager would; nothing else is.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from benchmarks.server import copy_tables
from fieldstudy.embedded import keeper, postgres, servers
from fieldstudy.embedded.children import is_alive, start_child, stop_process
from tests.embedded import migrated_data
from tests.surveys.simulation.server import free_port

PATIENCE = 300  # seconds, on a computer that has much to do
GRANIAN = ["-m", "granian", "--interface", "rsgi", "--http", "1", "--host", "127.0.0.1", "--no-ws"]
GRANIAN += ["--workers", "2", "--respawn-failed-workers", "--respawn-interval", "0.2"]
COMMANDS = {
    "worker": ["-m", "celery", "-A", "fieldstudy", "worker", "--concurrency", "2", "--loglevel", "INFO"],
    "beat": ["-m", "celery", "-A", "fieldstudy", "beat", "--loglevel", "INFO"],
}
PREPARE = """
import django, sys
django.setup()
from dataclasses import replace
from django.core.management import call_command
from surveys.studies import lifecycle
from surveys.studies.files.definitions import read_study
call_command("migrate", verbosity=0)
definition = read_study("surveys/studies/demo.toml")
cells = tuple(replace(cell, places=9) for cell in definition.cells)  # for all people of all faults
study, _ = lifecycle.load_definition(replace(definition, cells=cells), "tests")
lifecycle.launch(study, "tests")
"""


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return found


class Platform:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("run", "log"):
            (folder / name).mkdir()
        self.account = postgres.server_account()
        self.sockets = keeper.socket_folder(folder, self.account)
        self.processes: dict[str, psutil.Process] = {}
        self.port = free_port()
        self.site = f"http://127.0.0.1:{self.port}"
        self.database = f"postgresql://postgres@/{postgres.DATABASE}?host={quote(str(self.sockets), safe='')}"
        self.environment = {name: value for name, value in os.environ.items() if name != "DATABASE_POOL"} | {
            "DATABASE_URL": self.database,
            "REDIS_URL": f"unix://{self.valkey_socket}?db=0",
            "DJANGO_SETTINGS_MODULE": "fieldstudy.settings",
            "FIELDSTUDY_VAR": str(folder),
            "DEBUG": "true",
            "LIMIT_FACTOR": "0",
            "WEB_THREADS": "4",
        }

    @property
    def valkey_socket(self) -> Path:
        return self.sockets / "valkey.sock"

    def log(self, name: str) -> Path:
        return self.folder / "log" / f"{name}.log"

    # --- its processes

    def start(self, *names: str) -> None:
        for name in names:
            self.processes[name] = self.start_one(name)
        for name in names:
            self.await_start(name)

    def start_one(self, name: str) -> psutil.Process:
        if name == "valkey":
            return keeper.start_valkey(self.folder, self.valkey_socket)
        if name == "postgres":
            return postgres.start_postgres(self.folder, self.sockets, self.account)
        more = ["--schedule", str(self.folder / "run" / "beat.db")] if name == "beat" else []
        web = [*GRANIAN, "--port", str(self.port), "fieldstudy.wsgi:front"]
        command = [sys.executable, *(web if name == "web" else COMMANDS[name]), *more]
        return start_child(command, self.log(name), stop=signal.SIGTERM, cwd=servers.ROOT, env=self.environment)

    def await_start(self, name: str) -> None:
        ready = {
            "valkey": self.valkey_socket.exists,
            "postgres": lambda: postgres.accepts_connections(self.sockets),
            "web": lambda: self.health() is not None,
            "worker": lambda: " ready." in self.log("worker").read_text(),
            "beat": lambda: "beat: Starting" in self.log("beat").read_text(),
        }
        wait_for(ready[name], f"{name} does not start:\n{self.log(name).read_text()[-2000:]}")

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        wait_for(lambda: not is_alive(self.processes[name]), f"{name} lives on")

    def child_of(self, name: str) -> psutil.Process:
        """The youngest child: a worker's executes its tasks, the web server's answers its requests."""
        children = wait_for(lambda: self.processes[name].children(), f"{name} has no processes")
        return max(children, key=lambda child: child.create_time())

    def ended(self) -> list[str]:
        return [name for name, process in self.processes.items() if not is_alive(process)]

    def close(self) -> None:
        for name in ("web", "worker", "beat", "valkey", "postgres"):
            if name in self.processes:
                stop = signal.SIGINT if name == "postgres" else signal.SIGKILL
                stop_process(self.processes[name], stop, 20)

    # --- what it does and holds

    def health(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"{self.site}/healthz", timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as answer:
            return json.load(answer)
        except (OSError, ValueError):
            return None

    def begin(self, *arguments: str, **changes: str) -> subprocess.Popen[str]:
        """Start a management command or, with `-c`, a program."""
        command = [sys.executable, *(() if arguments[0] == "-c" else ("manage.py",)), *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=servers.ROOT, env=self.environment | changes, **pipes)

    def manage(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        process = self.begin(*arguments, **changes)
        out, err = process.communicate(timeout=2 * PATIENCE)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database, connect_timeout=10) as connection:
            return connection.execute(statement).fetchall()

    def count(self, statement: str) -> int:
        """The number of rows; 0 while the database is away."""
        try:
            return self.ask(f"SELECT count(*) FROM {statement}")[0][0]
        except psycopg.OperationalError:
            return 0


def start_platform(folder: Path) -> Platform:
    platform = Platform(folder)
    copy_tables(folder, str(migrated_data()))
    try:
        platform.start("valkey", "postgres")
        postgres.create_database(platform.sockets)
        done = platform.manage("-c", PREPARE)
        assert done.returncode == 0, done.stderr
        platform.start("web", "worker", "beat")
    except BaseException:
        platform.close()
        raise
    return platform
