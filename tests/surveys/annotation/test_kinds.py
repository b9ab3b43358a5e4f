"""Kinds of annotation: keys that can't collide, labels that are read only once, and sides turned back."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.template.loader import get_template

from surveys.annotation.items import push_items
from surveys.studies.files import kinds
from surveys.studies.files.kinds import (
    KINDS,
    PAGE_KEYS,
    PREFERENCE,
    QUALITY,
    UNCOMFORTABLE,
    Kind,
    KindError,
    LabelFault,
    LabelOption,
    LabelQuestion,
    fields_of,
    read_labels,
    turn_back,
)
from surveys.studies.files.payloads import read_text
from surveys.studies.files.schema import LabelScale
from surveys.studies.labels import questions_for
from tests.factories import annotate, item_of, make_annotation_study, make_annotator, make_work

DOCS = (Path(__file__).resolve().parents[3] / "docs" / "annotation.md").read_text(encoding="utf-8")
PAIR = {"attributes": [{"id": "milk", "text": "No milk."}, {"id": "budget", "text": "On a budget."}]}


def question_with(*keys: str, **changes: object) -> LabelQuestion:
    choices = tuple(LabelOption(f"label-{number}", f"Label {number}", key) for number, key in enumerate(keys))
    return replace(LabelQuestion("sweet", "Is it sweet?", choices), **changes)


def kind_with(*questions: LabelQuestion) -> Kind:
    needs, sample = {"tea": read_text}, {"tea": "Assam"}
    return Kind("sweetness", "How sweet?", questions, needs, "annotation/sweetness.html", "tea", sample)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_kind_says_all_that_is_asked_of_it(kind: Kind) -> None:
    """Pages, imports, item lists and tests take what they need to know about a kind from its record."""
    assert KINDS[kind.name] is kind and kind.main.is_label and kind.main.values
    assert kind.needs.keys() <= kind.sample.keys() <= {*kind.needs, *kind.may}
    read = {name: (kind.needs | kind.may)[name](value) for name, value in kind.sample.items()}
    assert kind.headline in kind.needs and isinstance(read[kind.headline], str)
    assert get_template(kind.template)
    assert f"| `{kind.name}` | {', '.join(f'`{name}`' for name in kind.needs)}" in DOCS
    assert all(f"*{question.name}*" in DOCS for question in kind.questions if question.is_label)


@pytest.mark.parametrize(
    ("questions", "says"),
    [
        ([question_with("1", "1")], "stands for two of its choices"),
        ([question_with("1", "u")], "is the page's own (undo)"),
        ([question_with("1", "?")], "is the page's own (help)"),
        ([question_with("1", "X")], "one lower-case letter"),
        ([question_with("1", "12")], "one lower-case letter"),
        ([question_with("x", "1"), UNCOMFORTABLE], "is that of uncomfortable too"),
        ([question_with("1", "2"), question_with("3", "4")], "two questions are called 'sweet'"),
        ([question_with()], "must have choices"),
        ([question_with("1", scale="text")], "must have choices"),
        ([question_with("1", scale="ratio")], "no scale"),
        ([question_with("1", positive="label-9")], "has no label 'label-9'"),
        (
            [LabelQuestion("sweet", "?", (LabelOption("a", "A"), LabelOption("a", "B")))],
            "has the label 'a' more than once",
        ),
    ],
)
def test_kind_that_could_not_be_worked_with_is_refused(questions: list[LabelQuestion], says: str) -> None:
    with pytest.raises(KindError, match="sweetness: ") as refused:
        kind_with(*questions)
    assert says in str(refused.value)


def test_questions_that_are_asked_one_after_the_other_may_share_keys() -> None:
    assert kind_with(question_with("1", "2"), question_with("1", "2", name="strong"), UNCOMFORTABLE)


def test_no_kind_uses_a_key_of_the_page() -> None:
    keys = {c.key for kind in KINDS.values() for question in kind.questions for c in question.choices}
    assert keys & set(PAGE_KEYS) == set()


def test_choices_are_shown_by_their_keys_and_counted_in_scale_order() -> None:
    assert [choice.value for choice in QUALITY.shown] == ["yes", "maybe", "no"]
    assert QUALITY.values == ("no", "maybe", "yes")


def test_fields_are_asked_of_each_part_of_the_item() -> None:
    assert list(fields_of(KINDS["preference"].questions, PAIR)) == ["preference/milk", "preference/budget"]
    assert list(fields_of(KINDS["attribute"].questions, {})) == ["quality", "uncomfortable", "uncomfortable-why"]


def test_switch_that_was_not_turned_on_is_off_and_a_text_left_empty_is_no_label() -> None:
    labels = read_labels(KINDS["attribute"].questions, {}, {"quality": "maybe", "csrf": "x"})
    assert labels == {"quality": "maybe", "uncomfortable": "no"}


def test_words_are_kept_without_what_no_database_holds() -> None:
    given = {"quality": "no", "uncomfortable": "yes", "uncomfortable-why": " too\x00 private "}
    assert read_labels(KINDS["attribute"].questions, {}, given)["uncomfortable-why"] == "too private"


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({}, {"preference/milk": "no answer", "preference/budget": "no answer"}),
        ({"preference/milk": "6", "preference/budget": "3"}, {"preference/milk": "cannot be '6'"}),
        ({"preference/milk": "3", "preference": "3"}, {"preference/budget": "no answer"}),
    ],
)
def test_labels_that_are_missing_or_off_the_scale_are_all_named(given: dict, faults: dict) -> None:
    with pytest.raises(LabelFault) as raised:
        read_labels(KINDS["preference"].questions, PAIR, given)
    assert raised.value.faults.keys() == faults.keys()
    assert all(words in raised.value.faults[name] for name, words in faults.items())


@pytest.mark.parametrize(
    ("left", "shown", "meant"),
    [("generic", "1", "1"), ("generic", "4", "4"), ("personalised", "1", "5"), ("personalised", "4", "2")],
)
def test_preference_is_turned_back_to_one_is_generic(left: str, shown: str, meant: str) -> None:
    assert turn_back(PREFERENCE, shown, left) == meant


def test_middle_and_questions_without_sides_stay_as_they_are() -> None:
    assert turn_back(PREFERENCE, "3", "personalised") == "3"
    assert turn_back(UNCOMFORTABLE, "yes", "personalised") == "yes"
    assert turn_back(QUALITY, "no", "") == "no"


def test_questions_of_an_imported_study_come_from_its_scales() -> None:
    work = make_work(
        kind="imported", scales=(LabelScale("size", ("s", "m", "l"), True), LabelScale("hue", ("red", "blue"), False))
    )
    assert [(q.name, q.values, q.scale) for q in questions_for(work)] == [
        ("size", ("s", "m", "l"), "ordinal"),
        ("hue", ("red", "blue"), "nominal"),
    ]


@pytest.mark.django_db
def test_another_kind_costs_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.KINDS, "sweetness", kind_with(question_with("1", "2"), UNCOMFORTABLE))
    study = make_annotation_study(kind="sweetness")
    push_items(study, [{"key": "assam", "tea": "Assam"}], "tests")
    outcome = annotate(make_annotator(study), sweet="label-1", uncomfortable="yes")
    assert outcome.annotation.labels == {"sweet": "label-1", "uncomfortable": "yes"}
    assert outcome.annotation.item.payload == {"tea": "Assam"}


@pytest.mark.parametrize("kind", list(KINDS))
def test_builders_know_every_kind(kind: str) -> None:
    assert {*KINDS[kind].needs} <= item_of(1, kind).keys()
