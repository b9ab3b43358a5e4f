"""A line on standard error that says how far a long command is and when it will be done."""

import sys
import time
from typing import TextIO

ON_TERMINAL, IN_LOG = 0.3, 10.0  # seconds between two lines


class Progress:
    """`what` is what is counted, such as "conversations"."""

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self.what = what
        self.stream = sys.stderr if stream is None else stream
        self.began = self.shown = time.monotonic()
        self.pause = ON_TERMINAL if self.stream.isatty() else IN_LOG

    def show(self, share: float, number: int) -> None:
        """Say that `share` of the work, from 0 to 1, is done; most calls print nothing."""
        now = time.monotonic()
        if now - self.shown < self.pause:
            return
        self.shown = now
        left = (now - self.began) * (1 - share) / share if share else None
        until = "" if left is None else f", {describe_seconds(left)} to go"
        self.write(f"{number:,} {self.what}, {share:.0%}{until}")

    def count(self, done: int, total: int) -> None:
        self.show(done / max(done, total, 1), done)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")

    def write(self, line: str) -> None:
        self.stream.write(f"\r\x1b[K{line}" if self.stream.isatty() else f"{line}\n")
        self.stream.flush()


def describe_seconds(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
