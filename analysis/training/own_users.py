"""The gain of a model of one user over the shared one: an offset of their own, learned from some of their labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logit

from analysis.models.training import TrainingTask
from analysis.stats.intervals import redrawn_interval
from analysis.stats.resampling import bootstrap_weights, generator
from analysis.training.evaluation import Row
from analysis.training.examples import Labelled
from analysis.training.fitting import TrainingSettings
from analysis.training.tiers.frozen import fit_frozen
from surveys.models.hashes import hash_text

FEWEST_USERS, FEWEST_LABELS = 5, 4  # users for a gain; labels per user
HALVES = 2
DRAWS = 2000
SHRINKING = 1.0  # prior precision of a user's offset
STEPS = 25
SUREST = 0.999
MOST_SHOWN = 200


def user_gains(
    task: str, examples: Sequence[Labelled], features: np.ndarray, strength: float, settings: TrainingSettings
) -> Row:
    """Score each user by a fit on all others, without and with an offset of their own.

    The offset of each half of a user's items is learned from the other half, so no item is scored by its own label.
    `gain`: how much likelier the labels are with it, in bits a label, mean over users, with an interval over users.
    """
    users = sorted({each.user for each in examples if each.user})
    rows = {user: np.array([n for n, each in enumerate(examples) if each.user == user]) for user in users}
    known = [user for user in users if len(rows[user]) >= FEWEST_LABELS]
    if len(known) < FEWEST_USERS:
        why = f"needs {FEWEST_USERS} users with {FEWEST_LABELS} labels each; there are {len(known)}"
        return {"users": len(known), "gain": {"value": None, "ci": None, "n": len(known), "why": why}, "each": []}
    labels = np.array([each.label for each in examples], float)
    each = []
    for user in known:
        own = rows[user]
        others = np.setdiff1d(np.arange(len(examples)), own)
        if task != TrainingTask.REWARD and len(set((labels[others] > 0.5).tolist())) < 2:
            continue
        fit = fit_frozen(task, features[others], labels[others], strength, *settings.weighing)
        shared = logit(np.clip(fit.score(features[own]), 1 - SUREST, SUREST))
        each.append({"user": user, **score_user(shared, labels[own], [examples[n] for n in own.tolist()])})
    gains = np.array([row["gain"] for row in each])
    return {"users": len(each), "gain": mean_gain(gains), "each": each[:MOST_SHOWN]}


def score_user(shared: np.ndarray, labels: np.ndarray, examples: Sequence[Labelled]) -> Row:
    """Measure one user's bits a label and right labels, without and with the offset."""
    half = np.array([int(hash_text(f"half {each.key}")[:8], 16) % HALVES for each in examples])
    if len(set(half.tolist())) < HALVES:  # by chance all in the same half
        half = np.arange(len(examples)) % HALVES
    own = shared.copy()
    for number in range(HALVES):
        own[half == number] += fit_offset(shared[half != number], labels[half != number])
    before, after = (bits(values, labels) for values in (shared, own))
    right = [float(np.mean((values > 0) == (labels > 0.5))) for values in (shared, own)]
    return {
        "n": len(labels),
        "offset": fit_offset(shared, labels),
        "shared": {"bits": before, "accuracy": right[0]},
        "own": {"bits": after, "accuracy": right[1]},
        "gain": before - after,
    }


def fit_offset(shared: np.ndarray, labels: np.ndarray) -> float:
    """Fit the most likely offset by Newton's method, shrunk to 0 if there are few labels."""
    value = 0.0
    for _ in range(STEPS):
        chance = expit(shared + value)
        slope = float((labels - chance).sum()) - SHRINKING * value
        value += slope / (float((chance * (1 - chance)).sum()) + SHRINKING)
    return value


def bits(logits: np.ndarray, labels: np.ndarray) -> float:
    """Compute the mean surprise of a label, in bits."""
    chance = np.clip(expit(logits), 1e-6, 1 - 1e-6)
    return float(-np.mean(labels * np.log2(chance) + (1 - labels) * np.log2(1 - chance)))


def mean_gain(gains: np.ndarray) -> Mapping[str, Any]:
    value = float(gains.mean())
    drawn = gains @ bootstrap_weights(len(gains), DRAWS, generator(0, "users")) / len(gains)
    ci = redrawn_interval(drawn, value, len(gains))
    beats = "not told apart" if ci is None or ci[0] <= 0 <= ci[1] else "yes" if value > 0 else "no"
    return {"value": value, "ci": list(ci) if ci else None, "n": len(gains), "beats": beats}


def say_gain(found: Mapping[str, Any]) -> str:
    gain = found["gain"]
    if gain["value"] is None:
        return f"What a model of one user gains over the shared one is not known: it {gain['why']}."
    ends = f" ({gain['ci'][0]:+.3f} to {gain['ci'][1]:+.3f})" if gain["ci"] else ""
    return (
        f"A model of one user (the shared one with an offset of their own) makes their labels likelier by "
        f"{gain['value']:+.3f} bits a label{ends}, mean over {gain['n']:,} users, each left out of the shared one: "
        f"{gain['beats']}."
    )
