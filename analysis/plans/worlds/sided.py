"""Answers of two sides to prompts, with the difference between them that a scenario says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from analysis.plans.scenarios import Assumed
from analysis.stats.heterogeneity import measure_distance
from analysis.stats.hypotheses.measures import PromptSides, test_of
from analysis.stats.hypotheses.tested import Tested
from analysis.stats.item_measures import Counted
from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample, SharedDraws
from surveys.studies.files.hypotheses import Hypothesis

MANY = 20_000  # answers from which a world's truth is known
STEPS = 14  # halvings on the way to it
FARTHEST = 4.0  # slopes
VARIED = ("entropy_bits", "jsd_excess")  # measures of lists
Floats = NDArray[np.float64]
Sizes = tuple[int, int]
Draw = Callable[[np.random.Generator, int, int], Iterator[PromptSides]]
# One simulated study: what its test says of this share of its people, those who came first.
Study = Callable[[float], Tested]
World = Callable[[np.random.Generator], Study]


@dataclass(frozen=True)
class Prompted:
    """A prompt as far as a world needs it: what is assumed, and how many items or options it has."""

    assumed: Assumed
    items: int = 0
    options: int = 0

    @property
    def named(self) -> int:
        return self.assumed.named or self.items


def draw_lists(rng: np.random.Generator, count: int, popular: Floats, named: int) -> NDArray[np.int32]:
    """For each answer so many different items: the smallest of exponential times with rates of their popularity."""
    times = rng.standard_exponential((count, len(popular)), dtype=np.float32) * np.exp(-popular).astype(np.float32)
    return np.argpartition(times, named, axis=1)[:, :named].astype(np.int32)


def by_rank(slope: float, vocabulary: int) -> tuple[float, ...]:
    """The logarithm of Zipf's popularity of each item."""
    return tuple(-slope * np.log(np.arange(1, vocabulary + 1)))


@lru_cache(maxsize=64)
def population(popular: tuple[float, ...], named: int) -> NDArray[np.int32]:
    """Many answers with items of this popularity, from which simulated people's are taken."""
    return np.sort(draw_lists(np.random.default_rng(0), MANY, np.array(popular), named), axis=1)


def list_sample(
    rng: np.random.Generator, count: int, popular: tuple[float, ...], named: int, unusable: float
) -> ItemSample:
    said = np.flatnonzero(rng.random(count) >= unusable)
    answers = population(popular, named)
    drawn = answers[rng.integers(0, len(answers), len(said))]
    return ItemSample(count, np.repeat(said, named).astype(np.int32), drawn.ravel(), len(popular), checked=True)


def hit_sample(rng: np.random.Generator, count: int, share: float) -> ItemSample:
    """Of one item alone: who names it."""
    rows = np.flatnonzero(rng.random(count) < share).astype(np.int32)
    return ItemSample(count, rows, np.zeros(len(rows), np.int32), 1, checked=True)


def letter_sample(rng: np.random.Generator, count: int, share: float, options: int, unusable: float) -> ChoiceSample:
    """Letter 0 with this share of all answers; the others alike, and nothing where unusable."""
    codes = np.where(rng.random(count) < share, 0, rng.integers(1, options, count)).astype(np.int8)
    codes[(rng.random(count) < unusable / max(1 - share, 1e-9)) & (codes > 0)] = UNKNOWN
    return ChoiceSample(codes, options, 0)


def world_of(hypothesis: Hypothesis, prompts: list[Prompted], truth: float) -> Draw:
    """What draws one study: both sides' answers to each prompt, `truth` being a minus b."""
    draw = draw_varied if hypothesis.measure in VARIED else draw_share

    def study(rng: np.random.Generator, a: int, b: int) -> Iterator[PromptSides]:
        who = np.arange(a), np.arange(b)
        for prompt in prompts:
            one, other = draw(rng, hypothesis.measure, prompt, truth, (a, b))
            yield PromptSides(one, other, who, 0)

    return study


