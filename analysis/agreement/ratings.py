"""Ratings of personalised responses: by the model that wrote them, by whether they name the attribute, and by judge.

A rule about words decides whether they name it; models do so too: how far both agree, and what changes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from analysis.agreement.annotations import Measuring, QuestionLabels, number
from analysis.agreement.follow_ups.mention_rule import MENTION_RULE, read_mentions
from analysis.models import Task
from analysis.stats.agreement.agreement import Row, measure_agreement, write_estimate, write_estimates
from analysis.stats.agreement.estimates import Estimate, Spread, Statistic, bootstrap, estimate_clustered_share
from analysis.stats.agreement.labels import NOMINAL, Labels
from analysis.stats.agreement.ratings import (
    NAMED,
    NOT_NAMED,
    UNDECIDED,
    Codes,
    RatingRows,
    gap_statistic,
    habit_statistic,
    naming_statistic,
    rank_statistic,
    rating_statistic,
)
from analysis.stats.intervals import Floats
from surveys.annotation.items import GENERATOR, RELEVANT_BY
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import PART

PEOPLE = "people"
MENTIONS = {"named": NAMED, "not_named": NOT_NAMED, "undecided": UNDECIDED}
FEWEST_MODELS = 3  # for a rank correlation over models
NO_RATING = "no rating"
ONE_SIDED = "needs ratings of responses that name the attribute and of some that do not"
NOTHING_DECIDED = "of no response can be told whether it names the attribute"
CONSTANT = "needs two different ratings from the judge and from people on responses that both rated"
TIED = "all models name the attribute equally often, or have the same gap"
TOO_FEW = f"needs {FEWEST_MODELS} models that both wrote and judged responses"


@dataclass(frozen=True, eq=False)
class Ratings:
    """One question's ratings as codes, with the names behind them; people together are the first rater.

    An item is one response with one attribute of the person. A judge asked in both orders has two ratings of it, and
    its mean is over both. `named`: whether the response names the attribute; `given`: the number of items for which
    the study's items say so themselves.
    """

    items: Codes  # (ratings,)
    values: Codes  # (ratings,)
    rater: Codes  # (ratings,)
    generator: Codes  # (items,)
    named: Codes  # (items,)
    condition: Codes  # (items,) who called the response's attributes relevant
    units: csr_array  # (units, items), what the bootstrap draws
    numbers: Floats  # the number of each place on the scale
    labels: tuple[str, ...]
    raters: list[str]
    generators: list[str]
    conditions: list[str]
    given: int
    by_user: bool
    voting: np.ndarray  # (ratings,) whether it is a voter's

    @property
    def n_items(self) -> int:
        return len(self.named)


def has_sides(asked: QuestionLabels) -> bool:
    """Whether two responses side by side were rated with numbers for each attribute."""
    rated = asked.question.per == "attributes" and asked.scale.numbers is not None
    return rated and bool(asked.rows) and bool(asked.rows[0].left)


# --- from rows to codes -----------------------------------------------------


def read_ratings(study: Study, asked: QuestionLabels, pilot: bool) -> Ratings:
    units = number(asked.units)
    names = [row.rater if row.is_model else PEOPLE for row in asked.given]
    models = {row.rater: row.is_trained for row in asked.given if row.is_model}
    raters = number([PEOPLE, *sorted(models, key=lambda name: (models[name], name))])  # trained ones last
    by_unit = {row.unit: str(row.tags.get(GENERATOR, "")) for row in asked.rows}
    generators = number(sorted(set(by_unit.values())))
    chosen_by = {row.unit: str(row.tags.get(RELEVANT_BY, PEOPLE)) for row in asked.rows}
    conditions = number([PEOPLE, *sorted(set(chosen_by.values()) - {PEOPLE})])
    said = find_mentions(study, asked, pilot)
    return Ratings(
        items=np.array([units[row.unit] for row in asked.given], np.intp),
        values=np.array([asked.names.index(row.value) for row in asked.given], np.intp),
        rater=np.array([raters[name] for name in names], np.intp),
        generator=np.array([generators[by_unit[unit]] for unit in asked.units], np.intp),
        named=code_named(asked, {unit: is_named for unit, (is_named, _) in said.items()}),
        condition=np.array([conditions[chosen_by[unit]] for unit in asked.units], np.intp),
        units=group_ratings(asked),
        numbers=np.array(asked.scale.numbers, float),
        labels=asked.names,
        raters=list(raters),
        generators=list(generators),
        conditions=list(conditions),
        given=sum(said[unit][1] for unit in asked.units),
        by_user=asked.by_user,
        voting=np.isin([row.rater for row in asked.given], list(asked.voters)),
    )


def find_mentions(study: Study, asked: QuestionLabels, pilot: bool) -> dict[str, tuple[bool | None, bool]]:
    """Return whether the response names the attribute, and whether the item says so itself, by unit."""
    rows = AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=set(asked.items))
    return {
        f"{key}{PART}{part}": said
        for key, payload in rows.values_list("key", "payload").iterator(chunk_size=200)
        for part, said in read_mentions(payload).items()
    }


def code_named(asked: QuestionLabels, said: Mapping[str, bool | None]) -> Codes:
    """Code whether each unit's response names the attribute, (units,), in the question's order."""
    codes = {True: NAMED, False: NOT_NAMED, None: UNDECIDED}
    return np.array([codes[said.get(unit)] for unit in asked.units], np.intp)


def group_ratings(asked: QuestionLabels) -> csr_array:
    """Group the items that are drawn together, (units, items): about one user, or else one pair of responses."""
    units, unit = np.unique(asked.labels.clusters, return_inverse=True)
    return csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=(len(units), len(unit)))


# --- groups of ratings ------------------------------------------------------


class RatingGroups(NamedTuple):
    """Ratings, (ratings,) each: item, place on the scale and group; and the names of the groups."""

    items: Codes
    values: Codes
    of: Codes
    names: list[str]

    def by_group(self, codes: Codes) -> list[int]:
        return np.bincount(codes, minlength=len(self.names)).tolist()

    @property
    def sizes(self) -> list[int]:
        return self.by_group(self.of)

    @property
    def n_items(self) -> list[int]:
        """Distinct items by group."""
        return self.by_group(np.unique(np.stack([self.of, self.items]), axis=1)[0])

    def decided(self, rows: Ratings) -> list[int]:
        """Count the ratings of responses for which naming is decided, by group."""
        return self.by_group(self.of[rows.named[self.items] != UNDECIDED])

    def rating_statistic(self, rows: Ratings) -> Statistic:
        return rating_statistic(RatingRows(*self[:3]), rows.numbers, rows.n_items, len(self.names))

    def gap_statistic(self, rows: Ratings) -> Statistic:
        return gap_statistic(RatingRows(*self[:3]), rows.named, rows.numbers, rows.n_items, len(self.names))

    def estimate_gaps(self, rows: Ratings, spread: Spread) -> list[Estimate]:
        return spread.estimates(self.decided(rows), ONE_SIDED)


def by_rater(rows: Ratings) -> RatingGroups:
    return RatingGroups(rows.items, rows.values, rows.rater, rows.raters)


def by_both(rows: Ratings) -> RatingGroups:
    """Group by generator, and within it by rater."""
    names = [f"{generator} {rater}" for generator in rows.generators for rater in rows.raters]
    return RatingGroups(rows.items, rows.values, rows.generator[rows.items] * len(rows.raters) + rows.rater, names)


def by_item(rows: Ratings, of_items: Codes, names: list[str]) -> RatingGroups:
    """Group the ratings that count by their items: by the model that wrote, or by who chose the attributes."""
    items = rows.items[rows.voting]
    return RatingGroups(items, rows.values[rows.voting], of_items[items], names)


# --- numbers ----------------------------------------------------------------


def measure_ratings(measuring: Measuring, asked: QuestionLabels) -> Row | None:
    """Measure every number with its n and interval, from one bootstrap over users or pairs of responses.

    None for questions without two responses side by side.
    """
    if not has_sides(asked):
        return None
    rows = read_ratings(measuring.study, asked, measuring.choice.pilot)
    raters, both = by_rater(rows), by_both(rows)
    writers = by_item(rows, rows.generator, rows.generators)
    conditions = by_item(rows, rows.condition, rows.conditions)
    models, judges = match_models(rows), range(1, len(rows.raters))
    naming, gaps = naming_statistic(rows.generator, rows.named, len(rows.generators)), raters.gap_statistic(rows)
    statistics = {
        "naming": naming,
        "gaps": gaps,
        "gaps of both": both.gap_statistic(rows),
        "raters": raters.rating_statistic(rows),
        "writers": writers.rating_statistic(rows),
        **{f"rank {judge}": rank_judge(rows, judge) for judge in judges},
    }
    if len(models) >= FEWEST_MODELS:
        statistics["habits"] = habit_statistic(naming, gaps, *np.array(models).T)
    if len(rows.conditions) > 1:
        plain = conditions.rating_statistic(rows)
        statistics |= {"conditions": plain, "difference": difference_statistic(plain)}
    rng = measuring.rng(asked)
    spreads = dict(zip(statistics, bootstrap([*statistics.values()], rows.units, rng, measuring.draws), strict=True))
    gap = raters.estimate_gaps(rows, spreads["gaps"]["gap"])
    rate = estimate_rates(rows, spreads["naming"]["rate"])
    of_both = both.estimate_gaps(rows, spreads["gaps of both"]["gap"])
    found = {
        "unit": asked.unit,
        "units": rows.units.shape[0],
        "drawn": "users" if rows.by_user else "items",
        "mentions": count_mentions(rows),
        "raters": [
            {"rater": name, "is_model": code > 0, **row, "gap": write_estimate(gap[code])}
            | ({"spearman": write_estimate(correlate(rows, code, spreads[f"rank {code}"]))} if code else {})
            for code, (name, row) in enumerate(write_ratings(rows, raters, spreads["raters"]))
            if row["n"]
        ],
        "generators": [
            {
                "generator": name,
                "items": int((rows.generator == code).sum()),
                **row,
                "mention_rate": write_estimate(rate[code]),
                "gaps": write_gaps(rows, both, of_both, code),
            }
            for code, (name, row) in enumerate(write_ratings(rows, writers, spreads["writers"]))
        ],
        "habits": {
            "models": [
                {
                    **{"generator": rows.generators[writer], "rater": rows.raters[judge]},
                    **write_estimates({"mention_rate": rate[writer], "gap": gap[judge]}),
                }
                for writer, judge in models
            ],
            "spearman": write_estimate(
                spreads["habits"]["spearman"].estimates([len(models)], TIED)[0]
                if "habits" in spreads
                else Estimate(None, len(models), None, TOO_FEW)
            ),
        },
    }
    if by_models := measure_mention_models(measuring, asked, rows):
        found["mentions"]["models"] = by_models
    if "conditions" in spreads:
        differences = spreads["difference"]["difference"].estimates(conditions.sizes, NO_RATING)
        found["conditions"] = [
            {"relevant_by": name, "items": int((rows.condition == code).sum()), **row}
            | ({"difference": write_estimate(differences[code])} if code else {})
            for code, (name, row) in enumerate(write_ratings(rows, conditions, spreads["conditions"]))
        ]
    return found


def match_models(rows: Ratings) -> list[tuple[int, int]]:
    """List (generator, rater) of each model that has both roles: the judge's name begins with the generator's."""
    return [
        (writer, judge)
        for writer, model in enumerate(rows.generators)
        for judge, name in enumerate(rows.raters)
        if judge and model and f"{name} ".startswith(f"{model} ")
    ]


def difference_statistic(plain: Statistic) -> Statistic:
    """Make the statistic `difference`: each group's mean minus the first group's, people's."""

    def measure(sums: Floats) -> dict[str, Floats]:
        means = plain.measure(sums)["mean"]
        return {"difference": means - means[:1]}

    low, high = plain.bounds
    return Statistic(plain.summary, measure, bounds=(low - high, high - low))


