"""An OpenAI-compatible server on this computer with faults to order, for tests, benchmarks and rehearsals.

    python -m tests.fake_server --latency fixed:200 --fault 429=0.05 --fault 500=0.02

Faults are drawn from the seed, the request's idempotency key and its attempt, so that every client meets
the same ones. GET /log lists each request; `paid` marks those for which a provider would send a bill.
"""

import argparse
import asyncio
import hashlib
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TextIO

from analysis.endpoints.providers.scripted import scripted_reply, scripted_task

PAID_FAULTS = ("hang", "truncated", "malformed", "html", "no-choices")
FAULTS = ("429", "500", "401", "400", *PAID_FAULTS)
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
DIMENSIONS = 384
HTML = b"<!doctype html><title>Welcome</title><p>This is not the address you are looking for."


@dataclass
class Behaviour:
    """The server's behaviour, as its command line sets it."""

    latency: Callable[[Random], float] = field(default=lambda random: 0.0)
    faults: dict[str, float] = field(default_factory=dict)
    retry_after: float = 0.2
    seed: int = 0
    key: str = ""
    honours_keys: bool = False
    models: list[str] = field(default_factory=lambda: ["fake-1"])
    reply: str = ""
    batch_seconds: float = 0.2
    answered_before_cancel: int = 0


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: str = ""
    kind: str = "application/json"
    cut: bool = False  # promise the whole body, send half of it, hang up
    never: bool = False
    paid: bool = False
    fault: str = ""

    def encode(self) -> bytes:
        head = (
            f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Error')}\r\nContent-Type: {self.kind}\r\n"
            f"Content-Length: {len(self.body)}\r\n{self.headers}\r\n"
        )
        return head.encode() + (self.body[: len(self.body) // 2] if self.cut else self.body)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def reply_json(document: Any, status: int = 200, headers: str = "", paid: bool = False) -> Answer:
    return Answer(status, json.dumps(document).encode(), headers, paid=paid)


def reply_error(status: int, message: str, code: str = "", headers: str = "") -> Answer:
    return reply_json({"error": {"message": message, "type": "fake", "code": code or None}}, status, headers)


class Books:
    """Everything the server remembers: requests, answers by key, files and batches."""

    def __init__(self, behaviour: Behaviour, log: TextIO | None = None) -> None:
        self.behaviour, self.log_file = behaviour, log
        self.requests: list[dict[str, Any]] = []
        self.attempts: Counter[str] = Counter()
        self.answered: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.in_flight = self.most_in_flight = 0

    def note(self, **entry: Any) -> None:
        self.requests.append(entry)
        if self.log_file:
            self.log_file.write(json.dumps(entry) + "\n")
            self.log_file.flush()

    def answer(self, request: Request) -> tuple[float, Answer]:
        """The seconds to wait, and the answer to give then."""
        if request.path == "/log":
            return 0, reply_json({"requests": self.requests, "most_in_flight": self.most_in_flight})
        path = request.path.removeprefix("/v1")
        if self.behaviour.key and request.headers.get("authorization") != f"Bearer {self.behaviour.key}":
            return 0, reply_error(401, f"Incorrect API key: {request.headers.get('authorization')}", "invalid_api_key")
        if (request.method, path) == ("POST", "/chat/completions"):
            return self.answer_chat(request)
        return 0, self.answer_other(request.method, path, request)

    def answer_other(self, method: str, path: str, request: Request) -> Answer:
        if "html" in self.behaviour.faults and self.behaviour.faults["html"] >= 1:
            return Answer(200, HTML, kind="text/html")
        if (method, path) == ("GET", "/models"):
            return reply_json({"object": "list", "data": [{"id": name} for name in self.behaviour.models]})
        if (method, path) == ("POST", "/embeddings"):
            asked = json.loads(request.body)
            self.note(path=path, asked=asked, key="", paid=True, whole=True)
            return embed(asked)
        if path.startswith("/files"):
            return self.answer_files(method, path, request)
        if path.startswith("/batches"):
            return self.answer_batches(method, path, request)
        return reply_error(404, f"There is no {method} {path} here.")

    def answer_chat(self, request: Request) -> tuple[float, Answer]:
        key = request.headers.get("idempotency-key") or hashlib.sha256(request.body).hexdigest()
        self.attempts[key] += 1
        random = Random(f"{self.behaviour.seed} {key} {self.attempts[key]}")
        if self.behaviour.honours_keys and key in self.answered:
            answer = Answer(200, self.answered[key])
        else:
            answer = self.draw_answer(key, json.loads(request.body), random)
        self.note(
            key=key,
            attempt=self.attempts[key],
            at=time.time(),
            status=answer.status,
            paid=answer.paid,
            whole=answer.status == 200 and not answer.fault,
            path="/chat/completions",
        )
        return self.behaviour.latency(random), answer

    def draw_answer(self, key: str, asked: dict[str, Any], random: Random) -> Answer:
        share, dice = 0.0, random.random()
        for fault, part in self.behaviour.faults.items():
            share += part
            if dice < share:
                return self.draw_fault(fault, key, asked)
        return self.complete(key, asked)

    def draw_fault(self, fault: str, key: str, asked: dict[str, Any]) -> Answer:
        if fault == "429":
            return reply_error(429, "Slow down.", headers=f"Retry-After: {self.behaviour.retry_after}\r\n")
        if fault.isdigit():
            return reply_error(int(fault), f"The server was told to fail with {fault}.")
        body = self.complete(key, asked).body
        return {
            "hang": Answer(200, body, never=True, paid=True, fault=fault),
            "truncated": Answer(200, body, cut=True, paid=True, fault=fault),
            "malformed": Answer(200, body[: len(body) * 2 // 3], paid=True, fault=fault),
            "html": Answer(200, HTML, kind="text/html"),
            "no-choices": Answer(200, b'{"choices": []}', paid=True, fault=fault),
        }[fault]

    def complete(self, key: str, asked: dict[str, Any]) -> Answer:
        messages = asked["messages"]
        told = self.behaviour.reply or scripted_task(messages[-1]["content"], {})
        text = told or scripted_reply(messages, f"{self.behaviour.seed} {key}")
        tokens = sum(len(message["content"]) for message in messages) // 4 + 1
        model = self.behaviour.models[self.attempts.total() % len(self.behaviour.models)]
        document = {
            "id": f"chatcmpl-{hashlib.sha256(key.encode()).hexdigest()[:24]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": f"fp_{model}",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": len(text) // 4 + 1,
                "total_tokens": tokens + len(text) // 4 + 1,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        }
        answer = reply_json(document, paid=True)
        self.answered[key] = answer.body
        return answer

    def answer_files(self, method: str, path: str, request: Request) -> Answer:
        if method == "POST":
            name = f"file-{len(self.files) + 1}"
            self.files[name] = read_upload(request)
            return reply_json({"id": name, "object": "file", "bytes": len(self.files[name]), "purpose": "batch"})
        name = path.split("/")[2]
        if name not in self.files:
            return reply_error(404, f"No such file: {name}")
        return Answer(200, self.files[name], kind="application/octet-stream")

    def answer_batches(self, method: str, path: str, request: Request) -> Answer:
        parts = path.split("/")
        if (method, len(parts)) == ("GET", 2):
            batches = [shown(batch) for batch in self.batches.values()]
            return reply_json({"object": "list", "data": batches, "has_more": False})
        if len(parts) == 2:
            asked = json.loads(request.body)
            name = f"batch_{len(self.batches) + 1:032x}"
            self.batches[name] = {
                **asked,
                "id": name,
                "object": "batch",
                "status": "in_progress",
                "created_at": int(time.time()),
                "due": time.monotonic() + self.behaviour.batch_seconds,
            }
        elif parts[2] not in self.batches:
            return reply_error(404, f"No such batch: {parts[2]}")
        batch = self.batches[parts[2]] if len(parts) > 2 else self.batches[name]
        if len(parts) > 3 and parts[3] == "cancel" and batch["status"] == "in_progress":
            batch["due"] = math.inf
            self.work_off(batch, self.behaviour.answered_before_cancel)
            batch["status"] = "cancelled"
        if batch["status"] == "in_progress" and time.monotonic() >= batch["due"]:
            self.work_off(batch)
        return reply_json(shown(batch))

    def work_off(self, batch: dict[str, Any], most: int | None = None) -> None:
        done, failed = [], []
        for line in self.files[batch["input_file_id"]].splitlines()[:most]:
            asked = json.loads(line)
            key = asked["custom_id"]
            self.attempts[key] += 1
            answer = self.draw_answer(key, asked["body"], Random(f"{self.behaviour.seed} {key} {self.attempts[key]}"))
            self.note(
                key=key,
                attempt=self.attempts[key],
                at=time.time(),
                status=answer.status,
                paid=answer.paid,
                whole=answer.status == 200,
                path="/batches",
            )
            record = {
                "custom_id": key,
                "response": {"status_code": answer.status, "request_id": f"req-{key}", "body": json.loads(answer.body)},
                "error": None,
            }
            (done if answer.status == 200 else failed).append(json.dumps(record))
        for name, lines in (("output_file_id", done), ("error_file_id", failed)):
            if lines:
                batch[name] = f"file-{len(self.files) + 1}"
                self.files[batch[name]] = "\n".join(["<html>", "[1]", *reversed(lines)]).encode()  # odd ones first
        batch["status"] = "completed"
        batch["request_counts"] = {"total": len(done) + len(failed), "completed": len(done), "failed": len(failed)}


def shown(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if name != "due"}


def embed(asked: dict[str, Any]) -> Answer:
    """Vectors as wide as requested, the last text's first: clients must go by the index."""
    texts, width = [asked["input"]] if isinstance(asked["input"], str) else asked["input"], asked.get("dimensions")
    data = [{"object": "embedding", "index": i, "embedding": vector_of(text)[:width]} for i, text in enumerate(texts)]
    usage = {"prompt_tokens": sum(len(text) // 4 for text in texts), "total_tokens": 0}
    return reply_json({"object": "list", "model": asked.get("model"), "data": data[::-1], "usage": usage})


def vector_of(text: str) -> list[float]:
    """A vector of length 1 that depends only on the text."""
    random = Random(text)
    vector = [random.gauss(0, 1) for _ in range(DIMENSIONS)]
    length = math.sqrt(sum(value * value for value in vector))
    return [round(value / length, 6) for value in vector]


def read_upload(request: Request) -> bytes:
    """The file in a multipart form."""
    boundary = request.headers["content-type"].split("boundary=")[1].strip('"').encode()
    for part in request.body.split(b"--" + boundary):
        head, found, content = part.partition(b"\r\n\r\n")
        if found and b"filename=" in head:
            return content.removesuffix(b"\r\n")
    return b""


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, one request at a time, as far as these clients use it."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.received = bytearray()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *lines = bytes(self.received[:end]).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", 0))
        if len(self.received) < end + 4 + size:
            return
        method, path, _ = first.split(" ", 2)
        body = bytes(self.received[end + 4 : end + 4 + size])
        del self.received[: end + 4 + size]
        self.respond(Request(method, path.partition("?")[0], headers, body))

    def respond(self, request: Request) -> None:
        try:
            wait, answer = self.books.answer(request)
        except (ValueError, KeyError, TypeError) as error:
            wait, answer = 0, reply_error(400, f"{type(error).__name__}: {error}")
        self.books.in_flight += 1
        self.books.most_in_flight = max(self.books.most_in_flight, self.books.in_flight)
        if answer.never:
            return
        asyncio.get_running_loop().call_later(wait, self.send, answer)

    def send(self, answer: Answer) -> None:
        self.books.in_flight -= 1
        if not self.transport.is_closing():
            self.transport.write(answer.encode())
            if answer.cut:
                self.transport.close()


def read_latency(text: str) -> Callable[[Random], float]:
    """`fixed:200`, `uniform:100-300` or `lognormal:800,0.5` (median and sigma), in milliseconds."""
    kind, _, numbers = text.partition(":")
    values = [float(number) / 1000 for number in numbers.replace("-", ",").split(",")]
    if kind == "uniform":
        return lambda random: random.uniform(*values)
    if kind == "lognormal":
        return lambda random: values[0] * math.exp(random.gauss(0, values[1] * 1000))
    return lambda random: values[0]


def read_fault(text: str) -> tuple[str, float]:
    name, _, share = text.partition("=")
    if name not in FAULTS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(FAULTS)}")
    return name, float(share or 1)


def read_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="default: any free one; it is printed")
    parser.add_argument("--latency", type=read_latency, default="fixed:0", metavar="KIND:MS")
    parser.add_argument("--fault", type=read_fault, action="append", default=[], metavar="NAME=SHARE")
    parser.add_argument("--retry-after", type=float, default=0.2, help="seconds, sent with each 429")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--key", default="", help="the only accepted key")
    parser.add_argument("--honours-keys", action="store_true", help="answer a repeated idempotency key alike")
    parser.add_argument("--model", action="append", help="served by turns when given several times")
    parser.add_argument("--reply", default="", help="say this instead of a scripted answer")
    parser.add_argument("--batch-seconds", type=float, default=0.2)
    parser.add_argument(
        "--answered-before-cancel", type=int, default=0, metavar="N", help="of a batch, when it is cancelled"
    )
    parser.add_argument("--log", type=Path, help="one JSON line for each request")
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace) -> None:
    behaviour = Behaviour(
        options.latency,
        dict(options.fault),
        options.retry_after,
        options.seed,
        options.key,
        options.honours_keys,
        options.model or ["fake-1"],
        options.reply,
        options.batch_seconds,
        options.answered_before_cancel,
    )
    books = Books(behaviour, options.log.open("a") if options.log else None)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(books), "127.0.0.1", options.port, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(read_arguments(sys.argv[1:])))
