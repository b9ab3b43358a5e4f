"""The rehearsal of paying: simulated people, many kinds of differences, and a mock that pays them."""

from pathlib import Path

import pytest

from surveys.management.commands.rehearse_paying import PEOPLE, rehearse_paying
from surveys.models import Participant
from surveys.prolific.client import ProlificClient
from surveys.prolific.decisions import decide, propose
from surveys.prolific.mock.server import Books, served
from surveys.prolific.reconciliation import read_board
from surveys.prolific.transfer import pay_and_read_back
from surveys.simulation.demo import NotADemo

pytestmark = pytest.mark.django_db


def test_rehearsal_differs_in_many_ways_and_pays_to_the_cent(tmp_path: Path, settings, monkeypatch) -> None:
    settings.DEBUG = True
    path = tmp_path / "books.json"
    study = rehearse_paying(path)
    assert rehearse_paying(path) == study
    people = Participant.objects.filter(study=study)
    assert set(people.values_list("origin", flat=True)) == {"simulated"} and people.count() == PEOPLE
    books = Books(path=path)
    monkeypatch.setenv("PROLIFIC_TOKEN", "mock")
    with served(books) as site, ProlificClient(site) as client:
        pay_and_read_back(study, client)
        assert {row.meaning for row in read_board(study).open} == {
            *("to-approve", "other-code", "returned-after-completing", "timed-out-after-completing"),
            *("returned-there", "bonus-unbooked", "no-data"),
        }
        for proposal in propose(read_board(study)):
            decide(study, proposal.meaning, "ada", proposal.count, proposal.cents)
        pay_and_read_back(study, client)
    assert read_board(study).open == []
    finished = people.filter(state="completed").count()
    assert books.total() == finished * 150 + 50  # the reward of everybody, and the bonus that was there before


def test_rehearsal_is_refused_in_production(tmp_path: Path, settings) -> None:
    settings.DEBUG = False
    with pytest.raises(NotADemo):
        rehearse_paying(tmp_path / "books.json")
