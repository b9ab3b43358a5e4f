"""Samples: what they count, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.stats.resampling import ChoiceSample, ItemSample, clusters_of, pool
from tests.analysis.stats.sample_factories import make_items


def test_counts_of_items_are_of_responses() -> None:
    sample = make_items("ab", "a", "", "c", size=4)
    assert sample.counts().tolist() == [2, 1, 1, 0]
    assert sample.unknown == 1


def test_incidence_has_a_column_for_each_response() -> None:
    sample = make_items("ab", "", "b", size=3)
    assert sample.by_item.toarray().tolist() == [[1, 0, 0], [1, 0, 1], [0, 0, 0]]
    turned = ItemSample(sample.n, sample.rows[::-1], sample.codes[::-1], sample.size)  # mentions in another order
    assert turned.by_item.toarray().tolist() == sample.by_item.toarray().tolist()


def test_compacted_sample_keeps_only_items_that_occur() -> None:
    sample = make_items("bd", "d", size=6).compacted()
    assert (sample.size, sample.counts().tolist()) == (2, [1, 2])


def test_pooled_samples_come_apart_again() -> None:
    first, second = pool(make_items("ab", ""), make_items("b", "c", "d")).parts(2)
    assert (first.n, first.counts().tolist()[:4]) == (2, [1, 1, 0, 0])
    assert (second.n, second.counts().tolist()[:4]) == (3, [0, 1, 1, 1])


def test_samples_without_responses_are_possible() -> None:
    sample = make_items()
    assert (sample.n, sample.unknown, sample.counts().sum(), sample.compacted().size) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("rows", "codes", "message"),
    [
        ([0, 2], [0, 1], "row"),
        ([0, -1], [0, 1], "row"),
        ([0, 1], [0, 3], "code"),
        ([1, 1], [2, 2], "twice"),
        ([0], [0, 1], "one length"),
    ],
)
def test_mentions_that_can_not_be_are_refused(rows: list[int], codes: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ItemSample(2, np.array(rows, dtype=np.int32), np.array(codes, dtype=np.int32), 3)


def test_samples_of_different_vocabularies_are_not_pooled() -> None:
    with pytest.raises(ValueError, match="3 and 4 items"):
        pool(make_items("a", size=3), make_items("a", size=4))


def test_choices_are_counted_without_unknown_ones() -> None:
    sample = ChoiceSample(np.array([0, 3, -1, 3], dtype=np.int8), 4, correct=3)
    assert (sample.n, sample.unknown, sample.counts().tolist()) == (4, 1, [1, 0, 0, 2])


@pytest.mark.parametrize(("codes", "correct"), [([0, 4], 0), ([-2], 0), ([0], 4)])
def test_choices_outside_the_options_are_refused(codes: list[int], correct: int) -> None:
    with pytest.raises(ValueError, match="outside|not one of"):
        ChoiceSample(np.array(codes, dtype=np.int8), 4, correct)


def test_units_of_a_sample_are_counted_and_kept_by_its_parts() -> None:
    sample = make_items("ab", "a", "c", "", size=4)
    assert (sample.clusters, sample.unit_count) == (None, 4)
    grouped = replace(sample, units=np.array([7, 3, 7, 5]))
    assert (grouped.unit_count, grouped.compacted().unit_count) == (3, 3)
    assert [part.unit_count for part in grouped.parts(2)] == [2, 2]
    assert replace(sample, units=np.array([4, 3, 2, 1])).clusters is None
    assert ChoiceSample(np.array([0, 1], dtype=np.int8), 2, 0, np.array([1, 1])).unit_count == 1
    with pytest.raises(ValueError, match="a unit for each response"):
        replace(sample, units=np.array([1]))


def test_one_response_of_each_unit_is_chosen() -> None:
    clusters = clusters_of(np.array([7, 3, 7, 5]))
    assert clusters is not None
    assert (clusters.of.tolist(), clusters.sizes.tolist()) == ([2, 0, 2, 1], [1, 1, 2])
    chosen = clusters.choose(np.tile(np.arange(3), (400, 1)).T, np.random.default_rng(1))
    assert (chosen[0] == 1).all() and (chosen[1] == 3).all()
    assert np.isin(chosen[2], (0, 2)).all() and 150 < (chosen[2] == 0).sum() < 250