def rank_judge(rows: Ratings, rater: int) -> Statistic:
    """Correlate a judge's mean rating of each item with people's, over the items that both rated."""
    judge, people = (mean_by_item(rows, rows.rater == code) for code in (rater, 0))
    shared = np.flatnonzero(~np.isnan(judge) & ~np.isnan(people))
    return rank_statistic(shared, judge[shared], people[shared], rows.n_items)


def mean_by_item(rows: Ratings, kept: np.ndarray) -> Floats:
    """Average the ratings of each item, (items,); NaN without any; rounded, so that equal means are ties."""
    items = rows.items[kept]
    sums = np.bincount(items, rows.numbers[rows.values[kept]], rows.n_items)
    with np.errstate(invalid="ignore"):
        return np.round(sums / np.bincount(items, minlength=rows.n_items), 9)


# --- rows -------------------------------------------------------------------


def count_mentions(rows: Ratings) -> Row:
    counts = {name: int((rows.named == code).sum()) for name, code in MENTIONS.items()}
    return {"rule": MENTION_RULE, **counts, "given": rows.given}


def estimate_rates(rows: Ratings, spread: Spread) -> list[Estimate]:
    """Estimate each generator's mention rate, over its responses with each attribute."""
    n = np.bincount(rows.generator[rows.named != UNDECIDED], minlength=len(rows.generators))
    return spread.shares(n.tolist(), NOTHING_DECIDED)


