"""Simulated annotators against a running server; and that the check afterwards notices what must not happen."""

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from surveys.annotation import items
from surveys.models import AnnotationItem, GateVerdict, Participant, Slot, Study
from surveys.participation import recruitment
from surveys.simulation.annotating import AnnotatingPlayer, Rater, draw_labels, draw_wrong_labels
from surveys.simulation.browser import Browser, Form, VisitedPage
from surveys.simulation.check import count_overlap, find_violations, stored_of
from surveys.simulation.people import Person, Sent, Story, make_people
from surveys.simulation.player import two_windows_together
from surveys.simulation.run import simulate
from surveys.studies.files.kinds import KINDS, fields_of
from tests.factories import ITEMS, annotate, definition_of, item_of, make_annotation_study, make_annotator, make_items
from tests.surveys.simulation.server import running_server


@pytest.fixture(scope="module")
def site(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("site") / "server.log") as address:
        yield address


def make_world(kind: str, count: int = 40, **work: object) -> Study:
    """A study with `count` items of work, one training item and one gold item."""
    study = make_annotation_study(kind=kind, overlap=3, quota=6, least=3, gold_every=3, **work)
    known = []
    for number, purpose in enumerate(("training", "gold"), 90):
        item = item_of(number, kind)
        field, question = next(iter(fields_of(KINDS[kind].questions, item).items()))
        known.append(item | {"purpose": purpose, "gold": {field: question.values[-1]}})
    items.push_items(study, known, "tests")
    make_items(study, count)
    return study


def run(study: Study, site: str, people: int, seed: int, faults: bool = True) -> dict:
    return simulate(study, site, people, 4, faults, seed, lambda done, total: None)


# --- whole runs ---------------------------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ITEMS)
def test_annotators_with_faults(site: str, kind: str) -> None:
    study = make_world(kind, block="user" if KINDS[kind].needs.keys() & {"history"} else "shuffled")
    report = run(study, site, 18, seed=5)
    assert report["violations"] == []
    ends, codes = set(report["ends"]), definition_of(study).codes
    assert {codes[name] for name in ("completed", "no_consent", "withdrawn", "misunderstood", "technical")} <= ends
    assert sum(report["mishaps"].values()) > 20
    assert report["items"]["full"] > 10 and report["items"] == count_overlap(study, pilot=False)
    assert GateVerdict.objects.filter(kept=False).count() >= 1
    assert set(Participant.objects.values_list("origin", flat=True)) == {"simulated"}


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_without_faults_every_item_gets_its_labels(site: str) -> None:
    report = run(make_world("relevance", count=4), site, 5, seed=1, faults=False)
    assert report["violations"] == [] and report["mishaps"] == {}
    assert report["submissions"] == report["confirmed"] - report["habits"].get("skip", 0)


# --- the check afterwards -----------------------------------------------------------------------------------


def story_of(participant: Participant, way: str = "finish") -> Story:
    """What an annotator saw who did everything right and is still at work."""
    story = Story(Person(participant.pid, way, Random(1), "", "annotators", 1, True), consented=True)
    for stored in stored_of(participant):
        story.sent.add((stored.slug, stored.text))
        story.confirm(Sent(stored.slug, str(stored.key), stored.text))
    return story


def violations(study: Study, *stories: Story) -> str:
    return "\n".join(find_violations(study, stories, Counter()))


@pytest.fixture
def worker(db: None) -> Participant:
    """An annotator who has labelled two of three items."""
    someone = make_annotator(make_annotation_study(overlap=2, items=3), origin="simulated")
    annotate(someone)
    annotate(someone)
    return someone


def test_check_finds_nothing_where_nothing_is_wrong(worker: Participant) -> None:
    assert violations(worker.study, story_of(worker)) == ""


def test_check_sees_a_label_that_is_missing(worker: Participant) -> None:
    story = story_of(worker)
    worker.annotations.first().delete()
    found = violations(worker.study, story)
    assert "is stored 0 times" in found and "0 labels count and 1 slots are done" in found
    assert "without a label" in found


def test_check_sees_a_label_that_does_not_count(worker: Participant) -> None:
    story = story_of(worker)
    slot = Slot.objects.filter(participant=worker).first()
    Slot.objects.filter(pk=slot.pk).update(participant=None, done_at=None, held_until=None, taken_at=None)
    assert f"the label of {slot.item} was confirmed and does not count" in violations(worker.study, story)
    story.person.way = "late"  # away so long that others could take it
    assert violations(worker.study, story) == ""


