"""Draws that samples share: as good as draws of their own, and together where responses belong together."""

import numpy as np
import pytest

from analysis.stats import distances, heterogeneity, resampling
from analysis.stats.item_measures import entropy
from analysis.stats.resampling import SharedDraws
from analysis.stats.samples import ItemSample
from tests.analysis.stats.sample_factories import draw_items, make_items

FIELD = draw_items(np.random.default_rng(1), 80)
OTHER = draw_items(np.random.default_rng(2), 60, steepness=1.8)


def test_draws_are_those_of_all_responses_with_replacement() -> None:
    # Each response names one item of its own: its count in a draw is how often it was drawn.
    sample = make_items(*"abcdefgh")
    counts = SharedDraws(1, 4000).redraw(sample, "field").counts
    assert set(counts.sum(axis=1)) == {8}
    assert counts.mean(axis=0) == pytest.approx(np.ones(8), abs=0.06)
    assert counts.var(axis=0) == pytest.approx(np.full(8, 7 / 8), abs=0.1)


def test_one_sample_is_measured_as_with_draws_of_its_own() -> None:
    shared = heterogeneity.describe_redrawn(SharedDraws(1).redraw(FIELD, "field"))
    own = heterogeneity.describe(FIELD, np.random.default_rng(5))
    assert shared.values == own.values
    assert shared.ci["entropy_bits"] == pytest.approx(own.ci["entropy_bits"], abs=0.03)


def test_names_and_numbers_of_responses_draw_apart() -> None:
    shared = SharedDraws(1, 50)
    drawn = [shared.redraw(FIELD, name).counts for name in ("field", "field", "offline")]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    assert np.array_equal(drawn[0], SharedDraws(1, 50).redraw(FIELD, "field").counts)
    assert not np.array_equal(drawn[0], SharedDraws(2, 50).redraw(FIELD, "field").counts)


def test_large_samples_are_drawn_together_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "BATCH_CELLS", 1000)
    shared = SharedDraws(1, 50)
    narrow, wide = make_items(*"ab" * 40), draw_items(np.random.default_rng(3), 80)
    first, other = shared.redraw(narrow, "field").counts, shared.redraw(wide, "field").counts
    again = shared.redraw(ItemSample(80, narrow.rows, narrow.codes, wide.size), "field").counts
    assert shared.kept == {} and first.shape == (50, narrow.size) and other.shape == (50, wide.size)
    assert np.array_equal(first, again[:, : narrow.size])


def test_subsets_and_splits_take_each_response_once() -> None:
    shared = SharedDraws(1, 30)
    subsets = shared.subsets(make_items(*"abcdefgh"), 3, "field")
    assert set(subsets.sum(axis=1)) == {3} and subsets.max() == 1
    splits = shared.split(make_items(*"abc"), make_items(*"abc"), "field", "offline")
    assert set(splits.first.sum(axis=1)) == {3} and (splits.first <= splits.total).all()
    assert (splits.n_first, splits.n_second) == (3, 3)


def mean_width(shared: list[SharedDraws]) -> float:
    """Of the mean distance over ten prompts that all have the same answers."""
    drawn = [
        distances.compare_redrawn(
            draws.redraw(FIELD, "field"), draws.redraw(OTHER, "offline"), draws.split(FIELD, OTHER, "field", "offline")
        )
        for draws in shared
    ]
    found = distances.average(drawn).ci
    assert found is not None
    return found[1] - found[0]


def test_people_who_answer_every_prompt_alike_count_once() -> None:
    """Ten prompts with the same answers say no more than one; drawn apart they would seem to, by √10."""
    draws = SharedDraws(1, 500)
    together, single = mean_width([draws] * 10), mean_width([draws])
    apart = mean_width([SharedDraws(seed, 500) for seed in range(10)])
    assert together == pytest.approx(single)
    assert together / apart == pytest.approx(np.sqrt(10), rel=0.25)


def test_answers_without_connection_are_as_if_drawn_apart() -> None:
    prompts = [draw_items(np.random.default_rng(seed), 120) for seed in range(10)]
    draws = SharedDraws(1, 800)
    together = np.mean([entropy(draws.redraw(sample, "field").counts) for sample in prompts], axis=0)
    apart = np.mean(
        [entropy(SharedDraws(seed, 800).redraw(sample, "field").counts) for seed, sample in enumerate(prompts)],
        axis=0,
    )
    assert together.std() == pytest.approx(apart.std(), rel=0.3)
