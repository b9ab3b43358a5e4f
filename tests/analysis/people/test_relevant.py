"""What most people call relevant goes to annotators of preference, with both responses of each writer, once."""

import json
from typing import Any

import pytest
from django.core.management import CommandError

from analysis.models import Task
from analysis.people.stages.relevant import push_relevant
from surveys.annotation.items import push_items
from surveys.annotation.work import next_tasks
from surveys.models import AnnotationItem, Slot, Study
from tests.analysis.people.people_samples import ask, command, judge_items
from tests.analysis.runs.servers import make_fake
from tests.factories import annotate, make_annotation_study, make_annotator
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
MAIL = "ann@example.org"
TEA, CAKE = "Which tea is best?", "Which cake?"
# Each item's prompt, user, attribute and three people's labels; the truth is counted by hand.
SAID = [
    (TEA, "ann", "Drinks no milk.", "yyn"),
    (TEA, "ann", "Grows roses.", "nny"),
    (TEA, "ann", "Sleeps badly.", "yyy"),
    (CAKE, "ann", "Drinks no milk.", "nnn"),
    (TEA, "bob", f"Reads {MAIL} daily.", "yyy"),
]


def make_judged(**work: Any) -> Study:
    study = make_annotation_study(kind="relevance", slug="pairs", **work)
    rows = [
        {
            **{"key": f"item-{n}", "prompt": prompt, "cluster": user, "corpus": "real", "attribute": text},
            **{"source": str(100 + n), "tags": {"user": user, "generator": f"model-{n}", "candidates by": "m"}},
        }
        for n, (prompt, user, text, _) in enumerate(SAID)
    ]
    push_items(study, rows, "tests")
    judge_items(study, "relevance", {f"item-{n}": votes for n, (*_, votes) in enumerate(SAID)})
    return study


def make_preferences() -> Study:
    return make_annotation_study(kind="preference", slug="answers")


def push(*options: str) -> dict[str, Any]:
    return command("push_relevant", "pairs", "--to", "answers", *options)


def test_relevant_attributes_stand_with_both_responses_of_their_writer() -> None:
    make_fake(extra={"reply": f"Write to {MAIL}."})
    study, into = make_judged(), make_preferences()
    ask(study, "respond")
    report = push()
    assert {name: report[name] for name in ("items", "slots", "pairs", "relevant", "not_relevant", "tied")} == {
        **{"items": 2, "slots": 6, "pairs": 2, "relevant": 3, "not_relevant": 2, "tied": 0}
    }
    assert (report["without_responses"], report["generators"]) == (0, {"scripted": 2})
    assert Task.objects.filter(payload__arm="generic").count() == 1  # both users get the same prompt
    ann, bob = AnnotationItem.objects.filter(study=into).order_by("cluster")
    assert ann.payload["attributes"] == [
        {"id": "100", "text": "Drinks no milk."},
        {"id": "102", "text": "Sleeps badly."},
    ]
    assert ann.payload["profile"] == ["Drinks no milk.", "Grows roses.", "Sleeps badly."]  # all that the study knows
    assert (ann.payload["prompt"], ann.kind, ann.corpus, ann.cluster) == (TEA, "preference", "real", "ann")
    assert ann.tags == {"user": "ann", "generator": "scripted", "temperature": 1.0, "simulated": True}
    assert Task.objects.get(pk=ann.source).payload["arm"] == "personalised"
    assert MAIL not in json.dumps([ann.payload, bob.payload]) and report["personal"] == 2 * 2 + 1
    assert sorted(Slot.objects.filter(item=ann).values_list("side", flat=True)) == ["either", "generic", "personalised"]
    person = make_annotator(into)
    task = next(iter(next_tasks(person)))
    assert annotate(person, task, **{f"preference__{part['id']}": "4" for part in task.item.payload["attributes"]})


def test_pairs_without_both_responses_are_counted() -> None:
    make_fake()
    make_fake(name="other")
    study, _ = make_judged(), make_preferences()
    assert push()["without_responses"] == 2  # nobody was asked
    ask(study, "respond")
    command("ask", "pairs", "respond", "--endpoint", "other", "--limit", "2")
    report = push()
    assert (report["items"], report["generators"]) == (3, {"scripted": 2, "other": 1})
    assert report["without_responses"] == 1  # the second model's second pair lacks an arm
    command("ask", "pairs", "respond", "--endpoint", "other")
    again = push()
    assert (again["items"], again["already_there"], again["without_responses"]) == (1, 3, 0)


def test_responses_to_other_attributes_than_people_call_relevant_do_not_count() -> None:
    make_fake()
    study, _ = make_judged(), make_preferences()
    ask(study, "respond")
    row = Task.objects.filter(payload__arm="personalised").first()
    Task.objects.filter(pk=row.pk).update(key="personalised 0 1")
    assert push()["without_responses"] == 1


def test_two_who_push_at_once_push_once() -> None:
    make_fake()
    study, into = make_judged(), make_preferences()
    ask(study, "respond")
    reports = at_once([lambda: push_relevant(study, into)] * 2)
    assert sorted((report["items"], report["already_there"]) for report in reports) == [(0, 2), (2, 0)]
    assert (AnnotationItem.objects.filter(study=into).count(), Slot.objects.filter(item__study=into).count()) == (2, 6)


def test_users_of_two_corpora_with_one_name_are_two() -> None:
    make_fake()
    study, into = make_annotation_study(kind="relevance", slug="pairs"), make_preferences()
    row = {"prompt": TEA, "cluster": "ann", "attribute": "Drinks no milk."}
    push_items(study, [row | {"key": name, "corpus": name} for name in ("real", "made-up")], "tests")
    judge_items(study, "relevance", {}, "yyy")
    assert ask(study, "respond")["read"] == 3  # the generic one serves both
    assert push()["items"] == 2
    assert set(AnnotationItem.objects.filter(study=into).values_list("corpus", flat=True)) == {"real", "made-up"}


def test_other_kinds_of_studies_are_refused() -> None:
    make_judged(), make_preferences()
    for study, into, wanted in (("answers", "answers", "relevance"), ("pairs", "pairs", "preference")):
        with pytest.raises(CommandError, match=f"not a study of annotators with the kind `{wanted}`"):
            command("push_relevant", study, "--to", into)
    with pytest.raises(CommandError, match="There is no study nowhere"):
        command("push_relevant", "pairs", "--to", "nowhere")
