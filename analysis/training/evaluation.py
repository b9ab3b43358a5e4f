"""Tests a model on groups it never saw, beside baselines and people's own ceiling, and says what may be claimed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.models.training import TrainingTask
from analysis.stats.agreement.agreement import beside, write_estimate, write_estimates
from analysis.stats.detection import (
    Cases,
    Scored,
    choose_precise_threshold,
    choose_threshold,
    compare_scores,
    measure_scores,
    says,
)
from analysis.training.examples import TEST, TRAIN, VALID, Labelled, came_with_split, fill_split
from surveys.models.hashes import hash_text

MEASURES: dict[str, tuple[str, ...]] = {
    TrainingTask.VERIFIER: ("accuracy", "precision", "recall", "f1", "best_f1", "auroc"),
    TrainingTask.RELEVANCE: ("accuracy", "precision", "recall", "f1", "best_f1", "auroc", "map", "mrr"),
    TrainingTask.REWARD: ("accuracy",),
}
# The measure by which a model is chosen on the validation part, and for claims on the test part.
MAIN: dict[str, str] = {TrainingTask.VERIFIER: "auroc", TrainingTask.RELEVANCE: "map", TrainingTask.REWARD: "accuracy"}
# The label to find, as in studies of annotators (`positive` of their questions).
SUPPORTED, NOT_SUPPORTED = "supported", "not supported"
POSITIVE: dict[str, str] = {
    TrainingTask.VERIFIER: NOT_SUPPORTED,
    TrainingTask.RELEVANCE: "relevant",
    TrainingTask.REWARD: "first response",
}
# The same for models trained before they stored it.
EARLIER: dict[str, str] = POSITIVE | {TrainingTask.VERIFIER: SUPPORTED}
MIDDLE = 0.5
COMPARED = ("accuracy", "f1", "auroc", "map", "mrr", "spearman")
BASELINES = ("prior", "bm25", "cosine", "length", "frozen")
BASE = "base"  # a reasoning model before it learned
LABELS = {"f1": "F1", "best_f1": "best F1", "auroc": "AUROC", "map": "MAP", "mrr": "MRR", "spearman": "Spearman’s ρ"}
FEWEST_OTHERS = 2  # other raters to compare one with
Row = dict[str, Any]


def cases_of(examples: Sequence[Labelled]) -> Cases:
    ratings = np.array([each.label for each in examples], float)
    return Cases(
        truth=np.array([each.is_positive for each in examples], bool),
        groups=_codes([each.group for each in examples]),
        queries=_codes([each.turn or each.key for each in examples]),
        ratings=ratings if len(set(ratings.tolist())) > 2 else None,
    )


def _codes(names: Sequence[Any]) -> np.ndarray:
    known = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], np.int64)


def measures_for(task: str, cases: Cases) -> tuple[str, ...]:
    return (*MEASURES[task], *(("spearman",) if task == TrainingTask.REWARD and cases.ratings is not None else ()))


@dataclass(frozen=True)
class Aim:
    """How to choose the score from which a model says yes: as given; the middle, if the positive label has a weight;
    with the best precision at this recall or more; else with the best F1.
    """

    threshold: float | None = None
    least_recall: float | None = None
    is_weighted: bool = False

    @property
    def name(self) -> str:
        if self.threshold is not None:
            return "given"
        if self.is_weighted:
            return "weight"
        return "precision" if self.least_recall is not None else "f1"


BEST_F1 = Aim()


def threshold_on(task: str, scores: np.ndarray, cases: Cases, aim: Aim = BEST_F1) -> float:
    """Choose the threshold on these cases; for a reward the middle, since which response is first says nothing."""
    if task == TrainingTask.REWARD or aim.name == "weight":
        return MIDDLE
    if aim.threshold is not None:
        return aim.threshold
    seen, turned = facing(POSITIVE[task], cases, Scored(scores, MIDDLE))
    if not seen.truth.any():
        return MIDDLE
    found = (
        choose_threshold(turned.scores, seen.truth)[0]
        if aim.least_recall is None
        else choose_precise_threshold(turned.scores, seen.truth, aim.least_recall)
    )
    return turn_back(found) if POSITIVE[task] == NOT_SUPPORTED else found


def facing(positive: str, cases: Cases, scored: Scored) -> tuple[Cases, Scored]:
    """Return the cases and scores, turned around if what is not supported is to be found."""
    if positive != NOT_SUPPORTED:
        return cases, scored
    ratings = None if cases.ratings is None else 1 - cases.ratings
    turned = Scored(-scored.scores, np.nextafter(-scored.threshold, np.inf))
    return Cases(~cases.truth, cases.groups, cases.queries, ratings), turned


def turn_back(threshold: float) -> float:
    """Turn a threshold of turned scores, from which they say no, back into that of a yes."""
    return float(np.nextafter(-threshold, np.inf))


def threshold_row(task: str, threshold: float, aim: Aim, scores: np.ndarray, cases: Cases) -> Row:
    """Describe how the threshold was found, with its precision and recall on the cases used for it."""
    seen, turned = facing(POSITIVE[task], cases, Scored(scores, threshold))
    return {
        "aim": aim.name,
        "positive": POSITIVE[task],
        "least_recall": aim.least_recall,
        **_measured(seen, turned, [name for name in ("precision", "recall", "f1") if name in MEASURES[task]]),
    }


def chosen_part(examples: Sequence[Labelled], own: bool, everything: bool = False) -> tuple[list[Labelled], str]:
    """Choose the examples to test on, and say why: the test part of the model's `own` set and of one that came with a
    split; else all. `everything`: all, unless it is the own set.
    """
    if own:
        return [each for each in fill_split(examples) if each.split == TEST], "the model learned from the other parts"
    if everything:
        return list(examples), "all were asked for"
    if not came_with_split(examples):
        return list(examples), "they came without a split, and the model learned from none of them"
    test = [each for each in examples if each.split == TEST]
    if test:
        return test, "they came with this split"
    apart = [each for each in examples if each.split not in (TRAIN, VALID)]
    return apart or list(examples), "the split that they came with has no test part"


def tested_row(part: Sequence[Labelled], of: int, why: str) -> Row:
    """Describe how many examples of how many were tested, which part, and why."""
    named = {each.split for each in part}
    which = "all" if len(part) == of else named.pop() if len(named) == 1 else "some"
    return {"n": len(part), "of": of, "part": which, "why": why}


def evaluate(
    task: str,
    examples: Sequence[Labelled],
    scored: Scored,
    baselines: Mapping[str, Scored],
    seen: Mapping[str, Sequence[str]] | None = None,
    positive: str = "",
) -> Row:
    """Measure the model and each baseline with intervals, and the model minus each baseline.

    `positive`: the label to find, by default the task's. `unshared`: the same on the examples without any text `seen`
    in training, unless that is all of them.
    """
    positive, threshold, plain = positive or POSITIVE[task], scored.threshold, (cases_of(examples), scored)
    cases, scored = facing(positive, *plain)
    baselines = {name: facing(positive, plain[0], each)[1] for name, each in baselines.items()}
    names = measures_for(task, cases)
    known = {place: frozenset(texts) for place, texts in (seen or {}).items()}
    alone = [place for place, each in enumerate(examples) if not is_shared(each, known)]
    return {
        "positive": positive,
        "threshold": threshold,
        **_measured(cases, scored, names),
        **(_both(*plain) if task == TrainingTask.VERIFIER else {}),
        "baselines": {name: _measured(cases, each, names) for name, each in baselines.items()},
        "differences": {name: _compared(cases, scored, each, names) for name, each in baselines.items()},
        "ceiling": ceiling(task, examples, positive),
        **({"unshared": _part(cases, scored, alone, names)} if len(alone) < len(examples) else {}),
        "warnings": shared_texts(task, examples, known),
    }


def _part(cases: Cases, scored: Scored, places: list[int], names: Sequence[str]) -> Row:
    groups, queries = (_codes(codes[places].tolist()) for codes in (cases.groups, cases.queries))
    ratings = None if cases.ratings is None else cases.ratings[places]
    some = Cases(cases.truth[places], groups, queries, ratings)
    return _measured(some, Scored(scored.scores[places], scored.threshold), names)


def _measured(cases: Cases, scored: Scored, names: Sequence[str]) -> Row:
    return {
        "n": cases.n,
        "groups": cases.n_groups,
        "positives": int(cases.truth.sum()),
        **beside(write_estimates(measure_scores(cases, scored, names)), names),
    }


def _both(cases: Cases, scored: Scored) -> Row:
    """Measure with either label as the one to find."""
    return {
        name: _measured(*facing(positive, cases, scored), ("precision", "recall", "f1"))
        for name, positive in (("supported", SUPPORTED), ("unsupported", NOT_SUPPORTED))
    }


def _compared(cases: Cases, scored: Scored, other: Scored, names: Sequence[str]) -> Row:
    """Compare two scorers. `f1_over_best`: with the other's F1 at the threshold that is best on this very part."""
    pairs = {name: name for name in names if name in COMPARED}
    found = compare_scores(cases, scored, other, pairs)
    if "f1" in pairs:
        found["f1_over_best"] = compare_scores(cases, scored, other, {"f1": "best_f1"})["f1"]
    return {name: write_estimate(each) | {"beats": says(each)} for name, each in found.items()}


