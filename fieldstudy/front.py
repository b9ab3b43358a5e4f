"""The front of the pages: it takes a request in whole before a thread works on it.

A thread that reads a body waits for its sender, so a few half-sent forms would stop a process. Here the server's event
loop takes bodies in, and threads only work. Nor does a thread wait for slow readers: pages and files are handed to the
server whole; a download, whose end is not known, has a thread besides the others.
"""

import asyncio
import logging
import os
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fcntl import ioctl
from io import BufferedReader, BytesIO
from pathlib import Path
from queue import SimpleQueue
from stat import S_ISSOCK
from tempfile import TemporaryFile
from termios import FIONREAD
from typing import IO, Any

log = logging.getLogger(__name__)
Application = Callable[[dict[str, Any], Callable[..., None]], Iterable[bytes]]

# A body may take PATIENCE seconds and one more for each LEAST_RATE bytes, LONGEST in all.
PATIENCE, LEAST_RATE, LONGEST = 10.0, 4096, 120.0
SMALL, MOST_IN_MEMORY = 2**18, 2**25  # bytes of a body in memory, and of all of them; others go to the disk
LARGEST, MOST_ON_DISK = 2**26, 2**30  # of one body, and of all on the disk
PIECE, STALLED = 2**16, 30.0  # a download ends if nobody takes so many bytes in so many seconds
SWEEP = 1.0
CLOSED = -1
KNOWN = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}

LATE = 408, "This request took too long to arrive. Please send it again."
CUT_SHORT = 400, "This request arrived incomplete. Please send it again."
NO_LENGTH = 411, "Say how long the body is: send it with a Content-Length."
TOO_LARGE = 413, f"This is larger than {LARGEST // 2**20} MB. Please send it in parts."
FULL = 503, "Too much is being sent at this moment. Please send it again in a minute."
MANY_DOWNLOADS = 503, "Too many downloads are under way at this moment. Please try again in a minute."
FAULT = 500, "Something went wrong here. Please try again."


class RefusedRequest(Exception):
    """A refusal, with a status and a sentence for the sender."""


class OpenFile:
    """A file that an application hands over instead of reading it itself (`wsgi.file_wrapper`)."""

    def __init__(self, file: IO[bytes], block_size: int = PIECE) -> None:
        self.file = file

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.file.read(PIECE), b"")

    def close(self) -> None:
        self.file.close()


class Front:
    """A WSGI application behind granian's interface RSGI, served by so many threads."""

    def __init__(self, application: Application, threads: int, folder: Path) -> None:
        self.application, self.threads, self.folder = application, threads, folder
        self.waiting: SimpleQueue[Any] = SimpleQueue()
        self.answered: deque[asyncio.Future[None]] = deque()
        self.downloads = threading.BoundedSemaphore(threads)
        self.in_memory = self.on_disk = 0
        self.common = {
            "SCRIPT_NAME": "",
            "wsgi.errors": sys.stderr,
            "wsgi.file_wrapper": OpenFile,
            "wsgi.multiprocess": True,
            "wsgi.multithread": True,
            "wsgi.run_once": False,
            "wsgi.version": (1, 0),
        }

    # --- in the event loop

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.folder.mkdir(parents=True, exist_ok=True)
        for _ in range(self.threads):
            self.start_thread()
        self.sweep()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(self.threads):
            self.waiting.put(None)

    def sweep(self) -> None:
        self.settle()
        self.loop.call_later(SWEEP, self.sweep)

    def settle(self) -> None:
        """Mark answered requests as done, all at once: waking the loop for each would cost as much as calling it."""
        while self.answered:
            done = self.answered.popleft()
            if not done.done():
                done.set_result(None)

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        self.settle()
        headers = scope.headers
        try:
            size = expected(headers)
            if not size:
                await self.work(scope, protocol, BytesIO(), 0)
            elif size <= SMALL and self.in_memory + size <= MOST_IN_MEMORY:
                await self.take_in_memory(scope, protocol, size)
            else:
                await self.take_on_disk(scope, protocol, size)
        except RefusedRequest as refused:
            refuse(protocol, *refused.args)

    async def take_in_memory(self, scope: Any, protocol: Any, size: int) -> None:
        self.in_memory += size
        try:
            try:
                async with asyncio.timeout(PATIENCE + size / LEAST_RATE):
                    body = await protocol()
            except TimeoutError:
                raise RefusedRequest(*LATE) from None
            except RuntimeError:  # the line broke
                raise RefusedRequest(*CUT_SHORT) from None
            await self.work(scope, protocol, BytesIO(body), size)
        finally:
            self.in_memory -= size

    async def take_on_disk(self, scope: Any, protocol: Any, size: int) -> None:
        begun, received = self.loop.time(), 0
        with TemporaryFile(dir=self.folder) as file:
            try:
                async with asyncio.timeout(PATIENCE) as limit:
                    async for chunk in protocol:
                        if self.on_disk + len(chunk) > MOST_ON_DISK:
                            raise RefusedRequest(*FULL)
                        received += file.write(chunk)
                        self.on_disk += len(chunk)
                        limit.reschedule(begun + min(PATIENCE + received / LEAST_RATE, LONGEST))
                if received != size:
                    raise RefusedRequest(*CUT_SHORT)
                file.seek(0)
                await self.work(scope, protocol, file, size)
            except TimeoutError:
                raise RefusedRequest(*LATE) from None
            finally:
                self.on_disk -= received

    async def work(self, scope: Any, protocol: Any, body: IO[bytes], size: int) -> None:
        done = self.loop.create_future()
        self.waiting.put((scope, protocol, body, size, done))
        await done

    # --- in a thread

    def start_thread(self) -> None:
        threading.Thread(target=self.serve, name="request", daemon=True).start()

    def serve(self) -> None:
        while (request := self.waiting.get()) is not None:
            *about, done = request
            replaced = self.answer(*about)
            self.answered.append(done)
            if replaced:
                return

    def answer(self, scope: Any, protocol: Any, body: IO[bytes], size: int) -> bool:
        """Answer a request; return whether another thread has taken this one's place meanwhile."""
        started: list[Any] = []
        replaced = False

        def start_response(status: str, headers: list[tuple[str, str]], fault: Any = None) -> None:
            started[:] = int(status[:3]), headers

        try:
            result = self.application(self.environ(scope, body, size), start_response)
            try:
                if isinstance(result, OpenFile) and type(result.file) is BufferedReader:
                    protocol.response_file(*started, result.file.name)
                elif isinstance(result, OpenFile) or not getattr(result, "streaming", not isinstance(result, list)):
                    protocol.response_bytes(*started, b"".join(result))
                elif scope.method == "HEAD":
                    protocol.response_empty(*started)
                elif replaced := self.downloads.acquire(blocking=False):
                    self.start_thread()
                    download(result, scope.client, protocol, *started)
                else:
                    refuse(protocol, *MANY_DOWNLOADS)
            finally:
                if close := getattr(result, "close", None):
                    close()
        except BaseException:  # the thread goes on
            log.exception("A request failed")
            refuse(protocol, *FAULT)
        if replaced:
            self.downloads.release()
        return replaced

    def environ(self, scope: Any, body: IO[bytes], size: int) -> dict[str, Any]:
        host, _, port = scope.server.rpartition(":")
        environ = self.common | {
            "REQUEST_METHOD": scope.method,
            "PATH_INFO": scope.path.encode().decode("latin-1"),
            "QUERY_STRING": scope.query_string,
            "SERVER_NAME": host,
            "SERVER_PORT": port,
            "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
            "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
            "wsgi.url_scheme": scope.scheme,
            "wsgi.input": body,
            "HTTP_HOST": scope.authority or "",
        }
        headers: dict[str, str] = {}
        for name, value in scope.headers.items():
            if "_" not in name:  # else X_Forwarded_For would be taken for what a proxy says
                given = headers.get(name)
                joined = "; " if name == "cookie" else ","
                headers[name] = value if given is None else f"{given}{joined}{value}"
        for name, value in headers.items():
            environ[KNOWN.get(name) or "HTTP_" + name.upper().replace("-", "_")] = value
        environ["CONTENT_LENGTH"] = str(size) if size else ""
        return environ


