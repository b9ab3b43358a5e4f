"""The share of preferences for the side shown left."""

import numpy as np
import pytest

from analysis.stats.agreement.sides import LEFT, NEITHER, RIGHT, measure_side_bias


def test_side_bias_leaves_out_those_who_prefer_neither():
    sides = np.array([LEFT, LEFT, LEFT, RIGHT, NEITHER, LEFT, RIGHT, NEITHER], dtype=np.int8)
    bias = measure_side_bias(sides, np.array([0, 0, 0, 0, 0, 1, 1, 2], dtype=np.int32), 3)
    assert (bias.share.value, bias.share.n, bias.neither) == (4 / 6, 6, 2)
    assert [(each.value, each.n) for each in bias.raters] == [(0.75, 4), (0.5, 2), (None, 0)]
    assert bias.raters[2].why == "no side was preferred"


def test_side_bias_has_wilsons_interval():
    # 5 of 10: centre 0.5, half 1.96 √(0.025 + 0.0096037) / 1.38415 = 0.2634
    bias = measure_side_bias(np.array([LEFT, RIGHT] * 5, dtype=np.int8), np.zeros(10, dtype=np.int32), 1)
    assert bias.share.ci == pytest.approx((0.2366, 0.7634), abs=1e-4)
