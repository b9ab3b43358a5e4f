"""The goals of `make benchmarks`: when one is met, and that the published table has exactly their rows."""

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from benchmarks import goals
from benchmarks.__main__ import measure
from benchmarks.goals import BEGIN, END, HEAD, Goal, all_rows, read_table, write_table
from fieldstudy.embedded import servers
from tests.embedded import migrated_data
from tests.faults.platform import wait_for

PATIENCE = 60


def test_published_table_has_exactly_the_rows_of_the_benchmarks() -> None:
    assert list(read_table()) == all_rows()
    assert len(set(all_rows())) == len(all_rows())


@pytest.mark.parametrize("name", goals.ROWS)
def test_each_benchmark_with_rows_measures_them(name: str) -> None:
    source = Path(goals.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    assert "def goals(quick: bool) -> list[Goal]:" in source


@pytest.mark.parametrize(
    ("measured", "at_least", "met"), [(2, False, True), (2.01, False, False), (2, True, True), (1.99, True, False)]
)
def test_goal_is_met_up_to_and_including_its_bound(measured: float, at_least: bool, met: bool) -> None:
    assert Goal("walking", measured, 2, "s", at_least).met is met


def test_table_renews_what_was_measured_and_leaves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n", encoding="utf-8")
    monkeypatch.setattr(goals, "ROWS", {"a": ("walking", "running"), "b": ("resting",)})
    write_table([Goal("walking", 1.234, 1, "s"), Goal("resting", 9, 8, "MB/s", at_least=True)], path)
    first = read_table(path)
    write_table([Goal("walking", 0.5, 1, "s")], path)
    text, second = path.read_text(encoding="utf-8"), read_table(path)
    assert text.startswith(f"Before.\n{BEGIN}\n{HEAD[0]}\n") and text.endswith(f"\n{END}\nAfter.\n")
    assert "| walking | 1.23 s | ≤ 1 s | NOT MET |" in first["walking"]
    assert "| walking | 0.5 s | ≤ 1 s | met |" in second["walking"]
    assert second["running"] == "| running | – | – | not measured yet | – |"
    assert second["resting"] == first["resting"] and "| 9 MB/s | ≥ 8 MB/s | met |" in second["resting"]


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the benchmarks' data; under root, PostgreSQL's own account cannot enter pytest's."""
    with tempfile.TemporaryDirectory(prefix="goals-") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setenv("BENCHMARK_TABLES", str(migrated_data()))
        for variable in ("FIELDSTUDY_VAR", *servers.URL_NAMES):
            monkeypatch.delenv(variable, raising=False)
        yield Path(folder)


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.parametrize("name", goals.ROWS)
def test_each_benchmark_runs_and_leaves_nothing_behind(name: str, temporary: Path) -> None:
    assert all(0 <= goal.measured < math.inf for goal in measure(name, quick=True))
    assert processes_on(temporary) == [] and list(temporary.glob("fieldstudy-*")) == []


@pytest.mark.processes
@pytest.mark.slow
def test_killed_benchmark_leaves_no_process_behind(temporary: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.goals", "run_workers", "--quick"]
    killed = subprocess.Popen(command, cwd=servers.ROOT)
    try:
        wait_for(lambda: any("celery" in line for line in processes_on(temporary)), "no worker is started")
        wait_for(lambda: any("tests.fake_server" in line for line in processes_on(temporary)), "no model is started")
    finally:
        killed.kill()
        killed.wait()
    end = time.monotonic() + PATIENCE
    while left := processes_on(temporary):
        assert time.monotonic() < end, left
        time.sleep(0.1)


def processes_on(folder: Path) -> list[str]:
    """The command lines of the processes whose TMPDIR is this folder."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("TMPDIR") == str(folder):
                found.append(" ".join(process.cmdline()))
    return found


def test_benchmark_that_fails_says_the_last_line_of_why(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"^ModuleNotFoundError: No module named 'benchmarks\.nothing'$"):
        measure("nothing", quick=True)
    assert capfd.readouterr().err == ""
