"""Tier A: a weighted logistic regression over frozen vectors and shared words. Seconds, without torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from analysis.models.training import TrainingTask
from analysis.stats.detection import Cases, Scored, measures_of
from analysis.training.evaluation import NOT_SUPPORTED, POSITIVE
from analysis.training.features import PLAIN

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3)  # of the fit; the best on the validation part is taken
OF_VECTORS = 0.2  # scale of a vector column beside a plain one, so that hundreds do not drown a dozen
MOST_STEPS = 2000


@dataclass(frozen=True, eq=False)
class Frozen:
    """Weights of columns centred by `mean` and divided by `scale`; a reward has no intercept."""

    weights: np.ndarray
    intercept: float
    mean: np.ndarray
    scale: np.ndarray
    strength: float

    def score(self, features: np.ndarray) -> np.ndarray:
        """Return probabilities of a yes, (examples,)."""
        return expit(self.logits(features))

    def logits(self, features: np.ndarray) -> np.ndarray:
        return ((features - self.mean) / self.scale) @ self.weights + self.intercept

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **{name: np.asarray(value) for name, value in vars(self).items()})


def load_frozen(path: Path) -> Frozen:
    with np.load(path, allow_pickle=False) as kept:
        return Frozen(kept["weights"], float(kept["intercept"]), kept["mean"], kept["scale"], float(kept["strength"]))


def fit_frozen(
    task: str,
    features: np.ndarray,
    labels: np.ndarray,
    strength: float,
    positive: float | None = None,
    soft: bool = False,
) -> Frozen:
    """Fit `labels`, (examples,) shares of yes. `positive`: weight of the label to find; None balances both labels.

    `soft`: an example counts for both labels, by their shares, not for the majority alone.
    """
    is_reward = task == TrainingTask.REWARD
    mean = np.zeros(features.shape[1]) if is_reward else features.mean(axis=0)
    scale = np.sqrt(np.square(features - mean).mean(axis=0))
    scale[scale < 1e-9] = 1.0
    scale[PLAIN:] /= OF_VECTORS
    shares = labels if soft else (labels > 0.5).astype(float)
    rows = np.tile((features - mean) / scale, (2, 1))
    if is_reward:  # which response stands first must not matter
        rows[len(features) :] *= -1
        targets = np.tile(np.ones(len(features)), 2)
        rows, targets = np.concatenate([rows, -rows]), np.concatenate([targets, 1 - targets])
        weights = np.tile(np.concatenate([shares, 1 - shares]), 2)
    else:
        targets = np.repeat([1.0, 0.0], len(features))
        of_yes, of_no = weights_of(task, shares, positive)
        weights = np.concatenate([shares * of_yes, (1 - shares) * of_no])
    used = weights > 0
    model = LogisticRegression(C=strength, max_iter=MOST_STEPS, fit_intercept=not is_reward)
    model.fit(rows[used], targets[used], sample_weight=weights[used])
    return Frozen(model.coef_[0], 0.0 if is_reward else float(model.intercept_[0]), mean, scale, strength)


def weights_of(task: str, shares: np.ndarray, positive: float | None) -> tuple[float, float]:
    """Return the weights of a yes and a no: the given one for the label to find, or those that balance both labels."""
    if positive is not None:
        return (1.0, positive) if POSITIVE[task] == NOT_SUPPORTED else (positive, 1.0)
    yes = float(shares.sum())
    return (len(shares) - yes) / max(yes, 1e-9), 1.0


def choose_frozen(
    task: str,
    train: tuple[np.ndarray, np.ndarray],
    valid: tuple[np.ndarray, Cases],
    measure: str,
    positive: float | None = None,
    soft: bool = False,
    strengths: Sequence[float] = STRENGTHS,
) -> tuple[Frozen, float]:
    """Return the fit whose strength is best on the validation part, and its value of the measure there."""
    features, cases = valid
    fits = [fit_frozen(task, *train, strength, positive, soft) for strength in strengths]
    values = [value_of(cases, Scored(fit.score(features), 0.5), measure) for fit in fits]
    best = int(np.argmax(np.nan_to_num(values, nan=-1.0)))
    return fits[best], values[best]


def value_of(cases: Cases, scored: Scored, measure: str) -> float:
    """Return the measure; NaN if undefined, as for a part with one label."""
    return float(measures_of(cases, scored, [measure])[measure](np.ones((cases.n_groups, 1)))[0])
