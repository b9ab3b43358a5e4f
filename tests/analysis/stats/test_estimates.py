"""The bootstrap: weighted sums, the same draws for the same seed, intervals that cover, and when there is none."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from analysis.stats.agreement import estimates
from analysis.stats.agreement.coefficients import coefficient_statistic
from analysis.stats.agreement.estimates import (
    Statistic,
    bootstrap,
    draw_weights,
    estimate_share,
    group_units,
    make_estimate,
)
from analysis.stats.agreement.labels import Scale, count_votes
from analysis.stats.agreement.pairs import find_shared, group_pairs, pair_statistic
from tests.analysis.stats.label_factories import draw_labels, draw_table, make_labels, measure


def bootstrap_alpha(labels, seed=0, draws=400):
    statistic = coefficient_statistic(count_votes(labels), Scale(), labels.n_labels)
    [spreads] = bootstrap([statistic], group_units(labels), np.random.default_rng(seed), draws)
    return spreads["alpha_nominal"].estimates([labels.n_items], "undefined")[0]


def width(estimate):
    return estimate.ci[1] - estimate.ci[0]


def test_weights_draw_as_many_units_as_there_are():
    [weights] = draw_weights(7, 50, 50, np.random.default_rng(1))
    assert weights.shape == (7, 50)
    assert (weights.sum(axis=0) == 7).all()
    assert weights.mean() == 1


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_draws_do_not_depend_on_how_they_are_cut(chunk):
    whole = np.concatenate(list(draw_weights(9, 64, 64, np.random.default_rng(5))), axis=1)
    parts = np.concatenate(list(draw_weights(9, 64, chunk, np.random.default_rng(5))), axis=1)
    np.testing.assert_array_equal(whole, parts)


def test_weighted_sums_are_what_repeated_items_give():
    """A draw that holds item i w_i times must score like labels in which item i occurs w_i times."""
    table = draw_table(3, items=12, missing=0.2)
    labels, weights = make_labels(table, 3), np.random.default_rng(8).integers(0, 4, size=12)
    repeated = make_labels([row for row, times in zip(table, weights, strict=True) for _ in range(times)], 3)
    scale = Scale(ordered=True, numbers=(1, 2, 5))
    for make in (score_pairs, lambda each: coefficient_statistic(count_votes(each), scale, 3)):
        weighted, plain = make(labels), make(repeated)
        with np.errstate(invalid="ignore"):
            found = weighted.measure(weighted.summary.T @ weights[:, None].astype(float))
            once = plain.measure(plain.summary.T @ np.ones((repeated.n_items, 1)))
        for name, expected in once.items():
            np.testing.assert_allclose(found[name], expected, atol=1e-12)


def score_pairs(labels):
    shared = find_shared(labels)
    return pair_statistic(labels, shared, group_pairs(labels, shared, 2), ordered=True)


def test_same_seed_gives_the_same_interval():
    labels = draw_labels(1)
    assert bootstrap_alpha(labels, seed=4) == bootstrap_alpha(labels, seed=4)
    assert bootstrap_alpha(labels, seed=4) != bootstrap_alpha(labels, seed=5)


def test_interval_is_about_as_wide_as_the_standard_error_says():
    # A mean of 200 zeros and 200 ones: 1.96 · √(0.25 / 400) = 0.049 on either side.
    values = np.repeat([0.0, 1.0], 200)
    summary = csr_array(np.column_stack([values, np.ones(400)]))
    statistic = Statistic(summary, lambda sums: {"mean": (sums[0] / sums[1])[None]})
    labels = make_labels([[0]] * 400)
    [spreads] = bootstrap([statistic], group_units(labels), np.random.default_rng(2), 4000)
    low, high = spreads["mean"].estimates([400], "")[0].ci
    assert (low, high) == pytest.approx((0.451, 0.549), abs=0.004)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    """Raters see the truth with probability 0.6 and otherwise guess, so agreement beyond chance is 0.36."""
    found = [bootstrap_alpha(draw_labels(seed, items=80, raters=3, agreeing=0.6), seed, 300).ci for seed in range(150)]
    covering = np.mean([low <= 0.36 <= high for low, high in found])
    assert 0.89 <= covering <= 0.99


def test_clusters_of_copies_are_no_wider_evidence_than_one_of_each():
    """Ten copies of each item say nothing new; as clusters they leave the width unchanged."""
    table = draw_table(6, items=60)
    copies = [row for row in table for _ in range(10)]
    clusters = np.repeat(np.arange(60), 10).tolist()
    once = width(bootstrap_alpha(make_labels(table)))
    clustered = width(bootstrap_alpha(make_labels(copies, clusters=clusters)))
    single = width(bootstrap_alpha(make_labels(copies)))
    assert clustered == pytest.approx(once, rel=0.15)
    assert single == pytest.approx(once / np.sqrt(10), rel=0.2)


def test_items_without_a_label_are_never_drawn():
    table = draw_table(2, items=40)
    with_empty = make_labels([*table, *[[None] * 4] * 400], 3)
    assert group_units(with_empty).shape == (40, 440)
    assert bootstrap_alpha(with_empty).ci == bootstrap_alpha(make_labels(table, 3)).ci


@pytest.mark.parametrize(
    ("row", "value", "why"),
    [
        ((np.nan, np.nan, np.nan, 1.0), None, "nothing to compare"),
        ((0.5, 0.4, 0.6, 0.2), 0.5, "no interval: undefined in 20% of the bootstrap draws"),
        ((1.0, 1.0, 1.0, 0.0), 1.0, "no interval: every bootstrap draw gives the same value"),
        ((0.5, 0.6, 0.7, 0.0), 0.5, "no interval: the bootstrap draws lie to one side of the value"),
    ],
)
def test_estimate_without_interval_says_why(row, value, why):
    estimate = make_estimate(*row, 10, "nothing to compare")
    assert (estimate.value, estimate.ci, estimate.why) == (value, None, why)


def test_of_few_units_nobody_reads_about_draws():
    few = make_estimate(1.0, 1.0, 1.0, 0.0, 10, "nothing to compare", units=4)
    assert few.why == "no interval: leaving out any unit changes nothing"


def cluster_labels(rng, users, items=8, raters=3):
    """Users differ in how often the truth is yes and in how clear it is; raters see it, or guess."""
    table, clusters = [], []
    for user in range(users):
        yes, seen = 1 / (1 + np.exp(-rng.normal(-0.8, 1.5))), 1 / (1 + np.exp(-rng.normal(0.8, 1.2)))
        for truth in rng.random(items) < yes:
            table.append([int(truth if rng.random() < seen else rng.random() < 0.3) for _ in range(raters)])
            clusters.append(user)
    return make_labels(table, 2, clusters=clusters)


agree = partial(measure, draws=300)


@pytest.mark.parametrize("users", [6, 12])
@pytest.mark.slow
def test_intervals_cover_the_truth_with_few_users_who_differ(users):
    rng = np.random.default_rng(1)

    def numbers(found):
        groups = found.coefficients["all"]
        return found.means["all"]["kappa"], groups.alpha_nominal, groups.prevalence[1], found.raters[0].distribution[1]

    truth = [each.value for each in numbers(agree(cluster_labels(rng, 8000), draws=2))]
    cis = [[each.ci for each in numbers(agree(cluster_labels(rng, users)))] for _ in range(100)]
    covered = np.mean([[low <= t <= high for t, (low, high) in zip(truth, row, strict=True)] for row in cis], axis=0)
    assert ((covered >= 0.89) & (covered <= 1)).all(), covered


def test_few_units_have_the_jackknifes_interval():
    """κ with each of three users left out in turn: value ± t(2) √(2/3 Σ (left out - value)²)."""
    table = [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [1, 0], [0, 1], [1, 1], [0, 0]]
    clusters = [0] * 4 + [1] * 4 + [2] * 4
    whole = agree(make_labels(table, clusters=clusters)).pairs[0].measures["kappa"]
    without = [
        agree(make_labels([row for row, user in zip(table, clusters, strict=True) if user != gone])).pairs[0].measures
        for gone in range(3)
    ]
    half = 4.302653 * np.sqrt(2 / 3 * sum((each["kappa"].value - whole.value) ** 2 for each in without))
    assert (whole.units, whole.ci) == (3, pytest.approx((max(-1, whole.value - half), min(1, whole.value + half))))


def test_two_users_make_no_interval():
    found = agree(make_labels([[0, 0], [1, 0], [1, 1], [0, 1]] * 5, clusters=[0] * 10 + [1] * 10))
    kappa, share = found.means["all"]["kappa"], found.coefficients["all"].prevalence[0]
    assert (kappa.ci, share.ci, kappa.units) == (None, None, 2)
    assert kappa.why == share.why == "no interval: made of 2 independent units only"


def test_a_share_of_none_or_all_has_a_width_by_its_users():
    """A label absent from 120 labels of 12 users: there are as many cases as users, not as labels."""
    found = agree(make_labels([[0]] * 120, 2, clusters=np.repeat(np.arange(12), 10).tolist()))
    low, high = found.raters[0].distribution[1].ci
    assert low == 0 and 0.2 < high < 0.4
    raw = agree(make_labels([[i % 2, i % 2] for i in range(40)])).coefficients["all"].raw
    assert raw.value == 1 and 0.8 < raw.ci[0] < 0.95 and raw.ci[1] == 1


def test_a_pair_of_few_items_rests_on_these_however_many_others_there_are():
    table = [[i % 2, i % 2, i % 2 if i < 5 else None] for i in range(40)]
    table[0][2], table[7][1] = 1, 0
    pairs = {(pair.a, pair.b): pair.measures["kappa"] for pair in agree(make_labels(table)).pairs}
    assert (pairs[0, 1].units, pairs[0, 2].units) == (40, 5)
    low, high = pairs[0, 2].ci
    assert high - low > 0.9


def test_share_of_nothing_is_undefined():
    assert estimate_share(0, 0, "nobody asked") == estimates.Estimate(None, 0, None, "nobody asked")
