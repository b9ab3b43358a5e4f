"""Benchmark runs: accuracies, their range and its noise floor, novel letters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from analysis.stats.benchmark_runs import (
    Letters,
    describe,
    mean_interval,
    noise_floor,
    novel_excess,
    novel_share,
    overlap,
    spread,
)
from analysis.stats.intervals import share_interval, wilson_interval
from tests.analysis.stats.sample_factories import rng


def make_runs(*runs: str) -> Letters:
    """One run per word, one question per letter; "?" is an answer without a letter."""
    return np.array([["?ABCD".index(letter) - 1 for letter in run] for run in runs], dtype=np.int8)


def make_key(letters: str) -> NDArray[np.int8]:
    return make_runs(letters)[0]


def random_runs(chances: NDArray[np.float64], runs: int, dice: np.random.Generator) -> Letters:
    """Runs against the key "AAA…" that answer question j correctly with probability chances[j]."""
    return (dice.random((runs, len(chances))) >= chances).astype(np.int8)


def test_scores_of_three_runs() -> None:
    # Right: 4, 2 and 1 of 4; the third has one unknown answer, which might have been right.
    found = describe(make_runs("ABCD", "ABDC", "A?AA"), make_key("ABCD"))
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


def test_mean_has_students_interval_over_runs() -> None:
    found = describe(random_runs(np.full(50, 0.6), 8, rng()), np.zeros(50, dtype=np.int8))
    other = stats.ttest_1samp(found.accuracy, 0).confidence_interval()
    assert found.ci == pytest.approx((other.low, other.high))
    assert (found.units, found.ci_why) == (8, None)


def test_runs_of_one_simulated_user_are_one_unit() -> None:
    users, key = random_runs(rng().random(50), 6, rng(1)), np.zeros(50, dtype=np.int8)
    once, thrice = describe(users, key), describe(np.repeat(users, 3, axis=0), key, np.repeat(np.arange(6), 3))
    assert thrice.ci == pytest.approx(once.ci)
    assert (thrice.runs, thrice.units) == (18, 6)


def test_interval_over_unequal_users_lies_around_the_mean_over_runs() -> None:
    # Five runs of a user who is always right, one each of two who are right half of the time.
    runs = make_runs(*["AA"] * 5, "AB", "BA")
    found = describe(runs, make_key("AA"), np.array([0, 0, 0, 0, 0, 1, 2]))
    assert found.mean == pytest.approx(6 / 7)
    # Deviations summed over each user, by 7: 5 · 1/7, -5/14 and -5/14; v = 3/2 · (100 + 25 + 25)/14²/7², t = 4.303.
    half = 4.302653 * (1.5 * 150 / 196 / 49) ** 0.5
    assert found.ci == pytest.approx((6 / 7 - half, 1.0), abs=1e-6)


def test_few_or_equal_runs_have_no_interval_and_say_why() -> None:
    two = describe(make_runs("AB", "BB"), make_key("AA"))
    assert (two.ci, two.ci_why) == (
        None,
        "An interval over runs needs 3 of them, each of another simulated user or repeat.",
    )
    alike = describe(make_runs("AB", "AB", "BA"), make_key("AA"))
    assert (alike.ci, alike.ci_why) == (
        None,
        "All runs score alike: they do not show how far others would lie from them.",
    )


def test_interval_over_questions_of_one_run_is_wilsons_with_students_t() -> None:
    found = describe(make_runs("A" * 30 + "B" * 10), make_key("A" * 40))
    # Questions are right or wrong: v = p(1 - p)/39, so that n_eff is 39, times (z/t)² for 39 degrees of freedom.
    n = 39 * (1.959964 / stats.t.ppf(0.975, 39)) ** 2
    assert found.ci_questions == pytest.approx(tuple(map(float, wilson_interval(0.75 * n, n))), abs=1e-6)


def test_interval_over_questions_has_a_width_where_all_are_right() -> None:
    low, high = describe(make_runs("A" * 40, "A" * 40), make_key("A" * 40)).ci_questions or (1, 1)
    assert (0.85 < low < 0.93, high) == (True, 1)


def test_both_intervals_of_the_mean_hold_what_they_are_about() -> None:
    """Over runs: the mean that further runs of these questions have. Over questions: that of the whole benchmark."""
    over_runs = over_questions = 0
    for seed in range(300):
        dice = rng(seed)
        chances = dice.beta(0.6, 0.4, 60)
        found = describe(random_runs(chances, 8, dice), np.zeros(60, dtype=np.int8))
        assert found.ci and found.ci_questions
        over_runs += found.ci[0] <= chances.mean() <= found.ci[1]
        over_questions += found.ci_questions[0] <= 0.6 <= found.ci_questions[1]
    assert 0.92 <= over_runs / 300 <= 0.98
    assert 0.92 <= over_questions / 300 <= 0.98


def test_one_run_has_no_spread() -> None:
    found = describe(make_runs("AB"), make_key("AA"))
    assert (found.mean, found.minimum, found.sd, found.range, found.ci) == (0.5, 0.5, None, None, None)
    assert found.why == "One run alone has no spread."


def test_no_runs_and_no_questions_have_no_scores() -> None:
    nothing = describe(np.zeros((0, 2), dtype=np.int8), make_key("AB"))
    assert (nothing.mean, nothing.range, nothing.why) == (None, None, "There are no runs.")
    assert describe(np.zeros((2, 0), dtype=np.int8), make_key("")).why == "There are no questions."


@pytest.mark.parametrize("key", ["ABC", "A?"])
def test_key_that_does_not_fit_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        describe(make_runs("AB"), make_key(key))


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
def test_nothing_is_novel_among_the_same_runs(runs: list[str]) -> None:
    assert novel_share(make_runs(*runs), make_runs(*runs)).novel == 0


def test_novel_share_needs_runs_of_both_on_the_same_questions() -> None:
    nothing = novel_share(np.zeros((0, 2), dtype=np.int8), make_runs("AB"))
    assert (nothing.share, nothing.ci, nothing.why) == (None, None, "There are no runs.")
    assert novel_share(make_runs("AB"), make_runs("??")).share == 0
    with pytest.raises(ValueError, match="2 and 3 questions"):
        novel_share(make_runs("AB"), make_runs("ABC"))


def answer(chances: NDArray[np.float64], runs: int, dice: np.random.Generator) -> Letters:
    """Runs that give letter l to question j with probability chances[j, l]."""
    return (dice.random((runs, len(chances), 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=2).astype(np.int8)


def test_novel_excess_by_hand() -> None:
    # One of two offline runs is held out. Question 1: it gives nothing new, the puppet does. 2: both do, whichever is
    # held out. 3: the held-out one does (A and B differ), the puppet's A is new only against the reference B.
    offline, puppets = make_runs("AAA", "ABB"), make_runs("BCA")
    found = novel_excess(offline, puppets, rng(), splits=4000)
    assert (found.runs, found.reference) == (1, 1)
    assert found.chance == pytest.approx(2 / 3)
    assert found.excess == pytest.approx((1 + 0 - 0.5) / 3, abs=0.01)


def test_halves_of_one_set_have_no_novel_excess() -> None:
    """200 sets of 20 runs of 120 questions: over a fifth of the questions get a letter that the first half lacks."""
    found = []
    for seed in range(200):
        dice = rng(seed)
        runs = answer(dice.dirichlet([0.25] * 4, 120), 20, dice)
        half = novel_excess(runs[:10], runs[10:], dice, splits=200)
        assert half.ci and half.chance and half.chance > 0.1
        found.append((half.excess, half.ci[0] <= 0 <= half.ci[1], novel_share(runs[:10], runs[10:]).share))
    excess, held, raw = np.mean(np.array(found, dtype=float), axis=0)
    assert raw > 0.2
    assert abs(excess) < 0.005
    assert 0.92 <= held <= 0.98


def test_puppets_that_answer_otherwise_have_a_novel_excess() -> None:
    dice = rng()
    chances = dice.dirichlet([0.25] * 4, 200)
    others = np.where(dice.random((200, 1)) < 0.3, chances[:, ::-1], chances)
    found = novel_excess(answer(chances, 10, dice), answer(others, 10, dice), dice)
    assert found.ci and found.ci[0] > 0.05


def test_repeats_of_one_user_are_no_further_puppets() -> None:
    """Each user's habits look new at first; ten runs of two users are worth two runs, not ten."""
    dice = rng()
    chances = dice.dirichlet([0.25] * 4, 200)
    offline, puppets = answer(chances, 10, dice), np.repeat(answer(chances, 2, dice), 5, axis=0)
    found = novel_excess(offline, puppets, dice, np.repeat([7, 3], 5))
    assert (found.runs, found.reference) == (2, 8)
    assert found.ci and found.ci[0] < 0 < found.ci[1]


