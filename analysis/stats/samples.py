"""Answers as arrays: which response names which item, and which option each response chose."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

UNKNOWN = -1  # the code of an answer in which no option was found


@dataclass(frozen=True, eq=False)
class ItemSample:
    """The items that `n` responses of one prompt, source and model name.

    `rows` and `codes` are parallel: mention k says that response `rows[k]` (0 … n-1) names item `codes[k]`
    (0 … size-1, a vocabulary shared by all sources of the prompt). A response names an item at most once; responses
    that name nothing count in `n` and have no mention. ValueError when a number is out of range or a mention doubled.
    """

    n: int
    rows: NDArray[np.int32]
    codes: NDArray[np.int32]
    size: int

    def __post_init__(self) -> None:
        if self.rows.shape != self.codes.shape or self.rows.ndim != 1:
            raise ValueError("Rows and codes of a sample must be two lists of one length.")
        _check_range("row", self.rows, self.n)
        _check_range("code", self.codes, self.size)
        mentions = np.sort(self.rows.astype(np.int64) * self.size + self.codes)
        if np.any(mentions[1:] == mentions[:-1]):
            raise ValueError("A response names an item twice; each item counts once in a response.")

    def counts(self) -> NDArray[np.int64]:
        """c_i: in how many responses each item stands, shape (size,)."""
        return np.bincount(self.codes, minlength=self.size)

    @property
    def unknown(self) -> int:
        """Responses that name nothing."""
        return self.n - int(np.count_nonzero(np.bincount(self.rows, minlength=1)))

    def incidence(self) -> sparse.csr_array:
        """1 where a response names an item, shape (n, size), float32."""
        ones = np.ones(len(self.rows), dtype=np.float32)
        return sparse.csr_array((ones, (self.rows, self.codes)), shape=(self.n, self.size))

    @cached_property
    def by_item(self) -> sparse.csr_array:
        """The incidence turned round, shape (size, n): times weights of responses it gives weighted counts of items."""
        return self.incidence().T.tocsr()

    def parts(self, n: int) -> tuple["ItemSample", "ItemSample"]:
        """The first `n` responses, and the others, over the same vocabulary."""
        first = self.rows < n
        others = self.rows[~first] - np.int32(n)
        return (
            ItemSample(n, self.rows[first], self.codes[first], self.size),
            ItemSample(self.n - n, others, self.codes[~first], self.size),
        )

    def compacted(self) -> "ItemSample":
        """The same responses over the vocabulary of the items that occur."""
        used = self.counts() > 0
        codes = (np.cumsum(used, dtype=np.int32) - 1)[self.codes]
        return ItemSample(self.n, self.rows, codes, int(np.count_nonzero(used)))


@dataclass(frozen=True, eq=False)
class ChoiceSample:
    """What each response to a choice prompt chose: option 0 … options-1, or UNKNOWN; `correct` is the key, if any."""

    codes: NDArray[np.int8]
    options: int
    correct: int | None

    def __post_init__(self) -> None:
        _check_range("choice", self.codes + 1, self.options + 1)
        if self.correct is not None and not 0 <= self.correct < self.options:
            raise ValueError(f"The correct option {self.correct} is none of the {self.options} options.")

    @property
    def n(self) -> int:
        return len(self.codes)

    def counts(self) -> NDArray[np.int64]:
        """Responses per option, shape (options,); unknown ones are left out."""
        return np.bincount(self.codes[self.codes != UNKNOWN], minlength=self.options)

    @property
    def unknown(self) -> int:
        return int(np.count_nonzero(self.codes == UNKNOWN))


def pool(a: ItemSample, b: ItemSample) -> ItemSample:
    """The responses of `a` and then those of `b` as one sample."""
    check_same_size(a, b)
    rows = np.concatenate([a.rows, b.rows + np.int32(a.n)])
    return ItemSample(a.n + b.n, rows, np.concatenate([a.codes, b.codes]), a.size)


def check_same_size(a: ItemSample, b: ItemSample) -> None:
    """ValueError when two samples can't share a vocabulary."""
    if a.size != b.size:
        raise ValueError(f"The samples have vocabularies of {a.size} and {b.size} items; give both the same one.")


def _check_range(word: str, numbers: NDArray[np.integer], size: int) -> None:
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < size):
        raise ValueError(f"A {word} of the sample is outside 0 … {size - 1}.")
