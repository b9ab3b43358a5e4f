"""The questions of a set that a place draws: even over the set, no draw twice, even if people of all cells meet."""

from collections import Counter

import pytest
from django.db import IntegrityError, transaction

from surveys.models import Draw, Participant, Place, Prompt, Study
from surveys.participation.places import draw_of, release
from surveys.participation.steps import minutes_for
from surveys.studies import lifecycle
from surveys.studies.files.matrix import Matrix
from surveys.studies.lifecycle import StudyError, load_definition
from tests.analysis.runs.baseline_factories import make_item
from tests.factories import definition_of, make_definition, make_participant, make_response, make_study
from tests.surveys.participation.test_races import arrive
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db


def make_study_of_sums(questions: int = 10, each: int = 3, **changes: object) -> Study:
    for number in range(1, questions + 1):
        make_item(number)
    return make_study(places=20, matrix=Matrix("sums", each), **changes)


def drawn_in(person: Participant) -> list[str]:
    return [slug for slug in person.order if slug.startswith("question-")]


@pytest.mark.django_db(transaction=True)
def test_people_who_come_together_have_draws_of_their_own_without_a_gap() -> None:
    study = make_study_of_sums()
    cells = [cell.slug for cell in definition_of(study).cells]
    people = [arrive(study, cells[n % 2], ("chatgpt", "gemini")[n // 2 % 2]) for n in range(8)]
    assert at_once(people) == ["active"] * 8
    for chatbot in ("chatgpt", "gemini"):
        numbers = Draw.objects.filter(chatbot=chatbot).values_list("number", flat=True)
        assert sorted(numbers) == list(range(4))
        people_of = Participant.objects.filter(cell__chatbot=chatbot)
        asked = Counter(slug for person in people_of for slug in drawn_in(person))
        # Twelve askings of ten questions: each once or twice.
        assert set(asked) == {f"question-{number}" for number in range(1, 11)} and {*asked.values()} == {1, 2}


def test_the_next_holder_of_a_place_has_its_questions() -> None:
    study = make_study_of_sums()
    first = make_participant(study)
    place = Place.objects.get(participant=first)
    release(first)
    with transaction.atomic():
        assert draw_of(place) == 0 and draw_of(Place.objects.exclude(pk=place.pk).first()) == 1
    Place.objects.exclude(pk=place.pk).filter(cell=place.cell).delete()
    second = make_participant(study)
    assert sorted(drawn_in(second)) == sorted(drawn_in(first))


def test_the_database_gives_no_number_twice_and_no_question_without_a_key() -> None:
    study = make_study_of_sums()
    make_participant(study)
    free = Place.objects.filter(participant=None, cell__chatbot="chatgpt").first()
    with pytest.raises(IntegrityError, match="draw_once"), transaction.atomic():
        Draw.objects.create(study=study, chatbot="chatgpt", place=free, number=0)
    with pytest.raises(IntegrityError, match="drawn_question_has_its_key"), transaction.atomic():
        Prompt.objects.create(version=study.current, position=99, slug="x", kind="choice", is_drawn=True)


def test_previews_take_no_draw_and_have_questions() -> None:
    study = make_study_of_sums()
    assert len(set(drawn_in(make_participant(study, origin="preview")))) == 3
    assert not Draw.objects.exists()


def test_questions_are_askings_like_others() -> None:
    study = make_study_of_sums()
    person = make_participant(study)
    assert len(person.order) == 5 and definition_of(study).most_asked == 5
    assert minutes_for(definition_of(study), 5) == definition_of(study).minutes
    slug = drawn_in(person)[0]
    response = make_response(person, slug, text="B")
    asked = response.prompt
    assert (asked.answer, asked.benchmark) == ("B", "sums") and asked.text.endswith(
        "Please answer with the letter of one option."
    )


def test_the_version_holds_the_questions_as_they_were_when_it_was_launched() -> None:
    study = make_study_of_sums()
    matrix = definition_of(study).matrix
    assert matrix and [asked.item for asked in matrix.questions[:2]] == ["sums/1", "sums/2"]
    make_item(11)
    with pytest.raises(StudyError, match="can't be changed silently"):
        load_definition(make_definition(places=20, matrix=Matrix("sums", 3)), "tests")
    study.refresh_from_db()
    assert len(lifecycle.definition_of(study.current_id).set_questions) == 10


@pytest.mark.parametrize(("name", "each", "says"), [("none", 2, "not here"), ("sums", 4, "has 3 questions")])
def test_a_set_that_is_not_there_or_too_small_is_refused(name: str, each: int, says: str) -> None:
    for number in range(1, 4):
        make_item(number)
    with pytest.raises(StudyError, match=says):
        make_study(matrix=Matrix(name, each))
