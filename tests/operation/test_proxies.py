"""The proxies of docs/deploying.md, run if installed: what they log, and what people notice of a restart."""

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fieldstudy.embedded.servers import ROOT
from fieldstudy.front import PATIENCE
from tests.operation.page import blocks
from tests.surveys.simulation.server import end_server, free_port, start_server, wait_until_it_listens

CADDYFILE = ROOT / "deploy" / "Caddyfile"
LINK = "/s/field/pseudonym~signature/"
PAUSE = 0.05  # seconds between two requests


def program(name: str) -> str:
    """The path of caddy or nginx; CADDY=/path or NGINX=/path names one that is not installed."""
    found = os.environ.get(name.upper()) or shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def caddyfile(text: str, folder: Path) -> Path:
    """Write the Caddyfile without Caddy's admin port, which another Caddy may hold."""
    path = folder / "Caddyfile"
    path.write_text(text.replace("{\n", "{\n    admin off\n", 1))
    return path


def variables(folder: Path, port: int, web: int) -> dict[str, str]:
    named = {"SITE_URL": f"http://127.0.0.1:{port}", "WEB": f"127.0.0.1:{web}"}
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **named}


@contextmanager
def running_caddy(text: str, folder: Path, web: int) -> Iterator[tuple[str, Path]]:
    """Run Caddy in front of a server on port `web`; yield its address and its log."""
    port, log = free_port(), folder / "caddy.log"
    command = [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(caddyfile(text, folder))]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=variables(folder, port, web), stdout=output, stderr=output)
    try:
        end = time.monotonic() + 60
        while "serving initial configuration" not in log.read_text():
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", log
    finally:
        process.terminate()
        process.wait(30)


def ask(address: str) -> int:
    request = urllib.request.Request(address, headers={"User-Agent": "somebody"})
    try:
        with urllib.request.urlopen(request, timeout=90) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def bare(text: str) -> list[str]:
    """The text's lines without comments, with the names that differ made equal."""
    lines = [re.sub(r"\s*#.*", "", line) for line in text.splitlines()]
    renamed = {"{$SITE_URL}": "study.example.org", "{$WEB:127.0.0.1:8000}": "127.0.0.1:8000"}
    for old, new in renamed.items():
        lines = [line.replace(old, new) for line in lines]
    return [line for line in lines if line]


def test_caddy_of_the_profile_is_the_one_of_the_page() -> None:
    (shown,) = blocks("caddy")
    assert bare(CADDYFILE.read_text()) == bare(shown)
    assert "exclude http.log.error" in shown and "lb_try_duration 60s" in shown


@pytest.mark.processes
def test_links_are_not_logged_while_web_is_away(tmp_path: Path) -> None:
    quick = CADDYFILE.read_text().replace("lb_try_duration 60s", "lb_try_duration 1s")
    loud = quick.replace("exclude http.log.error", "level INFO")
    assert loud != quick != CADDYFILE.read_text()
    for text, logged in ((quick, False), (loud, True)):
        with running_caddy(text, tmp_path, free_port()) as (address, log):
            assert ask(address + LINK) == 502
        assert (LINK in log.read_text()) == logged


