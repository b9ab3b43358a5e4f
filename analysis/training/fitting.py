"""From divided examples to a tested model: seeds, thresholds, baselines, learning curve and warnings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.models.training import TrainingTask
from analysis.stats.detection import Cases, Scored
from analysis.stats.resampling import generator
from analysis.training.evaluation import (
    MAIN,
    NOT_SUPPORTED,
    POSITIVE,
    Aim,
    Row,
    cases_of,
    evaluate,
    facing,
    measures_for,
    suspicious_baselines,
    texts_seen,
    threshold_on,
)
from analysis.training.examples import TEST, TRAIN, VALID, Labelled, TrainingError, check_groups
from analysis.training.tiers.frozen import (
    VERSION,
    Frozen,
    Texts,
    baseline_scores,
    choose_frozen,
    features_of,
    fit_frozen,
    value_of,
)
from surveys.models.hashes import hash_text
from surveys.studies.wording import plural

FEWEST = 20  # examples to train on
FEWEST_OF_LABEL = 5
CURVE = (0.1, 0.25, 0.5, 1.0)
FOLDS = 5


# Defaults of the tiers.
USUAL: dict[str, dict[str, Any]] = {"encoder": {"rate": 5e-5, "tokens": 128}, "grpo": {"rate": 1e-6, "tokens": 1024}}


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained. `split`: how to divide anew (see `split_by`); empty keeps the given split.

    `positive_weight`: of the label to find, for a verifier “not supported”. `embedder`: an endpoint whose vectors tier
    A learns from, in place of the local model's. `plain`: an encoder learns by itself, not what tier A leaves.
    `memory`: GB of the GPU on which a model reasons. `per_user`: also measures the gain of a model of one user.
    """

    split: str = ""
    seeds: int = 3
    soft_labels: bool = False
    positive_weight: float | None = None
    folds: int = 0
    base: str = ""
    epochs: int = 3
    batch: int = 16
    rate: float = 5e-5
    tokens: int = 128
    threads: int = 1
    rollouts: int = 5
    steps: int = 0
    reply: int = 4096
    kl: float = 0.001
    lora: int = 0
    threshold: float | None = None
    least_recall: float | None = None
    embedder: str = ""
    plain: bool = False
    memory: float = 80.0
    per_user: bool = False

    @property
    def aim(self) -> Aim:
        """The aim of the threshold: a given threshold or recall takes precedence over a weight."""
        is_said = self.threshold is not None or self.least_recall is not None
        return Aim(self.threshold, self.least_recall, self.positive_weight is not None and not is_said)

    @property
    def weighing(self) -> tuple[float | None, bool]:
        """Weight of the positive label in a fit, and whether labels count as shares."""
        return self.positive_weight, self.soft_labels

    @property
    def chosen_aim(self) -> Aim:
        """The aim for scores to which neither a given threshold nor a weight applies, such as those of words."""
        return Aim(least_recall=self.least_recall)


@dataclass(frozen=True)
class Parts:
    """The examples of a training, divided: `all` in one order, and each part's places in it."""

    all: list[Labelled]
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray

    def of(self, places: np.ndarray) -> list[Labelled]:
        return [self.all[place] for place in places.tolist()]


def divide(task: str, examples: Sequence[Labelled], folds: int = 0) -> Parts:
    """Divide the examples. Raises TrainingError if there are too few, also for `folds`, or a group is in two parts.

    Without a validation part, take one group in five of the training part for it.
    """
    check_groups(examples)
    if not any(each.split == VALID for each in examples):
        examples = [
            replace(each, split=VALID) if each.split == TRAIN and hash_text(each.group)[0] in "012" else each
            for each in examples
        ]
    known = list(examples)
    places = {
        part: np.array([n for n, each in enumerate(known) if each.split == part], int) for part in (TRAIN, VALID, TEST)
    }
    parts = Parts(known, places[TRAIN], places[VALID], places[TEST])
    check_enough(task, parts)
    divide_folds(task, known, folds)
    return parts


def check_enough(task: str, parts: Parts) -> None:
    train = parts.of(parts.train)
    yes = sum(each.is_positive for each in train)
    words = f"{plural(len(train), 'example')} in the training part, {yes:,} of them positive"
    if len(train) < FEWEST:
        raise TrainingError(f"Too little to learn from: {words}; it takes {FEWEST}.")
    if task != TrainingTask.REWARD and min(yes, len(train) - yes) < FEWEST_OF_LABEL:
        raise TrainingError(f"Too little to learn from: {words}; it takes {FEWEST_OF_LABEL} of each label.")
    for name, places in (("validation", parts.valid), ("test", parts.test)):
        if not len(places):
            raise TrainingError(
                f"There is no example in the {name} part: bring more, or divide anew with --split groups."
            )


