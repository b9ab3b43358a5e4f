"""The console's pages of trained models: who may see which, what they say, and what their buttons do."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.charts.figure import Options
from analysis.models import ExampleSet, TrainedModel
from analysis.training import views
from analysis.training.evaluation import TEXTS_FOLLOW
from analysis.training.views import draw_curve, draw_scores, warnings_of
from surveys.models import AuditEvent, Study
from tests.analysis.people.people_samples import command
from tests.analysis.runs.baseline_factories import shared
from tests.analysis.training.training_samples import import_rows, support_rows
from tests.factories import make_study
from tests.roles import as_account, make_roles
from tests.surveys.console.console_pages import lines_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]
CURVE = [{"seed": 0, "step": 1, "loss": 0.7}, {"seed": 0, "step": 2, "loss": 0.5}, {"seed": 0, "step": 2, "valid": 0.8}]


@pytest.fixture
def study() -> Study:
    study = make_study("draft")
    make_roles(study)
    return study


def make_model(study: Study | None = None, name: str = "mine", **changes: Any) -> TrainedModel:
    examples = None if study else ExampleSet.objects.get_or_create(name="set", defaults={"task": "verifier"})[0]
    given = {"task": "verifier", "tier": "encoder", "state": "stopped", "started_by": "tests"} | changes
    return shared(TrainedModel.objects.create(name=name, study=study, examples=examples, **given))


def address(name: str, model: str = "mine", slug: str = "teas") -> str:
    return reverse(f"training:{name}", args=[slug] if name == "models" else [slug, model])


def test_a_finished_model_shows_its_figures_beside_baselines(study: Study, tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(200, noise=0.1))
    report = command("train", "--examples", "set", "--task", "verifier", "--name", "mine")
    shared(TrainedModel.objects.get())
    page = as_account("researcher").get(address("model"))
    said = lines_of(page)
    assert "By AUROC mine beats prior" in said
    for name in ("BM25", "cosine", "length", f"{report['auroc']:.3f}"):
        assert name in said
    assert page.content.decode().count("<svg") >= 2
    drawn = draw_scores(report, Options())
    assert [row["who"] for row in drawn.table] == ["mine", "prior (share of not supported)", "BM25", "cosine", "length"]
    assert drawn.table[0]["low"] < drawn.table[0]["value"]
    one = draw_scores(report | {"n": 1, "groups": 1}, Options())
    assert one.caption.startswith("1 example of 1 group that it never saw;")
    TrainedModel.objects.update(metrics=report | {"n": 1200, "groups": 1})
    assert "1,200 examples of 1 group; “not supported” is positive" in lines_of(
        as_account("researcher").get(address("model"))
    )


def test_the_list_counts_states_apart(study: Study) -> None:
    client = as_account("researcher")
    assert "No model has learned from people yet." in lines_of(client.get(address("models")))
    make_model(study, "waits", state="waiting")
    make_model(study, "failed", state="failed", reason="no memory")
    said = lines_of(client.get(address("models")))
    assert "No model has learned from people yet; 1 waiting and 1 failed." in said
    make_model(study, "done", state="done")
    assert "1 model learned from people, 1 waiting and 1 failed." in lines_of(client.get(address("models")))


def test_a_models_name_that_does_not_fit_is_refused_in_plain_words() -> None:
    assert views.TrainingForm({"name": "two words"}).errors["name"] == ["Use up to 50 letters, digits, - and _."]


def test_texts_that_a_warning_quotes_stand_in_a_list() -> None:
    texts = ["it's", 'so "far"', "a; b"]
    report = {"warnings": [f"Too many, so the test {TEXTS_FOLLOW}{'; '.join(map(repr, texts))}", "Another."]}
    assert warnings_of(report) == [("Too many, so the test may say too much:", texts), ("Another.", [])]


def test_a_training_under_way_shows_how_far_it_is(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    make_model(study, state="running", share=0.25, seconds=60, curve=CURVE)
    monkeypatch.setattr(views.jobs, "is_worked_on", lambda model: True)
    page = as_account("researcher").get(address("progress"))
    assert "25 %, 3 min" in lines_of(page) and "to go" in lines_of(page)
    assert len(draw_curve(TrainedModel.objects.get(), Options()).table) == 3


def test_one_that_was_ended_in_the_middle_can_be_resumed_and_a_waiting_one_stopped(
    study: Study, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    called: list[bool] = []
    monkeypatch.setattr(views.train_next, "delay", lambda: called.append(True))
    make_model(study, state="running")
    client = as_account("researcher")
    assert "Ended in the middle" in lines_of(client.get(address("model")))
    with django_capture_on_commit_callbacks(execute=True):
        client.post(address("resume"))
    assert (TrainedModel.objects.get().state, called) == ("waiting", [True])
    client.post(address("stop"))
    assert TrainedModel.objects.get().state == "stopped"
    actions = AuditEvent.objects.filter(study=study).values_list("action", flat=True)
    assert {"training resumed", "training stopped"} <= set(actions)


def test_a_list_of_many_models_takes_no_more_queries(study: Study) -> None:
    client, counts = as_account("researcher"), []
    for number in (1, 25):
        for place in range(TrainedModel.objects.count(), number):
            make_model(study if place % 2 else None, f"model-{place}")
        with CaptureQueriesContext(connection) as queries:
            client.get(address("models"))
        counts.append(len(queries))
    assert counts[0] == counts[1]
