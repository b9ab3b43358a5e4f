"""Clusters of statements: cases by pencil, and the same partition as another library's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

from analysis.stats.diversity import clusters_of, cut_average_linkage, joint_confidence


def rows(*angles: float) -> np.ndarray:
    """Rows of length 1 at these angles, so that cosine similarities are the cosines of their differences."""
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype("float32")


def test_cut_joins_while_the_mean_similarity_reaches_the_threshold() -> None:
    # cos 30° = .866, cos 60° = .5: {0, 30} joins at .866; with 60 the mean is (.866 + .5) / 2 = .683.
    assert cut_average_linkage(rows(0, 30, 60), 0.7).tolist() == [0, 0, 1]
    assert cut_average_linkage(rows(0, 30, 60), 0.68).tolist() == [0, 0, 0]
    assert cut_average_linkage(rows(0, 30, 60), 0.9).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n", [0, 1])
def test_cut_of_none_or_one(n: int) -> None:
    assert cut_average_linkage(rows(*[0.0] * n), 0.7).tolist() == [0] * n


@given(st.integers(2, 30), st.sampled_from([0.3, 0.6, 0.8]), st.integers(0, 99))
def test_cut_is_that_of_scikit_learn(n: int, similarity: float, seed: int) -> None:
    dice = np.random.default_rng(seed)
    vectors = dice.normal(size=(n, 8)) + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    other = AgglomerativeClustering(None, metric="cosine", linkage="average", distance_threshold=1 - similarity)
    theirs, ours = other.fit(vectors).labels_, cut_average_linkage(vectors.astype("float32"), similarity)
    assert len(set(zip(theirs, ours, strict=True))) == len(set(theirs)) == len(set(ours))


def test_representative_is_nearest_to_the_centroid_that_confidence_weights() -> None:
    vectors = rows(0, 10, 20)
    assert [cluster.representative for cluster in clusters_of(vectors, [0.5, 0.5, 0.5], "abc", 0.7)] == [1]
    # Weighted (.9, .1, .1) the centroid lies at about 2.7°, so that the first is nearest.
    assert [cluster.representative for cluster in clusters_of(vectors, [0.9, 0.1, 0.1], "abc", 0.7)] == [0]
    assert clusters_of(rows(0, 0, 0), [0.4, 0.8, 0.8], "abc", 0.7)[0].representative == 1


@pytest.mark.parametrize(
    ("confidences", "sources", "expected"),
    [
        ((0.5, 0.8), "ab", 0.9),  # 1 - .5 · .2
        ((0.5, 0.8), "aa", 0.8),  # one conversation counts once
        ((0.5, 0.8, 0.5), "aab", 0.9),
        ((0.5, None), "ab", 0.5),
        ((None, None), "ab", None),
        ((1.0, 0.3), "ab", 1.0),
    ],
)
def test_confidence_grows_with_distinct_conversations(confidences, sources, expected) -> None:
    found = joint_confidence(range(len(confidences)), confidences, sources)
    assert found == (expected if expected is None else pytest.approx(expected))


def test_every_row_is_in_one_cluster() -> None:
    found = clusters_of(rows(0, 90, 1, 180, 91), [None] * 5, range(5), 0.7)
    assert [cluster.members for cluster in found] == [[0, 2], [1, 4], [3]]
