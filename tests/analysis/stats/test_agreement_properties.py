"""Properties of agreement that hold for any labels."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats.agreement.agreement import measure_agreement
from analysis.stats.agreement.estimates import Estimate
from analysis.stats.agreement.labels import Scale
from tests.analysis.stats.label_factories import draw_labels, make_labels

NUMBERS = Scale(ordered=True, numbers=(1.0, 2.0, 4.0))
COEFFICIENTS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss", "ac1", "raw")

label = st.one_of(st.none(), st.integers(0, 2))
tables = st.integers(0, 4).flatmap(lambda n: st.lists(st.lists(label, min_size=n, max_size=n), max_size=10))


def measure(labels, seed=0, threshold=1, draws=60, scale=NUMBERS):
    return measure_agreement(labels, np.random.default_rng(seed), scale, threshold, draws)


def list_estimates(agreement):
    """Yield every estimate anywhere in an agreement."""
    for each in agreement.coefficients.values():
        yield from (getattr(each, name) for name in COEFFICIENTS)
        yield from each.prevalence
    for measures in [*agreement.means.values(), *(pair.measures for pair in agreement.pairs)]:
        yield from measures.values()
    for rater in agreement.raters:
        yield from [*rater.distribution, *rater.scores.values(), rater.alpha_without]


def check_estimate(estimate: Estimate):
    if estimate.value is None:
        assert estimate.ci is None and estimate.why
        return
    assert math.isfinite(estimate.value) and estimate.value <= 1 + 1e-12
    if estimate.ci is None:
        assert estimate.why.startswith("no interval: ")
    else:
        low, high = estimate.ci
        assert low <= estimate.value + 1e-12 and estimate.value <= high + 1e-12 and math.isfinite(high - low)
        assert estimate.why == ""


@settings(max_examples=120)
@given(tables, st.lists(st.integers(0, 3), max_size=2), st.booleans())
def test_every_number_is_finite_with_an_interval_or_a_reason(table, models, clustered):
    clusters = [i // 2 for i in range(len(table))] if clustered else None
    agreement = measure(make_labels(table, 3, models, clusters))
    for estimate in list_estimates(agreement):
        check_estimate(estimate)
    assert sum(agreement.majority.values()) <= agreement.items
    assert sum(rater.n for rater in agreement.raters) == agreement.labels


@settings(max_examples=40)
@given(tables, st.randoms(use_true_random=False))
def test_renumbering_items_and_rows_changes_nothing(table, random):
    shuffled = random.sample(table, len(table))
    first, second = measure(make_labels(table, 3)), measure(make_labels(shuffled, 3))
    for one, other in zip(list_estimates(first), list_estimates(second), strict=True):
        assert one.value == (None if other.value is None else pytest.approx(other.value, abs=1e-9))
        assert one.n == other.n
    assert first.majority == second.majority


@settings(max_examples=40)
@given(tables, st.permutations(range(4)))
def test_renumbering_raters_changes_no_coefficient(table, order):
    order = [r for r in order if table and r < len(table[0])]
    first = measure(make_labels(table, 3))
    second = measure(make_labels([[row[r] for r in order] for row in table], 3))
    for name in COEFFICIENTS:
        one, other = (getattr(each.coefficients["all"], name) for each in (first, second))
        assert one.value == (None if other.value is None else pytest.approx(other.value, abs=1e-9))
    pairs = {
        (min(order[p.a], order[p.b]), max(order[p.a], order[p.b])): p.measures["kappa"].value for p in second.pairs
    }
    found = {(p.a, p.b): p.measures["kappa"].value for p in first.pairs}
    assert found.keys() == pairs.keys()
    assert all(v == (None if pairs[k] is None else pytest.approx(pairs[k], abs=1e-9)) for k, v in found.items())


def test_order_of_rows_changes_nothing():
    labels = draw_labels(3, missing=0.3)
    order = np.random.default_rng(1).permutation(len(labels.values))
    shuffled = replace(labels, items=labels.items[order], raters=labels.raters[order], values=labels.values[order])
    assert list(list_estimates(measure(labels))) == list(list_estimates(measure(shuffled)))


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2), min_size=2, max_size=20).filter(lambda row: len(set(row)) > 1))
def test_raters_who_always_agree_have_agreement_one(truth):
    agreement = measure(make_labels([[value] * 3 for value in truth], 3))
    found = agreement.coefficients["all"]
    assert [getattr(found, name).value for name in COEFFICIENTS] == pytest.approx([1] * 6)
    assert [each.value for each in agreement.means["all"].values()] == pytest.approx([1] * 6)
    assert [each.value for rater in agreement.raters for each in rater.scores.values()] == pytest.approx([1] * 12)


def test_raters_who_guess_have_agreement_near_zero():
    agreement = measure(draw_labels(5, items=4000, raters=4, agreeing=0.0))
    found = agreement.coefficients["all"]
    for estimate in (found.alpha_nominal, found.alpha_ordinal, found.alpha_interval, found.fleiss, found.ac1):
        assert abs(estimate.value) < 0.03
    for name in ("kappa", "kappa_linear", "kappa_quadratic", "spearman"):
        assert abs(agreement.means["all"][name].value) < 0.03


def test_copies_of_all_items_leave_pairs_as_they_are():
    """Kappa and Spearman depend on shares only; ten times the items give the same value and a third of the width."""
    rows = [[0, 0], [1, 1], [2, 1], [0, 2], [1, 1], [2, 2], [0, 0], [2, 2]]
    [once], [ten] = (measure(make_labels(rows * times), draws=600).pairs for times in (3, 30))
    for name, estimate in once.measures.items():
        other = ten.measures[name]
        assert other.value == pytest.approx(estimate.value)
        assert other.ci[1] - other.ci[0] == pytest.approx((estimate.ci[1] - estimate.ci[0]) / math.sqrt(10), rel=0.25)
