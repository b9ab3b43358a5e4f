"""A benchmark's own server, and what it and its database cost."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import django
import psutil
from django.core.management import call_command
from django.db import connection

from fieldstudy.embedded import postgres, servers
from fieldstudy.embedded.children import start_child, stop_process

ROOT = Path(__file__).resolve().parent.parent
START_PATIENCE = 60
# With DEBUG, Django would record and time each statement.
AS_IN_PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "fieldstudy.settings",
    "DEBUG": "false",
    "SECRET_KEY": "only-for-this-benchmark-and-known-to-all",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SECURE_SSL_REDIRECT": "false",
    "ALLOW_PRIVATE_ENDPOINTS": "true",  # the model servers of benchmarks are on this computer
}


@contextmanager
def services_folder() -> Iterator[Path]:
    """Make a temporary folder for PostgreSQL and Valkey, which have ended before it is removed."""
    with tempfile.TemporaryDirectory(prefix="fieldstudy-benchmark-") as folder:
        os.environ["FIELDSTUDY_VAR"] = folder
        try:
            yield Path(folder)
        finally:
            servers.release_services(os.getpid())


@contextmanager
def database_of_its_own() -> Iterator[Path]:
    """Set up the platform as in production, for this process and its children, with temporary services of its own."""
    with services_folder() as folder:
        copy_tables(folder)
        servers.attach()
        os.environ |= AS_IN_PRODUCTION | {"STATIC_ROOT": f"{folder}/static"}
        django.setup()
        call_command("migrate", verbosity=0)
        try:
            yield folder
        finally:
            connection.close()


def copy_tables(var: Path, made: str = "") -> None:
    """Begin with a copy of `made` or BENCHMARK_TABLES, a data folder of PostgreSQL; with none if neither is given.

    Spare the tests the seconds that all migrations take.
    """
    if made := made or os.environ.get("BENCHMARK_TABLES", ""):
        subprocess.run(["cp", "-a", made, var / "postgres"], check=True)  # keeps its owner
        postgres.hand_over(var / "postgres", postgres.server_account(), var)


@dataclass
class Server:
    port: int
    process: psutil.Process

    def cpu(self) -> float:
        """Return the processor seconds of the server's processes so far."""
        return sum(spent(process) for process in (self.process, *self.process.children(recursive=True)))

    def memory_of_worker(self) -> int:
        """Return the proportional memory (PSS) in bytes of the process that serves, the largest child."""
        return max(process.memory_full_info().pss for process in self.process.children(recursive=True))

    def memory(self) -> int:
        """Return the resident bytes of all its processes."""
        family = (self.process, *self.process.children(recursive=True))
        return sum(process.memory_info().rss for process in family)


def database_cpu(var: Path) -> float:
    """Return the processor seconds of the PostgreSQL in this folder so far, including ended backends."""
    number = int((var / "postgres" / "postmaster.pid").read_text().partition("\n")[0])
    server = psutil.Process(number)
    times = server.cpu_times()
    ended = times.children_user + times.children_system
    return ended + sum(spent(process) for process in (server, *server.children(recursive=True)))


def spent(process: psutil.Process) -> float:
    """Read the process's own clock (clock_getcpuclockid(3)), in nanoseconds; /proc counts hundredths of a second."""
    try:
        return time.clock_gettime(~process.pid << 3 | 2)
    except OSError:  # it has ended: its time is in its parent's `children_user` and `children_system`
        return 0.0


@contextmanager
def running_server(application: str, log: Path, threads: int, workers: int = 1) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--http", "1", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--workers", str(workers), "--no-ws"]
    command += ["--backlog", "1024", application]
    environment = {**os.environ, "LIMIT_FACTOR": "0", "WEB_THREADS": str(threads)}
    process = start_child(command, log, stop=signal.SIGTERM, cwd=ROOT, env=environment)
    try:
        wait_until_it_listens(process, port, log)
        yield Server(port, process)
    finally:
        stop_process(process, signal.SIGTERM, 20)


def wait_until_it_listens(process: psutil.Popen, port: int, log: Path) -> None:
    end = time.monotonic() + START_PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"The server did not start:\n{log.read_text()}")
