"""Intervals and tests over units, on samples whose truth is known: simulated users with many answers, and persons.

There are so many samples that a share of 0.95 falls outside the limits only once in a thousand.
"""

from dataclasses import replace

import numpy as np
import pytest

from analysis.stats import choices
from analysis.stats.heterogeneity import (
    compare,
    compare_sources,
    describe,
    differences,
    measure,
    permutation_test,
    share_intervals,
)
from analysis.stats.intervals import FEW_UNITS, ONE_UNIT, clustered_shares, share_difference, wilson_interval
from analysis.stats.resampling import ChoiceSample, ItemSample, SharedDraws, split
from tests.analysis.stats.sample_factories import clustered, draw_clustered, draw_items, make_items, rarefy, rng

THREE = ("unique", "top5_coverage", "entropy_bits")  # which do not depend on the number of responses


def held(found: tuple[float, float] | None, truth: float) -> bool:
    return found is not None and found[0] <= truth <= found[1]


# --- shares


@pytest.mark.parametrize(("users", "repeats", "unlike"), [(10, 40, 0.5), (10, 40, 2.0), (30, 10, 3.0), (8, 20, 2.0)])
def test_intervals_of_shares_hold_them_over_clustered_users(users: int, repeats: int, unlike: float) -> None:
    many = draw_clustered(rng(), 20_000, 1, unlike=unlike)
    truth = many.counts() / many.n
    common = truth > 0.03
    found = [share_intervals(draw_clustered(rng(seed), users, repeats, unlike=unlike)) for seed in range(250)]
    inside = np.array([(lows <= truth) & (truth <= highs) for lows, highs in found])[:, common]
    assert 0.92 <= inside.mean() <= 0.985


def test_wilsons_interval_over_all_answers_would_not() -> None:
    """Why units count: 400 answers of ten users determine a share no better than a few dozen persons do."""
    many = draw_clustered(rng(), 20_000, 1)
    truth = many.counts() / many.n
    samples = [draw_clustered(rng(seed), 10, 40) for seed in range(100)]
    ends = [wilson_interval(sample.counts(), sample.n) for sample in samples]
    inside = np.array([(lows <= truth) & (truth <= highs) for lows, highs in ends])[:, truth > 0.03]
    assert inside.mean() < 0.6


def test_independent_answers_of_users_have_nearly_wilsons_interval() -> None:
    dice = rng()
    hits = dice.binomial(20, 0.3, (4, 60)).astype(float)
    lows, highs = clustered_shares(hits, np.full(60, 20))
    plain = wilson_interval(hits.sum(axis=1), 1200)
    assert (highs - lows) == pytest.approx(plain[1] - plain[0], rel=0.35)


def test_users_who_each_answer_alike_are_as_many_cases() -> None:
    # Ten users with four equal answers each, three of whom say yes: 3 of 10, at fewer still by (1.96/2.26)², and v is
    # 10/9 · 0.21/10 with 2 · 0.21/100 for the share of users that a sample misses.
    hits = np.array([[4.0] * 3 + [0.0] * 7])
    lows, highs = clustered_shares(hits, np.full(10, 4))
    cases = 0.21 / (0.21 / 9 + 2 * 0.21 / 100) * (1.959964 / 2.262157) ** 2
    low, high = wilson_interval(0.3 * cases, cases)
    assert (lows[0], highs[0]) == pytest.approx((float(low), float(high)), rel=1e-5)


@pytest.mark.parametrize("hit", [0.0, 40.0])
def test_no_share_of_users_has_an_interval_of_no_width(hit: float) -> None:
    lows, highs = clustered_shares(np.full((1, 10), hit), np.full(10, 40))
    # Worth ten answers, not 400.
    assert highs[0] - lows[0] > 0.25
    assert np.isnan(clustered_shares(np.full((1, 1), hit), np.array([40]))).all()


