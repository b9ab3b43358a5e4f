"""Sends prepared forms over a fixed number of kept-alive connections, and follows the redirect of each.

Reads from standard input {"port", "people": [[[path, body], …], …], "at_once"}; prints {"seconds", "waits", "errors"}.
A wait covers the response to the form and the page after it.
"""

import asyncio
import json
import sys
from time import perf_counter

Form = tuple[str, str]
HEADERS = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\n"
)


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self.reader, self.writer, self.port = reader, writer, port

    async def send(self, method: str, path: str, body: str = "") -> tuple[int, str]:
        """Send a request; return the response's status and its `Location`, if any."""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{HEADERS}"
        if method == "POST":
            head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        self.writer.write(f"{head}\r\n{body}".encode())
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = (line.partition(": ") for line in answer.split("\r\n")[1:])
        headers = {name.lower(): value for name, _, value in lines}
        await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(answer.split(" ", 2)[1]), headers.get("location", "")


async def send_all(port: int, people: list[list[Form]], at_once: int) -> dict:
    """Send all forms over `at_once` connections: each serves one person after another, whose forms go in order."""
    queue, waits, errors = iter(people), [], []

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        connection = Connection(reader, writer, port)
        for forms in queue:
            for path, body in forms:
                start = perf_counter()
                status, following = await connection.send("POST", path, body)
                if status == 302:
                    status, _ = await connection.send("GET", following)
                waits.append(perf_counter() - start)
                if status != 200:
                    errors.append(f"{status} {path}")
        writer.close()

    start = perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    return {"seconds": perf_counter() - start, "waits": waits, "errors": errors}


if __name__ == "__main__":
    job = json.load(sys.stdin)
    print(json.dumps(asyncio.run(send_all(job["port"], job["people"], job["at_once"]))))
