"""A mock of Prolific, its books and the server: `python -m surveys.prolific.mock.server --port 8095 --books FILE`."""

import argparse
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PAGE_SIZE = 20
# Faults of calls by name. Those in AFTER come once the call has been carried out.
FAULTS = ("429", "403", "500", "timeout", "huge", "html", "500-after", "timeout-after")
AFTER = ("500-after", "timeout-after")
HUGE = 11_000_000


@dataclass
class MockSubmission:
    """A submission at the mock; `paid` is the reward or screen-out pay, `bonuses` each bonus, all in cents."""

    id: str
    study_id: str
    participant_id: str
    status: str = "ACTIVE"
    entered_code: str = ""
    started_at: str = "2026-11-01T10:00:00Z"
    completed_at: str | None = None
    paid: int = 0
    bonuses: list[int] = field(default_factory=list)
    return_requested: str | None = None

    @property
    def received(self) -> int:
        return self.paid + sum(self.bonuses)


@dataclass(frozen=True)
class MockReply:
    status: int
    content: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    dropped: bool = False  # the connection ends without an answer


class Books:
    """The state of the mock; every call is answered under one lock.

    `faults` are shares by name, drawn by the seed for calls that `at` matches; `order_fault` puts one before the next
    call that it matches. `lag` is how many lists are read before a payment shows, as Prolific pays minutes later.
    `as_strings` writes numbers as texts, and `endless` links a page after the last one.
    """

    def __init__(self, token: str = "mock", seed: int = 0, path: Path | None = None) -> None:
        self.token, self.path, self.random = token, path, Random(seed)
        self.faults: dict[str, float] = {}
        self.at = r"."
        self.lag, self.as_strings, self.endless = 0, False, False
        self.ordered: list[tuple[str, str]] = []
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, MockSubmission] = {}
        self.prepared: dict[str, dict[str, Any]] = {}
        self.waiting: list[tuple[int, dict[str, int]]] = []
        self.groups: dict[str, dict[str, Any]] = {}
        self.messages: list[dict[str, Any]] = []
        self.calls: Counter[str] = Counter()
        self.lists = 0
        self.lock = threading.RLock()
        if path and path.exists():
            self.load(json.loads(path.read_text()))

    # --- events at Prolific itself

    def add_study(self, study: str, reward: int = 200, **changes: Any) -> dict[str, Any]:
        made = {"id": study, "name": "A study", "status": "ACTIVE", "reward": reward, "currency_code": "USD"}
        self.studies[study] = made | {"total_available_places": 100, "workspace": "w1"} | changes
        return self.studies[study]

    def add_submission(self, submission: str, study: str, participant: str, **changes: Any) -> MockSubmission:
        self.submissions[submission] = MockSubmission(submission, study, participant, **changes)
        return self.submissions[submission]

    def complete(self, submission: str, code: str) -> None:
        found = self.submissions[submission]
        found.status, found.entered_code = "AWAITING REVIEW", code
        found.completed_at = datetime.now(UTC).isoformat()

    def give_back(self, submission: str) -> None:
        """Return the submission as its person would, even after completing it."""
        self.submissions[submission].status = "RETURNED"

    def total(self) -> int:
        """The cents that people have received in all."""
        return sum(each.received for each in self.submissions.values())

    def order_fault(self, name: str, at: str = ".", times: int = 1) -> None:
        self.ordered += [(name, at)] * times

    # --- calls

    def answer(
        self, method: str, path: str, query: Mapping[str, str], content: Any, token: str, site: str
    ) -> MockReply:
        """Answer one call as the API does; `site` is the address that links begin with."""
        with self.lock:
            self.calls[f"{method} {re.sub(r'/[0-9a-f-]{8,}/', '/:id/', path)}"] += 1
            if token != f"Token {self.token}":
                return refuse(401, "Invalid token.")
            fault = self.draw_fault(f"{method} {path}")
            if fault and fault not in AFTER:
                return self.fail(fault)
            try:
                reply = self.carry_out(method, path.strip("/").split("/"), query, content or {}, site)
            except (KeyError, ValueError, TypeError) as error:
                reply = refuse(400, f"{type(error).__name__}: {error}")
            self.save()
            return self.fail(fault) if fault else reply

    def draw_fault(self, call: str) -> str:
        for number, (name, at) in enumerate(self.ordered):
            if re.search(at, call):
                del self.ordered[number]
                return name
        dice, share = self.random.random(), 0.0
        for name, part in self.faults.items() if re.search(self.at, call) else ():
            share += part
            if dice < share:
                return name
        return ""

    def fail(self, fault: str) -> MockReply:
        if fault == "429":
            return MockReply(429, {"error": {"detail": "Too many requests."}}, {"Retry-After": "1"})
        if fault == "403":
            return refuse(403, "You do not have permission to do this.")
        if fault.startswith("timeout"):
            return MockReply(0, None, dropped=True)
        if fault == "huge":
            return MockReply(200, {"results": ["x" * HUGE]})
        return MockReply(200, "<html>Sorry</html>") if fault == "html" else refuse(500, "Something went wrong.")

    def carry_out(self, method: str, parts: list[str], query: Mapping[str, str], content: Any, site: str) -> MockReply:
        match (method, *parts):
            case ("GET", "submissions"):
                return self.list_submissions(query, site)
            case ("GET", "submissions", name) if name in self.submissions:
                return MockReply(200, self.shown(self.submissions[name]))
            case ("POST", "submissions", "bulk-approve"):
                return self.approve(content["submission_ids"])
            case ("POST", "submissions", "bonus-payments"):
                return self.prepare(content["study_id"], content["csv_bonuses"])
            case ("POST", "bulk-bonus-payments", name, "pay") if name in self.prepared:
                return self.pay(name)
            case ("POST", "submissions", name, "request-return") if name in self.submissions:
                self.submissions[name].return_requested = datetime.now(UTC).isoformat()
                return MockReply(200, self.shown(self.submissions[name]))
            case ("POST", "studies", name, "screen-out-submissions") if name in self.studies:
                return self.screen_out(name, content)
            case ("GET", "studies", name) if name in self.studies:
                return MockReply(200, self.numbers(self.studies[name]))
            case ("PATCH", "studies", name) if self.studies.get(name, {}).get("status") == "UNPUBLISHED":
                self.studies[name] |= content
                return MockReply(200, self.numbers(self.studies[name]))
            case ("POST", "studies", name, "transition") if self.studies.get(name, {}).get("status") == "UNPUBLISHED":
                self.studies[name]["status"] = "ACTIVE"
                return MockReply(200, self.numbers(self.studies[name]))
            case ("GET", "studies"):
                return MockReply(200, {"results": [self.numbers(each) for each in self.studies.values()]})
            case ("POST", "studies"):
                return MockReply(
                    201, self.add_study(f"{len(self.studies) + 0xD0:024x}", **content, status="UNPUBLISHED")
                )
            case ("GET", "participant-groups"):
                mine = [each for each in self.groups.values() if each["workspace_id"] == query["workspace_id"]]
                return MockReply(200, {"results": mine})
            case ("POST", "participant-groups"):
                name = f"{len(self.groups) + 0xE0:024x}"
                self.groups[name] = {"members": [], **content, "id": name}
                return MockReply(201, self.groups[name])
            case (_, "participant-groups", name, "participants") if name in self.groups:
                return self.change_group(method, self.groups[name]["members"], content)
            case ("POST", "messages"):
                self.messages.append(content)
                return MockReply(204, {})
        return refuse(404, "Not found.")

    def change_group(self, method: str, members: list[str], content: Mapping[str, Any]) -> MockReply:
        named = content["participant_ids"] if method != "GET" else []
        members[:] = [each for each in members if each not in named] + (named if method == "POST" else [])
        return MockReply(200, {"results": [{"participant_id": each} for each in members]})

    def list_submissions(self, query: Mapping[str, str], site: str) -> MockReply:
        if query["study"] not in self.studies:
            return refuse(404, "Not found.")
        page, size = int(query.get("page", 1)), int(query.get("page_size", PAGE_SIZE))
        if page == 1:
            self.lists += 1
            self.settle()
        mine = [each for each in self.submissions.values() if each.study_id == query["study"]]
        rows, is_last = mine[(page - 1) * size : page * size], page * size >= len(mine)
        if page > 1 and not rows:
            return refuse(404, "Invalid page.")
        address = f"{site}submissions/?study={query['study']}&page={page + 1}&page_size={size}"
        links = {"next": {"href": None if is_last and not self.endless else address}}
        return MockReply(200, {"results": [self.shown(each) for each in rows], "_links": links})

    def shown(self, submission: MockSubmission) -> dict[str, Any]:
        parts = {**asdict(submission), "reward": self.studies[submission.study_id]["reward"]}
        parts["bonus_payments"] = parts.pop("bonuses")
        del parts["paid"]
        return self.numbers(parts)

    def numbers(self, parts: dict[str, Any]) -> dict[str, Any]:
        if not self.as_strings:
            return parts
        return {
            name: [str(each) for each in value]
            if name == "bonus_payments"
            else str(value)
            if name in ("reward", "total_available_places", "estimated_completion_time")
            else value
            for name, value in parts.items()
        }

    # --- money

    def approve(self, names: list[str]) -> MockReply:
        if unknown := [name for name in names if name not in self.submissions]:
            return refuse(400, f"Unknown submissions: {unknown[:3]}")
        for name in names:
            found = self.submissions[name]
            if found.status == "AWAITING REVIEW":
                found.status, found.paid = "APPROVED", self.studies[found.study_id]["reward"]
        return MockReply(200, {"message": "Bulk approve in progress."})

    def screen_out(self, study: str, content: Mapping[str, Any]) -> MockReply:
        cents = round(float(content["bonus_per_submission"]) * 100)
        for name in content["submission_ids"]:
            found = self.submissions[name]
            if found.study_id == study and found.status == "AWAITING REVIEW":
                found.status, found.paid = "SCREENED OUT", cents
        return MockReply(200, {})

    def prepare(self, study: str, lines: str) -> MockReply:
        amounts: dict[str, int] = {}
        for line in lines.splitlines():
            name, _, amount = line.partition(",")
            if name not in self.submissions or self.submissions[name].study_id != study:
                return refuse(400, f"Not in this study: {name}")
            amounts[name] = amounts.get(name, 0) + round(float(amount) * 100)
        prepared = f"{len(self.prepared) + 1:024x}"
        self.prepared[prepared] = {"study": study, "amounts": amounts}
        total = sum(amounts.values())
        return MockReply(201, {"id": prepared, "study": study, "amount": total, "fees": -(-total // 3)})

    def pay(self, prepared: str) -> MockReply:
        """Pay each time that this is called, as Prolific does."""
        self.waiting.append((self.lists + self.lag, self.prepared[prepared]["amounts"]))
        if not self.lag:
            self.settle()
        return MockReply(202, {"message": "Bonus payments are being made."})

    def settle(self) -> None:
        """Show the payments whose time has come."""
        due = [amounts for at, amounts in self.waiting if at <= self.lists]
        self.waiting = [entry for entry in self.waiting if entry[0] > self.lists]
        for amounts in due:
            for name, cents in amounts.items():
                self.submissions[name].bonuses.append(cents)

    # --- a rehearsal goes on where it was

    def save(self) -> None:
        if self.path:
            rows = [asdict(each) for each in self.submissions.values()]
            state = {"studies": self.studies, "submissions": rows, "prepared": self.prepared, "groups": self.groups}
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(state | {"messages": self.messages}))
            new.replace(self.path)

    def load(self, state: Mapping[str, Any]) -> None:
        self.studies, self.prepared = dict(state["studies"]), dict(state["prepared"])
        self.groups, self.messages = dict(state["groups"]), list(state["messages"])
        self.submissions = {row["id"]: MockSubmission(**row) for row in state["submissions"]}


def refuse(status: int, detail: str) -> MockReply:
    return MockReply(status, {"error": {"status": status, "detail": detail}})


PREFIX = "/api/v1/"
MOCK_PORT = 8095


def handler_of(books: Books) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            parts = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            site = f"http://{self.headers['Host']}{PREFIX}"
            path, query = parts.path.removeprefix(PREFIX), dict(parse_qsl(parts.query))
            content, token = json.loads(sent) if sent else None, self.headers.get("Authorization", "")
            reply = books.answer(self.command, path, query, content, token, site)
            if reply.dropped:
                self.close_connection = True
                return
            body = b"" if reply.status == 204 else json.dumps(reply.content).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # the client has read enough
                self.close_connection = True

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - as http.server calls them

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def served(books: Books) -> Iterator[str]:
    """Serve the API while the block runs; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(books))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{PREFIX}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=MOCK_PORT)
    parser.add_argument("--books", type=Path, help="keeps what happened in this file")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), handler_of(Books(path=options.books)))
    print(f"http://127.0.0.1:{options.port}{PREFIX}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
