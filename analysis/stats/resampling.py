"""Answers as arrays, and resampling: generators, bootstrap, random subsets and splits."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.stats.intervals import Bools, Ints
from analysis.stats.item_measures import BATCH_CELLS, Counted
from analysis.stats.speed import Counts, KeptDraws, Weights, half_weights, subset_weights, weigh

# --- which response names which item, and which option each response chose

UNKNOWN = -1  # the code of an answer in which no option was found


@dataclass(frozen=True, eq=False)
class Clusters:
    """The units, such as simulated users, of n responses: `of` is each response's unit, 0 … count-1."""

    of: Ints
    count: int

    @cached_property
    def sizes(self) -> Ints:
        """Responses of each unit, shape (count,)."""
        return np.bincount(self.of, minlength=self.count)

    @cached_property
    def ordered(self) -> Ints:
        """The responses, sorted by unit."""
        return np.argsort(self.of, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """Where in `ordered` each unit begins."""
        return np.cumsum(self.sizes) - self.sizes

    def choose(self, units: Ints, rng: np.random.Generator) -> Ints:
        """One random response of each of the units, in the same shape."""
        place = (rng.random(units.shape) * self.sizes[units]).astype(np.int64)
        return self.ordered[self.starts[units] + place]


def clusters_of(units: NDArray[np.integer] | None) -> Clusters | None:
    """Return the units as Clusters; None if each response is a unit of its own."""
    if units is None:
        return None
    names, of = np.unique(units, return_inverse=True)
    return Clusters(of.astype(np.int64), len(names)) if len(names) < len(units) else None


Roll = tuple[Ints, int]  # places of a sample's units among the count of units that answered any of some prompts


@dataclass(frozen=True, eq=False)
class ItemSample:
    """The items that `n` responses to one prompt from one source and model name.

    `rows` and `codes` are parallel: mention k says that response `rows[k]` (0 … n-1) names item `codes[k]` (0 … size-1,
    a vocabulary shared by all sources of the prompt). A response names an item at most once; responses that name
    nothing count in `n` and have no mention. `units` groups responses of one unit, such as a simulated user, by any
    numbers; None: each is its own. `roll` gives the units' places if other prompts have answers of more units. Raises
    ValueError if a number is out of range, a mention is doubled, or a response lacks a unit, unless already `checked`.
    """

    n: int
    rows: NDArray[np.int32]
    codes: NDArray[np.int32]
    size: int
    units: NDArray[np.integer] | None = None
    roll: Roll | None = None
    checked: InitVar[bool] = False

    def __post_init__(self, checked: bool) -> None:
        if checked:
            return
        if self.rows.shape != self.codes.shape or self.rows.ndim != 1:
            raise ValueError("Rows and codes of a sample must be two lists of one length.")
        _check_range("row", self.rows, self.n)
        _check_range("code", self.codes, self.size)
        mentions = np.sort(self.rows.astype(np.int64) * self.size + self.codes)
        if np.any(mentions[1:] == mentions[:-1]):
            raise ValueError("A response names an item twice; each item counts once in a response.")
        _check_units(self.units, self.n)

    @cached_property
    def clusters(self) -> Clusters | None:
        """The units of several responses; None if each response is its own."""
        return clusters_of(self.units)

    @property
    def unit_count(self) -> int:
        return self.clusters.count if self.clusters else self.n

    def counts(self) -> Ints:
        """c_i: how many responses name each item, shape (size,)."""
        return np.bincount(self.codes, minlength=self.size)

    @property
    def unknown(self) -> int:
        """Responses that name nothing."""
        return self.n - int(np.count_nonzero(np.bincount(self.rows, minlength=1)))

    @cached_property
    def by_item(self) -> sparse.csr_array:
        """1 if a response names an item, shape (size, n): times weights of responses it gives weighted counts."""
        return self.by_units(np.arange(self.n), self.n)

    @cached_property
    def by_unit(self) -> sparse.csr_array:
        """How many responses of each unit name each item, shape (size, unit_count)."""
        if self.clusters is None:
            return self.by_item
        return self.by_units(self.clusters.of, self.unit_count)

    def by_units(self, of: NDArray[np.integer], units: int) -> sparse.csr_array:
        """`by_unit` over `units` units, with the k-th response of unit `of[k]`."""
        columns = of[self.rows]
        if self.size > np.iinfo(np.uint16).max or np.any(columns[1:] < columns[:-1]) or units < self.n:
            ones = np.ones(len(columns), dtype=np.float32)
            return sparse.csr_array((ones, (self.codes, columns)), shape=(self.size, units))
        # Mentions are sorted by unit, none is doubled, and this sorts them by item; scipy need not check the order.
        order, found = np.argsort(self.codes.astype(np.uint16), kind="stable"), sparse.csr_array((self.size, units))
        found.data, found.indices = np.ones(len(order), np.int16), columns[order].astype(np.int32)
        found.indptr = np.append(0, np.cumsum(self.counts())).astype(np.int32)
        return found

    @property
    def chances(self) -> sparse.csr_array:
        """The share of each unit's responses that name each item, shape (size, unit_count)."""
        if self.clusters is None:
            return self.by_item
        return sparse.csr_array(self.by_unit @ sparse.diags_array(1 / self.clusters.sizes))

    def parts(self, n: int) -> tuple["ItemSample", "ItemSample"]:
        """The first `n` responses and the others, over the same vocabulary."""
        first = self.rows < n
        others = self.rows[~first] - np.int32(n)
        units = (None, None) if self.units is None else (self.units[:n], self.units[n:])
        return (
            ItemSample(n, self.rows[first], self.codes[first], self.size, units[0], checked=True),
            ItemSample(self.n - n, others, self.codes[~first], self.size, units[1], checked=True),
        )

    def compacted(self) -> "ItemSample":
        """The same responses over a vocabulary of only the items that occur."""
        used = self.counts() > 0
        if used.all():
            return self
        codes = (np.cumsum(used, dtype=np.int32) - 1)[self.codes]
        return ItemSample(self.n, self.rows, codes, int(np.count_nonzero(used)), self.units, checked=True)


@dataclass(frozen=True, eq=False)
class ChoiceSample:
    """What each response to a choice prompt chose: option 0 … options-1, or UNKNOWN; `correct` is the key, if any.

    `units` are as in an ItemSample.
    """

    codes: NDArray[np.int8]
    options: int
    correct: int | None
    units: NDArray[np.integer] | None = None

    def __post_init__(self) -> None:
        _check_range("choice", self.codes + 1, self.options + 1)
        if self.correct is not None and not 0 <= self.correct < self.options:
            raise ValueError(f"The correct option {self.correct} is not one of the {self.options} options.")
        _check_units(self.units, self.n)

    @property
    def n(self) -> int:
        return len(self.codes)

    @cached_property
    def clusters(self) -> Clusters | None:
        """The units of several responses; None if each response is its own."""
        return clusters_of(self.units)

    @property
    def unit_count(self) -> int:
        return self.clusters.count if self.clusters else self.n

    def counts(self) -> Ints:
        """Responses per option, shape (options,), without unknown ones."""
        return np.bincount(self.codes[self.codes != UNKNOWN], minlength=self.options)

    @property
    def unknown(self) -> int:
        return int(np.count_nonzero(self.codes == UNKNOWN))


def pool(a: ItemSample, b: ItemSample) -> ItemSample:
    """Join the responses of `a` and then those of `b` in one sample. Raises ValueError if they share no vocabulary."""
    if a.size != b.size:
        raise ValueError(f"The samples have vocabularies of {a.size} and {b.size} items; give both the same one.")
    rows = np.concatenate([a.rows, b.rows + np.int32(a.n)])
    return ItemSample(a.n + b.n, rows, np.concatenate([a.codes, b.codes]), a.size, pool_units(a, b), checked=True)


def pool_units(a: ItemSample | ChoiceSample, b: ItemSample | ChoiceSample) -> NDArray[np.integer] | None:
    """Join the units of the responses of `a` and then of `b`; equal numbers are one unit on both sides."""
    if a.units is None and b.units is None:
        return None
    known = [sample.units for sample in (a, b) if sample.units is not None]
    least, found = min(int(units.min(initial=0)) for units in known), []
    for sample in (a, b):
        own = least - 1 - np.arange(sample.n)
        least -= 0 if sample.units is not None else sample.n
        found.append(own if sample.units is None else sample.units)
    return np.concatenate(found)


def number_units(a: ItemSample | ChoiceSample, b: ItemSample | ChoiceSample) -> Ints:
    """Number the unit of each response of `a` and then of `b` from 0, for samples that share units."""
    return np.unique(np.asarray(pool_units(a, b)), return_inverse=True)[1]


def share_units(a: ItemSample | ChoiceSample, b: ItemSample | ChoiceSample) -> bool:
    """Whether some unit has responses in both."""
    return a.units is not None and b.units is not None and bool(np.isin(a.units, b.units).any())


def _check_units(units: NDArray[np.integer] | None, n: int) -> None:
    if units is not None and units.shape != (n,):
        raise ValueError("A sample needs a unit for each response, or none for all.")


def _check_range(word: str, numbers: NDArray[np.integer], size: int) -> None:
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < size):
        raise ValueError(f"A {word} of the sample is outside 0 … {size - 1}.")


