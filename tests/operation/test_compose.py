"""docker-compose.yml as Compose itself reads it, if there is a client: that needs no daemon."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from fieldstudy.embedded.servers import ROOT
from tests.test_containers import APP_SERVICES, SERVICES

SITE = "ALLOWED_HOSTS=study.example.org\nSITE_URL=https://study.example.org\n"
KEY, PASSWORD = "0123456789abcdef" * 2, "fedcba9876543210" * 2
VALUES = {"SECRET_KEY": KEY, "POSTGRES_PASSWORD": PASSWORD}
FILES = {"SECRET_KEY_FILE": "/secrets/key", "POSTGRES_PASSWORD_FILE": "/secrets/password"}


def client() -> list[str]:
    """The Compose client; COMPOSE=/path names one that is not installed."""
    for command in ([os.environ["COMPOSE"]],) if "COMPOSE" in os.environ else (["docker", "compose"],):
        if shutil.which(command[0]) and not subprocess.run([*command, "version"], capture_output=True).returncode:
            return command
    pytest.skip("no Compose client is installed")


def config(folder: Path, written: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = client()
    shutil.copy(ROOT / "docker-compose.yml", folder)
    shutil.copytree(ROOT / "deploy", folder / "deploy", dirs_exist_ok=True)
    (folder / ".env").write_text(SITE + "".join(f"{name}={value}\n" for name, value in written.items()))
    profiles = [part for name in ("tools", "tls", "backup") for part in ("--profile", name)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = [*command, *profiles, "config"]
    return subprocess.run(done, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.processes
def test_secrets_may_be_values(tmp_path: Path) -> None:
    done = config(tmp_path, VALUES)
    assert (done.returncode, done.stderr) == (0, "")
    read = yaml.safe_load(done.stdout)
    for name in APP_SERVICES:
        given = read["services"][name]["environment"]
        assert {key: given[key] for key in VALUES} == VALUES
        assert {given[key] for key in FILES} == {""}
    assert read["services"]["db"]["environment"]["POSTGRES_PASSWORD"] == PASSWORD
    assert {secret["file"] for secret in read["secrets"].values()} == {"/dev/null"}
    assert set(read["services"]) == set(SERVICES)


@pytest.mark.processes
def test_secrets_may_be_files(tmp_path: Path) -> None:
    done = config(tmp_path, FILES)
    assert (done.returncode, done.stderr) == (0, "")
    read = yaml.safe_load(done.stdout)
    assert {secret["file"] for secret in read["secrets"].values()} == set(FILES.values())
    for name in APP_SERVICES:
        given = read["services"][name]["environment"]
        assert {key: given[key] for key in VALUES} == dict.fromkeys(VALUES, "")
        assert given["SECRET_KEY_FILE"] == "/run/secrets/secret_key"
    for name in (*APP_SERVICES, "db", "backup"):
        given = read["services"][name]
        assert given["environment"]["POSTGRES_PASSWORD_FILE"] == "/run/secrets/postgres_password"
        assert "postgres_password" in {secret["source"] for secret in given["secrets"]}


@pytest.mark.processes
@pytest.mark.parametrize("missing", VALUES)
@pytest.mark.parametrize("empty", [False, True])
def test_a_secret_given_in_neither_way_is_refused(missing: str, empty: bool, tmp_path: Path) -> None:
    written = {name: value for name, value in VALUES.items() if name != missing} | ({missing: ""} if empty else {})
    done = config(tmp_path, written)
    assert done.returncode != 0
    assert f"Write {missing} to .env; .env.example says how" in done.stderr


# --- what the services do -------------------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.parametrize(("age", "written"), [(None, 1), (60, 0), (1380, 0), (1500, 1)])
def test_backup_that_is_made_anew_waits_until_the_last_one_is_a_day_old(
    age: int | None, written: int, tmp_path: Path
) -> None:
    backups, programs = tmp_path / "backups", tmp_path / "programs"
    for folder in (backups, programs):
        folder.mkdir()
    if age is not None:
        (backups / "fieldstudy-1.dump.gpg").touch()
        subprocess.run(["touch", "--date", f"{age} minutes ago", backups / "fieldstudy-1.dump.gpg"], check=True)
    (tmp_path / "backup.sh").write_text('touch "$1/fieldstudy-2.dump.gpg"\n')
    (programs / "sleep").write_text("#!/bin/sh\nkill $PPID\n")  # ends the loop after its first round
    (programs / "sleep").chmod(0o755)
    script = SERVICES["backup"]["entrypoint"][-1].replace("/backup.sh", str(tmp_path / "backup.sh"))
    script = script.replace("/backups", str(backups))
    subprocess.run(["bash", "-c", script], env={"PATH": f"{programs}:{os.environ['PATH']}"}, timeout=30)
    assert (backups / "fieldstudy-2.dump.gpg").exists() == bool(written)
