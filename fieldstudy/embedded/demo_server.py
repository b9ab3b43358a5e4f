"""Runs the whole platform with the demo study on this computer, and stops all of it again: `make demo`."""

import argparse
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

import psutil

from fieldstudy.embedded import children as processes
from fieldstudy.embedded import servers

START_PATIENCE = 60  # seconds until the server must have answered
STOP_PATIENCE = 8  # seconds that a server may take to finish its work
MOST_RESTARTS, RESTART_WINDOW = 3, 60  # of one server within so many seconds; one that ends more often ends the demo

WELCOME = """
Field Study is running. Open

  as a participant   {site}/s/demo/?PROLIFIC_PID={pid}&STUDY_ID={study}&SESSION_ID={session}
  as an annotator    {site}/a/profiles/?PROLIFIC_PID={pid}&STUDY_ID={study}&SESSION_ID={session}
  as a researcher    {site}/console/     user demo, password field-study-demo

*Paying* of the study `paying` rehearses payment against a mock of Prolific, {prolific}.
Any 24 characters a-f and 0-9 make another PROLIFIC_PID, that is, another person.
Logs are in {logs}. Ctrl-C stops everything.
"""
LOCAL_MODEL = "local model"
LOCAL_MODEL_PORT = 8090  # one for all demos: the endpoint's address stays the same from run to run
WELCOME_LOCAL_MODEL = """
A small real model answers at http://127.0.0.1:{port}/v1, as the endpoint `local`. Ask it the demo's prompts with
  .venv/bin/python manage.py run_baseline demo --endpoint local --condition offline --repeats 3 --wait
"""
IDENTIFIERS = {
    "pid": "5f0000000000000000000001",
    "study": "5f000000000000000000de30",
    "session": "5f00000000000000000005e5",
}


@dataclass
class Child:
    """A running server, its command, and the times of its restarts."""

    name: str
    command: list[str]
    environment: dict[str, str]
    process: psutil.Popen = field(init=False)
    restarts: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log.write_text("")
        self.start()

    @property
    def log(self) -> Path:
        return log_folder() / f"{self.name.replace(' ', '-')}.log"

    def start(self) -> None:
        options = {"cwd": servers.ROOT, "env": self.environment}
        self.process = processes.start_child(self.command, self.log, stop=signal.SIGTERM, **options)

    def start_again(self) -> None:
        now = time.monotonic()
        self.restarts = [moment for moment in self.restarts if now - moment < RESTART_WINDOW]
        ended = f"The {self.name} process ended unexpectedly (status {self.process.poll()})"
        processes.await_end(self.process, 0)  # and its own children, which hold the port
        if lacking := shared_memory_fault():
            raise SystemExit(f"{ended}. {lacking} The end of {self.log}:\n{processes.last_lines(self.log)}")
        if len(self.restarts) == MOST_RESTARTS:
            raise SystemExit(
                f"{ended}, once more after {MOST_RESTARTS} restarts within {RESTART_WINDOW} seconds, so the rest is "
                f"stopped too. The end of {self.log}:\n{processes.last_lines(self.log)}"
            )
        print(f"{ended} and is started again.", file=sys.stderr, flush=True)
        self.restarts.append(now)
        self.start()


def shared_memory_fault() -> str:
    """Why the worker cannot share memory with its processes, and what to do; empty if it can."""
    try:
        multiprocessing.Semaphore()
    except (OSError, ImportError) as error:
        reason = getattr(error, "strerror", None) or error
        return (
            f"Processes cannot share memory on this system ({reason}): /dev/shm must be a folder that can be written. "
            "Mount it (mount -t tmpfs tmpfs /dev/shm; of a container that is --tmpfs /dev/shm) and start again."
        )
    return ""


class Stopped(Exception):
    """A signal asked us to stop."""


def main() -> None:
    options = read_options()
    port = options.port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        prolific = int(probe.getsockname()[1])  # nobody listens there
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    os.environ.setdefault("DEBUG", "true")
    children: list[Child] = []
    try:
        servers.run_folder()
        clear_previous_run(port)
        check_port(port)
        remember_run(port, children)
        hold_services()
        prepare_database(port)
        start_servers(port, prolific, options.local_model, children)
        wait_until_healthy(port, children)
        words = {"site": f"http://localhost:{port}", "prolific": prolific_api(prolific), "logs": log_folder()}
        print(WELCOME.format(**words, **IDENTIFIERS), flush=True)
        if options.local_model:
            print(WELCOME_LOCAL_MODEL.format(port=LOCAL_MODEL_PORT), flush=True)
        watch(port, children)
    except Stopped:
        print("\nStopping.", file=sys.stderr)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave a server behind
        stop_servers(children)


def hold_services() -> None:
    if servers.missing_urls():
        servers.hold_services()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--local-model", action="store_true", help="serve a small real model too")
    options = parser.parse_args()
    if not 0 < options.port < 65536:
        parser.error(f"{options.port} is not a port. Choose one from 1024 to 65535: make demo PORT=8001")
    return options


def stop(number: int, frame: FrameType | None) -> NoReturn:
    raise Stopped


def log_folder() -> Path:
    return servers.var_folder() / "log"


def record_path() -> Path:
    return servers.var_folder() / "run" / "demo.json"


