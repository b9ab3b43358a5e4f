"""The proxies of docs/deploying.md, run where they are installed: what they log, and what people see of a restart."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fieldstudy.embedded.servers import ROOT
from tests.operation.page import blocks
from tests.surveys.simulation.server import end_server, free_port, start_server

CADDYFILE = ROOT / "deploy" / "Caddyfile"
LINK = "/s/field/pseudonym~signature/"
PAUSE = 0.05  # seconds between two requests


def program(name: str) -> str:
    """CADDY=/path or NGINX=/path name one that is not installed."""
    found = os.environ.get(name.upper()) or shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def caddyfile(text: str, folder: Path) -> Path:
    """Without the port for orders to Caddy itself, which another one may have."""
    path = folder / "Caddyfile"
    path.write_text(text.replace("{\n", "{\n    admin off\n", 1))
    return path


def variables(folder: Path, port: int, web: int) -> dict[str, str]:
    named = {"SITE_URL": f"http://127.0.0.1:{port}", "WEB": f"127.0.0.1:{web}"}
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **named}


@contextmanager
def running_caddy(text: str, folder: Path, web: int) -> Iterator[tuple[str, Path]]:
    """Its address and its log, in front of a server on this port."""
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
    """Its lines without comments, and with the names that differ made equal."""
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
    """Asks for one address again and again; keeps what came of it and how long it took, in seconds."""

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


@pytest.mark.processes
def test_nginx_accepts_the_example(tmp_path: Path) -> None:
    nginx = program("nginx")
    (example,) = blocks("nginx")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=study.example.org", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject], check=True, capture_output=True
    )
    folder = "/etc/letsencrypt/live/study.example.org"
    for name, here in {
        f"{folder}/fullchain.pem": certificate,
        f"{folder}/privkey.pem": key,
        "/var/log/nginx/error.log": tmp_path / "error.log",
    }.items():
        assert name in example
        example = example.replace(name, str(here))
    paths = "".join(
        f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{paths}{example}}}\n"
    (tmp_path / "nginx.conf").write_text(whole)
    done = subprocess.run([nginx, "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True)
    assert done.returncode == 0 and "[warn]" not in done.stderr, done.stderr
    assert len(re.findall(r"listen 80;", example)) == 1
