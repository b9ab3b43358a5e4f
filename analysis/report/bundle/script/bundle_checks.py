"""Shared by the scripts of every bundle: compares numbers and intervals with the report, and prints the result."""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

SHOWN = 20
EXACT = 1e-6
OF_WIDTH = 0.3  # of an interval's width: how far an end drawn anew may be from the reported one


class Check(NamedTuple):
    """One number: where it is, the report's value and the data's value."""

    where: str
    name: str
    reported: Any
    found: Any
    tolerance: float = 0.0

    def __str__(self) -> str:
        return f"{self.where}: {self.name} is {show(self.reported)} in the report, {show(self.found)} by the data"

    @property
    def agrees(self) -> bool:
        if self.reported is None or self.found is None:
            return self.reported is None and self.found is None
        return abs(self.reported - self.found) <= self.tolerance + EXACT * max(1.0, abs(self.reported))


Checks = Iterator[Check]


def row_checks(where: str, row: Mapping[str, Any], **found: Any) -> Checks:
    """Check each number against the row's number of the same name."""
    return (Check(where, name, row[name], value) for name, value in found.items())


def show(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"


def known(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


Ends = tuple[float, float] | None


def interval_checks(where: str, name: str, reported: list[float] | None, found: Ends, loosely: float = 0.0) -> Checks:
    """Check both ends; if either has no interval, neither may have one."""
    if reported is None or found is None:
        yield Check(where, name, reported and reported[0], found and found[0])
        return
    room = loosely * max(reported[1] - reported[0], found[1] - found[0]) + 1e-3 * bool(loosely)
    for side, value, end in zip(("low", "high"), reported, found, strict=True):
        yield Check(where, f"{name} ({side})", value, float(end), room)


def t_quantile(freedom: int) -> float:
    """97.5 % of Student's t: with t = sqrt(freedom) tan(angle), the angle's density is cos(angle)^(freedom - 1)."""
    angle = np.linspace(0, math.pi / 2, 200_001)
    density = np.cos(angle) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return math.sqrt(freedom) * math.tan(float(np.interp(0.95, area / area[-1], angle)))


# --- files -------------------------------------------------------------------


# The apostrophe that keeps spreadsheets from taking a cell for a formula.
GUARD = r"^'('*[=+\-@\t\r])"


def read_table(folder: Path, name: str) -> pd.DataFrame:
    """Read a table with all cells as the texts that they were, empty ones included."""
    table = pd.read_csv(folder / "data" / f"{name}.csv", dtype=str, keep_default_na=False)
    return table.replace(regex=GUARD, value=r"\1")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changed_files(folder: Path) -> Iterator[str]:
    listed = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["files"]
    for entry in listed:
        path = folder / entry["name"]
        if not path.exists():
            yield f"{entry['name']} is missing"
        elif digest(path) != entry["sha256"]:
            yield f"{entry['name']} is not the file that the bundle was made with"


def compare(
    bundle_of: Callable[[Path], Any],
    figures: Mapping[str, Callable[[Any], Checks]],
    unchecked: Callable[[Any], Sequence[str]] = lambda bundle: (),
) -> int:
    """Compare a bundle with its report, figure by figure; return the exit status.

    The folder is the script's argument, by default its own. `unchecked` names measures of the report not recomputed.
    """
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    changed = list(changed_files(folder))
    for line in changed:
        print(f"MANIFEST.json: {line}")
    bundle, wrong = bundle_of(folder), 0
    for name, check in figures.items():
        checks = list(check(bundle))
        differing = [entry for entry in checks if not entry.agrees]
        wrong += len(differing)
        print(f"{name}: {len(checks):,} numbers, {len(differing):,} differ")
        for entry in differing[:SHOWN]:
            print(f"  {entry}")
        if len(differing) > SHOWN:
            print(f"  … and {len(differing) - SHOWN:,} more")
    if unknown := unchecked(bundle):
        print(f"Not checked, because this script does not know them: {', '.join(unknown)}")
    agree = "All other numbers agree." if unknown else "All numbers agree."
    print(f"{wrong:,} numbers differ." if wrong else agree)
    return 1 if wrong or changed else 0
