"""The environment is completed, however often that was interrupted; and what is missing is said in words."""

import os
import shutil
import subprocess
import sys
import threading
from collections import namedtuple
from pathlib import Path
from types import ModuleType

import pytest

from fieldstudy.embedded.servers import ROOT
from tests.test_containers import load_program

FOLDER = ROOT / ".ci"


@pytest.fixture
def installer() -> ModuleType:
    return load_program("install")


def set_up(copy: Path) -> str:
    done = subprocess.run(
        ["sh", ".ci/setup", "requirements.txt"],
        cwd=copy,
        env={**os.environ, "PYTHON3": sys.executable, "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.processes
@pytest.mark.slow
def test_environment_that_is_not_whole_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    for name in ("setup", "install.py", "slim.py"):
        shutil.copy(FOLDER / name, tmp_path / ".ci" / name)
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    venv = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)  # as Ctrl-C leaves it
    assert "Making .venv" in set_up(tmp_path)
    (venv / "kept").touch()
    assert "Making .venv" not in set_up(tmp_path)
    assert (venv / "kept").exists()
    (venv / "made").unlink()  # interrupted while pip was copied
    assert "Making .venv" in set_up(tmp_path)
    assert not (venv / "kept").exists()
    shutil.rmtree(next(venv.glob("lib/python*/site-packages/pip")))
    assert "Making .venv" in set_up(tmp_path)


def test_package_that_was_not_copied_to_its_end_is_copied_again(installer: ModuleType, tmp_path: Path) -> None:
    for name, record in (("whole-1.0", True), ("half-1.0", False), ("other-2.0", True)):
        (tmp_path / f"{name}.dist-info").mkdir()
        if record:
            (tmp_path / f"{name}.dist-info" / "RECORD").touch()
    pins = tmp_path / "pins.txt"
    pins.write_text("Whole==1.0 \\\n    --hash=sha256:0\nhalf==1.0\nother[more]==3.0 ; sys_platform == 'linux'\n")
    installer.remove_halves(tmp_path)
    assert sorted(folder.name for folder in tmp_path.glob("*.dist-info")) == [
        "other-2.0.dist-info",
        "whole-1.0.dist-info",
    ]
    assert installer.count_pins(pins, tmp_path) == (3, 2)


def test_disk_without_room_is_told_before_anything_is_installed(
    installer: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(installer, "count_pins", lambda file, site: (10, 10))
    monkeypatch.setattr(installer, "remove_halves", lambda site: None)
    monkeypatch.setattr(installer, "install", lambda *given: pytest.fail("something was installed"))
    monkeypatch.setattr(installer.shutil, "disk_usage", lambda place: usage(500 * 10**6))
    monkeypatch.setattr(installer.sys, "argv", ["install.py", "requirements.txt"])
    with pytest.raises(SystemExit, match=r"has 500 MB free. Free some, and run the same command again: .*pip cache"):
        installer.main()


@pytest.mark.parametrize(
    ("said", "told", "shown"),
    [
        ("ERROR: [Errno 28] No space left on device", "The disk is full. Free some", ""),
        ("ERROR: No matching distribution found for a==1", "see pip's message above", "No matching distribution"),
    ],
)
def test_what_pip_says_becomes_what_to_do(
    installer: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str], said: str, told: str, shown: str
) -> None:
    script = f"import sys; print('Collecting a==1'); print({said!r}, file=sys.stderr); sys.exit(1)"
    answer = installer.install([sys.executable, "-c", script], "requirements.txt", 1, tmp_path)
    assert told in answer and shown in capfd.readouterr().err


def test_interrupted_installation_says_nothing_of_its_threads(
    installer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Path] = []
    faults: list[object] = []

    def count(site: Path) -> int:
        counted.append(site)
        if len(counted) > 3:
            raise KeyboardInterrupt
        return 0

    monkeypatch.setattr(threading, "excepthook", faults.append)
    monkeypatch.setattr(installer, "count_installed", count)
    script = "import time\nfor _ in range(200): print('Collecting a==1', flush=True); time.sleep(0.01)"
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        installer.install([sys.executable, "-c", script], "requirements.txt", 7, tmp_path)
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert faults == []


def test_packages_are_counted_while_pip_works(
    installer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installer, "IN_LOG", 0)
    script = f"""
import pathlib
print("Collecting a==1", flush=True)
print("Requirement already satisfied: b==1", flush=True)
pathlib.Path({str(tmp_path)!r}, "a-1.dist-info").mkdir()
print("Installing collected packages: a", flush=True)
"""
    assert installer.install([sys.executable, "-c", script], "requirements.txt", 7, tmp_path) == 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("requirements.txt: ") and lines[-1] == "requirements.txt: 1 packages installed"
