"""A plain browser for made-up people: one connection kept open, redirects followed by hand, no cookies."""

import http.client
import socket
import time
from urllib.parse import urlencode, urlsplit

from surveys.simulation.page import Form, Page, read_page

REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 8
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Unreachable(Exception):
    """No server answers at this address, also after patience."""


class TurnedAway(Exception):
    """The server's abuse limits stopped us."""


class Browser:
    """`patience`: for how many seconds a broken connection is tried again, with the same form and its key."""

    def __init__(self, site: str, patience: float = 10, timeout: float = 60) -> None:
        parts = urlsplit(site)
        self.host, self.port = parts.hostname or "", parts.port or 80
        self.patience, self.timeout = patience, timeout
        self.connection = self.connect()
        self.requests = 0
        self.waits: list[float] = []

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def close(self) -> None:
        self.connection.close()

    def open(self, path: str) -> Page:
        return self.follow("GET", path)

    def submit(self, page: Page, fields: dict[str, str], form: Form | None = None) -> Page:
        """Send a form of the page, the one of its step when none is named, to where it leads."""
        form = form or page.form
        return self.follow("POST", (form.data.get("action") if form else "") or page.path, fields)

    def follow(self, method: str, path: str, fields: dict[str, str] | None = None) -> Page:
        """The page at the end of the redirects; its path is the address that the person then sees."""
        for hop in range(MOST_REDIRECTS):
            status, target, html = self.ask(method, path, fields)
            if status == 429:
                raise TurnedAway(f"{path} answered 429")
            if status not in REDIRECTS:
                page = read_page(status, path, html)
                page.led_here = hop > 0
                return page
            method, path, fields = "GET", target, None
        raise Unreachable(f"{path} redirects for ever.")

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, str]:
        """One request: status, where it leads, the text. A connection that breaks is opened and tried again."""
        body = encode(fields) if fields is not None else None
        end = time.monotonic() + self.patience
        while True:
            try:
                return self.ask_once(method, path, body)
            except (OSError, http.client.HTTPException) as fault:
                self.connection.close()
                if time.monotonic() > end:
                    raise Unreachable(f"{self.host}:{self.port} does not answer: {fault}") from fault
                time.sleep(0.05)

    def ask_once(self, method: str, path: str, body: bytes | None) -> tuple[int, str, str]:
        start = time.perf_counter()
        self.requests += 1
        self.connection.request(method, path, body, FORM if body is not None else {})
        response = self.connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        self.waits.append(time.perf_counter() - start)
        return response.status, response.headers.get("Location", ""), text

    # --- connections that break ---------------------------------------------------------------------------

    def send_and_hang_up(self, path: str, fields: dict[str, str]) -> None:
        """The whole form goes out, and the line breaks before the answer."""
        self.send_part(path, encode(fields), 1.0)

    def send_half(self, path: str, fields: dict[str, str]) -> None:
        """The line breaks in the middle of the form."""
        self.send_part(path, encode(fields), 0.5)

    def send_part(self, path: str, body: bytes, share: float) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in FORM.items()) + "\r\n"
        self.requests += 1
        with socket.create_connection((self.host, self.port), self.timeout) as line:
            line.sendall(head.encode() + body[: int(len(body) * share)])


def encode(fields: dict[str, str]) -> bytes:
    """As browsers do: line ends as CR LF, UTF-8."""
    return urlencode({name: value.replace("\n", "\r\n") for name, value in fields.items()}).encode()
