"""docs/deploying.md as a script, and a stand-in for the container engine where there is none."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fieldstudy.embedded import postgres
from fieldstudy.embedded.servers import ROOT

PAGE = ROOT / "docs" / "deploying.md"
BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STAND_IN = Path(__file__).with_name("stand_in.py")


def blocks(language: str, kind: str = "") -> list[str]:
    """The page's blocks of one kind, in order: "" runs with the engine, "host" without one."""
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return [text for marked, more, text in found if (marked, more) == (language, kind)]


def chosen_names() -> list[str]:
    return re.findall(r"(\w+)=", "".join(blocks("sh", "choices")))


def engine() -> str:
    """Why no container engine can run the page here; empty if one can."""
    for command in (["docker", "info"], ["docker", "compose", "version"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except FileNotFoundError:
            return "docker is not installed"
        if done.returncode:
            return f"`{' '.join(command)}` fails: {' '.join(done.stderr.split())[:100]}"
    return ""


def make_repository(folder: Path) -> Path:
    """Copy the working tree and commit the copy, to be cloned."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "copy"]):
        subprocess.run(
            ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", *command], cwd=folder, check=True
        )
    return folder


def make_stand_ins(folder: Path, sockets: str, redis: str) -> Path:
    """A folder with programs that stand in for docker and curl."""
    folder.mkdir()
    settings = {"programs": str(postgres.programs()), "sockets": sockets, "redis": redis, "log": str(folder / "log")}
    settings |= {name: str(folder / name) for name in ("checked", "migrated")}
    (folder / "settings.json").write_text(json.dumps(settings))
    for name in ("docker", "curl"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} {folder}/settings.json {name} "$@"\n')
        program.chmod(0o755)
    return folder


def run_script(texts: list[str], folder: Path, environment: dict[str, str], path: str = "") -> str:
    """Run the texts as one script that stops at its first fault; return what it printed."""
    script = "set -euo pipefail\nset -x\n" + "\n".join(texts)
    searched = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={"HOME": str(folder), "PATH": searched, **environment},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout
