"""The pages about paying: who may use them, what each button decides, and what a page may cost."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape

from surveys.console.monitoring.monitor import Work, watch
from surveys.models import Participant, Payment, Session, Study, Submission
from surveys.prolific import tasks, views
from surveys.prolific.board import read_board
from surveys.prolific.client import ProlificClient
from surveys.prolific.decisions import CellPay, pay_by_cell
from surveys.prolific.mock.books import Books
from surveys.prolific.transfer import claim, pay_and_read_back, read_back
from tests.factories import PROLIFIC_STUDY, make_annotation_study
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of
from tests.surveys.prolific.world import decide_all, ledger_total, make_paid_study, make_people, read_people

pytestmark = pytest.mark.django_db
AT = "/console/teas/paying/"
CHANGED = "The numbers have changed since you saw them. Nothing was decided; look again."


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The studies whose payments the pages hand to the worker."""
    ids: list[int] = []
    monkeypatch.setattr(tasks.pay_and_read_back_one, "delay", ids.append)
    return ids


@pytest.fixture
def study(db: None) -> Study:
    return make_paid_study()


def forms_of(page: str, address: str) -> list[dict[str, str]]:
    """The hidden fields of each form that posts to the address."""
    found = re.findall(rf'<form method="post" action="{address}">(.*?)</form>', page, re.DOTALL)
    return [fields_of(form) for form in found]


def fields_of(form: str) -> dict[str, str]:
    return dict(re.findall(r'type="hidden"\s+name="(\w+)"\s+value="([^"]*)"', form))


def pay(client: Client, path: str, form: dict[str, str]) -> list[str]:
    """Send the form and, if a sheet asks first, the sheet; return what the page then says."""
    answer = client.post(AT + path, form, follow=True)
    sheets = sheet_of(answer)
    return said(client.post(AT + path, sheets, follow=True) if sheets else answer)


def sheet_of(answer: HttpResponse) -> dict[str, str]:
    """The hidden fields of the sheet; empty if the page is none."""
    forms = re.findall(r'<form method="post">(.*?)</form>', text_of(answer), re.DOTALL)
    return fields_of(forms[0]) if forms else {}


def test_before_anything_was_read_the_page_says_so(study: Study, site: str) -> None:
    page = lines_of(log_in(study).get(AT))
    assert "Nothing has been read from Prolific yet." in page
    assert "A rehearsal." in page and PROLIFIC_STUDY in page


def test_token_that_is_missing_is_named_and_never_shown(study: Study, site: str, monkeypatch) -> None:
    assert "is not set where this page runs" not in lines_of(log_in(study).get(AT))
    monkeypatch.delenv("PROLIFIC_TOKEN")
    assert "PROLIFIC_TOKEN is not set where this page runs" in lines_of(log_in(study, name="eve").get(AT))


def test_button_decides_what_it_says_and_hands_it_to_the_worker(
    study: Study, books: Books, prolific: ProlificClient, queued: list[int]
) -> None:
    read_people(study, books, prolific, 3)
    client = log_in(study, "researcher")
    page = client.get(AT)
    assert "3 of 3 submissions need a decision: $6.00 to people." in lines_of(page)
    assert "Approve: $6.00" in lines_of(page) and "$2.00" in lines_of(page)  # the fee, a third
    [form] = forms_of(text_of(page), f"{AT}decide/")
    sure = lines_of(client.post(f"{AT}decide/", form))
    assert "Pay $6.00 to 3 people?" in sure and "Yes, pay $8.00" in sure and "cannot be taken back" in sure
    assert all(name in sure for name in Participant.objects.values_list("pseudonym", flat=True))
    assert (Payment.objects.count(), queued) == (0, [])
    assert pay(client, "decide/", form) == ["3 submissions decided. It is sent in the background and then read back."]
    assert queued == [study.pk]
    assert pay(client, "decide/", form) == [CHANGED]
    assert (Payment.objects.count(), queued) == (3, [study.pk])
    pay_and_read_back(study, prolific)
    assert "Both sides agree on 3 submissions." in lines_of(client.get(AT))
    assert "3 payments in the ledger." in lines_of(client.get(f"{AT}ledger/"))
    page = lines_of(client.get(f"{AT}ledger/?state=failed"))
    assert "0 payments in the ledger in this state." in page and "No payment is in this state." in page


