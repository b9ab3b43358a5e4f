"""A fixed panel: the pilot's overlap, who continues after the gate, and one person's further sittings."""

import re
from dataclasses import astuple

import pytest
from django.test import Client

from surveys.annotation import items
from surveys.annotation.qualification import Verdict, decide_gate
from surveys.annotation.work import done_tasks, find_last, next_tasks, progress_of, tasks_of_user
from surveys.models import Participant, Place, Slot, Study
from surveys.participation import recruitment
from surveys.participation.steps import address
from surveys.studies import lifecycle
from tests.factories import annotate, item_of, make_annotation_study, make_annotator, make_items, make_visit
from tests.surveys.annotation.page_forms import arrive, path_of

pytestmark = pytest.mark.django_db


def come(client: Client, person: Participant) -> str:
    """Follow the link on Prolific with a new submission; return the path it leads to."""
    visit = make_visit(pid=person.pid).as_parameters()
    return without_proof(path_of(client.get(f"/a/{person.study.slug}/", visit, follow=True)))


def without_proof(path: str) -> str:
    """The path without the part that differs between a person's links: each further submission has its own."""
    return re.sub("~[^/]+", "", path)


def sit_through(person: Participant) -> list[str]:
    """Label everything in the sitting and finish; return the items' keys."""
    keys = []
    while outcome := annotate(person):
        keys.append(outcome.annotation.item.key)
    recruitment.complete(person)
    return keys


def test_pilot_items_want_as_many_labels_as_the_pilot_does() -> None:
    study = make_annotation_study("pilot", kind="preference", overlap=3, pilot_overlap=5)
    make_items(study, 2, pilot=True)
    make_items(study, 2, start=10)
    wanted = {pilot: Slot.objects.filter(item__pilot=pilot).count() for pilot in (True, False)}
    assert wanted == {True: 10, False: 6}
    sides = Slot.objects.filter(item__key="item-0").order_by("number").values_list("side", flat=True)
    assert list(sides) == ["generic", "personalised", "generic", "personalised", "either"]


def test_finished_sitting_goes_on_with_a_new_session_in_the_same_seat(client: Client) -> None:
    person = make_annotator(make_annotation_study(quota=2, least=2, sittings=3, places=1, items=5))
    place, seen = Place.objects.get(participant=person), []
    for sitting, expected in enumerate((2, 2, 1), 1):
        assert astuple(progress_of(person)) == (0, expected)
        seen += sit_through(person)
        person.refresh_from_db()
        assert (person.state, person.code, person.overflow) == ("completed", "CODE1", False)
        if sitting < 3:
            assert come(client, person).startswith(without_proof(address(person, "item", 0))[:-2])
            person = Participant.objects.get(pk=person.pk)
            assert (person.state, person.code) == ("active", "")
    assert sorted(seen) == [f"item-{n}" for n in range(5)]
    assert list(person.sessions.values_list("rule", flat=True)) == ["first", "sitting", "sitting"]
    assert Place.objects.get(participant=person) == place and place.cell.places.count() == 1
    assert come(client, person) == without_proof(address(person, "end"))


def test_same_session_shows_its_code_again_and_no_further_sitting_begins(client: Client) -> None:
    person = arrive(client, make_annotation_study(quota=1, sittings=2, items=4))
    recruitment.Participant.objects.filter(pk=person.pk).update(step="prompts")
    person.refresh_from_db()
    sit_through(person)
    session = person.sessions.get()
    visit = {"PROLIFIC_PID": person.pid, "STUDY_ID": session.prolific_study_id, "SESSION_ID": session.session_id}
    assert path_of(client.get("/a/teas/", visit, follow=True)) == address(person, "end")


def test_nobody_is_paid_in_a_further_sitting_for_what_the_one_before_held(client: Client) -> None:
    person = make_annotator(make_annotation_study(quota=3, least=2, sittings=2, items=6))
    sit_through(person)
    come(client, person)
    person = Participant.objects.get(pk=person.pk)
    assert path_of(client.get(address(person, "debrief"), follow=True)) != address(person, "debrief")
    annotate(person)
    annotate(person)
    assert path_of(client.get(address(person, "debrief"), follow=True)) == address(person, "debrief")