def remember_run(port: int, children: list[Child]) -> None:
    """Record this run, so that the next one recognises it, or its servers if it was killed."""
    record = {
        "port": port,
        "runner": processes.describe_process(psutil.Process()),
        "children": [processes.describe_process(child.process) for child in children],
    }
    unfinished = record_path().with_suffix(".part")
    unfinished.write_text(json.dumps(record))
    unfinished.replace(record_path())


def clear_previous_run(port: int) -> None:
    try:
        record = json.loads(record_path().read_text())
    except (FileNotFoundError, ValueError):
        return
    runner = processes.find_process(record["runner"])
    if runner is not None:
        raise SystemExit(
            f"The demo is already running on http://localhost:{record['port']} (process {runner.pid}). Open "
            f"that, stop it with `kill {runner.pid}`, or start a second one beside it: "
            f"FIELDSTUDY_VAR=var/second make demo PORT={max(port, record['port']) + 1}"
        )
    orphans = [process for child in record["children"] if (process := processes.find_process(child))]
    for process in orphans:
        processes.stop_process(process, signal.SIGTERM, STOP_PATIENCE)
    if orphans:
        print(f"Stopped {len(orphans)} server(s) that a killed run had left behind.", file=sys.stderr)
    record_path().unlink()


def check_port(port: int) -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.settimeout(1)
                taken = probe.connect_ex((host, port)) == 0
        except OSError:  # no IPv6 here
            continue
        if taken:
            raise SystemExit(f"Port {port} is in use by another program. Choose another: make demo PORT={port + 1}")


def environment(port: int) -> dict[str, str]:
    return {**os.environ, "SITE_URL": f"http://localhost:{port}", "PYTHONUNBUFFERED": "1"}


def prolific_api(port: int) -> str:
    return f"http://127.0.0.1:{port}/api/v1/"


def books_path() -> Path:
    return servers.var_folder() / "mock-prolific.json"


def prepare_database(port: int) -> None:
    """Migrate the embedded database and load the demo study, if it is not there yet, by management commands."""
    print("Preparing the database and the demo study", file=sys.stderr)
    for command in (["demo"], ["rehearse_paying", "--books", str(books_path())]):
        done = subprocess.run([sys.executable, "manage.py", *command], cwd=servers.ROOT, env=environment(port))
        if done.returncode:
            raise SystemExit("The demo study could not be loaded; the message above says why.")


def start_servers(port: int, prolific: int, local_model: bool, children: list[Child]) -> None:
    web = [sys.executable, "-m", "granian", "--interface", "rsgi", "--host", "127.0.0.1", "--port", str(port)]
    web += ["--http", "1", "--no-ws", "--workers", "1", "--respawn-failed-workers", "fieldstudy.wsgi:front"]
    celery = [sys.executable, "-m", "celery", "-A", "fieldstudy"]
    worker = [*celery, "worker", "--concurrency", "2"]
    worker += ["--without-gossip", "--without-mingle"]  # there is no other worker to talk to
    schedule = str(servers.var_folder() / "run" / "beat.db")
    beat = [*celery, "beat", "--schedule", schedule, "--pidfile="]
    mock = [sys.executable, "-m", "surveys.prolific.mock.server", "--port", str(prolific)]
    commands = {"web": web, "worker": worker, "prolific": [*mock, "--books", str(books_path())], "beat": beat}
    if local_model:
        commands[LOCAL_MODEL] = [sys.executable, "manage.py", "local_model", "--port", str(LOCAL_MODEL_PORT), "--add"]
    # The mock instead of Prolific, whatever the environment names: a demo pays nobody.
    rehearsal = {"PROLIFIC_API": prolific_api(prolific), "PROLIFIC_TOKEN_VARIABLE": "MOCK_TOKEN", "MOCK_TOKEN": "mock"}
    for name, command in commands.items():
        children.append(Child(name, command, environment(port) | rehearsal))
        remember_run(port, children)


def wait_until_healthy(port: int, children: list[Child]) -> None:
    deadline = time.monotonic() + START_PATIENCE
    healths = {f"http://127.0.0.1:{port}/healthz"}
    healths |= {f"http://127.0.0.1:{LOCAL_MODEL_PORT}/health" for child in children if child.name == LOCAL_MODEL}
    while not all(map(answers, healths)):
        keep_running(port, children)
        if time.monotonic() > deadline:
            # The server that was restarted most, or else the web server.
            late = max(children, key=lambda child: len(child.restarts))
            said = f"The demo did not answer within {START_PATIENCE} seconds. The end of {late.log}:"
            raise SystemExit(f"{said}\n{processes.last_lines(late.log)}")
        time.sleep(0.1)


def answers(address: str) -> bool:
    """Whether the server at this address is healthy; ours also needs a worker."""
    try:
        with urllib.request.urlopen(address, timeout=5) as response:
            return json.load(response).get("worker", "ok") == "ok"
    except (urllib.error.URLError, OSError, ValueError):
        return False


def watch(port: int, children: list[Child]) -> None:
    while True:
        keep_running(port, children)
        hold_services()  # starts them again if somebody has ended them
        time.sleep(0.5)


def keep_running(port: int, children: list[Child]) -> None:
    for child in children:
        if child.process.poll() is not None:
            child.start_again()
            remember_run(port, children)


def stop_servers(children: list[Child]) -> None:
    for child in children:
        processes.ask_to_stop(child.process, signal.SIGTERM)  # all at once: each then has the whole time to finish
    for child in children:
        processes.await_end(child.process, STOP_PATIENCE)
    if children:
        record_path().unlink(missing_ok=True)


if __name__ == "__main__":
    main()
