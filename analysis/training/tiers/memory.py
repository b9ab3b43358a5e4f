"""How much memory of a GPU reasoning takes, by the model's own numbers, before anything is begun."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.training.examples import TrainingError
from analysis.training.fitting import TrainingSettings

GB = 1 << 30
HALF, FULL = 2, 4  # bytes of a number in bfloat16 and in float32
OPTIMIZER = 2 * FULL  # AdamW keeps two numbers of each weight that learns
AROUND = 1.2  # what allocators and fragments take beside it, as measured on an H100
KEPT_OF_LAYER = 2  # numbers of a token's width that a checkpointed layer keeps, with its input
READ_AT_ONCE = 3  # numbers of its inner width that a layer holds of each token of the prompts that it reads
READ_BY_BOTH = 7  # with the layers of low rank beside it, which read in float32


@dataclass(frozen=True)
class Shape:
    """Of a language model: what its `config.json` says."""

    weights: int
    layers: int
    width: int
    inner: int
    cached: int  # numbers of a token that each layer keeps for generation
    words: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Shape":
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
    """`at_once`: prompts whose replies are written together; `sequences`: replies that are learned from together."""

    at_once: int
    sequences: int
    bytes: int

    def tell(self, name: str, settings: TrainingSettings) -> str:
        if not self.bytes:
            return f"{name}: how much memory it takes is not known of these weights."
        said = f"{name}: about {self.bytes / GB:,.0f} GB of a GPU's {settings.memory:g} GB, with the replies to "
        said += f"{self.at_once:,} of {settings.batch:,} prompts written at once and {self.sequences:,} learned from"
        return f"{said} at once; reckoned from its config, not measured."


def needed(shape: Shape, settings: TrainingSettings, at_once: int, sequences: int) -> int:
    """Bytes: weights, what learns, and the larger of writing replies and learning from them."""
    length, replies = settings.tokens + settings.reply, at_once * settings.rollouts
    if settings.lora:  # the weights stay in bfloat16, those of low rank learn beside them
        still, learned, read = HALF * shape.weights, int(2 * settings.lora / shape.width * shape.weights), READ_BY_BOTH
        learning = FULL * learned
    else:  # all in float32, with the untrained model beside it; each step works on a copy in bfloat16
        still, learned, read = FULL * shape.weights * (2 if settings.kl else 1), shape.weights, READ_AT_ONCE
        learning = (FULL + HALF) * learned
    cache = replies * length * shape.layers * shape.cached * HALF
    writing = cache + replies * settings.tokens * shape.inner * read * HALF
    kept = sequences * length * shape.layers * shape.width * KEPT_OF_LAYER * HALF
    scores = sequences * settings.reply * shape.words * HALF
    return int(AROUND * (still + OPTIMIZER * learned + max(writing, learning + kept + scores)))


def fit(shape: Shape, settings: TrainingSettings) -> Memory:
    """The largest parts of a step that fit. Raises TrainingError where not even one prompt does."""
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
    """Of quantised weights nothing is known before they are written out: small models, learned from whole."""
    config = base / "config.json"
    if not config.is_file():
        return Memory(settings.batch, settings.rollouts, 0)
    try:
        shape = Shape.of(json.loads(config.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError):
        return Memory(settings.batch, settings.rollouts, 0)
    return fit(shape, settings)
