"""The walk of docs/people.md, from conversations to table 6, by commands alone; and a person erased at its end."""

import json
from typing import Any

import pytest

from analysis.models import Attribute, Completion, Task
from surveys.models import Annotation, AnnotationItem, History
from tests.analysis.people.people_samples import command, judge_with, make_person, people
from tests.analysis.runs.baseline_factories import make_corpus, use_letters
from tests.analysis.runs.servers import make_fake
from tests.factories import make_annotation_study, make_study

pytestmark = pytest.mark.django_db(transaction=True)
MAIL = "ann@example.org"
USERS = ("ann", "bob", "cleo")


def labels_of(item: AnnotationItem, place: int) -> dict[str, str]:
    """Two of three people approve; of every third attribute only one does until it is revised; responses get a 4."""
    if item.kind == "preference":
        return {f"preference__{part['id']}": "4" for part in item.payload["attributes"]}
    if item.kind == "relevance":
        return {"relevance": "yes" if place < 2 else "no"}
    doubted = item.position % 3 == 0 and "before" not in item.payload
    return {"quality": "yes" if place < (1 if doubted else 2) else "no"}


def model(name: str, *arguments: str) -> dict[str, Any]:
    report = command(name, *arguments, "--endpoint", "scripted")
    assert report["planned"] == report["read"] > 0
    return report


def test_way_from_conversations_to_table_6(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    make_fake(extra={})
    prompts, corpus = make_study(), make_corpus()
    first = prompts.current.prompts.order_by("position").first().text
    for key in USERS:
        said = [f"I, {key}, like five teas a day.", f"I recommend my {key} shop, write to {MAIL}."]
        make_person(key, [[*said, *(f"{key} asks {n} {m}" for m in range(5))] for n in range(3)], corpus)
    studies = {
        slug: make_annotation_study(kind=kind, slug=slug, quota=200)
        for slug, kind in (
            ("profiles", "attribute"),
            ("errors", "error"),
            ("pairs", "relevance"),
            ("answers", "preference"),
        )
    }
    people("corpus", "filter", "--without-assistant-use")
    assert people("corpus", "extract", "--endpoint", "scripted")["attributes"] == 2 * len(USERS) * 3
    people("corpus", "merge", "--similarity", "0.99")
    people("corpus", "sample", "--size", "3")
    assert people("corpus", "push", "--study", "profiles")["items"] > 0
    judge_with(studies["profiles"], labels_of)
    model("ask", "profiles", "reason", "--rule", "majority")
    named = model("ask", "profiles", "category", "--rule", "majority")
    errors = command("push_rejected", "profiles", "errors")
    assert errors["items"] == errors["categories"] == named["read"]
    model("ask", "profiles", "refine", "--rule", "majority")
    assert command("push_refined", "profiles")["items"] == named["read"]
    judge_with(studies["profiles"], labels_of)
    quality = command("agreement", "profiles")["questions"][0]
    (revised,) = quality["revisions"]
    assert [revised["accepted"][name]["value"] for name in ("before", "after")] == pytest.approx([1 / 3, 2 / 3])
    assert quality["categories"]["models"][0]["n"] == named["read"]
    people("corpus", "ask", "candidates", "--prompts", prompts.slug, "--endpoint", "scripted")
    pairs = people("corpus", "push", "--study", "pairs")
    assert 0 < pairs["pairs"] <= 4 * pairs["prompts"]
    judge_with(studies["pairs"], labels_of)
    model("ask", "pairs", "respond")
    answers = command("push_relevant", "pairs", "--to", "answers")
    assert answers["items"] == answers["pairs"] > 0 and answers["without_responses"] == 0
    judge_with(studies["answers"], labels_of)
    model("ask", "answers", "mentions")
    ratings = command("agreement", "answers")["questions"][0]["ratings"]
    assert ratings["raters"][0]["rater"] == "people" and ratings["mentions"]["models"][0]["n"] > 0
    assert first in set(
        AnnotationItem.objects.filter(study=studies["answers"]).values_list("payload__prompt", flat=True)
    )
    shown = [*AnnotationItem.objects.values_list("payload", flat=True), *History.objects.values_list("conversations")]
    assert MAIL not in json.dumps(shown, default=str)
    gone = AnnotationItem.objects.filter(cluster="ann")
    assert {item.study.slug for item in gone} >= {"profiles", "pairs", "answers"}
    number = gone.count()
    assert command("erase_user", "corpus", "ann")["items"] == number
    assert not AnnotationItem.objects.filter(cluster="ann").exists() and AnnotationItem.objects.exists()
    assert not Annotation.objects.filter(item__cluster="ann").exists()
    assert not Attribute.objects.filter(user__key="ann").exists()
    left = Task.objects.filter(annotation_item=None, user=None, conversation=None)
    assert not left.exists() and not Completion.objects.filter(run__condition="task", task=None).exists()
    assert "I, ann," not in json.dumps([row.payload for row in Task.objects.all()])
