"""Sends prepared forms over kept-alive connections, a bounded number of them, and measures each answer.

Reads from standard input {"port", "people": [[[path, body], …], …], "at_once"}; prints {"seconds", "waits", "errors"}.
"""

import asyncio
import json
import sys
from time import perf_counter

Form = tuple[str, str]


async def send_all(port: int, people: list[list[Form]], at_once: int) -> dict:
    """Each of `at_once` connections belongs to one person after the other, who sends their forms in order."""
    queue, waits, errors = iter(people), [], []

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for forms in queue:
            for path, body in forms:
                start = perf_counter()
                status = await send(reader, writer, port, path, body)
                waits.append(perf_counter() - start)
                if status != 302:
                    errors.append(f"{status} {path}")
        writer.close()

    start = perf_counter()
    await asyncio.gather(*(connection() for _ in range(at_once)))
    return {"seconds": perf_counter() - start, "waits": waits, "errors": errors}


async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, path: str, body: str) -> int:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}".encode())
    answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = answer.partition("content-length:")[2].partition("\r\n")[0].strip()
    if length:
        await reader.readexactly(int(length))
    return int(answer.split(" ", 2)[1])


if __name__ == "__main__":
    job = json.load(sys.stdin)
    print(json.dumps(asyncio.run(send_all(job["port"], job["people"], job["at_once"]))))
