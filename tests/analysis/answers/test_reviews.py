"""Decisions about what a text says: checked, recorded, undone, and never made over somebody else's."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from analysis.answers.reviews import ReviewError, SeenTooEarly, answers_of, decide, undo, undo_last, waiting
from analysis.models import AnswerDecision
from surveys.models import AuditEvent, Study
from surveys.participation import recruitment
from tests.analysis.answers.answer_samples import give
from tests.factories import make_study


def test_doubtful_answers_wait_until_somebody_decides(study: Study) -> None:
    odd = give(study, "water", "Either A or B, it depends.")
    give(study, "water", "B")
    assert list(waiting(answers_of(study))) == [odd]
    made = decide(study, odd.pk, "ada", seen=0, letter="B")
    odd.refresh_from_db()
    assert (odd.letter, odd.decided, list(waiting(answers_of(study)))) == ("B", True, [])
    assert made.before["letter"] == ""
    event = AuditEvent.objects.get(action="answer decided")
    assert (event.actor, event.detail) == ("ada", {"decision": made.pk})


def test_decided_names_are_normalised_and_doubles_dropped(study: Study) -> None:
    odd = give(study, "teas", "Hm.")
    decide(study, odd.pk, "ada", seen=0, names=["  The Assam ", "assam", "**Earl Grey** - a classic", ""])
    odd.refresh_from_db()
    assert odd.items == ["assam", "earl grey"]


def test_an_undone_decision_gives_the_reading_back(study: Study) -> None:
    odd = give(study, "teas", "1. Assam\n2. Sencha")
    decide(study, odd.pk, "ada", seen=0, names=["Matcha"])
    undo_last(study, "ada")
    odd.refresh_from_db()
    assert (odd.items, odd.decided) == (["assam", "sencha"], False)
    with pytest.raises(ReviewError, match="no decision of yours"):
        undo_last(study, "ada")


def test_undoing_the_second_decision_leaves_the_first_standing(study: Study) -> None:
    odd = give(study, "teas", "1. Assam\n2. Sencha")
    first = decide(study, odd.pk, "ada", seen=0, names=["Matcha"])
    decide(study, odd.pk, "ada", seen=first.pk, names=["Sencha"])
    undo_last(study, "ada")
    odd.refresh_from_db()
    assert (odd.items, odd.decided) == (["matcha"], True)
    with pytest.raises(SeenTooEarly):
        undo(study, first.pk, "ada")


def test_a_stale_page_is_told_so_and_changes_nothing(study: Study) -> None:
    odd = give(study, "water", "A and B")
    decide(study, odd.pk, "ada", seen=0, letter="B")
    with pytest.raises(SeenTooEarly):
        decide(study, odd.pk, "eve", seen=0, letter="A")
    odd.refresh_from_db()
    assert odd.letter == "B"


@pytest.mark.parametrize(
    ("prompt", "given", "fault"),
    [
        ("water", {"letter": "X"}, "not an option here"),
        ("water", {"letter": "AB"}, "not an option here"),
        ("water", {"names": ["tea"]}, "asks for a letter"),
        ("teas", {"letter": "A"}, "asks for items"),
        ("teas", {"names": ["tea"] * 21}, "too many"),
        ("teas", {"names": ["x" * 301]}, "longer than"),
    ],
)
def test_what_cannot_be_an_answer_is_refused(study: Study, prompt: str, given: dict, fault: str) -> None:
    odd = give(study, prompt, "Hm.")
    with pytest.raises(ReviewError, match=fault):
        decide(study, odd.pk, "ada", seen=0, **given)
    assert not AnswerDecision.objects.exists()


def test_another_studys_answer_is_not_found(study: Study) -> None:
    odd = give(study, "water", "Hm.")
    other = Study.objects.create(slug="other", title="Other")
    with pytest.raises(ReviewError, match="gone"):
        decide(other, odd.pk, "ada", seen=0, letter="A")


def test_an_answer_of_somebody_who_withdrew_is_gone(study: Study) -> None:
    odd = give(study, "water", "Hm.")
    recruitment.withdraw(odd.response.participant)
    with pytest.raises(ReviewError, match="gone"):
        decide(study, odd.pk, "ada", seen=0, letter="A")


@pytest.mark.django_db(transaction=True)
def test_of_many_who_decide_at_once_one_succeeds() -> None:
    study = make_study(places=10)
    odd = give(study, "water", "A and B")

    def attempt(name: str) -> bool:
        try:
            decide(study, odd.pk, name, seen=0, letter="B")
            return True
        except SeenTooEarly:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, [f"person {number}" for number in range(8)])) == 1
    assert AnswerDecision.objects.count() == 1
