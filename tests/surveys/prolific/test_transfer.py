"""Nobody is paid twice or left unpaid, whatever breaks on the way."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from surveys.console.monitoring.people import DecisionError
from surveys.models import AuditEvent, Payment, Study, Submission
from surveys.prolific.board import read_board
from surveys.prolific.client import ProlificClient, ProlificError
from surveys.prolific.decisions import (
    Amount,
    ListChanged,
    amounts_of,
    decide,
    decide_amounts,
    decide_listed,
    listed,
    propose,
    rows_of,
)
from surveys.prolific.mock.books import Books
from surveys.prolific.transfer import pay_and_read_back, settle
from tests.surveys.participation.threads import at_once
from tests.surveys.prolific.world import decide_all, ledger_total, make_paid_study, read_people, row_of

pytestmark = pytest.mark.django_db
UNANSWERED = ["500", "429", "timeout", "500-after", "timeout-after"]


class Killed(BaseException):
    """Stands for a worker killed halfway."""


@pytest.fixture
def study(db: None) -> Study:
    return make_paid_study()


def bonus(study: Study, names: list[str], cents: int = 150, actor: str = "ada") -> int:
    found = Submission.objects.filter(submission_id__in=names)
    amounts = [Amount(each.pk, cents, "a top-up") for each in found]
    return decide_amounts(study, "top_up", amounts, actor, listed(read_board(study), amounts))


def states(study: Study) -> set[str]:
    return set(Payment.objects.values_list("state", flat=True))


def an_hour_later() -> None:
    """Backdate everything sent to two hours ago."""
    early = timezone.now() - timedelta(hours=2)
    Payment.objects.filter(sent_at__isnull=False).update(sent_at=early)


def test_decided_sent_and_read_back(study: Study, books: Books, prolific: ProlificClient) -> None:
    names = read_people(study, books, prolific, 3)
    assert decide_all(study, "to-approve") == 3
    assert states(study) == {"decided"} and books.total() == 0
    assert pay_and_read_back(study, prolific)
    assert states(study) == {"paid"}
    assert {books.submissions[name].status for name in names} == {"APPROVED"}
    assert (ledger_total(study), books.total()) == (600, 600)
    assert read_board(study).open == []
    actions = list(AuditEvent.objects.filter(study=study).values_list("actor", "action", "detail"))[-3:]
    assert [(who, what) for who, what, _ in actions] == [
        ("ada", "decided: approve"),
        ("system", "payments sent"),
        ("system", "payments read back"),
    ]
    assert actions[0][2] == {"submissions": 3, "cents": 600, "why": "to-approve"}


def test_what_was_read_before_a_payment_was_sent_settles_nothing(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    read_people(study, books, prolific, 1)
    decide_all(study, "to-approve")
    sent = Submission.objects.get().seen_at + timedelta(seconds=1)
    Payment.objects.update(state="sent", sent_at=sent)
    Submission.objects.update(status="RETURNED")
    settle(study)
    assert states(study) == {"sent"}
    Submission.objects.update(seen_at=sent + timedelta(seconds=1))
    settle(study)
    assert states(study) == {"failed"}


def test_approving_twice_changes_nothing(study: Study, books: Books, prolific: ProlificClient) -> None:
    read_people(study, books, prolific, 3)
    decide_all(study, "to-approve")
    books.ordered = [("timeout-after", "approve")] * 5
    pay_and_read_back(study, prolific)
    pay_and_read_back(study, prolific)
    assert (states(study), ledger_total(study), books.total()) == ({"paid"}, 600, 600)


@pytest.mark.parametrize("fault", UNANSWERED)
def test_bonus_without_answer_is_read_back_before_anything_is_sent(
    study: Study, books: Books, prolific: ProlificClient, fault: str
) -> None:
    names = read_people(study, books, prolific, 3, status="APPROVED")
    bonus(study, names)
    books.order_fault(fault, "/pay")
    books.lag = 2  # lists: the one after sending shows nothing yet
    pay_and_read_back(study, prolific)
    pays = "POST bulk-bonus-payments/:id/pay/"
    assert states(study) == {"unknown"} and books.calls[pays] == 1
    pay_and_read_back(study, prolific)
    if fault.endswith("after"):
        assert (states(study), books.total()) == ({"paid"}, 450)
        return
    assert states(study) == {"unknown"} and books.calls[pays] == 1
    an_hour_later()
    pay_and_read_back(study, prolific)
    assert states(study) == {"failed"} and books.calls[pays] == 1
    assert row_of(read_board(study), names[0]).meaning == "payment-failed"
    decide_all(study, "payment-failed")
    bonus(study, names)
    pay_and_read_back(study, prolific)
    pay_and_read_back(study, prolific)
    pay_and_read_back(study, prolific)
    assert (ledger_total(study), books.total(), books.calls[pays]) == (450, 450, 2)


def test_bonus_without_answer_is_not_taken_for_an_earlier_one_that_shows(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    names = read_people(study, books, prolific, 1, status="APPROVED")
    bonus(study, names)
    pay_and_read_back(study, prolific)
    bonus(study, names)
    books.order_fault("timeout", "/pay")
    pay_and_read_back(study, prolific)
    assert books.total() == ledger_total(study) == 150
    assert states(study) == {"paid", "unknown"}


def test_two_bonuses_of_one_person_go_one_after_the_other(study: Study, books: Books, prolific: ProlificClient) -> None:
    names = read_people(study, books, prolific, 2, status="APPROVED")
    bonus(study, names)
    bonus(study, names[:1], 100)
    paid = []
    for _ in range(2):
        pay_and_read_back(study, prolific)
        paid.append((books.total(), ledger_total(study)))
    assert paid == [(300, 300), (400, 400)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_worker_killed_while_paying_pays_nobody_twice(
    study: Study, books: Books, client_at: Callable[[], ProlificClient], when: str
) -> None:
    client = client_at()
    names = read_people(study, books, client, 3, status="APPROVED")
    bonus(study, names)
    pay = client.pay_bonus

    def die(prepared: str) -> None:
        assert states(study) == {"sending"}
        if when == "after":
            pay(prepared)
        raise Killed

    client.pay_bonus = die
    with pytest.raises(Killed):
        pay_and_read_back(study, client)
    assert states(study) == {"sending"}
    pay_and_read_back(study, client_at())
    assert states(study) == ({"paid"} if when == "after" else {"unknown"})
    assert books.total() == (450 if when == "after" else 0)


def test_bonus_goes_only_where_prolific_shows_what_the_ledger_has(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    names = read_people(study, books, prolific, 2, status="APPROVED")
    bonus(study, names)
    books.submissions[names[0]].bonuses = [150]  # paid on Prolific's own pages meanwhile
    pay_and_read_back(study, prolific)
    first, second = (Payment.objects.get(submission__submission_id=name) for name in names)
    assert (first.state, second.state) == ("failed", "paid")
    assert first.note == "Prolific shows 1.50 of bonuses, the ledger has 0.00. Settle that first."
    decide_all(study, "payment-failed")
    assert row_of(read_board(study), names[0]).meaning == "bonus-unbooked"
    decide_all(study, "bonus-unbooked")
    assert (ledger_total(study), books.total(), read_board(study).open) == (300, 300, [])
    books.submissions[names[1]].bonuses.append(70)  # beside the one that the ledger has
    pay_and_read_back(study, prolific)
    assert [(each.meaning, each.cents) for each in propose(read_board(study))] == [("bonus-unbooked", 70)]
    decide_all(study, "bonus-unbooked")
    assert (ledger_total(study), books.total(), read_board(study).open) == (370, 370, [])


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT"])
def test_reward_that_went_as_a_bonus_is_not_proposed_again(
    study: Study, books: Books, prolific: ProlificClient, status: str
) -> None:
    [name] = read_people(study, books, prolific, 1, status=status)
    decide_all(study, f"{status.lower()}-after-completing")
    pay_and_read_back(study, prolific)
    assert (row_of(read_board(study), name).meaning, books.total(), ledger_total(study)) == ("agree", 200, 200)


def test_one_whom_prolific_refuses_holds_up_nobody(study: Study, books: Books, prolific: ProlificClient) -> None:
    names = read_people(study, books, prolific, 5, status="APPROVED")
    bonus(study, names)
    prepare = books.prepare
    books.prepare = lambda at, lines: prepare("none" if names[2] in lines else at, lines)
    pay_and_read_back(study, prolific)
    assert books.total() == 600
    failed = Payment.objects.get(state="failed")
    assert failed.submission.submission_id == names[2] and "Not in this study" in failed.note


def test_token_without_rights_pays_nobody_and_keeps_what_is_decided(
    study: Study, books: Books, client_at: Callable[[], ProlificClient]
) -> None:
    read_people(study, books, client_at(), 2)
    decide_all(study, "to-approve")
    books.token = "another"
    with pytest.raises(ProlificError, match="refused the token"):
        pay_and_read_back(study, client_at())
    assert states(study) == {"decided"}
    assert "refused the token" in study.prolific_studies.get().fault


def test_database_refuses_a_second_payment_of_the_same_number(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    [name] = read_people(study, books, prolific, 1)
    paid = {"submission": Submission.objects.get(), "kind": "approve", "decided_by": "ada"}
    Payment.objects.create(**paid)
    with pytest.raises(IntegrityError, match="payment_once"), transaction.atomic():
        Payment.objects.create(**paid)
    on_its_way = paid | {"kind": "bonus", "state": "unknown", "sent_at": timezone.now()}
    Payment.objects.create(**on_its_way)
    with pytest.raises(IntegrityError, match="one_bonus_on_its_way"), transaction.atomic():
        Payment.objects.create(**on_its_way | {"kind": "top_up"})


def test_numbers_that_have_changed_decide_nothing(study: Study, books: Books, prolific: ProlificClient) -> None:
    read_people(study, books, prolific, 2)
    with pytest.raises(DecisionError, match="have changed"):
        decide(study, "to-approve", "ada", 2, 399)
    one, two = ([Amount(each.pk, 1)] for each in Submission.objects.order_by("pk"))
    board = read_board(study)
    bonus(study, [Submission.objects.earliest("pk").submission_id])
    with pytest.raises(DecisionError, match="have changed"):
        decide_amounts(study, "top_up", one, "eve", listed(board, one))
    with pytest.raises(DecisionError, match="nobody to pay"):
        decide_amounts(study, "bonus", [replace(two[0], cents=0)], "eve", listed(board, two))
    assert decide_amounts(study, "top_up", two, "eve", listed(board, two)) == 1  # a payment to others changes nothing


def test_somebody_else_at_the_same_number_and_sum_is_not_paid(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    first, second = read_people(study, books, prolific, 2)
    statuses = {first: "AWAITING REVIEW", second: "APPROVED"}
    Submission.objects.filter(submission_id=second).update(status=statuses[second])
    board = read_board(study)
    seen = listed(board, amounts_of(rows_of(board, "to-approve")))
    for name, status in zip(statuses, reversed(statuses.values()), strict=True):
        Submission.objects.filter(submission_id=name).update(status=status)
    with pytest.raises(ListChanged):
        decide_listed(study, "to-approve", "ada", seen)
    assert not Payment.objects.exists()


# --- everything at once -------------------------------------------------------


def two_people(act: Callable[[], int]) -> int:
    """Let two people click at once; return how many of them decided."""

    def click() -> bool:
        try:
            return bool(act())
        except DecisionError:
            return False

    return sum(at_once([click, click]))


def work(study: Study, make: Callable[[], ProlificClient], turns: int = 1) -> None:
    """Run two workers at once in each turn; what fails is tried again in the next turn."""

    def pay() -> None:
        with suppress(ProlificError):
            pay_and_read_back(study, make())

    for _ in range(turns):
        at_once([pay, pay], patience=120)


def settle_everything(study: Study, make: Callable[[], ProlificClient], amounts: list[Amount]) -> None:
    """Work turn after turn until all is settled; each time a person decides what is proposed and top-ups still owed."""
    for _ in range(30):
        work(study, make, turns=3)
        if owed := still_owed(amounts):
            decide_amounts(study, "top_up", owed, "ada", listed(read_board(study), owed))
        board = read_board(study)
        if not owed and all(row.meaning in ("agree", "approved-excluded") for row in board.rows):
            return
        if board.counts["payment-unknown"]:
            an_hour_later()
            work(study, make)
        for meaning in sorted({row.meaning for row in read_board(study).open} - {"payment-unknown"}):
            decide_all(study, meaning)
    raise AssertionError(f"Not settled: {read_board(study).counts}")


def still_owed(amounts: list[Amount]) -> list[Amount]:
    dead = ["failed", "dropped"]
    there = set(Payment.objects.filter(kind="top_up").exclude(state__in=dead).values_list("submission", flat=True))
    return [amount for amount in amounts if amount.submission not in there]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_800_people_with_faults_are_each_paid_once(books: Books, client_at: Callable[[], ProlificClient]) -> None:
    study = make_paid_study()
    names = read_people(study, books, client_at(), 800)
    for name in names[::50]:
        books.give_back(name)  # after completing
    books.faults = {"429": 0.05, "500": 0.05, "timeout": 0.1, "timeout-after": 0.15, "500-after": 0.1}
    books.at, books.lag = "POST", 2
    assert two_people(lambda: decide(study, "to-approve", "ada", 800, 160_000)) == 1
    assert Payment.objects.count() == 800
    settle_everything(study, client_at, [])
    assert books.total() == ledger_total(study) == 160_000

    rows = {each.submission_id: each.pk for each in Submission.objects.all()}
    amounts = [Amount(rows[name], 37 + number, "top-up") for number, name in enumerate(names)]
    seen = listed(read_board(study), amounts)
    assert two_people(lambda: decide_amounts(study, "top_up", amounts, "ada", seen)) == 1
    books.ordered += [("timeout-after", "/pay"), ("500", "/pay")]
    dying = client_at()
    pay = dying.pay_bonus
    dying.pay_bonus = lambda prepared: kill_after(pay, prepared)
    with pytest.raises(Killed):
        pay_and_read_back(study, dying)
    settle_everything(study, client_at, amounts)

    assert read_board(study).open == []
    assert [books.submissions[name].received for name in names] == [200 + 37 + number for number in range(800)]
    assert ledger_total(study) == books.total() == sum(237 + number for number in range(800))
    assert Payment.objects.filter(kind="top_up", state="dropped").exists()  # not done at first, and decided anew
    assert {"unknown", "sending", "sent", "decided", "failed"} & states(study) == set()


def kill_after(pay: Callable[[str], None], prepared: str) -> None:
    try:
        pay(prepared)
    finally:
        raise Killed
