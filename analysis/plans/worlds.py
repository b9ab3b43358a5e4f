"""Scenarios, which plans assume before any answers, and worlds: simulated people and models who answer as a scenario
says, as far as one hypothesis needs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from analysis.stats.heterogeneity import measure_distance
from analysis.stats.hypotheses.measures import PromptSides, further_from_crowd, person_share, test_of
from analysis.stats.hypotheses.tested import Tested
from analysis.stats.item_measures import Counted
from analysis.stats.persons.shares import Assignments, ReadableAnswers, measure, pairs_of, unlike_choices, unlike_lists
from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample, SharedDraws
from surveys.studies.files.hypotheses import DIFFERENT, EQUAL, LESS, Hypothesis

ITEMS = 60  # named by anyone


@dataclass(frozen=True)
class Assumed:
    """Assumptions about side b's answers to one prompt: the `share` of usable ones that name the item or take the
    letter; the `slope` by which the popularity of `vocabulary` items falls (0: equally popular); the `unusable` share,
    in which nothing is found; and `named`, items per answer (0: as the prompt asks).
    """

    share: float
    slope: float
    unusable: float
    vocabulary: int = ITEMS
    named: int = 0


@dataclass(frozen=True)
class Scenario:
    """Named assumptions. `effect`: the true difference, in smallest differences that matter; `off`: the same for
    `equal` hypotheses, in bounds. `seen`: what existing answers say, by hypothesis and prompt, in place of `usual`.
    """

    name: str
    effect: float
    off: float
    usual: Assumed
    seen: Mapping[tuple[str, str], Assumed] = field(default_factory=dict, compare=False)
    source: str = ""  # of `seen`

    def of(self, hypothesis: Hypothesis, prompt: str) -> Assumed:
        return self.seen.get((hypothesis.slug, prompt), self.usual)

    @property
    def words(self) -> str:
        usual = f"side b {100 * self.usual.share:.0f} %, {100 * self.usual.unusable:.0f} % of answers unusable"
        return (
            f"{self.source or usual}; true difference {self.effect:g} × the smallest that matters "
            f"(equal: {self.off:g} × the bounds)"
        )


SCENARIOS = (
    Scenario("hopeful", 1.25, 0.0, Assumed(0.15, 1.2, 0.02)),
    Scenario("middle", 1.0, 0.0, Assumed(0.38, 1.0, 0.06)),
    Scenario("cautious", 0.7, 0.3, Assumed(0.5, 0.7, 0.15)),
)
HOPEFUL, MIDDLE, CAUTIOUS = SCENARIOS
NOTHING = Scenario("nothing differs", 0.0, 1.0, MIDDLE.usual)  # and `equal` hypotheses lie at their bounds
# The difference looked for if a hypothesis names no smallest one.
USUAL: Mapping[str, float] = {
    "item_share": 0.1,
    "letter_share": 0.1,
    "correct_share": 0.1,
    "entropy_bits": 0.3,
    "jsd_excess": 0.03,
    "person_share": 0.1,
    "unlikeness": 0.05,
}


def truth_of(hypothesis: Hypothesis, scenario: Scenario) -> float:
    """The true difference, `a` minus `b`, signed as expected."""
    size = hypothesis.smallest or USUAL[hypothesis.measure]
    if hypothesis.expected == EQUAL:
        return scenario.off * size
    sign = -1 if hypothesis.expected == LESS else 1
    assert sign == 1 or hypothesis.expected != DIFFERENT
    return sign * scenario.effect * size


MANY = 20_000  # answers by which a world's truth is computed
STEPS = 14  # halvings for it
STEEPEST = 4.0  # slope
VARIED = ("entropy_bits", "jsd_excess")  # measures of lists
Floats = NDArray[np.float64]
Sizes = tuple[int, int]
# One simulated study: tests the first of its people, this share of all.
Study = Callable[[float], Tested]
World = Callable[[np.random.Generator], Study]


@dataclass(frozen=True)
class Prompted:
    """A prompt as a world needs it: the assumptions, and the number of items or options."""

    assumed: Assumed
    items: int = 0
    options: int = 0

    @property
    def named(self) -> int:
        return self.assumed.named or self.items


def draw_lists(rng: np.random.Generator, count: int, popular: Floats, named: int) -> NDArray[np.int32]:
    """Draw `named` different items for each answer: the smallest exponential times with popularity as their rate."""
    times = rng.standard_exponential((count, len(popular)), dtype=np.float32) * np.exp(-popular).astype(np.float32)
    return np.argpartition(times, named, axis=1)[:, :named].astype(np.int32)


def by_rank(slope: float, vocabulary: int) -> tuple[float, ...]:
    """The logarithm of each item's popularity by Zipf's law."""
    return tuple(-slope * np.log(np.arange(1, vocabulary + 1)))


@lru_cache(maxsize=64)
def population(popular: tuple[float, ...], named: int) -> NDArray[np.int32]:
    """MANY answers with items of this popularity, from which simulated answers are drawn."""
    return np.sort(draw_lists(np.random.default_rng(0), MANY, np.array(popular), named), axis=1)


def list_sample(
    rng: np.random.Generator, count: int, popular: tuple[float, ...], named: int, unusable: float
) -> ItemSample:
    said = np.flatnonzero(rng.random(count) >= unusable)
    answers = population(popular, named)
    drawn = answers[rng.integers(0, len(answers), len(said))]
    return ItemSample(count, np.repeat(said, named).astype(np.int32), drawn.ravel(), len(popular), checked=True)


def hit_sample(rng: np.random.Generator, count: int, share: float) -> ItemSample:
    """Draw answers of which this share names a single item."""
    rows = np.flatnonzero(rng.random(count) < share).astype(np.int32)
    return ItemSample(count, rows, np.zeros(len(rows), np.int32), 1, checked=True)


def letter_sample(rng: np.random.Generator, count: int, share: float, options: int, unusable: float) -> ChoiceSample:
    """Draw letter 0 in `share` of all answers, other letters equally often, and none in `unusable` of all."""
    codes = np.where(rng.random(count) < share, 0, rng.integers(1, options, count)).astype(np.int8)
    codes[(rng.random(count) < unusable / max(1 - share, 1e-9)) & (codes > 0)] = UNKNOWN
    return ChoiceSample(codes, options, 0)


def halve(low: float, high: float, is_short: Callable[[float], bool], steps: int = STEPS) -> float:
    """Find the value between `low` and `high` from which `is_short` no longer holds, by bisection."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if is_short(middle) else (low, middle)
    return (low + high) / 2


