"""Labels: stored once, as revisions, counted only with a slot; taken back, skipped, late, turned back for analysis."""

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from surveys.annotation.labels import (
    MOST_REVISIONS,
    AnsweredSince,
    LabelSubmission,
    TooManyLabelRevisions,
    read_trace,
    skip,
    submit,
    take_back,
)
from surveys.annotation.work import AnnotationTask, ShownTask, next_tasks, open_task, progress_of, seal_task
from surveys.models import Annotation, AnonymousExit, Participant, Slot, Study
from surveys.participation import recruitment
from surveys.studies.files.kinds import LabelFault
from surveys.studies.labels import Label, counted, iter_labels, record_judgement
from tests.factories import annotate, finish_annotating, is_surplus, make_annotation_study, make_annotator, make_items

pytestmark = pytest.mark.django_db
YES, NO = {"relevance": "yes"}, {"relevance": "no"}


@pytest.fixture
def study() -> Study:
    return make_annotation_study(items=4)


@pytest.fixture
def person(study: Study) -> Participant:
    return make_annotator(study)


def shown_to(person: Participant, task: AnnotationTask | None = None) -> ShownTask:
    return open_task(person, seal_task(person, task or next_tasks(person)[0]))


@pytest.fixture
def shown(person: Participant) -> ShownTask:
    return shown_to(person)


def lose_hold(person: Participant) -> None:
    Slot.objects.filter(participant=person, done_at=None).update(held_until=timezone.now() - timedelta(seconds=1))


# --- submitting -------------------------------------------------------------


def test_label_is_kept_with_all_that_is_known_about_it(person: Participant, shown: ShownTask) -> None:
    key = uuid.uuid4()
    outcome = submit(person, shown, LabelSubmission(YES, key, opened=(2, 1), active_ms=4_200))
    row = Annotation.objects.get()
    assert outcome.annotation == row and not is_surplus(outcome)
    assert (row.participant, row.judge, row.version, row.key) == (person, "", person.version, key)
    assert (row.labels, row.state, row.revision, row.left) == (YES, "given", 1, "")
    assert (row.opened, row.active_ms, row.guidelines_version, row.shown_at) == ([2, 1], 4_200, "1", shown.at)
    assert Slot.objects.get(participant=person).done_at


def test_form_sent_twice_is_one_revision(person: Participant, shown: ShownTask) -> None:
    form = LabelSubmission(YES)
    first = submit(person, shown, form)
    assert submit(person, shown, form).annotation == first.annotation
    assert Annotation.objects.count() == 1


def test_form_changed_before_the_next_page_came_is_a_revision_of_its_own(
    study: Study, person: Participant, shown: ShownTask
) -> None:
    key = uuid.uuid4()
    submit(person, shown, LabelSubmission(YES, key))
    changed = submit(person, shown, LabelSubmission(NO, key))
    assert submit(person, shown, LabelSubmission(NO, key)).annotation == changed.annotation
    assert [label.value for label in iter_labels(study)] == ["no"]
    assert Annotation.objects.count() == 2


def test_changed_label_is_a_revision_and_the_newest_counts(study: Study, person: Participant, shown: ShownTask) -> None:
    submit(person, shown, LabelSubmission(YES))
    outcome = submit(person, replace(shown, revision=1), LabelSubmission(NO))
    assert outcome.annotation.revision == 2 and not is_surplus(outcome)
    assert [label.value for label in iter_labels(study)] == ["no"]


def test_older_page_overwrites_nothing_unasked(study: Study, person: Participant, shown: ShownTask) -> None:
    submit(person, shown, LabelSubmission(YES))
    for overwrite in (lambda: submit(person, shown, LabelSubmission(NO)), lambda: skip(person, shown, "unclear")):
        with pytest.raises(AnsweredSince):
            overwrite()
    assert submit(person, shown, LabelSubmission(YES)).annotation.labels == YES  # which changes nothing
    assert [label.value for label in iter_labels(study)] == ["yes"]


def test_older_page_answers_what_was_taken_back_meanwhile(study: Study, person: Participant, shown: ShownTask) -> None:
    submit(person, shown, LabelSubmission(YES))
    take_back(person)
    submit(person, shown, LabelSubmission(NO))
    assert [label.value for label in iter_labels(study)] == ["no"]


def test_label_that_is_missing_keeps_nothing(person: Participant) -> None:
    with pytest.raises(LabelFault):
        submit(person, shown_to(person), LabelSubmission({}))
    assert not Annotation.objects.exists() and Slot.objects.get(participant=person).done_at is None


def test_label_after_the_end_is_refused(person: Participant, shown: ShownTask) -> None:
    finish_annotating(person)
    with pytest.raises(Participant.DoesNotExist):
        submit(person, shown, LabelSubmission(YES))
    assert not Annotation.objects.exists()


def test_nobody_changes_a_label_without_end(person: Participant, shown: ShownTask) -> None:
    submit(person, shown, LabelSubmission(YES))
    row = Annotation.objects.get()
    row.pk, row.key, row.revision = None, uuid.uuid4(), MOST_REVISIONS
    row.save()
    with pytest.raises(TooManyLabelRevisions):
        submit(person, replace(shown, revision=MOST_REVISIONS), LabelSubmission(NO))


