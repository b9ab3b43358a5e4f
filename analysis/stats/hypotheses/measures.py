"""The tests of the measures in hypotheses, from both sides' answers to the prompts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from analysis.stats.agreement.coefficients import (
    BOTH_CONSTANT,
    ONE_LABEL_IN_USE,
    Tables,
    coefficient_statistic,
    cohen_kappa,
    find_commonest,
    fit_metrics,
    gain_alike,
    more_alike,
    room_above,
)
from analysis.stats.agreement.estimates import Estimate, Statistic, bootstrap, group_units
from analysis.stats.agreement.labels import PERSON, Labels, Scale, count_votes
from analysis.stats.agreement.raters import compare_with_all, confusion_cells
from analysis.stats.agreement.ratings import RatingRows, rating_statistic
from analysis.stats.choices import describe as describe_choices
from analysis.stats.heterogeneity import compare_redrawn, mean_excess, share_intervals
from analysis.stats.hypotheses.tested import Share, Tested, compare_shares, of_error
from analysis.stats.intervals import (
    FEW_UNITS,
    FEWEST_UNITS,
    Bools,
    Floats,
    Ints,
    mean_of_known,
    p_value,
    splits_of,
    tail_p,
)
from analysis.stats.item_measures import ENTROPY, Counted, left_out, rarefied_left_out
from analysis.stats.persons.explaining import Explanation, explain
from analysis.stats.persons.numbers import Jackknifed, mean_of, mean_over
from analysis.stats.persons.shares import Assignments, Measured, describe
from analysis.stats.resampling import ChoiceSample, ItemSample, SharedDraws

Names = tuple[str, str]  # of the two sides, for their draws
NO_ANSWERS = "One side has no answer to any of these prompts."


@dataclass(frozen=True, eq=False)
class PromptSides:
    """Both sides' answers to one prompt. `who` gives each answer's person by any number, the same in all prompts;
    `code` is the item or letter to count.
    """

    a: ItemSample | ChoiceSample
    b: ItemSample | ChoiceSample
    who: tuple[Ints, Ints]
    code: int = -1

    @property
    def sides(self) -> tuple[ItemSample | ChoiceSample, ItemSample | ChoiceSample]:
        return self.a, self.b

    @property
    def is_answered(self) -> bool:
        return bool(self.a.n and self.b.n)


Test = Callable[[Sequence[PromptSides], SharedDraws, Names], Tested]


def test_of(measure: str, asked: Sequence[PromptSides], shared: SharedDraws, names: Names) -> Tested:
    some = [each for each in asked if each.is_answered]
    return TESTS[measure](some, shared, names) if some else Tested(None, None, None, why=NO_ANSWERS)


# --- shares


def share_of_items(asked: Sequence[PromptSides], shared: SharedDraws, names: Names) -> Tested:
    (one,) = asked
    return compare_shares(*(_item_share(sample, one.code) for sample in one.sides))


def _item_share(sample: ItemSample | ChoiceSample, code: int) -> Share:
    assert isinstance(sample, ItemSample)
    if code < 0:  # nobody names it
        return _with_units(sample, np.zeros(sample.n), None)
    hits = np.zeros(sample.n)
    hits[sample.rows[sample.codes == code]] = 1
    low, high = (float(ends[code]) for ends in share_intervals(sample))
    return _with_units(sample, hits, None if np.isnan(low) else (low, high))


def _with_units(sample: ItemSample | ChoiceSample, hits: Floats, ci: tuple[float, float] | None) -> Share:
    clusters = sample.clusters
    by_unit = np.bincount(clusters.of, hits, clusters.count) / clusters.sizes if clusters else None
    return Share(int(hits.sum()), sample.n, ci, by_unit)


def share_of_letters(asked: Sequence[PromptSides], shared: SharedDraws, names: Names) -> Tested:
    """Compare one prompt as Choices does; several by their mean, over persons."""
    if len(asked) == 1:
        return compare_shares(*(_letter_share(sample, asked[0].code) for sample in asked[0].sides))
    return apart([[_right(each, side) for each in asked] for side in (0, 1)], [each.who for each in asked])


def _letter_share(sample: ItemSample | ChoiceSample, code: int) -> Share:
    assert isinstance(sample, ChoiceSample)
    return _with_units(sample, (sample.codes == code).astype(float), describe_choices(sample).share_ci[code])


def _right(asked: PromptSides, side: int) -> Callable[[Ints, int], Jackknifed]:
    sample = asked.sides[side]
    assert isinstance(sample, ChoiceSample)

    def number(of: Ints, persons: int) -> Jackknifed:
        given = np.bincount(of, minlength=persons)
        hits = np.bincount(of, sample.codes == asked.code, persons)
        return mean_of(
            np.arange(persons), np.divide(hits, given, out=np.full(persons, np.nan), where=given > 0), persons
        )

    return number


# --- how varied


def entropies(asked: Sequence[PromptSides], shared: SharedDraws, names: Names) -> Tested:
    """Compare both sides of each prompt, rarefied to the smaller one; of several prompts the mean, over persons."""
    numbers = []
    for side, name in enumerate(names):
        numbers.append([partial(_entropy, each, side, shared, name) for each in asked])
    return apart(numbers, [each.who for each in asked], -np.inf, np.inf)


def _entropy(asked: PromptSides, side: int, shared: SharedDraws, name: str, of: Ints, persons: int) -> Jackknifed:
    sample = asked.sides[side]
    assert isinstance(sample, ItemSample) and isinstance(asked.a, ItemSample) and isinstance(asked.b, ItemSample)
    n = min(asked.a.unit_count, asked.b.unit_count)
    if n == sample.unit_count and not sample.clusters:
        counts = sample.counts()
        value, without = float(Counted(counts).bits), left_out(counts, sample.by_unit, [ENTROPY])[ENTROPY]
    else:
        value = mean_of_known(Counted(shared.subsets(sample, n, name)).bits)
        without = np.full(1, np.nan)
        if sample.unit_count > 1:
            without = rarefied_left_out(sample.chances, n, [ENTROPY])[ENTROPY]
    unit = sample.clusters.of if sample.clusters else np.arange(sample.n)
    everybody = np.full(persons, value)
    everybody[of] = value + (without - without.mean())[unit]
    return Jackknifed(value, everybody, np.bincount(of, minlength=persons) > 0)


Of = Callable[[Ints, int], Jackknifed]


def apart(
    sides: Sequence[Sequence[Of]], who: Sequence[tuple[Ints, Ints]], least: float = -1.0, most: float = 1.0
) -> Tested:
    """Subtract the other side's mean over prompts; no person is on both."""
    found = []
    for side, numbers in enumerate(sides):
        known = np.unique(np.concatenate([each[side] for each in who]))
        places = [np.searchsorted(known, each[side]) for each in who]
        found.append(mean_over([of(place, len(known)) for of, place in zip(numbers, places, strict=True)]))
    one, other = found
    units = min(one.units, other.units)
    return of_error(one.value - other.value, float(np.hypot(one.error, other.error)), units, least, most)


