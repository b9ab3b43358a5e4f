"""The simulated people's browser, as a server and its proxy see it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.test import Client

from surveys.simulation.browser import Browser, headers_of_proxy


class Recorder(BaseHTTPRequestHandler):
    heard: list[tuple[str | None, str | None]] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.heard.append((self.headers["Host"], self.headers["X-Forwarded-Proto"]))
        self.send_response(200)
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def recorder() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Recorder)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Recorder.heard.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("site", ["https://study.example.org", "http://localhost:8000"])
def test_server_beside_us_is_asked_as_its_proxy_asks(site: str, recorder: str, settings) -> None:
    settings.SITE_URL = site
    browser = Browser(recorder)
    browser.open("/healthz")
    browser.send_and_hang_up("/s/demo/", {"text": "x"})
    browser.close()
    named = ("study.example.org", "https") if site.startswith("https") else (recorder.removeprefix("http://"), None)
    assert Recorder.heard[0] == named and set(Recorder.heard) == {named}


def test_another_server_is_asked_by_its_own_name(settings) -> None:
    settings.SITE_URL = "https://study.example.org"
    assert headers_of_proxy("pilot.example.org") == {}


@pytest.mark.django_db
def test_production_lets_in_who_asks_as_its_proxy(client: Client, settings) -> None:
    settings.SITE_URL = "https://study.example.org"
    settings.ALLOWED_HOSTS = ["study.example.org"]
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert client.get("/console/login/").status_code == 400
    assert client.get("/console/login/", headers=headers_of_proxy("127.0.0.1")).status_code == 200
