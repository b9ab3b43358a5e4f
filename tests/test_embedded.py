"""The embedded services: shared, stopped with their last holder, and back after any kind of end."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from fieldstudy.embedded import children, demo_server, postgres, servers
from fieldstudy.settings import broker_from_url, database_from_url

PATIENCE = 180  # seconds, on a computer that has much to do

HOLD = """
import os, sys
from fieldstudy.embedded import servers
servers.attach()
import psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    print(connection.execute("SELECT pg_postmaster_start_time()").fetchone()[0], flush=True)
sys.stdin.read()
"""


def clean_environment(var: Path, **changes: str) -> dict[str, str]:
    """Without what the test run itself has set for its own services."""
    names = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "DATABASE_POOL")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**kept, "FIELDSTUDY_VAR": str(var), "FIELDSTUDY_FSYNC": "off", **changes}


def start_python(*arguments: str, var: Path, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=servers.ROOT,
        env=clean_environment(var, **changes),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_python(*arguments: str, var: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    with start_python(*arguments, var=var, **changes) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def start_holder(var: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that holds the services, and when the server it sees was started."""
    holder = start_python("-c", HOLD, var=var)
    return holder, holder.stdout.readline().strip()


def release(holder: subprocess.Popen[str]) -> None:
    holder.communicate(timeout=30)


def processes_of(var: Path) -> list[str]:
    """Every living process that has this folder on its command line: servers, keeper, worker."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if f"{var}" in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)  # pytest's own folders are closed to the account that PostgreSQL has under root
    release(start_holder(folder)[0])
    yield folder
    assert wait_for(lambda: not processes_of(folder)), processes_of(folder)
    shutil.rmtree(folder)


def copy_of(var: Path, name: str) -> Path:
    """The data of servers that don't run, in a folder of its own."""
    assert wait_for(lambda: not processes_of(var)), processes_of(var)
    other = var / name
    other.mkdir()
    subprocess.run(["cp", "-a", var / "postgres", other], check=True)  # with its owner
    return other


@pytest.mark.processes
def test_services_are_shared_and_stop_with_the_last_holder(var: Path) -> None:
    first, started = start_holder(var)
    second, seen = start_holder(var)
    assert started == seen != ""
    release(first)
    third, seen = start_holder(var)
    assert seen == started
    release(second)
    release(third)
    assert processes_of(var) == []


@pytest.mark.processes
def test_services_stop_when_the_only_holder_is_killed(var: Path) -> None:
    holder, _ = start_holder(var)
    holder.kill()
    holder.communicate()
    assert wait_for(lambda: not processes_of(var)), processes_of(var)


@pytest.mark.processes
def test_killed_holder_does_not_stop_the_services_of_others(var: Path) -> None:
    first, started = start_holder(var)
    second, _ = start_holder(var)
    first.kill()
    first.communicate()
    third, seen = start_holder(var)
    assert seen == started
    release(second)
    release(third)


@pytest.mark.processes
def test_services_come_back_after_keeper_and_servers_were_killed(var: Path) -> None:
    holder, started = start_holder(var)
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if str(var) in " ".join(line) and ("fieldstudy.embedded.keeper" in line or "-D" in line):
            process.kill()
    assert wait_for(lambda: not processes_of(var))
    second, seen = start_holder(var)
    assert seen and seen != started
    release(holder)
    release(second)


@pytest.mark.processes
def test_stale_postmaster_pid_of_another_program_is_not_believed(var: Path) -> None:
    # Process 1 lives on every system, and is no PostgreSQL on this folder.
    (var / "postgres" / "postmaster.pid").write_text(f"1\n{var / 'postgres'}\n")
    holder, started = start_holder(var)
    assert started
    release(holder)


@pytest.mark.processes
def test_half_made_cluster_of_a_killed_start_is_made_anew(var: Path) -> None:
    shutil.rmtree(var / "postgres")
    (var / "postgres.unfinished").mkdir()
    (var / "postgres.unfinished" / "PG_VERSION").write_text("18\n")
    holder, started = start_holder(var)
    assert started
    assert not (var / "postgres.unfinished").exists()
    release(holder)