# --- two sides


def draw_sides(
    rng: np.random.Generator, measure: str, prompts: Sequence[Prompted], truth: float, sizes: Sizes
) -> list[PromptSides]:
    """Draw one study: both sides' answers to each prompt; `truth` is a minus b."""
    draw, who = draw_varied if measure in VARIED else draw_share, (np.arange(sizes[0]), np.arange(sizes[1]))
    drawn = (draw(rng, measure, prompt, truth, sizes) for prompt in prompts)
    return [PromptSides(a, b, who, 0) for a, b in drawn]


def sided_world(
    hypothesis: Hypothesis,
    prompts: list[Prompted],
    truth: float,
    sizes: Sizes,
    of_people: tuple[bool, bool],
    shared: SharedDraws,
) -> World:
    """A world of both sides; a model has all its calls from the first look."""

    def world(rng: np.random.Generator) -> Study:
        asked = draw_sides(rng, hypothesis.measure, prompts, truth, sizes)

        def tested(share: float) -> Tested:
            first = [max(1, round(share * n)) if grows else n for n, grows in zip(sizes, of_people, strict=True)]
            some = asked if share == 1 else [cut(each, first) for each in asked]
            return test_of(hypothesis.measure, some, shared, (hypothesis.a, hypothesis.b))

        return tested

    return world


def cut(asked: PromptSides, first: Sequence[int]) -> PromptSides:
    """Keep the `first` answers of each side."""
    a, b = (
        sample.parts(n)[0] if isinstance(sample, ItemSample) else replace(sample, codes=sample.codes[:n])
        for sample, n in zip(asked.sides, first, strict=True)
    )
    return PromptSides(a, b, (asked.who[0][: first[0]], asked.who[1][: first[1]]), asked.code)


def draw_varied(
    rng: np.random.Generator, measure: str, prompt: Prompted, truth: float, sizes: Sizes
) -> Iterator[ItemSample]:
    assumed = prompt.assumed
    for count, off in zip(sizes, (truth, 0.0), strict=True):
        popular = popularity(measure, off, assumed.slope, prompt.named, assumed.vocabulary)
        yield list_sample(rng, count, popular, prompt.named, assumed.unusable)


