"""What an annotator does next: one item at a time, up to the quota, in blocks or shuffled; and their progress."""

import uuid
from collections import Counter
from dataclasses import astuple
from datetime import timedelta

import pytest
from django.utils import timezone

from surveys.annotation import work
from surveys.annotation.items import push_items
from surveys.annotation.labels import skip
from surveys.console.monitoring.monitor import count_items
from surveys.models import AnnotationItem, Participant, Slot, Study
from surveys.participation import recruitment
from tests.factories import annotate, finish_annotating, item_of, make_annotation_study, make_annotator, make_items

pytestmark = pytest.mark.django_db


def keys_of(participant: Participant) -> list[str]:
    """The keys of all items the person gets, in order."""
    keys = []
    while outcome := annotate(participant):
        keys.append(outcome.annotation.item.key)
    return keys


def clusters_of(study: Study, keys: list[str]) -> list[str]:
    clusters = dict(AnnotationItem.objects.filter(study=study).values_list("key", "cluster"))
    return [clusters[key] for key in keys]


# --- which items ------------------------------------------------------------


def test_same_item_is_shown_until_it_is_labelled() -> None:
    person = make_annotator(make_annotation_study(items=5))
    first, again = work.next_tasks(person), work.next_tasks(person)
    assert first[0].item == again[0].item and Slot.objects.filter(participant=person).count() == 1


def test_last_open_item_is_found_behind_hundreds_that_are_done() -> None:
    study = make_annotation_study(overlap=1)
    *full, last = make_items(study, 202)
    past = timezone.now() - timedelta(hours=1)
    done = {"participant": make_annotator(study), "taken_at": past, "held_until": past, "done_at": past}
    Slot.objects.filter(item__in=full).update(**done)
    assert [task.item for task in work.next_tasks(make_annotator(study))] == [last]


def test_nobody_gets_more_than_the_quota_or_an_item_twice() -> None:
    keys = keys_of(make_annotator(make_annotation_study(quota=4, items=9)))
    assert len(keys) == len(set(keys)) == 4


def test_work_ends_when_every_item_has_its_labels() -> None:
    study = make_annotation_study(overlap=2, quota=10, items=3)
    assert [len(keys_of(make_annotator(study))) for _ in range(4)] == [3, 3, 0, 0]
    (part,) = count_items(study)
    assert (part.full, part.given, part.wanted) == (3, 6, 6)


def test_items_that_were_begun_come_first() -> None:
    study = make_annotation_study(quota=3, items=30)
    begun = set(keys_of(make_annotator(study)))
    assert set(keys_of(make_annotator(study))) == set(keys_of(make_annotator(study))) == begun
    assert set(keys_of(make_annotator(study))) & begun == set()


def test_shuffled_order_differs_from_person_to_person() -> None:
    study = make_annotation_study(overlap=1, quota=8, items=40)
    orders = [keys_of(make_annotator(study)) for _ in range(3)]
    assert orders != [sorted(keys, key=lambda key: int(key.removeprefix("item-"))) for keys in orders]


def test_user_comes_as_a_whole_and_in_the_order_of_the_file() -> None:
    study = make_annotation_study(kind="attribute", block="user", quota=12, items=20)
    person = make_annotator(study)
    (task,) = work.next_tasks(person)
    together = work.tasks_of_user(person, task.item)
    assert [t.item.cluster for t in together] == [task.item.cluster] * 4
    assert Slot.objects.filter(participant=person).count() == 4
    keys = keys_of(person)
    clusters = clusters_of(study, keys)
    assert [clusters[n : n + 4] for n in (0, 4, 8)] == [[clusters[n]] * 4 for n in (0, 4, 8)]
    assert keys[:4] == [t.item.key for t in together]


def test_quota_cuts_a_user_short() -> None:
    study = make_annotation_study(kind="attribute", block="user", quota=6, items=12)
    assert sorted(Counter(clusters_of(study, keys_of(make_annotator(study)))).values()) == [2, 4]


