"""Benchmarks of personalisation become corpora of made-up users: each conversation once, with its user."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from analysis.models import Conversation
from tests.analysis.people.people_samples import command, write_lines

pytestmark = pytest.mark.django_db


def talk(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def session(*texts: str) -> dict[str, Any]:
    return {"context_factor": "A bakery", "contextual_preference": "Short answers", "dialogue": talk(*texts)}


def bring(folder: Path, form: str, rows: list[Any]) -> dict[str, Any]:
    return command("import_corpus", form, str(write_lines(folder / f"{form}.jsonl", rows)), "--format", form)


def said() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in Conversation.objects.order_by("id"):
        found.setdefault(row.user, []).append(" | ".join(f"{m['role'][0]}: {m['content']}" for m in row.messages))
    return {user: sorted(texts) for user, texts in found.items()}


def test_sessions_of_a_persona_are_conversations_and_stand_once(tmp_path: Path) -> None:
    first, second = session("Bread?", "Rye."), session("Cake?", "Plum.")
    rows = [
        {"persona_id": "p1", "instance_type": kind, "current_request": "Now?", "prior_interactions": sessions}
        for kind, sessions in (("consistent", [first]), ("changing", [first, second]))
    ]
    report = bring(tmp_path, "cupid", rows)
    assert (report["new"], report["same_ids"]) == (2, 0)
    assert said() == {"p1": ["u: Bread? | a: Rye.", "u: Cake? | a: Plum."]}
    assert set(Conversation.objects.values_list("language", flat=True)) == {"English"}
    assert not Conversation.objects.filter(repeats__isnull=False).exists()


def test_preferences_come_in_three_forms(tmp_path: Path) -> None:
    rows = [
        {"preference": "I eat no fish.", "question": "Where to eat?", "explanation": "…"},
        {
            "preference": "I like quiet.",
            "persona": "A nurse.",
            "conversation": {str(n): {"user": f"Say {n}", "assistant": f"Yes {n}"} for n in (10, 2)},
        },
        {
            "preference": "I want trains.",
            "conversation": {
                "query": "How to travel?", "assistant_options": ["A car", "A train"],
                "user_selection": "The train.", "assistant_acknowledgment": "Noted.",
            },
        },
    ]  # fmt: skip
    assert bring(tmp_path, "prefeval", rows)["new"] == 3
    assert sorted(text for texts in said().values() for text in texts) == [
        "u: How to travel? | a: A car\nA train | u: The train. | a: Noted.",
        "u: I eat no fish.",
        "u: Say 2 | a: Yes 2 | u: Say 10 | a: Yes 10",
    ]
    assert len(said()) == 3


def test_dialogues_name_their_profile(tmp_path: Path) -> None:
    rows = [
        {"user_id": "u7", "task_id": "t1", "dialogue": [{"speaker": "User", "text": "Hi"}, {"assistant": "Yes?"}]},
        {"profile_id": 8, "conversation": talk("Hello", "Hi.")},
    ]  # fmt: skip
    bring(tmp_path, "personalens", rows)
    assert said() == {"u7": ["u: Hi | a: Yes?"], "8": ["u: Hello | a: Hi."]}


@pytest.mark.parametrize(
    ("form", "row", "words"),
    [
        ("cupid", {"persona_id": "p1"}, "has no 'prior_interactions' with the sessions of a persona"),
        ("cupid", None, "is empty .null.; it is an object"),
        ("prefeval", {"preference": "x", "conversation": 3}, "has a conversation that is a number"),
        ("prefeval", {"preference": "x", "conversation": {"0": {"nobody": "x"}}}, "has a turn without 'user'"),
        ("personalens", {"user_id": "u", "dialogue": [{"speaker": "Robot", "text": "x"}]}, "has a message of 'Robot'"),
        ("personalens", {"user_id": "u"}, "has no 'dialogue' with what user and assistant say"),
    ],
)
def test_records_of_another_shape_are_told(tmp_path: Path, form: str, row: Any, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        bring(tmp_path, form, [row])
    assert not Conversation.objects.exists() and json.dumps(row)
