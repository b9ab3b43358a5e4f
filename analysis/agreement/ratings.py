"""Ratings of personalised responses: by the model that wrote them, by whether they name the attribute, and by judge."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from analysis.agreement.annotations import Gathered, number
from analysis.stats.agreement.agreement import write_estimate
from analysis.stats.agreement.estimates import Estimate, Spread, Statistic, bootstrap
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
from surveys.annotation.shapes import GENERATOR, RELEVANT_BY
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import GENERIC, PART, PERSONALISED

PEOPLE = "people"
MENTIONS = {"named": NAMED, "not_named": NOT_NAMED, "undecided": UNDECIDED}
FEWEST_MODELS = 3  # that a rank correlation over models is made of
NO_RATING = "no rating"
ONE_SIDED = "needs ratings of responses that name the attribute and of some that do not"
NOTHING_DECIDED = "of no response can be told whether it names the attribute"
CONSTANT = "needs two different ratings from the judge and from people on responses that both rated"
TIED = "all models name the attribute equally often, or have the same gap"
TOO_FEW = f"needs {FEWEST_MODELS} models that both wrote and judged responses"

MENTION_RULE = 1  # raise when a word of the rule changes: it stands beside every number that rests on it

Shape = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings of one question as codes, with the names behind them. People together are the first rater.

    A judge that was asked in both orders has two ratings of an item; whatever is a mean of an item is over both.

    An item here is one response with one attribute of the person. `named` says of each whether the response names
    the attribute, `given` for how many of them the study's items say so themselves.
    """

    items: Codes  # (ratings,)
    values: Codes  # (ratings,)
    rater: Codes  # (ratings,)
    generator: Codes  # (items,)
    named: Codes  # (items,)
    condition: Codes  # (items,) who called the attributes relevant that the response was written with
    units: csr_array  # (units, items), what the bootstrap draws
    numbers: Floats  # what the places of the scale stand for
    labels: tuple[str, ...]
    raters: list[str]
    generators: list[str]
    conditions: list[str]
    given: int
    by_user: bool

    @property
    def n_items(self) -> int:
        return len(self.named)

    @property
    def voting(self) -> np.ndarray:
        """(ratings,) those that say what a response is worth: people's, or where there are none those of judges."""
        by_people = self.rater == 0
        return by_people if by_people.any() else ~by_people


def has_sides(asked: Gathered) -> bool:
    """Whether two responses stood side by side and were rated, with numbers, for each attribute."""
    rated = asked.question.per == "attributes" and asked.scale.numbers is not None
    return rated and bool(asked.rows) and bool(asked.rows[0].left)


# --- from rows to codes -----------------------------------------------------


def read_ratings(study: Study, asked: Gathered, pilot: bool) -> Ratings:
    units = number(asked.units)
    names = [row.rater if row.is_model else PEOPLE for row in asked.given]
    raters = number([PEOPLE, *sorted({name for name in names if name != PEOPLE})])
    by_unit = {row.unit: str(row.tags.get(GENERATOR, "")) for row in asked.rows}
    generators = number(sorted(set(by_unit.values())))
    chosen_by = {row.unit: str(row.tags.get(RELEVANT_BY, PEOPLE)) for row in asked.rows}
    conditions = number([PEOPLE, *sorted(set(chosen_by.values()) - {PEOPLE})])
    said = find_mentions(study, asked, pilot)
    decided = {True: NAMED, False: NOT_NAMED, None: UNDECIDED}
    return Ratings(
        items=np.array([units[row.unit] for row in asked.given], np.intp),
        values=np.array([asked.names.index(row.value) for row in asked.given], np.intp),
        rater=np.array([raters[name] for name in names], np.intp),
        generator=np.array([generators[by_unit[unit]] for unit in asked.units], np.intp),
        named=np.array([decided[said[unit][0]] for unit in asked.units], np.intp),
        condition=np.array([conditions[chosen_by[unit]] for unit in asked.units], np.intp),
        units=group_ratings(asked),
        numbers=np.array(asked.scale.numbers, float),
        labels=asked.names,
        raters=list(raters),
        generators=list(generators),
        conditions=list(conditions),
        given=sum(said[unit][1] for unit in asked.units),
        by_user=asked.by_user,
    )


def find_mentions(study: Study, asked: Gathered, pilot: bool) -> dict[str, tuple[bool | None, bool]]:
    """Of each unit whether its response names the attribute, and whether the item says so itself."""
    rows = AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=set(asked.items))
    return {
        f"{key}{PART}{part}": said
        for key, payload in rows.values_list("key", "payload").iterator(chunk_size=200)
        for part, said in read_mentions(payload).items()
    }