# --- draws

DRAWS = 2000
CACHED_CELLS = 2**17  # counting into more cells at once is slower, since they leave the processor's cache
Make = Callable[[int, np.random.Generator], Weights]  # makes draws of the weights of n responses, shape (n, draws)
Halves = tuple[Counts, Counts]


@dataclass(frozen=True, eq=False)
class Redrawn:
    """A sample and the item counts of its bootstrap draws, shape (draws, size): its units with replacement, each with
    all its responses.
    """

    sample: ItemSample
    counts: NDArray[np.float32]

    @cached_property
    def counted(self) -> Counted:
        return Counted(self.counts)


@dataclass(frozen=True, eq=False)
class Splits:
    """Two samples, and their pool split at random again and again into parts of the same two sizes.

    `observed` has the item counts of the first sample, shape (size,), `first` those of the first part of each split,
    shape (draws, size), `total` those of all responses. If units have several responses, each draw takes one of each at
    random, so that persons are compared with simulated users one answer against one; `observed` and `total` then have a
    row per draw as well. Samples that share units are split within them, with all their responses.
    """

    n_first: int
    n_second: int
    observed: NDArray[np.float32]
    first: NDArray[np.float32]
    total: NDArray[np.float32]

    @cached_property
    def seen(self) -> tuple[Counted, Counted]:
        """The two samples."""
        return Counted(self.observed), Counted(self.total - self.observed)

    @cached_property
    def drawn(self) -> tuple[Counted, Counted]:
        """The two parts of each split."""
        return Counted(self.first), Counted(self.total - self.first)


