"""All sources of a prompt at once: the same numbers as one by one."""

import numpy as np
import pytest

from analysis.stats import distances, heterogeneity
from analysis.stats.distances import compare_sources
from analysis.stats.resampling import SharedDraws
from tests.analysis.stats.sample_factories import draw_items, make_items


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


SAMPLES = {
    "field": draw_items(rng(1), 90),
    "offline": draw_items(rng(2), 120, steepness=1.8),
    "sp-rag": draw_items(rng(3), 60, steepness=1.2),
}
PAIRS = [("field", "offline"), ("field", "sp-rag")]


def test_sources_are_rarefied_to_the_smallest() -> None:
    found = compare_sources(SAMPLES, PAIRS, SharedDraws(1, 300))
    assert found.n == 60
    assert {name: raw.n for name, raw in found.raw.items()} == {"field": 90, "offline": 120, "sp-rag": 60}
    assert {rarefied.n for rarefied in found.rarefied.values()} == {60}
    assert found.rarefied["sp-rag"].values == found.raw["sp-rag"].values


def test_numbers_are_those_of_the_single_functions() -> None:
    found = compare_sources(SAMPLES, PAIRS, SharedDraws(1))
    single = heterogeneity.compare(SAMPLES["field"], SAMPLES["offline"], rng(), n=60)
    for name, tolerance in {"unique": 0.2, "top5_coverage": 0.01, "entropy_bits": 0.02}.items():
        difference = found.differences["field", "offline"][name]
        assert difference.effect == pytest.approx(single[name].effect, abs=tolerance)
        assert difference.ci == pytest.approx(single[name].ci, abs=5 * tolerance)
        assert difference.p == pytest.approx(single[name].p, abs=0.02)
    distance = distances.compare(SAMPLES["field"], SAMPLES["offline"], rng())
    other = found.distances["field", "offline"]
    assert (other.jsd_bits, other.tv) == pytest.approx((distance.jsd_bits, distance.tv))
    assert other.ci_jsd == pytest.approx(distance.ci_jsd, abs=0.01)
    assert other.chance_jsd == pytest.approx(distance.chance_jsd, abs=0.002)


def test_a_source_that_is_added_changes_no_other_number() -> None:
    fewer = {name: SAMPLES[name] for name in ("field", "offline")}
    alone = compare_sources(fewer, PAIRS[:1], SharedDraws(1, 200), n=60)
    together = compare_sources(SAMPLES, PAIRS, SharedDraws(1, 200), n=60)
    assert alone.rarefied["field"] == together.rarefied["field"]
    assert alone.differences["field", "offline"] == together.differences["field", "offline"]
    assert alone.distances["field", "offline"] == together.distances["field", "offline"]


def test_small_and_empty_sources_are_left_out_of_what_they_can_not_have() -> None:
    samples = {"field": make_items("ab", "b", "c"), "few": make_items("a"), "none": make_items()}
    found = compare_sources(samples, [("field", "few"), ("field", "none")], SharedDraws(1, 50), n=2)
    assert set(found.raw) == {"field", "few"}
    assert set(found.rarefied) == {"field"}
    assert found.differences == {}
    assert set(found.distances) == {("field", "few")}


def test_no_responses_at_all_give_an_empty_comparison() -> None:
    found = compare_sources({"field": make_items()}, [], SharedDraws(1, 50))
    assert (found.n, found.raw, found.rarefied) == (0, {}, {})
