"""The benchmark in the field: who gets which questions, and the faults of files that set this."""

from collections import Counter
from functools import partial

import pytest

from surveys.studies.files.definitions import Definition, StudyFileError, parse_study
from surveys.studies.files.matrix import Matrix, SetQuestion, set_misfits
from tests.surveys.studies.files.sample_study import GOOD, IN_GERMAN, faults_of, make_definition

FILE = GOOD + '\n[matrix]\nset = "sums"\neach = 3\n'


def make_matrix(each: int = 3, questions: int = 20) -> Matrix:
    asked = (SetQuestion(f"sums/{n}", "", f"{n} + {n}?", ("1", "2"), "A") for n in range(questions))
    return Matrix("sums", each, questions=tuple(asked))


@pytest.mark.parametrize(("each", "questions"), [(3, 20), (6, 514), (7, 7), (1, 5)])
def test_no_question_is_asked_twice_before_all_were_asked_once(each: int, questions: int) -> None:
    matrix, asked = make_matrix(each, questions), Counter[str]()
    for draw in range(200):
        drawn = matrix.drawn(draw, "tea")
        assert len(set(drawn)) == each
        asked.update(drawn)
        counts = [asked[slug] for slug in matrix.by_slug]
        assert max(counts) - min(counts) <= 1


def test_people_who_come_in_turns_of_their_groups_are_asked_all_questions() -> None:
    matrix = make_matrix(6, 24)
    for group in (0, 1):
        asked = Counter(slug for draw in range(group, 40, 2) for slug in matrix.drawn(draw, "tea"))
        assert set(asked) == set(matrix.by_slug)


def test_questions_stand_anywhere_among_the_prompts_whose_order_stays() -> None:
    matrix, prompts = make_matrix(), ["a", "b", "c", "d"]
    places = Counter[int]()
    for draw in range(300):
        order = matrix.put_in(prompts, draw, "tea")
        assert [slug for slug in order if slug in prompts] == prompts and len(order) == 7
        places.update(at for at, slug in enumerate(order) if slug not in prompts)
    assert set(places) == set(range(7)) and min(places.values()) > 60


def test_a_study_comes_back_from_its_document_and_others_hold_no_word_of_it() -> None:
    definition = parse_study(FILE.encode(), "teas", partial(set_misfits, sets={"sums": 20}))
    assert Definition.from_document(definition.to_document()) == definition
    assert "matrix" not in make_definition().to_document()


@pytest.mark.parametrize(
    ("sets", "place", "says"),
    [
        ({}, "matrix.set", "import_benchmark sums FILE"),
        ({"sum": 9}, "matrix.set", "did you mean `sum`?"),
        ({"sums": 2}, "matrix.each", "is 3, but `sums` has 2 questions"),
        ({"sums": 14_042}, "matrix.set", "a study can hold 2,000"),
    ],
)
def test_fault_of_a_set_has_place_line_and_way_out(sets: dict[str, int], place: str, says: str) -> None:
    (fault,) = faults_of(FILE, also=partial(set_misfits, sets=sets))
    assert (fault.place, says in fault.message) == (place, True)
    assert fault.line == FILE.splitlines().index("[matrix]") + (2 if place == "matrix.set" else 3)


def test_prompt_may_not_be_called_like_a_question_and_languages_say_their_title() -> None:
    with pytest.raises(StudyFileError, match="questions of \\[matrix\\]"):
        parse_study(FILE.replace('slug = "water"', 'slug = "question-7"').encode(), "teas")
    with pytest.raises(StudyFileError, match="languages.de.matrix.title is missing"):
        parse_study((FILE + IN_GERMAN).encode(), "teas")


def test_the_interval_to_expect_is_said() -> None:
    assert make_matrix(6, 514).say_width(400, 2) == (
        "400 people × 6 of 514 questions = 2,400 answers: the 95 % interval of the field’s accuracy will be about "
        "±2.5 points, ±3.5 with each chatbot, or less."
    )
