"""Tasks about annotators' items, and about prompts and people: each is asked about the right ones, once."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.answers.compared import runs_of
from analysis.models import Attribute, Completion, CorpusUser, Run, Task
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.stages.prompt_lists import ListedPrompt
from analysis.runs.asking import stages
from surveys.models import AnnotationItem
from tests.analysis.people.people_samples import ask, judged, make_person, people, talk
from tests.analysis.runs.servers import make_fake
from tests.factories import make_annotation_study, make_study
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_doubted_attributes_get_a_reason_then_a_category_and_a_revision() -> None:
    make_fake()
    study = judged("attribute", "quality", {"item-0": "nny", "item-1": "myy", "item-2": "yyy"})
    with pytest.raises(CommandError, match="nothing is left to ask of .*: category is about answers to reason"):
        ask(study, "category")
    assert ask(study, "reason")["read"] == 2
    assert ask(study, "category")["read"] == 2 and ask(study, "refine")["read"] == 2
    assert ask(study, "reason")["planned"] == 2
    assert ask(study, "refine", "--rule", "majority", "--dry-run")["calls"] == 0
    said = Task.objects.filter(run__instruction="category-1").values_list("annotation_item__key", "values__category")
    assert dict(said).keys() == {"item-0", "item-1"}
    assert Run.objects.count() == 3 and list(runs_of(study)) == []


def test_responses_have_two_arms_and_mentions_are_asked_of_one() -> None:
    make_fake()
    study = judged("relevance", "relevance", {"item-0": "yyn", "item-1": "nny", "item-2": "yyy"})
    relevant = AnnotationItem.objects.filter(study=study, key__in=["item-0", "item-2"])
    pairs = len({row.payload["prompt"] for row in relevant})
    with pytest.raises(CommandError, match="nothing is left to ask of .*: mentions is about answers to respond"):
        ask(study, "mentions")
    assert ask(study, "respond")["read"] == 2 * pairs
    known = {row.payload["arm"]: set() for row in Task.objects.all()}
    for row in Task.objects.all():
        known[row.payload["arm"]] |= set(row.payload["attributes"])
    assert known == {"generic": set(), "personalised": {row.payload["attribute"] for row in relevant}}
    assert ask(study, "mentions")["read"] == pairs
    said = Task.objects.filter(run__instruction="mentions-1").values_list("values__mentioned", flat=True)
    assert all(isinstance(value, bool) for row in said for value in row)


def test_the_same_response_of_two_models_is_asked_about_once() -> None:
    make_fake(extra={"reply": "Rye bread."})
    make_fake(name="other", extra={"reply": "Rye bread."})
    study = judged("relevance", "relevance", {"item-0": "yyy"})
    ask(study, "respond")
    call_command("ask", study.slug, "respond", "--endpoint", "other", stdout=StringIO())
    assert Task.objects.filter(payload__arm="personalised").count() == 2
    assert ask(study, "mentions")["planned"] == 1


def test_runs_of_tasks_have_pages_with_what_was_read() -> None:
    make_fake()
    study = judged("attribute", "quality", {"item-0": "nny"})
    run = Run.objects.get(pk=ask(study, "reason")["run"])
    client = log_in(study)
    call, task = run.completions.get(), run.tasks.get()
    for name, numbers, words in (
        ("run", [run.pk], "Task reason-1"),
        ("run", [run.pk], task.key),
        ("completion", [run.pk, call.pk], "The quotes say less than the statement."),
    ):
        page = client.get(reverse(f"baselines:{name}", args=[study.slug, *numbers]))
        assert page.status_code == 200 and words in page.content.decode(), name
    out = StringIO()
    call_command("run", "list", stdout=out)
    assert f"{study.slug} reason-1" in out.getvalue()


def test_tasks_are_asked_about_studies_of_their_kind() -> None:
    make_fake()
    with pytest.raises(CommandError, match="with the kind `attribute`"):
        ask(make_annotation_study(kind="relevance", slug="r"), "reason")
    with pytest.raises(CommandError, match="with the kind `relevance`"):
        ask(make_study(), "respond")


def test_the_surest_attributes_are_those_of_known_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "MOST_ATTRIBUTES", 2)
    corpus = make_person("ann", talk("ann", 3))[0].corpus
    people(corpus.name, "filter")
    given = {"Sings.": None, "Bakes.": 0.5, "Knits.": 0.9}
    keep_attributes(corpus, [NewAttribute("ann", text, sure) for text, sure in given.items()])
    for row in Attribute.objects.all():
        Attribute.objects.filter(pk=row.pk).update(
            merged_into=row.pk, cluster_size=1, cluster_confidence=given[row.text]
        )
    (task,) = stages.candidate_tasks(corpus, [ListedPrompt("Which bread?")])
    assert task.payload["attributes"] == ["Knits.", "Bakes."]


def test_candidates_are_asked_of_every_prompt_and_person_with_attributes() -> None:
    make_fake()
    study = make_study()
    corpus = make_person("ann", talk("ann", 3))[0].corpus
    make_person("bob", talk("bob", 3), corpus)
    people(corpus.name, "filter")
    words = study.current.prompts.first().text
    keep_attributes(corpus, [NewAttribute("ann", text, 0.9) for text in (f"Asks: {words}", "Zzz.")])
    for row in Attribute.objects.all():
        Attribute.objects.filter(pk=row.pk).update(merged_into=row.pk, cluster_size=1, cluster_confidence=0.9)
    with pytest.raises(CommandError, match="name a list of them, or the study that has them .--prompts."):
        people(corpus.name, "ask", "candidates", "--endpoint", "scripted")
    report = people(corpus.name, "ask", "candidates", "--endpoint", "scripted", "--prompts", study.slug)
    assert report["read"] == study.current.prompts.count() > 1
    first = Task.objects.get(payload__prompt=words)
    assert Attribute.objects.first().pk in first.values["candidates"]
    again = people(corpus.name, "ask", "candidates", "--endpoint", "scripted", "--prompts", study.slug)
    assert again["planned"] == report["planned"]
    CorpusUser.objects.get(key="ann").delete()
    assert not Task.objects.exists() and not Completion.objects.exists()