def write_ratings(rows: Ratings, groups: RatingGroups, spreads: dict[str, Spread]) -> Iterator[tuple[str, Row]]:
    """Yield each group's name, mean, shares no better than generic, and distribution of ratings."""
    n, k = groups.sizes, len(rows.labels)
    shares = spreads["shares"].shares([size for size in n for _ in rows.labels], NO_RATING)
    means, low = spreads["mean"].estimates(n, NO_RATING), spreads["no_better"].shares(n, NO_RATING)
    low_means = spreads["low_means"].shares(groups.n_items, NO_RATING)
    for at, name in enumerate(groups.names):
        head = {"mean": means[at], "no_better": low[at], "no_better_means": low_means[at]}
        of_labels = dict(zip(rows.labels, shares[at * k :][:k], strict=True))
        row = {"n": n[at], "units": means[at].units, **write_estimates(head), "shares": write_estimates(of_labels)}
        yield name, row


def write_gaps(rows: Ratings, both: RatingGroups, gaps: list[Estimate], generator: int) -> Row:
    """Write the gaps of the raters who rated this generator's responses."""
    decided, first = both.decided(rows), generator * len(rows.raters)
    return {rater: write_estimate(gaps[first + at]) for at, rater in enumerate(rows.raters) if decided[first + at]}


