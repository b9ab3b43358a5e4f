"""A plain browser for simulated people, without JavaScript and cookies, and the pages as it reads them."""

import http.client
import re
import socket
import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

from django.conf import settings

PATH = re.compile(r"/[as]/[\w-]+/(?:[^/]+~[^/]+/)?(?P<name>[\w-]*)/?(?P<more>[\w-]*)/?(?P<below>[\w-]*)/?$")

# The buttons with which a paste page asks about an answer.
QUESTIONS = ("privacy", "keep", "read", "no_answer")


@dataclass
class Form:
    """One form: its fields' values, what can be chosen, and its submit buttons in order."""

    id: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)


@dataclass
class VisitedPage:
    status: int
    path: str
    forms: list[Form] = field(default_factory=list)
    message: str = ""
    title: str = ""
    code: str = ""
    back: str = ""
    asks: list[str] = field(default_factory=list)
    led_here: bool = False  # by a redirect: the form sent before was accepted

    @property
    def name(self) -> str:
        """`consent`, or the name in the page's own address: `questions`, `prompt`, `item`, `feedback`, `end` …"""
        match = PATH.match(self.path.partition("?")[0])
        return (match["below"] or match["name"] or "consent") if match else ""

    @property
    def number(self) -> int:
        """The number in `…/prompt/5/` or `…/item/5/`; 0 if there is none."""
        match = PATH.match(self.path.partition("?")[0])
        return int(match["more"]) if match and match["more"].isdecimal() else 0

    @property
    def form(self) -> Form | None:
        return next((form for form in self.forms if form.id == "step"), None)

    @property
    def is_practice(self) -> bool:
        """Whether it shows a training item, the only kind that can't be skipped."""
        return self.name == "item" and self.form_to("skip") is None

    def form_to(self, name: str) -> Form | None:
        """The form that leads to the page of this name, such as `undo` or `skip`."""
        return next((form for form in self.forms if form.data.get("action", "").endswith(f"/{name}/")), None)

    def form_with(self, name: str, value: str) -> Form:
        """The form whose button has this name and value, such as one of the two ways to stop."""
        return next(form for form in self.forms if (name, value) in form.buttons)


def read_page(status: int, path: str, html: str) -> VisitedPage:
    reader = PageReader(VisitedPage(status, path))
    reader.feed(html)
    reader.close()
    return reader.page


class PageReader(HTMLParser):
    def __init__(self, page: VisitedPage) -> None:
        super().__init__()
        self.page = page
        self.form: Form | None = None  # that we are in
        self.box = ""  # name of the textarea that we are in
        self.words = ""  # the page's own words that we are in: an attribute of VisitedPage

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.form = Form(given.get("id", ""), data=given)
            self.page.forms.append(self.form)
        elif tag in ("input", "textarea", "button") and self.form:
            self.read_control(tag, given, self.form)
        elif tag == "a" and given.get("class") == "button quiet":
            self.page.back = given["href"]
        if "data-message" in given or tag in ("h1", "code"):
            self.words = {"h1": "title", "code": "code"}.get(tag, "message")

    def read_control(self, tag: str, given: dict[str, str], form: Form) -> None:
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "button":
            if given.get("type", "submit") == "submit":
                form.buttons.append((name, value))
                self.page.asks += [name] if name in QUESTIONS else []
        elif tag == "textarea":
            self.box = name
            form.fields[name] = ""
        elif given.get("type") in ("radio", "checkbox"):
            form.choices.setdefault(name, []).append(value)
            if "checked" in given:
                form.fields[name] = value
        else:
            form.fields[name] = value

    def handle_data(self, data: str) -> None:
        if self.box and self.form:
            self.form.fields[self.box] += data
        elif self.words:
            setattr(self.page, self.words, getattr(self.page, self.words) + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self.form:
            # The line end right after the tag belongs to the markup.
            self.form.fields[self.box] = self.form.fields[self.box].removeprefix("\n")
            self.box = ""
        if tag == "form":
            self.form = None
        if tag in ("p", "h1", "code"):
            self.words = ""


# --- asking the server -----------------------------------------------------------------------------------

REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 8
AWAY = 503
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Unreachable(Exception):
    """No server answers at this address, even after patience."""


class TurnedAway(Exception):
    """The server's abuse limits stopped us."""


class Browser:
    """A browser that repeats a request, with the same form and key, for `patience` seconds if the connection breaks or
    the server says to come back (503); for a sixth of that if the server has never answered.
    """

    def __init__(self, site: str, patience: float = 60, timeout: float = 60) -> None:
        parts = urlsplit(site)
        self.host, self.port = parts.hostname or "", parts.port or 80
        self.headers = headers_of_proxy(self.host)
        self.patience, self.timeout = patience, timeout
        self.connection = self.connect()
        self.requests = 0
        self.waits: list[float] = []

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def close(self) -> None:
        self.connection.close()

    def open(self, path: str) -> VisitedPage:
        return self.follow("GET", path)

    def submit(self, page: VisitedPage, fields: dict[str, str], form: Form | None = None) -> VisitedPage:
        """Send a form of the page, by default that of its step, to where it leads."""
        form = form or page.form
        return self.follow("POST", (form.data.get("action") if form else "") or page.path, fields)

    def follow(self, method: str, path: str, fields: dict[str, str] | None = None) -> VisitedPage:
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
        """Make one request, again if the connection breaks or the server is away; return status, redirect and text."""
        body = encode(fields) if fields is not None else None
        end = time.monotonic() + (self.patience if self.waits else self.patience / 6)
        while True:
            try:
                answer = self.ask_once(method, path, body)
                if answer[0] != AWAY or time.monotonic() > end:
                    return answer
            except (OSError, http.client.HTTPException) as fault:
                self.connection.close()
                if time.monotonic() > end:
                    raise Unreachable(f"{self.host}:{self.port} does not answer: {fault}") from fault
            time.sleep(0.05)

    def ask_once(self, method: str, path: str, body: bytes | None) -> tuple[int, str, str]:
        start = time.perf_counter()
        self.requests += 1
        self.connection.request(method, path, body, self.headers | (FORM if body is not None else {}))
        response = self.connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        self.waits.append(time.perf_counter() - start)
        return response.status, response.headers.get("Location", ""), text

    # --- connections that break ---------------------------------------------------------------------------

    def send_and_hang_up(self, path: str, fields: dict[str, str]) -> None:
        """Send the whole form, and break the line before the answer."""
        self.send_part(path, encode(fields), 1.0)

    def send_half(self, path: str, fields: dict[str, str]) -> None:
        """Break the line in the middle of the form."""
        self.send_part(path, encode(fields), 0.5)

    def send_part(self, path: str, body: bytes, share: float) -> None:
        headers = {"Host": f"{self.host}:{self.port}", "Content-Length": len(body), **self.headers, **FORM}
        head = f"POST {path} HTTP/1.1\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        self.requests += 1
        with socket.create_connection((self.host, self.port), self.timeout) as line:
            line.sendall(head.encode() + body[: int(len(body) * share)])


def headers_of_proxy(host: str) -> dict[str, str]:
    """A proxy's headers to a site with TLS, for requests from its own host: the site answers to its own name only."""
    site = urlsplit(settings.SITE_URL)
    if site.scheme != "https" or host not in ("127.0.0.1", "::1", "localhost"):
        return {}
    return {"Host": site.netloc, "X-Forwarded-Proto": "https"}


def encode(fields: dict[str, str]) -> bytes:
    """Encode fields as browsers do: line ends as CR LF, UTF-8."""
    return urlencode({name: value.replace("\n", "\r\n") for name, value in fields.items()}).encode()
