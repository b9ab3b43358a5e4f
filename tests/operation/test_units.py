"""The units for service managers: systemd accepts them, and their commands are those of the image."""

import configparser
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from django.db import connection

from fieldstudy.embedded import postgres
from fieldstudy.embedded.servers import ROOT
from tests.operation.page import blocks
from tests.operation.test_page import CHOICES, make_key
from tests.operation.test_proxies import Visitor
from tests.surveys.simulation.server import end_server, free_port, start_server
from tests.test_containers import SERVICES, image_command

UNITS = ROOT / "deploy" / "systemd"
HOME = "/srv/fieldstudy"


def read_unit(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, strict=False, comment_prefixes="#")
    unit.optionxform = str
    unit.read(UNITS / name)
    return unit


def command(name: str) -> list[str]:
    program, *arguments = shlex.split(read_unit(f"fieldstudy-{name}.service")["Service"]["ExecStart"])
    return [program.removeprefix(f"{HOME}/.venv/bin/"), *arguments]


def without(arguments: list[str], *names: str) -> list[str]:
    """The arguments without these options and their values."""
    for name in names:
        if name in arguments:
            at = arguments.index(name)
            arguments = arguments[:at] + arguments[at + 2 :]
    return arguments


def test_units_run_what_the_containers_run() -> None:
    assert without(command("web"), "--respawn-interval") == without(image_command("CMD"), "--host", "--port")
    assert command("worker") == SERVICES["worker"]["command"]
    schedule = without(SERVICES["beat"]["command"], "--schedule")
    assert without(command("beat"), "--schedule") == schedule
    assert "--respawn-failed-workers" in command("web")


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_what_ends_is_started_again_and_not_for_ever(name: str) -> None:
    unit = read_unit(f"fieldstudy-{name}.service")
    assert unit["Service"]["Restart"] == "always"
    assert unit["Unit"]["StartLimitBurst"] and unit["Unit"]["StartLimitIntervalSec"]
    # The main process asks its children to end; a signal to all would end a task in its middle.
    assert unit["Service"]["KillMode"] == "mixed"


def test_every_unit_is_started_by_the_page() -> None:
    shown = "".join(blocks("sh", "host"))
    started = re.search(r"systemctl enable --now (.*)", shown)[1].split()
    units = {path.name.removesuffix(".service") for path in UNITS.iterdir()}
    assert set(started) == units - {"fieldstudy-backup"}  # which its timer starts


@pytest.mark.processes
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for path in UNITS.iterdir():
        text = re.sub(rf"{HOME}/\S+", "/bin/true", path.read_text())  # systemd looks whether the program is there
        (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *sorted(map(str, tmp_path.iterdir()))], capture_output=True, text=True
    )
    if "Failed to connect" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip(f"systemd-analyze does not run here: {done.stderr.strip()[:100]}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_reload_lets_new_processes_take_over_without_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port, log, arguments = free_port(), tmp_path / "web.log", command("web")
    interval = arguments[arguments.index("--respawn-interval") + 1]
    monkeypatch.setenv("GRANIAN_RESPAWN_INTERVAL", interval)
    server = start_server(port, log)
    try:
        visitor = Visitor(f"http://127.0.0.1:{port}/healthz")
        visitor.start()
        time.sleep(1)
        assert read_unit("fieldstudy-web.service")["Service"]["ExecReload"] == "/bin/kill -HUP $MAINPID"
        subprocess.run(["/bin/kill", "-HUP", str(server.pid)], check=True)
        end = time.monotonic() + 120
        while "Stopped old worker-1" not in log.read_text():
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        time.sleep(1)
        failed = visitor.end()
    finally:
        end_server(server)
    longest = max(seconds for _, seconds in visitor.seen)
    print(f"{len(visitor.seen)} requests, {len(failed)} failed, longest {longest:.1f} s")
    assert failed == [] and len(visitor.seen) > 20


# --- backups --------------------------------------------------------------------------------------------------


def run_backup(folder: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    settings = connection.settings_dict
    environment = {"PATH": f"{postgres.programs()}:/usr/bin:/bin", "PGHOST": settings["HOST"], "PGUSER": "postgres"}
    environment |= {"PGDATABASE": settings["NAME"], **changes}
    command = [str(ROOT / "deploy" / "backup.sh"), str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def backups(folder: Path) -> list[Path]:
    return sorted(folder.glob("fieldstudy-*.dump.gpg"))


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """The folder of a key pair, whose public key is beside the backups."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")
    if not connection.settings_dict["HOST"].startswith("/"):
        pytest.skip("DATABASE_URL names a server of its own; its tools may be of another version")
    make_key(tmp_path / "keys")
    (tmp_path / "backups").mkdir()
    command = ["gpg", "--homedir", str(tmp_path / "keys"), "--armor", "--export", CHOICES["EMAIL"]]
    public = subprocess.run(command, capture_output=True, check=True).stdout
    (tmp_path / "backups" / "key.asc").write_bytes(public)
    return tmp_path / "keys"


@pytest.mark.processes
@pytest.mark.django_db
def test_backups_are_encrypted_for_one_key_and_the_oldest_go(keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    for _ in range(3):
        done = run_backup(folder, KEEP="2")
        assert done.returncode == 0, done.stderr
    kept = backups(folder)
    assert len(kept) == 2 and done.stdout.startswith(f"{kept[-1]}: ")
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert b"PGDMP" not in kept[0].read_bytes()
    command = ["gpg", "--batch", "--homedir", str(keys), "--decrypt", str(kept[0])]
    dump = subprocess.run(command, capture_output=True, check=True).stdout
    listed = subprocess.run([postgres.programs() / "pg_restore", "--list"], input=dump, capture_output=True, check=True)
    assert b"TABLE DATA public surveys_response" in listed.stdout


@pytest.mark.processes
@pytest.mark.django_db
def test_failed_backup_is_told_and_removes_no_older_one(keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    assert run_backup(folder, KEEP="1").returncode == 0
    before = backups(folder)
    assert run_backup(folder, KEEP="1", PGDATABASE="none").returncode != 0
    (folder / "key.asc").write_text("not a key")
    assert run_backup(folder, KEEP="1").returncode != 0
    assert backups(folder) == before
    assert {path.name for path in folder.iterdir()} == {"key.asc", before[0].name}


@pytest.mark.processes
@pytest.mark.django_db
@pytest.mark.parametrize("keep", ["0", "-1", "two"])
def test_number_of_backups_to_keep_that_keeps_none_is_refused(keep: str, keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    (folder / "fieldstudy-1.dump.gpg").touch()
    done = run_backup(folder, KEEP=keep)
    assert (done.returncode, done.stderr) == (1, f"KEEP={keep} is not a whole number from 1 on. No backup was made.\n")
    assert backups(folder) == [folder / "fieldstudy-1.dump.gpg"]


@pytest.mark.processes
@pytest.mark.django_db
def test_what_a_killed_backup_left_goes_after_a_day(keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    old, new = folder / "fieldstudy-1.dump.gpg.part", folder / "fieldstudy-2.dump.gpg.part"
    for path, age in ((old, "25 hours ago"), (new, "1 hour ago")):
        subprocess.run(["touch", "--date", age, path], check=True)
    assert run_backup(folder).returncode == 0
    assert (old.exists(), new.exists()) == (False, True)