# --- how far apart


def excess(asked: Sequence[PromptSides], shared: SharedDraws, names: Names) -> Tested:
    """Test the mean distance above chance, as in Compare. p: persons are split anew between the sides, in all prompts
    at once if the same ones answered; the statistic is the sum of the distances.
    """
    distances, seen, drawn, ways = [], 0.0, np.zeros(shared.draws), np.inf
    for each in asked:
        assert isinstance(each.a, ItemSample) and isinstance(each.b, ItemSample)
        splits = shared.split(each.a, each.b, *names)
        redrawn = [shared.redraw(sample, name) for sample, name in zip((each.a, each.b), names, strict=True)]
        found = compare_redrawn(redrawn[0], redrawn[1], splits)
        if found.even_jsd is not None:
            distances.append(found)
            seen += found.even_jsd
            drawn = drawn + found.split_jsd
        ways = min(ways, splits_of(splits.n_first, splits.n_second))
    mean = mean_excess(distances)
    if mean.excess is None:
        return Tested(None, None, None, why=NO_ANSWERS)
    p = tail_p(seen, drawn, ways) if shared.draws >= 200 else p_value(seen, drawn)
    return replace(Tested(mean.excess, mean.ci, p, mean.units - 1), why=None if mean.ci else mean.ci_why or FEW_UNITS)


TESTS: dict[str, Test] = {
    "item_share": share_of_items,
    "letter_share": share_of_letters,
    "correct_share": share_of_letters,
    "entropy_bits": entropies,
    "jsd_excess": excess,
}


