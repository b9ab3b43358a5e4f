"""What a file changes, named place by place."""

import pytest

from surveys.models import Study, StudyVersion
from surveys.studies.differences import changes_to, differences
from tests.factories import make_definition


def test_each_place_that_differs_is_named_once() -> None:
    before = {"minutes": 8, "prompts": [{"slug": "a", "text": "x"}, {"slug": "b", "text": "y"}], "arms": []}
    after = {"minutes": 9, "prompts": [{"slug": "b", "text": "z"}, {"slug": "a", "text": "x"}], "arms": [{"slug": "t"}]}
    assert differences(before, after) == [
        ("minutes", "8", "9"),
        ("prompts", "a, b", "b, a"),
        ("prompts.b.text", "y", "z"),
        ("arms", "[]", '[{"slug": "t"}]'),
    ]


def test_another_order_alone_is_a_difference_of_what_both_have() -> None:
    before = {"prompts": [{"slug": "a"}, {"slug": "b"}, {"slug": "c"}], "pay": {"amount": "1", "currency": "USD"}}
    after = {"pay": {"currency": "USD", "amount": "1"}, "prompts": [{"slug": "d"}, {"slug": "c"}, {"slug": "a"}]}
    assert differences(before, after) == [
        ("prompts", "a, c", "c, a"),
        ("prompts.b", '{"slug": "b"}', ""),
        ("prompts.d", "", '{"slug": "d"}'),
    ]
    assert differences({"cells": [{"slug": "a"}]}, {"cells": [{"slug": "b"}, {"slug": "a"}]})[0].place == "cells.b"


def test_what_goes_and_what_comes() -> None:
    before = {"prompts": [{"slug": "a"}, {"slug": "b"}]}
    assert differences(before, {"prompts": [{"slug": "a"}, {"slug": "c"}]}) == [
        ("prompts.b", '{"slug": "b"}', ""),
        ("prompts.c", "", '{"slug": "c"}'),
    ]


def test_a_whole_study_file_differs_from_itself_nowhere() -> None:
    document = make_definition().to_document()
    assert differences(document, make_definition().to_document()) == []
    assert [change.place for change in differences(document, make_definition(minutes=99).to_document())] == ["minutes"]


@pytest.mark.django_db
def test_of_a_long_text_the_part_that_differs_is_shown() -> None:
    long = [f"{'a' * 200} {word} {'b' * 200}" for word in ("tea", "coffee")]
    before, after = (make_definition(debrief=text) for text in long)
    (change,) = changes_to(Study(current=StudyVersion(document=before.to_document())), after)
    assert change == ("debrief", f"…{'a' * 29} tea {'b' * 29}…", f"…{'a' * 29} coffee {'b' * 29}…")
