"""News reaches a real webhook signed, once until it changes, and never inside the network; failures are shown."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from analysis.endpoints import endpoints
from analysis.models import MetricValue, NoticeAddress, Run, TrainedModel
from analysis.notices import news, sending, tasks, views
from analysis.notices.news import News, full_disk, news_of
from analysis.notices.sending import (
    SIGNATURE,
    NoticeError,
    add_address,
    check_address,
    secret_of,
    send_if_new,
    server_addresses,
)
from surveys.models import Study
from surveys.studies import access
from tests.analysis.runs.run_samples import make_running
from tests.factories import make_participant, make_study
from tests.surveys.console.console_pages import lines_of, log_in, said

pytestmark = pytest.mark.django_db


class Receiver(HTTPServer):
    """A real server on this machine that keeps what it receives and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[bytes, str]] = []
        self.status = 204

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook/s3cret"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((body, self.headers[SIGNATURE]))
        self.send_response(self.server.status)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()

    def log_message(self, *given: Any) -> None:
        pass


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def study() -> Study:
    return make_study("draft")


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch) -> list[News]:
    """The server's own news, in place of its check for a full disk."""
    found: list[News] = []
    monkeypatch.setattr(sending, "full_disk", lambda: found)
    return found


def stop_run(study: Study) -> Run:
    return make_running(study, state="stopped", reason="No money is left.")


def hook(study: Study, server: Receiver) -> NoticeAddress:
    return add_address(study, "webhook", server.address, "hour", "ada")


def an_hour_later() -> None:
    NoticeAddress.objects.update(next_at=timezone.now())


def test_all_news_is_one_signed_message_and_each_piece_is_told_once_until_it_changes(
    study: Study, receiver: Receiver
) -> None:
    row, model = hook(study, receiver), {"task": "verifier", "tier": "frozen", "state": "failed", "started_by": "x"}
    send_if_new(row.pk)
    assert receiver.got == []  # no news, no message
    run = stop_run(study)
    TrainedModel.objects.create(name="mine", study=study, reason="x", **model)
    send_if_new(row.pk)
    ((body, signed),) = receiver.got
    (about,) = json.loads(body)["studies"]
    assert [piece["key"] for piece in about["news"]] == [f"run {run.pk}", f"model {TrainedModel.objects.get().pk}"]
    assert about["news"][0]["words"] == f"Run {run.pk} stopped early: No money is left."
    at, _, digest = signed.removeprefix("t=").partition(",v1=")
    key = secret_of(row).encode()
    assert digest == hmac.new(key, at.encode() + b"." + body, hashlib.sha256).hexdigest()
    TrainedModel.objects.update(reason="y")
    send_if_new(row.pk)
    assert len(receiver.got) == 1  # within the hour
    an_hour_later()
    send_if_new(row.pk)
    send_if_new(row.pk)
    assert [len(json.loads(body)["studies"][0]["news"]) for body, _ in receiver.got] == [2, 1]


def test_news_that_was_over_is_told_when_it_comes_again(study: Study, receiver: Receiver) -> None:
    row, run = hook(study, receiver), stop_run(study)
    for state, told in (("stopped", 1), ("running", 1), ("stopped", 2)):
        Run.objects.filter(pk=run.pk).update(state=state)
        send_if_new(row.pk)
        an_hour_later()
        assert len(receiver.got) == told


def test_what_fails_stands_on_the_page_and_is_tried_again_later_each_time(study: Study, receiver: Receiver) -> None:
    row, client = hook(study, receiver), log_in(study)
    stop_run(study)
    receiver.status = 302
    for tries, minutes in ((1, 5), (2, 10), (3, 20)):
        send_if_new(row.pk)
        row.refresh_from_db()
        assert row.tries == tries and abs(row.next_at - timezone.now() - timedelta(minutes=minutes)).seconds < 60
        an_hour_later()
    page = lines_of(client.get("/console/teas/notices/"))
    assert "The webhook answered 302. Tried 3 times" in page and "s3cret" not in page and "127.0.0.1/…" in page
    receiver.status = 200
    send_if_new(row.pk)
    row.refresh_from_db()
    assert (row.fault, row.tries) == ("", 0) and len(receiver.got) == 4


