"""Tier A: features from a pair's frozen vectors and shared words, and a weighted logistic regression over them.

Seconds, without torch. Also the scores of baselines that learn nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from analysis.models import Endpoint, TextVector
from analysis.models.training import TrainingTask
from analysis.people.corpora import embeddings
from analysis.people.corpora.embeddings import Embedder, EmbeddingError, endpoint_embedder
from analysis.stats.detection import Cases, Scored, measures_of
from analysis.stats.lexical import overlap, score_bm25
from analysis.training.evaluation import NOT_SUPPORTED, POSITIVE
from analysis.training.examples import Labelled, TrainingError
from surveys.models.hashes import hash_text
from surveys.studies.wording import RaisedAs

VERSION = "features 1"  # raise when a column changes: other versions' weights mean something else
BATCH = 64
CONTEXT = 600  # last characters of the conversation before
Show = Callable[[float], None]


class Texts(NamedTuple):
    """Vectors by text, of length 1."""

    vectors: dict[str, np.ndarray]

    def of(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.vectors[text] for text in texts])


def with_context(task: str, each: Labelled) -> str:
    """Return the first text; for relevance, a prompt with the end of the conversation before it."""
    has_context = task == TrainingTask.RELEVANCE and each.context
    return f"{each.context[-CONTEXT:]}\n{each.first}" if has_context else each.first


def find_embedder(endpoint: str = "", made_by: str = "") -> Embedder:
    """Find the endpoint's embedder, else the local one; if vectors were `made_by` one, only that one.

    Raises TrainingError.
    """
    with RaisedAs(TrainingError, EmbeddingError):
        if not endpoint and made_by:
            return embeddings.embedder_named(made_by)
        if not endpoint:
            return embeddings.local_embedder()
        served = Endpoint.objects.filter(name=endpoint).first()
        if served is None:
            known = ", ".join(Endpoint.objects.filter(embeddings=True).values_list("name", flat=True)) or "none yet"
            raise TrainingError(f"There is no endpoint {endpoint}. Endpoints with embeddings: {known}.")
        found = endpoint_embedder(served)
    if made_by and found.name != made_by:
        raise TrainingError(f"The model learned from vectors of {made_by}; those of {found.name} mean something else.")
    return found


def embed_texts(
    task: str, examples: Sequence[Labelled], embedder: Embedder, show: Show = lambda share: None, *, keep: bool = False
) -> Texts:
    """Embed every different text once. `show` may raise, to stop. `keep`: read and store vectors in the database."""
    texts = {text for each in examples for text in (each.first, with_context(task, each), each.second, each.third)}
    wanted = sorted(texts - {""})
    vectors: dict[str, np.ndarray] = {}
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        vectors.update(_kept(some, embedder.name) if keep else {})
        new = [text for text in some if text not in vectors]
        if new:
            vectors.update(zip(new, embedder.embed(new), strict=True))
        if new and keep:
            rows = [TextVector(sha256=hash_text(text), model=embedder.name, vector=vectors[text]) for text in new]
            TextVector.objects.bulk_create(rows, ignore_conflicts=True)
        show(len(vectors) / len(wanted))
    return Texts(vectors)


def _kept(texts: Sequence[str], model: str) -> dict[str, np.ndarray]:
    """Return the stored vectors of these texts."""
    names = {hash_text(text): text for text in texts}
    rows = TextVector.objects.filter(model=model, sha256__in=names).values_list("sha256", "vector")
    return {names[sha256]: np.asarray(vector, "float32") for sha256, vector in rows}


# --- what a model learns from ----------------------------------------------


def features_of(task: str, examples: Sequence[Labelled], texts: Texts) -> np.ndarray:
    """Compute features, (examples, columns) float64; of two responses, the first's minus the second's."""
    of_second = _pairs(task, examples, [each.second for each in examples], texts)
    if not any(each.third for each in examples):
        return of_second
    return of_second - _pairs(task, examples, [each.third for each in examples], texts)


def _pairs(task: str, examples: Sequence[Labelled], others: Sequence[str], texts: Texts) -> np.ndarray:
    """Stack cosine, its square, cosine with context and shared words; then |a - b|, a · b by element, and b."""
    a, before, b = (
        texts.of(rows)
        for rows in ([each.first for each in examples], [with_context(task, each) for each in examples], others)
    )
    cosine, wider = (np.einsum("ij,ij->i", one, b)[:, None] for one in (a, before))
    words = np.array([overlap(each.first, other) for each, other in zip(examples, others, strict=True)])
    return np.hstack([cosine, cosine**2, wider, words, np.abs(a - b), a * b, b]).astype(float)


PLAIN = 11  # columns before the vectors


# --- baselines --------------------------------------------------------------


def baseline_scores(task: str, examples: Sequence[Labelled], texts: Texts) -> dict[str, np.ndarray]:
    """Score without learning, (examples,) by name; for a reward, the first response's scores minus the second's."""
    found = _score(task, examples, [each.second for each in examples], texts)
    if task != TrainingTask.REWARD:
        return found
    others = _score(task, examples, [each.third for each in examples], texts)
    return {name: scores - others[name] for name, scores in found.items()}


def _score(task: str, examples: Sequence[Labelled], others: Sequence[str], texts: Texts) -> dict[str, np.ndarray]:
    firsts = [each.first for each in examples]
    # Statements are searched for in their evidence; prompts search for attributes or responses.
    documents, queries = (firsts, others) if task == TrainingTask.VERIFIER else (others, firsts)
    return {
        "bm25": score_bm25(documents, queries),
        "cosine": np.einsum("ij,ij->i", texts.of(firsts), texts.of(others)).astype(float),
        "length": np.array([len(text) for text in others], float),
    }


# --- the regression

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
