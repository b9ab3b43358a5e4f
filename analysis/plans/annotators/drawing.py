"""Scenarios of raters, from hopeful to cautious and as in the pilot, and their labels."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.agreement.annotations import LabelChoice, gather
from analysis.plans.worlds import halve
from analysis.stats.agreement.coefficients import coefficient_statistic
from analysis.stats.agreement.labels import PERSON, Labels, Scale, count_votes
from analysis.stats.intervals import Floats
from surveys.models import Study
from surveys.studies.wording import decimal, percent, plural


@dataclass(frozen=True)
class RaterScenario:
    """Assumptions. `right`: the chance that a rater who does not guess is right; `guessing`: the share who guess.

    `common`: the share of items whose right label is the last of the scale; `others`: how the rest divide among the
    other labels, equally if it is empty; `alike`: the correlation of `common` between two items about one user.
    `anywhere`: a mistake is any other label even if labels have an order.
    """

    name: str
    right: float
    guessing: float
    common: float
    alike: float
    source: str = ""  # of assumptions from a pilot
    anywhere: bool = False
    others: tuple[float, ...] = ()

    @property
    def words(self) -> str:
        words = (
            f"raters give the right label in {percent(self.right)} of cases, {percent(self.guessing)} of them guess; "
            f"the last label of the scale is right for {percent(self.common)} of items"
            f"{', others as often as there' if self.others else ''}; items of one user correlate by "
            f"{self.alike:g}{'; a mistake is any other label' if self.anywhere else ''}"
        )
        return f"{self.source}: {words}" if self.source else words


RATER_SCENARIOS = (
    RaterScenario("hopeful", 0.95, 0.0, 0.5, 0.05),
    RaterScenario("middle", 0.85, 0.05, 0.6, 0.1),
    RaterScenario("cautious", 0.7, 0.15, 0.75, 0.2),
)
HOPEFUL, MIDDLE, CAUTIOUS = RATER_SCENARIOS


Codes = NDArray[np.int64]


@dataclass(frozen=True)
class RatedQuestion:
    """The items to rate: a scale of `k` labels, `parts` things to rate in each item, `per_user` items about one user.

    `quota`: the most items of one annotator; `by_user`: whether a user's items come together.
    """

    k: int
    scale: Scale
    quota: int
    by_user: bool
    per_user: int = 1
    parts: int = 1


@dataclass(frozen=True, order=True)
class Design:
    """The number of `items`, and of annotators who label each (`overlap`)."""

    items: int
    overlap: int

    def people(self, quota: int) -> int:
        return -(-self.items * self.overlap // min(quota, self.items))


def draw_labels(rng: np.random.Generator, rated: RatedQuestion, design: Design, scenario: RaterScenario) -> Labels:
    """Draw one study: exactly `overlap` people label each item, and a judge as accurate as people who do not guess.

    People take items in one order, so that a stretch of it has the same people; nobody gets an item twice.
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
    values = np.where(is_right, truth[things], mistake(rng, truth[things], rated, scenario.anywhere))
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
    """(things,) the right labels; users differ in how often the last one is right."""
    strength = 1 / scenario.alike - 1
    chances = rng.beta(scenario.common * strength, (1 - scenario.common) * strength, users[-1] + 1)
    is_last = rng.random(len(users)) < chances[users]
    drawn = rng.choice(k - 1, len(users), p=scenario.others) if scenario.others else rng.integers(0, k - 1, len(users))
    return np.where(is_last, k - 1, drawn)


def mistake(rng: np.random.Generator, truth: Codes, rated: RatedQuestion, anywhere: bool) -> Codes:
    """Wrong labels: next to the right one if labels have an order, else, or if they lie `anywhere`, any other."""
    if anywhere or not rated.scale.ordered:
        return (truth + rng.integers(1, rated.k, len(truth))) % rated.k
    beside = truth + rng.choice([-1, 1], len(truth))
    return np.where(beside < 0, 1, np.where(beside == rated.k, rated.k - 2, beside))


# --- as in the pilot

FEWEST = 20  # items, or things to rate in them, with two labels
MANY = Design(4000, 3)  # by which a scenario's α is computed
STEPS = 12  # halvings for it
NEAR = 0.01  # by which an α may be missed
PILOT = LabelChoice(pilot=True, simulated=False)


def seen_in_pilot(study: Study, rated: RatedQuestion) -> RaterScenario | None:
    """Equally accurate raters who give the pilot's α of the study's first question. None before 20 of its items, or of
    the things to rate in them, have two people's labels, or if α is not above 0.
    """
    asked = gather(study, PILOT)[0]
    votes = votes_of_people(asked.labels)
    pairable = int((votes.sum(axis=1) > 1).sum())
    alpha = alpha_of(votes, rated.scale) if pairable >= FEWEST else 0.0
    if not alpha > 0:  # NaN, from a single label in use, is not above 0 either
        return None
    *rest, last = (votes.sum(axis=0) / votes.sum()).tolist()
    common = min(max(last, 0.02), 0.98)
    others = tuple(share / sum(rest) for share in rest) if rated.k > 2 else ()
    source = f"as in the pilot, α {decimal(alpha)} of {plural(pairable, 'rating' if asked.question.per else 'item')}"
    usual = replace(MIDDLE, name="as in the pilot", guessing=0.0, common=common, others=others, source=source)
    return with_alpha(alpha, rated, usual)


def with_alpha(alpha: float, rated: RatedQuestion, scenario: RaterScenario) -> RaterScenario:
    """The scenario with the accuracy that gives this α; mistakes are any label if neighbouring ones agree too much."""
    for each in (scenario, replace(scenario, anywhere=True)):
        found = replace(each, right=right_for(alpha, rated, each))
        if alpha_in(found, rated) < alpha + NEAR:
            break
    return found


def right_for(alpha: float, rated: RatedQuestion, scenario: RaterScenario) -> float:
    def is_short(right: float) -> bool:
        return alpha_in(replace(scenario, right=right), rated) < alpha

    return halve(1 / rated.k, 1.0, is_short, STEPS)


def alpha_in(scenario: RaterScenario, rated: RatedQuestion) -> float:
    """People's α in one large study of the scenario."""
    labels = draw_labels(np.random.default_rng(0), rated, MANY, scenario)
    return alpha_of(votes_of_people(labels), rated.scale)


def votes_of_people(labels: Labels) -> Floats:
    return count_votes(labels, labels.kinds == PERSON)


def alpha_of(votes: Floats, scale: Scale) -> float:
    """Krippendorff's α, ordinal if labels have an order, as the report opens with; NaN if only one label was given."""
    statistic = coefficient_statistic(votes, scale, votes.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = statistic.measure(statistic.summary.sum(axis=0)[:, None])
    return float(found["alpha_ordinal" if scale.ordered else "alpha_nominal"][0, 0])
