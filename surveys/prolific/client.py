"""Prolific's API: few calls with typed answers, patient with a busy server, silent about the token."""

import json
import os
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import httpx2
from django.conf import settings

from surveys.models import ProlificStudy, Submission
from surveys.reading.nesting import read_json

LARGEST_REPLY = 10_000_000  # bytes
MOST_PAGES = 1_000
PAGE_SIZE = 100
TRIES = 5
LONGEST_WAIT = 60.0  # seconds before another try, whatever the server asks for
LONGEST_CALL = 60.0  # seconds for one reply as a whole
BUSY = {429, 500, 502, 503, 504}
CERTAIN = {400, 401, 403, 404}  # a payment answered by one of these did not happen
ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
T = TypeVar("T")
MOST_APPROVED_AT_ONCE = 500  # Prolific recommends at most 1,000


class ProlificError(Exception):
    """A call that failed; the message says why and what to do."""


class Refused(ProlificError):
    """Prolific understood the call and said no: nothing has happened."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Unsent(ProlificError):
    """The call never left, so nothing has happened."""


class Unsure(ProlificError):
    """The call left and no clear answer came back: it may have happened."""


# --- reading replies ----------------------------------------------------------


def read_cents(value: Any) -> int:
    """Whole cents from 850, 850.0 or "850". Raises ValueError for all else: 8.5 may be dollars."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value):
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**9 and value == int(value):
        return int(value)
    raise ValueError(f"{str(value)[:40]!r} is no number of cents")


def read_text(value: Any, longest: int = 64) -> str:
    """A short text; empty for null. Raises ValueError for anything but text."""
    if value is None:
        return ""
    if not isinstance(value, str) or "\x00" in value:
        raise ValueError(f"{str(value)[:40]!r} is no text")
    return value[:longest]


def read_id(value: Any) -> str:
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise ValueError(f"{str(value)[:40]!r} is no id")
    return value


def read_time(value: Any) -> datetime | None:
    if value is None or value == "":
        return None
    at = datetime.fromisoformat(read_text(value))
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def read_study(raw: Mapping[str, Any]) -> ProlificStudy:
    """A study as its row will be, but without our study that it belongs to."""
    return ProlificStudy(
        prolific_id=read_id(raw.get("id")),
        status=read_text(raw.get("status"), 20),
        reward=read_cents(raw.get("reward")),
        currency=read_text(raw.get("currency_code"), 3),
        places=read_cents(raw.get("total_available_places") or 0),
    )


def read_submission(raw: Mapping[str, Any]) -> Submission:
    """A submission as its row will be, from an entry of a list or a single one, which name some parts differently.

    `reward` and `bonus` are None if the reply has none.
    """
    paid = raw.get("bonus_payments")
    return Submission(
        submission_id=read_id(raw.get("id")),
        pid=read_id(raw.get("participant_id") or raw.get("participant")),
        status=read_text(raw.get("status"), 20),
        started_at=read_time(raw.get("started_at")),
        completed_at=read_time(raw.get("completed_at")),
        code=read_text(raw.get("entered_code") or raw.get("study_code")),
        reward=None if raw.get("reward") is None else read_cents(raw["reward"]),
        bonus=None if paid is None else sum(read_cents(cents) for cents in paid),
    )


# --- calling ------------------------------------------------------------------


def token() -> str:
    """The token, from its environment variable only. Raises ProlificError if that is empty."""
    value = os.environ.get(settings.PROLIFIC_TOKEN_VARIABLE, "").strip()
    if not value:
        raise ProlificError(
            f"{settings.PROLIFIC_TOKEN_VARIABLE}, the environment variable with Prolific's token, is not set here. "
            "Set it where the web server and the worker run."
        )
    return value


@cache
def trusted() -> ssl.SSLContext:
    """The trusted certificates, read once in a process: reading them takes longer than many calls."""
    return httpx2.create_ssl_context()