# --- tier A -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FrozenTrial:
    """A fit with its threshold, and its scores of all examples."""

    fit: Frozen
    threshold: float
    valid: float
    scores: np.ndarray


def fit_seeds(
    task: str, parts: Parts, features: np.ndarray, seeds: int, settings: TrainingSettings
) -> list[FrozenTrial]:
    """Fit the first seed on all training groups, each further one on as many drawn with replacement: a linear fit has
    no random start, so the spread shows what other people would have changed.
    """
    valid = features[parts.valid], cases_of(parts.of(parts.valid))
    trials: list[FrozenTrial] = []
    for seed in range(seeds):
        places = redraw(task, parts, seed) if seed else parts.train
        known: dict[str, Any] = {"strengths": (trials[0].fit.strength,)} if seed else {}
        train = features[places], labels_of(parts, places)
        fit, value = choose_frozen(task, train, valid, MAIN[task], *settings.weighing, **known)
        scores = fit.score(features)
        trials.append(FrozenTrial(fit, threshold_on(task, scores[parts.valid], valid[1], settings.aim), value, scores))
    return trials


def redraw(task: str, parts: Parts, seed: int) -> np.ndarray:
    """Draw as many training groups with replacement, again if they have one label, from which nothing is learned."""
    groups: dict[str, list[int]] = {}
    for place in parts.train:
        groups.setdefault(parts.all[place].group, []).append(int(place))
    names = list(groups)
    rng = generator(seed, "groups")
    while True:
        drawn = rng.integers(0, len(names), len(names))
        places = np.array([place for number in drawn for place in groups[names[number]]], int)
        if can_learn(task, labels_of(parts, places)):
            return places


def can_learn(task: str, labels: np.ndarray) -> bool:
    return task == TrainingTask.REWARD or len(set((labels > 0.5).tolist())) == 2


def labels_of(parts: Parts, places: np.ndarray) -> np.ndarray:
    return np.array([parts.all[place].label for place in places.tolist()], float)


def learning_curve(
    task: str, parts: Parts, features: np.ndarray, trial: FrozenTrial, seeds: int, settings: TrainingSettings
) -> list[Row]:
    """Measure on the test part with 10, 25, 50, 100 % of the training groups; mean and ends over seeds."""
    groups = list(dict.fromkeys(parts.all[place].group for place in parts.train))
    test = cases_of(parts.of(parts.test))
    found = []
    for share in CURVE:
        values, used = [], 0
        for seed in range(seeds if share < 1 else 1):
            mixed = generator(seed, "curve").permutation(len(groups))[: max(1, round(share * len(groups)))]
            taken = {groups[number] for number in mixed}
            places = np.array([place for place in parts.train if parts.all[place].group in taken], int)
            labels = labels_of(parts, places)
            if not can_learn(task, labels):
                continue
            fit = fit_frozen(task, features[places], labels, trial.fit.strength, *settings.weighing)
            values.append(value_of(test, Scored(fit.score(features[parts.test]), 0.5), MAIN[task]))
            used = len(places)
        found.append({"share": share, "n": used, "measure": MAIN[task], **spread(values)})
    return found


def spread(values: Sequence[float]) -> Row:
    known = [value for value in values if value == value]
    if not known:
        return {"mean": None, "min": None, "max": None, "why": "only one label was drawn"}
    return {"mean": float(np.mean(known)), "min": min(known), "max": max(known)}


# --- baselines --------------------------------------------------------------


def fit_baselines(task: str, parts: Parts, scores: dict[str, np.ndarray], aim: Aim) -> Row:
    """Find each baseline's threshold and sign; only length may count in reverse, if it does in the training part."""
    train, valid = (cases_of(parts.of(places)) for places in (parts.train, parts.valid))
    measure = "accuracy" if task == TrainingTask.REWARD else "auroc"
    # The prior calls everything positive.
    most = 2.0 if POSITIVE[task] == NOT_SUPPORTED else 0.0
    found: Row = {"prior": {"share": float(labels_of(parts, parts.train).mean()), "threshold": most}}
    for name, values in scores.items():
        # A reward's answer is its sign; a baseline that tells nothing keeps its own.
        right = value_of(train, Scored(values[parts.train], 0.0), measure)
        sign = -1 if right < 0.5 and name == "length" else 1
        threshold = 0.0 if task == TrainingTask.REWARD else threshold_on(task, sign * values[parts.valid], valid, aim)
        found[name] = {"sign": sign, "threshold": threshold}
    return found


def score_by_part(task: str, parts: Parts, texts: Texts) -> dict[str, np.ndarray]:
    """Score each part by itself, as the test part is: BM25 rises with the number of texts that it is among."""
    found: dict[str, np.ndarray] = {}
    for places in (parts.train, parts.valid):
        for name, values in baseline_scores(task, parts.of(places), texts).items():
            found.setdefault(name, np.zeros(len(parts.all)))[places] = values
    return found


