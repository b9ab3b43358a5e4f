"""The embedded services: shared, stopped with their last holder, and restored after any kind of end."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fieldstudy.embedded import children, postgres
from fieldstudy.settings import broker_from_url, database_from_url
from tests.embedded import processes_of, release, run_python, services_folder, start_holder, wait_for


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    with services_folder() as folder:
        yield folder


def copy_of(var: Path, name: str) -> Path:
    """A folder with a copy of the database's data, taken once the servers have stopped."""
    assert wait_for(lambda: not processes_of(var)), processes_of(var)
    other = var / name
    other.mkdir()
    subprocess.run(["cp", "-a", var / "postgres", other], check=True)  # with its owner
    return other


def refusal(var: Path) -> str:
    """What a command prints that cannot start the services."""
    done = run_python("manage.py", "showmigrations", var=var)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    return done.stderr


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
def test_last_holder_waits_for_a_keeper_that_comes_late(var: Path) -> None:
    holder, _ = start_holder(var)
    (keeper,) = (found for found in psutil.process_iter(["cmdline"]) if is_keeper(found.info["cmdline"], var))
    keeper.suspend()
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            holder.communicate(timeout=1)
    finally:
        keeper.resume()
    release(holder)
    assert processes_of(var) == []


def is_keeper(line: list[str] | None, var: Path) -> bool:
    return line is not None and line[1:] == ["-m", "fieldstudy.embedded.keeper", str(var)]


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
    said = refusal(other)
    assert "holds data of PostgreSQL 16, and this copy brings PostgreSQL 18" in said
    assert f"mv {other / 'postgres'}" in said


@pytest.mark.processes
def test_damaged_data_is_refused_with_the_servers_reason(var: Path) -> None:
    other = copy_of(var, "damaged")
    (other / "postgres" / "global" / "pg_control").write_bytes(b"\0" * 100)
    assert "PostgreSQL did not start: could not read file" in refusal(other)


@pytest.mark.processes
def test_folder_that_cannot_be_written_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = refusal(tmp_path / "file" / "var")
    assert said.count("\n") == 1 and "cannot be written: Not a directory" in said


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


def test_urls_of_sockets_are_read_by_django_and_celery() -> None:
    database = database_from_url("postgresql://postgres@/fieldstudy?host=%2Ftmp%2Fa%20b")
    assert (database["HOST"], database["NAME"], database["USER"]) == ("/tmp/a b", "fieldstudy", "postgres")
    assert broker_from_url("unix:///tmp/a%20b/v.sock?db=2") == "redis+socket:///tmp/a%20b/v.sock?virtual_host=2"
    assert broker_from_url("rediss://user:pw@host:6380/1") == "rediss://user:pw@host:6380/1"
