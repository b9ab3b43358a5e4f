"""Agreement on one question: which pairs are averaged, what is undefined and why, and the sentence about skew."""

from collections import Counter

import numpy as np
import pytest

from analysis.stats.agreement import pairs
from analysis.stats.agreement.agreement import measure_agreement
from analysis.stats.agreement.labels import NOMINAL, TIE, Scale, read_maybe
from tests.analysis.stats.label_factories import draw_labels, make_labels

ORDERED = Scale(ordered=True)


def measure(labels, scale=NOMINAL, threshold=1, draws=100, seed=0):
    return measure_agreement(labels, np.random.default_rng(seed), scale, threshold, draws)


def test_means_are_taken_over_pairs_of_people_of_models_and_across():
    agreement = measure(draw_labels(1, items=50, raters=5, models=[3, 4]))
    kappas = {(pair.a, pair.b): pair.measures["kappa"].value for pair in agreement.pairs}
    groups = {
        "humans": [(0, 1), (0, 2), (1, 2)],
        "models": [(3, 4)],
        "across": [(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)],
        "all": list(kappas),
    }
    for group, members in groups.items():
        mean = agreement.means[group]["kappa"]
        assert mean.value == pytest.approx(np.mean([kappas[pair] for pair in members]))
        assert mean.n == len(members)


def test_pairs_below_the_threshold_stand_in_the_table_but_not_in_the_mean():
    table = [[0, 0, None], [1, 1, None], [0, 1, None], [1, 0, 1], [0, 0, 0]]
    agreement = measure(make_labels(table), threshold=5)
    assert [(pair.a, pair.b, pair.n) for pair in agreement.pairs] == [(0, 1, 5), (0, 2, 2), (1, 2, 2)]
    assert agreement.pairs[1].measures["kappa"].value == 1
    assert agreement.means["all"]["kappa"].n == 1
    assert agreement.means["all"]["kappa"].value == agreement.pairs[0].measures["kappa"].value


def test_mean_without_enough_shared_items_says_so():
    mean = measure(draw_labels(1, items=19), threshold=20).means["humans"]["kappa"]
    assert (mean.value, mean.n, mean.why) == (None, 0, "no two people share 20 items")


def test_intervals_are_made_for_the_pairs_that_share_most(monkeypatch):
    """Most pairs of many raters share only an item or two; they keep their values and say why there is no interval."""
    table = [[i % 3, (i + 1) % 3 if i % 4 else i % 3, i % 3 if i < 12 else None] for i in range(40)]
    every = measure(make_labels(table), threshold=20).pairs
    monkeypatch.setattr(pairs, "MOST_PAIRS", 2)
    first, second, third = measure(make_labels(table), threshold=20).pairs
    assert (first.n, second.n, third.n) == (40, 12, 12)
    assert third.measures["kappa"].value == every[2].measures["kappa"].value
    assert (third.measures["kappa"].ci, third.measures["kappa"].why) == (None, pairs.NOT_AMONG_MOST)
    assert every[2].measures["kappa"].ci is not None and first == every[0] and second == every[1]


def test_pairs_that_count_in_the_mean_have_intervals_however_many_there_are(monkeypatch):
    monkeypatch.setattr(pairs, "MOST_PAIRS", 0)
    agreement = measure(draw_labels(1, items=30, raters=3), threshold=20)
    assert all(pair.measures["kappa"].ci for pair in agreement.pairs)
    assert agreement.means["all"]["kappa"].n == 3


def test_pair_without_shared_items_says_so():
    [pair] = measure(make_labels([[0, None], [None, 1]])).pairs
    assert pair.n == 0
    assert {(each.value, each.why) for each in pair.measures.values()} == {(None, "no shared items")}


def test_pair_with_one_label_has_raw_agreement_and_no_kappa():
    [pair] = measure(make_labels([[1, 1]] * 5, 3), ORDERED).pairs
    assert {name: each.value for name, each in pair.measures.items()} == {
        "raw": 1,
        "kappa": None,
        "ac1": None,
        "kappa_linear": None,
        "kappa_quadratic": None,
        "spearman": None,
    }
    assert pair.measures["kappa"].why == "both raters gave one and the same label only"
    assert pair.measures["spearman"].why == "one of the two raters gave one label only"


