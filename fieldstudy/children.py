"""Child processes that do not outlive the process that started them."""

import ctypes
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

Process = subprocess.Popen[bytes]

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def start_child(command: list[str], log: Path, *, stop: signal.Signals, **options: Any) -> Process:
    """Start a command in its own session, writing to a log file.

    Where the system offers it (Linux), the kernel sends the child the stop signal when we are killed.
    """

    def follow_parent() -> None:
        if LIBC is not None:
            LIBC.prctl(PR_SET_PDEATHSIG, int(stop))

    with open(log, "ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=follow_parent,
            **options,
        )


def stop_process(process: psutil.Process, stop: signal.Signals, patience: float) -> None:
    """Ask a process to stop, wait, and end it by force if it does not; its own children go with it."""
    try:
        family = [process, *process.children(recursive=True)]
        process.send_signal(stop)
    except psutil.NoSuchProcess:
        return
    _, alive = psutil.wait_procs(family, timeout=patience)
    for one in alive:
        one.kill()
    psutil.wait_procs(alive, timeout=5)


def describe_process(pid: int) -> dict[str, float]:
    return {"pid": pid, "started": psutil.Process(pid).create_time()}


def find_process(description: dict[str, float]) -> psutil.Process | None:
    """The described process if it still runs; another program that has its number by now does not count."""
    try:
        process = psutil.Process(int(description["pid"]))
        alive = process.create_time() == description["started"] and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if alive else None


def last_lines(log: Path, count: int = 8) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
    except FileNotFoundError:
        return ""