NOT_LABELLED_TWICE = "no item has labels of two people"
NOT_COMPARED = "no item with a majority of people has a label of {} yet"


def alpha_of_people(labels: Labels, scale: Scale, rng: np.random.Generator, draws: int) -> Estimate:
    """People's Krippendorff's α, ordinal if labels have an order; n: items with two labels or more."""
    votes, name = count_votes(labels, labels.kinds == PERSON), "alpha_ordinal" if scale.ordered else "alpha_nominal"
    statistic = only(name, coefficient_statistic(votes, scale, int(labels.seen.sum())))
    (found,) = bootstrap([statistic], group_units(labels), rng, draws)
    compared = int((votes.sum(axis=1) > 1).sum())
    (one,) = found[name].estimates([compared], ONE_LABEL_IN_USE if compared else NOT_LABELLED_TWICE)
    return one.reaching(room_above(votes, fit_metrics(scale)[name]))


def kappa_with_majority(labels: Labels, judges: list[int], rng: np.random.Generator, draws: int) -> Estimate:
    """Cohen's κ of a judge with people's majority, ties left out; for two judges, the first one's minus the other's on
    the items that both labelled. n: items.
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
    tables = np.asarray(statistic.summary.sum(axis=0)).reshape(n, k, k)[judges]
    (common, rarer), same = find_commonest(tables), tables.diagonal(axis1=1, axis2=2)
    alike = same.sum(axis=1) - same[np.arange(len(judges)), common]
    above, *below = more_alike(alike, len(shared), rarer) * gain_alike(tables)
    return spreads["kappa"].estimates([len(shared)], BOTH_CONSTANT)[0].reaching(above, sum(below), len(judges))


def share_preferring(labels: Labels, numbers: Floats, rng: np.random.Generator, draws: int) -> Estimate:
    """Share of people's ratings above the middle of the scale; `numbers`: (k,) the values of its places."""
    rows = labels.kinds[labels.raters] == PERSON
    ratings = RatingRows(labels.items[rows], labels.values[rows], np.zeros(rows.sum(), np.intp))
    statistic = only("no_better", rating_statistic(ratings, numbers, labels.n_items, 1))
    (found,) = bootstrap([statistic], group_units(labels), rng, draws)
    return turned(found["no_better"].shares([int(rows.sum())], "no rating")[0])


def only(name: str, statistic: Statistic) -> Statistic:
    return statistic._replace(measure=lambda sums: {name: statistic.measure(sums)[name]})


def turned(share: Estimate) -> Estimate:
    """Turn a share into that of all the others."""
    ci = None if share.ci is None else (1 - share.ci[1], 1 - share.ci[0])
    return Estimate(None if share.value is None else 1 - share.value, share.n, ci, share.why, share.units)


NOBODY_TWICE = "Nobody was asked these prompts twice yet."
NO_CROWD = "One side has no answer beside those of others yet."


def person_share(some: Sequence[Measured], assignments: Assignments) -> Tested:
    """1 - D_within / D_between over the prompts that several persons answered and some of them twice."""
    asked = [each for each in some if each.within.units and each.between.units > 1]
    if not asked:
        return Tested(None, None, None, why=NOBODY_TWICE)
    found = describe(asked, assignments)
    share = found.share
    return Tested(share.value, share.ci, found.p, max(1, found.repeated - 1), found.why or share.why)


def further_from_crowd(y: Floats, fixed: Ints, persons: Ints, in_a: Bools) -> Tested:
    """Test how much further side a's answers lie from everybody else's than side b's: regress their mean unlikeness `y`
    (n,) on the side, with a level for each number in `fixed`; errors leave out each person.
    """
    sizes = [len(np.unique(persons[of])) for of in (in_a, ~in_a)]
    if not min(sizes):
        return Tested(None, None, None, why=NO_CROWD)
    found = explain(y, fixed, persons, [Explanation("side", ("a",), "b", in_a[:, None].astype(float))])
    if not found or not found[0].effects:
        return Tested(None, None, None, why=NO_CROWD)
    (effect,), freedom = found[0].effects, sum(sizes) - 1
    if min(sizes) < FEWEST_UNITS:
        return Tested(effect.value, None, None, freedom, FEW_UNITS)
    return Tested(effect.value, effect.ci, found[0].p, freedom, None if effect.ci else FEW_UNITS)
