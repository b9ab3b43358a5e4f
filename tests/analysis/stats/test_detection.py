"""Measures of scores against truth: by pencil, against scikit-learn, and with nothing to measure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from analysis.stats.detection import Cases, Scored, compare_scores, measure_scores, measures_of, says

ALL = ("accuracy", "precision", "recall", "f1", "best_f1", "auroc", "map", "mrr")


def make_cases(truth: list[int], groups: list[int] | None = None, queries: list[int] | None = None) -> Cases:
    n = len(truth)
    return Cases(np.array(truth, bool), np.array(groups or range(n), np.int64), np.array(queries or [0] * n, np.int64))


def values(cases: Cases, scores: list[float], threshold: float = 0.5) -> dict[str, float | None]:
    found = measure_scores(cases, Scored(np.array(scores, float), threshold), ALL)
    return {name: each.value for name, each in found.items()}


def test_measures_by_pencil() -> None:
    # Called positive: the first three, two of them rightly; one positive is missed. Of the pairs of a positive
    # and a negative case there are 3 × 2: (.9, .6, .2) over (.7, .1) wins 2, 1, 1 = 4 of 6.
    found = values(make_cases([1, 0, 1, 1, 0]), [0.9, 0.7, 0.6, 0.2, 0.1])
    assert found == pytest.approx(
        {
            "accuracy": 3 / 5,
            "precision": 2 / 3,
            "recall": 2 / 3,
            "f1": 2 / 3,
            "best_f1": 6 / 7,  # from .2 on: three of three, with one too many
            "auroc": 4 / 6,
            "map": (1 + 2 / 3 + 3 / 4) / 3,
            "mrr": 1,
        }
    )


def test_lists_without_a_positive_case_are_in_no_mean() -> None:
    found = values(make_cases([0, 1, 0, 0], queries=[0, 0, 1, 1]), [0.9, 0.5, 0.4, 0.3])
    assert (found["map"], found["mrr"]) == (0.5, 0.5)


def test_equal_scores_are_half_a_win() -> None:
    assert values(make_cases([1, 0, 0]), [0.5, 0.5, 0.1])["auroc"] == 0.75


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.5, 0.8, 0.9])), min_size=4, max_size=30).filter(
        lambda rows: len({truth for truth, _ in rows}) == 2
    )
)
def test_same_as_scikit_learn(rows: list[tuple[bool, float]]) -> None:
    truth, scores = map(list, zip(*rows, strict=True))
    found = values(make_cases(truth), scores)
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, np.array(scores) >= 0.5, average="binary", zero_division=np.nan
    )
    assert found["auroc"] == pytest.approx(roc_auc_score(truth, scores))
    assert found["recall"] == pytest.approx(recall)
    assert found["precision"] == (pytest.approx(precision) if precision == precision else None)
    assert found["f1"] == pytest.approx(f1)


def test_average_precision_is_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    truth, scores = rng.random(40) < 0.3, rng.random(40)
    assert values(make_cases(list(truth)), list(scores))["map"] == pytest.approx(average_precision_score(truth, scores))


def test_a_group_that_is_drawn_twice_counts_twice() -> None:
    cases = make_cases([1, 0, 1, 0], groups=[0, 0, 1, 1], queries=[0, 0, 1, 1])
    scored = Scored(np.array([0.9, 0.1, 0.2, 0.8]), 0.5)
    drawn = {name: measure(np.array([[2.0], [1.0]]))[0] for name, measure in measures_of(cases, scored, ALL).items()}
    # As if the first two cases occurred twice: 4 of 6 right; pairs of 3 positives and 3 negatives.
    assert drawn["accuracy"] == pytest.approx(4 / 6)
    assert drawn["auroc"] == pytest.approx(roc_auc_score([1, 0, 1, 0, 1, 0], [0.9, 0.1, 0.9, 0.1, 0.2, 0.8]))
    assert drawn["map"] == pytest.approx((1 + 1 + 0.5) / 3)


def test_what_is_undefined_says_why_and_few_groups_have_no_interval() -> None:
    found = measure_scores(make_cases([0, 0, 0]), Scored(np.zeros(3), 0.5), ALL)
    assert [name for name, each in found.items() if each.value is None] == [
        "precision", "recall", "f1", "best_f1", "auroc", "map", "mrr",
    ]  # fmt: skip
    assert all(each.why for each in found.values() if each.value is None)
    assert found["accuracy"].ci is None and "Fewer than 5" in found["accuracy"].why


def test_a_share_of_all_still_has_a_width() -> None:
    accuracy = measure_scores(make_cases([1, 0] * 10), Scored(np.array([1.0, 0.0] * 10), 0.5), ["accuracy"])["accuracy"]
    assert accuracy.value == 1 and accuracy.ci is not None and accuracy.ci[0] < 0.9


def test_scores_without_a_mistake_beat_equal_ones_and_not_each_other() -> None:
    cases, equal = make_cases([1, 0] * 20), Scored(np.zeros(40), 0.5)
    perfect, other = (Scored(np.array([high, 0.1] * 20), 0.5) for high in (0.9, 0.8))
    own = measure_scores(cases, perfect, ["auroc"])["auroc"]
    assert own.ci == pytest.approx((0.839, 1), abs=0.001)  # Wilson's of 20 of 20
    found = compare_scores(cases, perfect, equal, {"auroc": "auroc"})["auroc"]
    assert (found.value, says(found)) == (0.5, "yes") and found.ci == pytest.approx((0.339, 0.5), abs=0.001)
    assert says(compare_scores(cases, equal, perfect, {"auroc": "auroc"})["auroc"]) == "no"
    assert compare_scores(cases, perfect, other, {"auroc": "auroc"})["auroc"].ci is None
    few = make_cases([1, 0] * 20, groups=[0, 1] * 20)
    assert compare_scores(few, perfect, equal, {"auroc": "auroc"})["auroc"].ci is None


def test_intervals_are_over_groups() -> None:
    """Copies of a case in its own group say nothing new: the interval is that of the groups alone."""
    rng = np.random.default_rng(1)
    truth, scores = rng.random(40) < 0.5, rng.random(40)
    once = measure_scores(make_cases(list(truth)), Scored(scores, 0.5), ["f1"])["f1"]
    groups = np.repeat(np.arange(40), 5)
    again = Cases(np.repeat(truth, 5), groups, groups)
    many = measure_scores(again, Scored(np.repeat(scores, 5), 0.5), ["f1"])["f1"]
    assert many.ci == pytest.approx(once.ci)


def test_a_better_score_beats_a_worse_one_and_itself_not() -> None:
    rng = np.random.default_rng(2)
    truth = rng.random(200) < 0.5
    cases = make_cases(list(truth))
    good, poor = (Scored(truth + rng.normal(0, spread, 200), 0.5) for spread in (0.3, 5.0))
    assert says(compare_scores(cases, good, poor, {"auroc": "auroc"})["auroc"]) == "yes"
    assert says(compare_scores(cases, poor, good, {"auroc": "auroc"})["auroc"]) == "no"
    assert says(compare_scores(cases, good, good, {"auroc": "auroc"})["auroc"]) == "not told apart"
