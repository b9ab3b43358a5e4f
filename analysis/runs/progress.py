"""The progress of a run, in one line on standard error."""

import sys
import threading
from typing import Any

from django.db import connections

from analysis.models import Run
from analysis.runs.lanes.runs import progress
from surveys.studies.wording import dollars, duration

WIDTH = 30
SECONDS = 1.0


class Bar:
    """A run's progress, shown beside the lane that works on it."""

    def __init__(self, run: Run) -> None:
        self.run_id = run.pk
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.draw, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()
        show(Run.objects.select_related("endpoint").get(pk=self.run_id))
        if sys.stderr.isatty():
            print(file=sys.stderr)

    def draw(self) -> None:
        run = Run.objects.select_related("endpoint").get(pk=self.run_id)
        while not self.ended.wait(SECONDS):
            show(run)
        connections.close_all()


def show(run: Run) -> dict[str, Any]:
    """Draw the bar once and return the progress; unless on a terminal, draw only at the end."""
    now = progress(run)
    if sys.stderr.isatty():
        print("\r" + write_bar(now).ljust(100), end="", file=sys.stderr, flush=True)
    elif now["state"] != Run.State.RUNNING:
        print(write_bar(now), file=sys.stderr)
    return now


def write_bar(now: dict[str, Any]) -> str:
    ended = now["done"] + now["failed"]
    filled = WIDTH * ended // max(1, now["calls"])
    parts = [f"{'█' * filled}{'░' * (WIDTH - filled)} {ended:,}/{now['calls']:,}", dollars(now["usd"])]
    if now["failed"]:
        parts.append(f"{now['failed']:,} failed")
    if now["state"] == Run.State.RUNNING:
        parts.append(f"{now['calls_per_second']:g} a second")
        if now["eta_seconds"] is not None:
            parts.append(f"{duration(now['eta_seconds'])} left")
    else:
        parts.append(now["state"])
    if now["waiting_until"]:
        parts.append("waiting for the provider")
    return "  ".join(parts)
