"""Rejected attributes go to annotators who say what is wrong with them, as frozen items, once."""

import json

import pytest
from django.core.management import CommandError, call_command

from analysis.people.stages.judged import find_rejected, push_rejected
from analysis.people.steps import PeopleError
from analysis.runs.asking.judges import SHOWN
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import KINDS
from surveys.studies.labels import record_judgement
from surveys.studies.lifecycle import close
from tests.analysis.people.people_samples import judge_items
from tests.factories import make_annotation_study, make_items
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db
# Three people's labels of four items: most say no, one says no, one says maybe, nobody doubts.
SAID = {"item-0": "nny", "item-1": "nyy", "item-2": "myy", "item-3": "yyy"}


def make_judged() -> Study:
    study = make_annotation_study(kind="attribute", slug="facts")
    make_items(study, 4, corpus="real", tags={"about": "tea"})
    judge_items(study, "quality", SAID)
    return study


world = lasting_world(make_judged)


@pytest.fixture
def judged(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


def make_errors(slug: str = "errors") -> Study:
    return make_annotation_study(kind="error", slug=slug)


@pytest.mark.parametrize(
    ("rule", "keys"),
    [("majority", {"item-0"}), ("one", {"item-0", "item-1"}), ("doubt", {"item-0", "item-1", "item-2"})],
)
def test_rule_says_what_counts_as_rejected(judged: Study, rule: str, keys: set[str]) -> None:
    for item in AnnotationItem.objects.filter(study=judged):
        record_judgement(item, "mini", {"quality": "no", "uncomfortable": "no"})  # a judge rejects nothing
    assert find_rejected(judged, rule, pilot=False) == keys


def test_items_are_what_was_shown_with_slots_of_their_own(judged: Study) -> None:
    into = make_errors()
    done = push_rejected(judged, into, "ada", "one")
    assert (done.items, done.slots, done.histories) == (2, 6, 1)
    old = AnnotationItem.objects.get(study=judged, key="item-0")
    new = AnnotationItem.objects.get(study=into, key="item-0")
    for name in ("payload", "cluster", "corpus"):
        assert getattr(new, name) == getattr(old, name), name
    assert new.tags == old.tags | {"rejected by": "one"}
    assert new.history.sha256 == old.history.sha256
    assert (new.kind, new.source, new.purpose) == ("error", "facts", "work")


def test_pushing_again_adds_only_what_is_new(judged: Study) -> None:
    into = make_errors()
    push_rejected(judged, into, "ada", "majority")
    done = push_rejected(judged, into, "ada", "doubt")
    assert (done.items, done.skipped) == (2, 1)


@pytest.mark.parametrize(("frm", "into"), [("errors", "errors"), ("facts", "facts")])
def test_other_kinds_of_studies_are_refused(judged: Study, frm: str, into: str) -> None:
    studies = {"facts": judged, "errors": make_errors()}
    with pytest.raises(PeopleError, match="not a study of annotators with the kind"):
        push_rejected(studies[frm], studies[into], "ada")


def test_command_reports_what_it_did(judged: Study, capsys: pytest.CaptureFixture[str]) -> None:
    make_errors()
    call_command("push_rejected", "facts", "errors", rule="one", json=True)
    report = json.loads(capsys.readouterr().out)
    assert {name: report[name] for name in ("study", "into", "rule", "items", "slots", "skipped")} == {
        **{"study": "facts", "into": "errors", "rule": "one", "items": 2, "slots": 6, "skipped": 0}
    }
    call_command("push_rejected", "facts", "errors")
    assert capsys.readouterr().out == "errors: 0 items with 0 slots from facts, 1 already there\n"


@pytest.mark.parametrize(
    ("given", "says"), [(("facts", "herbs"), "no study herbs"), (("errors", "facts"), "`attribute`")]
)
def test_command_says_what_is_wrong(judged: Study, given: tuple[str, str], says: str) -> None:
    make_errors()
    with pytest.raises(CommandError, match=says):
        call_command("push_rejected", *given)


def test_judges_are_shown_every_kind() -> None:
    assert set(SHOWN) == set(KINDS)


def test_what_came_from_elsewhere_is_refused_with_what_to_do(judged: Study) -> None:
    make_items(make_errors(), 2, corpus="real")
    with pytest.raises(CommandError) as refused:
        call_command("push_rejected", "facts", "errors", rule="doubt")
    assert str(refused.value) == (
        "errors already has item-0 and 1 more of these attributes from elsewhere, and items never change. "
        "Push what people rejected in facts into another study."
    )
    assert AnnotationItem.objects.filter(study__slug="errors").count() == 2


def test_closed_study_takes_no_more(judged: Study) -> None:
    close(make_errors(), "tests")
    with pytest.raises(CommandError, match="errors is closed for good: nobody new can label more items. Push them"):
        call_command("push_rejected", "facts", "errors")