def test_rater_who_never_varies_has_kappa_zero_and_no_rank_correlation():
    """Chance explains all of the agreement, which is a finding; a rank correlation is not defined at all."""
    [pair] = measure(make_labels([[0, 0], [0, 1], [0, 1], [0, 0]]), ORDERED).pairs
    assert pair.measures["kappa"].value == 0
    assert pair.measures["spearman"].value is None


def test_labels_without_an_order_have_no_ordinal_measures():
    agreement = measure(draw_labels(1))
    assert set(agreement.pairs[0].measures) == {"raw", "kappa", "ac1"}
    found = agreement.coefficients["all"]
    assert (found.alpha_ordinal.value, found.alpha_ordinal.why) == (None, "the labels have no order")
    assert (found.alpha_interval.value, found.alpha_interval.why) == (None, "the labels are not numbers")


def test_fleiss_needs_as_many_labels_on_each_item():
    uneven = measure(make_labels([[0, 0, 1], [1, 1, None], [0, 1, 1]])).coefficients["all"].fleiss
    assert uneven.value is None
    assert uneven.why == "items have 2 to 3 labels; Fleiss' kappa needs as many on each"


def test_fleiss_does_not_ask_for_the_same_raters():
    agreement = measure(make_labels([[0, 0, None], [1, None, 0], [None, 1, 1]]))
    # P = 2/3, P_e = 1/4 + 1/4
    assert agreement.coefficients["all"].fleiss.value == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([[0, None], [None, 1]], "no item has two labels"),
        ([[1, 1], [1, 1]], "only one label was used"),
        ([], "no item has two labels"),
    ],
)
def test_alpha_is_undefined_for_a_reason(table, why):
    alpha = measure(make_labels(table, 2)).coefficients["all"].alpha_nominal
    assert (alpha.value, alpha.ci, alpha.why) == (None, None, why)


def test_people_and_models_have_coefficients_of_their_own():
    agreement = measure(make_labels([[0, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]] * 5, models=[2, 3]))
    raw = {group: each.raw.value for group, each in agreement.coefficients.items()}
    # Six pairs per item: 0,0,1,0 has 3 equal ones, 1,1,1,0 has 3, 0,0,0,0 has 6.
    assert raw == pytest.approx({"all": (3 + 3 + 6) / 18, "humans": 1, "models": 1 / 3})


def test_a_group_is_measured_only_where_there_are_both_kinds():
    assert list(measure(draw_labels(1)).coefficients) == ["all"]


def test_majority_counts_ties_last():
    agreement = measure(make_labels([[0, 0, 1], [0, 1, 2], [2, 2, 2], [1, 0, None]]))
    assert agreement.majority == {0: 1, 1: 0, 2: 1, TIE: 2}
    assert (agreement.items, agreement.labels) == (4, 11)


def test_skewed_labels_get_a_sentence_and_ac1_beside_kappa():
    """121 items, 119 of them judged alike: the case in which a bare 0.00 looks like failure."""
    agreement = measure(make_labels([[1, 1]] * 119 + [[0, 1], [1, 0]]), threshold=20)
    found = agreement.coefficients["all"]
    assert (found.raw.value, agreement.means["all"]["kappa"].value) == pytest.approx((119 / 121, -1 / 120), abs=1e-9)
    assert found.ac1.value > 0.98
    assert agreement.skew["all"] == (
        "Raters agree on 98.3% of what they compare, yet mean κ is -0.01: one label takes 99.2% of all labels, so "
        "chance alone would agree nearly as often. AC1, which skew does not pull down, is 0.98."
    )


def test_skew_is_judged_by_alpha_where_no_pair_shares_enough():
    agreement = measure(make_labels([[1, 1]] * 15 + [[0, 1]]), threshold=20)
    assert "yet α is " in agreement.skew["all"]


