"""What cells of a report share is computed once, without changing any number."""

import gc

import numpy as np
import pytest

from analysis.stats.heterogeneity import compare_sources
from analysis.stats.resampling import SharedDraws
from analysis.stats.speed import Memo, uncollected
from tests.analysis.stats.sample_factories import draw_items


def test_a_result_is_computed_when_it_is_first_asked_for() -> None:
    memo, computed = Memo(), list[int]()
    for _ in range(3):
        memo.get("key", lambda: computed.append(1))
    assert (len(computed), memo.get("other", lambda: 5)) == (1, 5)


def test_comparisons_that_share_draws_find_what_each_finds_alone() -> None:
    field, rng = draw_items(np.random.default_rng(1), 60), np.random.default_rng(2)
    others = [draw_items(rng, 50) for _ in range(6)]

    def compare(shared: SharedDraws, number: int) -> float | None:
        samples = {"field": field, "offline": others[number]}
        return compare_sources(samples, [("field", "offline")], shared).distances["field", "offline"].p

    shared = SharedDraws(1, 200)
    assert [compare(shared, number) for number in range(6)] == [
        compare(SharedDraws(1, 200), number) for number in range(6)
    ]


def test_the_search_for_cycles_goes_on_afterwards() -> None:
    with pytest.raises(ZeroDivisionError), uncollected():
        assert not gc.isenabled()
        _ = 1 // 0
    assert gc.isenabled()