class ProlificClient:
    """One connection to Prolific's API; use it in a `with` statement.

    Calls that may be sent twice are tried again when the server is busy, after the time that it asks for. Others, such
    as the payment of a bonus, are sent once: they raise Unsure if nobody can know whether they happened.
    """

    def __init__(
        self, base: str = "", sleep: Callable[[float], None] = time.sleep, patience: float = 20.0, tries: int = TRIES
    ) -> None:
        self.base = (base or settings.PROLIFIC_API).rstrip("/") + "/"
        self._sleep, self._secret, self._tries = sleep, token(), tries
        headers = {"Authorization": f"Token {self._secret}", "Accept": "application/json"}
        self._http = httpx2.Client(headers=headers, timeout=patience, follow_redirects=False, verify=trusted())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._http.close()

    # studies and submissions

    def study(self, study: str) -> ProlificStudy:
        return self._read(read_study, self._call("GET", f"studies/{read_id(study)}/"))

    def submissions(self, study: str) -> Iterator[Submission]:
        """All submissions of a study. A page past the last one, which Prolific answers with 404, ends the list."""
        query = {"study": read_id(study), "page": 1, "page_size": PAGE_SIZE}
        return (self._read(read_submission, entry) for entry in self._pages("submissions/?" + urlencode(query)))

    def _pages(self, path: str) -> Iterator[Any]:
        """Yield the entries of a list, page after page."""
        address, seen = self.base + path, set[str]()
        while address and address not in seen and len(seen) < MOST_PAGES:
            try:
                page = self._call("GET", address)
            except Refused as refusal:
                if refusal.status == 404 and seen:
                    return
                raise
            seen.add(address)
            results = page.get("results")
            if not isinstance(results, list):
                raise ProlificError("Prolific sent a list without results.")
            yield from results
            address = self._next_page(page)

    def submission(self, submission: str) -> Submission:
        return self._read(read_submission, self._call("GET", f"submissions/{read_id(submission)}/"))

    def _next_page(self, page: Mapping[str, Any]) -> str:
        """The address of the next page, empty after the last; the token goes nowhere but to the API that is set."""
        links = page.get("_links")
        following = links.get("next") if isinstance(links, dict) else None
        address = following.get("href") if isinstance(following, dict) else following
        if not address:
            return ""
        if not isinstance(address, str) or not address.startswith(self.base):
            raise ProlificError("Prolific's list goes on at another address than the API's, so it was not followed.")
        return address

    # decisions

    def approve(self, submissions: Iterable[str]) -> None:
        """Approve submissions; doing it again changes nothing."""
        ids = [read_id(name) for name in submissions]
        for first in range(0, len(ids), MOST_APPROVED_AT_ONCE):
            self._call("POST", "submissions/bulk-approve/", {"submission_ids": ids[first:][:MOST_APPROVED_AT_ONCE]})

    def ask_to_return(self, submission: str, reason: str) -> None:
        self._call("POST", f"submissions/{read_id(submission)}/request-return/", {"request_return_reasons": [reason]})

    def screen_out(self, study: str, submissions: Iterable[str], cents: int) -> None:
        """Pay for a screen-out. Sent once: it may raise Unsure."""
        content = {"submission_ids": [read_id(name) for name in submissions], "increase_places": False}
        content |= {"bonus_per_submission": f"{cents / 100:.2f}"}
        self._call("POST", f"studies/{read_id(study)}/screen-out-submissions/", content, once=True)

    def prepare_bonus(self, study: str, amounts: Mapping[str, int]) -> str:
        """Set up bonuses in cents by submission, which pays nobody yet; return the id to pay them by."""
        lines = [f"{read_id(name)},{cents // 100}.{cents % 100:02}" for name, cents in amounts.items()]
        content = {"study_id": read_id(study), "csv_bonuses": "\n".join(lines)}
        prepared = self._call("POST", "submissions/bonus-payments/", content)
        amount = prepared.get("amount")
        if amount is not None and self._read(lambda raw: read_cents(raw["amount"]), prepared) != sum(amounts.values()):
            raise ProlificError("Prolific understood other amounts than were sent, so nothing was paid.")
        return self._id_in(prepared)

    def pay_bonus(self, prepared: str) -> None:
        """Pay what `prepare_bonus` set up. Sent once, because a second call would pay a second time."""
        self._call("POST", f"bulk-bonus-payments/{read_id(prepared)}/pay/", once=True)

    # set-up, groups and messages

    def content_of(self, study: str) -> dict[str, Any]:
        """Everything that Prolific says about a study."""
        return self._call("GET", f"studies/{read_id(study)}/")

    def studies_called(self, internal_name: str) -> list[str]:
        """Ids of the studies with this internal name, the oldest first."""
        found = [each for each in self._pages("studies/") if isinstance(each, dict)]
        return [self._id_in(each) for each in found if each.get("internal_name") == internal_name]

    def make_study(self, content: Mapping[str, Any]) -> str:
        """Make a draft study; return its id. Sent once: it may raise Unsure, and a second call makes another study."""
        made = self._call("POST", "studies/", dict(content), once=True)
        try:
            return read_id(made.get("id"))
        except ValueError:
            raise Unsure("Prolific's answer names no study.") from None

    def change_study(self, study: str, content: Mapping[str, Any]) -> None:
        self._call("PATCH", f"studies/{read_id(study)}/", dict(content))

    def publish(self, study: str) -> None:
        """Publish a draft, which spends money. Sent once: it may raise Unsure."""
        self._call("POST", f"studies/{read_id(study)}/transition/", {"action": "PUBLISH"}, once=True)

    def groups_called(self, name: str, workspace: str) -> list[str]:
        path = "participant-groups/?" + urlencode({"workspace_id": read_id(workspace)})
        found = [each for each in self._pages(path) if isinstance(each, dict)]
        return [self._id_in(each) for each in found if each.get("name") == name]

    def make_group(self, name: str, workspace: str) -> str:
        content = {"name": name, "workspace_id": read_id(workspace)}
        return self._id_in(self._call("POST", "participant-groups/", content, once=True))

    def members(self, group: str) -> set[str]:
        rows = self._pages(f"participant-groups/{read_id(group)}/participants/")
        return {self._id_in(row, "participant_id") for row in rows}

    def change_members(self, group: str, add: Iterable[str], remove: Iterable[str]) -> None:
        """Add and remove members; doing it again changes nothing."""
        for method, people in (("POST", list(add)), ("DELETE", list(remove))):
            for first in range(0, len(people), MOST_APPROVED_AT_ONCE):
                ids = [read_id(name) for name in people[first:][:MOST_APPROVED_AT_ONCE]]
                self._call(method, f"participant-groups/{read_id(group)}/participants/", {"participant_ids": ids})

    def write(self, participant: str, study: str, words: str) -> None:
        """Send a message. Sent once: it may raise Unsure, and a second call would send it twice."""
        content = {"recipient_id": read_id(participant), "study_id": read_id(study), "body": words}
        self._call("POST", "messages/", content, once=True)

    # sending

    def _read(self, reader: Callable[[Any], T], raw: Any) -> T:
        try:
            return reader(raw)
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise ProlificError(f"Prolific's reply was not understood: {self._clean(str(fault))}") from None

    def _id_in(self, raw: Any, key: str = "id") -> str:
        return self._read(lambda found: read_id(found[key]), raw)

    def _call(self, method: str, path: str, content: Any = None, once: bool = False) -> dict[str, Any]:
        tries = 1 if once else self._tries
        for number in range(1, tries + 1):
            try:
                status, headers, body = self._send(method, path, content)
            except (Unsent, Unsure):
                if number == tries:
                    raise
                self._sleep(min(2.0**number, LONGEST_WAIT))
                continue
            if status not in BUSY:
                return self._answer(status, body, once)
            if number < tries:
                self._sleep(wait_for(headers, number))
        fault = f"Prolific is busy or out of order ({status})."
        raise Unsure(fault) if once else ProlificError(f"{fault} Nothing was changed here; try again later.")

    def _send(self, method: str, path: str, content: Any) -> tuple[int, Mapping[str, str], bytes]:
        address = path if path.startswith(self.base) else self.base + path
        end, body = time.monotonic() + LONGEST_CALL, bytearray()
        try:
            with self._http.stream(method, address, json=content) as reply:
                for part in reply.iter_bytes():
                    body += part
                    if len(body) > LARGEST_REPLY:
                        raise Unsure("Prolific's reply is longer than 10 MB and was not read.")
                    if time.monotonic() > end:
                        raise Unsure("Prolific's reply took longer than a minute.")
                return reply.status_code, reply.headers, bytes(body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            raise Unsent(f"{urlsplit(self.base).hostname} cannot be reached.") from None
        except httpx2.HTTPError as fault:
            raise Unsure(f"No whole answer came from Prolific ({type(fault).__name__}).") from None

    def _answer(self, status: int, body: bytes, once: bool) -> dict[str, Any]:
        try:
            content = read_json(body) if body.strip() else {}
        except ValueError:
            content = None
        if once and status >= 400 and status not in CERTAIN:
            raise Unsure(self._say_refusal(status, content))
        if status >= 400:
            raise Refused(status, self._say_refusal(status, content))
        if 200 <= status < 300 and once:
            return content if isinstance(content, dict) else {}
        if not 200 <= status < 300 or not isinstance(content, dict):
            raise (Unsure if once else ProlificError)(f"Prolific's reply ({status}) was not understood.")
        return content

    def _say_refusal(self, status: int, content: Any) -> str:
        if status in (401, 403):
            return (
                f"Prolific refused the token ({status}). Check that the one in {settings.PROLIFIC_TOKEN_VARIABLE} is "
                "valid and belongs to the workspace of this study."
            )
        if status == 404:
            return "Prolific does not know this study or submission, or this token may not see it (404)."
        error = content.get("error") if isinstance(content, dict) else None
        detail = error.get("detail") if isinstance(error, dict) else error
        return f"Prolific refused ({status}): {self._clean(json.dumps(detail))}"

    def _clean(self, words: str) -> str:
        """Shorten a reply's words, and remove the token if they contain it."""
        return words.replace(self._secret, "…")[:300]


def wait_for(headers: Mapping[str, str], number: int) -> float:
    """Seconds before the next try: what `Retry-After` asks for, in seconds or as a date, else doubling each time."""
    asked = headers.get("Retry-After", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            seconds = 2.0**number
    return min(max(seconds, 0.0), LONGEST_WAIT)
