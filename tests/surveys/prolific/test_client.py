"""The client of Prolific's API against the mock: patience, limits and refusals."""

import logging
from datetime import UTC, datetime

import pytest

from surveys.prolific.client import ProlificClient, ProlificError, Refused, Unsent, Unsure, read_cents, wait_for
from surveys.prolific.mock.server import Books, MockReply, refuse
from tests.factories import PROLIFIC_STUDY
from tests.surveys.prolific.conftest import TOKEN


def fill(books: Books, count: int, **changes) -> list[str]:
    names = [f"5e{number:022x}" for number in range(1, count + 1)]
    for number, name in enumerate(names, 1):
        books.add_submission(name, PROLIFIC_STUDY, f"{number:024x}", **changes)
    return names


def test_submissions_of_all_pages_come_in_order(books: Books, prolific: ProlificClient) -> None:
    names = fill(books, 250)
    books.complete(names[0], "CODE1")
    books.submissions[names[1]].bonuses = [100, 25]
    found = list(prolific.submissions(PROLIFIC_STUDY))
    assert [each.submission_id for each in found] == names
    assert (found[0].status, found[0].code, found[0].reward, found[0].bonus) == ("AWAITING REVIEW", "CODE1", 200, 0)
    assert found[0].started_at == datetime(2026, 11, 1, 10, tzinfo=UTC)
    assert found[1].bonus == 125


@pytest.mark.parametrize("count", [0, 100, 250])
def test_page_past_the_end_is_the_end(books: Books, prolific: ProlificClient, count: int) -> None:
    books.endless = True
    fill(books, count)
    assert len(list(prolific.submissions(PROLIFIC_STUDY))) == count


def test_numbers_as_texts_are_read_and_others_refused(books: Books, prolific: ProlificClient) -> None:
    books.as_strings = True
    [name] = fill(books, 1, bonuses=[150])
    assert prolific.submission(name).bonus == 150
    assert prolific.study(PROLIFIC_STUDY).reward == 200
    books.as_strings, books.studies[PROLIFIC_STUDY]["reward"] = False, "8.50"
    with pytest.raises(ProlificError, match=r"'8\.50' is no number of cents"):
        prolific.study(PROLIFIC_STUDY)


@pytest.mark.parametrize("value", [True, -1, 8.5, "8.5", "", "1e3", None, float("nan"), float("inf"), [1], 10**9])
def test_what_is_no_number_of_cents_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        read_cents(value)


# --- patience -----------------------------------------------------------------


def test_busy_server_is_asked_again_when_it_says(books: Books, prolific: ProlificClient, waits: list[float]) -> None:
    fill(books, 1)
    books.order_fault("429", "GET submissions", times=2)
    books.order_fault("500", "GET submissions")
    books.order_fault("timeout", "GET submissions")
    assert len(list(prolific.submissions(PROLIFIC_STUDY))) == 1
    assert waits == [1.0, 1.0, 8.0, 16.0]


def test_server_that_stays_busy_is_left_alone(books: Books, prolific: ProlificClient) -> None:
    books.order_fault("429", times=99)
    with pytest.raises(ProlificError, match="busy or out of order"):
        prolific.study(PROLIFIC_STUDY)
    assert books.calls.total() == 5


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("7", 7.0), ("-3", 0.0), ("9999", 60.0), ("", 4.0), ("soon", 4.0), ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0)],
)
def test_wait_is_what_is_asked_for_within_reason(asked: str, seconds: float) -> None:
    assert wait_for({"Retry-After": asked}, 2) == seconds


@pytest.mark.parametrize("fault", ["429", "500", "timeout", "500-after", "timeout-after"])
def test_bonus_is_sent_once_and_unsure_after_any_fault(books: Books, prolific: ProlificClient, fault: str) -> None:
    [name] = fill(books, 1)
    prepared = prolific.prepare_bonus(PROLIFIC_STUDY, {name: 425})
    books.order_fault(fault, "/pay")
    with pytest.raises(Unsure):
        prolific.pay_bonus(prepared)
    assert books.calls["POST bulk-bonus-payments/:id/pay/"] == 1
    assert books.total() == (425 if fault.endswith("after") else 0)


def test_bonus_of_425_cents_is_four_dollars_and_25(books: Books, prolific: ProlificClient) -> None:
    one, other = fill(books, 2)
    prolific.pay_bonus(prolific.prepare_bonus(PROLIFIC_STUDY, {one: 425, other: 1005}))
    assert (books.submissions[one].bonuses, books.submissions[other].bonuses) == ([425], [1005])


def test_nothing_has_left_when_nobody_is_there(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    settings.PROLIFIC_API = "http://127.0.0.1:9/api/v1/"
    with ProlificClient(sleep=lambda seconds: None) as client, pytest.raises(Unsent, match="cannot be reached"):
        client.pay_bonus("a1")


# --- hostile ------------------------------------------------------------------


def test_reply_of_10_megabytes_is_not_read(books: Books, prolific: ProlificClient) -> None:
    books.order_fault("huge", times=9)
    with pytest.raises(ProlificError, match="longer than 10 MB"):
        list(prolific.submissions(PROLIFIC_STUDY))


def test_page_that_is_no_json_object_is_not_understood(books: Books, prolific: ProlificClient) -> None:
    books.order_fault("html")
    with pytest.raises(ProlificError, match="not understood"):
        prolific.study(PROLIFIC_STUDY)


def test_list_that_goes_on_elsewhere_is_not_followed(books: Books, prolific: ProlificClient, monkeypatch) -> None:
    fill(books, 101)
    plain = books.list_submissions
    monkeypatch.setattr(books, "list_submissions", lambda query, site: plain(query, "http://127.0.0.1:9/"))
    with pytest.raises(ProlificError, match="another address"):
        list(prolific.submissions(PROLIFIC_STUDY))


@pytest.mark.parametrize("name", ["../users/me", "a/b", "", "a?b", "x" * 65])
def test_id_that_is_none_is_never_put_into_an_address(prolific: ProlificClient, name: str) -> None:
    with pytest.raises(ValueError, match="is no id"):
        prolific.study(name)


def test_token_is_in_no_message_no_log_and_no_repr(
    books: Books, prolific: ProlificClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(books, "carry_out", lambda *call: refuse_with(TOKEN))
    with pytest.raises(Refused) as refusal:
        prolific.study(PROLIFIC_STUDY)
    assert "The token …" in str(refusal.value)
    assert TOKEN not in caplog.text + repr(prolific) + str(refusal.value)


def refuse_with(token: str) -> MockReply:
    return refuse(400, f"The token {token} is odd.")


def test_token_without_rights_says_which_variable_holds_it(books: Books, prolific: ProlificClient) -> None:
    books.token = "another"
    with pytest.raises(Refused, match=r"refused the token \(401\).*PROLIFIC_TOKEN"):
        prolific.study(PROLIFIC_STUDY)


def test_without_token_nothing_is_called(monkeypatch: pytest.MonkeyPatch, settings) -> None:
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    with pytest.raises(
        ProlificError, match="PROLIFIC_TOKEN, the environment variable with Prolific's token, is not set"
    ):
        ProlificClient()


def test_mock_keeps_its_books_over_a_restart(books: Books, tmp_path) -> None:
    books.path = tmp_path / "books.json"
    [name] = fill(books, 1, bonuses=[5])
    books.save()
    again = Books(path=books.path)
    assert (again.submissions, again.studies, again.total()) == (books.submissions, books.studies, 5)
    assert name in again.submissions