def group_ratings(asked: Gathered) -> csr_array:
    """(units, items): a user's ratings are drawn together, and without users those of one pair of responses."""
    units, unit = np.unique(asked.labels.clusters, return_inverse=True)
    return csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=(len(units), len(unit)))


# --- numbers ----------------------------------------------------------------


def measure_ratings(study: Study, asked: Gathered, pilot: bool, rng: np.random.Generator, draws: int) -> Shape:
    """Every number with its n and interval, all from one bootstrap over users, or over pairs of responses."""
    rows = read_ratings(study, asked, pilot)
    models, ranks = match_models(rows), {rater: rank_judge(rows, rater) for rater in range(1, len(rows.raters))}
    naming, gaps = naming_statistic(rows.generator, rows.named, len(rows.generators)), gaps_by_rater(rows)
    statistics = [naming, gaps, gaps_by_both(rows), rate_raters(rows), rate_generators(rows)]
    if len(models) >= FEWEST_MODELS:
        statistics.append(habit_statistic(naming, gaps, *np.array(models).T))
    has_conditions = len(rows.conditions) > 1
    of_conditions = rate_conditions(rows) if has_conditions else []
    found = bootstrap([*ranks.values(), *of_conditions, *statistics], rows.units, rng, draws)
    correlations = dict(zip(ranks, found[: len(ranks)], strict=True))
    by_condition = found[len(ranks) : len(ranks) + len(of_conditions)]
    rates, of_raters, of_both, raters, generators, *habits = found[len(ranks) + len(of_conditions) :]
    gap, rate = estimate_gaps(rows, of_raters["gap"]), estimate_rates(rows, rates["rate"])
    return {
        "unit": asked.unit,
        "units": rows.units.shape[0],
        "drawn": "users" if rows.by_user else "items",
        "mentions": count_mentions(rows),
        "raters": shape_raters(rows, raters, gap, correlations),
        "generators": shape_generators(rows, generators, rate, of_both["gap"]),
        "habits": shape_habits(rows, models, rate, gap, habits),
        **({"conditions": shape_conditions(rows, *by_condition)} if has_conditions else {}),
    }


def match_models(rows: Ratings) -> list[tuple[int, int]]:
    """(generator, rater) of each judge that is a model which wrote responses: its name begins with that model's."""
    return [
        (writer, judge)
        for writer, model in enumerate(rows.generators)
        for judge, name in enumerate(rows.raters)
        if judge and model and f"{name} ".startswith(f"{model} ")
    ]


def rate_raters(rows: Ratings) -> Statistic:
    rated = RatingRows(rows.items, rows.values, rows.rater)
    return rating_statistic(rated, rows.numbers, rows.n_items, len(rows.raters))


def rate_generators(rows: Ratings) -> Statistic:
    items, values = rows.items[rows.voting], rows.values[rows.voting]
    rated = RatingRows(items, values, rows.generator[items])
    return rating_statistic(rated, rows.numbers, rows.n_items, len(rows.generators))


def rate_conditions(rows: Ratings) -> list[Statistic]:
    """By who called the attributes relevant: ratings, and the `difference` of each mean from the first, people's."""
    items, values = rows.items[rows.voting], rows.values[rows.voting]
    rated = RatingRows(items, values, rows.condition[items])
    plain = rating_statistic(rated, rows.numbers, rows.n_items, len(rows.conditions))

    def measure(sums: Floats) -> dict[str, Floats]:
        means = plain.measure(sums)["mean"]
        return {"difference": means - means[:1]}

    low, high = plain.bounds
    return [plain, Statistic(plain.summary, measure, bounds=(low - high, high - low))]


def gaps_by_rater(rows: Ratings) -> Statistic:
    rated = RatingRows(rows.items, rows.values, rows.rater)
    return gap_statistic(rated, rows.named, rows.numbers, rows.n_items, len(rows.raters))


def gaps_by_both(rows: Ratings) -> Statistic:
    """Of each generator's responses the gap of each rater."""
    cells = rows.generator[rows.items] * len(rows.raters) + rows.rater
    n = len(rows.generators) * len(rows.raters)
    return gap_statistic(RatingRows(rows.items, rows.values, cells), rows.named, rows.numbers, rows.n_items, n)


