"""The measures of labels that a hypothesis can be about, with the intervals that the report on agreement has."""

from dataclasses import replace

import numpy as np

from analysis.stats.agreement.coefficients import (
    BOTH_CONSTANT,
    ONE_LABEL_IN_USE,
    Tables,
    coefficient_statistic,
    cohen_kappa,
)
from analysis.stats.agreement.estimates import Estimate, Statistic, bootstrap, group_units
from analysis.stats.agreement.labels import PERSON, Labels, Scale, count_votes
from analysis.stats.agreement.raters import compare_with_all, confusion_cells
from analysis.stats.agreement.ratings import RatingRows, rating_statistic
from analysis.stats.intervals import Floats

NOT_COMPARED = "no item with a majority of people has a label of {} yet"


def alpha_of_people(labels: Labels, scale: Scale, rng: np.random.Generator, draws: int) -> Estimate:
    """Krippendorff's α of people, ordinal where labels have an order; n: items with two labels or more."""
    votes, name = count_votes(labels, labels.kinds == PERSON), "alpha_ordinal" if scale.ordered else "alpha_nominal"
    statistic = only(name, coefficient_statistic(votes, scale, int(labels.seen.sum())))
    (found,) = bootstrap([statistic], group_units(labels), rng, draws)
    return found[name].estimates([int((votes.sum(axis=1) > 1).sum())], ONE_LABEL_IN_USE)[0]


def kappa_with_majority(labels: Labels, judges: list[int], rng: np.random.Generator, draws: int) -> Estimate:
    """Cohen's κ of a judge with people's majority, ties left out; of two judges, of the items that both labelled, the
    first one's minus the other's. n: items.
    """
    found = compare_with_all(labels, labels.kinds == PERSON)
    of = [set(found.items[found.known & (found.raters == judge)].tolist()) for judge in judges]
    shared = set.intersection(*of)
    if not shared:
        return Estimate(None, 0, None, NOT_COMPARED.format("both judges" if len(judges) > 1 else "this judge"))
    kept = np.isin(found.items, list(shared)) & np.isin(found.raters, judges) & found.known
    k, n = found.n_labels, found.n_raters
    columns = ("items", "raters", "majority", "values")
    compared = replace(found, **{name: getattr(found, name)[kept] for name in columns})
    places = np.cumsum(labels.seen) - 1

    def measure(sums: Floats) -> dict[str, Floats]:
        kappas = cohen_kappa(Tables(sums.reshape(n, k, k, -1)[judges], places))
        return {"kappa": kappas[:1] - kappas[1:] if len(judges) > 1 else kappas}

    statistic = Statistic(confusion_cells(compared), measure, bounds=(-float(len(judges)), float(len(judges))))
    (spreads,) = bootstrap([statistic], group_units(labels), rng, draws)
    return spreads["kappa"].estimates([len(shared)], BOTH_CONSTANT)[0]


def share_preferring(labels: Labels, numbers: Floats, rng: np.random.Generator, draws: int) -> Estimate:
    """Of people's ratings those above the middle of the scale; `numbers`: (k,) what its places stand for."""
    rows = labels.kinds[labels.raters] == PERSON
    ratings = RatingRows(labels.items[rows], labels.values[rows], np.zeros(rows.sum(), np.intp))
    statistic = only("no_better", rating_statistic(ratings, numbers, labels.n_items, 1))
    (found,) = bootstrap([statistic], group_units(labels), rng, draws)
    return turned(found["no_better"].shares([int(rows.sum())], "no rating")[0])


def only(name: str, statistic: Statistic) -> Statistic:
    return statistic._replace(measure=lambda sums: {name: statistic.measure(sums)[name]})


def turned(share: Estimate) -> Estimate:
    """The share of all the others."""
    ci = None if share.ci is None else (1 - share.ci[1], 1 - share.ci[0])
    return Estimate(None if share.value is None else 1 - share.value, share.n, ci, share.why, share.units)
