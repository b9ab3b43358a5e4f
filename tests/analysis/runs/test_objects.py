"""The one reader of models' replies finds an object whatever is around or inside it, and never one of two."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.runs.asking.judges import read_reply
from analysis.runs.asking.kinds import NoObject, TaskFault, read_object
from surveys.studies.files.kinds import KINDS

QUESTIONS = KINDS["relevance"].questions
# Braces, quotes and fences as models write them, and other text that holds no label.
PROSE = st.lists(st.sampled_from([*"{}[]\"',:` \n", "```json", "{name}", "tea", "So: "]), max_size=12).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | PROSE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PROSE.map("x".__add__), inner, max_size=3),
    max_leaves=3,
)
MORE = st.dictionaries(PROSE.map("x".__add__), VALUES, max_size=3)
LABELS = st.sampled_from(["yes", "no"])


def is_quiet(prose: str) -> bool:
    """Whether `prose` leaves no text open and begins no object."""
    return prose.count('"') % 2 == 0 and "{" not in prose


@given(LABELS, MORE, MORE, PROSE, PROSE, st.sampled_from([None, 2]))
def test_a_label_is_read_whatever_stands_around_it_and_inside(
    label: str, first: dict[str, Any], last: dict[str, Any], before: str, after: str, indent: int | None
) -> None:
    said = json.dumps(first | {"relevance": label} | last, indent=indent)
    assert read_reply(said + after, QUESTIONS, {}) == {"relevance": label}
    assume(is_quiet(before))
    assert read_reply(f"{before}\n{said}\n{after}", QUESTIONS, {}) == {"relevance": label}


@given(LABELS, MORE, MORE, PROSE)
def test_what_follows_may_be_another_object(
    label: str, more: dict[str, Any], other: dict[str, Any], between: str
) -> None:
    assume(is_quiet(between))
    said = json.dumps({"relevance": label} | more)
    reply = f"{said}{between}{json.dumps(other)}{between}{json.dumps({'relevance': label.upper()} | other)}"
    assert read_reply(reply, QUESTIONS, {}) == {"relevance": label}


@given(MORE, MORE, PROSE, LABELS)
def test_two_answers_are_none(one: dict[str, Any], two: dict[str, Any], between: str, first: str) -> None:
    assume(is_quiet(between))
    other = "no" if first == "yes" else "yes"
    with pytest.raises(TaskFault, match="gives two different answers"):
        read_reply(
            json.dumps({"relevance": first} | one) + between + json.dumps({"relevance": other} | two), QUESTIONS, {}
        )


@given(MORE)
def test_nested_in_a_list_or_an_object_it_is_found(more: dict[str, Any]) -> None:
    said = {"relevance": "no"} | more
    for around in ([said], {"answer": said}, {"a": [{"b": said}]}):
        assert read_reply(json.dumps(around), QUESTIONS, {}) == {"relevance": "no"}


@given(st.text(max_size=200))
def test_other_texts_are_no_object(text: str) -> None:
    with pytest.raises(NoObject):
        read_object(text, "relevance")


def test_what_is_said_twice_in_one_object_is_no_answer() -> None:
    with pytest.raises(TaskFault, match='says relevance twice: "yes" and "no"'):
        read_reply('{"relevance": "yes", "relevance": "no"}', QUESTIONS, {})
    assert read_object('{"a": 1, "b": 1, "b": 2, "a": 1}', "a") == {"a": 1, "b": 2}


def test_the_first_of_two_that_differ_only_aside_counts() -> None:
    reply = '{"score": 1, "why": "a"} {"score": 1, "why": "b"}'
    assert read_object(reply, "score", aside=["why"]) == {"score": 1, "why": "a"}
    with pytest.raises(TaskFault, match="two different answers"):
        read_object(reply, "score")


def test_an_empty_reply_says_so() -> None:
    with pytest.raises(NoObject, match="no JSON with a: it is empty"):
        read_object("", "a")