def rank_judge(rows: Ratings, rater: int) -> Statistic:
    """Its mean rating of each item against people's mean rating, over the items that both rated."""
    judge, people = (mean_by_item(rows, rows.rater == code) for code in (rater, 0))
    shared = np.flatnonzero(~np.isnan(judge) & ~np.isnan(people))
    return rank_statistic(shared, judge[shared], people[shared], rows.n_items)


def mean_by_item(rows: Ratings, kept: np.ndarray) -> Floats:
    """(items,) NaN where nobody rated; rounded, so that equal means are ties."""
    items = rows.items[kept]
    sums = np.bincount(items, rows.numbers[rows.values[kept]], rows.n_items)
    with np.errstate(invalid="ignore"):
        return np.round(sums / np.bincount(items, minlength=rows.n_items), 9)


# --- shapes -----------------------------------------------------------------


def count_mentions(rows: Ratings) -> Shape:
    counts = {name: int((rows.named == code).sum()) for name, code in MENTIONS.items()}
    return {"rule": MENTION_RULE, **counts, "given": rows.given}


def count_rated(rows: Ratings, groups: Codes, n_groups: int) -> list[int]:
    """Ratings by group of responses about which is decided whether they name the attribute."""
    return np.bincount(groups[rows.named[rows.items] != UNDECIDED], minlength=n_groups).tolist()


def estimate_gaps(rows: Ratings, spread: Spread) -> list[Estimate]:
    """By rater."""
    return spread.estimates(count_rated(rows, rows.rater, len(rows.raters)), ONE_SIDED)


def estimate_rates(rows: Ratings, spread: Spread) -> list[Estimate]:
    """By generator: over its responses with each attribute."""
    n = np.bincount(rows.generator[rows.named != UNDECIDED], minlength=len(rows.generators))
    return spread.shares(n.tolist(), NOTHING_DECIDED)


def count_rated_items(items: Codes, groups: Codes, n_groups: int) -> list[int]:
    """By group its different items."""
    pairs = np.unique(np.stack([groups, items]), axis=1)
    return np.bincount(pairs[0], minlength=n_groups).tolist()


def shape_ratings(spreads: dict[str, Spread], n: list[int], items: list[int], labels: tuple[str, ...]) -> list[Shape]:
    """Mean, shares no better than generic and shares of labels of each group of `n` ratings of so many `items`."""
    each = [size for size in n for _ in labels]
    shares = spreads["shares"].shares(each, NO_RATING)
    means, low = spreads["mean"].estimates(n, NO_RATING), spreads["no_better"].shares(n, NO_RATING)
    low_means = spreads["low_means"].shares(items, NO_RATING)
    return [
        {
            "n": size,
            "units": mean.units,
            "mean": write_estimate(mean),
            "no_better": write_estimate(share),
            "no_better_means": write_estimate(low_mean),
            "shares": {
                label: write_estimate(one)
                for label, one in zip(labels, shares[at * len(labels) :][: len(labels)], strict=True)
            },
        }
        for at, (size, mean, share, low_mean) in enumerate(zip(n, means, low, low_means, strict=True))
    ]


def shape_raters(
    rows: Ratings, spreads: dict[str, Spread], gaps: list[Estimate], correlations: dict[int, dict[str, Spread]]
) -> list[Shape]:
    sizes = np.bincount(rows.rater, minlength=len(rows.raters)).tolist()
    found = shape_ratings(spreads, sizes, count_rated_items(rows.items, rows.rater, len(rows.raters)), rows.labels)
    return [
        {"rater": name, "is_model": code > 0, **found[code], "gap": write_estimate(gaps[code])}
        | ({"spearman": write_estimate(correlate(rows, code, correlations[code]))} if code else {})
        for code, name in enumerate(rows.raters)
        if sizes[code]
    ]


def correlate(rows: Ratings, rater: int, spreads: dict[str, Spread]) -> Estimate:
    shared = np.intersect1d(rows.items[rows.rater == rater], rows.items[rows.rater == 0])
    return spreads["spearman"].estimates([len(shared)], CONSTANT)[0]


def shape_generators(rows: Ratings, spreads: dict[str, Spread], rates: list[Estimate], gaps: Spread) -> list[Shape]:
    n_raters, n_generators = len(rows.raters), len(rows.generators)
    of_items = rows.generator[rows.items]
    sizes = np.bincount(of_items[rows.voting], minlength=n_generators).tolist()
    cells = count_rated(rows, of_items * n_raters + rows.rater, n_generators * n_raters)
    by_both = gaps.estimates(cells, ONE_SIDED)
    items = rows.items[rows.voting]
    found = shape_ratings(spreads, sizes, count_rated_items(items, of_items[rows.voting], n_generators), rows.labels)
    return [
        {
            "generator": name,
            "items": int((rows.generator == code).sum()),
            **found[code],
            "mention_rate": write_estimate(rates[code]),
            "gaps": {
                rater: write_estimate(by_both[code * n_raters + at])
                for at, rater in enumerate(rows.raters)
                if cells[code * n_raters + at]
            },
        }
        for code, name in enumerate(rows.generators)
    ]


