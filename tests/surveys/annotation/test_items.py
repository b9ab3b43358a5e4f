"""Items are imported all or none, never change, and have exactly as many slots as they want labels."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from surveys.annotation.items import push_items
from surveys.models import AnnotationItem, AuditEvent, History, Slot, Study
from surveys.studies.files.payloads import LONGEST_HISTORY, MOST_ENTRIES
from surveys.studies.imports.files import ImportFault
from surveys.studies.lifecycle import load_definition
from tests.factories import (
    annotate,
    definition_of,
    item_of,
    make_annotation_study,
    make_annotator,
    make_items,
    make_work,
)

pytestmark = pytest.mark.django_db


def faults_of(study: Study, *items: dict[str, Any]) -> list[str]:
    """The faults of these items, none of which is stored."""
    with pytest.raises(ImportFault) as raised:
        push_items(study, items, "tests")
    assert not AnnotationItem.objects.exists() and not Slot.objects.exists() and not History.objects.exists()
    return [str(fault) for fault in raised.value.faults]


def turns(*texts: str) -> list[dict[str, Any]]:
    return [{"title": "May", "turns": [{"role": "user", "text": text} for text in texts]}]


# --- what is stored ---------------------------------------------------------


def test_item_is_stored_to_the_letter_with_its_slots() -> None:
    study = make_annotation_study(overlap=3)
    given = item_of(1, source="pair 17", cluster="user-a", corpus="real", tags={"model": "m", "rank": 2})
    done = push_items(study, [given], "tests")
    assert vars(done) == {"items": 1, "skipped": 0, "slots": 3, "histories": 0, "unlocated": 0}
    item = AnnotationItem.objects.get()
    assert (item.key, item.kind, item.purpose, item.pilot) == ("item-1", "relevance", "work", False)
    assert item.payload == {"attribute": given["attribute"], "prompt": given["prompt"]}
    assert (item.source, item.cluster, item.corpus, item.tags) == (
        "pair 17",
        "user-a",
        "real",
        {"model": "m", "rank": 2},
    )
    assert sorted(item.slots.values_list("number", "wanted", "side")) == [(0, 3, ""), (1, 3, ""), (2, 3, "")]
    event = AuditEvent.objects.get(action="items added")
    assert (event.actor, event.detail) == ("tests", {"pilot": False, "added": 1, "slots": 3})


def test_same_items_again_change_nothing_and_more_follow_behind() -> None:
    done = push_items(make_annotation_study(items=3), [item_of(number) for number in range(5)], "tests")
    assert (done.items, done.skipped, done.slots) == (2, 3, 6)
    assert list(AnnotationItem.objects.order_by("position").values_list("key", "position")) == [
        (f"item-{number}", number) for number in range(5)
    ]


def test_same_key_with_other_content_is_refused() -> None:
    study = make_annotation_study(items=1)
    with pytest.raises(ImportFault, match="items never change, so give it another key"):
        push_items(study, [item_of(5), item_of(0, prompt="Another prompt?")], "tests")
    assert AnnotationItem.objects.count() == 1


def test_history_is_stored_once_for_all_items_about_it() -> None:
    study = make_annotation_study(kind="attribute")
    done = push_items(study, [item_of(number, "attribute") for number in range(8)], "tests")
    assert (done.items, done.histories) == (8, 2)
    first = AnnotationItem.objects.get(key="item-0")
    assert "history" not in first.payload
    assert first.history.conversations == item_of(0, "attribute")["history"]
    assert first.history.characters == len("May") + len("user") + len("I like tea, said 0.")


def test_history_may_be_left_out_after_an_item_about_the_same_user() -> None:
    study = make_annotation_study(kind="attribute")
    push_items(study, [item_of(0, "attribute"), item_of(1, "attribute", history=None)], "tests")
    assert len({item.history_id for item in AnnotationItem.objects.all()}) == 1


def test_history_of_another_user_is_never_taken() -> None:
    study = make_annotation_study(kind="attribute")
    assert faults_of(study, item_of(0, "attribute"), item_of(4, "attribute", history=None)) == [
        "line 2: history is missing"
    ]


def test_quotes_are_found_in_the_history() -> None:
    study = make_annotation_study(kind="attribute")
    evidence = [
        "green tea",
        {"quote": "green tea", "conversation": 2, "turn": 1},
        "never said",
        {"quote": "milk", "turn": 9},
    ]
    history = turns("I drink milk.", "And green tea.") + turns("Always green tea.")
    done = push_items(study, [item_of(1, "attribute", evidence=evidence, history=history)], "tests")
    places = [
        (snippet["conversation"], snippet["turn"]) for snippet in AnnotationItem.objects.get().payload["evidence"]
    ]
    assert places == [(1, 2), (2, 1), (None, None), (1, 1)]
    assert done.unlocated == 1


def test_bare_texts_stand_for_lists_and_tables() -> None:
    study = make_annotation_study(kind="preference")
    push_items(study, [item_of(1, "preference", attributes=["No milk.", "Cheap."], profile="Drinks tea.")], "tests")
    payload = AnnotationItem.objects.get().payload
    assert payload["attributes"] == [{"id": "1", "text": "No milk."}, {"id": "2", "text": "Cheap."}]
    assert payload["profile"] == ["Drinks tea."]


def test_raised_overlap_adds_slots_when_the_items_are_imported_again() -> None:
    study = make_annotation_study(overlap=2)
    (item,) = make_items(study, 1)
    annotate(make_annotator(study))
    definition = replace(definition_of(study), annotation=make_work(overlap=3))
    study, _ = load_definition(definition, "tests", "More labels an item.")
    assert push_items(study, [item_of(0)], "tests").slots == 1
    assert list(item.slots.order_by("number").values_list("number", "wanted")) == [(0, 3), (1, 3), (2, 3)]
    assert item.slots.filter(done_at__isnull=False).count() == 1


def test_pilot_has_items_of_its_own_even_of_the_same_names() -> None:
    assert push_items(make_annotation_study(items=2), [item_of(0)], "tests", pilot=True).items == 1
    assert AnnotationItem.objects.filter(key="item-0").count() == 2


def test_training_and_gold_items_have_no_slots() -> None:
    study = make_annotation_study()
    right = {"relevance": "yes"}
    new = [
        item_of(1, purpose="training", gold=right, explanation="Cups matter."),
        item_of(2, purpose="gold", gold={"relevance": ["yes", "no"]}),
    ]
    assert push_items(study, new, "tests").slots == 0
    training, gold = AnnotationItem.objects.order_by("position")
    assert (training.gold, training.explanation) == ({"relevance": ["yes"]}, "Cups matter.")
    assert gold.gold == {"relevance": ["yes", "no"]}


# --- sides ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overlap", "sides"),
    [
        (1, ["either"]),
        (2, ["generic", "personalised"]),
        (3, ["generic", "personalised", "either"]),
        (4, ["generic", "personalised"] * 2),
    ],
)
def test_sides_of_an_item_differ_by_at_most_one(overlap: int, sides: list[str]) -> None:
    (item,) = make_items(make_annotation_study(kind="preference", overlap=overlap), 1)
    assert list(item.slots.order_by("number").values_list("side", flat=True)) == sides


# --- faults -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "changes", "says"),
    [
        ("relevance", {"key": None}, "key is missing"),
        ("relevance", {"key": "k" * 201}, "key has 201 characters; the limit is 200"),
        ("relevance", {"key": "a\nb"}, "key must be text on one line"),
        ("relevance", {"key": 7.5}, "key must be text on one line"),
        ("relevance", {"attribute": None}, "attribute is missing"),
        ("relevance", {"attribute": " "}, "attribute is empty"),
        ("relevance", {"attribute": 5}, "attribute must be text, not a number"),
        ("relevance", {"attribute": "x" * 200_001}, "attribute has 200,001 characters; the limit is 200,000"),
        ("relevance", {"prompt": "a\x00b"}, "NUL"),
        ("relevance", {"prompt": "a\ud800b"}, "half of a character"),
        ("relevance", {"atribute": "x"}, "did you mean `attribute`?"),
        ("relevance", {"zzz": "x"}, "'zzz' is not a key of a relevance item; there are key, source"),
        ("relevance", {"purpose": "test"}, "it is one of work, training, gold"),
        ("relevance", {"gold": {"relevance": "yes"}}, "set purpose to one of these"),
        ("relevance", {"purpose": "gold"}, "gold is missing"),
        ("relevance", {"purpose": "gold", "gold": {"quality": "yes"}}, "gold names 'quality', but the item is asked"),
        ("relevance", {"purpose": "gold", "gold": {"relevance": "maybe"}}, "gold has no label of relevance"),
        ("relevance", {"explanation": "Because."}, "explanation is for training items"),
        ("relevance", {"tags": ["a"]}, "tags must be a table"),
        ("relevance", {"tags": {"a": [1]}}, "tags must be a table"),
        ("relevance", {"tags": {"a": float("nan")}}, "tags hold a value that cannot be stored"),
        ("preference", {"tags": {"generator": 3}}, "tags.generator must be the name of the model"),
        ("preference", {"tags": {"generator": " "}}, "tags.generator must be the name of the model"),
        ("preference", {"attributes": [{"text": "Milk.", "mentioned": "yes"}]}, "neither true nor false"),
        ("attribute", {"evidence": None}, "evidence is missing: an attribute is judged by the snippets"),
        ("attribute", {"evidence": []}, "evidence is missing"),
        ("attribute", {"evidence": [""]}, "evidence has a quote 1 that is empty"),
        ("attribute", {"evidence": [{"quote": "x", "turn": 0}]}, "whose turn is not a whole number from 1"),
        ("attribute", {"history": []}, "history must be a list of conversations"),
        ("attribute", {"history": [{"turns": []}]}, "history has no turns in conversation 1"),
        ("attribute", {"history": [{"turns": [{"role": "user"}]}]}, "a turn without text in conversation 1"),
        ("attribute", {"history": [{"turns": [{"role": "system", "text": "x"}]}]}, "neither `user` nor `assistant`"),
        ("preference", {"attributes": []}, "attributes is empty"),
        ("preference", {"attributes": ["x"] * (MOST_ENTRIES + 1)}, "has 201 entries; the limit is 200"),
        (
            "preference",
            {"attributes": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]},
            "has the id 'a' more than once",
        ),
        ("preference", {"attributes": [{"id": "", "text": "x"}]}, "whose id is not 1 to 50 printable characters"),
        ("preference", {"personalised": None}, "personalised is missing"),
    ],
)
def test_fault_of_an_item_is_named_and_nothing_is_stored(kind: str, changes: dict[str, Any], says: str) -> None:
    (fault,) = faults_of(make_annotation_study(kind=kind), item_of(0, kind), item_of(1, kind, **changes))
    assert fault.startswith("line 2: ") and says in fault


def test_all_faults_of_all_items_are_named_at_once() -> None:
    study = make_annotation_study()
    faults = faults_of(study, {"key": "a"}, item_of(1), item_of(1), {"key": "b", "prompt": "", "attribute": 3})
    assert faults == [
        "line 1: attribute is missing",
        "line 1: prompt is missing",
        "line 3: the key 'item-1' is already on line 2",
        "line 4: attribute must be text, not a number",
        "line 4: prompt is missing",
    ]


def test_more_faults_than_anybody_reads_are_counted() -> None:
    with pytest.raises(ImportFault) as raised:
        push_items(make_annotation_study(), [{"key": f"k{number}"} for number in range(300)], "tests")
    assert (len(raised.value.faults), raised.value.count) == (50, 600)


def test_history_up_to_the_limit_is_taken_and_a_longer_one_refused_with_a_sentence() -> None:
    study = make_annotation_study(kind="attribute")
    room = LONGEST_HISTORY - len("May") - len("user")
    (fault,) = faults_of(study, item_of(1, "attribute", history=turns("x" * 5_000_000)))
    assert "history has 5,000,007 characters; the limit is 1,000,000. Cut it" in fault
    push_items(study, [item_of(1, "attribute", history=turns("x" * room))], "tests")
    assert History.objects.get().characters == LONGEST_HISTORY


# --- what the database refuses ----------------------------------------------


@pytest.mark.parametrize("change", [{"payload": {}}, {"gold": {"a": ["b"]}}, {"pilot": True}, {"key": "other"}])
def test_item_is_never_changed(change: dict[str, Any]) -> None:
    (item,) = make_items(make_annotation_study(), 1)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        AnnotationItem.objects.filter(pk=item.pk).update(**change)


def test_history_and_annotation_are_never_changed() -> None:
    annotation = annotate(make_annotator(make_annotation_study(kind="attribute", items=1))).annotation
    for rows in (History.objects.all(), type(annotation).objects.filter(pk=annotation.pk)):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            rows.update(**{"characters": 1} if rows.model is History else {"labels": {}})


def test_item_has_no_slot_beyond_what_it_wants_and_no_person_two() -> None:
    study = make_annotation_study(overlap=2)
    (item,) = make_items(study, 1)
    person = make_annotator(study)
    annotate(person)
    with pytest.raises(IntegrityError, match="slot_is_wanted"), transaction.atomic():
        Slot.objects.create(item=item, number=2, wanted=2)
    with pytest.raises(IntegrityError, match="slot_once"), transaction.atomic():
        Slot.objects.create(item=item, number=1, wanted=2)
    taken = item.slots.get(participant=person)
    with pytest.raises(IntegrityError, match="one_slot_of_an_item"), transaction.atomic():
        item.slots.filter(participant=None).update(
            participant=person, taken_at=taken.taken_at, held_until=taken.held_until
        )


def test_done_slot_goes_to_nobody_else_and_keeps_its_side() -> None:
    study = make_annotation_study(kind="preference", items=1)
    annotate(make_annotator(study))
    done = Slot.objects.filter(done_at__isnull=False)
    with pytest.raises(DatabaseError, match="is done"), transaction.atomic():
        done.update(participant=make_annotator(study))
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        done.update(side="generic")
