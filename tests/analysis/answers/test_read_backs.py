"""What people say about a reading counts in every number, and the reader's accuracy is counted live."""

import pytest
from django.test import Client

from analysis.answers import read_backs
from analysis.answers.aliases import accept
from analysis.answers.read_backs import kept_accuracy
from analysis.answers.readings import read_new
from analysis.answers.reviews import answers_of, decide, waiting
from analysis.answers.views import head_words, standing
from analysis.models import Answer
from analysis.report.dataset import load_frames
from surveys.models import ReadBack, Study
from surveys.participation.pasting.read_back import ReadReply, mark_of
from tests.factories import make_account, make_participant, make_response

pytestmark = pytest.mark.django_db
FIVE = "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong"


def answer(study: Study, text: str = FIVE, slug: str = "teas", no_answer: str = "", **said: object) -> Answer:
    reply = ReadReply(of=mark_of(text), no_answer=no_answer, **said)
    response = make_response(make_participant(study), slug, text=text, reply=reply)
    read_new(study)
    return Answer.objects.get(response=response)


def test_what_a_person_corrected_is_what_counts(study: Study) -> None:
    assert answer(study, out=("Assam",)).items == ["sencha", "rooibos", "mate", "oolong"]
    assert answer(study).items[0] == "assam"
    assert answer(study, "lol", "water", letter="B").letter == "B"


def test_names_that_people_add_are_cut_to_what_rules_read(study: Study) -> None:
    text = FIVE + "\n\nAlso: Yen, Chai."
    found = answer(study, text, out=("Oolong",), added=("The Yen", "Chai", "yen"))
    assert found.items == ["assam", "sencha", "rooibos", "mate", "yen"]
    assert found.names[-1] == "The Yen"


def test_confirmed_reading_waits_for_nobody_and_an_absent_name_does(study: Study) -> None:
    short = "1. Assam\n2. Sencha"
    answer(study, short, confirmed=True)
    assert not waiting(answers_of(study)).exists()
    odd = answer(study, short, added=("Chai",))
    assert odd.doubt == "added-name" and list(waiting(answers_of(study))) == [odd]


def test_researchers_decision_stands_over_what_the_person_said(study: Study) -> None:
    odd = answer(study, out=("Assam",))
    decide(study, odd.pk, "ada", seen=0, names=["Assam"])
    Answer.objects.update(rules_version=0)
    read_new(study)
    odd.refresh_from_db()
    assert odd.items == ["assam"]


def test_reading_by_later_rules_leaves_what_the_person_said(study: Study) -> None:
    odd = answer(study, out=("Assam",))
    Answer.objects.update(rules_version=0, items=[])
    read_new(study)
    odd.refresh_from_db()
    assert odd.items == ["sencha", "rooibos", "mate", "oolong"]


def test_an_answer_that_was_read_back_by_two_versions_of_the_rules_is_counted_once(study: Study) -> None:
    answer(study, out=("Assam",))
    again = ReadBack.objects.get()
    again.pk, again.rules_version = None, again.rules_version + 1
    again.save()
    counts = standing(study)["counts"]
    assert (counts["count"], counts["corrected"]) == (1, 1)


def test_accuracy_is_the_share_that_people_confirmed(study: Study) -> None:
    assert kept_accuracy(study)["rows"] == []
    for said in ({"confirmed": True}, {"confirmed": True}, {"confirmed": True}, {"added": ("Chai",)}, {}):
        answer(study, **said)
    answer(study, "", no_answer="error")
    answer(study, "B", "water", letter="C")
    lists, choices = kept_accuracy(study)["rows"]
    assert (lists["prompt"], lists["said"], lists["right"], lists["share"]) == ("teas", 4, 3, 0.75)
    # Wilson: centre (0.75 + 0.48018)/1.96036 = 0.6275; half 1.95996·√(0.046875 + 0.060023)/1.96036 = 0.3269
    assert lists["ci"] == pytest.approx((0.3006, 0.9544), abs=2e-4)
    assert (lists["read"], lists["taken_out"], lists["added"], lists["absent"]) == (20, 0, 1, 1)
    assert (lists["unsaid"], lists["no_answer"]) == (1, {"error": 1})
    assert (choices["said"], choices["right"], choices["taken_out"], choices["added"]) == (1, 0, 1, 1)
    assert choices["before"]["letters"] == {"B": 1} and choices["after"]["letters"] == {"C": 1}


