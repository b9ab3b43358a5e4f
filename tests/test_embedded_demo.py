"""Commands and the demo on the embedded services: what each starts and migrates, and that the demo keeps running."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from fieldstudy.embedded import children, demo_server, postgres, schema, servers
from tests.embedded import processes_of, release, run_python, services_folder, start_holder, start_python, wait_for
from tests.surveys.simulation.server import free_port


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    with services_folder() as folder:
        yield folder


@pytest.mark.processes
@pytest.mark.parametrize("arguments", [["--help"], ["migrate", "--help"], ["no_such_command"], ["check"]])
def test_command_without_need_of_a_database_starts_nothing(arguments: list[str], tmp_path: Path) -> None:
    run_python("manage.py", *arguments, var=tmp_path / "var")
    assert not (tmp_path / "var").exists()


def test_every_own_command_gets_the_services() -> None:
    names = [path.stem for path in servers.ROOT.glob("*/management/commands/[a-z]*.py")]
    assert "load_study" in names
    assert all(servers.needs_services(["manage.py", name]) for name in names)


@pytest.mark.processes
def test_pending_migrations_are_applied_once_by_commands_started_together(var: Path) -> None:
    with start_python("manage.py", "shell", "-v0", "-c", "print('ready')", var=var) as first:
        second = run_python("manage.py", "shell", "-v0", "-c", "print('ready')", var=var)
        out, err = first.communicate(timeout=60)
    assert (first.returncode, out.strip(), second.stdout.strip()) == (0, "ready", "ready"), err + second.stderr
    shown = run_python("manage.py", "showmigrations", "--plan", var=var)
    assert "[X]" in shown.stdout
    assert "[ ]" not in shown.stdout


@pytest.mark.parametrize("pause", [0, 5])
def test_tables_are_counted_while_they_are_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pause: float
) -> None:
    monkeypatch.setattr(schema, "IN_LOG", pause)
    with schema.AppliedMigrations(2) as applied:
        for line in ("Running migrations:", "  Applying a.0001...", " OK", "  Applying b.0001...", " OK"):
            applied.write(line)
    said = [f"Making the tables of the database: {number} of 2 steps" for number in (1, 2)]
    assert capsys.readouterr().err.splitlines() == (said if pause == 0 else [])


@pytest.mark.processes
def test_database_named_by_url_is_not_migrated(var: Path) -> None:
    holder, _ = start_holder(var)
    sockets = var / "run" / "sockets"
    with postgres.connect(sockets, "postgres") as connection:
        connection.execute("CREATE DATABASE named")
    url = json.loads((var / "run" / "services.json").read_text())["DATABASE_URL"].replace("/fieldstudy?", "/named?")
    done = run_python("manage.py", "shell", "-v0", "-c", "print('ready')", var=var, DATABASE_URL=url)
    with postgres.connect(sockets, "named") as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    release(holder)
    assert (done.returncode, tables) == (0, (0,))


@pytest.mark.processes
def test_production_never_starts_embedded_services(tmp_path: Path) -> None:
    done = run_python("manage.py", "showmigrations", var=tmp_path / "var", DEBUG="false")
    assert done.returncode == 1
    assert "set DATABASE_URL, REDIS_URL, ALLOWED_HOSTS, SECRET_KEY" in done.stderr
    assert not (tmp_path / "var").exists()


def start_demo(var: Path, port: int) -> tuple[subprocess.Popen[str], str]:
    """Start the demo; return it and what it printed until everything answered."""
    demo = start_python("-m", "fieldstudy.embedded.demo_server", "--port", str(port), var=var)
    said = ""
    for line in demo.stdout:
        said += line
        if "Ctrl-C stops" in line:
            break
    return demo, said


def read_health(port: int) -> dict:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as response:
        return json.load(response)


def main_process(var: Path, number: int) -> psutil.Process:
    """One of the demo's servers, in the order they start: web, worker, mock of Prolific, schedule."""
    record = json.loads((var / "run" / "demo.json").read_text())
    return psutil.Process(int(record["children"][number]["pid"]))


def serving_child(var: Path, number: int) -> psutil.Process:
    """The child that does a server's work, not multiprocessing's own helper."""
    found = main_process(var, number).children()
    return next(child for child in found if "resource_tracker" not in " ".join(child.cmdline()))


def runs_again(find: Callable[[Path, int], psutil.Process], var: Path, number: int, killed: psutil.Process) -> bool:
    try:
        process = find(var, number)
    except (psutil.NoSuchProcess, StopIteration):
        return False
    return process != killed and children.is_alive(process)


def is_whole(port: int) -> bool:
    try:
        health = read_health(port)
    except OSError:
        return False
    return health["ok"] and health["worker"] == "ok"


