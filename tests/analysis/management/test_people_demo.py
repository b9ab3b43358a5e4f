"""The demo's stage of people: made-up people, all the way to annotators, by scripted models that are named as such."""

import io

import pytest
from django.core.management import call_command

from analysis.management import demo
from analysis.management.commands.demo import Command
from analysis.models import Attribute, Corpus, CorpusStep, Endpoint, Run
from analysis.people.funnel import conversations_to_ask
from surveys.models import AnnotationItem
from surveys.simulation.demo import STAGES, build_demo
from tests.analysis.people.test_merging import HAS_MINILM


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_people_go_from_conversations_to_annotators_once(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DEBUG = True
    monkeypatch.delenv("LOCAL_MODEL", raising=False)
    build_demo("empty")
    told: list[tuple[int, int, str]] = []
    demo.fill_people(lambda *step: told.append(step))
    corpus = Corpus.objects.get()
    assert "made-up" in corpus.name and "Invented" in corpus.source and corpus.licence
    steps = {step.name: step for step in CorpusStep.objects.all()}
    assert {step.state for step in steps.values()} == {"done"}
    assert [(step["name"], step["left_out"]) for step in steps["filter"].report["steps"]] == [
        ("language", 1),
        ("templates", 1),
        ("activity", 1),
        ("assistant-use", 1),
    ]
    assert set(Endpoint.objects.values_list("provider", flat=True)) == {"fake"}
    assert not Attribute.objects.exclude(generator__endswith="(simulated)").exists()
    assert not [row for row in Attribute.objects.all() if row.unlocated]
    report = steps["merge"].report
    if HAS_MINILM:  # vectors of words alone merge nothing
        assert report["merged"] < report["attributes"]  # two conversations that say the same give one attribute
    assert {"health", "religion", "politics"} <= {kind for row in Attribute.objects.all() for kind in row.sensitive}
    assert corpus.users.filter(place__isnull=False).count() == demo.SAMPLED
    items = AnnotationItem.objects.filter(corpus=corpus.name)
    assert items.count() == steps["push"].report["items"] > 50
    assert not items.filter(payload__icontains="sam@example.org").exists()
    demo.fill_people(lambda *step: None)
    assert (Run.objects.count(), items.count()) == (3, steps["push"].report["items"])
    assert told[-1][0] == told[-1][1] == 8


@pytest.mark.django_db(transaction=True)
def test_local_model_has_conversations_to_extract_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_MODEL", "1")
    (_, decide_users), (_, extract) = demo.local_steps()
    decide_users()
    (corpus,) = extract.args
    assert conversations_to_ask(corpus, "extract").count() == demo.LOCAL_CONVERSATIONS


@pytest.mark.django_db
def test_stage_includes_the_earlier_ones(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DEBUG = True
    done: list[str] = []
    monkeypatch.setitem(STAGES, "people", 0.0)
    monkeypatch.setattr("analysis.management.commands.demo.analyse", lambda *given: done.append("analysed"))
    monkeypatch.setattr("analysis.management.commands.demo.analyse_repeats", lambda *given: done.append("repeats"))
    monkeypatch.setattr("analysis.management.commands.demo.fill_people", lambda *given: done.append("people"))
    monkeypatch.setattr("surveys.simulation.demo.annotate_demo", lambda *given: done.append("annotated"))
    call_command("demo", stage="people", stdout=io.StringIO(), stderr=io.StringIO())
    assert done == ["annotated", "analysed", "repeats", "people"]


def test_progress_is_a_few_lines_where_no_terminal_is() -> None:
    log = io.StringIO()
    command = Command(stderr=log)
    for number in range(1, 401):
        command.show_people(number, 400)
    assert log.getvalue().splitlines() == ["1 of 400 simulated people", "400 of 400 simulated people"]
