"""The recipe in CONTRIBUTING.md stays true: its diff applies, and the test that it adds passes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fieldstudy.embedded.servers import ROOT

NEEDED = ("analysis", "surveys", "fieldstudy", "tests", "docs")
TEST = "tests/analysis/stats/test_simpson.py"


def run(folder: Path, *command: str, given: str = "") -> str:
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_diff_of_the_page_applies_and_its_test_passes(tmp_path: Path) -> None:
    (diff,) = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
    for name in NEEDED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "screenshots"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    run(tmp_path, "git", "apply", "-", given=diff)
    changed = set(re.findall(r"^\+\+\+ b/((?:analysis|surveys|fieldstudy)/\S+)", diff, re.M))
    assert changed == {"analysis/stats/item_measures.py", "analysis/report/columns.py"}
    assert "5 passed" in run(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST)