def ceiling(task: str, examples: Sequence[Labelled], positive: str = "") -> Row:
    """Measure people against one another: each rater against the majority of the others."""
    rows = [
        (each, rating, sum(others) / len(others))
        for each in examples
        for rater, rating in each.ratings
        if len(others := [value for name, value in each.ratings if name != rater]) >= FEWEST_OTHERS
    ]
    rows = [row for row in rows if row[2] != 0.5 and row[1] != 0.5]
    if not rows:
        return {"n": 0, "why": f"needs items with at least {FEWEST_OTHERS + 1} raters each"}
    cases = Cases(
        np.array([majority > 0.5 for _, _, majority in rows]),
        _codes([each.group for each, _, _ in rows]),
        _codes([each.key for each, _, _ in rows]),
    )
    names = [name for name in MEASURES[task] if name in ("accuracy", "precision", "recall", "f1")]
    said = Scored(np.array([rating for _, rating, _ in rows]), MIDDLE)
    return _measured(*facing(positive or POSITIVE[task], cases, said), names)


# --- leaks ------------------------------------------------------------------

MOST_SHOWN = 3
TEXTS_FOLLOW = "may say too much: "
LONGEST_SHOWN = 120
# From these values on, words or length alone suggest a leak, by task: accuracy for reward, else AUROC.
SUSPICIOUS: dict[str, tuple[str, float]] = {
    TrainingTask.VERIFIER: ("auroc", 0.9),
    TrainingTask.RELEVANCE: ("auroc", 0.8),
    TrainingTask.REWARD: ("accuracy", 0.7),
}
PLACES: dict[str, tuple[str, str]] = {
    TrainingTask.VERIFIER: ("evidence", "statement"),
    TrainingTask.RELEVANCE: ("prompt", "attribute"),
    TrainingTask.REWARD: ("prompt", "response"),
}