def test_two_can_be_held_to_show_the_next_at_once() -> None:
    person = make_annotator(make_annotation_study(quota=3, items=5))
    first, second = work.next_tasks(person, 2)
    annotate(person, first)
    assert work.next_tasks(person, 2)[0].item == second.item
    annotate(person, second)
    assert len(work.next_tasks(person, 2)) == 1


def test_pilot_people_get_the_pilots_items_only() -> None:
    study = make_annotation_study("pilot")
    make_items(study, 2, start=100)
    make_items(study, 2, pilot=True)
    assert sorted(keys_of(make_annotator(study))) == ["item-0", "item-1"]


def test_preview_works_without_filling_slots() -> None:
    person = make_annotator(make_annotation_study(quota=2, items=3), origin="preview")
    assert astuple(work.progress_of(person)) == (0, 2)
    assert keys_of(person) == ["item-0", "item-1"]
    assert not Slot.objects.filter(participant__isnull=False).exists()
    assert astuple(work.progress_of(person)) == (2, 2)


def test_items_added_later_are_given_to_who_is_still_there() -> None:
    study = make_annotation_study(items=1)
    person = make_annotator(study)
    assert len(keys_of(person)) == 1 and not work.has_work(person)
    make_items(study, 1, start=7)
    assert work.has_work(person) and keys_of(person) == ["item-7"]


# --- sides ------------------------------------------------------------------


def lefts_of(participant: Participant) -> Counter[str]:
    return Counter(Slot.objects.filter(participant=participant).values_list("left", flat=True))


@pytest.mark.parametrize("block", ["shuffled", "user"])
def test_sides_are_two_to_one_in_each_item_and_even_for_each_annotator(block: str) -> None:
    study = make_annotation_study(kind="preference", overlap=3, quota=5, block=block)
    for number in range(5):
        make_items(study, 2, start=2 * number, cluster=f"user-{number}")
    people = [make_annotator(study) for _ in range(6)]
    # In turn, as people do who work at the same time.
    while [person for person in people if annotate(person)]:
        pass
    assert all(abs(lefts_of(person)["generic"] - lefts_of(person)["personalised"]) <= 1 for person in people)
    per_item = Counter(Slot.objects.filter(participant__isnull=False).values_list("item", "left"))
    assert sorted(per_item.values()) == [1] * 10 + [2] * 10


def test_side_that_is_free_again_is_for_either_again() -> None:
    first = make_annotator(make_annotation_study(kind="preference", overlap=1, items=1))
    work.next_tasks(first)
    assert Slot.objects.get().left
    recruitment.withdraw(first)
    assert (Slot.objects.get().left, Slot.objects.get().side) == ("", "either")


def test_side_shown_is_kept_with_the_label() -> None:
    person = make_annotator(make_annotation_study(kind="preference", items=4))
    while tasks := work.next_tasks(person):
        assert annotate(person, tasks[0]).annotation.left == tasks[0].left == tasks[0].slot.left


# --- how far ----------------------------------------------------------------


def test_progress_counts_what_is_done_and_what_can_still_be_had() -> None:
    study = make_annotation_study(quota=4, overlap=1, items=6)
    one, other = make_annotator(study), make_annotator(study)
    assert astuple(work.progress_of(one)) == (0, 4)
    annotate(one)
    work.next_tasks(one)
    assert astuple(work.progress_of(one)) == (1, 4)
    keys_of(other)
    # The other took four of the six; one is done here and one is held.
    assert astuple(work.progress_of(one)) == (1, 2)


def test_gold_items_count_as_work_in_the_progress() -> None:
    study = make_annotation_study(gold_every=2, quota=5, items=5)
    push_items(study, [item_of(n, purpose="gold", gold={"relevance": "yes"}) for n in range(20, 23)], "tests")
    person = make_annotator(study)
    seen = [astuple(work.progress_of(person))]
    while annotate(person):
        seen.append(astuple(work.progress_of(person)))
    assert seen == [(done, 7) for done in range(8)]


