"""Benchmark runs: accuracies, their range and its noise floor, novel letters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from analysis.stats.benchmark_runs import Letters, describe, noise_floor, novel_share, overlap
from analysis.stats.intervals import share_interval


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def make_runs(*runs: str) -> Letters:
    """One run a word, one question a letter; "?" is an answer without one."""
    return np.array([["?ABCD".index(letter) - 1 for letter in run] for run in runs], dtype=np.int8)


def make_key(letters: str) -> NDArray[np.int8]:
    return make_runs(letters)[0]


def random_runs(chances: NDArray[np.float64], runs: int, dice: np.random.Generator) -> Letters:
    """Runs against the key "AAA…" that answer question j rightly with probability chances[j]."""
    return (dice.random((runs, len(chances))) >= chances).astype(np.int8)


def test_scores_of_three_runs() -> None:
    # Right: 4, 2 and 1 of 4; the third has one unknown answer, which might have been right.
    found = describe(make_runs("ABCD", "ABDC", "A?AA"), make_key("ABCD"), rng())
    assert found.accuracy.tolist() == [1.0, 0.5, 0.25]
    assert found.upper.tolist() == [1.0, 0.5, 0.5]
    assert found.unknown.tolist() == [0.0, 0.0, 0.25]
    assert (found.minimum, found.maximum, found.range) == (0.25, 1.0, 0.75)
    # Mean 7/12; deviations 5/12, -1/12, -4/12: variance (25 + 1 + 16)/144/2.
    assert found.mean == pytest.approx(7 / 12)
    assert found.sd == pytest.approx((42 / 288) ** 0.5)
    assert found.bounds == pytest.approx((7 / 12, 8 / 12))
    assert found.unknown_share == pytest.approx(1 / 12)
    assert (found.runs, found.questions, found.why) == (3, 4, None)


def test_mean_has_a_bootstrap_interval_over_runs() -> None:
    runs = random_runs(np.full(50, 0.6), 30, rng())
    found = describe(runs, np.zeros(50, dtype=np.int8), rng(2), draws=5000)
    other = stats.bootstrap((found.accuracy,), np.mean, n_resamples=5000, method="percentile", rng=rng(3))
    assert found.ci == pytest.approx(tuple(other.confidence_interval), abs=0.004)


def test_one_run_has_no_spread() -> None:
    found = describe(make_runs("AB"), make_key("AA"), rng())
    assert (found.mean, found.minimum, found.sd, found.range, found.ci) == (0.5, 0.5, None, None, None)
    assert found.why == "One run alone has no spread."


def test_no_runs_and_no_questions_have_no_scores() -> None:
    nothing = describe(np.zeros((0, 2), dtype=np.int8), make_key("AB"), rng())
    assert (nothing.mean, nothing.range, nothing.why) == (None, None, "There are no runs.")
    assert describe(np.zeros((2, 0), dtype=np.int8), make_key(""), rng()).why == "There are no questions."


@pytest.mark.parametrize("key", ["ABC", "A?"])
def test_key_that_does_not_fit_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        describe(make_runs("AB"), make_key(key), rng())


def test_ranges_overlap_where_they_have_a_point_in_common() -> None:
    assert overlap((0.5, 0.6), (0.6, 0.7))
    assert overlap((0.4, 0.9), (0.5, 0.6))
    assert not overlap((0.5, 0.6), (0.61, 0.7))
    assert not overlap((0.61, 0.7), (0.5, 0.6))


def test_noise_floor_of_one_question_by_hand() -> None:
    # One of two repeats is right, so p = 1/2: two further runs differ, by 1, in half of all cases. Since the 1/2 comes
    # from two repeats, deviations are enlarged by sqrt(2/1).
    found = noise_floor(make_runs("A", "B"), make_key("A"), 2, rng(), draws=40_000)
    assert found.range == pytest.approx(0.5 * 2**0.5, abs=0.012)
    assert found.ci == pytest.approx((0, 2**0.5))


def test_noise_floor_agrees_with_simulated_repeats() -> None:
    chances = rng().random(40)
    key = np.zeros(40, dtype=np.int8)
    ranges = [np.ptp((random_runs(chances, 12, rng(i)) == 0).mean(axis=1)) for i in range(1000)]
    found = noise_floor(random_runs(chances, 2000, rng(7)), key, 12, rng(8))
    assert found.range == pytest.approx(np.mean(ranges), abs=0.006)
    assert found.ci == pytest.approx(np.quantile(ranges, [0.025, 0.975]), abs=0.0251)


def test_noise_floor_from_few_repeats_is_right_on_average() -> None:
    chances, key = rng().random(60), np.zeros(60, dtype=np.int8)
    truth = np.mean([np.ptp((random_runs(chances, 20, rng(i)) == 0).mean(axis=1)) for i in range(500)])
    floors = [noise_floor(random_runs(chances, 4, rng(900 + i)), key, 20, rng(i), 300).range for i in range(60)]
    assert np.mean(floors) == pytest.approx(truth, rel=0.03)


def test_noise_floor_grows_with_the_runs() -> None:
    repeats, key = random_runs(np.full(30, 0.5), 50, rng()), np.zeros(30, dtype=np.int8)
    floors = [noise_floor(repeats, key, runs, rng()).range for runs in (2, 10, 100, 400)]
    assert floors == sorted(floors, key=lambda floor: floor or 0)
    assert len(set(floors)) == 4


def test_noise_floor_tells_how_likely_an_observed_range_is() -> None:
    repeats, key = random_runs(np.full(100, 0.5), 50, rng()), np.zeros(100, dtype=np.int8)
    assert (noise_floor(repeats, key, 10, rng(), observed=0.9).p or 1) < 0.001
    assert noise_floor(repeats, key, 10, rng(), observed=0.0).p == 1
    assert noise_floor(repeats, key, 10, rng()).p is None


def test_runs_that_always_agree_have_no_noise() -> None:
    found = noise_floor(make_runs("AB", "AB", "AB"), make_key("AA"), 50, rng())
    assert (found.range, found.ci, found.low, found.high) == (0, (0, 0), 0.5, 0.5)


def test_noise_floor_needs_repeats_and_a_range_two_runs() -> None:
    found = noise_floor(make_runs("AB"), make_key("AB"), 5, rng())
    assert (found.range, found.ci, found.why) == (
        None,
        None,
        "A noise floor needs at least two repeats of one context.",
    )
    with pytest.raises(ValueError, match="two runs"):
        noise_floor(make_runs("AB", "AB"), make_key("AB"), 1, rng())


def test_novel_letters_by_hand() -> None:
    # Question 1: B is new. 2: C was given offline. 3: unknown is no letter. 4: D is new, though offline was unknown.
    found = novel_share(make_runs("AAA?", "ACA?"), make_runs("BC?D", "AA?D"))
    assert (found.questions, found.novel, found.share) == (4, 2, 0.5)


def test_novel_share_has_wilsons_interval_over_questions() -> None:
    offline, puppets = make_runs("A" * 100), make_runs("B" * 23 + "A" * 77)
    found = novel_share(offline, puppets)
    assert found.share == 0.23
    assert found.ci == share_interval(23, 100)


@given(st.lists(st.text("?ABCD", min_size=3, max_size=3), min_size=1, max_size=6))
@settings(deadline=None)
def test_nothing_is_novel_among_the_same_runs(runs: list[str]) -> None:
    assert novel_share(make_runs(*runs), make_runs(*runs)).novel == 0


def test_novel_share_needs_runs_of_both_on_the_same_questions() -> None:
    nothing = novel_share(np.zeros((0, 2), dtype=np.int8), make_runs("AB"))
    assert (nothing.share, nothing.ci, nothing.why) == (None, None, "There are no runs.")
    assert novel_share(make_runs("AB"), make_runs("??")).share == 0
    with pytest.raises(ValueError, match="2 and 3 questions"):
        novel_share(make_runs("AB"), make_runs("ABC"))
