"""Agreement against published worked examples."""

import numpy as np
import pytest

from analysis.stats.agreement.agreement import measure_agreement
from analysis.stats.agreement.coefficients import MEASURES, Tables
from analysis.stats.agreement.labels import NOMINAL, Scale
from tests.analysis.stats.label_factories import make_counted_labels, make_labels, make_pair_labels

N = None
# Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section D: 12 units, observers A to D, codes 1 to 5.
FOUR_OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
# Sections A and B of the same paper: two observers of ten binary units, and of twelve units with labels a to e.
TWO_BINARY = ["0100000010", "1110010000"]
TWO_NOMINAL = ["aabbdcccedda", "babbbccceddd"]
# The worked example of Fleiss' kappa: 14 raters, 10 subjects, 5 categories.
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
# Two radiologists, 85 mammograms: normal, benign, suspect, cancer (Stata manual, kappa; data of Boyd et al. 1982).
MAMMOGRAMS = [[21, 12, 0, 0], [4, 17, 1, 0], [3, 9, 15, 2], [0, 0, 0, 1]]


def measure(labels, scale=NOMINAL, threshold=1):
    return measure_agreement(labels, np.random.default_rng(0), scale, threshold, draws=100)


def measure_table(cells):
    tables = Tables(np.array(cells, dtype=float)[None, :, :, None], np.arange(len(cells)))
    return {name: float(measure.formula(tables)[0, 0]) for name, measure in MEASURES.items()}


def observe(rows):
    return make_labels([[None if code is None else code - 1 for code in unit] for unit in zip(*rows, strict=True)], 5)


def test_four_observers_with_missing_data_have_krippendorffs_alphas():
    found = measure(observe(FOUR_OBSERVERS), Scale(True, (1, 2, 3, 4, 5))).coefficients["all"]
    assert found.alpha_nominal.value == pytest.approx(0.743, abs=5e-4)
    assert found.alpha_ordinal.value == pytest.approx(0.815, abs=5e-4)
    assert found.alpha_interval.value == pytest.approx(0.849, abs=5e-4)
    assert found.alpha_nominal.n == 11  # unit 12 has one observer


def test_four_observers_with_missing_data_have_gwets_ac1_and_agreement():
    """Gwet's own program gives AC1 0.77544 and 0.8181818 for this table."""
    found = measure(observe(FOUR_OBSERVERS)).coefficients["all"]
    assert found.ac1.value == pytest.approx(0.77544, abs=5e-6)
    assert found.raw.value == pytest.approx(0.8181818, abs=5e-8)


@pytest.mark.parametrize(("rows", "alpha"), [(TWO_BINARY, 0.095), (TWO_NOMINAL, 0.692)])
def test_two_observers_have_krippendorffs_alpha(rows, alpha):
    codes = sorted(set("".join(rows)))
    labels = make_labels([[codes.index(code) for code in unit] for unit in zip(*rows, strict=True)])
    assert measure(labels).coefficients["all"].alpha_nominal.value == pytest.approx(alpha, abs=5e-4)


def test_fourteen_raters_have_fleiss_kappa():
    found = measure(make_counted_labels(FOURTEEN_RATERS)).coefficients["all"]
    assert found.fleiss.value == pytest.approx(0.210, abs=5e-4)
    assert found.fleiss.n == 10


def test_fifty_grant_proposals_have_cohens_kappa():
    [pair] = measure(make_pair_labels([[20, 5], [10, 15]])).pairs
    # p_o = 35/50, p_e = (25 · 30 + 25 · 20) / 2,500 = 0.5
    assert (pair.n, pair.measures["raw"].value) == (50, 0.7)
    assert pair.measures["kappa"].value == pytest.approx(0.4)


def test_mammograms_have_the_published_weighted_kappas():
    [pair] = measure(make_pair_labels(MAMMOGRAMS), Scale(ordered=True)).pairs
    found = {name: round(pair.measures[name].value, 4) for name in ("kappa", "kappa_linear", "kappa_quadratic")}
    assert found == {"kappa": 0.4728, "kappa_linear": 0.5684, "kappa_quadratic": 0.6714}


def test_two_abstractors_have_gwets_ac1():
    """100 pregnancies, two abstractors (Gwet 2014): kappa 0.7964094, AC1 0.8493305, agreement 0.89."""
    found = measure_table([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    assert found["kappa"] == pytest.approx(0.7964094, abs=5e-8)
    assert found["ac1"] == pytest.approx(0.8493305, abs=5e-8)
    assert found["raw"] == pytest.approx(0.89)


def test_skewed_table_has_low_kappa_and_high_ac1():
    # p_o 0.944; chance for kappa (123 · 120 + 2 · 5) / 125² = 0.94528; for AC1 2 · 0.972 · 0.028 = 0.054432
    found = measure_table([[118, 5], [2, 0]])
    assert found["kappa"] == pytest.approx((0.944 - 0.94528) / (1 - 0.94528))
    assert found["ac1"] == pytest.approx((0.944 - 0.054432) / (1 - 0.054432))