def score_baselines(
    kept: Row, task: str, examples: Sequence[Labelled], texts: Texts, frozen: Frozen
) -> dict[str, Scored]:
    """Score any examples by the baselines that learn nothing, and by tier A."""
    share = kept["baselines"]["prior"]["share"]
    found = {"prior": Scored(np.full(len(examples), share), kept["baselines"]["prior"]["threshold"])}
    for name, values in baseline_scores(task, examples, texts).items():
        rule = kept["baselines"][name]
        found[name] = Scored(rule["sign"] * values, rule["threshold"])
    found["frozen"] = Scored(frozen.score(features_of(task, examples, texts)), kept["frozen_threshold"])
    return found


# --- whole ------------------------------------------------------------------


def summarise_seeds(task: str, test: Cases, scored: Sequence[Scored], valid: Sequence[float]) -> Row:
    """Report every measure of every seed on the test part, and how far apart the seeds are."""
    names = measures_for(task, test)
    turned = [facing(POSITIVE[task], test, each) for each in scored]
    rows = [
        {
            "seed": seed,
            "valid": none_if_nan(valid[seed]),
            **{name: none_if_nan(value_of(*each, name)) for name in names},
        }
        for seed, each in enumerate(turned)
    ]
    return {
        "seeds": rows,
        "spread": {name: spread([value for row in rows if (value := row[name]) is not None]) for name in names},
    }


def none_if_nan(value: float) -> float | None:
    return value if value == value else None


def report_on(
    task: str,
    parts: Parts,
    kept: Row,
    scored: Sequence[Scored],
    valid: Sequence[float],
    best: int,
    baselines: dict[str, Scored],
) -> Row:
    """Report on a fitted model as `train` prints it: the test of the kept seed, all seeds beside it, and warnings."""
    test = parts.of(parts.test)
    result = evaluate(task, test, scored[best], baselines, kept["seen"])
    result["warnings"] += suspicious_baselines(task, result)
    seeded = summarise_seeds(task, cases_of(test), scored, valid)
    return {"main": MAIN[task], "kept_seed": best, **result, **seeded}


def keep(task: str, parts: Parts, texts: Texts, trial: FrozenTrial, settings: TrainingSettings) -> Row:
    """Return the data with which a model can be used and tested without its training examples."""
    return {
        "task": task,
        "positive": POSITIVE[task],
        "features": VERSION,
        "frozen_threshold": trial.threshold,
        "baselines": fit_baselines(task, parts, score_by_part(task, parts, texts), settings.chosen_aim),
        "seen": texts_seen(parts.of(parts.train)),
    }


def divide_folds(task: str, examples: Sequence[Labelled], folds: int) -> list[Parts]:
    """Make each fold of the groups, by their hash, the test part once; the next one validates.

    Raises TrainingError if too little is left to learn from.
    """
    fold = np.array([int(hash_text(f"fold {each.group}")[:8], 16) % max(folds, 1) for each in examples])
    found = []
    for number in range(folds):
        after = (number + 1) % folds
        known = (fold != number) & (fold != after), fold == after, fold == number
        parts = Parts(list(examples), *map(np.flatnonzero, known))
        if not len(parts.train) or not can_learn(task, labels_of(parts, parts.train)):
            groups = len({each.group for each in examples})
            raise TrainingError(
                f"There are too few groups for --folds {folds} ({groups:,}): besides one fold that tests and one that "
                "validates, examples of both labels must be left to learn from."
            )
        found.append(parts)
    return found


def cross_validate(
    task: str, examples: Sequence[Labelled], features: np.ndarray, folds: int, settings: TrainingSettings, texts: Texts
) -> Row:
    """Score each group by a tier A fit that saw none of it; strength and thresholds, those of the baselines too, are
    chosen on another fold.
    """
    words = baseline_scores(task, list(examples), texts)
    found = {name: Scored(np.zeros(len(examples)), np.zeros(len(examples))) for name in ("", *words)}
    for parts in divide_folds(task, examples, folds):
        cases, test = cases_of(parts.of(parts.valid)), parts.test
        learned = features[parts.train], labels_of(parts, parts.train)
        valid = features[parts.valid], cases
        fit, _ = choose_frozen(task, learned, valid, MAIN[task], *settings.weighing)
        found[""].scores[test] = fit.score(features[test])
        found[""].threshold[test] = threshold_on(task, fit.score(features[parts.valid]), cases, settings.aim)
        rules = fit_baselines(task, parts, words, settings.chosen_aim)
        for name, values in words.items():
            found[name].scores[test] = rules[name]["sign"] * values[test]
            found[name].threshold[test] = rules[name]["threshold"]
    result = evaluate(task, examples, found.pop(""), found)
    del result["warnings"], result["threshold"]  # each fold has its own
    return {"folds": folds, **result}
