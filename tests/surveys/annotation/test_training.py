"""Training with feedback and a pass mark, and gold items mixed in with the work."""

import uuid
from dataclasses import replace

import pytest

from surveys.annotation.items import push_items
from surveys.annotation.labels import LabelSubmission, skip, submit, take_back
from surveys.annotation.qualification import gold_scores, training_of
from surveys.annotation.slots import items_left
from surveys.annotation.work import next_tasks, open_task, progress_of, seal_task
from surveys.models import Annotation, Participant, Study
from surveys.studies.files.kinds import LabelFault
from surveys.studies.labels import counted
from tests.factories import annotate, item_of, make_annotation_study, make_annotator, make_items

pytestmark = pytest.mark.django_db
YES = {"relevance": "yes"}


def make_known(study: Study, purpose: str, count: int, start: int = 100) -> None:
    explained = {"explanation": "Because of the cups."} if purpose == "training" else {}
    new = [item_of(number, purpose=purpose, gold=YES, **explained) for number in range(start, start + count)]
    push_items(study, new, "tests")


@pytest.fixture
def study() -> Study:
    study = make_annotation_study(pass_mark=70, gold_every=2)
    make_known(study, "training", 3)
    make_items(study, 5)
    return study


def test_training_comes_before_the_work_and_takes_no_slots(study: Study) -> None:
    person = make_annotator(study)
    keys = [annotate(person).annotation.item.key for _ in range(3)]
    assert keys == ["item-100", "item-101", "item-102"]
    assert training_of(person).passed and not counted(study).exists()
    assert progress_of(person).done == 0 and items_left(person) == 5
    assert annotate(person).annotation.item.purpose == "work"


def test_answer_is_followed_by_what_is_right(study: Study) -> None:
    (wrong,) = annotate(make_annotator(study), relevance="no").feedback
    assert (wrong.field, wrong.given, wrong.right, wrong.ok) == ("relevance", "no", ("yes",), False)
    (right,) = annotate(make_annotator(study)).feedback
    assert right.ok
    person = make_annotator(study)
    assert next_tasks(person)[0].item.explanation == "Because of the cups."


def test_below_the_pass_mark_the_wrong_ones_come_once_more(study: Study) -> None:
    person = make_annotator(study)
    for label in ("yes", "no", "no"):
        annotate(person, relevance=label)
    training = training_of(person)
    assert (training.right, training.due.key, training.failed) == (1, "item-101", False)
    assert (training.is_repeated, training.answered, training.total) == (True, 0, 2)
    annotate(person)
    # Two of three are 67 percent, below 70.
    training = training_of(person)
    assert (training.due.key, training.answered, training.total) == ("item-102", 1, 2)
    annotate(person)
    assert training_of(person).passed and next_tasks(person)[0].item.purpose == "work"


def test_one_wrong_answer_within_the_mark_is_no_reason_to_ask_again() -> None:
    study = make_annotation_study(pass_mark=66)
    make_known(study, "training", 3)
    make_items(study, 1)
    person = make_annotator(study)
    for label in ("yes", "no", "yes"):
        annotate(person, relevance=label)
    assert training_of(person).passed


def test_who_fails_twice_is_asked_to_return_with_a_code(study: Study) -> None:
    person = make_annotator(study)
    failed = [annotate(person, relevance="no").failed_training for _ in range(6)]
    assert failed == [False] * 5 + [True]
    person.refresh_from_db()
    assert (person.state, person.reason, person.code) == ("misunderstood", "training-failed-twice", "CODE9")


def test_training_answer_sent_again_after_its_feedback_changes_nothing(study: Study) -> None:
    person = make_annotator(study)
    shown = open_task(person, seal_task(person, next_tasks(person)[0]))
    submit(person, shown, LabelSubmission({"relevance": "no"}))
    again = submit(person, shown, LabelSubmission(YES))
    assert again.annotation.labels == {"relevance": "no"} and not again.feedback[0].ok
    assert Annotation.objects.count() == 1