@pytest.mark.processes
def test_demo_serves_goes_on_whatever_is_killed_and_leaves_nothing_when_it_is_stopped(var: Path) -> None:
    port = free_port()
    demo, said = start_demo(var, port)
    try:
        assert f"http://localhost:{port}/s/demo/?PROLIFIC_PID=" in said, demo.communicate()[1]
        assert f"http://localhost:{port}/console/" in said and "Field Study is running" in said
        health = read_health(port)
        assert health.pop("audit")["events"] > 0
        assert health == {"ok": True, "database": "ok", "broker": "ok", "worker": "ok", "pending_migrations": 0}
        check_second_demo(var, port, demo.pid)
        check_restarts(var, port)
    finally:
        demo.send_signal(signal.SIGTERM)
        _, err = demo.communicate(timeout=30)
    assert (demo.returncode, processes_of(var)) == (0, [])
    again = "process ended unexpectedly (status -9) and is started again."
    assert [line.split()[1] for line in err.splitlines() if again in line] == ["web", "worker", "beat"]


def check_second_demo(var: Path, port: int, running: int) -> None:
    again = run_python("-m", "fieldstudy.embedded.demo_server", "--port", str(port), var=var)
    assert again.returncode == 1
    assert f"already running on http://localhost:{port} (process {running})" in again.stderr


def check_restarts(var: Path, port: int) -> None:
    web, worker, schedule = 0, 1, 3
    for find, number in [
        (serving_child, web),
        (serving_child, worker),
        (main_process, web),
        (main_process, worker),
        (main_process, schedule),
    ]:
        killed = find(var, number)
        killed.kill()
        order = (find, var, number, killed)
        assert wait_for(lambda order=order: runs_again(*order), 60), (find.__name__, number)
        assert wait_for(lambda: is_whole(port), 60), (find.__name__, number)


@pytest.mark.processes
def test_demo_killed_outright_leaves_nothing(var: Path) -> None:
    demo, _ = start_demo(var, free_port())
    demo.kill()
    demo.communicate()
    assert wait_for(lambda: not processes_of(var)), processes_of(var)


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDSTUDY_VAR", str(tmp_path))
    servers.run_folder()


def start_child(name: str, program: str) -> demo_server.Child:
    return demo_server.Child(name, [sys.executable, "-c", program], dict(os.environ))


@pytest.mark.usefixtures("own_folder")
def test_server_that_ends_at_once_is_not_started_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    child = start_child("web", "print('no port'); raise SystemExit(3)")
    with pytest.raises(SystemExit, match=r"web process ended unexpectedly \(status 3\), once more after 3 restarts"):
        while True:
            child.process.wait(timeout=30)
            demo_server.keep_running(1, [child])
    assert child.log.read_text() == "no port\n" * 4
    assert capsys.readouterr().err.count("is started again") == 3


@pytest.mark.usefixtures("own_folder")
def test_log_of_the_server_that_ended_is_shown_with_what_the_system_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise PermissionError(13, "Permission denied")

    child = start_child("worker", "print('no semaphore'); raise SystemExit(1)")
    child.process.wait(timeout=30)
    assert demo_server.shared_memory_fault() == ""
    monkeypatch.setattr(demo_server.multiprocessing, "Semaphore", refused)
    with pytest.raises(SystemExit, match=r"\(Permission denied\): /dev/shm must be .* Mount it") as told:
        demo_server.keep_running(1, [child])
    assert "worker.log:\nno semaphore" in str(told.value)


@pytest.mark.usefixtures("own_folder")
def test_start_that_takes_too_long_shows_the_log_of_what_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_server, "START_PATIENCE", -1)
    web, worker = (start_child(name, "import time; time.sleep(60)") for name in ("web", "worker"))
    try:
        worker.log.write_text("why it ended")
        worker.restarts.append(0.0)
        with pytest.raises(SystemExit, match=r"(?s)worker\.log:.*why it ended"):
            demo_server.wait_until_healthy(1, [web, worker])
    finally:
        demo_server.stop_servers([web, worker])


@pytest.mark.processes
def test_demo_stops_servers_that_outlived_a_killed_run(var: Path) -> None:
    with start_python("-c", "import time; time.sleep(60)", var=var) as orphan, socket.socket() as taken:
        created = psutil.Process(orphan.pid).create_time()
        gone = {"pid": 2**22 + 1, "started": 0}
        record = {"port": 1, "runner": gone, "children": [{"pid": orphan.pid, "started": created}]}
        (var / "run" / "demo.json").write_text(json.dumps(record))
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_python("-m", "fieldstudy.embedded.demo_server", "--port", str(port), var=var)
        assert orphan.wait(timeout=10) == -signal.SIGTERM
    assert "Stopped 1 server(s) that a killed run had left behind." in done.stderr
    assert f"Port {port} is in use by another program. Choose another: make demo PORT={port + 1}" in done.stderr
    assert done.returncode == 1


@pytest.mark.processes
def test_recorded_process_number_that_another_program_has_is_left_alone(var: Path) -> None:
    ours = psutil.Process()
    record = {"port": 1, "runner": {"pid": ours.pid, "started": 1.0}, "children": [{"pid": ours.pid, "started": 1.0}]}
    (var / "run" / "demo.json").write_text(json.dumps(record))
    done = run_python("-m", "fieldstudy.embedded.demo_server", "--port", "0", var=var)
    assert done.returncode == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run_python("-m", "fieldstudy.embedded.demo_server", "--port", str(taken.getsockname()[1]), var=var)
    assert "in use" in done.stderr
    assert ours.is_running()
