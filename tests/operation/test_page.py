"""The commands of docs/deploying.md, in order, as written."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from fieldstudy.embedded.servers import ROOT
from tests.operation.page import PAGE, blocks, chosen_names, engine, make_repository, make_stand_ins, run_script

CHOICES = {
    "SITE": "localhost",
    "OWNER": "ada",
    "EMAIL": "ada@example.org",
    "DJANGO_SUPERUSER_PASSWORD": "a long pass phrase of ours",
}


def make_key(home: Path) -> None:
    """Make a key pair without a passphrase, whose public half the page exports."""
    home.mkdir(mode=0o700)
    command = ["gpg", "--batch", "--homedir", str(home), "--passphrase", "", "--quick-generate-key"]
    subprocess.run([*command, CHOICES["EMAIL"], "default", "default", "never"], check=True, capture_output=True)


def wanted(tmp_path: Path) -> dict[str, str]:
    """What the page lets the reader choose, and where gpg finds the reader's key."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")
    make_key(tmp_path / "keys")
    repository = tmp_path / "repository"
    repository.mkdir()
    return {**CHOICES, "REPOSITORY": str(make_repository(repository)), "GNUPGHOME": str(tmp_path / "keys")}


@pytest.fixture
def sockets() -> Iterator[str]:
    """The sockets of a server on which the test may create the database `fieldstudy`."""
    settings = connection.settings_dict
    if not settings["HOST"].startswith("/"):
        pytest.skip("DATABASE_URL names a server where databases are not ours to make")
    drop = "DROP DATABASE IF EXISTS fieldstudy WITH (FORCE)"
    with psycopg.connect(host=settings["HOST"], user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(drop)
        yield settings["HOST"]
        server.execute(drop)
        server.execute("CREATE DATABASE fieldstudy")


@pytest.mark.processes
@pytest.mark.slow
def test_commands_of_the_page_run_in_order(sockets: str, tmp_path: Path) -> None:
    """The database is real; the containers' programs run without containers."""
    choices = wanted(tmp_path)
    stand_ins = make_stand_ins(tmp_path / "programs", sockets, os.environ["REDIS_URL"])
    printed = run_script(blocks("sh"), tmp_path, choices, str(stand_ins))
    checkout = tmp_path / "fieldstudy"
    assert (checkout / ".env").stat().st_mode & 0o777 == 0o600
    env = (checkout / ".env").read_text()
    keys = re.findall(r"^(?:SECRET_KEY|POSTGRES_PASSWORD)=([0-9a-f]{64})$", env, re.MULTILINE)
    assert len(set(keys)) == 2 and "ALLOWED_HOSTS=localhost\n" in env and "SITE_URL=https://localhost\n" in env
    assert "sha256:" in (checkout / "docker-compose.override.yml").read_text()

    backups, files = tmp_path / "fieldstudy-backups", tmp_path / "fieldstudy-files"
    rows = dict(line.split("|")[:2] for line in (backups / "real.txt").read_text().splitlines())
    assert rows["auth_user"] == rows["surveys_study"] == "1" and int(rows["django_migrations"]) > 20
    assert int(rows["triggers"]) > 5 and len(rows) > 40
    with psycopg.connect(host=sockets, user="postgres", dbname="fieldstudy") as restored:
        assert restored.execute("SELECT username, is_superuser FROM auth_user").fetchall() == [("ada", True)]
    assert (files / "exports" / "codebook.md").exists()
    with tarfile.open(files / "exports.tar") as archive:
        assert "codebook.json" in archive.getnames()
    assert (backups / "key.asc").read_text().startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----")
    assert "1 studies" in printed or "holds" in printed

    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout
    assert status == "", "what the page writes into the checkout could be committed or baked into the image"
    called = {tuple(json.loads(line)[:3]) for line in (stand_ins / "log").read_text().splitlines()}
    assert {("docker", "compose", action) for action in ("up", "exec", "run", "stop", "build")} <= called


@pytest.mark.processes
@pytest.mark.slow
def test_page_runs_as_written_on_a_container_engine(tmp_path: Path) -> None:
    if reason := engine():
        pytest.skip(f"No container engine: {reason}")
    try:
        run_script(blocks("sh"), tmp_path, wanted(tmp_path))
        encrypted = list((tmp_path / "fieldstudy-backups").glob("fieldstudy-*.dump.gpg"))
        assert encrypted and encrypted[0].stat().st_size > 10_000
    finally:
        if (tmp_path / "fieldstudy").exists():
            command = ["docker", "compose", "--profile", "*", "down", "--volumes", "--timeout", "10"]
            subprocess.run(command, cwd=tmp_path / "fieldstudy")


def test_reader_chooses_what_the_tests_choose() -> None:
    assert set(chosen_names()) == {*CHOICES, "REPOSITORY"}


def test_every_command_of_the_page_is_in_a_block_that_is_run() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"^```(.*)$", text, re.MULTILINE)) == {"", "sh", "sh choices", "sh host", "caddy", "nginx"}
    assert len(blocks("sh")) > 8


def test_dumps_are_written_beside_the_checkout() -> None:
    targets = re.findall(r"> (\S+)", "".join(blocks("sh")))
    assert {target.split("/")[0] for target in targets if target != ".env)"} - {
        ".env",
        "docker-compose.override.yml",
    } == {".."}


def test_scripts_are_valid() -> None:
    for kind in ("", "host"):
        for text in blocks("sh", kind):
            subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    for script in (ROOT / "deploy").glob("*.sh"):
        subprocess.run(["bash", "-n", script], check=True)
        assert os.access(script, os.X_OK)