def test_training_is_neither_skipped_nor_taken_back(study: Study) -> None:
    person = make_annotator(study)
    shown = open_task(person, seal_task(person, next_tasks(person)[0]))
    with pytest.raises(LabelFault):
        skip(person, shown, "unclear")
    annotate(person)
    assert take_back(person) is None


def test_gold_comes_after_so_many_items_and_never_counts(study: Study) -> None:
    make_known(study, "gold", 2, start=200)
    person = make_annotator(study)
    purposes = []
    while outcome := annotate(person):
        purposes.append(outcome.annotation.item.purpose)
    assert purposes == ["training"] * 3 + ["work", "work", "gold", "work", "work", "gold", "work"]
    assert gold_scores(study) == {person.pk: (2, 2)}
    assert set(counted(study).values_list("item__purpose", flat=True)) == {"work"}


def test_gold_is_scored_by_the_newest_answer_to_each_item(study: Study) -> None:
    make_known(study, "gold", 2, start=200)
    person = make_annotator(study)
    shown = []
    while tasks := next_tasks(person):
        if tasks[0].item.purpose == "gold":
            shown.append(open_task(person, seal_task(person, tasks[0])))
            annotate(person, tasks[0], relevance="no")
        else:
            annotate(person)
    assert gold_scores(study) == {person.pk: (0, 2)}
    submit(person, replace(shown[0], revision=1), LabelSubmission(YES))
    assert gold_scores(study) == {person.pk: (1, 2)} and gold_scores(study, pilot=True) == {}
    take_back(person)
    assert gold_scores(study) == {person.pk: (0, 1)}


def test_next_two_tasks_hold_the_gold_item_at_its_place(study: Study) -> None:
    make_known(study, "gold", 1, start=200)
    person = make_annotator(study)
    for _ in range(4):
        annotate(person)
    assert [task.item.purpose for task in next_tasks(person, 3)] == ["work", "gold", "work"]


def test_gold_never_comes_between_two_items_about_one_user() -> None:
    study = make_annotation_study(kind="attribute", block="user", gold_every=2, quota=8, items=8)
    gold = {"purpose": "gold", "gold": {"quality": "yes"}, "cluster": "user-gold"}
    push_items(study, [item_of(number, "attribute", **gold) for number in (100, 104)], "tests")
    person = make_annotator(study)
    purposes = []
    while outcome := annotate(person):
        purposes.append(outcome.annotation.item.purpose)
    assert purposes == ["work"] * 4 + ["gold"] * 2 + ["work"] * 4


def test_gold_that_was_skipped_is_neither_asked_again_nor_scored(study: Study) -> None:
    make_known(study, "gold", 1, start=200)
    person = make_annotator(study)
    for _ in range(5):
        annotate(person)
    task = next_tasks(person)[0]
    assert task.item.purpose == "gold"
    skip(person, open_task(person, seal_task(person, task)), "broken", key=uuid.uuid4())
    assert next_tasks(person)[0].item.purpose == "work" and gold_scores(study) == {}


def test_right_label_of_a_preference_is_compared_after_turning_it_back() -> None:
    study = make_annotation_study(kind="preference")
    gold = {"preference/milk": ["4", "5"]}
    push_items(study, [item_of(n, "preference", purpose="training", gold=gold) for n in range(6)], "tests")
    make_items(study, 1, start=50)
    person = make_annotator(study)
    while (task := next_tasks(person)[0]).is_training:
        personalised = "5" if task.left == "generic" else "1"
        (feedback,) = annotate(person, task, preference__milk=personalised, preference__budget="3").feedback
        assert feedback.ok and feedback.given == "5"


def test_study_without_training_begins_with_the_work() -> None:
    study = make_annotation_study(items=1)
    person: Participant = make_annotator(study)
    assert training_of(person).passed and next_tasks(person)[0].item.purpose == "work"
