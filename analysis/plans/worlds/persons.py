"""People as worlds need them for what is due to persons: asked twice, or nearer to everybody else than others are."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from analysis.plans.worlds.sided import MANY, STEPS, Prompted, Sizes, Study, World, by_rank, population
from analysis.stats.hypotheses.measures import further_from_crowd, person_share
from analysis.stats.hypotheses.tested import Tested
from analysis.stats.persons.shares import Assignments, ReadableAnswers, measure, pairs_of, unlike_choices, unlike_lists
from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Lists = NDArray[np.int32]
STEEPEST = 4.0  # slope


# --- asked twice


def share_world(prompts: Sequence[Prompted], truth: float, people: int, twice: float, draws: int) -> World:
    """`people` of one chatbot, a part of them asked each prompt `twice`; `truth` is 1 - D_within / D_between."""
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
    """Each item of a first list stays with this chance; others come from another list in their place."""
    stays = rng.random(first.shape) < chance
    is_there = (other[:, :, None] == np.where(stays, first, -1)[:, None, :]).any(axis=2)
    places = np.concatenate([np.where(stays, 0.0, 3.0), np.where(is_there, 3.0, 1 + rng.random(other.shape))], axis=1)
    taken = np.argsort(places, axis=1)[:, : first.shape[1]]
    return np.take_along_axis(np.concatenate([first, other], axis=1), taken, axis=1)


@lru_cache(maxsize=64)
def keeping(prompt: Prompted, truth: float) -> float:
    """The chance to stay with which two lists of one person are so much more alike than those of two."""
    one = population(by_rank(prompt.assumed.slope, prompt.assumed.vocabulary), prompt.named)
    other, named = np.roll(one, 1, axis=0), prompt.named
    between = 1 - shared_by(one, other).mean() / named
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        second = keep_some(np.random.default_rng(2), one, other, middle)
        found = 1 - (1 - shared_by(one, second).mean() / named) / between
        low, high = (middle, high) if found < truth else (low, middle)
    return (low + high) / 2


def shared_by(one: Lists, other: Lists) -> NDArray[np.int64]:
    """Of each two lists how many items they share."""
    return (one[:, :, None] == other[:, None, :]).sum(axis=(1, 2))


# --- further from everybody else


def crowd_world(prompts: Sequence[Prompted], truth: float, sizes: Sizes) -> World:
    """People of two sides of one crowd, of whom those of side a are `truth` further from everybody on average."""
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
    """What side b's answers are drawn with: the share of letter 0, or the slope of items' popularity."""
    return prompt.assumed.share if prompt.options else prompt.assumed.slope


@lru_cache(maxsize=256)
def moved(prompt: Prompted, truth: float, weight: float) -> float:
    """The same of side a, whose people are so much further from the crowd of which they are this part."""
    if not truth:
        return usual(prompt)
    near, far = (1.0, 1 / prompt.options) if prompt.options else (STEEPEST, 0.0)
    for _ in range(STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if further(prompt, middle, weight) < truth else (near, middle)
    return (near + far) / 2


def further(prompt: Prompted, at: float, weight: float) -> float:
    """How much further people whose answers are drawn with `at` are from the crowd than the others of it."""
    a, b = chances(prompt, at), chances(prompt, usual(prompt))
    most = 1 if prompt.options else prompt.named
    apart_a, between, apart_b = (1 - float(one @ other) / most for one, other in ((a, a), (a, b), (b, b)))
    return weight * apart_a + (1 - 2 * weight) * between - (1 - weight) * apart_b


def chances(prompt: Prompted, at: float) -> Floats:
    """Of each letter or item to be in an answer."""
    if prompt.options:
        return np.array([at, *[(1 - at) / (prompt.options - 1)] * (prompt.options - 1)])
    return np.bincount(population(by_rank(at, prompt.assumed.vocabulary), prompt.named).ravel()) / MANY


def reached_in_crowd(prompts: Sequence[Prompted], truth: float, weight: float) -> float:
    """The mean difference that there is: less than `truth` where answers cannot differ so much."""
    return float(np.mean([further(prompt, moved(prompt, truth, weight), weight) for prompt in prompts]))
