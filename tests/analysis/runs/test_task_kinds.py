"""Each kind of task is declared in full: its schema, its reading, its script and its row in the docs."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from analysis.endpoints.providers.scripted import scripted_task
from analysis.models import Conversation, Task
from analysis.runs.asking.conversations import cut, parts_of, read_extract, write_chunk
from analysis.runs.asking.kinds import TaskFault, TaskKind, read_object
from analysis.runs.asking.plans import ORDERED
from analysis.runs.asking.registry import TASKS, VERSIONS
from surveys.models import AnnotationItem
from tests.analysis.people.people_samples import said

ASKED = {label: kind for label, kind in VERSIONS.items() if kind.condition == "task"}  # test_judges has the judges
KINDS = pytest.mark.parametrize("kind", ASKED.values(), ids=ASKED)
DOCS = (Path(settings.BASE_DIR) / "docs" / "people.md").read_text(encoding="utf-8")
ABOUT = {"span": [0, 0, 1, 4], "language": "English"}
# What each kind is tried on, and the scripted endpoint's reply.
SAMPLES: dict[str, tuple[dict[str, Any], Any]] = {
    "language": (ABOUT, {"value": 1.0, "others": "none"}),
    "assistant-use": (ABOUT, {"value": 0.9, "reasoning": "1 begin alike."}),
    "extract": (
        ABOUT,
        {
            "attributes": [
                {
                    "text": "The user says: I like tea.",
                    "confidence": 0.9,
                    "reasoning": "The user says so.",
                    "evidence": ["I like tea."],
                }
            ],
            "refused": [],
            "cut": False,
        },
    ),
    "candidates": (
        {"prompt": "Which bread shall I bake?", "ids": [7, 9], "attributes": ["Has a dog.", "Loves rye bread."]},
        {"candidates": [9]},
    ),
    "respond": ({"prompt": "Which bread?", "arm": "personalised", "attributes": ["Loves rye."]}, None),
    "mentions": (
        {"response": "As you love rye, bake that.", "attributes": ["Has a dog.", "People love this one."]},
        {"mentioned": [False, True]},
    ),
    "reason": ({}, {"reason": "The quotes say less than the statement."}),
    "category": ({"reason": "Too much."}, {"category": "not-standalone"}),
    "refine": (
        {},
        {"action": "revise", "attribute": "The user once said: I like tea.", "reasoning": "No more is said."},
    ),
}
ITEM = {"attribute": "Drinks nothing but tea.", "evidence": [{"quote": "I like tea."}]}


def sample_of(kind: TaskKind) -> Task:
    return Task(
        payload=SAMPLES[kind.name][0],
        conversation=Conversation(messages=said("I like tea.")),
        annotation_item=AnnotationItem(payload=ITEM),
    )


@KINDS
def test_schemas_are_strict(kind: TaskKind) -> None:
    """Every object is closed and every property required, as providers demand."""

    def check(schema: Mapping[str, Any]) -> None:
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False and schema["required"] == list(schema["properties"])
            for part in schema["properties"].values():
                check(part)
        if schema["type"] == "array":
            check(schema["items"])

    if kind.schema:
        check(kind.schema)


@KINDS
def test_kinds_have_a_version_and_a_length(kind: TaskKind) -> None:
    assert kind.label == f"{kind.name}-{kind.version}" and TASKS[kind.name].version >= kind.version
    assert 0 < kind.usual_tokens <= kind.most_tokens and len(kind.label) <= 50


@KINDS
def test_empty_replies_are_faults(kind: TaskKind) -> None:
    with pytest.raises(TaskFault):
        kind.read("", sample_of(kind))


@KINDS
def test_what_is_asked_is_answered_by_the_script_and_read(kind: TaskKind) -> None:
    task = sample_of(kind)
    question = kind.write(task)[-1]["content"]
    assert kind.write(task) == kind.write(task)
    if kind.schema:
        assert kind.read(scripted_task(question, {}), task) == SAMPLES[kind.name][1]


def test_a_personalised_response_is_told_what_is_known_and_a_generic_one_nothing() -> None:
    kind, task = TASKS["respond"], sample_of(TASKS["respond"])
    assert [message["role"] for message in kind.write(task)] == ["system", "user"]
    assert "- Loves rye." in kind.write(task)[0]["content"]
    task.payload = task.payload | {"attributes": []}
    assert kind.write(task) == [{"role": "user", "content": "Which bread?"}]
    assert kind.read(" Rye. ", task) == {"response": "Rye."}


@pytest.mark.parametrize(
    ("name", "reply", "fault"),
    [
        ("candidates", {"relevant": [1, 3]}, "names 3; there are attributes from 1 to 2"),
        ("candidates", {"relevant": "both"}, "names both"),
        ("mentions", {"mentioned": [0]}, "names 0"),
        ("mentions", {"mentioned": ["9" * 5_000]}, "names 9999"),
        ("reason", {"reason": "  "}, "reason is empty"),
        ("category", {"category": "boring"}, "must be one of overgeneralisation, "),
        ("refine", {"action": "keep"}, "must be one of revise, withdraw"),
        ("refine", {"action": "revise", "attribute": "x" * 10_000}, "has 10,000 characters"),
    ],
)
def test_what_was_not_offered_is_a_fault(name: str, reply: Any, fault: str) -> None:
    with pytest.raises(TaskFault, match=fault):
        TASKS[name].read(json.dumps(reply), sample_of(TASKS[name]))


def test_withdrawn_statements_have_no_new_words() -> None:
    said_so = json.dumps({"reasoning": "None.", "action": "Withdraw.", "attribute": "Left over."})
    values = TASKS["refine"].read(said_so, sample_of(TASKS["refine"]))
    assert (values["action"], values["attribute"]) == ("withdraw", "")


@KINDS
def test_docs_have_a_row_for_the_kind(kind: TaskKind) -> None:
    assert re.search(rf"^\| `[^`]* {kind.name}\b", DOCS, re.M), f"docs/people.md has no row for {kind.name}"


@KINDS
def test_a_command_asks_it(kind: TaskKind) -> None:
    assert kind.studies or kind.name in ORDERED, "no command asks it: see `studies` of TaskKind"


@pytest.mark.parametrize("share", ["2", -0.1, "much", None, True, [1], 10**400])
@pytest.mark.parametrize(("name", "key"), [("language", "share"), ("assistant-use", "score")])
def test_shares_outside_0_to_1_are_faults(name: str, key: str, share: Any) -> None:
    with pytest.raises(TaskFault, match="must be a number from 0 to 1"):
        TASKS[name].read(json.dumps({key: share}), Task())


def test_what_a_database_cannot_hold_is_taken_out_of_values() -> None:
    reply = r'{"a": ["tea\u0000", {"b\u0000\ud800": "\udfff"}, 1, null], "b": "\ud83c\udf75"}'
    assert read_object(reply, "a") == {"a": ["tea", {"b\ufffd": "\ufffd"}, 1, None], "b": "🍵"}
    deep = '{"a": ' + "[" * 700 + "]" * 700 + "}"
    with pytest.raises(TaskFault, match="no JSON with a"):
        read_object(deep, "a")


# --- conversations


@pytest.mark.parametrize(
    ("reply", "texts", "is_cut"),
    [
        ('```json\n{"attributes": [{"attribute": "Likes tea.", "confidence": 1, "evidence": "tea"}]}\n```', 1, False),
        ('{"attributes": [{"attribute": "Likes tea.", "confidence": 1, "evidence": ["t"]}, {"attribute": "Li', 1, True),
        ('Thinking {hard}. {"attributes": []}', 0, False),
    ],
)
def test_replies_are_read_as_far_as_they_go(reply: str, texts: int, is_cut: bool) -> None:
    values = read_extract(reply, Task())
    assert (len(values["attributes"]), values["cut"]) == (texts, is_cut)


@pytest.mark.parametrize("reply", ["", "{}", "[1]", '{"attributes": 3}', "{" * 5_000, '{"attributes": "none"}'])
def test_replies_without_attributes_are_faults(reply: str) -> None:
    with pytest.raises(TaskFault, match="no JSON with attributes"):
        read_extract(reply, Task())


def test_chunks_are_cut_between_messages_and_lose_nothing() -> None:
    messages = said(*(f"{number} " + "word " * 60 for number in range(30)), "x" * 2_500)
    spans = list(cut(messages, 1_000))
    assert all(len(write_chunk(messages, span)) <= 1_000 + len("<conversation>\n\n</conversation>") for span in spans)
    told: dict[int, str] = {}
    for span in spans:
        for number, text in parts_of(messages, span):
            told[number] = told.get(number, "") + text
    assert [told[number] for number in range(0, 62, 2)] == [message["content"] for message in messages[::2]]
    assert all(span.start == 0 for span in spans[:10])


def test_chunks_in_which_the_user_says_nothing_are_left_out() -> None:
    messages = [{"role": "user", "content": "Tell me."}, {"role": "assistant", "content": "la " * 2_000}]
    assert [span.first for span in cut(messages, 1_000)] == [0]
    assert list(cut(messages[1:], 1_000)) == []
