"""One effect over prompts: its interval holds the truth whether or not people answer all prompts alike."""

import numpy as np
import pytest

from analysis.stats.heterogeneity import Difference, compare_sources, mean_difference
from analysis.stats.item_measures import measure
from analysis.stats.resampling import ItemSample, SharedDraws

PAIR = ("field", "source")


def sample(codes: np.ndarray) -> ItemSample:
    return ItemSample(len(codes), np.arange(len(codes), dtype=np.int32), codes.astype(np.int32), 8)


def pooled(one: np.ndarray, other: np.ndarray, seed: int) -> tuple[float, tuple[float, float], float]:
    """Mean entropy of `one` minus `other` over prompts, its interval and p; both are codes, shape (prompts, people)."""
    shared, found, drawn = SharedDraws(seed, 200), list[Difference](), []
    for a, b in zip(one, other, strict=True):
        samples = {"field": sample(a), "source": sample(b)}
        found.append(compare_sources(samples, [PAIR], shared).differences[PAIR]["entropy_bits"])
        draws = [measure(shared.redraw(each, name).counted)["entropy_bits"] for name, each in samples.items()]
        drawn.append(draws[0] - draws[1])
    mean = mean_difference(found, drawn, one.shape[1])
    assert mean.effect == pytest.approx(np.mean([each.effect for each in found]))
    assert mean.ci is not None and mean.p is not None
    return mean.effect or 0.0, mean.ci, mean.p


@pytest.mark.parametrize("alike", [False, True], ids=["by prompt", "alike in all prompts"])
def test_where_nothing_differs_the_interval_holds_nothing(alike: bool) -> None:
    rng, held, claimed = np.random.default_rng(7), 0, 0
    shares = np.array([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
    for seed in range(60):
        sides = [rng.choice(8, (1 if alike else 4, 60), p=shares) for _ in PAIR]
        one, other = (np.tile(side, (4, 1)) if alike else side for side in sides)
        _, ci, p = pooled(one, other, seed)
        held += ci[0] <= 0 <= ci[1]
        claimed += p < 0.05
    assert held >= 53 and claimed <= 7


def test_an_effect_too_small_for_each_prompt_is_found_over_all() -> None:
    rng = np.random.default_rng(8)
    narrow, broad = (np.array([first, *[(1 - first) / 7] * 7]) for first in (0.55, 0.4))
    one, other = (rng.choice(8, (9, 80), p=shares) for shares in (broad, narrow))
    effect, ci, p = pooled(one, other, 1)
    assert effect > 0 and ci[0] > 0 and p < 0.01


def test_an_undefined_difference_leaves_no_mean() -> None:
    whole = Difference(n=9, value=1.0, other=0.5, effect=0.5, ci=(0.1, 0.9), p=0.1, p_tail=0.1)
    undefined = Difference(n=9, value=None, other=0.5)
    draws = [np.zeros(20), np.ones(20)]
    assert mean_difference([whole, undefined], draws, 9).effect is None
