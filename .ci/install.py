"""Installs one file of pinned requirements, counting: .ci/install.py FILE [pip's options]"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

# What each takes on disk with its downloads, in MB.
NEEDED = {"requirements.txt": 1300, "requirements-dev.txt": 600, "requirements-local.txt": 600}
OTHERS = 2000
FOUND = re.compile(r"Collecting |Requirement already satisfied|Ignoring ")
ON_TERMINAL, IN_LOG = 0.2, 15.0  # seconds between two lines
FULL = "No space left on device"
MAKE_ROOM = (
    "Free some, and run the same command again: `.venv/bin/python -m pip cache purge` deletes the downloads that pip "
    "has kept, and `df -h` shows which disk is full."
)


def main() -> None:
    file, *options = sys.argv[1:]
    site = next(Path(sys.prefix).glob("lib/python*/site-packages"))
    remove_halves(site)
    pins, missing = count_pins(Path(file), site)
    needed = NEEDED.get(file, OTHERS) * missing // max(pins, 1)
    print(f"Installing {file}: up to {needed:,} MB of disk, the first time a minute or so", file=sys.stderr)
    free = shutil.disk_usage(site).free // 10**6
    if free < needed:
        sys.exit(f"The disk that holds {sys.prefix} has {free:,} MB free. {MAKE_ROOM}")
    command = [sys.executable, "-m", "pip", "install", "--progress-bar=off", "--disable-pip-version-check"]
    command += ["--no-compile", *options, "-r", file]
    try:
        sys.exit(install(command, file, pins, site))
    except KeyboardInterrupt:
        sys.exit("\nStopped. The same command goes on from here.")


def remove_halves(site: Path) -> None:
    """What an interrupted pip had not finished: its list of files is written last, and pip would take it for whole."""
    for folder in site.glob("*.dist-info"):
        if not (folder / "RECORD").exists():
            shutil.rmtree(folder)


def install(command: list[str], file: str, pins: int, site: Path) -> str | int:
    before, found = count_installed(site), 0
    lines, said = [], ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in told(pip):
            lines.append(line)
            found += bool(FOUND.match(line))
            new = count_installed(site) - before
            said = f"{file}: {new} packages installed" if new else f"{file}: {found} of {pins} packages found"
            show(said)
    if sys.stderr.isatty() and said:
        print(file=sys.stderr)
    if pip.returncode == 0:
        return 0
    output = "".join(lines)
    if FULL in output:
        return f"The disk is full. {MAKE_ROOM}"
    errors = [line for line in lines if line.startswith(("ERROR", "WARNING", " "))] or lines
    print("".join(errors[-15:]), end="", file=sys.stderr)
    return "The requirements could not be installed; see pip's message above. Run the same command again."


def told(pip: subprocess.Popen[str]) -> Iterator[str]:
    """pip's lines, and an empty one whenever it has said nothing for a moment."""
    lines: Queue[str | None] = Queue()

    def read() -> None:
        with suppress(ValueError):  # after Ctrl-C the pipe is closed under it
            for line in pip.stdout or ():
                lines.put(line)
        lines.put(None)

    Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=ON_TERMINAL)
        except Empty:
            line = ""
        if line is None:
            return
        yield line


def count_pins(file: Path, site: Path) -> tuple[int, int]:
    """How many packages the file names, for other systems too, and how many of them are not here as it wants them."""
    wanted = re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", file.read_text(), re.MULTILINE)
    here = {plain(folder.name.removesuffix(".dist-info")) for folder in site.glob("*.dist-info")}
    return len(wanted), len({plain("-".join(pin)) for pin in wanted} - here)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def count_installed(site: Path) -> int:
    return sum(1 for _ in site.glob("*.dist-info"))


def show(words: str, last: list[float] = [0.0]) -> None:  # noqa: B006 - when a line was shown last
    live, now = sys.stderr.isatty(), time.monotonic()
    if now - last[0] >= (ON_TERMINAL if live else IN_LOG):
        last[0] = now
        print(f"\r\x1b[K{words}" if live else words, end="" if live else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
