"""Child processes that do not outlive the process that started them."""

import ctypes
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def start_child(command: list[str], log: Path, *, stop: signal.Signals, **options: Any) -> psutil.Popen:
    """Start a command in a session of its own (Ctrl-C does not reach it), adding to a log file.

    On Linux, the kernel sends the child the stop signal if we are killed.
    """

    with open(log, "ab") as output:
        return psutil.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=following_parent(stop),
            **options,
        )


def following_parent(stop: signal.Signals) -> Callable[[], None]:
    """A function for a child to run before its program, so that on Linux it gets this signal if we are killed."""

    def follow_parent() -> None:
        if LIBC is not None:
            LIBC.prctl(PR_SET_PDEATHSIG, int(stop))

    return follow_parent


def ask_to_stop(process: psutil.Process, stop: signal.Signals) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(stop)


def await_end(process: psutil.Process, patience: float) -> None:
    """Wait for a process that was asked to stop; kill it if it does not, and its leftover group too.

    A process that has ended but was not collected yet (a container's first process may never do so) counts as gone.
    """
    deadline = time.monotonic() + patience
    while is_alive(process):
        if time.monotonic() > deadline:
            ask_to_stop(process, signal.SIGKILL)
        time.sleep(0.02)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def stop_process(process: psutil.Process, stop: signal.Signals, patience: float) -> None:
    ask_to_stop(process, stop)
    await_end(process, patience)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def describe_process(process: psutil.Process) -> dict[str, float]:
    return {"pid": process.pid, "started": process.create_time()}


def find_process(description: dict[str, float]) -> psutil.Process | None:
    """The described process if it still runs; another program that has its number by now does not count."""
    try:
        process = psutil.Process(int(description["pid"]))
        return process if process.create_time() == description["started"] and is_alive(process) else None
    except psutil.NoSuchProcess:
        return None


def last_lines(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-8:])


ANOTHER_FOLDER = "name another folder with FIELDSTUDY_VAR=/path/to/folder"
LEAST_SPACE = 2**20  # bytes


class Failure(Exception):
    """A failed start; the message says what happened and what to do."""


def explain_output(what: str, output: str, place: Path) -> Failure:
    """The failure that a program's last output explains; PostgreSQL marks the reason with FATAL, PANIC or error."""
    # A log on the full disk cannot record it.
    if "No space left on device" in output or shutil.disk_usage(place.parent).free < LEAST_SPACE:
        return disk_full(place)
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it gave no reason"]
    reasons = [line for line in lines if any(mark in line for mark in ("FATAL", "PANIC", "error:"))]
    reason = re.sub(r"^.*?(FATAL|PANIC|error): *", "", (reasons or lines)[-1])
    return Failure(
        f"{what}: {reason}. Start again; if that does not help, move {place} away to start empty, or {ANOTHER_FOLDER}."
    )


def explain_file_error(error: OSError, var: Path) -> Failure:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(var)
    place = error.filename or var
    return Failure(f"{place} cannot be used: {error.strerror}. Make it writable, or {ANOTHER_FOLDER}.")


def disk_full(place: Path) -> Failure:
    return Failure(f"The disk that holds {place} is full. Make room and start again, or {ANOTHER_FOLDER}.")
