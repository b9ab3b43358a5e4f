"""Labels that annotators and a judge give to items of users, with the accuracy that a scenario says."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.plans.annotators.scenarios import RaterScenario
from analysis.stats.agreement.labels import Labels, Scale

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class RatedQuestion:
    """What is rated: a scale of `k` labels, items with `parts` things to rate each, `per_user` items about one user.

    `quota`: most items of one annotator; `by_user`: whether users' items are held as a whole.
    """

    k: int
    scale: Scale
    quota: int
    by_user: bool
    per_user: int = 1
    parts: int = 1


@dataclass(frozen=True, order=True)
class Design:
    """`overlap`: annotators of each item."""

    items: int
    overlap: int

    def people(self, quota: int) -> int:
        return -(-self.items * self.overlap // min(quota, self.items))


def draw_labels(rng: np.random.Generator, rated: RatedQuestion, design: Design, scenario: RaterScenario) -> Labels:
    """One study: each item has labels of exactly `overlap` people and one of a judge, who is as accurate as people who
    do not guess.

    People take items in one order, so that those of one stretch share theirs; nobody has an item twice.
    """
    people = design.people(rated.quota)
    places = np.arange(design.items * design.overlap)
    order = np.arange(design.items) if rated.by_user else rng.permutation(design.items)
    pages = np.concatenate([order[places % design.items], np.arange(design.items)])
    raters = np.concatenate([places // min(rated.quota, design.items), np.full(design.items, people)])
    things = (pages[:, None] * rated.parts + np.arange(rated.parts)).ravel()
    raters, users = np.repeat(raters, rated.parts), np.arange(design.items) // rated.per_user
    truth = draw_truth(rng, np.repeat(users, rated.parts), rated.k, scenario)
    guesses = np.append(rng.random(people) < scenario.guessing, False)
    is_right = rng.random(len(things)) < scenario.right
    values = np.where(is_right, truth[things], mistake(rng, truth[things], rated))
    values = np.where(guesses[raters], rng.integers(0, rated.k, len(things)), values)
    return Labels(
        items=things.astype(np.int32),
        raters=raters.astype(np.int32),
        values=values.astype(np.int16),
        n_items=design.items * rated.parts,
        n_raters=people + 1,
        n_labels=rated.k,
        clusters=np.repeat(users, rated.parts).astype(np.int32),
        is_model=np.arange(people + 1) == people,
    )


def draw_truth(rng: np.random.Generator, users: Codes, k: int, scenario: RaterScenario) -> Codes:
    """(things,) the right label; users differ in how often the last one is right."""
    strength = 1 / scenario.alike - 1
    chances = rng.beta(scenario.common * strength, (1 - scenario.common) * strength, users[-1] + 1)
    return np.where(rng.random(len(users)) < chances[users], k - 1, rng.integers(0, k - 1, len(users)))


def mistake(rng: np.random.Generator, truth: Codes, rated: RatedQuestion) -> Codes:
    """A label beside the right one where labels have an order, else any other."""
    if not rated.scale.ordered:
        return (truth + rng.integers(1, rated.k, len(truth))) % rated.k
    beside = truth + rng.choice([-1, 1], len(truth))
    return np.where(beside < 0, 1, np.where(beside == rated.k, rated.k - 2, beside))