def generator(seed: int, *names: object) -> np.random.Generator:
    """Make a generator that is the same for the same seed and names, and independent of all others."""
    words = "\0".join(str(part) for part in (seed, *names))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(words.encode()).digest(), "big"))


def bootstrap_weights(n: int, draws: int, rng: np.random.Generator, size: int | None = None) -> NDArray[np.float32]:
    """Count how often each of n responses comes up in `size` (default n) draws with replacement.

    Shape (n, draws); each column sums to size.
    """
    weights = np.empty((n, draws), dtype=np.float32)
    width = max(1, CACHED_CELLS // n)
    for start in range(0, draws, width):
        part = weights[:, start : start + width]
        drawn = rng.integers(0, n, (n if size is None else size, part.shape[1]))
        cells = drawn * part.shape[1] + np.arange(part.shape[1])
        part[:] = np.bincount(cells.ravel(), minlength=part.size).reshape(part.shape)
    return weights


def subset_counts(sample: ItemSample, size: int, draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Count items in random subsets of `size` responses, shape (draws, sample.size)."""
    widths = batches(draws, sample.n, sample.size)
    return _joined([weigh(sample.by_item, subset_weights(sample.n, size, batch, rng)) for batch in widths])


def redraw(sample: ItemSample, draws: int, rng: np.random.Generator) -> Redrawn:
    """Make bootstrap draws of a sample of at least one response, for several statistics to share."""
    widths = batches(draws, sample.unit_count, sample.size)
    drawn = [sample.by_unit @ bootstrap_weights(sample.unit_count, batch, rng) for batch in widths]
    return Redrawn(sample, _joined(drawn))


def split(a: ItemSample, b: ItemSample, draws: int, rng: np.random.Generator) -> Splits:
    """Split `a` and `b` at random, over the vocabulary of the items that occur."""
    if within := _splitter(a, b):
        return within(a, b, draws, rng)
    both, observed = pooled(a, b)
    return Splits(a.n, b.n, observed, subset_counts(both, a.n, draws, rng), both.counts().astype(np.float32))


def pooled(a: ItemSample, b: ItemSample) -> tuple[ItemSample, NDArray[np.float32]]:
    """Join the responses of both over the items that occur; count how often `a` names each of these."""
    named = a.counts()
    return pool(a, b).compacted(), named[(named > 0) | (b.counts() > 0)].astype(np.float32)


def batches(draws: int, *widths: int) -> Iterator[int]:
    """Yield sizes of batches that sum to `draws`, small enough for a batch's matrices of the widest width in memory."""
    batch = max(1, min(draws, BATCH_CELLS // max(1, *widths)))
    for start in range(0, draws, batch):
        yield min(batch, draws - start)


def _joined(by_item: list[NDArray[Any]]) -> NDArray[np.float32]:
    """Counts (items, draws) of batches, transposed without a copy: sums over items run along whole draws."""
    return (by_item[0] if len(by_item) == 1 else np.concatenate(by_item, axis=1)).T


# --- units of several responses


def choose_responses(clusters: Clusters | None, units: int, draws: int, rng: np.random.Generator) -> Ints:
    """Choose one response of each unit for each draw, shape (units, draws)."""
    each = np.broadcast_to(np.arange(units)[:, None], (units, draws))
    return each if clusters is None else clusters.choose(each, rng)


def chosen_counts(sample: ItemSample, size: int, draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Count items in a random `size` of the units, one response of each; shape (draws, sample.size)."""
    found = []
    for width in batches(draws, sample.n, sample.size):
        chosen = choose_responses(sample.clusters, sample.unit_count, width, rng)
        taken = subset_weights(sample.unit_count, size, width, rng)
        found.append(weigh(sample.by_item, _placed(chosen, taken, sample.n)))
    return _joined(found)


def _splitter(a: ItemSample, b: ItemSample) -> Callable[..., Splits] | None:
    """Return the function that splits samples with units of several responses; None for samples without them."""
    if share_units(a, b):
        return _split_within
    return _split_evened if a.clusters or b.clusters else None


def _split_evened(a: ItemSample, b: ItemSample, draws: int, rng: np.random.Generator) -> Splits:
    """Take one response of each unit anew in each draw, and permute units between the two."""
    both, _ = pooled(a, b)
    sizes = a.unit_count, b.unit_count
    own = np.repeat([1, 0], sizes).astype(np.int16)
    parts: list[list[Counts]] = [[], [], []]
    for width in batches(draws, both.n, both.size):
        first, second = (choose_responses(s.clusters, s.unit_count, width, rng) for s in (a, b))
        chosen = np.concatenate([first, second + a.n])
        masks = own[:, None], subset_weights(sum(sizes), sizes[0], width, rng), np.ones((1, 1), np.int16)
        for part, mask in zip(parts, masks, strict=True):
            part.append(weigh(both.by_item, _placed(chosen, np.broadcast_to(mask, chosen.shape), both.n)))
    observed, drawn, total = map(_joined, parts)
    return Splits(*sizes, observed, drawn, total)


def _halves_evened(a: ItemSample, b: ItemSample, size: int, draws: int, rng: np.random.Generator) -> Halves:
    """`SharedDraws.halves` if units have several responses: takes one of each anew in each draw."""
    both, _ = pooled(a, b)
    parts: list[list[Counts]] = [[], []]
    for width in batches(draws, both.n, both.size):
        first, second = (choose_responses(s.clusters, s.unit_count, width, rng) for s in (a, b))
        chosen = np.concatenate([first, second + a.n])
        halves = half_weights(len(chosen), size, width, rng)
        for part, weights in zip(parts, np.hsplit(halves, 2), strict=True):
            part.append(weigh(both.by_item, _placed(chosen, weights, both.n)))
    return _joined(parts[0]), _joined(parts[1])


def _split_within(a: ItemSample, b: ItemSample, draws: int, rng: np.random.Generator) -> Splits:
    """Permute each unit's responses between its two parts, such as the days on which a simulated user is asked."""
    both, observed = pooled(a, b)
    assert both.clusters is not None  # units on both sides have two responses at least
    is_first, shuffles = shuffle_within(both.clusters.of, a.n, batches(draws, both.n, both.size), rng)
    mask = is_first.astype(np.int16)[:, None]
    found = [weigh(both.by_item, _placed(some, np.broadcast_to(mask, some.shape), both.n)) for some in shuffles]
    return Splits(a.n, b.n, observed, _joined(found), both.counts().astype(np.float32))


def shuffle_within(of: Ints, n: int, widths: Iterable[int], rng: np.random.Generator) -> tuple[Bools, Iterator[Ints]]:
    """Mark the places of the first `n` responses if all are sorted by unit, and permute within each unit `of`
    (responses,): the response at each place, shape (responses, draws), in batches of these widths.
    """
    order = np.argsort(of, kind="stable")
    place = np.arange(len(of)) - np.searchsorted(of[order], of[order])  # within its unit
    is_first = place < np.bincount(of[:n], minlength=int(of.max()) + 1)[of[order]]
    return is_first, (np.argsort(of[:, None] + rng.random((len(of), width)), axis=0) for width in widths)


def _placed(chosen: Ints, weights: Weights, n: int) -> Weights:
    """Weights of n responses, shape (n, draws), from those of the chosen ones (…, draws); the others are 0."""
    found = np.zeros((n, chosen.shape[1]), dtype=weights.dtype)
    np.put_along_axis(found, chosen, weights, axis=0)
    return found


# --- draws that several samples share


@dataclass(frozen=True, eq=False)
class SharedDraws:
    """`draws` draws for every name and number of responses, from one seed.

    Samples drawn under one name have their k-th responses drawn together; bootstrap draws go by place in the `roll`, so
    missing answers do not shift them. One sample's interval or p is as with draws of its own. If the k-th responses of
    several samples are the same person's, a mean's interval is over people; if they are unrelated, it is as if they
    were drawn apart.
    """

    seed: int
    draws: int = DRAWS
    kept: KeptDraws = field(default_factory=KeptDraws)

    def redraw(self, sample: ItemSample, name: str) -> Redrawn:
        """`redraw`; for a sample with a roll it draws all units on the roll, and those in the sample count."""
        places, count = sample.roll or (slice(None), sample.unit_count)
        drawn = self._weights(count, ("redraw", name), partial(bootstrap_weights, count))
        return Redrawn(sample, _joined([weigh(sample.by_unit, weights[places], count) for weights in drawn]))

    def subsets(self, sample: ItemSample, size: int, name: str) -> Counts:
        """Item counts of a random `size` of the units, one response of each, shape (draws, size of the vocabulary).

        A quarter of the draws, since only their mean is used.
        """
        few = SharedDraws(self.seed, max(1, self.draws // 4), self.kept)
        names = ("rarefy", name, size)
        if sample.clusters:
            return chosen_counts(sample, size, few.draws, generator(self.seed, *names, sample.n))
        return few._counts(sample.by_item, sample.n, names, partial(subset_weights, sample.n, size))

    def halves(self, a: ItemSample, b: ItemSample, size: int, first: str, second: str) -> Halves:
        """Item counts of two disjoint random sets of `size` units of both together; a quarter of the draws."""
        draws, names = max(1, self.draws // 4), ("halves", first, second, size, a.n)
        if a.clusters or b.clusters:
            return _halves_evened(a, b, size, draws, generator(self.seed, *names, b.n))
        both, few = pooled(a, b)[0], SharedDraws(self.seed, draws, self.kept)
        weights = few._weights(both.n, names, partial(half_weights, both.n, size))
        parts = [np.hsplit(weigh(both.by_item, some), 2) for some in weights]
        return _joined([part[0] for part in parts]), _joined([part[1] for part in parts])

    def split(self, a: ItemSample, b: ItemSample, first: str, second: str) -> Splits:
        """`split`, from the shared draws."""
        names = ("split", first, second, a.n)
        if within := _splitter(a, b):
            return within(a, b, self.draws, generator(self.seed, *names, b.n))
        both, observed = pooled(a, b)
        parts = self._counts(both.by_item, both.n, names, partial(subset_weights, both.n, a.n))
        return Splits(a.n, b.n, observed, parts, both.counts().astype(np.float32))

    def _counts(self, by_item: sparse.csr_array, n: int, names: tuple[object, ...], make: Make) -> Counts:
        """Item counts of the draws of n responses or units, shape (draws, size)."""
        return _joined([weigh(by_item, weights) for weights in self._weights(n, names, make)])

    def _weights(self, n: int, names: tuple[object, ...], make: Make) -> Iterable[Weights]:
        """Batches of weights that depend on n alone, so that they are the same for every sample of n."""

        def draw() -> Iterator[Weights]:
            rng = generator(self.seed, *names, n)
            return (make(width, rng) for width in batches(self.draws, n))

        return self.kept.batches((*names, n), n * self.draws, draw)