def correlate(rows: Ratings, rater: int, spreads: dict[str, Spread]) -> Estimate:
    shared = np.intersect1d(rows.items[rows.rater == rater], rows.items[rows.rater == 0])
    return spreads["spearman"].estimates([len(shared)], CONSTANT)[0]


# --- which attributes a response names, according to models -----------------

TASK, RESPONSE = "mentions-", "respond-"  # how the instructions of their runs begin
NOTHING = "the rule and the model both decided of no attribute"

NamedByModel = dict[str, dict[str, bool]]  # by author and unit


def measure_mention_models(measuring: Measuring, asked: QuestionLabels, rows: Ratings) -> list[Row]:
    """Measure each model's agreement with the word rule, and, by its word, writers' mention rates and raters' gaps."""
    found = AnnotationItem.objects.filter(study=measuring.study, pilot=measuring.choice.pilot)
    items = list(found.filter(key__in=set(asked.items)))
    if not (named := find_named(items)):
        return []
    rng, rule = measuring.rng(asked), code_named(asked, rule_of(items))
    return [
        {"model": author} | measure_by_model(rows, rule, code_named(asked, said), rng, measuring.draws)
        for author, said in sorted(named.items())
    ]


def measure_by_model(rows: Ratings, rule: Codes, named: Codes, rng: np.random.Generator, draws: int) -> Row:
    own = replace(rows, named=named)
    raters, naming = by_rater(own), naming_statistic(rows.generator, named, len(rows.generators))
    rates, gaps = bootstrap([naming, raters.gap_statistic(own)], rows.units, rng, draws)
    both = (rule != UNDECIDED) & (named != UNDECIDED)
    of_unit = rows.units.tocoo()
    units = np.empty(rows.n_items, np.intp)
    units[of_unit.col] = of_unit.row
    agreement = estimate_clustered_share(rule[both] == named[both], units[both], NOTHING)
    return {
        **{"n": int(both.sum()), "units": agreement.units or len(np.unique(units[both]))},
        **{"unit": "user" if rows.by_user else "item", "named": int((named == NAMED).sum())},
        **write_estimates({"agreement": agreement, "kappa": compare_with_rule(rule, named, both, units, rng, draws)}),
        "generators": [
            {"generator": name, "mention_rate": write_estimate(rate)}
            for name, rate in zip(rows.generators, estimate_rates(own, rates["rate"]), strict=True)
        ],
        "gaps": [
            {"rater": name, "gap": write_estimate(gap)}
            for name, gap, n in zip(rows.raters, raters.estimate_gaps(own, gaps["gap"]), raters.sizes, strict=True)
            if n
        ],
    }


