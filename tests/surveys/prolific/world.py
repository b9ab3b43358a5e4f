"""A study with people who ended here and their submissions at the mock."""

from datetime import timedelta
from itertools import count

from django.utils import timezone

from surveys.models import Participant, Payment, Session, Study
from surveys.prolific.client import ProlificClient
from surveys.prolific.decisions import decide, propose
from surveys.prolific.mock.server import Books
from surveys.prolific.reconciliation import Board, Pair, read_board
from surveys.prolific.transfer import read_back
from surveys.studies.lifecycle import definition_of
from tests.factories import PROLIFIC_STUDY, make_definition, make_study

NUMBERS = count(1)


def make_paid_study(**changes) -> Study:
    """The study of teas, with the id of its study on Prolific."""
    return make_study("live", make_definition(prolific_study_ids=(PROLIFIC_STUDY,), **changes))


def make_people(study: Study, books: Books, number: int, state: str = "completed", status: str = "") -> list[str]:
    """People who ended here in this state an hour ago, with a submission each; returns the submissions' ids.

    With the status `AWAITING REVIEW`, which stands in for none, they have entered their code.
    """
    codes, now = definition_of(study.current_id).codes, timezone.now()
    code = codes.get(state, "")
    numbers = [next(NUMBERS) for _ in range(number)]
    people = Participant.objects.bulk_create(
        Participant(
            study=study,
            version_id=study.current_id,
            pid=f"{each:024x}",
            pseudonym=f"p{each:011d}",
            state=state,
            step="end" if code else "prompts",
            code=code,
            consented_at=now - timedelta(minutes=70),
            finished_at=now - timedelta(hours=1) if code else None,
        )
        for each in numbers
    )
    ids = [f"5e{each:022x}" for each in numbers]
    Session.objects.bulk_create(
        Session(
            participant=person,
            study=study,
            session_id=name,
            prolific_study_id=PROLIFIC_STUDY,
            rule="first",
            first_seen_at=now - timedelta(minutes=70),
        )
        for person, name in zip(people, ids, strict=True)
    )
    for person, name in zip(people, ids, strict=True):
        books.add_submission(name, PROLIFIC_STUDY, person.pid)
        if status or code:
            books.complete(name, code)
            books.submissions[name].status = status or "AWAITING REVIEW"
    return ids


def read_people(
    study: Study, books: Books, client: ProlificClient, number: int, *state: str, **about: str
) -> list[str]:
    """Make people as `make_people` does, then read their submissions back from the mock."""
    names = make_people(study, books, number, *state, **about)
    read_back(study, client)
    return names


def row_of(board: Board, name: str) -> Pair:
    return next(row for row in board.rows if row.name == name)


def decide_all(study: Study, meaning: str, actor: str = "ada") -> int:
    proposal = next(each for each in propose(read_board(study)) if each.meaning == meaning)
    return decide(study, meaning, actor, proposal.count, proposal.cents)


def ledger_total(study: Study) -> int:
    paid = Payment.objects.filter(submission__remote__study=study, state="paid").exclude(kind="ask_return")
    return sum(paid.values_list("cents", flat=True))
