"""What the report says of agreement in simulated studies: α of people, κ with a judge, the share preferred; chances."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analysis.plans.annotators.drawing import RatedQuestion
from analysis.plans.looks import chance_of, judge_look
from analysis.report.claims.enough import FEWEST
from analysis.report.planned.verdicts import GOOD
from analysis.stats.agreement.agreement import THRESHOLD
from analysis.stats.agreement.coefficients import ONE_LABEL_IN_USE, coefficient_statistic
from analysis.stats.agreement.estimates import Estimate, bootstrap, group_units
from analysis.stats.agreement.labels import PERSON, Labels, count_votes
from analysis.stats.agreement.pairs import GROUPS, find_shared, group_pairs, keep_pairs, pair_statistic
from analysis.stats.agreement.ratings import RatingRows, rating_statistic
from analysis.stats.hypotheses.measures import only, turned
from analysis.stats.hypotheses.tested import Tested, of_interval
from surveys.studies.files.definitions import Definition
from surveys.studies.files.hypotheses import ALPHA, KAPPA, PREFERENCE, Hypothesis
from surveys.studies.files.kinds import LabelQuestion

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


MAJORITY = "kappa_with_majority"  # of a simulated study: what its hypotheses about a judge are about


def is_drawn(hypothesis: Hypothesis, question: LabelQuestion) -> bool:
    """Whether a plan has its labels: of the first question, and of one judge."""
    return not hypothesis.b and hypothesis.about in ("", question.name)


def needs_majority(definition: Definition, question: LabelQuestion) -> bool:
    return any(each.measure == KAPPA and is_drawn(each, question) for each in definition.hypotheses)


def chances(
    definition: Definition, question: LabelQuestion, studies: Sequence[Mapping[str, Estimate]]
) -> list[dict[str, Any]]:
    """By hypothesis that is drawn the share of studies that support it, or find it equal within bounds, by Holm's steps
    over all of its family; with the interval of so many studies.
    """
    hypotheses = definition.hypotheses
    verdicts = []
    for one in studies:
        found = [tested_in(one, hypothesis, question) for hypothesis in hypotheses]
        verdicts.append(judge_look(hypotheses, found, definition, (1.0,), 0)[0])
    return [
        {"hypothesis": each.slug, **chance_of(sum(said[at] in GOOD for said in verdicts), len(studies), "supported")}
        for at, each in enumerate(hypotheses)
        if is_drawn(each, question)
    ]


def tested_in(study: Mapping[str, Estimate], hypothesis: Hypothesis, question: LabelQuestion) -> Tested:
    """As Agreement tests it; nothing where it decides nothing."""
    if not is_drawn(hypothesis, question):
        return Tested(None, None, None)
    one = study[MAJORITY if hypothesis.measure == KAPPA else hypothesis.measure]
    ci = one.ci if one.units >= FEWEST else None
    return of_interval(one.value, ci, one.units - 1, hypothesis.held_against or 0.0)