def shape_conditions(rows: Ratings, spreads: dict[str, Spread], changes: dict[str, Spread]) -> list[Shape]:
    """What responses are worth by whose word the attributes mattered, beside those that people called relevant."""
    n_conditions, items = len(rows.conditions), rows.items[rows.voting]
    of_items = rows.condition[items]
    sizes = np.bincount(of_items, minlength=n_conditions).tolist()
    found = shape_ratings(spreads, sizes, count_rated_items(items, of_items, n_conditions), rows.labels)
    differences = changes["difference"].estimates(sizes, NO_RATING)
    return [
        {
            "relevant_by": name,
            "items": int((rows.condition == code).sum()),
            **found[code],
            **({"difference": write_estimate(differences[code])} if code else {}),
        }
        for code, name in enumerate(rows.conditions)
    ]


def shape_habits(
    rows: Ratings,
    models: list[tuple[int, int]],
    rates: list[Estimate],
    gaps: list[Estimate],
    spreads: list[dict[str, Spread]],
) -> Shape:
    """Models in both roles, and the rank correlation over them where there are enough."""
    few = Estimate(None, len(models), None, TOO_FEW)
    found = [spread["spearman"].estimates([len(models)], TIED)[0] for spread in spreads]
    return {
        "models": [
            {
                "generator": rows.generators[writer],
                "rater": rows.raters[judge],
                "mention_rate": write_estimate(rates[writer]),
                "gap": write_estimate(gaps[judge]),
            }
            for writer, judge in models
        ],
        "spearman": write_estimate(next(iter(found), few)),
    }


# --- whether a response names an attribute of the person, by a rule about words ---

WORD = re.compile(r"[^\W_]+")
SENTENCE = re.compile(r"[.!?;:](?=\s|$)|\n")
SHORTEST = 3  # letters of a word that says something; figures may be shorter
ENDINGS = ("ers", "ing", "ies", "er", "ed", "es", "s", "e", "y")
# Words that join others, and those with which attributes are put: "The user is interested in …".
EMPTY_WORDS = frozenset(
    WORD.findall(
        """
    about also and any are because been being but can could did does doing for from get gets had has have having her
    hers him his how into its just lot lots made make makes many may might more most much not off often one other our
    out over she should since some sometimes such than that the their them then there these they this those through
    too under until very was way well were what when where which while who whom whose why will with would you your
    yours
    appears attribute enjoys enjoy interest interested interests keen likely like likes love loves person prefer
    preference prefers regular regularly seems tend tends use user users uses usually want wants
    """
    )
)


def read_mentions(payload: Mapping[str, Any]) -> dict[str, tuple[bool | None, bool]]:
    """Of each attribute of an item, by id: whether the personalised response names it, and whether the item says so."""
    sentences = [words_of(sentence) for sentence in SENTENCE.split(payload[PERSONALISED])]
    common = words_of(payload["prompt"]) | words_of(payload[GENERIC])
    return {
        part["id"]: (part["mentioned"], True)
        if "mentioned" in part
        else (names_attribute(part["text"], sentences, common), False)
        for part in payload["attributes"]
    }


def names_attribute(attribute: str, sentences: Iterable[set[str]], common: set[str]) -> bool | None:
    """Whether one sentence of the response holds at least half of the words that are the attribute's own.

    Its own are those that are not `common`, the words of the prompt and of the generic response: they would be there
    for anybody. None where no word is left, so that nothing can be told.
    """
    own = words_of(attribute) - common
    if not own:
        return None
    needed = ceil(len(own) / 2)
    return any(len(own & sentence) >= needed for sentence in sentences)


def words_of(text: str) -> set[str]:
    """The words that say something, without their endings."""
    words = (word for word in WORD.findall(text.casefold()) if word not in EMPTY_WORDS)
    return {cut_ending(word) for word in words if len(word) >= SHORTEST or word.isdecimal()}


def cut_ending(word: str) -> str:
    """`developers` and `developing` are `develop`; at least three letters stay, and `class` is left as it is."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word
