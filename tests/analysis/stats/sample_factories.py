"""Samples for tests of the statistics, written so that they can be counted by eye."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from analysis.stats import heterogeneity
from analysis.stats.heterogeneity import Difference, Heterogeneity
from analysis.stats.resampling import DRAWS, ItemSample, chosen_counts, split


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def make_items(*responses: str, size: int = 8) -> ItemSample:
    """A sample of responses in which each letter is an item: "ab" names items a and b, "" names nothing."""
    return items_of([[ord(letter) - ord("a") for letter in response] for response in responses], size)


def items_of(responses: Iterable[Iterable[int]], size: int) -> ItemSample:
    lists = [sorted(set(response)) for response in responses]
    rows = np.repeat(np.arange(len(lists), dtype=np.int32), [len(codes) for codes in lists])
    return ItemSample(len(lists), rows, np.array([code for codes in lists for code in codes], dtype=np.int32), size)


def draw_items(rng: np.random.Generator, n: int, size: int = 30, steepness: float = 1.0, named: int = 5) -> ItemSample:
    """n responses that each name `named` items; the higher the steepness, the more often they name the first ones."""
    logs = -steepness * np.log(np.arange(1, size + 1))
    best = np.argsort(-(logs + rng.gumbel(size=(n, size))), axis=1)[:, :named]
    return items_of(best.tolist(), size)


def relabelled(sample: ItemSample, order: NDArray[np.int64]) -> ItemSample:
    """The same answers with the items renumbered."""
    return ItemSample(sample.n, sample.rows, order[sample.codes].astype(np.int32), sample.size)


def reordered(sample: ItemSample, order: NDArray[np.int64]) -> ItemSample:
    """The same answers with the responses in another order."""
    return ItemSample(sample.n, order[sample.rows].astype(np.int32), sample.codes, sample.size)


SIZE = 6
item_samples = st.lists(st.frozensets(st.integers(0, SIZE - 1), max_size=5), min_size=1, max_size=25).map(
    lambda responses: items_of(responses, SIZE)
)


def clustered(responses: ItemSample, users: int) -> ItemSample:
    """The same answers, given by this many users in consecutive blocks of equal size."""
    return replace(responses, units=np.repeat(np.arange(users), responses.n // users))


def draw_clustered(
    rng: np.random.Generator, users: int, repeats: int, size: int = 30, unlike: float = 2.0, steepness: float = 1.0
) -> ItemSample:
    """Answers of five items from users who each prefer items of their own: an item's log odds differ with SD `unlike`
    between users, against 1.28 among one user's answers.
    """
    logs = -steepness * np.log(np.arange(1, size + 1)) + unlike * rng.normal(size=(users, 1, size))
    scores = logs + rng.gumbel(size=(users, repeats, size))
    best = np.argpartition(-scores, 5, axis=2)[..., :5].reshape(users * repeats, 5)
    return clustered(sample_of(best, size), users) if repeats > 1 else sample_of(best, size)


def sample_of(best: NDArray[np.int64], size: int) -> ItemSample:
    """A sample in which each row of item codes is a response."""
    n, named = best.shape
    return ItemSample(n, np.repeat(np.arange(n, dtype=np.int32), named), best.ravel().astype(np.int32), size)


# Statistics of samples that do not share draws with others.


def rarefy(sample: ItemSample, n: int, rng: np.random.Generator, draws: int = DRAWS) -> Heterogeneity:
    used = sample.compacted()
    is_whole = n == sample.unit_count and not sample.clusters
    return heterogeneity.rarefy(used, n, None if is_whole else chosen_counts(used, n, draws, rng))


def compare(
    a: ItemSample, b: ItemSample, rng: np.random.Generator, draws: int = DRAWS, n: int | None = None
) -> dict[str, Difference]:
    size = min(a.unit_count, b.unit_count) if n is None else n
    rarefied = [rarefy(sample, size, rng, draws) for sample in (a, b)]
    chances = heterogeneity.permutation_test(split(a, b, draws, rng), size)
    return heterogeneity.differences(*rarefied, chances)
