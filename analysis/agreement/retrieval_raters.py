"""Retrieval as a rater of relevance: BM25 and embedding similarity, each with a threshold chosen on other items."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.stats.detection import choose_threshold
from analysis.stats.lexical import Scores, score_bm25
from surveys.models import AnnotationItem, Study
from surveys.studies.labels import iter_labels, record_judgement
from surveys.studies.wording import plural

KIND = "relevance"
YES, NO = "yes", "no"
FEWEST = 20  # items with a majority on which a threshold may be chosen


class RetrievalRaterError(Exception):
    """A refusal to rate; the message says why in a sentence."""


@dataclass(frozen=True)
class Rated:
    """A rater's threshold, the number of items that it was chosen on and its F1 there, and of items then rated.

    `degenerate`: no threshold is better than yes to all, so the labels say nothing about relevance.
    """

    rater: str
    threshold: float
    chosen_on: int
    f1_there: float
    rated: int
    degenerate: bool


Score = Callable[[Sequence[str], Sequence[str]], Scores]


def score_by(embed: Callable[[Sequence[str]], np.ndarray] | None = None) -> Score:
    """Return a function that scores attributes against their prompts, pair by pair: by BM25, or by cosine of `embed`.

    `embed` gives rows of length 1.
    """
    if embed is None:
        return score_bm25

    def score(attributes: Sequence[str], prompts: Sequence[str]) -> Scores:
        different = sorted({*attributes, *prompts})
        places = {text: place for place, text in enumerate(different)}
        vectors = embed(different)
        ones, others = ([places[text] for text in texts] for texts in (attributes, prompts))
        return np.einsum("ij,ij->i", vectors[ones], vectors[others])

    return score


def rate(study: Study, rater: str, score: Score, seed: int = 0, pilot: bool = False) -> Rated:
    """Choose the threshold with the best F1 against people's majority on one half of the prompts and rate the other.

    Halves are by prompt, so that nothing about a rated prompt was seen. Each seed has its own halves and threshold, so
    a seed other than 0 is part of the rater's name. Raises RetrievalRaterError.
    """
    rater = f"{rater} seed {seed}" if seed else rater
    items = list(
        AnnotationItem.objects.filter(study=study, kind=KIND, pilot=pilot, purpose=AnnotationItem.Purpose.WORK)
        .select_related("study__current")
        .order_by("position")
    )
    if not items:
        raise RetrievalRaterError(f"{study.slug} has no items of the kind {KIND}.")
    scores = score([item.payload["attribute"] for item in items], [item.payload["prompt"] for item in items])
    majority = majority_of(study, pilot)
    tuning = np.array([in_tuning_half(item.payload["prompt"], seed) for item in items])
    known = tuning & np.array([item.key in majority for item in items])
    if (n := int(known.sum())) < FEWEST:
        words = f"only {plural(n, 'labelled item')} to choose a threshold on; it takes {FEWEST}"
        raise RetrievalRaterError(f"{study.slug} has {words}.")
    right = np.array([majority.get(item.key) == YES for item in items])
    threshold, f1 = choose_threshold(scores[known], right[known])
    rated = Rated(rater, threshold, n, f1, int((~tuning).sum()), bool((scores[known] >= threshold).all()))
    detail = {name: getattr(rated, name) for name in ("threshold", "chosen_on", "f1_there", "degenerate")}
    detail["seed"] = seed
    for item, value, is_tuning in zip(items, scores, tuning, strict=True):
        if not is_tuning:
            label = YES if value >= threshold else NO
            record_judgement(item, rater, {KIND: label}, detail=detail | {"score": float(value)})
    return rated


def majority_of(study: Study, pilot: bool) -> dict[str, str]:
    """Return people's majority label of each item, without ties."""
    votes: dict[str, Counter[str]] = {}
    for label in iter_labels(study, pilot=pilot):
        if label.question == KIND and not label.is_model:
            votes.setdefault(label.unit, Counter())[label.value] += 1
    return {unit: YES if count[YES] > count[NO] else NO for unit, count in votes.items() if count[YES] != count[NO]}


def in_tuning_half(prompt: str, seed: int) -> bool:
    return hashlib.sha256(f"{seed} {prompt}".encode()).digest()[0] % 2 == 0
