"""A trained model is claimed to beat the best judge if it does, and seldom if all raters are alike."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.agreement.follow_ups.trained import Row, claims_of, compare_with_judge, swapped_p

MODELS, JUDGES = ("trained a", "trained b"), ("judge 1", "judge 2", "judge 3")
ITEMS = 80


def study_of(seed: int, right: float = 0.75, of_models: float = 0.75, positive: str | None = "yes") -> list[Row]:
    """Claim rows of independent raters: models are right with chance `of_models`, judges with `right`."""
    dice = np.random.default_rng(seed)
    units = [f"item {number}" for number in range(ITEMS)]
    people = {unit: ("no", "yes")[dice.integers(2)] for unit in units}
    said: dict[str, dict[str, str]] = {unit: {} for unit in units}
    for rater in (*MODELS, *JUDGES):
        for unit, truth in people.items():
            is_right = dice.random() < (of_models if rater in MODELS else right)
            said[unit][rater] = truth if is_right else ("yes" if truth == "no" else "no")
    asked: Any = SimpleNamespace(
        question=SimpleNamespace(positive=positive), wholes={unit: unit for unit in units}, unit="item", said=said
    )
    rows = []
    for model in MODELS:
        known = [row for judge in JUDGES if (row := compare_with_judge(asked, model, judge, people))]
        rows.append(max(known, key=lambda row: row["judges"]["value"]) | {"compared": len(known)})
    return [{"question": "relevance", "trained": rows}]


def test_raters_who_are_alike_are_seldom_told_apart() -> None:
    """Of 40 studies 2 are 5 %, and 7 would be more than three standard errors above."""
    assert sum(bool(claims_of(study_of(seed))) for seed in range(40)) <= 6


@pytest.mark.parametrize("positive", ["yes", None])
def test_models_that_are_better_are_claimed_with_what_the_claim_rests_on(positive: str | None) -> None:
    questions = study_of(1, of_models=0.99, positive=positive)
    claims = claims_of(questions)
    assert [(claim["page"], claim["rater"], claim["family"]) for claim in claims] == [
        ("agreement", model, "6 pairs of a trained model and a judge") for model in MODELS
    ]
    assert {row["beats"] for row in questions[0]["trained"]} == {"yes"}
    for claim in claims:
        assert claim["ci"][0] > 0 and claim["p"] < 0.04 and claim["n"] == [ITEMS]
        assert f"{claim['rater']} is above {claim['judge']}" in claim["sentence"]


def test_what_is_no_claim_is_not_told_apart() -> None:
    questions = study_of(2)
    assert claims_of(questions) == []
    assert {row["beats"] for row in questions[0]["trained"]} == {"not told apart"}


def test_labels_that_are_the_same_are_never_told_apart_by_swapping() -> None:
    truth, said = np.array([True, False] * 20), np.array([True, True] * 20)
    assert swapped_p(truth, said, said, np.arange(40), True) == 1.0
    assert swapped_p(truth, truth, ~truth, np.arange(40), True) < 0.001  # type: ignore[operator]