@pytest.mark.parametrize("table", [[[0, 0]] * 20 + [[1, 1]] * 20, [[0, 1]] * 5 + [[1, 1]] * 35, [[1, 1]] * 40])
def test_no_sentence_where_kappa_is_high_or_agreement_low_or_nothing_is_defined(table):
    assert measure(make_labels(table, 2)).skew["all"] == ""


def test_views_of_maybe_differ_where_conclusions_depend_on_it():
    """Two people who differ only between no and maybe agree fully if maybe is no, and hardly if it is yes."""
    labels = make_labels([[0, 1], [1, 0], [2, 2], [2, 2], [0, 0], [1, 1]] * 5)
    found = {
        name: measure(view.labels, view.scale).pairs[0].measures["kappa"].value
        for name, view in read_maybe(labels).items()
    }
    # maybe_is_yes: p_o = 4/6, both say yes in 4 of 6: p_e = 16/36 + 4/36, so (24 - 20) / (36 - 20) = 0.25
    assert found["maybe_is_no"] == 1
    assert found["maybe_is_yes"] == pytest.approx(0.25)
    assert found["nominal"] == pytest.approx((4 / 6 - 12 / 36) / (1 - 12 / 36))
    ordinal = measure(labels, ORDERED).pairs[0].measures["kappa_quadratic"].value
    assert ordinal > found["nominal"]


def test_interval_does_not_depend_on_which_raters_are_models():
    people, mixed = (measure(draw_labels(2, models=models)).coefficients["all"] for models in ([], [3]))
    assert people == mixed


def test_clusters_are_what_is_drawn():
    labels = make_labels([[0, 0], [0, 1], [1, 1], [1, 1]], clusters=[7, 7, 9, 9])
    assert measure(labels).units == 2


def test_where_raters_guess_and_a_label_is_rare_no_interval_ends_below_chance():
    rng, below, known = np.random.default_rng(1), Counter(), Counter()
    for seed in range(40):
        table = rng.choice(2, size=(80, 4), p=(0.95, 0.05)).tolist()
        found = measure(make_labels(table, 2, models=[3]), threshold=5, seed=seed)
        people = found.coefficients["humans"]
        estimates = {name: getattr(people, name) for name in ("alpha_nominal", "fleiss")}
        estimates |= {f"mean of {group}": found.means[group]["kappa"] for group in ("humans", "across", "all")}
        estimates |= {"pair": found.pairs[0].measures["kappa"], "rater": found.raters[0].mean_kappa}
        for name, one in (estimates | {"without": found.raters[0].alpha_without}).items():
            if one.ci:
                known[name] += 1
                below[name] += one.ci[1] < 0
    assert min(known.values()) > 25
    assert max(below.values()) <= 2, below


def test_mean_kappa_may_be_as_much_higher_as_one_more_shared_label_in_one_of_its_pairs_adds():
    """Each of three raters gives 40 items the second label twice, never as another: κ is -0.2 / 3.8 in each pair."""
    table = [[int(item in (2 * rater, 2 * rater + 1)) for rater in range(3)] for item in range(40)]
    mean = measure(make_labels(table, 2), draws=300).means["all"]["kappa"]
    more = 40 * (1 - 0.025 ** (1 / 40)) * 0.95
    assert (mean.value, mean.ci[1]) == pytest.approx((-0.2 / 3.8, -0.2 / 3.8 + more * 2 / 3.8 / 3))


def test_where_ordered_labels_are_rare_alpha_may_be_much_higher():
    """No item has two rare labels here, on whichever side, and three are as likely."""
    table = [[2, 2]] * 17 + [[2, 3], [2, 0], [4, 2]]
    found = measure(make_labels(table, 5), Scale(True, (1.0, 2.0, 3.0, 4.0, 5.0)), draws=300).coefficients["all"]
    assert [one.ci[1] for one in (found.alpha_nominal, found.alpha_ordinal, found.alpha_interval)] == [1, 1, 1]
