"""Half-sent requests and slow readers, on real sockets: they hold a connection, but no thread that pages need."""

import ast
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from fieldstudy.embedded import servers
from fieldstudy.embedded.children import start_child, stop_process
from tests.surveys.simulation.server import free_port, wait_until_it_listens

pytestmark = pytest.mark.processes
THREADS = 2
QUICK = 15.0  # seconds in which a page must come, whatever others do; the server's patience with them is far longer
# A WSGI application for each kind of answer, behind the front with a patience short enough for a test.
APPLICATION = """
import time
from pathlib import Path
from fieldstudy import front as module

module.PATIENCE, module.LEAST_RATE, module.STALLED = {patience}, 4096, 2.0
module.SMALL, module.LARGEST = 10_000, 1_000_000

def application(environ, start_response):
    path, headers = environ["PATH_INFO"], [("Content-Type", "text/plain")]
    body = environ["wsgi.input"].read()
    if path == "/fails":
        raise ValueError("on purpose")
    start_response("200 OK", headers)
    if path == "/whole":
        return [b"w" * 20_000_000]
    if path == "/file":
        return environ["wsgi.file_wrapper"](open(__file__, "rb"))
    if path in ("/download", "/broken", "/none"):
        return Download(path)
    if path == "/slow":
        time.sleep(1)
    told = {{name: value for name, value in environ.items() if name.startswith(("HTTP_", "CONTENT", "REMOTE"))}}
    return [repr((len(body), sum(body), path, told)).encode()]

class Download:
    made = 0
    def __init__(self, path):
        self.path = path
    def __iter__(self):
        for number in range(400 if self.path != "/none" else 0):
            Download.made = number
            if self.path == "/broken" and number == 3:
                raise ValueError("on purpose")
            yield b"d" * 100_000
    def close(self):
        Path("closed").open("a").write(f"{{self.path}} {{Download.made}}\\n")

front = module.Front(application, {threads}, Path("incoming"))
"""


class Server:
    def __init__(self, folder: Path, port: int, process: psutil.Popen) -> None:
        self.folder, self.port, self.process = folder, port, process

    def connect(self, sent: bytes = b"") -> socket.socket:
        line = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        line.sendall(sent)
        return line

    def ask(self, sent: bytes = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") -> bytes:
        """The whole answer, after which the connection must be closed."""
        with self.connect(sent) as line:
            return read_all(line)

    def closed(self) -> list[str]:
        path = self.folder / "closed"
        return path.read_text().splitlines() if path.exists() else []


def read_all(line: socket.socket) -> bytes:
    parts = []
    while part := line.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)


def read_what_comes(line: socket.socket) -> bytes:
    """Read what arrives until the connection ends or breaks."""
    parts = []
    with suppress(ConnectionError):
        while part := line.recv(1 << 20):
            parts.append(part)
    return b"".join(parts)


def post(path: str, length: int, more: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n".encode()


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()


@contextmanager
def serving(folder: Path, patience: float) -> Iterator[Server]:
    folder.mkdir()
    (folder / "tried.py").write_text(APPLICATION.format(patience=patience, threads=THREADS))
    port, log = free_port(), folder / "log"
    command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--http", "1", "--no-ws", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--working-dir", str(folder), "tried:front"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{servers.ROOT}"}
    process = start_child(command, log, stop=signal.SIGTERM, cwd=folder, env=environment)
    try:
        wait_until_it_listens(process, port, log)
        yield Server(folder, port, process)
    finally:
        stop_process(process, signal.SIGTERM, 20)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("patient") / "site", 120.0) as server:
        yield server


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("hasty") / "site", 1.0) as server:
        yield server


HELD = {
    "a third of the headers": b"POST / HTTP/1.1\r\nHost: a\r\n",
    "13 of 1,000 bytes": post("/", 1000) + b"thirteen byte",
    "none of 100,000 bytes, which go to the disk": post("/", 100_000),
    "20 MB that nobody reads": get("/whole"),
    "a file that nobody reads": get("/file"),
}


@pytest.mark.parametrize("sent", HELD.values(), ids=HELD)
def test_slow_connections_stop_nobody(sent: bytes, patient: Server) -> None:
    with ExitStack() as held:
        for count in (16, 100 if b"whole" not in sent else 0):
            for _ in range(count):
                held.enter_context(patient.connect(sent))
            begun = time.monotonic()
            for _ in range(2 * THREADS):
                assert patient.ask().startswith(b"HTTP/1.1 200 ")
            assert time.monotonic() - begun < 2 * THREADS * QUICK


def test_two_hundred_at_once_of_every_kind_stop_nobody(patient: Server) -> None:
    with ExitStack() as held:
        for number in range(200):
            kinds = [sent for sent in HELD.values() if b"whole" not in sent]
            held.enter_context(patient.connect(kinds[number % len(kinds)]))
        begun = time.monotonic()
        assert patient.ask().startswith(b"HTTP/1.1 200 ")
        assert time.monotonic() - begun < QUICK