@pytest.mark.processes
def test_data_of_another_major_version_is_refused_with_a_way_on(var: Path) -> None:
    other = copy_of(var, "older")
    (other / "postgres" / "PG_VERSION").write_text("16\n")
    done = run_python("manage.py", "showmigrations", var=other)
    assert done.returncode == 1
    assert "holds data of PostgreSQL 16, and this copy brings PostgreSQL 18" in done.stderr
    assert f"mv {other / 'postgres'}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.processes
def test_damaged_data_is_refused_with_the_servers_reason(var: Path) -> None:
    other = copy_of(var, "damaged")
    (other / "postgres" / "global" / "pg_control").write_bytes(b"\0" * 100)
    done = run_python("manage.py", "showmigrations", var=other)
    assert done.returncode == 1
    assert "PostgreSQL did not start: could not read file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.processes
def test_folder_that_cannot_be_written_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_python("manage.py", "showmigrations", var=tmp_path / "file" / "var")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "cannot be written: Not a directory" in done.stderr


def test_full_disk_is_named_even_when_the_log_is_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "LEAST_SPACE", 2**80)
    said = children.explain_output("PostgreSQL did not start", "database system is shut down", tmp_path / "x")
    assert str(said).startswith(f"The disk that holds {tmp_path / 'x'} is full. Make room")


@pytest.mark.processes
def test_folder_too_long_for_a_socket_works_and_leaves_nothing_in_tmp(var: Path) -> None:
    deep = var / ("d" * 100) / "with space %"
    before = set(Path("/tmp").glob("fieldstudy-*"))
    holder, started = start_holder(deep)
    made = set(Path("/tmp").glob("fieldstudy-*")) - before
    assert (bool(started), len(made)) == (True, 1)
    release(holder)
    assert not made.pop().exists()


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts PostgreSQL under another account")


def modes_above(folder: Path) -> dict[Path, int]:
    return {place: stat.S_IMODE(place.stat().st_mode) for place in folder.parents}


@as_root
@pytest.mark.processes
def test_root_opens_no_folder_above_its_data(tmp_path: Path) -> None:
    var = tmp_path / "closed" / "var"
    var.parent.mkdir(mode=0o700)
    before = modes_above(var)
    assert any(not mode & stat.S_IXOTH for mode in before.values())
    holder, started = start_holder(var)
    release(holder)
    data = (var / "postgres").resolve()
    try:
        assert started and modes_above(var) == before
        assert data.is_relative_to(postgres.APART) and (data / "PG_VERSION").exists()
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        again, _ = start_holder(var)
        release(again)
        assert (var / "postgres").resolve() == data
    finally:
        shutil.rmtree(data.parent)


@as_root
def test_data_that_postgresql_cannot_reach_any_more_is_named_with_a_way_on(tmp_path: Path) -> None:
    (tmp_path / "var" / "postgres").mkdir(parents=True)
    tmp_path.chmod(0o700)
    with pytest.raises(children.Failure, match=rf"cannot reach {tmp_path}/var/postgres as .*chmod o\+x .*{tmp_path}"):
        postgres.data_folder(tmp_path / "var", postgres.server_account())
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


@as_root
def test_programs_that_only_root_can_read_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site" / "package" / "install" / "bin"
    installed.mkdir(parents=True)
    (tmp_path / "site" / "package.libs").mkdir()
    (installed / "postgres").write_text("#!/bin/sh\n")
    (installed / "postgres").chmod(0o700)
    (installed / "help.txt").touch(mode=0o600)
    monkeypatch.setattr(postgres, "BINARIES", installed)
    monkeypatch.setattr(postgres, "APART", tmp_path / "apart")
    copies = [postgres.programs.__wrapped__() for _ in range(2)]
    assert copies[0] == copies[1] and copies[0].is_relative_to(tmp_path / "apart")
    assert {path.name: oct(path.stat().st_mode)[-3:] for path in copies[0].iterdir()} == {
        "postgres": "755",
        "help.txt": "644",
    }
    assert oct((installed / "postgres").stat().st_mode)[-3:] == "700"
    assert len(list((tmp_path / "apart").iterdir())) == 1
    assert (copies[0].parents[2] / "package.libs").exists()


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


