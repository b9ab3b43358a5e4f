"""The folder that a training program shares with the process that started it: job, progress, and when to end."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

JOB, EXAMPLES, PROGRESS, RESULT = "job.json", "examples.jsonl", "progress.json", "result.json"
CHECKPOINT = "checkpoint.pt"
SECONDS = 1.0  # between two notes of progress
NICENESS = 10


class ProgramStopped(Exception):
    """The program was stopped, or its parent process is gone."""


class JobFolder:
    """The program's side of its folder: notes progress, and knows when the program has to end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job: dict[str, Any] = json.loads((path / JOB).read_text())
        self.curve: list[dict[str, Any]] = []
        self.noted = 0.0
        self.parent = os.getppid()
        self.is_stopped = False
        signal.signal(signal.SIGTERM, self._stop)
        os.nice(NICENESS)

    def _stop(self, *signalled: object) -> None:
        self.is_stopped = True

    @property
    def has_to_end(self) -> bool:
        return self.is_stopped or os.getppid() != self.parent

    def examples(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.path / EXAMPLES).read_text().splitlines()]

    def note(self, share: float, always: bool = False) -> None:
        if always or time.monotonic() - self.noted >= SECONDS:
            self.noted = time.monotonic()
            self.write(PROGRESS, {"share": share, "curve": self.curve})

    def write(self, name: str, found: dict[str, Any]) -> None:
        """Write, then rename the file, so that it can be read at any moment. Raises OverflowError for NaN and inf."""
        unfinished = self.path / f"{name}.part"
        try:
            unfinished.write_text(json.dumps(found, allow_nan=False))
        except ValueError:
            raise OverflowError(f"{name} would have a number that is infinite or none") from None
        unfinished.replace(self.path / name)


# Exit codes; analysis/training/tiers/programs.py puts them into words.
STOPPED, MEMORY, FILES, DIVERGED, OTHER = 3, 4, 5, 6, 1


def run_as_program(
    path: Path, ways: Mapping[str, Callable[[JobFolder], dict[str, Any]]], out_of_memory: type[BaseException]
) -> int:
    """Do the folder's job, and turn failures into an exit code and a last line of errors."""
    folder = JobFolder(path)
    try:
        folder.write(RESULT, ways[folder.job["does"]](folder))
    except ProgramStopped:
        return STOPPED
    except (MemoryError, out_of_memory) as error:
        return _fail(MEMORY, error)
    except OSError as error:
        return _fail(FILES, error)
    except OverflowError as error:
        return _fail(DIVERGED, error)
    except Exception as error:  # torch and safetensors have their own errors for a full disk and for no memory
        return _fail(MEMORY if "allocate memory" in str(error) else FILES if is_full(error) else OTHER, error)
    return 0


def is_full(error: Exception) -> bool:
    return any(words in str(error) for words in ("No space left", "PytorchStreamWriter failed", "file write failed"))


def _fail(code: int, error: BaseException) -> int:
    sys.stderr.write(f"{type(error).__name__}: {' '.join(str(error).split())}\n")
    return code
