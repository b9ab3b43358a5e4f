"""How far raters agree on one question: everything methods.md names under Agreement, from one bootstrap."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.agreement.coefficients import Coefficients, coefficient_statistic, make_coefficients
from analysis.stats.agreement.estimates import DRAWS, Estimate, Floats, bootstrap, group_units
from analysis.stats.agreement.labels import NOMINAL, Labels, Scale
from analysis.stats.agreement.pairs import (
    Pair,
    find_shared,
    group_pairs,
    make_means,
    make_pairs,
    pair_statistic,
    split_pairs,
)
from analysis.stats.agreement.raters import (
    RaterScores,
    distribution_statistic,
    find_majority_of_others,
    leave_out_statistic,
    make_raters,
    score_statistic,
)
from analysis.stats.agreement.votes import TIE, choose_voters, count_votes, find_majority

THRESHOLD = 20  # shared items that a pair needs to count in a mean
SKEWED_RAW, SKEWED_KAPPA = 0.9, 0.4


@dataclass(frozen=True, eq=False)
class Agreement:
    """One question. `items` and `raters` are those with a label; `units`: how many items or clusters can be drawn.

    `coefficients` by group: all, and humans and models when there are both. `means` by group of pairs (pairs.GROUPS),
    then measure. `majority`: items by label, and TIE; of `voters`, who are the people when any gave a label.
    `skew` by group: the sentence for labels so skewed that kappa is low while nearly all agree.
    """

    items: int
    labels: int
    units: int
    draws: int
    coefficients: dict[str, Coefficients]
    means: dict[str, dict[str, Estimate]]
    pairs: list[Pair]
    voters: tuple[int, ...]
    majority: dict[int, int]
    raters: list[RaterScores]
    skew: dict[str, str]


def measure_agreement(
    labels: Labels,
    rng: np.random.Generator,
    scale: Scale = NOMINAL,
    threshold: int = THRESHOLD,
    draws: int = DRAWS,
) -> Agreement:
    """Every number with its n and its interval over `draws` draws of items, or of clusters when items have them."""
    shared, rest = split_pairs(find_shared(labels), threshold)
    votes = {name: count_votes(labels, kept) for name, kept in group_raters(labels).items()}
    pair_groups, voters = group_pairs(labels, shared, threshold), choose_voters(labels)
    majority = find_majority_of_others(labels, voters)
    statistics = [
        pair_statistic(labels, shared, pair_groups, scale.ordered),
        score_statistic(labels, majority),
        distribution_statistic(labels),
        leave_out_statistic(labels, scale),
        *(coefficient_statistic(each, scale, int(labels.seen.sum())) for each in votes.values()),
    ]
    units = group_units(labels)
    of_pairs, scores, distribution, without, *of_groups = bootstrap(statistics, units, rng, draws)
    coefficients = {
        name: make_coefficients(spreads, each) for (name, each), spreads in zip(votes.items(), of_groups, strict=True)
    }
    means = make_means(of_pairs, pair_groups, threshold, scale.ordered)
    return Agreement(
        items=len(labels.rated_items),
        labels=len(labels.values),
        units=units.shape[0],
        draws=draws,
        coefficients=coefficients,
        means=means,
        pairs=make_pairs(labels, shared, rest, of_pairs, scale.ordered),
        voters=tuple(np.flatnonzero(voters & (labels.per_rater > 0)).tolist()),
        majority=count_majorities(count_votes(labels, voters)),
        raters=make_raters(labels, majority, scores | distribution | without),
        skew={name: explain_skew(each, means[name]["kappa"]) for name, each in coefficients.items()},
    )


def group_raters(labels: Labels) -> dict[str, NDArray[np.bool_]]:
    """(n_raters,) who is in each group: everybody, and when people and models gave labels, each of these."""
    groups = {"all": np.ones(labels.n_raters, dtype=np.bool_)}
    kinds = {"humans": ~labels.is_model, "models": labels.is_model}
    return groups | kinds if all(labels.per_rater[kind].any() for kind in kinds.values()) else groups


def count_majorities(votes: Floats) -> dict[int, int]:
    """Items by the label that most voters gave, in scale order, and last those that are tied, under TIE."""
    majority = find_majority(votes)
    return {code: int((majority == code).sum()) for code in (*range(votes.shape[1]), TIE)}


def explain_skew(coefficients: Coefficients, mean_kappa: Estimate) -> str:
    """A sentence when raw agreement is above 0.9 and kappa below 0.4, else nothing.

    Kappa is the mean over pairs, or alpha where no pair shares enough items.
    """
    name, kappa = (
        ("mean κ", mean_kappa.value) if mean_kappa.value is not None else ("α", coefficients.alpha_nominal.value)
    )
    raw, ac1 = coefficients.raw.value, coefficients.ac1.value
    if raw is None or kappa is None or ac1 is None or raw <= SKEWED_RAW or kappa >= SKEWED_KAPPA:
        return ""
    common = max(each.value or 0.0 for each in coefficients.prevalence)
    return (
        f"Raters agree on {raw:.1%} of what they compare, yet {name} is {kappa:.2f}: one label takes {common:.1%} of "
        f"all labels, so chance alone would agree nearly as often. AC1, which skew does not pull down, is {ac1:.2f}."
    )
