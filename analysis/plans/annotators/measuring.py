"""What the report says of agreement in one simulated study: α of people, κ with a judge, and the share preferred."""

import numpy as np

from analysis.plans.annotators.drawing import RatedQuestion
from analysis.stats.agreement.agreement import THRESHOLD
from analysis.stats.agreement.coefficients import ONE_LABEL_IN_USE, coefficient_statistic
from analysis.stats.agreement.estimates import Estimate, bootstrap, group_units
from analysis.stats.agreement.labels import PERSON, Labels, count_votes
from analysis.stats.agreement.pairs import GROUPS, find_shared, group_pairs, keep_pairs, pair_statistic
from analysis.stats.agreement.ratings import RatingRows, rating_statistic
from analysis.stats.hypotheses.measures import only, turned
from surveys.studies.files.hypotheses import ALPHA, KAPPA, PREFERENCE

ACROSS = list(GROUPS).index("across")


def measure_labels(
    labels: Labels, rated: RatedQuestion, rng: np.random.Generator, draws: int, with_share: bool
) -> dict[str, Estimate]:
    """By measure its estimate, with value, interval and n of `measure_agreement` and of the report's ratings.

    `alpha`: of people, ordinal where labels have an order; `kappa`: the mean of Cohen's over the people who share
    enough items with the judge; `preference_share`: of people's ratings above the middle of the scale.
    """
    of_people = labels.kinds == PERSON
    votes, shared = count_votes(labels, of_people), find_shared(labels)
    pairs = keep_pairs(shared, ~of_people[shared.second])  # the judge is the last rater
    across = group_pairs(labels, pairs, THRESHOLD)[[ACROSS]]
    kind = "alpha_ordinal" if rated.scale.ordered else "alpha_nominal"
    statistics = [
        only(kind, coefficient_statistic(votes, rated.scale, int(labels.seen.sum()))),
        only("mean_kappa", pair_statistic(labels, pairs, across, ordered=False)),
    ]
    if with_share:
        rows = of_people[labels.raters]
        ratings = RatingRows(labels.items[rows], labels.values[rows], np.zeros(rows.sum(), np.intp))
        rated_by = rating_statistic(ratings, np.array(rated.scale.numbers), labels.n_items, 1)
        statistics.append(only("no_better", rated_by))
    alpha, kappa, *low = bootstrap(statistics, group_units(labels), rng, draws)
    pairable = int((votes.sum(axis=1) > 1).sum())
    found = {
        ALPHA: alpha[kind].estimates([pairable], ONE_LABEL_IN_USE)[0],
        KAPPA: kappa["mean_kappa"].estimates([int(across.sum())], f"no {GROUPS['across']} share {THRESHOLD} items")[0],
    }
    if low:
        found[PREFERENCE] = turned(low[0]["no_better"].shares([int(votes.sum())], "no rating")[0])
    return found
