"""Every combination of the two sides: in the rows, and on the page with its one action."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from surveys.models import Participant, Payment, Session, Study, Submission
from surveys.prolific.client import ProlificClient
from surveys.prolific.decisions import propose
from surveys.prolific.mock.server import Books
from surveys.prolific.reconciliation import ACTIONS, MEANINGS, read_board
from surveys.prolific.transfer import claim, read_back
from surveys.studies.files.schema import Reward
from surveys.studies.lifecycle import definition_of, load_definition
from tests.factories import PROLIFIC_STUDY, make_annotation_study
from tests.surveys.console.console_pages import lines_of, log_in
from tests.surveys.prolific.world import make_paid_study, make_people, read_people, row_of

pytestmark = pytest.mark.django_db
# (state here, status there) of people whose code is right.
PLAIN = {
    "to-approve": ("completed", "AWAITING REVIEW"),
    "technical": ("technical", "AWAITING REVIEW"),
    "screened-out": ("screened_out", "AWAITING REVIEW"),
    "misunderstood": ("misunderstood", "AWAITING REVIEW"),
    "returned-here": ("returned", "AWAITING REVIEW"),
    "returned-after-completing": ("completed", "RETURNED"),
    "timed-out-after-completing": ("completed", "TIMED-OUT"),
    "returned-there": ("active", "RETURNED"),
    "working-here": ("active", "AWAITING REVIEW"),
    "approved-unfinished": ("active", "APPROVED"),
    "screened-out-there": ("completed", "SCREENED OUT"),
    "rejected": ("completed", "REJECTED"),
    "unknown-status": ("completed", "PONDERED"),
    "agree": ("completed", "PARTIALLY APPROVED"),
    "ended-here": ("screened_out", "ACTIVE"),
    "timed-out-there": ("timed_out", "TIMED-OUT"),
}


def make_one_of_each(study: Study, books: Books, client: ProlificClient) -> dict[str, str]:
    """Make a submission, or session, of each meaning; return their ids by meaning."""
    found = {name: make_people(study, books, 1, *sides)[0] for name, sides in PLAIN.items()}
    [found["other-code"]] = make_people(study, books, 1)
    books.submissions[found["other-code"]].entered_code = "TYPO"
    for name, status, code in (("no-data", "AWAITING REVIEW", "CODE2"), ("unknown-here", "AWAITING REVIEW", "CODE1")):
        found[name] = f"{'ab' if name == 'no-data' else 'cd'}{0:022x}"
        books.add_submission(found[name], PROLIFIC_STUDY, "f" * 24, status=status, entered_code=code)
    found["second-submission"] = come_again(study, books, make_people(study, books, 1)[0], "a" * 24)
    [first] = make_people(study, books, 1, status="APPROVED")
    found["approved-twice"] = first
    come_again(study, books, first, "b" * 24)
    books.submissions["b" * 24].status = "APPROVED"
    [found["other-person"]] = make_people(study, books, 1)
    books.submissions[found["other-person"]].participant_id = "e" * 24
    [found["unknown-there"]] = make_people(study, books, 1)
    del books.submissions[found["unknown-there"]]
    [found["asked-to-return"]] = make_people(study, books, 1, "returned")
    [found["approved-excluded"]] = make_people(study, books, 1, status="APPROVED")
    failed = {"passed": False, "answer": "x"}
    person = Participant.objects.filter(sessions__session_id=found["approved-excluded"])
    person.update(checks={"attention": {"leaf": failed, "sea": failed}})
    money = {name: make_people(study, books, 1, status="APPROVED")[0] for name in MONEY}
    books.submissions[money["bonus-unbooked"]].bonuses = [70]
    read_back(study, client)
    for name, (kind, state) in MONEY.items() | {("asked-to-return", ("ask_return", "paid"))}:
        if kind:
            submission = Submission.objects.get(submission_id=(money | found)[name])
            Payment.objects.create(
                submission=submission, kind=kind, state=state, cents=50, decided_by="ada", sent_at=timezone.now()
            )
    return found | money


MONEY = {
    "payment-unknown": ("bonus", "unknown"),
    "payment-failed": ("bonus", "failed"),
    "bonus-missing": ("bonus", "paid"),
    "on-its-way": ("bonus", "sent"),
    "bonus-unbooked": ("", ""),
    "bonus-again": ("bonus", "dropped"),
}


def come_again(study: Study, books: Books, name: str, new: str) -> str:
    """Bring the person back with a new submission that also gets the code; return the older one, now the second."""
    session = Session.objects.get(session_id=name)
    early = timezone.now() - timedelta(minutes=30)
    ids = {"session_id": new, "prolific_study_id": PROLIFIC_STUDY, "rule": "after_end"}
    Session.objects.create(participant=session.participant, study=study, first_seen_at=early, **ids)
    books.add_submission(new, PROLIFIC_STUDY, session.participant.pid)
    books.complete(new, session.participant.code)
    return name


def test_every_meaning_stands_in_the_rows_and_on_the_page(site: str, books: Books, prolific: ProlificClient) -> None:
    study = make_paid_study(pay=Reward("USD", Decimal("2.00"), Decimal("0.30")))
    names = make_one_of_each(study, books, prolific)
    board = read_board(study)
    assert {name: row_of(board, names[name]).meaning for name in names} == {name: name for name in names}
    assert set(MEANINGS) - set(names) == {"screened-out-unpaid"}
    client = log_in(study, "researcher")
    page = lines_of(client.get("/console/teas/paying/"))
    for row in board.open:
        assert MEANINGS[row.meaning].label in page
        assert ACTIONS[MEANINGS[row.meaning].action] in page or MEANINGS[row.meaning].action == "read"
    assert "Reject " not in page
    for name in names:
        assert names[name] in lines_of(client.get(f"/console/teas/paying/?meaning={name}"))


def test_screen_out_without_a_promise_asks_to_return(site: str, books: Books, prolific: ProlificClient) -> None:
    study = make_paid_study()
    [name] = read_people(study, books, prolific, 1, "over_quota")
    assert row_of(read_board(study), name).meaning == "screened-out-unpaid"
    assert MEANINGS["screened-out-unpaid"].action == "ask_return"


def test_screen_out_pays_what_the_version_that_the_person_came_under_promised(
    site: str, books: Books, prolific: ProlificClient
) -> None:
    study = make_paid_study(pay=Reward("USD", Decimal("2.00"), Decimal("0.30")))
    early = make_people(study, books, 1, "screened_out")
    definition = definition_of(study.current_id)
    study, _ = load_definition(replace(definition, pay=Reward("USD", Decimal("2.00"))), "ada", "nothing more for it")
    late = read_people(study, books, prolific, 1, "screened_out")
    board = read_board(study)
    assert [row_of(board, name).meaning for name in (*early, *late)] == ["screened-out", "screened-out-unpaid"]
    assert [each.cents for each in propose(board)] == [30, 0]


def test_code_of_an_earlier_version_still_says_that_nothing_is_kept(books: Books, prolific: ProlificClient) -> None:
    study = make_paid_study()
    definition = definition_of(study.current_id)
    codes = {**definition.codes, "no_consent": "NEWCODE1", "withdrawn": "NEWCODE2"}
    study, _ = load_definition(replace(definition, codes=codes), "ada", "other codes")
    given = (definition.codes["no_consent"], definition.codes["withdrawn"], "NEWCODE1", "NEWCODE2", "TYPO")
    names = [f"ab{number:022x}" for number in range(len(given))]
    for name, code in zip(names, given, strict=True):
        books.add_submission(name, PROLIFIC_STUDY, "f" * 24, status="AWAITING REVIEW", entered_code=code)
    read_back(study, prolific)
    board = read_board(study)
    assert [row_of(board, name).meaning for name in names] == ["no-data"] * 4 + ["unknown-here"]


def test_nothing_ever_rejects() -> None:
    assert {meaning.action for meaning in MEANINGS.values() if not meaning.is_fine} <= set(ACTIONS)
    assert not [words for words in ACTIONS.values() if "reject" in words.lower()]


def test_who_came_after_the_last_reading_differs_in_nothing(
    books: Books, prolific: ProlificClient, client_at: Callable[[], ProlificClient]
) -> None:
    study = make_paid_study()
    read_back(study, prolific)
    [name] = make_people(study, books, 1)
    Session.objects.filter(session_id=name).update(first_seen_at=timezone.now())
    assert read_board(study).rows == []
    read_back(study, client_at())
    assert row_of(read_board(study), name).meaning == "to-approve"


def test_who_returned_after_completing_and_came_again_is_paid_once(books: Books, prolific: ProlificClient) -> None:
    study = make_paid_study()
    [name] = make_people(study, books, 1)
    come_again(study, books, name, "a" * 24)
    books.give_back(name)
    read_back(study, prolific)
    board = read_board(study)
    assert (row_of(board, name).meaning, row_of(board, "a" * 24).meaning) == ("agree", "to-approve")


@pytest.mark.parametrize(
    ("first", "state", "second", "meanings"),
    [
        ("APPROVED", "completed", "AWAITING REVIEW", ("agree", "to-approve")),
        ("APPROVED", "completed", "APPROVED", ("agree", "agree")),
        ("APPROVED", "active", "ACTIVE", ("agree", "agree")),
        ("AWAITING REVIEW", "active", "ACTIVE", ("to-approve", "agree")),
        ("AWAITING REVIEW", "returned", "RETURNED", ("to-approve", "agree")),
    ],
)
def test_annotator_is_paid_for_each_sitting(
    books: Books, prolific: ProlificClient, first: str, state: str, second: str, meanings: tuple[str, str]
) -> None:
    study = make_annotation_study(sittings=3)
    claim(study, PROLIFIC_STUDY)
    [name] = make_people(study, books, 1, status=first)
    come_again(study, books, name, "a" * 24)
    Session.objects.filter(session_id="a" * 24).update(rule="sitting")
    books.submissions["a" * 24].status = second
    ended = state != "active"
    Participant.objects.update(
        state=state, code="CODE1" if ended else "", finished_at=timezone.now() if ended else None
    )
    read_back(study, prolific)
    board = read_board(study)
    assert (row_of(board, name).meaning, row_of(board, "a" * 24).meaning) == meanings
