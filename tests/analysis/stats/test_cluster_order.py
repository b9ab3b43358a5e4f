"""The order of raters in a matrix."""

import numpy as np
import pytest

from analysis.stats.agreement.pairs import cluster_order


def camps(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Raters of three camps in random order: alike within a camp, unlike between camps."""
    of = np.random.default_rng(3).permutation(np.arange(n) % 3)
    return of, np.where(of[:, None] == of[None], 0.8, 0.1)


@pytest.mark.parametrize("hidden", [0.0, 0.2])
def test_raters_who_agree_stand_together_though_some_pairs_are_unknown(hidden: float) -> None:
    of, agreement = camps(30)
    rng = np.random.default_rng(4)
    gaps = np.triu(rng.random(agreement.shape) < hidden, 1)
    agreement[gaps | gaps.T] = np.nan
    order = cluster_order(agreement)
    assert sorted(order) == list(range(30))
    assert np.count_nonzero(np.diff(of[order])) == 2


def test_few_raters_and_raters_without_pairs_keep_their_order() -> None:
    assert cluster_order(np.ones((2, 2))) == [0, 1]
    assert cluster_order(np.full((4, 4), np.nan)) == [0, 1, 2, 3]
    assert cluster_order(np.ones((0, 0))) == []
