"""The score from which a model says yes: by what is to be found, a stated recall, a weight, or as given."""

from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError
from hypothesis import given
from hypothesis import strategies as st

from analysis.models import TrainedModel
from analysis.stats.detection import Cases, choose_precise_threshold
from analysis.training import using
from analysis.training.cards import say_threshold
from analysis.training.evaluation import threshold_on
from surveys.studies.files.kinds import QUALITY
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, support_rows
from tests.factories import make_annotation_study
from tests.surveys.console.console_pages import log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]
CASES = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=20).filter(
    lambda rows: any(right for _, right in rows)
)


def cases_of(supported: list[bool]) -> Cases:
    codes = np.arange(len(supported))
    return Cases(np.array(supported), codes, codes)


def score_of(label: bool, called: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """F1, precision and recall of this label."""
    said, right = called == label, truth == label
    hits = float((said & right).sum())
    return 2 * hits / max(said.sum() + right.sum(), 1), hits / max(said.sum(), 1), hits / max(right.sum(), 1)


@given(CASES)
def test_a_verifiers_threshold_finds_what_is_not_supported(rows: list[tuple[int, bool]]) -> None:
    scores, wrong = np.array([score for score, _ in rows]) / 10, np.array([wrong for _, wrong in rows])
    threshold = threshold_on("verifier", scores, cases_of((~wrong).tolist()))
    best = max(score_of(False, scores >= cut, ~wrong)[0] for cut in np.arange(0, 1.1, 0.05))
    assert score_of(False, scores >= threshold, ~wrong)[0] == pytest.approx(best)
    # In relevance, a yes is to be found.
    threshold = threshold_on("relevance", scores, cases_of(wrong.tolist()))
    best = max(score_of(True, scores >= cut, wrong)[0] for cut in np.arange(0, 1.1, 0.05))
    assert score_of(True, scores >= threshold, wrong)[0] == pytest.approx(best)


@given(CASES, st.sampled_from([0.1, 0.5, 0.8, 1.0]))
def test_precision_is_the_best_of_those_with_this_recall(rows: list[tuple[int, bool]], floor: float) -> None:
    scores, right = np.array([score for score, _ in rows], float), np.array([right for _, right in rows])
    threshold = choose_precise_threshold(scores, right, floor)
    found = {cut: score_of(True, scores >= cut, right)[1:] for cut in scores.tolist()}
    enough = {cut: precision for cut, (precision, recall) in found.items() if recall >= floor - 1e-9}
    assert threshold in enough and enough[threshold] == pytest.approx(max(enough.values()))
    assert threshold == min(cut for cut, precision in enough.items() if precision >= max(enough.values()) - 1e-12)


def test_what_is_found_is_what_annotators_questions_find() -> None:
    """Training and Agreement must report figures about the same label."""
    assert (QUALITY.positive, threshold_on("verifier", np.array([0.2, 0.9]), cases_of([False, True]))) == (
        *("no", pytest.approx(0.2)),
    )


def test_aims_are_kept_with_the_model_and_said(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(300, 0.25))
    train = ("train", "--examples", "set", "--task", "verifier", "--seeds", "1")
    usual = command(*train, "--name", "usual")
    strict = command(*train, "--name", "strict", "--least-recall", "0.95")
    given_one = command(*train, "--name", "given", "--threshold", "0.9")
    weighted = command(*train, "--name", "weighted", "--positive-weight", "8")
    reports = [usual, strict, given_one, weighted]
    assert [each["threshold_by"]["aim"] for each in reports] == ["f1", "precision", "given", "weight"]
    assert {each["positive"] for each in reports} == {"not supported"}
    assert [usual["recall"], usual["f1"]] == [usual["unsupported"]["recall"], usual["unsupported"]["f1"]]
    assert usual["positives"] == usual["unsupported"]["positives"] == usual["n"] - usual["supported"]["positives"]
    assert strict["threshold_by"]["recall"] >= 0.95 and strict["threshold_by"]["least_recall"] == 0.95
    assert (given_one["threshold"], weighted["threshold"]) == (0.9, 0.5)
    # A weight on the unsupported finds more of them; the ranking hardly moves.
    assert weighted["recall"] > usual["recall"] and weighted["auroc"] == pytest.approx(usual["auroc"], abs=0.1)
    again = command("evaluate", "strict", "--examples", "set")
    assert (again["threshold_by"], again["recall"]) == (strict["threshold_by"], strict["recall"])
    study = make_annotation_study(kind="attribute", slug="facts")
    TrainedModel.objects.update(study=study, examples=None, owner=None)
    said = "with the best precision at a recall of at least 0.95 of “not supported” on the validation part"
    assert said in " ".join(log_in(study).get(f"/console/{study.slug}/models/strict/").content.decode().split())


def test_models_trained_earlier_are_tested_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_rows(tmp_path, support_rows(200, 0.2))
    report = command("train", "--examples", "set", "--task", "verifier", "--name", "old", "--seeds", "1")
    kept = using.read_kept(TrainedModel.objects.get())
    earlier = {name: value for name, value in kept.items() if name not in ("positive", "threshold_by")}
    monkeypatch.setattr(using, "read_kept", lambda model: earlier)
    again = command("evaluate", "old", "--examples", "set")
    assert (again["positive"], again["threshold"]) == ("supported", report["threshold"])
    assert [again[name] for name in ("precision", "recall", "f1")] == [
        report["supported"][name] for name in ("precision", "recall", "f1")
    ]
    assert "the best F1 of “supported” on the validation part" in say_threshold(again)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--threshold", "0.4", "--least-recall", "0.8"], "not both"),
        (["--threshold", "1.5"], "above 0 and below 1"),
        (["--least-recall", "0"], "above 0 to 1"),
        (["--positive-weight", "-1"], "must be above 0"),
        (["--task", "reward", "--threshold", "0.4"], "has no threshold"),
    ],
)
def test_aims_that_make_no_sense_are_refused(tmp_path: Path, options: list[str], reason: str) -> None:
    import_rows(tmp_path, support_rows(40))
    with pytest.raises(CommandError, match=reason):
        command("train", "--examples", "set", "--task", "verifier", "--name", "none", *options)
