"""The progress of labelling: items by progress, labels given and held, and skips by reason."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from surveys.annotation.labels import skip, take_back
from surveys.annotation.work import next_tasks, open_task, seal_task
from surveys.console.monitoring.monitor import count_items, count_skips, say_labels
from surveys.models import Participant, Slot, Study
from tests.factories import annotate, make_annotation_study, make_annotator, make_items
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_annotation_study(overlap=2, items=3)


def skip_next(person: Participant, reason: str, words: str = "") -> None:
    (task, *_) = next_tasks(person)
    skip(person, open_task(person, seal_task(person, task)), reason, words)


def test_items_are_counted_by_how_far_they_are(study: Study) -> None:
    first, second = make_annotator(study), make_annotator(study)
    annotate(first)
    annotate(first)
    annotate(second, next(iter(next_tasks(second))))
    (main,) = count_items(study)
    assert (main.pilot, main.items, main.wanted, main.given) == (False, 3, 6, 3)
    assert (main.full, main.begun, main.untouched) == (1, 1, 1)


def test_a_hold_counts_only_while_it_lasts(study: Study) -> None:
    person = make_annotator(study)
    open_task(person, seal_task(person, next(iter(next_tasks(person)))))
    assert count_items(study)[0].held == Slot.objects.filter(participant=person).count() > 0
    Slot.objects.filter(participant=person).update(held_until=timezone.now() - timedelta(seconds=1))
    assert count_items(study)[0].held == 0


def test_pilot_and_main_items_stay_apart_and_a_study_without_items_has_no_part(study: Study) -> None:
    make_items(study, 2, start=10, pilot=True)
    assert [(part.pilot, part.items) for part in count_items(study)] == [(False, 3), (True, 2)]
    assert count_items(make_annotation_study(slug="empty")) == []


def test_skips_are_counted_by_reason_until_they_are_taken_back(study: Study) -> None:
    first, second = make_annotator(study), make_annotator(study)
    skip_next(first, "unclear", "What is this: a name?")
    skip_next(first, "unclear")
    skip_next(second, "language")
    assert count_skips(study) == [("I cannot tell what is meant", 2), ("It is in a language that I do not read", 1)]
    take_back(second)
    assert count_skips(study) == [("I cannot tell what is meant", 2)]


def test_counting_takes_as_many_statements_for_many(study: Study) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            count_items(study), count_skips(study)
        return len(asked)

    before = statements()
    make_items(study, 40, start=100)
    annotate(make_annotator(study))
    assert statements() == before


def test_the_first_sentence_says_when_nothing_is_left_to_label(study: Study) -> None:
    address = f"/console/{study.slug}/collect/"
    client = log_in(study, "viewer")
    for _ in range(2):
        assert "Every label is there" not in lines_of(client.get(address))
        person = make_annotator(study)
        while annotate(person):
            pass
    assert "Every label is there (6). The study can be closed." in lines_of(client.get(address))


def test_a_pilot_without_work_left_leads_to_the_gate() -> None:
    study = make_annotation_study("pilot", overlap=1, items=1)
    (part,) = make_items(study, 1, start=5, pilot=True) and count_items(study)[1:]
    assert say_labels(study, [part]) == ""
    annotate(make_annotator(study))
    assert say_labels(study, count_items(study)) == "Every label is there (1). The pilot can be decided at the gate."
    assert say_labels(make_annotation_study("draft", slug="draft"), []) == ""


def test_the_monitor_shows_items_in_place_of_pasted_prompts(study: Study) -> None:
    person = make_annotator(study)
    annotate(person)
    skip_next(person, "unclear")
    page = lines_of(log_in(study, "viewer").get(f"/console/{study.slug}/collect/"))
    assert "1 of 6 labels given" in page and re.search(r"last answer \d+ s ago", page)
    assert "I cannot tell what is meant 1" in page
    assert "People by prompt" not in page and "Our prompt pasted back" not in page
