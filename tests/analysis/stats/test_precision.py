"""Expected widths of intervals against the widths given by theory."""

import numpy as np
import pytest

from analysis.stats.heterogeneity import describe
from analysis.stats.population import correct_share_width, entropy_width, item_share_width
from analysis.stats.resampling import ChoiceSample
from tests.analysis.stats.sample_factories import draw_items, make_items, rng


def test_width_of_a_share_is_that_of_the_normal_distribution() -> None:
    # Half of 400 name it: 2 · 1.96 · sqrt(0.25/400) = 0.098.
    found = item_share_width(make_items("a", "b"), 0, 400, rng())
    assert (found.n, found.pilot) == (400, 2)
    assert found.width == pytest.approx(0.098, abs=0.002)


def test_width_of_a_correct_share_counts_unknown_as_wrong() -> None:
    # 1 of 5 is right: 2 · 1.96 · sqrt(0.16/1000) = 0.0496.
    pilot = ChoiceSample(np.array([0, 1, 1, 2, -1], dtype=np.int8), 4, 0)
    assert correct_share_width(pilot, 1000, rng()).width == pytest.approx(0.0496, abs=0.002)


def test_width_of_an_entropy_is_that_of_the_delta_method() -> None:
    # Responses name a (4/5) or b: the variance of log2 p is 0.16 · (log2 4)², so 2 · 1.96 · 0.8 / sqrt(400) = 0.157.
    pilot = make_items("a", "a", "a", "a", "b")
    found = entropy_width(pilot, 400, rng(), samples=60)
    assert found.width == pytest.approx(0.157, rel=0.04)
    assert found.ci and found.width and found.ci[0] < found.width < found.ci[1]


def test_width_at_the_pilots_own_size_is_like_its_own() -> None:
    pilot = draw_items(rng(), 150, size=20)
    ci = describe(pilot).ci["entropy_bits"]
    assert ci and entropy_width(pilot, 150, rng()).width == pytest.approx(ci[1] - ci[0], rel=0.15)


def test_four_times_the_responses_halve_the_width() -> None:
    pilot = draw_items(rng(), 200, size=12)
    small, large = (entropy_width(pilot, n, rng()).width or 0 for n in (200, 800))
    assert large == pytest.approx(small / 2, rel=0.1)


def test_answers_that_are_alike_are_not_said_to_be_none() -> None:
    found = entropy_width(make_items("a", "a"), 400, rng())
    assert (found.pilot, found.width, found.why) == (2, None, "The answers so far are too much alike to show a spread.")


def test_pilot_without_answers_tells_nothing() -> None:
    assert entropy_width(make_items("", ""), 50, rng()).why == "The pilot has no answer to judge from."
    found = item_share_width(make_items(), 0, 50, rng())
    assert (found.width, found.ci, found.why) == (None, None, "The pilot has no answer to judge from.")


def test_correct_share_needs_a_key() -> None:
    with pytest.raises(ValueError, match="no correct option"):
        correct_share_width(ChoiceSample(np.zeros(3, dtype=np.int8), 4, None), 50, rng())
