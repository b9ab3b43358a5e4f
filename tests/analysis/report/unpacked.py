"""Bundles unpacked in a folder, and their own scripts run there."""

import csv
import io
import json
import re
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from analysis.report.bundle.bundles import StudyBundle, begin_bundle, write_bundle
from surveys.models import Study


def unpack(study: Study, folder: Path, begin: Callable[..., StudyBundle] = begin_bundle, **options: Any) -> None:
    write_bundle(begin(study, "tests", **options), folder / "bundle.zip")
    with zipfile.ZipFile(folder / "bundle.zip") as archive:
        archive.extractall(folder)


def recompute(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the bundle's own script in this process, since importing pandas in another takes seconds."""
    names = {"path": [str(folder), *sys.path], "argv": ["recompute.py", str(folder)]}
    try:
        with patch.multiple(sys, **names), redirect_stdout(io.StringIO()) as out:
            status = runpy.run_path(str(folder / "recompute.py"))["main"]()
    finally:
        for name in [name for name in sys.modules if name.startswith("bundle_")]:  # the next bundle has its own
            sys.modules.pop(name)
    return subprocess.CompletedProcess(names["argv"], status, out.getvalue(), "")


def all_agree(out: str) -> bool:
    """Whether no number differs, whatever measures the script names as new to it."""
    unknown = unknown_in(out)
    known = {"unique", "top5_coverage", "entropy_bits"}.isdisjoint(unknown)
    return known and out.endswith(f"All {'other ' if unknown else ''}numbers agree.\n")


def unknown_in(out: str) -> set[str]:
    named = re.findall(r"^Not checked, because this script does not know them: (.*)$", out, re.M)
    return {name for line in named for name in line.split(", ")}


def agreed_in(out: str) -> dict[str, int]:
    """How many numbers agree with the report, by part, for the parts in which all do."""
    found = re.findall(r"^(\w+): ([\d,]+) numbers, 0 differ$", out, re.M)
    return {name: int(count.replace(",", "")) for name, count in found}


def recompute_elsewhere(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script in a process that knows nothing of the project, as somebody else would."""
    command = [sys.executable, "-I", "-c", STARTED, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={})


# Neither Django nor our own modules may be importable.
STARTED = """
import runpy, sys
sys.modules["django"] = sys.modules["analysis"] = sys.modules["surveys"] = sys.modules["scipy"] = None
sys.path.insert(0, sys.argv[1])
runpy.run_path(sys.argv[1] + "/recompute.py", run_name="__main__")
"""


def read_csv(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "data" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_codebook(folder: Path) -> None:
    """Check that the codebook describes each column of each table, and that the README names each table."""
    named = (folder / "README.md").read_text()
    assert [path.name for path in (folder / "data").iterdir() if f"{path.name}`" not in named] == []
    described = {table["name"]: table for table in json.loads((folder / "codebook.json").read_text())["tables"]}
    assert {path.stem for path in (folder / "data").iterdir()} == set(described)
    for name, table in described.items():
        header = (folder / "data" / f"{name}.csv").read_text().partition("\n")[0].strip()
        assert header.split(",") == [column["name"] for column in table["columns"]]
        assert all(column["meaning"] for column in table["columns"])


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