def draw_share(
    rng: np.random.Generator, measure: str, prompt: Prompted, truth: float, sizes: Sizes
) -> Iterator[ItemSample | ChoiceSample]:
    assumed = prompt.assumed
    other = min(max(assumed.share * (1 - assumed.unusable), 0.0), 1.0)
    share = min(max(other + truth, 0.0), 1.0)
    for count, chance in zip(sizes, (share, share - truth), strict=True):  # if there is no room for side a, b gives way
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
    """The population's difference: below `truth` if the items are too few to differ that much."""
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
    """Log popularity of items on a side that differs from side b by `truth`: another slope, or other items on top."""
    ranks, base = np.log(np.arange(1, vocabulary + 1)), np.array(by_rank(slope, vocabulary))
    turned = base[np.random.default_rng(1).permutation(vocabulary)]
    if not truth:
        return tuple(base)

    def moved(by: float) -> tuple[float, ...]:
        return tuple(-(slope - by) * ranks if measure == "entropy_bits" else (1 - by) * base + by * turned)

    of_b = counts_of(tuple(base), named)
    ends = (-STEEPEST, slope) if measure == "entropy_bits" else (0.0, 1.0)
    return moved(halve(*ends, lambda by: difference(measure, counts_of(moved(by), named), of_b) < truth))


Ints = NDArray[np.int64]
Lists = NDArray[np.int32]


# --- asked twice


def share_world(prompts: Sequence[Prompted], truth: float, people: int, twice: float, draws: int) -> World:
    """A world of one chatbot's `people`, a share (`twice`) of them asked again; `truth`: 1 - D_within / D_between."""
    again = np.flatnonzero(np.diff(np.floor(np.arange(people + 1) * twice)))
    of = np.concatenate([np.arange(people), again])

    def world(rng: np.random.Generator) -> Study:
        answers = [answers_twice(rng, prompt, truth, of, people) for prompt in prompts]

        def tested(share: float) -> Tested:
            first = round(share * people)
            some = answers if share == 1 else [each.where(each.of < first) for each in answers]
            return person_share(measure(some), Assignments(rng, draws))

        return tested

    return world


def answers_twice(rng: np.random.Generator, prompt: Prompted, truth: float, of: Ints, people: int) -> ReadableAnswers:
    assumed, again = prompt.assumed, of[people:]
    if prompt.options:
        codes, stays = letters(rng, prompt, assumed.share, people), rng.random(len(again)) < truth
        second = np.where(stays, codes[again], letters(rng, prompt, assumed.share, len(again)))
        return unlike_choices(spoiled(rng, np.concatenate([codes, second]), prompt), of)
    first, other = (lists_from(rng, prompt, prompt.assumed.slope, count) for count in (people, len(again)))
    second = keep_some(rng, first[again], other, keeping(prompt, truth))
    return unlike_lists(list_of(rng, np.concatenate([first, second]), prompt), of)


def letters(rng: np.random.Generator, prompt: Prompted, share: float, count: int) -> NDArray[np.int8]:
    return np.where(rng.random(count) < share, 0, rng.integers(1, prompt.options, count)).astype(np.int8)


def spoiled(rng: np.random.Generator, codes: NDArray[np.int8], prompt: Prompted) -> ChoiceSample:
    codes[rng.random(len(codes)) < prompt.assumed.unusable] = UNKNOWN
    return ChoiceSample(codes, prompt.options, None)


def lists_from(rng: np.random.Generator, prompt: Prompted, slope: float, count: int) -> Lists:
    return population(by_rank(slope, prompt.assumed.vocabulary), prompt.named)[rng.integers(0, MANY, count)]


def list_of(rng: np.random.Generator, lists: Lists, prompt: Prompted) -> ItemSample:
    said = np.flatnonzero(rng.random(len(lists)) >= prompt.assumed.unusable)
    rows = np.repeat(said, prompt.named).astype(np.int32)
    return ItemSample(len(lists), rows, lists[said].ravel(), prompt.assumed.vocabulary, checked=True)


def keep_some(rng: np.random.Generator, first: Lists, other: Lists, chance: float) -> Lists:
    """Keep each item of the first lists with this chance, and fill up from the other lists."""
    stays = rng.random(first.shape) < chance
    is_there = (other[:, :, None] == np.where(stays, first, -1)[:, None, :]).any(axis=2)
    places = np.concatenate([np.where(stays, 0.0, 3.0), np.where(is_there, 3.0, 1 + rng.random(other.shape))], axis=1)
    taken = np.argsort(places, axis=1)[:, : first.shape[1]]
    return np.take_along_axis(np.concatenate([first, other], axis=1), taken, axis=1)


