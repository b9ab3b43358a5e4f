"""A model's words before and after learning are side by side, with how often they name the attribute."""

from html import escape

import numpy as np
import pytest

from analysis.agreement.agreements import agreement_of
from analysis.models import TrainedModel
from analysis.stats.detection import Scored
from analysis.training.examples import Labelled
from analysis.training.fitting import Parts, divide
from analysis.training.jobs import said_before
from analysis.training.study_labels import store_labels, study_pairs
from analysis.training.tiers.reasoning import ReasonerTrial, learned_from, reply_rows
from surveys.annotation.items import push_items
from surveys.models import Study
from tests.analysis.people.people_samples import judge_items
from tests.factories import make_annotation_study
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = pytest.mark.django_db(transaction=True)
# Per item: what people say, what the model said before and says after, and whether it names the cups.
SAID = [("nnn", "yes", "no", True, False), ("yyy", "yes", "yes", True, True), ("nnn", "no", "no", False, False)]


def make_study() -> Study:
    study = make_annotation_study(kind="relevance", slug="pairs")
    rows = [
        {"key": f"item-{n}", "prompt": "Which tea?", "cluster": f"user {n}", "attribute": "Collects porcelain cups."}
        for n in range(len(SAID))
    ]
    push_items(study, rows, "tests")
    judge_items(study, "relevance", {f"item-{n}": votes for n, (votes, *_) in enumerate(SAID)})
    return study


def reason(label: str, named: bool) -> str:
    about = "Somebody with porcelain cups might like a pretty tea." if named else "The question is a plain one."
    return f"{about} <answer>{label}</answer>"


def label(study: Study, was_asked: bool = True) -> None:
    model = TrainedModel.objects.create(
        name="mine", task="relevance", tier="grpo", study=study, sha256="ab" * 32, started_by="tests"
    )
    pairs = study_pairs(study, "relevance")
    said = [(float(after == "yes"), reason(after, named)) for _, _, after, _, named in SAID]
    before = {
        (pair.key, ""): (first, reason(first, named)) for pair, (_, first, _, named, _) in zip(pairs, SAID, strict=True)
    }
    assert store_labels(study, model, pairs, said, 0.5, before if was_asked else None) == len(SAID)


def test_both_stand_side_by_side_in_numbers_and_on_the_page() -> None:
    study = make_study()
    label(study)
    question = agreement_of(study)["questions"][0]
    (found,) = question["reasonings"]
    assert (found["rater"], found["n"], found["changed"], found["changed_to_people"]) == (
        "trained mine abababab",
        3,
        1,
        1,
    )
    assert found["named"]["before"]["value"] == pytest.approx(2 / 3)
    assert found["named"]["after"]["value"] == pytest.approx(1 / 3) and found["named"]["after"]["n"] == 3
    first = found["rows"][0]
    assert (first["key"], first["people"], first["before"], first["after"]) == ("item-0", "no", "yes", "no")
    page = " ".join(lines_of(log_in(study).get("/console/pairs/agreement/")).split())
    for words in ("Reasoning before and after learning from people", first["said_before"], first["said_after"]):
        assert escape(words) in page
    assert "1 with another label after, of these 1 with that of most people" in page


def test_without_what_it_said_before_there_is_nothing_to_set_beside() -> None:
    study = make_study()
    label(study, was_asked=False)
    assert "reasonings" not in agreement_of(study)["questions"][0]


# --- what it learns from, and what is shown first


def parts() -> Parts:
    divided = ("train", "train", "train", "valid", "test")
    rows = [Labelled(str(n), "", f"g{n}", divided[n % 5], f"p{n}", "a", label=float(n % 7 == 0)) for n in range(210)]
    return divide("relevance", rows)


def test_yes_and_no_are_learned_from_as_often() -> None:
    rows = learned_from("relevance", parts(), 0, steps=50, batch=4)
    assert len(rows) == 200 and sum(row["answer"] == "yes" for row in rows) == 100
    assert all(row["split"] == "train" and "<answer>yes</answer>" in row["prompt"] for row in rows)
    assert rows == learned_from("relevance", parts(), 0, steps=50, batch=4)


def test_what_only_learning_put_right_is_shown_first() -> None:
    divided = parts()
    truth = [float(each.is_positive) for each in divided.all]
    after, before = Scored(np.array(truth), 0.5), Scored(1 - np.array(truth), 0.5)
    trial = ReasonerTrial([after], before, [1.0], [("before", "after")] * len(truth), {})
    rows = reply_rows(divided, trial)
    assert len(rows) == 20 and all(row["after"] == row["people"] != row["before"] for row in rows)
    told = said_before("relevance", divided, trial)
    assert len(told) == len(divided.test) and {label for label, _ in told.values()} == {"yes", "no"}