def sided_world(
    hypothesis: Hypothesis,
    prompts: list[Prompted],
    truth: float,
    sizes: Sizes,
    of_people: tuple[bool, bool],
    shared: SharedDraws,
) -> World:
    """Of both sides; all calls of a model are there from the first look on."""
    draw, names = world_of(hypothesis, prompts, truth), (hypothesis.a, hypothesis.b)

    def world(rng: np.random.Generator) -> Study:
        asked = list(draw(rng, *sizes))

        def tested(share: float) -> Tested:
            first = [max(1, round(share * n)) if grows else n for n, grows in zip(sizes, of_people, strict=True)]
            some = asked if share == 1 else [cut(each, first) for each in asked]
            return test_of(hypothesis.measure, some, shared, names)

        return tested

    return world


def cut(asked: PromptSides, first: Sequence[int]) -> PromptSides:
    """The first so many answers of each side."""
    a, b = (
        sample.parts(n)[0] if isinstance(sample, ItemSample) else replace(sample, codes=sample.codes[:n])
        for sample, n in zip(asked.sides, first, strict=True)
    )
    return PromptSides(a, b, (asked.who[0][: first[0]], asked.who[1][: first[1]]), asked.code)


def draw_varied(
    rng: np.random.Generator, measure: str, prompt: Prompted, truth: float, sizes: Sizes
) -> Iterator[ItemSample]:
    assumed = prompt.assumed
    sides = (truth, 0.0)
    for count, off in zip(sizes, sides, strict=True):
        popular = popularity(measure, off, assumed.slope, prompt.named, assumed.vocabulary)
        yield list_sample(rng, count, popular, prompt.named, assumed.unusable)


def draw_share(
    rng: np.random.Generator, measure: str, prompt: Prompted, truth: float, sizes: Sizes
) -> Iterator[ItemSample | ChoiceSample]:
    assumed = prompt.assumed
    other = min(max(assumed.share * (1 - assumed.unusable), 0.0), 1.0)
    share = min(max(other + truth, 0.0), 1.0)
    for count, chance in zip(sizes, (share, share - truth), strict=True):  # no room for side a: b gives way
        if measure == "item_share":
            yield hit_sample(rng, count, chance)
        else:
            yield letter_sample(rng, count, chance, prompt.options, assumed.unusable)


def counts_of(popular: tuple[float, ...], named: int) -> NDArray[np.int64]:
    return np.bincount(population.__wrapped__(popular, named).ravel(), minlength=len(popular))


def difference(measure: str, of_a: NDArray[np.int64], of_b: NDArray[np.int64]) -> float:
    if measure == "entropy_bits":
        return float(Counted(of_a).bits - Counted(of_b).bits)
    return float(measure_distance(of_a, of_b)[0])


def reached(hypothesis: Hypothesis, prompts: list[Prompted], truth: float) -> float:
    """The difference there is in the population: less than `truth` where so few items cannot differ so much."""
    if hypothesis.measure not in VARIED or not truth:
        return truth
    found = []
    for prompt in prompts:
        told = (prompt.assumed.slope, prompt.named, prompt.assumed.vocabulary)
        of_a, of_b = (counts_of(popularity(hypothesis.measure, off, *told), prompt.named) for off in (truth, 0.0))
        found.append(difference(hypothesis.measure, of_a, of_b))
    return float(np.mean(found))


@lru_cache(maxsize=64)
def popularity(measure: str, truth: float, slope: float, named: int, vocabulary: int) -> tuple[float, ...]:
    """Of the items on a side that is so far from side b: flatter or steeper, or with other items in front."""
    ranks, base = np.log(np.arange(1, vocabulary + 1)), np.array(by_rank(slope, vocabulary))
    turned = base[np.random.default_rng(1).permutation(vocabulary)]

    if not truth:
        return tuple(base)

    def moved(by: float) -> tuple[float, ...]:
        return tuple(-(slope - by) * ranks if measure == "entropy_bits" else (1 - by) * base + by * turned)

    of_b = counts_of(tuple(base), named)

    def value(by: float) -> float:
        return difference(measure, counts_of(moved(by), named), of_b)

    low, high = (-FARTHEST, slope) if measure == "entropy_bits" else (0.0, 1.0)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) < truth else (low, middle)
    return moved((low + high) / 2)