def test_an_owner_adds_tests_and_removes_on_the_page(study: Study, receiver: Receiver) -> None:
    client, page = log_in(study), "/console/teas/notices/"
    answer = client.post(page, {"kind": "webhook", "address": receiver.address, "every": "day"})
    row = NoticeAddress.objects.get()
    assert secret_of(row) in answer.content.decode()
    assert secret_of(row) not in client.get(page).content.decode()
    assert "went to 127.0.0.1/…" in said(client.post(page, {"test": row.pk}, follow=True))[0]
    assert json.loads(receiver.got[0][0])["test"] is True
    client.post(page, {"remove": row.pk})
    assert not NoticeAddress.objects.exists()
    events = [(event.action, event.subject) for event in study.audit_events.order_by("number")][-2:]
    assert events == [("notices begun", "127.0.0.1/…"), ("notices ended", "127.0.0.1/…")]


def test_adding_and_testing_have_a_limit_and_removing_none(
    study: Study, receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, client, page = hook(study, receiver), log_in(study), "/console/teas/notices/"
    monkeypatch.setitem(access.LIMITS, "notice", 1)
    settings.LIMIT_FACTOR = 1
    here = {"REMOTE_ADDR": "192.0.2.78"}
    client.post(page, {"test": row.pk}, follow=True, **here)
    assert said(client.post(page, {"test": row.pk}, follow=True, **here)) == [views.BUSY]
    typed = {"kind": "webhook", "address": f"{receiver.address}/2", "every": "day"}
    refused = client.post(page, typed, **here)
    assert refused.status_code == 422 and views.BUSY in refused.content.decode()
    assert typed["address"] in refused.content.decode()
    assert len(receiver.got) == 1 and NoticeAddress.objects.get() == row
    client.post(page, {"remove": row.pk}, **here)
    assert not NoticeAddress.objects.exists()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://hooks.example.org/x", "begins with https"),
        ("https://127.0.0.1/x", "private"),
        ("https://[::ffff:10.0.0.1]/x", "private"),
        ("https://localhost/x", "private"),
        ("https://inside.example.org/x", "private"),
        ("ftp://hooks.example.org", "no address"),
        ("https://me:word@hooks.example.org/", "no address"),
    ],
)
def test_webhooks_inside_the_network_or_without_tls_are_refused(
    address: str, says: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    found = endpoints.addresses_of
    inside = {"inside.example.org": {"192.168.0.7"}}
    monkeypatch.setattr(endpoints, "addresses_of", lambda host, port: inside.get(host) or found(host, port))
    with pytest.raises(NoticeError, match=says):
        check_address("webhook", address)


def test_an_address_that_leads_inside_since_is_not_called(
    study: Study, receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = hook(study, receiver)
    stop_run(study)
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    send_if_new(row.pk)
    row.refresh_from_db()
    assert "https" in row.fault and receiver.got == []


def test_mail_goes_to_a_study_and_to_whom_the_settings_name(study: Study, settings: Any, mailoutbox: list[Any]) -> None:
    with pytest.raises(NoticeError, match="sends no mail"):
        add_address(study, "mail", "ada@example.org", "day", "ada")
    settings.EMAIL_HOST, settings.NOTICES_MAIL = "mail.example.org", ["root@example.org"]
    add_address(study, "mail", "ada@example.org", "day", "ada")
    server_addresses()
    run = stop_run(study)
    for row in NoticeAddress.objects.all():
        send_if_new(row.pk)
    assert sorted(mail.to[0] for mail in mailoutbox) == ["ada@example.org", "root@example.org"]
    assert mailoutbox[0].subject == "Teas: 1 piece of news"
    assert f"- Run {run.pk} stopped early: No money is left." in mailoutbox[0].body
    client, page = log_in(study), "/console/teas/notices/"
    assert "News of the study goes to 1 address." in lines_of(client.get(page))
    settings.NOTICES_MAIL = []
    server_addresses()
    row = NoticeAddress.objects.get()
    assert row.study == study
    events = study.audit_events.filter(action="notices begun")
    assert [event.subject for event in events] == ["…@example.org"]
    row.delete()
    assert "Nobody hears" in lines_of(client.get(page))
    settings.NOTICES_MAIL = ["root@example.org"]
    assert "Only the server’s administrators hear" in lines_of(client.get(page))


def test_a_full_disk_is_told_to_whom_the_settings_name_alone(
    study: Study, disk: list[News], settings: Any, mailoutbox: list[Any]
) -> None:
    settings.EMAIL_HOST, settings.NOTICES_MAIL = "mail.example.org", ["root@example.org"]
    add_address(study, "mail", "ada@example.org", "hour", "ada")
    server_addresses()
    disk.append(News("disk", "The server’s disk is full."))
    for row in NoticeAddress.objects.all():
        send_if_new(row.pk)
    (mail,) = mailoutbox
    assert (mail.to, mail.subject) == (["root@example.org"], "The server: 1 piece of news")
    an_hour_later()
    send_if_new(NoticeAddress.objects.get(study=None).pk)
    assert len(mailoutbox) == 1 and "disk" not in lines_of(log_in(study).get("/console/teas/notices/"))


def test_the_disk_of_a_folder_that_is_not_there_yet(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_FOLDER = tmp_path / "not" / "yet"
    monkeypatch.setattr(news, "FULL", 0)
    assert [piece.key for piece in full_disk()] == ["disk"]
    monkeypatch.setattr(news, "FULL", 2)
    assert full_disk() == []


def test_news_of_a_study_is_counted_once_for_all_its_addresses(
    study: Study, receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_HOST, settings.NOTICES_MAIL = "mail.example.org", ["root@example.org"]
    rows = [hook(study, receiver), add_address(study, "mail", "ada@example.org", "day", "ada")]
    counted: list[Study] = []
    sent: list[int] = []

    def count(study: Study) -> list[News]:
        counted.append(study)
        return news_of(study)

    monkeypatch.setattr(tasks, "news_of", count)
    monkeypatch.setattr(tasks.send_notice, "delay", sent.append)
    tasks.send_notices()
    assert (counted, sent) == ([study], [])
    stop_run(study)
    tasks.send_notices()
    assert counted == [study, study]
    server = NoticeAddress.objects.get(study=None).pk
    assert sorted(sent) == sorted([*(row.pk for row in rows), server])
    other, sent[:] = hook(make_study("draft", slug="herbs"), receiver), []
    stop_run(other.study)
    monkeypatch.setattr(tasks, "news_of", lambda study: 1 / 0 if study.slug == "teas" else news_of(study))
    tasks.send_notices()
    assert other.pk in sent  # although another study fails


def test_a_study_that_cannot_be_counted_keeps_no_other_news_from_the_server(
    study: Study, disk: list[News], settings: Any, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_HOST, settings.NOTICES_MAIL = "mail.example.org", ["root@example.org"]
    server_addresses()
    run = stop_run(make_study("draft", slug="herbs"))
    disk.append(News("disk", "The server’s disk is full."))
    monkeypatch.setitem(news.NEWS, "broken", lambda each: 1 / 0 if each == study else [])
    monkeypatch.setattr(tasks.send_notice, "delay", send_if_new)
    tasks.send_notices()
    (mail,) = mailoutbox
    assert "disk is full" in mail.body and f"Run {run.pk} stopped early" in mail.body
    uncounted = "Its news could not be counted; the log says why."
    assert uncounted in mail.body and uncounted in lines_of(log_in(study).get("/console/teas/notices/"))


def test_what_was_told_of_a_study_is_not_told_again_after_it_could_not_be_counted(
    study: Study, settings: Any, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    add_address(study, "mail", "ada@example.org", "hour", "ada")
    run = stop_run(study)
    monkeypatch.setattr(tasks.send_notice, "delay", send_if_new)
    for broken in (False, True, False):
        monkeypatch.setitem(news.NEWS, "broken", lambda each, broken=broken: 1 / 0 if broken else [])
        an_hour_later()
        tasks.send_notices()
    assert [f"Run {run.pk}" in mail.body for mail in mailoutbox] == [True, False]


def test_each_kind_of_news_is_found_and_nothing_of_a_new_study(study: Study) -> None:
    assert news_of(study) == []
    run = make_running(study, budget=Decimal(10), spent=Decimal(8))
    drifted = [{"again": run.pk, "p_holm": 0.0}, {"again": run.pk, "p_holm": None}]
    MetricValue.objects.create(study=study, name="drift:x", fingerprint="x", value=drifted, seconds=1)
    assert [piece.key for piece in news_of(study)] == [f"budget {run.pk}", "drift"]
    assert "spent 80" in news_of(study)[0].words
    live = make_study("live", slug="herbs", places=1)
    first, *others = live.cells.order_by("position")
    assert news_of(live) == []
    for cell in others:
        make_participant(live, "completed", chatbot=cell.chatbot, cell=cell.slug)
    assert [piece.key for piece in news_of(live)] == [f"cell {first.pk}"]