def test_difference_of_shares_of_all_and_none_has_a_width() -> None:
    ends = [tuple(map(float, wilson_interval(hits, 40))) for hits in (40, 0)]
    found = share_difference(1.0, ends[0], 0.0, ends[1])  # type: ignore[arg-type]
    assert found and found[0] == pytest.approx(1 - (2 * 0.08762**2) ** 0.5, abs=1e-4) and found[1] == 1
    # Newcombe 1998, table II, method 10: 56/70 - 48/80 is 0.0524 to 0.3339.
    ends = [tuple(map(float, wilson_interval(*pair))) for pair in ((56, 70), (48, 80))]
    found = share_difference(0.8, ends[0], 0.6, ends[1])  # type: ignore[arg-type]
    assert found == pytest.approx((0.0524, 0.3339), abs=1e-4)


# --- measures of items


@pytest.mark.parametrize(("users", "repeats", "size"), [(10, 40, 30), (10, 40, 200), (5, 20, 200), (40, 5, 200)])
def test_intervals_of_measures_hold_what_such_samples_have(users: int, repeats: int, size: int) -> None:
    drawn = [draw_clustered(rng(seed), users, repeats, size) for seed in range(240)]
    truth = {name: float(np.mean([measure(s.counts())[name] for s in drawn])) for name in ("unique", "entropy_bits")}
    found = [describe(sample) for sample in drawn]
    for name, value in truth.items():
        known = [one.ci[name] for one in found if one.ci[name]]
        if len(known) > 200:  # few items are all named, and then nothing shows how many more there would be
            assert 0.90 <= np.mean([held(ci, value) for ci in known]) <= 0.995


@pytest.mark.parametrize("n", [12, 100, 400])
def test_intervals_of_measures_hold_them_over_persons(n: int) -> None:
    drawn = [draw_items(rng(seed), n, 200) for seed in range(200)]
    found = [describe(sample) for sample in drawn]
    for name in ("unique", "top5_coverage", "entropy_bits"):
        truth = float(np.mean([one.values[name] for one in found]))
        assert 0.90 <= np.mean([held(one.ci[name], truth) for one in found]) <= 0.995


def test_rarefied_intervals_hold_what_one_answer_of_each_user_has() -> None:
    persons = [measure(draw_clustered(rng(9000 + seed), 12, 1, 60).counts()) for seed in range(1500)]
    truth = {name: float(np.mean([one[name] for one in persons])) for name in ("unique", "entropy_bits")}
    found = [rarefy(draw_clustered(rng(seed), 20, 10, 60), 12, rng(seed), 100) for seed in range(200)]
    for name, value in truth.items():
        assert np.mean([one.values[name] for one in found]) == pytest.approx(value, rel=0.02)
        assert 0.90 <= np.mean([held(one.ci[name], value) for one in found]) <= 0.995


def test_two_answers_alike_of_each_user_are_those_of_half_as_many() -> None:
    once = draw_items(rng(), 40)
    twice = ItemSample(80, np.concatenate([once.rows * 2, once.rows * 2 + 1]), np.tile(once.codes, 2), once.size)
    sample = clustered(twice, 40)
    found, other = describe(sample).error, describe(once).error
    assert [found[name] for name in THREE] == pytest.approx([other[name] for name in THREE])
    assert share_intervals(sample)[0][0] < share_intervals(twice)[0][0]
    drawn, whole = rarefy(sample, 40, rng(), 20).values, describe(once).values
    assert [drawn[name] for name in THREE] == pytest.approx([whole[name] for name in THREE])


def test_two_letters_alike_of_each_user_have_the_entropy_of_half_as_many() -> None:
    codes = np.array([0, 0, 0, 1, 1, 2, 3, 0, 1, 2], dtype=np.int8)
    once = choices.describe(ChoiceSample(codes, 4, 0))
    twice = choices.describe(ChoiceSample(np.repeat(codes, 2), 4, 0, np.repeat(np.arange(10), 2)))
    assert (twice.n, twice.units, twice.entropy) == (20, 10, once.entropy)
    assert twice.entropy_ci == pytest.approx(once.entropy_ci)


