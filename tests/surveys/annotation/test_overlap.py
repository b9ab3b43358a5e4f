"""Exact overlap: every item gets as many labels as it wants, no two from one person, whoever comes or goes."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from surveys.annotation.labels import LabelSubmission, submit
from surveys.annotation.slots import hold_slots
from surveys.annotation.work import next_tasks, open_task, seal_task
from surveys.models import Annotation, Participant, Slot, Study
from surveys.participation import recruitment
from surveys.studies.labels import counted
from tests.factories import annotate, make_annotation_study, make_annotator
from tests.surveys.participation.threads import at_once, beside

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 120
CROWD = 20


def labels_per_item(study: Study) -> Counter[int]:
    """The number of items by their number of labels that count."""
    per_item = Counter(counted(study).values_list("item", flat=True))
    return Counter(per_item[item.pk] for item in study.annotation_items.all())


def assert_nobody_twice(study: Study) -> None:
    assert set(Counter(counted(study).values_list("item", "participant")).values()) == {1}


def work_through(participant: Participant) -> int:
    done = 0
    while annotate(participant):
        done += 1
    return done


@pytest.mark.parametrize("block", ["user", pytest.param("shuffled", marks=pytest.mark.slow)])
def test_twenty_people_at_once_give_every_item_exactly_three_labels(block: str) -> None:
    kind = "attribute" if block == "user" else "relevance"
    study = make_annotation_study(kind=kind, block=block, quota=6, items=30)
    crowd = [make_annotator(study) for _ in range(CROWD)]
    done = at_once([lambda person=person: work_through(person) for person in crowd], PATIENCE)
    assert labels_per_item(study) == {3: 30}
    assert_nobody_twice(study)
    assert sum(done) == 90 and max(done) <= 6
    assert Annotation.objects.count() == 90


def come_and_go(participant: Participant) -> None:
    """Label until nothing is left, but sometimes leave with an item in hand: return, withdraw or fall asleep."""
    chance = random.Random(participant.pk)
    while True:
        tasks = next_tasks(participant)
        if not tasks:
            return
        mishap = chance.random()
        if mishap < 0.05:
            recruitment.stop(participant, Participant.State.RETURNED, "made by a test")
            return
        if mishap < 0.08:
            recruitment.withdraw(participant)
            return
        if mishap < 0.2:
            Slot.objects.filter(participant=participant, done_at=None).update(
                held_until=timezone.now() - timedelta(seconds=1)
            )
            next_tasks(make_annotator(participant.study))  # somebody takes it over, and never works
        shown = open_task(participant, seal_task(participant, tasks[0]))
        submit(participant, shown, LabelSubmission({"relevance": "yes"}))


@pytest.mark.slow
def test_crowd_with_mishaps_never_gives_an_item_too_many_and_others_fill_it_up() -> None:
    study = make_annotation_study(places=500, quota=8, items=20)
    crowd = [make_annotator(study) for _ in range(CROWD)]
    at_once([lambda person=person: come_and_go(person) for person in crowd], PATIENCE)
    assert max(labels_per_item(study)) <= 3
    assert_nobody_twice(study)
    Slot.objects.filter(done_at=None, participant__isnull=False).update(held_until=timezone.now())
    while labels_per_item(study) != {3: 20}:
        before = labels_per_item(study)
        work_through(make_annotator(study))
        assert labels_per_item(study) != before
    assert_nobody_twice(study)
    assert Slot.objects.filter(item__study=study).values("item").annotate(n=Count("id")).filter(n=3).count() == 20


def test_last_slots_go_to_as_many_people_as_there_are_slots() -> None:
    study = make_annotation_study(overlap=3, items=1)
    people = [make_annotator(study) for _ in range(12)]
    tasks = at_once([lambda person=person: next_tasks(person) for person in people], PATIENCE)
    assert sorted(len(found) for found in tasks) == [0] * 9 + [1] * 3


def test_slot_given_back_at_the_last_moment_is_waited_for() -> None:
    study = make_annotation_study(overlap=1, items=1)
    leaving, waiting = make_annotator(study), make_annotator(study)
    next_tasks(leaving)
    Slot.objects.update(held_until=timezone.now() - timedelta(seconds=1))
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            recruitment.stop(leaving, "returned")
            theirs = beside(lambda: next_tasks(waiting), pool)
            with pytest.raises(TimeoutError):
                theirs.result(0.5)
        assert len(theirs.result(PATIENCE)) == 1


def test_same_person_in_many_windows_holds_one_slot() -> None:
    person = make_annotator(make_annotation_study(items=5))
    tasks = at_once([lambda: next_tasks(person) for _ in range(8)], PATIENCE)
    assert len({task.item.pk for (task,) in tasks}) == 1
    assert Slot.objects.filter(participant=person).count() == 1


def test_neighbours_never_wait_for_each_other_while_there_are_other_slots() -> None:
    study = make_annotation_study(items=5)
    one, other = make_annotator(study), make_annotator(study)
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        (mine,) = hold_slots(one)
        (task,) = beside(lambda: next_tasks(other), pool).result(20)
        assert task.slot != mine


def test_label_sent_while_another_window_withdraws_is_erased_too() -> None:
    study = make_annotation_study(items=4)
    for _ in range(4):
        person = make_annotator(study)
        (task,) = next_tasks(person)
        shown = open_task(person, seal_task(person, task))

        def send(person: Participant = person, shown: Any = shown) -> None:
            with suppress(Participant.DoesNotExist):
                submit(person, shown, LabelSubmission({"relevance": "yes"}))

        at_once([send, lambda person=person: recruitment.withdraw(person)], PATIENCE)
        assert not Annotation.objects.exists() and not Slot.objects.filter(participant__isnull=False).exists()
