"""Runs training programs, each in its own process: starts them in a work folder, watches and stops them."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.training.examples import TrainingError

NEEDED = ("torch", "transformers")
SECONDS = 0.5  # between two checks of progress
PATIENCE = 120  # seconds that a stopped program has to save itself
STOPPED, MEMORY, FILES, DIVERGED = 3, 4, 5, 6
Note = Callable[[float, list[dict[str, Any]]], None]
SETTINGS_LEFT = "take a smaller batch (--batch), fewer tokens (--tokens) or a smaller model"


def check_installed(*more: str) -> None:
    if missing := [name for name in (*NEEDED, *more) if importlib.util.find_spec(name) is None]:
        raise TrainingError(f"{', '.join(missing)} is not installed: make setup-training.")


def run_program(
    module: str, folder: Path, job: dict[str, Any], rows: list[dict[str, Any]], note: Note
) -> dict[str, Any]:
    """Return the program's result. `note` may raise, which stops it after it has saved itself. Raises TrainingError.

    The program ends by itself when the process that started it is gone.
    """
    (folder / "result.json").unlink(missing_ok=True)
    (folder / "examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "job.json").write_text(json.dumps(job))
    threads = str(job.get("threads", 1))
    environment = os.environ | {"OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    with (folder / "errors.txt").open("w") as errors:
        program = subprocess.Popen(
            [sys.executable, "-m", module, str(folder)],
            cwd=settings.BASE_DIR,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            while program.poll() is None:
                time.sleep(SECONDS)
                _note_progress(folder, note)
        except BaseException:
            _end(program)
            raise
    if program.returncode:
        raise TrainingError(why_it_ended(program.returncode, (folder / "errors.txt").read_text()))
    return json.loads((folder / "result.json").read_text())


def _note_progress(folder: Path, note: Note) -> None:
    with suppress(OSError, ValueError):
        found = json.loads((folder / "progress.json").read_text())
        note(found["share"], found["curve"])
        return
    note(0.0, [])


def _end(program: subprocess.Popen) -> None:
    program.terminate()
    try:
        program.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def why_it_ended(code: int, errors: str) -> str:
    last = next((line for line in reversed(errors.splitlines()) if line.strip()), "it said nothing")[:500]
    if code == MEMORY or code == -9:
        return f"The training was ended, most likely because memory ran out: {SETTINGS_LEFT}. A second start goes on."
    if code == FILES:
        return f"A file could not be read or written ({last}). A second start goes on."
    if code == DIVERGED:
        return "The loss grew beyond all bounds: take a lower rate (--rate) and train under a new name."
    if code == STOPPED:
        return "The training was ended from outside; a second start goes on with it."
    return f"The training ended with an error: {last}"