def test_three_users_have_no_interval_and_one_user_no_share() -> None:
    few = draw_clustered(rng(), 3, 100)
    assert set(describe(few).ci_why.values()) == {FEW_UNITS}
    assert np.isnan(share_intervals(draw_clustered(rng(), 1, 400))).all()
    letters = ChoiceSample(np.zeros(40, dtype=np.int8), 4, 0, np.zeros(40, dtype=np.int64))
    found = choices.describe(letters)
    assert (found.n, found.units, found.correct_share, found.ci, found.ci_why) == (40, 1, 1, None, ONE_UNIT)


# --- tests


def persons_and_users(
    seed: int, persons: int = 60, users: int = 10, repeats: int = 20
) -> tuple[ItemSample, ItemSample]:
    """A field and a sock puppet of one population, in which people differ as much as the simulated users do."""
    return draw_clustered(rng(seed), persons, 1), draw_clustered(rng(5000 + seed), users, repeats)


def test_a_sock_puppet_of_the_fields_kind_is_seldom_called_different() -> None:
    p: dict[str, list[float | None]] = {"jsd": [], "entropy_bits": [], "unique": []}
    for seed in range(200):
        field, puppet = persons_and_users(seed)
        splits = split(field, puppet, 99, rng(seed))
        found = permutation_test(splits, 10)
        p["jsd"].append(compare(field, puppet, rng(seed), 99).p)
        for name in ("entropy_bits", "unique"):
            p[name].append(found[name])
    for name, values in p.items():
        assert np.mean(np.array(values) <= 0.05) <= 0.07, name


def test_answers_permuted_one_by_one_would_call_it_different() -> None:
    pairs = [persons_and_users(seed) for seed in range(30)]
    p = [compare(field, replace(puppet, units=None), rng(seed), 99).p for seed, (field, puppet) in enumerate(pairs)]
    assert np.mean(np.array(p) <= 0.05) > 0.5


def test_what_differs_is_still_seen_over_users() -> None:
    p = []
    for seed in range(20):
        field = draw_clustered(rng(seed), 100, 1, unlike=1.0)
        puppet = draw_clustered(rng(900 + seed), 25, 10, unlike=1.0, steepness=-1.0)
        p.append(compare(field, puppet, rng(seed), 199).p)
    assert np.median(p) <= 0.01


def test_what_differs_is_seen_though_users_have_many_answers() -> None:
    """Drawing only some of a user's answers must not hide a difference."""
    entropies, distances = [], []
    for seed in range(20):
        field = draw_clustered(rng(seed), 60, 1, unlike=0.5)
        puppet = draw_clustered(rng(900 + seed), 10, 20, unlike=0.5, steepness=1.6)
        entropies.append(permutation_test(split(field, puppet, 199, rng(seed)), 10)["entropy_bits"])
        puppet = draw_clustered(rng(900 + seed), 40, 20, unlike=0.5, steepness=1.6)
        distances.append(compare(field, puppet, rng(seed), 199).p)
    assert np.mean(np.array(entropies) <= 0.05) >= 0.7
    assert np.mean(np.array(distances) <= 0.05) >= 0.7


def test_chance_is_held_against_one_answer_of_each_user() -> None:
    found = [compare(*persons_and_users(seed), rng(seed), 60) for seed in range(40)]
    even, chance = (np.mean([getattr(one, name) for one in found]) for name in ("even_jsd", "chance_jsd"))
    assert even == pytest.approx(chance, rel=0.05)
    alone = compare(make_items("a", "b", "a"), make_items("a", "c", "d"), rng(), 50)
    assert (alone.even_jsd, alone.even_tv) == (alone.jsd_bits, alone.tv)