@lru_cache(maxsize=64)
def keeping(prompt: Prompted, truth: float) -> float:
    """The chance to keep an item with which one person's two lists are more alike than two people's by `truth`."""
    one = population(by_rank(prompt.assumed.slope, prompt.assumed.vocabulary), prompt.named)
    other, named = np.roll(one, 1, axis=0), prompt.named
    between = 1 - shared_by(one, other).mean() / named

    def is_short(chance: float) -> bool:
        second = keep_some(np.random.default_rng(2), one, other, chance)
        return bool(1 - (1 - shared_by(one, second).mean() / named) / between < truth)

    return halve(0.0, 1.0, is_short)


def shared_by(one: Lists, other: Lists) -> NDArray[np.int64]:
    """The number of items that each two lists share."""
    return (one[:, :, None] == other[:, None, :]).sum(axis=(1, 2))


# --- further from everybody else


def crowd_world(prompts: Sequence[Prompted], truth: float, sizes: Sizes) -> World:
    """A world of one crowd with two sides; people of side a are `truth` further from everybody on average."""
    weight = sizes[0] / sum(sizes)
    in_a = np.concatenate([np.ones(sizes[0], bool), np.zeros(sizes[1], bool)])
    place = np.concatenate([np.arange(size) / size for size in sizes])

    def world(rng: np.random.Generator) -> Study:
        answers = [answers_in_crowd(rng, prompt, truth, weight, sizes) for prompt in prompts]

        def tested(share: float) -> Tested:
            parts = [pairs_of(each if share == 1 else each.where(place[each.of] < share)) for each in answers]
            who = np.concatenate([part.who for part in parts])
            fixed = np.repeat(np.arange(len(parts)), [len(part.who) for part in parts])
            return further_from_crowd(np.concatenate([part.others for part in parts]), fixed, who, in_a[who])

        return tested

    return world


def answers_in_crowd(
    rng: np.random.Generator, prompt: Prompted, truth: float, weight: float, sizes: Sizes
) -> ReadableAnswers:
    of = np.arange(sum(sizes))
    sides = list(zip((moved(prompt, truth, weight), usual(prompt)), sizes, strict=True))
    if prompt.options:
        codes = np.concatenate([letters(rng, prompt, share, count) for share, count in sides])
        return unlike_choices(spoiled(rng, codes, prompt), of)
    lists = [lists_from(rng, prompt, slope, count) for slope, count in sides]
    return unlike_lists(list_of(rng, np.concatenate(lists), prompt), of)


def usual(prompt: Prompted) -> float:
    """The parameter of side b's answers: the share of letter 0, or the slope of items' popularity."""
    return prompt.assumed.share if prompt.options else prompt.assumed.slope


@lru_cache(maxsize=256)
def moved(prompt: Prompted, truth: float, weight: float) -> float:
    """The same of side a, whose people, `weight` of the crowd, are `truth` further from it."""
    if not truth:
        return usual(prompt)
    near, far = (1.0, 1 / prompt.options) if prompt.options else (STEEPEST, 0.0)
    return halve(near, far, lambda at: further(prompt, at, weight) < truth)


def further(prompt: Prompted, at: float, weight: float) -> float:
    """The mean distance from the crowd of people whose answers are drawn with `at`, minus that of its other people."""
    a, b = chances(prompt, at), chances(prompt, usual(prompt))
    most = 1 if prompt.options else prompt.named
    apart_a, between, apart_b = (1 - float(one @ other) / most for one, other in ((a, a), (a, b), (b, b)))
    return weight * apart_a + (1 - 2 * weight) * between - (1 - weight) * apart_b


def chances(prompt: Prompted, at: float) -> Floats:
    """The chance of each letter or item to be in an answer."""
    if prompt.options:
        return np.array([at, *[(1 - at) / (prompt.options - 1)] * (prompt.options - 1)])
    return np.bincount(population(by_rank(at, prompt.assumed.vocabulary), prompt.named).ravel()) / MANY


def reached_in_crowd(prompts: Sequence[Prompted], truth: float, weight: float) -> float:
    """The population's mean difference: below `truth` if answers cannot differ that much."""
    return float(np.mean([further(prompt, moved(prompt, truth, weight), weight) for prompt in prompts]))
