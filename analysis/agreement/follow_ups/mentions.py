"""Which attributes a response names according to models, beside the word rule: how far both agree, and what changes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.agreement.annotations import Measuring, QuestionLabels
from analysis.agreement.follow_ups.mention_rule import read_mentions
from analysis.agreement.ratings import Ratings, by_rater, estimate_rates, read_ratings
from analysis.models import Task
from analysis.stats.agreement.agreement import Row, measure_agreement, write_estimate, write_estimates
from analysis.stats.agreement.estimates import Estimate, bootstrap, estimate_clustered_share
from analysis.stats.agreement.labels import NOMINAL, Labels
from analysis.stats.agreement.ratings import NAMED, NOT_NAMED, UNDECIDED, Codes, naming_statistic
from surveys.models import AnnotationItem
from surveys.studies.files.kinds import PART

TASK, RESPONSE = "mentions-", "respond-"  # how the instructions of their runs begin
NOTHING = "the rule and the model both decided of no attribute"

NamedByModel = dict[str, dict[str, bool]]  # by author and unit


def measure_mention_models(measuring: Measuring, asked: QuestionLabels) -> list[Row]:
    """Measure each model's agreement with the word rule, and, by its word, writers' mention rates and raters' gaps."""
    study, pilot = measuring.study, measuring.choice.pilot
    items = list(AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=set(asked.items)))
    named = find_named(items)
    if not named:
        return []
    rng = measuring.rng(asked)
    rows, rule = read_ratings(study, asked, pilot), code(asked, rule_of(items))
    return [
        {"model": author} | measure_author(rows, rule, code(asked, said), rng, measuring.draws)
        for author, said in sorted(named.items())
    ]


def measure_author(rows: Ratings, rule: Codes, named: Codes, rng: np.random.Generator, draws: int) -> Row:
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
        **write_estimates({"agreement": agreement, "kappa": compare(rule, named, both, units, rng, draws)}),
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


def compare(
    rule: Codes, named: Codes, both: np.ndarray, units: Codes, rng: np.random.Generator, draws: int
) -> Estimate:
    """Measure Cohen's kappa of the rule and the model, as of two raters."""
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


def code(asked: QuestionLabels, said: Mapping[str, bool | None]) -> Codes:
    """Code whether the attribute is named, (units,), in the question's order."""
    codes = {True: NAMED, False: NOT_NAMED, None: UNDECIDED}
    return np.array([codes[said.get(unit)] for unit in asked.units], np.intp)


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
    """Find each author's newest reply about each item, or else about the response that the item was made of."""
    by_pk = {item.pk: item for item in items}
    named: NamedByModel = {}
    for item, task in [*replies_about_responses(items), *replies_about_items(by_pk)]:
        parts = [part["id"] for part in item.payload["attributes"]]
        said = task.values["mentioned"]
        if len(said) == len(parts):
            units = (f"{item.key}{PART}{part}" for part in parts)
            named.setdefault(task.run.author, {}).update(zip(units, said, strict=True))
    return named


def readable() -> Any:
    rows = Task.objects.filter(run__instruction__startswith=TASK, values__isnull=False)
    return rows.select_related("run__endpoint").order_by("pk")


def replies_about_items(by_pk: dict[int, AnnotationItem]) -> Iterator[tuple[AnnotationItem, Task]]:
    return ((by_pk[task.annotation_item_id], task) for task in readable().filter(annotation_item__in=by_pk))


def replies_about_responses(items: list[AnnotationItem]) -> Iterator[tuple[AnnotationItem, Task]]:
    """Yield replies from the study of relevance, about the response that an item names as its source."""
    sources = {int(item.source): item for item in items if item.source.isdecimal() and len(item.source) < 16}
    written = Task.objects.filter(pk__in=sources, run__instruction__startswith=RESPONSE, values__isnull=False)
    found = {
        (row.annotation_item_id, row.values["response"], tuple(row.payload["attributes"])): sources[row.pk]
        for row in written
    }
    for task in readable().filter(annotation_item__in={item for item, *_ in found}):
        name = (task.annotation_item_id, task.payload["response"], tuple(task.payload["attributes"]))
        if name in found:
            yield found[name], task
