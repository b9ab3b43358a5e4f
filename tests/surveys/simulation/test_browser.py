"""The simulated people's browser, as a server and its proxy see it."""

import pytest
from django.test import Client

from surveys.simulation.browser import Browser, headers_of_proxy
from tests.surveys.simulation.server import noting_server


@pytest.mark.parametrize("site", ["https://study.example.org", "http://localhost:8000"])
def test_server_beside_us_is_asked_as_its_proxy_asks(site: str, settings) -> None:
    settings.SITE_URL = site
    with noting_server() as (beside, heard):
        browser = Browser(beside)
        browser.open("/healthz")
        browser.send_and_hang_up("/s/demo/", {"text": "x"})
        browser.close()
    named = ("study.example.org", "https") if site.startswith("https") else (beside.removeprefix("http://"), None)
    assert heard and {(headers["Host"], headers["X-Forwarded-Proto"]) for headers in heard} == {named}


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