def test_urls_of_sockets_are_read_by_django_and_celery() -> None:
    database = database_from_url("postgresql://postgres@/fieldstudy?host=%2Ftmp%2Fa%20b")
    assert (database["HOST"], database["NAME"], database["USER"]) == ("/tmp/a b", "fieldstudy", "postgres")
    assert broker_from_url("unix:///tmp/a%20b/v.sock?db=2") == "redis+socket:///tmp/a%20b/v.sock?virtual_host=2"
    assert broker_from_url("rediss://user:pw@host:6380/1") == "rediss://user:pw@host:6380/1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_demo(var: Path, port: int) -> tuple[subprocess.Popen[str], str]:
    """The demo, and what it printed once everything answered."""
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


@pytest.mark.processes
def test_demo_serves_until_it_is_stopped_and_leaves_nothing(var: Path) -> None:
    port = free_port()
    demo, said = start_demo(var, port)
    assert f"http://localhost:{port}/s/demo/?PROLIFIC_PID=" in said, demo.communicate()[1]
    assert f"http://localhost:{port}/console/" in said
    health = read_health(port)
    assert health.pop("audit")["events"] > 0
    assert health == {
        "ok": True,
        "database": "ok",
        "broker": "ok",
        "worker": "ok",
        "pending_migrations": 0,
    }
    again = run_python("-m", "fieldstudy.embedded.demo_server", "--port", str(port), var=var)
    assert again.returncode == 1
    assert f"already running on http://localhost:{port} (process {demo.pid})" in again.stderr
    demo.send_signal(signal.SIGTERM)
    assert (demo.wait(timeout=30), processes_of(var)) == (0, [])
    release(demo)


@pytest.mark.processes
def test_demo_killed_outright_leaves_nothing(var: Path) -> None:
    demo, _ = start_demo(var, free_port())
    demo.kill()
    demo.communicate()
    assert wait_for(lambda: not processes_of(var)), processes_of(var)


def main_process(var: Path, number: int) -> psutil.Process:
    """Of the demo's servers, in the order of their start: web, worker, mock of Prolific, schedule."""
    record = json.loads((var / "run" / "demo.json").read_text())
    return psutil.Process(int(record["children"][number]["pid"]))


def serving_child(var: Path, number: int) -> psutil.Process:
    """The process that does the work of a server; multiprocessing's own helper does none."""
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
def test_demo_goes_on_when_any_of_its_processes_is_killed(var: Path) -> None:
    port = free_port()
    demo, said = start_demo(var, port)
    assert "Field Study is running" in said
    web, worker, schedule = 0, 1, 3
    try:
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
    finally:
        demo.send_signal(signal.SIGTERM)
        _, err = demo.communicate(timeout=60)
    assert (demo.returncode, processes_of(var)) == (0, [])
    again = "process ended unexpectedly (status -9) and is started again."
    assert [line.split()[1] for line in err.splitlines() if again in line] == ["web", "worker", "beat"]


def test_server_that_ends_at_once_is_not_started_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FIELDSTUDY_VAR", str(tmp_path))
    servers.run_folder()
    command = [sys.executable, "-c", "print('no port'); raise SystemExit(3)"]
    child = demo_server.Child("web", command, dict(os.environ))
    with pytest.raises(SystemExit, match=r"web process ended unexpectedly \(status 3\), once more after 3 restarts"):
        while True:
            child.process.wait(timeout=30)
            demo_server.keep_running(1, [child])
    assert child.log.read_text() == "no port\n" * 4
    assert capsys.readouterr().err.count("is started again") == 3


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
    record = {
        "port": 1,
        "runner": {"pid": ours.pid, "started": 1.0},
        "children": [{"pid": ours.pid, "started": 1.0}],
    }
    (var / "run" / "demo.json").write_text(json.dumps(record))
    done = run_python("-m", "fieldstudy.embedded.demo_server", "--port", "0", var=var)
    assert done.returncode == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run_python("-m", "fieldstudy.embedded.demo_server", "--port", str(taken.getsockname()[1]), var=var)
    assert "in use" in done.stderr
    assert ours.is_running()