# --- holds ------------------------------------------------------------------


def test_hold_that_nobody_took_over_is_still_theirs(person: Participant, shown: ShownTask) -> None:
    lose_hold(person)
    assert not is_surplus(submit(person, shown, LabelSubmission(YES)))


def test_every_sign_of_life_renews_the_hold(person: Participant) -> None:
    next_tasks(person)
    lose_hold(person)
    next_tasks(person)
    assert Slot.objects.get(participant=person).held_until > timezone.now() + timedelta(minutes=9)


def test_late_label_takes_a_slot_that_is_free() -> None:
    study = make_annotation_study(overlap=2, items=1)
    late, quick = make_annotator(study), make_annotator(study)
    shown = shown_to(late)
    lose_hold(late)
    # The newcomer takes the slot that was never held first, so it takes a second one to take the hold over.
    assert annotate(quick) and not is_surplus(submit(late, shown, LabelSubmission(YES)))
    assert counted(study).count() == 2


def test_late_label_without_a_slot_is_kept_and_counts_once_one_is_free_and_it_is_sent_again() -> None:
    study = make_annotation_study(overlap=1, items=1)
    late, quick = make_annotator(study), make_annotator(study)
    shown = shown_to(late)
    lose_hold(late)
    annotate(quick)
    assert is_surplus(submit(late, shown, LabelSubmission(NO))) and Annotation.objects.count() == 2
    assert [label.rater for label in iter_labels(study)] == [quick.pseudonym]
    recruitment.withdraw(quick)
    assert not is_surplus(submit(late, replace(shown, revision=1), LabelSubmission(YES)))
    assert [label.value for label in iter_labels(study)] == ["yes"]
    assert finish_annotating(late).code == "CODE1"


# --- skipping and taking back -----------------------------------------------


def test_skip_needs_a_reason_and_frees_the_slot(study: Study, person: Participant, shown: ShownTask) -> None:
    for reason in ("", "bored"):
        with pytest.raises(LabelFault):
            skip(person, shown, reason)
    row = skip(person, shown, "other", "my cat\x00 sat on it")
    assert (row.state, row.reason, row.labels) == ("skipped", "other: my cat sat on it", {})
    assert not Slot.objects.filter(participant=person).exists()
    assert list(iter_labels(study)) == []


def test_skipping_a_label_that_was_given_makes_it_uncounted(
    study: Study, person: Participant, shown: ShownTask
) -> None:
    submit(person, shown, LabelSubmission(YES))
    skip(person, replace(shown, revision=1), "uncomfortable")
    assert not counted(study).exists() and progress_of(person).done == 0


def test_last_submit_is_taken_back_and_the_item_is_theirs_again(study: Study, person: Participant) -> None:
    first = annotate(person).annotation
    second = annotate(person).annotation
    undone = take_back(person)
    assert (undone.item, undone.state, undone.labels) == (second.item, "withdrawn", YES)
    assert [label.item for label in iter_labels(study)] == [first.item.key]
    assert next_tasks(person)[0].item == second.item
    assert take_back(person).item == first.item
    assert take_back(person) is None
    assert progress_of(person).done == 0


def test_label_given_again_after_it_was_taken_back_counts(study: Study, person: Participant) -> None:
    annotate(person)
    take_back(person)
    assert annotate(person, relevance="no").annotation.revision == 3
    assert [label.value for label in iter_labels(study)] == ["no"]


def test_taking_back_sent_twice_takes_back_once(study: Study, person: Participant) -> None:
    key = uuid.uuid4()
    annotate(person)
    annotate(person)
    assert take_back(person, key) == take_back(person, key)
    assert counted(study).count() == 1


def test_skip_is_taken_back_while_there_is_a_slot() -> None:
    study = make_annotation_study(overlap=1, items=1)
    person = make_annotator(study)
    skip(person, shown_to(person), "unclear")
    assert take_back(person).state == "withdrawn"
    assert Slot.objects.get().participant == person
    skip(person, shown_to(person), "unclear")
    annotate(make_annotator(study))
    take_back(person)
    assert not Slot.objects.filter(participant=person).exists() and next_tasks(person) == []


# --- withdrawing ------------------------------------------------------------


def test_withdrawal_erases_annotations_and_frees_slots(study: Study, person: Participant) -> None:
    other = make_annotator(study)
    annotate(person)
    annotate(other)
    next_tasks(person)
    recruitment.withdraw(person)
    assert set(Annotation.objects.values_list("participant", flat=True)) == {other.pk}
    assert set(Slot.objects.exclude(participant=None).values_list("participant", flat=True)) == {other.pk}
    assert AnonymousExit.objects.get().step == "prompts"


def test_return_keeps_the_labels_that_were_given(study: Study, person: Participant) -> None:
    annotate(person)
    next_tasks(person)
    recruitment.stop(person, Participant.State.RETURNED)
    assert counted(study).count() == 1
    assert Slot.objects.filter(participant=person, done_at=None).count() == 0


