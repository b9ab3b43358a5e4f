"""The bootstrap: weighted sums, the same draws for the same seed, intervals that cover, and when there is none."""

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
from tests.analysis.stats.label_factories import draw_labels, draw_table, make_labels


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
    """A draw that holds item i w_i times must score as labels in which item i stands w_i times."""
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
    """Raters see the truth with probability 0.6 and else guess, so agreement beyond chance is 0.36."""
    found = [bootstrap_alpha(draw_labels(seed, items=80, raters=3, agreeing=0.6), seed, 300).ci for seed in range(150)]
    covering = np.mean([low <= 0.36 <= high for low, high in found])
    assert 0.89 <= covering <= 0.99


def test_clusters_of_copies_are_no_wider_evidence_than_one_of_each():
    """Ten copies of each item tell nothing new; as clusters they leave the width where it was."""
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


def test_share_of_nothing_is_undefined():
    assert estimate_share(0, 0, "nobody asked") == estimates.Estimate(None, 0, None, "nobody asked")
