"""Scores every model against people's majority on the same items, which no model among them learned from."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from analysis.stats.agreement.agreement import write_estimates
from analysis.stats.detection import Cases, Scored, measure_scores
from surveys.models import Study
from surveys.studies.files.kinds import LabelQuestion
from surveys.studies.labels import iter_labels

MEASURES = ("accuracy", "precision", "recall", "f1")
Shape = dict[str, Any]


class HeldOutItems(NamedTuple):
    """Scores on the same `items`; `is_common`: whether trained models decided which these are."""

    items: int
    is_common: bool
    rows: list[Shape]


def score_models(study: Study, question: LabelQuestion, negative: str = "") -> HeldOutItems:
    """Scores judges, baselines and trained models, best F1 first, at finding the question's positive label.

    `negative`: if a scale of three is read as two, the one label that is not to be found; all others are.
    """
    people: dict[str, list[str]] = defaultdict(list)
    models: dict[str, dict[str, str]] = defaultdict(dict)
    clusters: dict[str, str] = {}
    trained = set()
    for label in iter_labels(study):
        if label.question != question.name or label.revises:
            continue
        clusters[label.unit] = label.cluster or label.item
        if label.is_model:
            models[label.rater][label.unit] = label.value
            trained |= {label.rater} if label.is_trained else set()
        else:
            people[label.unit].append(label.value)
    truth = {
        unit: said for unit, values in people.items() if (said := majority(values, question, negative)) is not None
    }
    common = set(truth)
    for rater in trained:
        common &= models[rater].keys()
    rows = [score(rater, said, truth, common, clusters, question, negative) for rater, said in models.items()]
    rows.sort(key=lambda row: (-(row["f1"]["value"] or 0), row["rater"]))
    return HeldOutItems(len(common), bool(trained), rows)


def is_found(value: str, question: LabelQuestion, negative: str) -> bool:
    return value != negative if negative else value == question.positive


def majority(values: list[str], question: LabelQuestion, negative: str) -> bool | None:
    """Whether most people find it; None for a tie."""
    counts = Counter(is_found(value, question, negative) for value in values)
    return None if counts[True] == counts[False] else counts[True] > counts[False]


def score(
    rater: str,
    said: Mapping[str, str],
    truth: Mapping[str, bool],
    common: set[str],
    clusters: Mapping[str, str],
    question: LabelQuestion,
    negative: str,
) -> Shape:
    units = sorted(common & said.keys())
    names = {name: code for code, name in enumerate(dict.fromkeys(clusters[unit] for unit in units))}
    cases = Cases(
        np.array([truth[unit] for unit in units], bool),
        np.array([names[clusters[unit]] for unit in units], np.int64),
        np.arange(len(units)),
    )
    called = np.array([is_found(said[unit], question, negative) for unit in units], float)
    found = write_estimates(measure_scores(cases, Scored(called, 0.5), MEASURES)) if units else {}
    none = {"value": None, "ci": None, "n": 0, "why": "it labelled none of these items"}
    return {"rater": rater, "n": len(units), "units": len(names)} | {name: found.get(name, none) for name in MEASURES}