def expected(headers: Any) -> int:
    """Bytes of the body. Raises RefusedRequest for too many, and without a length: it could be cut short."""
    length = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not length.isdecimal():
        raise RefusedRequest(*NO_LENGTH)
    if int(length) > LARGEST:
        raise RefusedRequest(*TOO_LARGE)
    return int(length)


def refuse(protocol: Any, status: int, sentence: str) -> None:
    """Refuse, unless an answer has begun, and close the line: the rest of the body would be read as a request."""
    headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
    if status == 503:
        headers.append(("retry-after", "60"))
    protocol.response_str(status, headers, f"{sentence}\n")


def download(chunks: Iterable[bytes], client: str, protocol: Any, status: int, headers: list[tuple[str, str]]) -> None:
    """Answer through a pipe: the server reads it no faster than its client does, and it breaks if nobody reads on."""
    made = filter(None, chunks)
    if (first := next(made, None)) is None:
        protocol.response_empty(status, headers)
        return
    with Pipe() as pipe:
        protocol.response_file(status, headers, f"/dev/fd/{pipe.reader}")
        try:
            pipe.write(first)
            pipe.let_go()
            for chunk in made:
                pipe.write(chunk)
        except BrokenPipeError:
            return
        except BaseException as fault:
            hang_up(client)  # a pipe that merely ends would be taken for the end of a whole file
            if not isinstance(fault, TimeoutError):
                raise


class Pipe:
    """A pipe whose reading end somebody else opens by its name."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self.room = select.poll()
        self.room.register(self.writer, select.POLLOUT)

    def __enter__(self) -> "Pipe":
        return self

    def __exit__(self, *fault: object) -> None:
        for end in {self.reader, self.writer} - {CLOSED}:
            os.close(end)

    def write(self, chunk: bytes) -> None:
        for at in range(0, len(chunk), PIECE):
            piece, end = memoryview(chunk)[at : at + PIECE], time.monotonic() + STALLED
            while piece:
                if not self.room.poll(1000 * max(0.0, end - time.monotonic())):
                    raise TimeoutError
                with suppress(BlockingIOError):
                    piece = piece[os.write(self.writer, piece) :]

    def let_go(self) -> None:
        """Close our reading end once the other side has opened it and read; then the pipe breaks when theirs closes."""
        end, written = time.monotonic() + STALLED, self.filled()
        while written and self.filled() == written:
            if time.monotonic() > end:
                raise TimeoutError
            time.sleep(0.001)
        os.close(self.reader)
        self.reader = CLOSED

    def filled(self) -> int:
        return int.from_bytes(ioctl(self.writer, FIONREAD, bytes(4)), sys.byteorder)


def hang_up(client: str) -> None:
    """Break the line to this address and port."""
    host, _, port = client.rpartition(":")
    for number in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):
            if S_ISSOCK(os.fstat(number).st_mode):
                with socket.socket(fileno=os.dup(number)) as line:
                    if line.getpeername()[:2] == (host.strip("[]"), int(port)):
                        line.shutdown(socket.SHUT_RDWR)