# The texts of each place.
TEXTS: dict[str, Callable[[Labelled], tuple[str, ...]]] = {
    "first": lambda each: (each.first,),
    "second": lambda each: (each.second, each.third),
}


def short_hash(text: str) -> str:
    """Hash a text regardless of case and spaces."""
    return hash_text(" ".join(text.casefold().split()))[:16]


def texts_seen(examples: Sequence[Labelled]) -> dict[str, list[str]]:
    """Hash the texts that a model learned from, by their place, so that a later test can recognise them."""
    return {
        place: sorted({short_hash(text) for each in examples for text in texts(each) if text})
        for place, texts in TEXTS.items()
    }


def is_shared(each: Labelled, seen: Mapping[str, Collection[str]]) -> bool:
    return any(
        short_hash(text) in seen.get(place, ()) for place, texts in TEXTS.items() for text in texts(each) if text
    )


def shared_texts(task: str, test: Sequence[Labelled], seen: Mapping[str, Collection[str]]) -> list[str]:
    """Warn of texts of the test part that the model learned from."""
    found = []
    for (place, texts), word in zip(TEXTS.items(), PLACES[task], strict=True):
        known = seen.get(place, ())
        same = sorted({text for each in test for text in texts(each) if text and short_hash(text) in known})
        if same:
            shown = "; ".join(repr(text[:LONGEST_SHOWN]) for text in same[:MOST_SHOWN])
            found.append(
                f"Texts of the test part ({word}) that stand in the training part too: {len(same):,}, so the test "
                f"{TEXTS_FOLLOW}{shown}"
            )
    return found


def without_texts(warnings: Sequence[str]) -> list[str]:
    """Cut texts out of warnings: a study's model keeps nothing that people wrote."""
    cut = TEXTS_FOLLOW.removesuffix(": ")
    return [f"{warning.partition(cut)[0]}{cut}." if TEXTS_FOLLOW in warning else warning for warning in warnings]


WINDOW = 256  # tokens of a text that make its vector
A_TOKEN = 4  # characters, in most English texts


def say_unread(task: str, examples: Sequence[Labelled], tokens: int = 0) -> list[str]:
    """Warn if texts are longer than the model reads; `tokens`: an encoder's limit for both texts together."""
    if task == TrainingTask.REWARD or not examples:
        return []
    longest = A_TOKEN * (tokens or WINDOW)
    sizes = [len(each.first) + (len(each.second) if tokens else 0) for each in examples]
    cut = [size - longest for size in sizes if size > longest]
    if not cut:
        return []
    what = "evidence" if task == TrainingTask.VERIFIER else "prompts"
    return [
        f"In {len(cut):,} of {len(examples):,} examples the {what} is longer than the {tokens or WINDOW} tokens that "
        f"are read (about {longest:,} characters); about {100 * sum(cut) / sum(sizes):.0f} % of all text is not read."
    ]


def suspicious_baselines(task: str, result: Row) -> list[str]:
    """Warn if words or length alone tell too much."""
    measure, most = SUSPICIOUS[task]
    return [
        f"{name} alone reaches {measure} {value:.3f} on the test part; from {most:g} on, look whether the texts "
        "give the answer away."
        for name in ("bm25", "length")
        if (value := result["baselines"].get(name, {}).get(measure)) is not None and value >= most
    ]