@pytest.mark.parametrize(("length", "sent"), [(1000, 13), (100_000, 13), (900_000, 100_000)])
def test_body_that_stays_away_is_given_up(length: int, sent: int, hasty: Server) -> None:
    begun = time.monotonic()
    answer = hasty.ask(post("/", length) + bytes(sent))
    assert answer.startswith(b"HTTP/1.1 408 ") and b"Please send it again" in answer
    assert time.monotonic() - begun >= 1 + min(sent, length if length <= 10_000 else sent) / 4096 - 0.1


def test_body_below_the_least_rate_is_given_up(hasty: Server) -> None:
    with hasty.connect(post("/", 100_000)) as line:
        begun, answer = time.monotonic(), b""
        line.settimeout(0.2)
        while not answer and time.monotonic() - begun < 30:
            line.sendall(bytes(100))
            with suppress(TimeoutError):
                answer = line.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("length", [0, 1, 10_000, 10_001, 999_999])
def test_bodies_come_whole(length: int, patient: Server) -> None:
    body = bytes(number % 251 for number in range(length))
    with patient.connect(post("/", length)) as line:
        for at in range(0, length, 300_000):
            line.sendall(body[at : at + 300_000])
            time.sleep(0.01)
        answer = read_all(line)
    assert f"({length}, {sum(body)}, ".encode() in answer


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (post("/", 1_000_001), 413),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 411),
        (get("/fails"), 500),
    ],
)
def test_refusals_close_the_line(sent: bytes, status: int, patient: Server) -> None:
    assert patient.ask(sent).startswith(f"HTTP/1.1 {status} ".encode())


def test_applications_learn_what_the_server_was_told(patient: Server) -> None:
    more = "X-Forwarded-For: 1\r\nX-Forwarded-For: 2\r\nX_Forwarded_For: 3\r\nCookie: a=1\r\nCookie: b=2\r\n"
    answer = patient.ask(post("/%E6%89%80", 3, more) + b"abc")
    length, total, path, told = ast.literal_eval(answer.partition(b"\r\n\r\n")[2].decode())
    assert (length, total, path.encode("latin-1").decode()) == (3, sum(b"abc"), "/所")
    assert (told["HTTP_X_FORWARDED_FOR"], told["HTTP_COOKIE"]) == ("1,2", "a=1; b=2")
    assert (told["REMOTE_ADDR"], told["CONTENT_LENGTH"], told["HTTP_HOST"]) == ("127.0.0.1", "3", "a")


# --- downloads ------------------------------------------------------------------------------------------------


def ended(server: Server, count: int) -> list[str]:
    end = time.monotonic() + 30
    while len(server.closed()) < count:
        assert time.monotonic() < end, server.closed()
        time.sleep(0.05)
    return server.closed()[-1].split()


def test_download_comes_whole_and_empty_ones_too(patient: Server) -> None:
    before = len(patient.closed())
    head, _, body = patient.ask(get("/download").replace(b"1.1", b"1.0", 1)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 ") and body == b"d" * 40_000_000
    assert patient.ask(get("/none")).startswith(b"HTTP/1.1 200 ")
    assert patient.ask(get("/download").replace(b"GET", b"HEAD")).startswith(b"HTTP/1.1 200 ")
    assert ended(patient, before + 3) and len(patient.closed()) == before + 3


def test_download_that_nobody_reads_is_not_made_and_ends_when_they_go(patient: Server) -> None:
    before = len(patient.closed())
    with patient.connect(get("/download")) as line:
        line.recv(10)
        time.sleep(1)
        assert len(patient.closed()) == before
    name, made = ended(patient, before + 1)
    assert name == "/download" and int(made) < 200


def test_stalled_downloads_stop_nobody_and_are_broken_off(hasty: Server) -> None:
    before = len(hasty.closed())
    with ExitStack() as held:
        lines = [held.enter_context(hasty.connect(get("/download"))) for _ in range(THREADS)]
        for line in lines:
            assert line.recv(12) == b"HTTP/1.1 200"
        refused = hasty.ask(get("/download"))
        assert refused.startswith(b"HTTP/1.1 503 ") and b"Too many downloads" in refused
        assert hasty.ask().startswith(b"HTTP/1.1 200 ")
        ended(hasty, before + THREADS + 1)
        for line in lines:
            assert not read_what_comes(line).endswith(b"0\r\n\r\n")
    assert hasty.ask(get("/download")).endswith(b"0\r\n\r\n")


def test_download_that_fails_is_not_taken_for_a_whole_one(patient: Server) -> None:
    with patient.connect(get("/broken")) as line:
        answer = read_what_comes(line)
    assert answer.startswith(b"HTTP/1.1 200 ") and not answer.endswith(b"0\r\n\r\n")
    assert patient.ask().startswith(b"HTTP/1.1 200 ")


# --- the end --------------------------------------------------------------------------------------------------


def test_request_under_way_is_answered_before_the_server_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "site", 60.0) as server, server.connect(get("/slow")) as line:
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        assert read_all(line).startswith(b"HTTP/1.1 200 ")
        assert server.process.wait(20) == 0
        assert re.search("shutdown completed", (server.folder / "log").read_text())