def test_returning_a_further_sitting_gives_nothing_back_of_the_one_before(client: Client) -> None:
    person = make_annotator(make_annotation_study(quota=2, least=2, sittings=2, places=1, items=4))
    sit_through(person)
    place, done = Place.objects.get(participant=person), set(Slot.objects.exclude(done_at=None))
    come(client, person)
    recruitment.stop(Participant.objects.get(pk=person.pk), "returned")
    assert Place.objects.get(participant=person) == place and set(Slot.objects.exclude(done_at=None)) == done
    come(client, person)
    sit_through(person := Participant.objects.get(pk=person.pk))
    person.refresh_from_db()
    assert (person.state, person.code, person.overflow) == ("completed", "CODE1", False)


@pytest.mark.parametrize("why", ["once", "nothing-left", "paused", "excluded"])
def test_no_further_sitting(client: Client, why: str) -> None:
    study = make_annotation_study(quota=2, sittings=1 if why == "once" else 9)
    make_items(study, 2 if why == "nothing-left" else 4)
    person = make_annotator(study)
    sit_through(person)
    if why == "paused":
        lifecycle.pause(study, "tests")
    if why == "excluded":
        decide(study, person, kept=False, pilot=False)
    assert come(client, person) == without_proof(address(person, "end"))
    assert list(person.sessions.values_list("rule", flat=True))[-1] == "after_end"


def decide(study: Study, person: Participant, *, kept: bool, pilot: bool = True) -> None:
    decide_gate(study, "tests", {person.pseudonym: Verdict(kept)}, pilot=pilot, rule="r", thresholds={}, reason="r")


def test_whom_the_gate_keeps_after_the_pilot_is_the_panel_of_the_main_part(client: Client) -> None:
    study = make_annotation_study(
        "pilot", quota=3, sittings=9, overlap=1, pilot_overlap=3, places=1, invited_from="teas"
    )
    make_items(study, 2, pilot=True)
    make_items(study, 3, start=10)
    good, bad, unsure = (make_annotator(study) for _ in range(3))
    for person in (good, bad, unsure):
        assert len(sit_through(person)) == 2
    decide(study, good, kept=True)
    decide(study, bad, kept=False)
    assert come(client, good) == without_proof(address(good, "end"))  # the pilot has nothing left
    lifecycle.launch(study, "tests")
    assert come(client, bad) == without_proof(address(bad, "end")) and come(client, unsure) == without_proof(
        address(unsure, "end")
    )
    stranger = arrive(client, study)
    assert (stranger.state, stranger.reason) == ("screened_out", "not-invited")
    assert "/item/" in come(client, good)
    good = Participant.objects.get(pk=good.pk)
    assert (good.pilot, good.place.cell.slug) == (False, "annotators")
    assert [task.item.pilot for task in next_tasks(good)] == [False]
    assert sorted(sit_through(good)) == ["item-10", "item-11", "item-12"]


def test_labels_of_the_pilot_are_no_part_of_the_sittings_after_it(client: Client) -> None:
    study = make_annotation_study("pilot", quota=3, least=2, sittings=2, gold_every=1, block="user", kind="attribute")
    made = {pilot: item_of(9, "attribute", purpose="gold", gold={"quality": ["yes"]}) for pilot in (True, False)}
    for pilot, gold in made.items():
        make_items(study, 2, pilot=pilot)
        items.push_items(study, [gold], "tests", pilot=pilot)
    person = make_annotator(study)
    assert len(sit_through(person)) == 3
    decide(study, person, kept=True)
    lifecycle.launch(study, "tests")
    come(client, person)
    person = Participant.objects.get(pk=person.pk)
    assert astuple(progress_of(person)) == (0, 3)
    # No gold item before any work of this part, and nothing of the pilot to change, take back or look at.
    [task] = next_tasks(person)
    assert (task.item.purpose, task.item.pilot) == ("work", False)
    assert (done_tasks(person), find_last(person)) == ([], None)
    assert {each.item.pilot for each in tasks_of_user(person, task.item)} == {False}
    assert len(sit_through(person)) == 3