def test_sessions_that_prolific_does_not_have_are_no_submissions(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    names = make_people(study, books, 4)
    books.submissions = {names[0]: books.submissions[names[0]], names[1]: books.submissions[names[1]]}
    read_back(study, prolific)
    client = log_in(study)
    counted = "2 of 2 submissions need a decision: $4.00 to people. 2 sessions here have no submission on Prolific."
    assert counted in lines_of(client.get(AT))
    Submission.objects.update(status="APPROVED")
    Session.objects.get(session_id=names[2]).delete()
    agreed = "Both sides agree on 2 submissions. 1 session here has no submission on Prolific."
    assert agreed in lines_of(client.get(AT))


def test_sheet_pays_exactly_whom_it_listed(study: Study, books: Books, prolific: ProlificClient) -> None:
    first, second, third = read_people(study, books, prolific, 3)
    client, mary = log_in(study), log_in(study, name="mary")
    [form] = forms_of(text_of(client.get(AT)), f"{AT}decide/")
    sheet = sheet_of(client.post(f"{AT}decide/", form))
    # One goes and another comes; a second one's reward differs.
    Submission.objects.filter(submission_id=first).update(status="APPROVED")
    Submission.objects.filter(submission_id=second).update(reward=250)
    [fourth] = read_people(study, books, prolific, 1)
    Submission.objects.filter(submission_id=first).update(status="APPROVED")
    Submission.objects.filter(submission_id=second).update(reward=250)
    answer = client.post(f"{AT}decide/", sheet)
    page, name = lines_of(answer), {each.session_id: str(each.participant) for each in Session.objects.all()}
    assert "The list has changed since you saw it, and nothing was decided." in page and not Payment.objects.exists()
    assert "Yes, pay $8.67" in page and page.count("new on the list") == page.count("$2.00 before") == 1
    assert page.index("no longer on it") < page.index(name[first]) < page.index("What it costs")
    assert [name[each] in page for each in (second, third, fourth)] == [True] * 3
    # A list that nobody signed, or of another form, is shown and not paid.
    for odd in ({"listed": "made-up"}, {"listed": sheet["listed"][:-2]}):
        assert client.post(f"{AT}decide/", form | odd).status_code == 302
    assert not Payment.objects.exists()
    assert pay_sheet(client, answer) and pay_sheet(mary, answer) == [CHANGED]
    assert set(Payment.objects.values_list("submission__submission_id", "cents")) == {
        *((second, 250), (third, 200), (fourth, 200))
    }


def pay_sheet(client: Client, answer: HttpResponse) -> list[str]:
    return said(client.post(f"{AT}decide/", sheet_of(answer), follow=True))


@pytest.mark.parametrize("form", [
    {}, {"meaning": "to-approve", "count": "2", "cents": "-400"},
    {"meaning": "to-approve", "count": "2", "cents": "4e2"}, {"meaning": "agree", "count": "2", "cents": "400"},
    {"meaning": "'; --", "count": "1" * 99, "cents": "\x00"},
])  # fmt: skip
def test_odd_forms_decide_nothing(study: Study, books: Books, prolific: ProlificClient, form: dict) -> None:
    read_people(study, books, prolific, 2)
    assert log_in(study).post(f"{AT}decide/", form).status_code == 302
    assert not Payment.objects.exists()


# --- bonuses and top-ups ------------------------------------------------------


def bonus(client: Client, **changes: str) -> list[str]:
    return pay(client, "bonus/", {"people": "", "amount": "1.50", "reason": "Helped us"} | changes)


def test_bonus_is_paid_once_however_often_the_form_is_sent(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    names = read_people(study, books, prolific, 2, status="APPROVED")
    people = " ".join(Participant.objects.values_list("pseudonym", flat=True))
    client, form = log_in(study), {"people": people, "amount": "1.50", "reason": "Helped us"}
    sheet = sheet_of(client.post(f"{AT}bonus/", form))
    assert said(client.post(f"{AT}bonus/", sheet, follow=True))[0].startswith("2 submissions decided.")
    again = lines_of(client.post(f"{AT}bonus/", sheet))
    assert "The list has changed since you saw it, and nothing was decided." in again
    assert again.count("got another payment since") == 2
    pay_and_read_back(study, prolific)
    assert [books.submissions[name].bonuses for name in names] == [[150], [150]]
    assert Payment.objects.filter(reason="Helped us", decided_by="ada").count() == 2


@pytest.mark.parametrize(("change", "words"), [
    ({"people": "nobody1"}, "nobody1 has no submission"),
    ({"people": ""}, "nobody to pay"),
    ({"amount": "1.505"}, "a sum such as 1.50"),
    ({"amount": "-1"}, "a sum such as 1.50"),
    ({"amount": "NaN"}, "a sum such as 1.50"),
    *(
        ({"amount": sum_}, "a sum such as 1.50")
        for sum_ in ("1e9", "1e3", "1e999999999", "١", "1_0", "1000.01", "")
    ),
    ({"reason": " "}, "Say what the bonus is for"),
])  # fmt: skip
def test_bonus_that_makes_no_sense_is_refused(
    study: Study, books: Books, prolific: ProlificClient, change: dict, words: str
) -> None:
    read_people(study, books, prolific, 1, status="APPROVED")
    [name] = Participant.objects.values_list("pseudonym", flat=True)
    form = {"people": name, "amount": "1.50", "reason": "Helped us"} | change
    for sure in ({}, {"listed": "made up"}):
        answer = log_in(study, name=f"ada{len(sure)}").post(f"{AT}bonus/", form | sure)
        assert answer.status_code == 400 and words in said(answer)[0]
        assert all(escape(value) in text_of(answer) for value in form.values())  # nothing is typed twice
    assert not Payment.objects.exists()


def test_bonuses_that_failed_come_back_as_a_proposal_and_are_paid_once(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    names = read_people(study, books, prolific, 3, status="APPROVED")
    client = log_in(study)
    bonus(client, people=" ".join(Participant.objects.values_list("pseudonym", flat=True)))
    Payment.objects.update(state="failed", note="refused")
    for says, pays in (("Propose it anew", False), ("Pay it once more: $4.50", True)):
        page = client.get(AT)
        assert says in lines_of(page)
        [form] = forms_of(text_of(page), f"{AT}decide/")
        assert ("Yes, pay $6.00" in lines_of(client.post(f"{AT}decide/", form, follow=True))) == pays
    assert pay(client, "decide/", form)[0].startswith("3 submissions decided.")
    assert "have changed" in pay(client, "decide/", form)[0]
    pay_and_read_back(study, prolific)
    assert [books.submissions[name].bonuses for name in names] == [[150]] * 3
    assert (books.total(), Payment.objects.filter(state="paid").count()) == (450, 3)
    assert "Both sides agree on 3 submissions." in lines_of(client.get(AT))


@pytest.mark.slow
def test_sixty_bonuses_that_prolific_refuses_come_back_and_can_be_dismissed(
    study: Study, books: Books, prolific: ProlificClient
) -> None:
    read_people(study, books, prolific, 60, status="APPROVED")
    client = log_in(study)
    bonus(client, people=" ".join(Participant.objects.values_list("pseudonym", flat=True)))
    prepare = books.prepare
    books.prepare = lambda at, lines: prepare("none", lines)
    pay_and_read_back(study, prolific)
    assert Payment.objects.filter(state="failed").count() == 60 and books.total() == 0
    books.prepare = prepare
    [form] = forms_of(text_of(client.get(AT)), f"{AT}decide/")
    assert form["count"] == "60"
    pay(client, "decide/", form)
    page = client.get(AT)
    for says in ("Bonus that was not done, proposed anew", "Pay it once more: $90.00", "Dismiss"):
        assert says in lines_of(page)
    [form] = forms_of(text_of(page), f"{AT}decide/")
    dismissed = form | {"action": "dismiss"}
    assert "have changed" in said(client.post(f"{AT}decide/", dismissed | {"count": "59"}, follow=True))[0]
    assert said(client.post(f"{AT}decide/", dismissed, follow=True)) == [
        "60 submissions dismissed. Nothing is sent to Prolific."
    ]
    assert "have changed" in said(client.post(f"{AT}decide/", dismissed, follow=True))[0]
    pay_and_read_back(study, prolific)
    assert set(Payment.objects.values_list("state", flat=True)) == {"waived"} and books.total() == 0
    page = lines_of(client.get(AT))
    assert "Both sides agree on 60 submissions." in page and "Dismiss" not in page
    # The same people can be given another one.
    bonus(client, people=" ".join(Participant.objects.values_list("pseudonym", flat=True)[:1]))
    pay_and_read_back(study, prolific)
    assert books.total() == 150


def test_top_up_brings_the_cell_to_the_promise(study: Study, books: Books, prolific: ProlificClient) -> None:
    make_people(study, books, 6, status="APPROVED")
    cell = study.cells.first()
    now = timezone.now()
    for minutes, person in zip((5, 10, 20, 20, 30, 60), Participant.objects.order_by("pk"), strict=True):
        Participant.objects.filter(pk=person.pk).update(
            cell=cell, consented_at=now - timedelta(minutes=minutes), finished_at=now
        )
    read_back(study, prolific)
    client = log_in(study)
    page = client.get(AT)
    # $2.00 for 10 minutes is $12.00 an hour; the median of $24, 12, 6, 6, 4 and 2 is $6.
    assert "$6.00 below the promise" in lines_of(page)
    assert "Pay is below the promise: $6.00 instead of $12.00 an hour." in lines_of(
        client.get("/console/teas/collect/")
    )
    # To all alike $2.00 (4 of 6 then have $12 or more); to each what is missing: $2 + $2 + $4 + $10.
    assert "$12.00 to 6 people … and $4.00 fee" in lines_of(page)
    assert "$18.00 to 4 people … and $6.00 fee" in lines_of(page)
    forms = {form["how"]: form for form in forms_of(text_of(page), f"{AT}top-up/")}
    assert "have changed" in pay(client, "top-up/", forms["cell"] | {"cents": "1"})[0]
    sure = lines_of(client.post(f"{AT}top-up/", forms["cell"]))
    assert "Pay $12.00 to 6 people?" in sure and "Yes, pay $16.00" in sure and not Payment.objects.exists()
    assert pay(client, "top-up/", forms["cell"])[0].startswith("6 submissions decided.")
    assert "have changed" in pay(client, "top-up/", forms["cell"])[0]
    pay_and_read_back(study, prolific)
    assert (books.total(), ledger_total(study)) == (1200, 1200)
    assert "below the promise" not in lines_of(client.get(AT))
    assert "below the promise" not in lines_of(client.get("/console/teas/collect/"))


def test_reward_that_is_paid_as_a_bonus_counts_once(study: Study, books: Books, prolific: ProlificClient) -> None:
    read_people(study, books, prolific, 3, status="RETURNED")
    assert [pay_by_cell(study, read_board(study)), watch(study).pay.per_hour] == [[], 1200]  # nothing is decided yet
    decide_all(study, "returned-after-completing")
    # $2.00 for 10 minutes, though Prolific pays the reward of a returned submission as a bonus only.
    [cell] = pay_by_cell(study, read_board(study))
    assert [cell.per_hour, watch(study).pay.per_hour] == [1200, 1200]


def test_pay_of_who_comes_for_several_sittings_is_that_of_the_last(books: Books, prolific: ProlificClient) -> None:
    study = make_annotation_study(sittings=2)
    claim(study, PROLIFIC_STUDY)
    [first] = make_people(study, books, 1, status="APPROVED")
    person, now = Participant.objects.get(), timezone.now()
    Participant.objects.update(consented_at=now - timedelta(days=3), finished_at=now)
    began = {"rule": "sitting", "first_seen_at": now - timedelta(minutes=20), "prolific_study_id": PROLIFIC_STUDY}
    Session.objects.create(participant=person, study=study, session_id="a" * 24, **began)
    books.add_submission("a" * 24, PROLIFIC_STUDY, person.pid, status="APPROVED")
    books.submissions[first].bonuses = [500]
    read_back(study, prolific)
    [cell] = pay_by_cell(study, read_board(study))
    # $2.00 for the 20 minutes of the last one.
    assert [round(pay.minutes) for pay in (cell, watch(study).pay)] == [20, 20]
    assert [cell.per_hour, watch(study).pay.per_hour] == [600, 600]


def test_least_sum_for_a_median_at_the_promise() -> None:
    cell = CellPay("Cell", 1200, [Work(hours, 200, 1200, number) for number, hours in enumerate((0.1, 0.25, 0.5))])
    assert (cell.each, cell.options) == (100, [("cell", 3, 300, 100), ("person", 2, 500, 167)])
    assert (cell.per_hour, cell.few, CellPay("Empty", 1200).options) == (800, True, [])


def test_sum_to_each_brings_the_median_of_an_even_number_to_the_promise() -> None:
    minutes = (5, 10, 20, 30, 40, 60)
    cell = CellPay("Cell", 1200, [Work(each / 60, 200, 1200, each) for each in minutes])
    paid = CellPay("Cell", 1200, [Work(each / 60, 200 + cell.each, 1200, each) for each in minutes])
    assert (cell.below, paid.below) == (True, False)


# --- how much it costs --------------------------------------------------------


def read_many(study: Study, books: Books, client: ProlificClient, number: int) -> None:
    """Make and read back submissions of one cell, every second of them paid."""
    read_people(study, books, client, number)
    Participant.objects.update(cell=study.cells.first())
    rows = list(Submission.objects.order_by("pk"))[1::2]
    Submission.objects.filter(pk__in=[row.pk for row in rows]).update(status="APPROVED")
    paid = {"kind": "approve", "state": "paid", "cents": 200, "decided_by": "ada", "sent_at": timezone.now()}
    Payment.objects.bulk_create(Payment(submission=row, **paid) for row in rows)


@pytest.mark.parametrize("number", [1, 300, pytest.param(5_000, marks=pytest.mark.slow)])
def test_page_takes_eight_statements_however_many_there_are(
    study: Study, books: Books, prolific: ProlificClient, number: int
) -> None:
    read_many(study, books, prolific, number)
    client = log_in(study)
    client.get(AT)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(AT)
    assert page.status_code == 200
    assert len(queries) <= 8, [query["sql"][:90] for query in queries]
    assert len(page.context["shown"]) == min(50, number)
    assert views.PAGE_SIZE == 50


def test_21_days_are_counted_from_the_first_that_waits(study: Study, books: Books, prolific: ProlificClient) -> None:
    read_people(study, books, prolific, 2)
    Submission.objects.filter(pk=Submission.objects.latest("pk").pk).update(status="APPROVED")
    first = Submission.objects.get(status="AWAITING REVIEW").completed_at
    assert read_board(study).first_deadline == first + timedelta(days=21)
    assert "Prolific approves the first by itself" in lines_of(log_in(study).get(AT))