def test_may_stop_and_be_paid_once_the_least_is_done() -> None:
    person = make_annotator(make_annotation_study(least=2, items=5))
    assert not work.may_stop_paid(person)
    annotate(person)
    assert not work.may_stop_paid(person)
    annotate(person)
    assert work.may_stop_paid(person)
    assert finish_annotating(person).code == "CODE1"


def test_who_has_no_work_left_may_stop_and_be_paid_whatever_is_done() -> None:
    person = make_annotator(make_annotation_study(least=5, overlap=1, items=1))
    annotate(person)
    assert work.next_tasks(person) == [] and work.may_stop_paid(person)


def test_newcomer_without_work_is_turned_away_with_a_code() -> None:
    study = make_annotation_study(overlap=1, items=1)
    annotate(make_annotator(study))
    person = work.admit(make_annotator(study, at="instructions"))
    assert (person.state, person.reason, person.code) == ("over_quota", "no-work-left", "CODE4")
    make_items(study, 1, start=5)
    assert work.admit(make_annotator(study, at="instructions")).state == "active"


# --- own work ---------------------------------------------------------------


def test_own_labels_are_listed_the_newest_first_and_found_again() -> None:
    person = make_annotator(make_annotation_study(items=3))
    keys = keys_of(person)
    done = work.done_tasks(person)
    assert [task.item.key for task in done] == keys[::-1]
    again = work.find_task(person, done[0].item.pk)
    assert (again.newest.labels, again.revision) == ({"relevance": "yes"}, 1)


def test_item_of_somebody_else_is_not_found() -> None:
    study = make_annotation_study()
    items = make_items(study, 2)
    person = make_annotator(study)
    (task,) = work.next_tasks(person)
    other = next(item for item in items if item != task.item)
    assert work.find_task(person, task.item.pk) and work.find_task(person, other.pk) is None
    assert work.find_task(person, make_items(make_annotation_study(slug="other"), 1)[0].pk) is None


def test_skipped_item_is_not_given_again() -> None:
    person = make_annotator(make_annotation_study(items=3))
    (task,) = work.next_tasks(person)
    skip(person, work.open_task(person, work.seal_task(person, task)), "unclear", key=uuid.uuid4())
    assert task.item.key not in keys_of(person)
    assert task.item.slots.filter(participant__isnull=False).count() == 0


def test_seal_carries_what_was_shown() -> None:
    person = make_annotator(make_annotation_study(kind="preference", items=1))
    (task,) = work.next_tasks(person)
    shown = work.open_task(person, work.seal_task(person, task))
    assert (shown.item, shown.left, shown.revision) == (task.item, task.left, 0)
    assert abs((shown.at - task.slot.taken_at).total_seconds()) < 60


@pytest.mark.parametrize(
    "forge", [lambda seal: seal[:-1], lambda seal: "1" + seal, lambda seal: "", lambda seal: "a~b~c"]
)
def test_forged_seal_is_refused(forge) -> None:
    person = make_annotator(make_annotation_study(items=1))
    seal = work.seal_task(person, work.next_tasks(person)[0])
    with pytest.raises(work.NotShown):
        work.open_task(person, forge(seal))


def test_seal_of_another_person_is_refused() -> None:
    study = make_annotation_study(items=2)
    person = make_annotator(study)
    seal = work.seal_task(person, work.next_tasks(person)[0])
    with pytest.raises(work.NotShown, match="somebody else"):
        work.open_task(make_annotator(study), seal)


def test_part_that_ended_gets_no_more_work() -> None:
    person = make_annotator(make_annotation_study(items=2))
    work.next_tasks(person)
    recruitment.stop(person, Participant.State.RETURNED)
    assert not Slot.objects.filter(participant=person).exists()
    with pytest.raises(Participant.DoesNotExist):
        work.next_tasks(person)


def test_who_returned_and_comes_back_goes_on_with_the_work() -> None:
    person = make_annotator(make_annotation_study(items=3))
    annotate(person)
    person = recruitment.reopen(recruitment.stop(person, Participant.State.RETURNED))
    assert (person.state, person.step) == ("active", "prompts")
    assert astuple(work.progress_of(person)) == (1, 3)