# --- models as raters -------------------------------------------------------


def test_model_is_a_rater_beside_the_slots(study: Study) -> None:
    item = study.annotation_items.get(key="item-0")
    row = record_judgement(item, "gpt/plain-1", NO, active_ms=900, detail={"temperature": 0})
    assert (row.participant, row.judge, row.guidelines_version, row.detail) == (
        None,
        "gpt/plain-1",
        "1",
        {"temperature": 0},
    )
    assert item.slots.filter(participant__isnull=False).count() == 0
    (label,) = iter_labels(study)
    assert (label.rater, label.is_model, label.origin, label.value) == ("gpt/plain-1", True, "model", "no")


def test_model_that_says_the_same_again_is_one_row_and_else_a_revision(study: Study) -> None:
    item = study.annotation_items.get(key="item-0")
    first = record_judgement(item, "gpt", NO)
    assert record_judgement(item, "gpt", NO) == first
    assert record_judgement(item, "gpt", YES).revision == 2
    assert [label.value for label in iter_labels(study)] == ["yes"]


def test_model_asked_in_both_orders_is_kept_apart() -> None:
    study = make_annotation_study(kind="preference")
    (item,) = make_items(study, 1)
    said = {"preference/milk": "5", "preference/budget": "3"}
    for left in ("generic", "personalised"):
        record_judgement(item, "gpt", said, left=left)
    milk = {label.left: (label.value, label.shown_value) for label in iter_labels(study) if label.part == "milk"}
    assert milk == {"generic": ("5", "5"), "personalised": ("1", "5")}


def test_model_off_the_scale_is_refused(study: Study) -> None:
    with pytest.raises(LabelFault):
        record_judgement(study.annotation_items.first(), "gpt", {"relevance": "perhaps"})
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("judge", ["", "gpt"])
def test_annotation_has_exactly_one_rater(study: Study, judge: str) -> None:
    person = None if not judge else make_annotator(study)
    with pytest.raises(IntegrityError, match="annotation_has_one_rater"), transaction.atomic():
        Annotation.objects.create(
            item=study.annotation_items.first(),
            participant=person,
            judge=judge,
            version=study.current,
            revision=1,
            key=uuid.uuid4(),
        )


# --- what counts ------------------------------------------------------------


def test_labels_of_a_preference_are_one_row_a_part_and_turned_back() -> None:
    study = make_annotation_study(kind="preference", overlap=4)
    make_items(study, 1, corpus="real", cluster="user-a", source="pair 1", tags={"generator": "m"})
    for _ in range(4):
        annotate(make_annotator(study), preference__milk="5", preference__budget="2")
    labels = list(iter_labels(study))
    assert len(labels) == 8
    turned = {label.left: label.value for label in labels if label.part == "milk"}
    assert turned == {"generic": "5", "personalised": "1"}
    first: Label = labels[0]
    assert (first.unit, first.cluster, first.corpus, first.source) == ("item-0/milk", "user-a", "real", "pair 1")
    assert first.tags == {"generator": "m"}


def test_words_are_no_labels() -> None:
    study = make_annotation_study(kind="attribute", items=1)
    annotate(make_annotator(study), quality="no", uncomfortable="yes", **{"uncomfortable-why": "Too private."})
    assert {label.question: label.value for label in iter_labels(study)} == {"quality": "no", "uncomfortable": "yes"}


def test_previews_never_count_and_simulated_people_can_be_left_out(study: Study) -> None:
    annotate(make_annotator(study, origin="preview"))
    annotate(make_annotator(study, origin="simulated"))
    annotate(make_annotator(study))
    assert sorted(label.origin for label in iter_labels(study)) == ["prolific", "simulated"]
    assert [label.origin for label in iter_labels(study, simulated=False)] == ["prolific"]


def test_pilot_labels_stay_apart() -> None:
    study = make_annotation_study("pilot", items=1)
    make_items(study, 1, pilot=True)
    annotate(make_annotator(study))
    assert counted(study).count() == 0 and counted(study, pilot=True).count() == 1


def test_labels_are_read_by_one_query(study: Study, django_assert_num_queries) -> None:
    for _ in range(3):
        annotate(make_annotator(study))
    with django_assert_num_queries(2):  # the study's questions, then all labels
        assert len(list(iter_labels(Study.objects.get(pk=study.pk)))) == 3


@pytest.mark.parametrize("raw", ["", "x", "[]", "[" * 900, '{"a":' * 190, '{"ends": {"A": "x"}', "null", "1" * 2_000])
def test_trace_that_is_none_is_empty(raw: str) -> None:
    assert read_trace(raw) == {}


def test_trace_is_cut_to_what_is_documented() -> None:
    raw = '{"ends": {"A": 5.5, "C": 1}, "seen": {"history": -1}, "keys": "x", "untrusted": 2, "hasty": "no", "more": 1}'
    found = read_trace(raw)
    assert (found["ends"], found["seen"], found["keys"], found["untrusted"]) == ({"A": 5}, {"history": 0}, 0, 2)
    assert (found["hasty"], found["automated"]) == ("", False) and "more" not in found