def test_the_same_users_on_another_day_are_compared_user_by_user() -> None:
    """Users' preferences are the same on both days, however different the users are."""
    p, other = [], []
    for seed in range(120):
        both = draw_clustered(rng(seed), 8, 20, unlike=3.0)
        first = np.tile(np.repeat([True, False], 10), 8)
        days = [days_of(both, first), days_of(both, ~first)]
        p.append(compare(*days, rng(seed), 99).p)
        later = draw_clustered(rng(seed), 8, 20, unlike=3.0, steepness=0.2)
        other.append(compare(days[0], days_of(later, ~first), rng(seed), 99).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.115  # 0.05 and three standard errors
    assert np.mean(np.array(other) <= 0.05) > 0.9


def days_of(sample: ItemSample, chosen: np.ndarray) -> ItemSample:
    place = np.cumsum(chosen) - 1
    kept = chosen[sample.rows]
    rows = place[sample.rows[kept]].astype(np.int32)
    assert sample.units is not None
    return ItemSample(int(chosen.sum()), rows, sample.codes[kept], sample.size, sample.units[chosen])


def letters_of(seed: int, users: int, repeats: int, unlike: float = 2.0) -> ChoiceSample:
    dice = rng(seed)
    logs = np.array([0.5, 0.0, -0.5]) + unlike * dice.normal(size=(users, 1, 3))
    codes = np.argmax(logs + dice.gumbel(size=(users, repeats, 3)), axis=2).ravel().astype(np.int8)
    return ChoiceSample(codes, 3, 0, np.repeat(np.arange(users), repeats) if repeats > 1 else None)


def test_letters_of_users_are_compared_and_known_over_users() -> None:
    truth = float((letters_of(1, 50_000, 1).codes == 0).mean())
    puppets = [letters_of(seed, 10, 40) for seed in range(250)]
    assert 0.90 <= np.mean([held(choices.describe(puppet).ci, truth) for puppet in puppets]) <= 0.985
    pairs = [(letters_of(7000 + seed, 80, 1), puppet) for seed, puppet in enumerate(puppets[:200])]
    found = [choices.compare(field, puppet, rng(seed), 99) for seed, (field, puppet) in enumerate(pairs)]
    assert np.mean(np.array([one.p for one in found]) <= 0.05) <= 0.07
    assert np.mean(np.array([one.tv.p for one in found]) <= 0.05) <= 0.07
    assert 0.90 <= np.mean([held(one.ci, 0.0) for one in found]) <= 0.995


def test_letters_that_differ_are_seen_though_users_have_many_answers() -> None:
    found = []
    for seed in range(40):
        field, puppet = letters_of(7000 + seed, 60, 1, 0.7), letters_of(seed, 20, 20, 0.7)
        codes = np.where((puppet.codes == 0) & (rng(seed).random(puppet.n) < 0.75), 1, puppet.codes).astype(np.int8)
        found.append(choices.compare(field, replace(puppet, codes=codes), rng(seed), 199))
    assert np.mean([(one.p or 1) <= 0.05 for one in found]) >= 0.8
    assert np.mean([(one.tv.p or 1) <= 0.05 for one in found]) >= 0.8


def test_letters_of_the_same_users_on_another_day() -> None:
    both = letters_of(3, 8, 20)
    first = np.tile(np.repeat([True, False], 10), 8)
    assert both.units is not None
    days = [ChoiceSample(both.codes[day], 3, 0, both.units[day]) for day in (first, ~first)]
    assert (choices.compare(*days, rng(), 199).tv.p or 0) > 0.05
    turned = ChoiceSample((days[1].codes + 1).astype(np.int8) % 3, 3, 0, days[1].units)
    assert choices.compare(days[0], turned, rng(), 199).tv.p == 1 / 200


def test_change_of_the_same_users_is_known_over_their_changes() -> None:
    """The users are very unlike, and each is right less often on the other day."""
    found = []
    for seed in range(200):
        dice = rng(seed)
        likes, of = dice.beta(0.5, 0.5, 20) * 0.8 + 0.1, np.repeat(np.arange(20), 10)
        one, other = ((dice.random(200) > np.repeat(likes - drop, 10)).astype(np.int8) for drop in (0.0, 0.1))
        found.append(choices.compare(ChoiceSample(one, 2, 0, of), ChoiceSample(other, 2, 0, of), dice, 99))
    assert 0.91 <= np.mean([held(one.ci, 0.1) for one in found]) <= 0.985
    clear = [bool(one.ci and one.ci[0] > 0) for one in found]
    assert np.mean(np.array(clear) == np.array([(one.p or 1) <= 0.05 for one in found])) > 0.85
    widths = np.array([np.ptp(one.tv.ci or (0, 1)) for one in found])
    assert np.median(widths) < 0.2  # drawn apart, it would be as wide as .35


def test_distance_of_the_same_users_is_drawn_over_users_of_both_days() -> None:
    both = draw_clustered(rng(1), 12, 20, unlike=3.0)
    first = np.tile(np.repeat([True, False], 10), 12)
    days = [days_of(both, first), days_of(both, ~first)]
    assert days[1].units is not None
    apart = replace(days[1], units=days[1].units + 100)
    same, others = (compare(days[0], day, rng(), 199).ci_jsd for day in (days[1], apart))
    assert same and others and np.ptp(same) < np.ptp(others) / 2


def test_splits_of_many_answers_are_drawn_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn at once, splits would take hundreds of megabytes; in batches they have the same distribution."""
    of = np.repeat(np.arange(30), 4)
    days = [ChoiceSample(rng(seed).integers(0, 3, 120).astype(np.int8), 3, 0, of) for seed in (1, 2)]
    field = ChoiceSample(rng(3).integers(0, 3, 50).astype(np.int8), 3, 0)
    pairs = [(days[0], days[1]), (field, days[0])]
    whole = [choices.compare(*pair, rng(), 2000) for pair in pairs]
    cells: list[int] = []
    tally = choices._tally
    monkeypatch.setattr("analysis.stats.resampling.BATCH_CELLS", 5000)
    monkeypatch.setattr(choices, "_tally", lambda codes, *more: cells.append(codes.size) or tally(codes, *more))
    for one, pair in zip(whole, pairs, strict=True):
        found = choices.compare(*pair, rng(), 2000)
        assert (found.p, found.tv.p) == (pytest.approx(one.p, abs=0.05), pytest.approx(one.tv.p, abs=0.05))
    assert max(cells) <= 5000


def test_a_small_source_changes_no_other_number() -> None:
    samples = {"field": draw_items(rng(1), 90), "offline": draw_items(rng(2), 60), "lab": draw_items(rng(3), 5)}
    pairs = [("field", "offline"), ("field", "lab")]
    without = compare_sources({name: samples[name] for name in ("field", "offline")}, pairs[:1], SharedDraws(1, 99))
    beside = compare_sources(samples, pairs, SharedDraws(1, 99))
    assert without.rarefied == {name: beside.rarefied[name] for name in ("field", "offline")}
    assert without.differences["field", "offline"] == beside.differences["field", "offline"]
    assert {pair: found["unique"].n for pair, found in beside.differences.items()} == dict(
        zip(pairs, (60, 5), strict=True)
    )


def test_interval_of_a_difference_is_as_sure_as_the_few_users_make_it() -> None:
    field, puppet = persons_and_users(1)
    one, other = rarefy(field, 10, rng(), 80), rarefy(puppet, 10, rng(), 80)
    for name, found in differences(one, other, dict.fromkeys(one.values, (None, None))).items():
        assert found.ci and found.effect is not None
        # Student's t is 2.262 at nine degrees of freedom, whatever the field's 59 add.
        assert found.ci[1] - found.effect == pytest.approx(
            2.262 * np.hypot(one.error[name], other.error[name]), rel=1e-3
        )


def test_interval_of_a_difference_holds_it_between_persons_and_users() -> None:
    found = []
    for seed in range(150):
        field, puppet = persons_and_users(seed, 40, 12, 10)
        one, other = rarefy(field, 12, rng(seed), 80), rarefy(puppet, 12, rng(seed), 80)
        found.append(differences(one, other, dict.fromkeys(one.values, (None, None)))["entropy_bits"])
    assert 0.90 <= np.mean([held(one.ci, 0.0) for one in found]) <= 0.995
