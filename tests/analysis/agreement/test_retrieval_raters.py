"""Retrieval as a rater: scores by pencil, a threshold from other prompts, and no rating of items used to choose it."""

import math

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from analysis.agreement import retrieval_raters
from analysis.agreement.agreements import rows_for
from analysis.agreement.figures import draw_scores
from analysis.agreement.retrieval_raters import RetrievalRaterError, in_tuning_half, rate, score_by
from analysis.charts.figure import Options
from analysis.stats.detection import choose_threshold
from analysis.stats.lexical import score_bm25
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.labels import record_judgement
from surveys.studies.wording import sized
from tests.analysis.agreement.annotation_samples import annotate_all
from tests.analysis.runs.baseline_factories import LETTERS
from tests.factories import make_annotation_study, make_annotator, make_items
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db


def test_bm25_by_pencil() -> None:
    # Two documents of two and four words; "tea" occurs once, in one of them; the mean length is 3.
    scores = score_bm25(["likes tea", "owns a red bike"], ["Which tea?", "Which tea?"])
    weight = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert scores[0] == pytest.approx(weight * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 3)))
    assert scores[1] == 0


def test_an_attribute_is_one_document_however_often_it_is_paired() -> None:
    once = score_bm25(["likes tea", "owns a red bike"], ["Which tea?", "Which tea?"])
    often = score_bm25(["likes tea", *["owns a red bike"] * 9], ["Which tea?"] * 10)
    assert often[0] == pytest.approx(once[0])


def test_embeddings_score_equal_texts_highest() -> None:
    scores = score_by(LETTERS.embed)(["green tea", "zzz"], ["green tea", "green tea"])
    assert scores[0] == pytest.approx(1)
    assert scores[1] < 0.2


@pytest.mark.parametrize(
    ("scores", "right", "threshold", "f1"),
    [
        ([3, 2, 1], [True, True, False], 2, 1.0),
        ([3, 2, 1], [False, True, False], 2, 2 / 3),
        ([2, 2, 1], [True, False, False], 2, 2 / 3),
        ([1, 1, 1], [False, False, False], 1, 0.0),
    ],
)
def test_the_threshold_with_the_best_f1(scores: list[float], right: list[bool], threshold: float, f1: float) -> None:
    assert choose_threshold(np.array(scores, float), np.array(right)) == (threshold, pytest.approx(f1))


def make_labelled() -> Study:
    """Sixteen prompts with two attributes each; the one that shares the prompt's word changes the response."""
    study = make_annotation_study(overlap=3, quota=100)
    for number in range(16):
        make_items(study, 1, 2 * number, attribute=f"Likes topic{number}.", prompt=f"What about topic{number}?")
        make_items(study, 1, 2 * number + 1, attribute="Owns a bike.", prompt=f"What about topic{number}?")
    for _ in range(3):
        annotate_all(make_annotator(study), "relevance", {f"item-{n}": ("yes", "no")[n % 2] for n in range(32)})
    return study


world = lasting_world(make_labelled)


@pytest.fixture
def study(world: int, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(retrieval_raters, "FEWEST", 4)
    return Study.objects.select_related("current").get(pk=world)


def test_the_other_half_is_rated_rightly(study: Study) -> None:
    rated = rate(study, "bm25", score_bm25)
    judged = Annotation.objects.filter(judge="bm25").select_related("item")
    assert (rated.f1_there, rated.rated, rated.chosen_on) == (1.0, judged.count(), 32 - judged.count())
    assert all(not in_tuning_half(row.item.payload["prompt"], 0) for row in judged)
    assert all((row.labels["relevance"] == "yes") == ("topic" in row.item.payload["attribute"]) for row in judged)


def test_a_threshold_that_says_yes_to_all_is_called_degenerate(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not rate(study, "bm25", score_bm25).degenerate
    # Scores that contradict the labels: nothing beats yes to all.
    against = rate(study, "embeddings", lambda attributes, prompts: -score_bm25(attributes, prompts))
    assert against.degenerate
    assert Annotation.objects.filter(judge="embeddings").first().detail["degenerate"]
    monkeypatch.setattr("analysis.agreement.retrieval_raters.score_bm25", lambda a, p: -score_bm25(a, p))
    call_command("rate_by_retrieval", "teas", seed=5)
    said = capsys.readouterr().out
    assert said.startswith("bm25 seed 5: ") and "degenerate: no threshold does better than yes to all" in said


def test_another_half_is_another_rater(study: Study) -> None:
    assert rate(study, "bm25", score_bm25, seed=3).rater == "bm25 seed 3"
    judged = Annotation.objects.exclude(judge="").values_list("judge", "detail__seed")
    assert set(judged) == {("bm25 seed 3", 3)}


def test_without_labels_nothing_is_chosen() -> None:
    study = make_annotation_study(slug="herbs")
    make_items(study, 4)
    with pytest.raises(RetrievalRaterError, match="it takes 20"):
        rate(study, "bm25", score_bm25)
    assert not Annotation.objects.filter(item__study=study).exists()


def test_one_labelled_item_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_annotation_study(slug="herbs")
    make_items(study, 1)
    monkeypatch.setattr(retrieval_raters, "in_tuning_half", lambda prompt, seed: True)
    monkeypatch.setattr(retrieval_raters, "majority_of", lambda study, pilot: {"item-0": "yes"})
    with pytest.raises(RetrievalRaterError, match="herbs has only 1 labelled item to choose"):
        rate(study, "bm25", score_bm25)


def test_pilots_items_are_rated_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_annotation_study(slug="herbs")
    make_items(study, 3, pilot=True)
    asked = []
    monkeypatch.setattr(retrieval_raters, "majority_of", lambda study, pilot: asked.append(pilot) or {})
    with pytest.raises(CommandError, match="no items of the kind relevance"):
        call_command("rate_by_retrieval", "herbs")
    with pytest.raises(CommandError, match="only 0 labelled items"):
        call_command("rate_by_retrieval", "herbs", pilot=True)
    assert asked == [True]


def test_the_figure_says_on_how_many_items_each_was_tested(study: Study) -> None:
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "mini", {"relevance": "yes"})
    rated = rate(study, "bm25", score_bm25).rated
    question = rows_for(study, draws=5)["questions"][0]
    drawn = draw_scores(question, Options())
    sizes = {row["row"]: row["n"] for row in drawn.table}
    assert (sizes["mini"], sizes["bm25"]) == (32, rated) and 0 < rated < 32
    rows = drawn.spec["datasets"]["rows"]
    shown = {row["row"]: row["short"] for row in rows if row["kind"] == "value"}
    assert shown["mini"].endswith(sized(32)) and shown["bm25"].endswith(sized(rated))
    assert "Not all were held against the same items" in drawn.caption