def compare_with_rule(
    rule: Codes, named: Codes, both: np.ndarray, units: Codes, rng: np.random.Generator, draws: int
) -> Estimate:
    """Measure Cohen's kappa of the rule and the model as two raters."""
    n = int(both.sum())
    if not n:
        return Estimate(None, 0, None, NOTHING)
    labels = Labels(
        items=np.tile(np.arange(n, dtype=np.int32), 2),
        raters=np.repeat(np.arange(2, dtype=np.int32), n),
        values=np.concatenate([rule[both], named[both]]).astype(np.int16),
        n_items=n,
        n_raters=2,
        n_labels=2,
        clusters=units[both].astype(np.int32),
        is_model=np.zeros(2, np.bool_),
    )
    return measure_agreement(labels, rng, NOMINAL, 1, draws).pairs[0].measures["kappa"]


def rule_of(items: list[AnnotationItem]) -> dict[str, bool | None]:
    """Apply the word rule to each attribute, even if the item itself says whether it is named."""
    return {
        f"{item.key}{PART}{part}": said
        for item in items
        for part, (said, _) in read_mentions(
            item.payload
            | {"attributes": [{"id": each["id"], "text": each["text"]} for each in item.payload["attributes"]]}
        ).items()
    }


def find_named(items: list[AnnotationItem]) -> NamedByModel:
    """Find each author's newest reply about each item, or else about the response that the item was made from."""
    by_pk = {item.pk: item for item in items}
    named: NamedByModel = {}
    for item, task in [*replies_about_responses(items), *replies_about_items(by_pk)]:
        parts = [part["id"] for part in item.payload["attributes"]]
        said = task.values["mentioned"]
        if len(said) == len(parts):
            units = (f"{item.key}{PART}{part}" for part in parts)
            named.setdefault(task.run.author, {}).update(zip(units, said, strict=True))
    return named


def readable_replies() -> Any:
    rows = Task.objects.filter(run__instruction__startswith=TASK, values__isnull=False)
    return rows.select_related("run__endpoint").order_by("pk")


def replies_about_items(by_pk: dict[int, AnnotationItem]) -> Iterator[tuple[AnnotationItem, Task]]:
    return ((by_pk[task.annotation_item_id], task) for task in readable_replies().filter(annotation_item__in=by_pk))


def replies_about_responses(items: list[AnnotationItem]) -> Iterator[tuple[AnnotationItem, Task]]:
    """Yield replies from the study of relevance, about the response that an item names as its source."""
    sources = {int(item.source): item for item in items if item.source.isdecimal() and len(item.source) < 16}
    written = Task.objects.filter(pk__in=sources, run__instruction__startswith=RESPONSE, values__isnull=False)
    found = {
        (row.annotation_item_id, row.values["response"], tuple(row.payload["attributes"])): sources[row.pk]
        for row in written
    }
    for task in readable_replies().filter(annotation_item__in={item for item, *_ in found}):
        name = (task.annotation_item_id, task.payload["response"], tuple(task.payload["attributes"]))
        if name in found:
            yield found[name], task