class Visitor(threading.Thread):
    """Requests one address again and again; keeps each status and how long it took, in seconds."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.going = address, True
        self.seen: list[tuple[int, float]] = []

    def run(self) -> None:
        while self.going:
            start = time.monotonic()
            try:
                status = ask(self.address)
            except OSError:
                status = 0
            self.seen.append((status, time.monotonic() - start))
            time.sleep(PAUSE)

    def end(self) -> list[int]:
        self.going = False
        self.join()
        return [status for status, _ in self.seen if status != 200]


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_requests_wait_while_web_is_started_again(tmp_path: Path) -> None:
    program("caddy")
    impatient = CADDYFILE.read_text().replace("lb_try_duration 60s", "lb_try_duration 0s")
    failed = {}
    for name, text in (("patient", CADDYFILE.read_text()), ("impatient", impatient)):
        web, log = free_port(), tmp_path / "web.log"
        server = start_server(web, log)
        with running_caddy(text, tmp_path, web) as (address, _):
            assert ask(address + "/healthz") == 200
            visitor = Visitor(address + "/healthz")
            visitor.start()
            time.sleep(1)
            server.send_signal(signal.SIGTERM)
            server.wait(60)
            server = start_server(web, log)
            assert ask(address + "/healthz") == 200
            failed[name] = visitor.end()
            end_server(server)
            longest = max(seconds for _, seconds in visitor.seen)
            print(f"{name}: {len(visitor.seen)} requests, {len(failed[name])} failed, longest {longest:.1f} s")
    assert failed["patient"] == [] and failed["impatient"]


def nginx_example(folder: Path, renamed: dict[str, str]) -> Path:
    """The page's whole server, with certificates and files in this folder."""
    (example,) = blocks("nginx")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subject = ["-subj", "/CN=study.example.org", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject], check=True, capture_output=True
    )
    live = "/etc/letsencrypt/live/study.example.org"
    files = {f"{live}/fullchain.pem": certificate, f"{live}/privkey.pem": key}
    for name, here in {**files, "/var/log/nginx/error.log": folder / "error.log", **renamed}.items():
        assert name in example
        example = example.replace(name, str(here))
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    account = "user root;\n" if os.getuid() == 0 else ""  # the folder is ours
    whole = f"{account}pid {folder}/pid;\nevents {{}}\nhttp {{\n{paths}{example}}}\n"
    (folder / "nginx.conf").write_text(whole)
    return folder / "nginx.conf"


@pytest.mark.processes
def test_nginx_accepts_the_example(tmp_path: Path) -> None:
    nginx = program("nginx")
    written = nginx_example(tmp_path, {})
    done = subprocess.run([nginx, "-t", "-c", written], capture_output=True, text=True)
    assert done.returncode == 0 and "[warn]" not in done.stderr, done.stderr
    assert len(re.findall(r"listen 80;", written.read_text())) == 1


@contextmanager
def running_nginx(folder: Path, web: int) -> Iterator[str]:
    port = free_port()
    renamed = {
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{port};",
        "127.0.0.1:8000": f"127.0.0.1:{web}",
        "proxy_set_header Host $host;": "proxy_set_header Host $http_host;",  # which has the port of a test
    }
    command = [program("nginx"), "-c", str(nginx_example(folder, renamed)), "-g", "daemon off;"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_it_listens(process, port, folder / "error.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


HALF_SENT = (
    b"POST /s/field/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nthirteen byte",
    b"POST /s/field/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nthirteen byte",
    b"POST /s/field/ HTTP/1.1\r\nHost: localhost\r\n",
)


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("proxy", ["", "caddy", "nginx"])
def test_half_sent_bodies_stop_nobody(proxy: str, tmp_path: Path) -> None:
    if proxy:
        program(proxy)
    web = free_port()
    server = start_server(web, tmp_path / "web.log")
    try:
        with ExitStack() as stack:
            address = f"http://127.0.0.1:{web}"
            if proxy == "caddy":
                address, _ = stack.enter_context(running_caddy(CADDYFILE.read_text(), tmp_path, web))
            if proxy == "nginx":
                address = stack.enter_context(running_nginx(tmp_path, web))
            assert ask(address + "/healthz") == 200
            host, _, port = address.removeprefix("http://").partition(":")
            lines = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(60)]
            for number, line in enumerate(lines):
                line.sendall(HALF_SENT[number % len(HALF_SENT)])
            time.sleep(0.5)
            begun = time.monotonic()
            assert ask(address + "/healthz") == 200
            assert time.monotonic() - begun < PATIENCE  # before any of them is given up
    finally:
        end_server(server)
