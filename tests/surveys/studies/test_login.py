"""Nobody guesses a password at either login: names pause, wherever attempts come from; then the right one works."""

from itertools import count
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from surveys.studies import access
from tests.factories import make_account, make_study

pytestmark = pytest.mark.django_db
fresh = count(1)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[float]:
    """A separate clock for each test, so that attempts counted by others fall in another hour."""
    now = [next(fresh) * 100_000.0]
    monkeypatch.setattr("surveys.studies.access.time.time", lambda: now[0])
    settings.LIMIT_FACTOR, settings.DEBUG = 1, False
    access.connection().flushdb()
    return now


def log_in(password: str, name: str = "ada") -> HttpResponse:
    """Log in from a different address each time, as somebody with many computers would."""
    client = Client(REMOTE_ADDR=f"192.0.2.{next(fresh) % 250}")
    return client.post("/console/login/", {"username": name, "password": password})


@pytest.mark.parametrize("name", ["ada", "ADA", " ada ", "\uff41da"])
def test_name_pauses_after_ten_wrong_passwords_and_the_right_one_works_then(clock: list[float], name: str) -> None:
    make_account("ada")
    assert [log_in("wrong", name).status_code for _ in range(10)] == [200] * 10
    answer = log_in("password")
    assert answer.status_code == 429 and "then the right password works" in answer.content.decode()
    clock[0] += access.PAUSE
    assert log_in("password").status_code == 302


def test_names_that_nobody_has_pause_alike() -> None:
    assert [log_in("wrong", "nobody").status_code for _ in range(11)][9:] == [200, 429]


def test_tries_are_forgotten_when_their_quarter_of_an_hour_is_over(clock: list[float]) -> None:
    clock[0] += access.PAUSE - clock[0] % access.PAUSE - 5
    log_in("wrong")
    lasting = [access.connection().ttl(key) for key in access.connection().scan_iter("limit:*")]
    assert len(lasting) == 2 and min(lasting) <= 5 and max(lasting) <= access.HOUR


def test_who_logs_in_has_all_tries_again() -> None:
    make_account("ada")
    for _ in range(3):
        assert [log_in("wrong").status_code for _ in range(9)] == [200] * 9
        assert log_in("password").status_code == 302


def test_admin_pages_have_the_door_of_the_console(admin_user: Any) -> None:
    client = Client()
    assert client.get("/admin/", follow=True).redirect_chain[-1][0] == "/console/login/?next=/admin/"
    form = {"username": "admin", "password": "password", "next": "/admin/"}
    assert client.post("/console/login/", form, REMOTE_ADDR="192.0.2.9")["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200
    refused = [Client(REMOTE_ADDR="192.0.2.8").post("/admin/login/", form | {"password": str(n)}) for n in range(30)]
    assert {answer.status_code for answer in refused} == {405}  # nothing is tried there


def test_members_are_sent_back_from_the_admin_pages() -> None:
    make_account("ada", make_study("draft"), "owner")
    client = Client()
    client.login(username="ada", password="password")
    page = client.get("/admin/", follow=True)
    assert page.redirect_chain[-1][0] == "/console/"
    assert "for the server’s administrators" in page.content.decode()


@pytest.mark.parametrize(
    ("proxies", "hops", "address"),
    [
        (0, "6.6.6.6", "192.0.2.1"),
        (1, "6.6.6.6, 203.0.113.9", "203.0.113.9"),
        (2, "6.6.6.6, 203.0.113.9, 198.51.100.2", "203.0.113.9"),
        (2, "203.0.113.9", "192.0.2.1"),
        (1, "", "192.0.2.1"),
    ],
)
def test_address_is_what_our_outermost_proxy_saw(proxies: int, hops: str, address: str, settings: Any) -> None:
    settings.PROXIES = proxies
    request = RequestFactory(REMOTE_ADDR="192.0.2.1").get("/", headers={"X-Forwarded-For": hops})
    assert access.client_address(request) == address
