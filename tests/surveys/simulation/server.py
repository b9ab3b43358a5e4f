"""A real server process on the test database, and a server that only records its requests."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

from fieldstudy.embedded import servers

START_PATIENCE = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_database_url() -> str:
    """The URL of the test database: the tests' own URL with its name replaced."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(parts._replace(path=f"/{connection.settings_dict['NAME']}"))


def start_server(port: int, log: Path, workers: int = 1) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--http", "1", "--workers", str(workers), "--no-ws", "fieldstudy.wsgi:front"]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "fieldstudy.settings",
        "DATABASE_URL": test_database_url(),
        "DATABASE_POOL": "8",
        "LIMIT_FACTOR": "0",
        "SECRET_KEY": settings.SECRET_KEY,
    }
    with log.open("ab") as output:
        server = subprocess.Popen(
            command, cwd=servers.ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    wait_until_it_listens(server, port, log)
    return server


def wait_until_it_listens(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_PATIENCE
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"The server did not start:\n{log.read_text()}")


def end_server(server: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    """End the server and its workers; without warning if `how` is SIGKILL."""
    os.killpg(server.pid, how)
    server.wait(20)


@contextmanager
def running_server(log: Path, workers: int = 1) -> Iterator[str]:
    port = free_port()
    server = start_server(port, log, workers)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        end_server(server)


@contextmanager
def noting_server(status: int = 200) -> Iterator[tuple[str, list[Message]]]:
    """Serve every request with this status; yields the address and the headers received."""
    heard: list[Message] = []

    class Note(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers)
            self.send_response(status)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Note)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
