"""The mock Prolific as a server: `python -m surveys.prolific.mock.server --port 8095 --books FILE`."""

import argparse
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from surveys.prolific.mock.books import Books

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
