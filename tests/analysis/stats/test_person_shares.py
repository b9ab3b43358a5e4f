"""Person or dice: distances and means by hand, errors by leaving people out, and the truth of simulated worlds."""

from itertools import combinations, permutations

import numpy as np
import pytest

from analysis.stats.persons import shares
from analysis.stats.persons.numbers import estimate, mean_of_pairs, mean_over, minus
from analysis.stats.persons.shares import ReadableAnswers, pairs_of, unlike_choices, unlike_lists, unlike_others
from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample
from benchmarks import dice


def lists(named: list[list[int]], of: list[int], size: int = 9) -> ReadableAnswers:
    rows = np.repeat(np.arange(len(named), dtype=np.int32), [len(items) for items in named])
    codes = np.array([item for items in named for item in items], dtype=np.int32)
    return unlike_lists(ItemSample(len(named), rows, codes, size), np.array(of))


def random_answers(people: int, rng: np.random.Generator) -> ReadableAnswers:
    """Everybody answers once, some more often; some answers have no item."""
    of = np.concatenate([np.arange(people), rng.integers(0, people, people)])
    return lists([rng.choice(9, rng.integers(0, 5), replace=False).tolist() for _ in of], of.tolist())


def test_lists_are_as_unlike_as_what_they_do_not_share() -> None:
    found = lists([[0, 1, 2, 3, 4], [0, 1, 5, 6, 7], [0, 1], [], [8]], [0, 1, 2, 3, 4])
    assert found.unread == 1 and found.rows.tolist() == [0, 1, 2, 4]
    assert found.unlike[0] == pytest.approx([0, 3 / 5, 3 / 5, 1])
    assert found.unlike[1, 2] == pytest.approx(3 / 5)


def test_means_to_all_others_need_no_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "AT_ONCE", 100)
    rng = np.random.default_rng(6)
    named = [rng.choice(9, rng.integers(0, 5), replace=False).tolist() for _ in range(40)]
    rows = np.repeat(np.arange(40, dtype=np.int32), [len(items) for items in named])
    sample = ItemSample(40, rows, np.array(sum(named, []), dtype=np.int32), 9)
    places, others = unlike_others(sample)
    whole = unlike_lists(sample, np.arange(40))
    assert places.tolist() == whole.rows.tolist()
    assert others.tolist() == pairs_of(whole).others.tolist()


def test_letters_are_alike_or_not() -> None:
    found = unlike_choices(ChoiceSample(np.array([0, 1, UNKNOWN, 0], np.int8), 3, 0), np.arange(4))
    assert found.unread == 1
    assert found.unlike.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_each_pair_of_persons_counts_once_however_often_they_were_asked() -> None:
    answers = random_answers(7, np.random.default_rng(1))
    found = pairs_of(answers)
    for place, person in enumerate(found.who):
        mine = np.flatnonzero(answers.of == person)
        own = [answers.unlike[a, b] for a, b in combinations(mine, 2)]
        others = [answers.unlike[np.ix_(mine, answers.of == other)].mean() for other in found.who if other != person]
        assert found.own[place] == pytest.approx(np.mean(own) if own else np.nan, nan_ok=True)
        assert found.others[place] == pytest.approx(np.mean(others), abs=1e-6)


def test_single_answers_in_any_order_stay_with_their_persons() -> None:
    found = pairs_of(lists([[0, 1], [0, 1], [5]], [2, 0, 1]))
    assert (found.who.tolist(), found.others.tolist()) == ([0, 1, 2], [0.5, 1, 0.5])


def test_errors_come_from_leaving_out_each_person_in_all_prompts() -> None:
    rng = np.random.default_rng(2)
    prompts = [random_answers(8, rng), random_answers(8, rng)]

    def person(some: list[ReadableAnswers]) -> float:
        measured = shares.measure(some)
        return float(np.mean([each.between.value - each.within.value for each in measured]))

    names = np.unique(np.concatenate([answers.of for answers in prompts]))
    without = [person([answers.where(answers.of != name) for answers in prompts]) for name in names]
    repeated = {name for answers in prompts for name in names if np.count_nonzero(answers.of == name) > 1}
    n = len(repeated)
    error = np.sqrt((n - 1) / n * np.square(np.array(without) - person(prompts)).sum())
    found = shares.describe(shares.measure(prompts), shares.Assignments(rng, 10))
    assert found.person.value == pytest.approx(person(prompts))
    assert found.person.error == pytest.approx(error, rel=1e-4)
    assert found.repeated == n


def test_the_parts_add_up_and_few_people_are_not_tested() -> None:
    rng = np.random.default_rng(3)
    field, offline = (shares.measure(some) for some in dice.study_of(dice.World(), 9, 9, rng))
    side, split = shares.describe(field, shares.Assignments(rng, 50)), shares.split(field, offline)
    assert split.added.value == pytest.approx(split.dice.value + side.person.value)
    assert side.share.value == pytest.approx(1 - side.within.value / side.between.value)
    assert side.p is None and side.why == shares.FEW_REPEATS and side.person.ci is not None
    assert shares.describe(field, shares.Assignments(rng, 50)).pairs == 4 * 9


def test_every_assignment_of_second_answers_is_as_likely() -> None:
    answers = lists([[0, 1], [2, 3], [4, 5], [0, 1], [2, 6], [4, 7]], [0, 1, 2, 0, 1, 2])
    table = answers.unlike[np.ix_([0, 1, 2], [3, 4, 5])]
    centre = table.mean()
    strengths = [abs(np.mean([table[a, b] for a, b in enumerate(order)]) - centre) for order in permutations(range(3))]
    p, _ = shares.chance_of([answers], shares.Assignments(np.random.default_rng(0), 6000))
    assert p == pytest.approx(np.mean(np.array(strengths) >= strengths[0] - 1e-9), abs=0.03)


def test_nobody_asked_twice_gives_means_and_no_person() -> None:
    answers = lists([[0, 1], [1, 2], [3, 4]], [0, 1, 2])
    found = shares.describe(shares.measure([answers]), shares.Assignments(np.random.default_rng(0), 10))
    assert (found.between.value, found.within.value, found.person.value, found.p) == (
        pytest.approx((0.5 + 1 + 1) / 3),
        None,
        None,
        None,
    )


def test_one_person_alone_is_beside_nobody() -> None:
    number = mean_of_pairs(np.array([0]), pairs_of(lists([[0]], [0])).others, 1)
    assert estimate(number).value is None
    assert np.isnan(minus(number, number).value) and np.isnan(mean_over([number, number]).value)


# --- worlds whose truth is known (python -m benchmarks.dice says more)


@pytest.mark.parametrize("people", [20, 50])
def test_intervals_hold_the_truth(people: int) -> None:
    for name, (held, off) in dice.coverage(dice.World(), people, people, 150).items():
        assert held > 0.89, name
        assert abs(off) < 0.01, name


def test_people_who_differ_in_nothing_are_not_found() -> None:
    found = [dice.measure_study(dice.World(taste=0.0), 20, 20, study, 99) for study in range(150)]
    assert np.mean([each["share"].ci[0] <= 0 <= each["share"].ci[1] for each in found]) > 0.9
    assert np.mean([each["p"] < 0.05 for each in found]) < 0.09


def test_people_who_differ_are_found() -> None:
    found = [dice.measure_study(dice.World(taste=1.5), 20, 20, study, 99) for study in range(20)]
    assert np.mean([each["p"] < 0.05 for each in found]) > 0.9
