"""Files with answers not stored yet, which survive a killed worker, since the answers are paid for.

A line is written before another call takes the answer's place in flight, so that a SIGKILL costs only what was in
flight. There is no fsync: the system keeps what a process has written when the process dies. The files are on the
worker's computer, and the lane that takes the leases back there stores their answers first. Other computers do not see
them, and send those calls again like those in flight. A lane that is alive holds a lock on its files.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path

from django.conf import settings


def folder() -> Path:
    return Path(settings.VAR_FOLDER) / "lanes"


class Journal:
    """Two files: while the lines in one are being stored, new answers go into the other."""

    def __init__(self, run: int, lane: str) -> None:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        self.paths = {open_locked(path): path for path in (folder() / f"{run}-{lane}-{part}.jsonl" for part in "ab")}
        self.files = list(self.paths)

    def note(self, line: str) -> None:
        self.files[0].write(line.encode() + b"\n")

    def turn(self) -> None:
        self.files.reverse()

    def forget(self) -> None:
        """Empty the other file, whose lines are stored."""
        self.files[1].truncate(0)

    def close(self) -> None:
        """Close the files; lines not stored stay for the next lane."""
        for file, path in self.paths.items():
            if os.fstat(file.fileno()).st_size == 0:
                path.unlink(missing_ok=True)
            file.close()


def open_locked(path: Path) -> FileIO:
    """Open and lock a file before it gets its name, or others would take it for one left behind."""
    unnamed = path.with_suffix(".new")
    file = unnamed.open("ab", buffering=0)
    fcntl.flock(file, fcntl.LOCK_EX)
    unnamed.rename(path)
    return file


def left_behind(run: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the run's lanes that died on this computer, with their lines; a file goes once these are taken."""
    for path in sorted(folder().glob(f"{run}-*.jsonl")):
        with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield path.stem.split("-")[1], file.read().decode().split("\n")[:-1]
            path.unlink(missing_ok=True)