def test_difference_is_that_of_the_corrections_that_count(study: Study) -> None:
    answer(study, confirmed=True)
    answer(study, out=("Oolong",))
    (row,) = kept_accuracy(study)["rows"]
    assert (row["before"]["mentions"], row["after"]["mentions"]) == (10, 9)
    assert (row["answers"], row["changed"], row["changed_share"]) == (2, 1, 0.5)
    # Wilson of 1 of 2: 0.5 ± 1.95996·√(0.125 + 0.240091)/2.92073
    assert row["changed_ci"] == pytest.approx((0.0945, 0.9055), abs=2e-4)
    # Five items twice each: log2 5; four twice and one once, of nine: log2 9 - 8/9
    assert row["before"]["entropy_bits"] == pytest.approx(2.3219, abs=1e-4)
    assert row["after"]["entropy_bits"] == pytest.approx(2.2810, abs=1e-4)


def test_spellings_are_made_one_before_a_difference_is_counted(study: Study) -> None:
    answer(study, out=("Assam",), added=("assam tea",))
    assert kept_accuracy(study)["rows"][0]["changed"] == 1
    accept(study, "teas", ["assam tea"], "assam", "tests")
    (row,) = kept_accuracy(study)["rows"]
    assert (row["changed"], row["before"]) == (0, row["after"])


def test_report_counts_what_people_corrected(study: Study) -> None:
    answer(study, out=("Assam",))
    assert "assam" not in load_frames(study).vocabulary("teas")


def test_page_tells_how_well_answers_are_read(client: Client, study: Study) -> None:
    make_account("ada", study, "viewer")
    client.login(username="ada", password="password")
    url = f"/console/{study.slug}/answers/accuracy/"
    assert "Nobody has said yet" in client.get(url).text
    answer(study, confirmed=True)
    odd = answer(study, out=("Oolong",), added=("Chai",))
    page = client.get(url).text
    assert "50\u202f%" in page and "9\u202f% to 91\u202f%" in page
    words = " ".join(page.split())
    assert "changes 1 (50 %, 9 % to 91 %) of 2 answers to lists. No prompt’s entropy moves" in words
    page = client.get(f"/console/{study.slug}/answers/{odd.pk}/").text
    assert "Not in the text" in page and "Chai" in page
    assert ReadBack.objects.count() == 2


def test_what_nobody_read_yet_is_said_to_change_nothing() -> None:
    head = {"of": "lists", "said": 5, "right_share": "80 %", "between": "38 % to 96 %"}
    headline = "People say that 80 % of 5 lists (38 % to 96 %) were read right."
    assert head_words([head]) == {"headline": headline, "changes": ""}


def test_page_counts_once_and_anew_after_each_change(client: Client, study: Study, monkeypatch) -> None:
    client.force_login(make_account("ada", study, "viewer"))
    counted: list[Study] = []
    count = read_backs.count_field
    monkeypatch.setattr(read_backs, "count_field", lambda study, stamp: counted.append(study) or count(study, stamp))

    def head() -> str:
        return client.get("/console/teas/answers/accuracy/").context["headline"]

    first = answer(study, confirmed=True)
    seen = [head(), head()]
    assert seen[0] == seen[1] and len(counted) == 1
    answer(study, out=("Assam",))
    assert head() != seen[0] and len(counted) == 2
    accept(study, "teas", ["sencha"], "assam", "ada")
    assert head() and len(counted) == 3
    decide(study, first.pk, "ada", seen=0, names=["Assam"])
    assert head() and len(counted) == 4
