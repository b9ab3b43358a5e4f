"""Each rater against the majority of the others, and alpha without that rater."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from analysis.stats.agreement.agreement import measure_agreement
from analysis.stats.agreement.labels import NOMINAL, TIE, UNVOTED, Scale, choose_voters
from analysis.stats.agreement.raters import find_majority_of_others
from tests.analysis.stats.label_factories import draw_labels, draw_table, keep_raters, make_labels, measure

#        rater 0  1  2
TABLE = [[1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 1, None], [1, None, None]]


def test_majority_of_the_others_leaves_the_rater_out():
    labels = make_labels(TABLE)
    majority = find_majority_of_others(labels, choose_voters(labels))
    by_rater = {rater: majority[labels.raters == rater].tolist() for rater in range(3)}
    assert by_rater == {0: [1, TIE, TIE, 1, UNVOTED], 1: [1, TIE, TIE, 0], 2: [1, 1, 0]}


def test_scores_of_two_labels_are_those_of_label_one():
    first, _, last = measure(make_labels(TABLE)).raters
    # Rater 0: of the two items with a majority (1 and 1) it gave 1 and 0.
    assert (first.n, first.ties, first.alone, first.confusion.tolist()) == (5, 2, 1, [[0, 0], [1, 1]])
    assert [each.value for each in first.scores.values()] == [1 / 2, 1, 1 / 2, 2 / 3]
    # Rater 2: majorities 1, 1 and 0; it gave 1, 0 and 1.
    assert (last.n, last.ties, last.alone, last.confusion.tolist()) == (3, 0, 0, [[0, 1], [1, 1]])
    assert [each.value for each in last.scores.values()] == pytest.approx([1 / 3, 1 / 2, 1 / 2, 1 / 2])
    assert {each.n for each in last.scores.values()} == {3}


def test_label_shares_have_wilsons_interval():
    [share, _] = measure(make_labels(TABLE)).raters[0].distribution
    # 2 of 5: centre (0.4 + 0.38415) / 1.76829 = 0.44345, half 1.96 √(0.048 + 0.038415) / 1.76829 = 0.32583
    assert (share.value, share.n) == (0.4, 5)
    assert share.ci == pytest.approx((0.1176, 0.7693), abs=1e-4)


def test_label_shares_of_clustered_items_have_the_bootstraps_interval():
    """A rater who gives all items of a user the same label has seen ten users, not a hundred items."""
    table = [[user % 2] for user in range(10) for _ in range(10)]
    clusters = [user for user in range(10) for _ in range(10)]
    alone = measure(make_labels(table)).raters[0].distribution[0]
    clustered = measure(make_labels(table, clusters=clusters)).raters[0].distribution[0]
    assert alone.ci == pytest.approx((0.404, 0.596), abs=1e-3)
    assert clustered.ci[1] - clustered.ci[0] > 0.4


def test_models_are_measured_against_people_only():
    labels = make_labels([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0]], models=[2, 3, 4])
    agreement = measure(labels)
    assert agreement.voters == (0, 1)
    assert [rater.scores["accuracy"].value for rater in agreement.raters] == [1, 1, 0, 0, 0]


def test_raters_of_equal_quality_score_equally_whether_people_or_judges():
    """Ties between two others leave out items that are hard for people; a judge must face the same majorities."""
    table = draw_table(5, items=4000, raters=4, k=2, agreeing=0.5)
    agreement = measure(make_labels(table, models=[3]))
    *people, judge = agreement.raters
    f1 = [rater.scores["f1"].value for rater in people]
    assert judge.scores["f1"].value == pytest.approx(np.mean(f1), abs=0.02)
    assert agreement.together.scores["f1"].value == pytest.approx(np.mean(f1), abs=0.002)
    # The majority of all three is another reference, never tied, reported separately.
    assert judge.against_all.scores["f1"].value < judge.scores["f1"].value - 0.02
    assert (judge.against_all.compared, judge.against_all.ties) == (4000, 0)
    assert judge.confusion.sum() == 12_000 - judge.ties == agreement.together.confusion.sum()


def test_a_judge_is_compared_once_for_each_person_who_is_left_out():
    #         people    judge
    table = [[1, 1, 0, 1], [0, 0, 0, 1], [1, 0, None, 0], [1, None, None, 1]]
    judge = measure(make_labels(table, models=[3])).raters[3]
    # Item 0: without the first or second tied, without the third 1. Item 1: three times 0. Item 2: once 0, once 1.
    assert judge.confusion.tolist() == [[1, 3], [1, 1]]
    assert (judge.compared, judge.ties, judge.alone) == (3, 2, 1)
    # The majorities of all are 1, 0, a tie, and 1.
    assert judge.against_all.confusion.tolist() == [[0, 1], [0, 2]]
    assert (judge.against_all.compared, judge.against_all.ties) == (3, 1)


def test_scores_are_of_the_label_that_is_named():
    labels = make_labels([[0, 1], [0, 0], [1, 1], [2, 2], [2, 0]], n_labels=3)
    rng = np.random.default_rng(0)
    first = measure_agreement(labels, rng, threshold=1, draws=20, positive=0).raters[0]
    # It gives 0 twice, rightly once; the other gives it twice.
    assert [first.scores[name].value for name in ("precision", "recall", "f1")] == [0.5, 0.5, 0.5]
    assert first.scores["accuracy"].value == 3 / 5


def test_baselines_are_a_kind_of_their_own():
    """Two judges who agree, and a baseline that says yes to everything, beside people."""
    table = [[i % 2, i % 2, i % 2, i % 2, 1] for i in range(40)]
    labels = replace(make_labels(table, models=[2, 3, 4]), is_baseline=np.arange(5) == 4)
    agreement = measure(labels)
    assert [rater.kind for rater in agreement.raters] == [0, 0, 1, 1, 2]
    assert {group: agreement.means[group]["kappa"].value for group in agreement.means} == {
        **{"all": 1, "humans": 1, "models": 1, "across": 1, "baselines": 0}
    }
    assert agreement.means["all"]["kappa"].n == 6 and agreement.means["baselines"]["kappa"].n == 2
    assert agreement.coefficients["all"].alpha_nominal.value == 1
    assert agreement.coefficients["models"].raw.value == 1
    assert agreement.raters[4].alpha_without.value is None


def test_baselines_make_no_majority_among_judges():
    labels = replace(make_labels([[1, 1, 0]] * 5, models=[0, 1, 2]), is_baseline=np.arange(3) == 2)
    assert measure(labels).voters == (0, 1)


def test_mean_kappa_of_a_rater_is_over_those_of_its_kind_who_share_enough():
    table = [[i % 2, i % 2, 1 - i % 2 if i < 4 else None, i % 2] for i in range(20)]
    agreement = measure(make_labels(table, models=[3]), threshold=5)
    first, _, third, judge = agreement.raters
    assert (first.mean_kappa.value, first.mean_kappa.n) == (1, 1)
    assert (third.mean_kappa.value, third.mean_kappa.why) == (None, "shares too few items with any other of its kind")
    assert judge.mean_kappa.n == 0


def test_scores_are_undefined_where_nothing_can_be_compared():
    rater = measure(make_labels([[0, None], [None, 1]])).raters[0]
    assert (rater.ties, rater.alone) == (0, 1)
    assert {name: (each.value, each.why) for name, each in rater.scores.items()} == {
        "accuracy": (None, "no item has a majority of the others"),
        "precision": (None, "never gives a label that is scored"),
        "recall": (None, "the majority never is a label that is scored"),
        "f1": (None, "neither gives a label that is scored"),
    }


def test_precision_is_undefined_for_a_rater_who_never_says_yes():
    rater = measure(make_labels([[0, 1, 1], [0, 0, 0]])).raters[0]
    assert rater.scores["precision"].value is None
    assert (rater.scores["recall"].value, rater.scores["f1"].value) == (0, 0)


@pytest.mark.parametrize(("seed", "k"), [(1, 2), (2, 3), (3, 5), (4, 4)])
def test_scores_equal_those_of_scikit_learn(seed, k):
    labels = draw_labels(seed, items=40, raters=5, k=k, missing=0.2, models=[4])
    majority = find_majority_of_others(labels, choose_voters(labels))
    for rater in measure(labels).raters:
        rows = (labels.raters == rater.rater) & (majority >= 0)
        scores = (rater.against_all or rater).scores
        kind = {"average": "binary"} if k == 2 else {"average": "macro"}
        expected = precision_recall_fscore_support(majority[rows], labels.values[rows], zero_division=np.nan, **kind)
        found = [scores[name].value for name in ("precision", "recall", "f1")]
        assert found == pytest.approx(expected[:3])
        assert scores["accuracy"].value == pytest.approx((majority[rows] == labels.values[rows]).mean())


@pytest.mark.parametrize("scale", [NOMINAL, Scale(ordered=True)])
def test_alpha_without_a_rater_is_that_of_the_rest_of_its_kind(scale):
    labels = draw_labels(7, items=30, raters=6, missing=0.2, models=[4, 5])
    for rater in measure(labels, scale).raters:
        rest = (labels.is_model == rater.is_model) & (np.arange(6) != rater.rater)
        kept = measure(keep_raters(labels, rest), scale).coefficients["all"]
        expected = kept.alpha_ordinal if scale.ordered else kept.alpha_nominal
        assert (rater.alpha_without.value, rater.alpha_without.n) == (
            expected.value if expected.value is None else pytest.approx(expected.value),
            expected.n,
        )


def test_alpha_without_a_rater_has_the_interval_of_the_items_that_the_others_share():
    """Without rater 2 five items are left, too few for draws with replacement: they are left out one by one."""
    table = [[1, 1, None], [0, 0, None], [1, 0, None], [0, 0, None], [1, 1, None]] + [[0, None, 0], [1, None, 1]] * 6
    labels = make_labels(table)
    found = measure(labels).raters[2].alpha_without
    rest = measure(keep_raters(labels, np.array([True, True, False]))).coefficients["all"].alpha_nominal
    assert (found.n, found.units, rest.units) == (5, 5, 5)
    assert found.ci == pytest.approx(rest.ci)


def test_alpha_without_the_only_one_who_differs_is_undefined():
    """Seven raters give every item 0; alpha without the eighth must be undefined, not a rounding error."""
    table = [[*[0] * 7, item % 2] for item in range(9)]
    alphas = [rater.alpha_without for rater in measure(make_labels(table)).raters]
    assert alphas[7].value is None
    assert alphas[7].why == "without it no two labels can differ"
    assert all(each.value is not None for each in alphas[:7])
