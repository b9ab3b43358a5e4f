"""A reward model's scores of replies: each by itself, once, resumed, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError
from scipy.special import logit

from analysis.answers.readings import read_new
from analysis.models import ExampleSet, ReplyScore, TrainedModel
from analysis.report.reports import report
from analysis.training.examples import Labelled
from analysis.training.tiers.frozen import embed_texts, find_embedder
from analysis.training.using import open_model
from surveys.models import Study
from tests.analysis.people.people_samples import command
from tests.analysis.report.report_samples import answer_items, make_model_run
from tests.analysis.runs.baseline_factories import make_item, shared
from tests.analysis.training.training_samples import import_rows, tiny_encoder
from tests.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]


def train(folder: Path, *more: str) -> TrainedModel:
    """Train a model that learns to like glad replies."""
    rows = [
        {"id": str(n), "prompt": f"About {n}", "chosen": f"{n} , gladly", "rejected": f"{n} , sadly"} for n in range(80)
    ]
    import_rows(folder, rows)
    command("train", "--examples", "set", "--task", "reward", "--name", "taste", "--seeds", "1", *more)
    return TrainedModel.objects.get()


def asked_twice(*replies: str) -> Study:
    """A study whose offline run gives these replies, one per repeat, to both of its questions."""
    study = make_study("draft")
    make_item(1)
    make_item(2)
    run = make_model_run(study, benchmark="sums")
    for repeat, reply in enumerate(replies):
        answer_items(run, [reply, reply], repeat)
    return study


def check_differences(model: TrainedModel) -> None:
    """Assert that two responses' own scores differ by the logit of preferring the first."""
    said = ["it is , gladly", "it is , sadly", "perhaps", "gladly , gladly", "who knows"]
    opened = open_model(model)
    alone = [Labelled("", "", "", "", "About 1", text) for text in said]
    pairs = [Labelled("", "", "", "", "About 1", text, said[0]) for text in said]
    texts = embed_texts("reward", alone, find_embedder())
    scores = opened.like(alone, texts)
    assert np.ptp(scores) > 0.01
    assert scores - scores[0] == pytest.approx(logit(opened.score(pairs, texts)[0].scores), abs=1e-5)


def test_a_preference_is_a_difference_of_scores(tmp_path: Path) -> None:
    check_differences(train(tmp_path))


@pytest.mark.slow
def test_an_encoder_scores_a_response_by_itself_too(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    base = tiny_encoder(tmp_path / "tiny")
    check_differences(train(tmp_path, "--tier", "encoder", "--plain", "--model", str(base), "--rate", "0.01"))


def test_each_reply_is_scored_once_and_the_best_of_three_stands_in_the_report(tmp_path: Path) -> None:
    model = train(tmp_path)
    study = asked_twice("The answer is B , gladly", "The answer is A , sadly", "The answer is B , gladly")
    with pytest.raises(CommandError, match="taste is neither of teas nor shared with it"):
        command("predict", "taste", "--study", "teas", "--replies")
    shared(model)
    assert command("predict", "taste", "--study", "teas", "--replies")["new"] == 4
    ReplyScore.objects.filter(pk=ReplyScore.objects.latest("pk").pk).delete()  # as if stopped there
    again = command("predict", "taste", "--study", "teas", "--replies")
    assert (again["replies"], again["new"], ReplyScore.objects.count()) == (4, 1, 4)
    read_new(study)
    (row,) = report(study, draws=50, parts=["benchmarks"])["benchmarks"]
    assert [(one["by"], one["k"], one["accuracy"]) for one in row["best_of"]] == [
        ("taste", 1, pytest.approx(2 / 3)),
        ("taste", 3, 1),
    ]


def test_what_has_no_score_of_one_response_is_refused(tmp_path: Path) -> None:
    study = asked_twice("B")
    for name, task, tier in (("judge", "relevance", "frozen"), ("thinker", "reward", "grpo")):
        examples = ExampleSet.objects.create(name=name, task=task)
        given = {"examples": examples, "state": "done", "started_by": "tests"}
        shared(TrainedModel.objects.create(name=name, task=task, tier=tier, **given))
    for name, words in (("judge", "only a reward model"), ("thinker", "has no score of one: train it as frozen")):
        with pytest.raises(CommandError, match=words):
            command("predict", name, "--study", study.slug, "--replies")
    with pytest.raises(CommandError, match=r"--study STUDY \[--replies\]"):
        command("predict", "judge", "--replies")
