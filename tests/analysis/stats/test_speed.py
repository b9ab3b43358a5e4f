"""Cells side by side, and what they share: in order, each once, by whichever thread comes first."""

import gc
import threading
import time

import numpy as np
import pytest

from analysis.stats import speed
from analysis.stats.heterogeneity import compare_sources
from analysis.stats.resampling import SharedDraws
from analysis.stats.speed import Once, computed_once, each, uncollected
from tests.analysis.stats.sample_factories import draw_items


@pytest.fixture
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "cores", lambda: 3)


@pytest.mark.usefixtures("three_cores")
@pytest.mark.parametrize("cells", [0, 1, 2, 3, 7, 12])
def test_results_stand_in_the_order_of_the_cells(cells: int) -> None:
    assert each(lambda cell: cell * 10, range(cells)) == [cell * 10 for cell in range(cells)]


@pytest.mark.usefixtures("three_cores")
def test_cells_are_computed_side_by_side() -> None:
    together = threading.Barrier(3, timeout=20)
    each(lambda cell: together.wait(), range(3))  # a broken barrier would raise here


@pytest.mark.usefixtures("three_cores")
def test_what_goes_wrong_in_a_cell_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        each(lambda cell: 1 // cell, range(5))


@pytest.mark.usefixtures("three_cores")
def test_who_asks_while_another_computes_waits_for_the_same_result() -> None:
    once, computed = Once(), []

    def compute() -> int:
        computed.append(1)
        time.sleep(0.05)
        return len(computed)

    assert each(lambda cell: once.get("key", compute), range(6)) == [1] * 6
    assert once.get("other", lambda: 5) == 5


def test_a_property_is_computed_once_for_each_owner_and_holds_up_no_other() -> None:
    both, seen = threading.Barrier(2, timeout=20), []

    class Owner:
        @computed_once
        def value(self) -> int:
            seen.append(self)
            both.wait()  # until the other owner's is computed too
            return 7

    owners = [Owner(), Owner()]
    running = [threading.Thread(target=lambda owner=owner: owner.value) for owner in owners]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert [owner.value for owner in owners] == [7, 7] and len(seen) == 2


@pytest.mark.usefixtures("three_cores")
def test_threads_that_share_draws_find_what_one_finds() -> None:
    field, rng = draw_items(np.random.default_rng(1), 60), np.random.default_rng(2)
    others = [draw_items(rng, 50) for _ in range(6)]

    def compare(shared: SharedDraws, number: int) -> float | None:
        samples = {"field": field, "offline": others[number]}
        return compare_sources(samples, [("field", "offline")], shared).distances["field", "offline"].p

    shared = SharedDraws(1, 200)
    together = each(lambda number: compare(shared, number), range(6))
    assert together == [compare(SharedDraws(1, 200), number) for number in range(6)]


def test_the_search_for_cycles_goes_on_afterwards() -> None:
    with pytest.raises(ZeroDivisionError), uncollected():
        assert not gc.isenabled()
        _ = 1 // 0
    assert gc.isenabled()
