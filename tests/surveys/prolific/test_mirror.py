"""The mirror: whose submissions it reads, what it stores of them, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from surveys.models import Participant, ProlificStudy, Study, Submission
from surveys.participation import recruitment
from surveys.prolific import tasks
from surveys.prolific.client import ProlificClient, ProlificError
from surveys.prolific.decisions import Amount, DecisionError, decide_amounts
from surveys.prolific.mock.books import Books
from surveys.prolific.transfer import pay_and_read_back, read_back
from surveys.studies import lifecycle
from surveys.studies.lifecycle import StudyError
from tests.factories import PROLIFIC_STUDY, make_definition, make_study
from tests.surveys.console.console_pages import lines_of, log_in
from tests.surveys.prolific.world import decide_all, make_paid_study, make_people, read_people

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db: None) -> Study:
    return make_paid_study()


def test_submissions_are_read_again_over_themselves(study: Study, books: Books, prolific: ProlificClient) -> None:
    [name] = make_people(study, books, 1)
    assert read_back(study, prolific) == 1
    books.approve([name])
    books.submissions[name].bonuses = [40, 2]
    assert read_back(study, prolific) == 1
    row = Submission.objects.get()
    assert (row.status, row.code, row.reward, row.bonus) == ("APPROVED", "CODE1", 200, 42)
    remote = ProlificStudy.objects.get()
    assert (remote.status, remote.reward, remote.currency, remote.fault) == ("ACTIVE", 200, "USD", "")
    assert remote.read_at == row.seen_at


def test_pid_is_kept_of_participants_only(study: Study, books: Books, prolific: ProlificClient) -> None:
    [name] = make_people(study, books, 1)
    books.add_submission("ab" * 12, PROLIFIC_STUDY, "f" * 24)
    read_back(study, prolific)
    assert dict(Submission.objects.values_list("submission_id", "pid")) == {
        name: books.submissions[name].participant_id,
        "ab" * 12: "",
    }


def test_two_studies_here_never_pay_one_study_there(study: Study, books: Books, prolific: ProlificClient) -> None:
    read_people(study, books, prolific, 2)
    other = make_study("live", replace(make_definition(slug="other"), prolific_study_ids=(PROLIFIC_STUDY,)))
    with pytest.raises(ProlificError, match="is paid by another study here"):
        read_back(other, prolific)
    assert not other.prolific_studies.exists()


def test_study_of_another_currency_is_not_read(study: Study, books: Books, prolific: ProlificClient) -> None:
    books.studies[PROLIFIC_STUDY]["currency_code"] = "GBP"
    with pytest.raises(ProlificError, match="Prolific pays in GBP, the study file in USD"):
        read_back(study, prolific)
    assert "GBP" in ProlificStudy.objects.get().fault


def test_study_that_the_token_may_not_see_says_so(study: Study, books: Books, prolific: ProlificClient) -> None:
    del books.studies[PROLIFIC_STUDY]
    with pytest.raises(ProlificError, match="does not know this study"):
        read_back(study, prolific)


def test_bonuses_that_the_list_leaves_out_are_read_where_one_is_on_its_way(
    study: Study, books: Books, client_at: Callable[[], ProlificClient]
) -> None:
    first, second = read_people(study, books, client_at(), 2)
    paid = {"kind": "bonus", "state": "sent", "cents": 5, "decided_by": "ada", "sent_at": "2026-11-01T00:00Z"}
    Submission.objects.get(submission_id=first).payments.create(**paid)
    books.submissions[first].bonuses = books.submissions[second].bonuses = [5]
    shown = books.shown
    books.list_submissions = lambda query, site, plain=books.list_submissions: without_bonuses(plain(query, site))
    assert "bonus_payments" in shown(books.submissions[first])
    read_back(study, client_at())
    assert dict(Submission.objects.values_list("submission_id", "bonus")) == {first: 5, second: 0}


def without_bonuses(reply):
    for row in reply.content["results"]:
        del row["bonus_payments"]
    return reply


def test_erased_ids_take_the_mirrors_along(study: Study, books: Books, prolific: ProlificClient) -> None:
    [name] = read_people(study, books, prolific, 1)
    lifecycle.close(study, "ada")
    lifecycle.erase_prolific_ids(study, "ada")
    row = Submission.objects.get()
    assert (row.pid, row.submission_id) == ("", f"erased-{row.pk}")
    with pytest.raises(ProlificError, match="ids of this study were erased"):
        read_back(study, prolific)
    assert name not in str(Submission.objects.values())
    page = lines_of(log_in(study, "researcher").get("/console/teas/paying/"))
    assert "Pay a bonus" not in page and "Top-up" not in page  # which nobody could send
    with pytest.raises(DecisionError, match="were erased"):
        decide_amounts(study, "bonus", [Amount(row.pk, 100)], "ada", [(row.pk, 100, 0)])


def test_ids_are_not_erased_while_a_payment_is_on_its_way(study: Study, books: Books, prolific: ProlificClient) -> None:
    read_people(study, books, prolific, 1)
    decide_all(study, "to-approve")
    lifecycle.close(study, "ada")
    with pytest.raises(StudyError, match="are on their way"):
        lifecycle.erase_prolific_ids(study, "ada")
    pay_and_read_back(study, prolific)
    assert lifecycle.erase_prolific_ids(study, "ada") == 1


def test_who_withdraws_leaves_no_id_of_theirs_in_the_mirror(
    study: Study, books: Books, client_at: Callable[[], ProlificClient]
) -> None:
    [name] = read_people(study, books, client_at(), 1)
    recruitment.withdraw(Participant.objects.get())
    assert Submission.objects.get().pid == ""
    read_back(study, client_at())
    assert dict(Submission.objects.values_list("submission_id", "pid")) == {name: ""}


# --- in the background --------------------------------------------------------


def test_task_reads_studies_that_name_one_on_prolific(study: Study, books: Books, site: str) -> None:
    make_people(study, books, 1)
    make_study("live", slug="without")
    assert tasks.pay_and_read_back_all() == 1
    assert Submission.objects.count() == 1


def test_task_keeps_the_fault_for_the_page(study: Study, books: Books, site: str) -> None:
    books.token = "another"
    assert tasks.pay_and_read_back_all() == 0
    assert "refused the token" in ProlificStudy.objects.get().fault


def test_without_token_the_task_rests(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    assert tasks.pay_and_read_back_all() == 0
