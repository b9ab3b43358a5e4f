"""Agreement on random labels with gaps, against scikit-learn, statsmodels, scipy and krippendorff."""

import krippendorff
import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from analysis.stats.agreement.agreement import measure_agreement
from analysis.stats.agreement.labels import Scale
from tests.analysis.stats import label_factories
from tests.analysis.stats.label_factories import draw_table, make_labels

ORDERED = Scale(ordered=True)
WEIGHTS = {"kappa": None, "kappa_linear": "linear", "kappa_quadratic": "quadratic"}
CASES = [
    # seed, items, raters, labels, agreeing, missing
    (1, 40, 3, 2, 0.5, 0.0),
    (2, 40, 5, 3, 0.3, 0.3),
    (3, 25, 4, 5, 0.8, 0.5),
    (4, 60, 6, 4, 0.0, 0.2),
    (5, 12, 8, 7, 0.6, 0.4),
]


def measure(table, k, scale=ORDERED):
    return label_factories.measure(make_labels(table, k), scale, draws=20)


def expect(value):
    """The library's number, or None where the library says NaN."""
    return None if np.isnan(value) else pytest.approx(value, abs=1e-12)


def read_shared(table, pair):
    rows = [(row[pair.a], row[pair.b]) for row in table if None not in (row[pair.a], row[pair.b])]
    return zip(*rows, strict=True)


@pytest.mark.filterwarnings("ignore:.*only one label in common")
@pytest.mark.parametrize("case", CASES)
def test_pairwise_kappas_equal_those_of_scikit_learn(case):
    table = draw_table(*case)
    seen = sorted({value for row in table for value in row if value is not None})
    for pair in measure(table, case[3]).pairs:
        left, right = read_shared(table, pair)
        assert pair.n == len(left)
        for name, weights in WEIGHTS.items():
            expected = cohen_kappa_score(left, right, labels=seen, weights=weights)
            assert pair.measures[name].value == expect(expected)


def test_labels_that_nobody_gave_do_not_stretch_the_weights():
    """Labels 0, 1 and 4 of a five-label scale: 1 and 4 are neighbours among the labels used."""
    table = [[{0: 0, 1: 1, 2: 4}[value] for value in row] for row in draw_table(9, k=3, raters=2)]
    [pair] = measure(table, 5).pairs
    left, right = read_shared(table, pair)
    assert pair.measures["kappa_linear"].value == pytest.approx(cohen_kappa_score(left, right, weights="linear"))


@pytest.mark.parametrize("case", CASES)
def test_spearman_equals_that_of_scipy(case):
    table = draw_table(*case)
    for pair in measure(table, case[3]).pairs:
        expected = spearmanr(*read_shared(table, pair)).statistic
        assert pair.measures["spearman"].value == expect(expected)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_equals_that_of_krippendorff(case, level):
    table, k = draw_table(*case), case[3]
    numbers = tuple(float(n * n) for n in range(k))  # uneven steps, so that interval differs from ordinal
    columns = [[np.nan if value is None else numbers[value] for value in column] for column in zip(*table, strict=True)]
    expected = krippendorff.alpha(columns, level_of_measurement=level)
    found = measure(table, k, Scale(True, numbers)).coefficients["all"]
    assert getattr(found, f"alpha_{level}").value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("seed", "raters", "k"), [(1, 3, 2), (2, 6, 3), (3, 14, 5)])
def test_fleiss_kappa_equals_that_of_statsmodels(seed, raters, k):
    table = draw_table(seed, raters=raters, k=k)
    counts, _ = aggregate_raters(np.array(table))
    assert measure(table, k).coefficients["all"].fleiss.value == pytest.approx(fleiss_kappa(counts), abs=1e-12)


def test_interval_of_kappa_is_near_the_analytic_one_of_statsmodels():
    table = draw_table(11, items=400, raters=2, k=3, agreeing=0.7)
    [pair] = measure_agreement(make_labels(table, 3), np.random.default_rng(1), draws=2000).pairs
    cells = np.zeros((3, 3))
    np.add.at(cells, tuple(np.array(table).T), 1)
    analytic = cohens_kappa(cells)
    assert pair.measures["kappa"].value == pytest.approx(analytic.kappa)
    assert pair.measures["kappa"].ci == pytest.approx((analytic.kappa_low, analytic.kappa_upp), abs=0.01)