def test_check_sees_a_label_that_nobody_sent_and_another_than_was_sent(worker: Participant) -> None:
    story = story_of(worker)
    row = worker.annotations.first()
    row.pk, row.revision, row.key, row.labels = None, 2, uuid.uuid4(), {"relevance": "no"}
    row.save()
    found = violations(worker.study, story)
    assert "was never sent" in found and "is not the one sent last" in found


def test_check_sees_slots_that_are_missing_or_held_by_people_who_left(worker: Participant) -> None:
    story = story_of(worker)
    Slot.objects.filter(participant=None).first().delete()
    assert "1 slots where 2 labels are wanted" in violations(worker.study, story)
    gone = recruitment.stop(make_annotator(worker.study, origin="simulated"), "returned", "made by a test")
    slot, now = Slot.objects.filter(participant=None).first(), timezone.now()
    Slot.objects.filter(pk=slot.pk).update(participant=gone, taken_at=now, held_until=now)
    assert f"{slot.item}: a slot is held by somebody who is returned" in violations(worker.study)


def page_of(item: AnnotationItem) -> VisitedPage:
    return VisitedPage(
        200, f"/a/teas/a~b/item/{item.pk}/", [Form("step", {"key": f"of {item.key}", "page": f"1.{item.pk}..0"})]
    )


@pytest.mark.django_db
def test_what_two_windows_sent_is_noted_for_the_item_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_annotation_study()
    one, other = make_items(study, 2)
    monkeypatch.setattr(
        Browser, "open", lambda self, path: page_of(other)
    )  # as a gold item whose turn is over leads on
    monkeypatch.setattr(Browser, "submit", lambda self, page, fields, form=None: replace(page, led_here=True))
    someone = Person("1", "finish", Random(1), "", "annotators", 9, True)
    known = {item.pk: item for item in (one, other)}
    player = AnnotatingPlayer("http://127.0.0.1", someone, definition_of(study), known, True)
    two_windows_together(player, page_of(one))
    noted = {(sent.slug, sent.key) for sent in player.story.confirmed}
    assert noted == {(one.key, f"of {one.key}"), (other.key, f"of {other.key}")}
    assert set(player.story.newest) == {one.key, other.key}


# --- people and what they say -------------------------------------------------------------------------------


@pytest.mark.django_db
def test_small_group_has_every_way_out_and_stops_early_only_when_it_may() -> None:
    people = make_people(definition_of(make_annotation_study(quota=20, least=6)), 16, True, 1)
    assert {"stop_early", "excluded", "fail_training", "late", "withdraw"} <= {person.way for person in people}
    assert all(person.stops_at >= 6 for person in people if person.way == "stop_early")
    assert all(person.stops_at <= 8 for person in people)


class Item:
    def __init__(self, number: int, gold: dict[str, list[str]]) -> None:
        self.payload, self.gold = item_of(number, "preference"), gold


QUESTIONS = KINDS["preference"].questions


def share(left: str, leaning: float, field: str = "preference/milk") -> float:
    """How often an otherwise average rater with this leaning strongly prefers the response on the left."""
    rater = Rater(Random(3), 0.0, leaning)
    return sum(draw_labels(Item(n, {}), QUESTIONS, rater, left)[field] == "1" for n in range(300)) / 300


def test_who_leans_to_a_side_does_so_whatever_stands_there() -> None:
    assert all(share(left, 0.0) < 0.35 for left in ("generic", "personalised"))
    assert all(share(left, 0.9) > 0.85 for left in ("generic", "personalised"))


def test_raters_agree_as_far_as_they_should() -> None:
    def agreement(contrary: float) -> float:
        one, other = Rater(Random(1), contrary), Rater(Random(2), contrary)
        labels = [
            (draw_labels(Item(n, {}), QUESTIONS, one), draw_labels(Item(n, {}), QUESTIONS, other)) for n in range(300)
        ]
        return sum(a == b for a, b in labels) / 300

    assert agreement(0) == 1
    assert agreement(0) > agreement(0.2) > agreement(0.8)


@pytest.mark.parametrize(("left", "right", "wrong"), [("generic", "4", "1"), ("personalised", "2", "5")])
def test_right_labels_stand_as_the_page_shows_the_sides(left: str, right: str, wrong: str) -> None:
    item, rater = Item(1, {"preference/milk": ["4", "5"]}), Rater(Random(1), 1.0)
    assert draw_labels(item, QUESTIONS, rater, left)["preference/milk"] == right
    assert draw_wrong_labels(item, QUESTIONS, rater, left)["preference/milk"] == wrong


@pytest.mark.django_db
def test_nothing_is_played_without_items() -> None:
    make_annotation_study()
    with pytest.raises(CommandError, match="import_items"):
        call_command("simulate", "teas", "--participants", "1")