def test_novel_excess_needs_two_offline_runs() -> None:
    found = novel_excess(make_runs("AB"), make_runs("BB", "AA"), rng())
    assert (found.chance, found.excess, found.ci) == (None, None, None)
    assert found.why and found.why.startswith("What chance gives takes two offline runs")
    assert novel_excess(make_runs("AB", "AB"), np.zeros((0, 2), dtype=np.int8), rng()).why == "There are no runs."
    with pytest.raises(ValueError, match="2 and 3 questions"):
        novel_excess(make_runs("AB"), make_runs("ABC"), rng())


def test_letters_that_are_all_unknown_are_not_new() -> None:
    found = novel_excess(make_runs("??", "??"), make_runs("??"), rng())
    assert (found.chance, found.excess, found.ci) == (0, 0, None)


def test_spread_of_letters_by_hand() -> None:
    # A A: unanimous. A B: two letters. ? A: one letter, but not of both. ? ?: none, which is no agreement.
    found = spread(make_runs("AA??", "ABA?"))
    assert (found.unanimous, found.ci_unanimous) == (0.25, share_interval(1, 4))
    assert found.distinct == 1.0
    high = stats.ttest_1samp([1, 2, 1, 0], 0).confidence_interval().high
    assert found.ci_distinct == pytest.approx((0, high))  # no mean lies below 0
    assert spread(make_runs("AB")).unanimous is None


def test_mean_interval_stays_where_a_mean_can_lie() -> None:
    low, high = mean_interval(np.array([0.0, 0.0, 0.1]), 0.0, 1.0) or (1, 0)
    assert (low, 0.03 < high < 0.3) == (0.0, True)
    assert mean_interval(np.array([1.0, 2.0])) is None
