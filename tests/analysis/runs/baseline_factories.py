"""Plain builders for baselines: conversations, personas, endpoints, runs and calls."""

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings

from analysis.models import (
    Completion,
    Conversation,
    ConversationVector,
    Corpus,
    Endpoint,
    Persona,
    PersonaSet,
    Run,
    SimulatedUser,
)
from analysis.people.corpora import embeddings
from analysis.people.corpora.embeddings import Embedder
from analysis.people.corpora.importing import Report, import_corpus, make_row
from analysis.people.corpora.personas import PersonaLine
from analysis.people.corpora.personas import make_row as make_persona_row
from analysis.people.corpora.records import Record
from surveys.models import BenchmarkItem, Study
from tests.factories import make_study

NUMBERS = count(1)
SHARED = Path(os.environ.get("FIELDSTUDY_SHARED") or Path(settings.BASE_DIR).parent / "shared")


def real_data(name: str) -> Path:
    """Return a file of the shared data; skip the test if it is missing."""
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"the real data {name} is not here; FIELDSTUDY_SHARED names its folder")
    return path


def import_file(path: Path, form: str = "wildchat", name: str = "corpus", limit: int | None = None) -> Report:
    return import_corpus(name, path, form, limit, lambda share, number: None)


def make_corpus(name: str = "corpus", form: str = "wildchat") -> Corpus:
    """A corpus without an owner, shared with all studies that exist."""
    return shared(Corpus.objects.get_or_create(name=name, defaults={"format": form})[0])


def shared(thing: Any) -> Any:
    thing.shared_with.add(*Study.objects.all())
    return thing


def write_messages(turns: int, words: str = "") -> list[dict[str, str]]:
    """Messages of this many `turns`; the texts hold `words`, so that conversations differ."""
    return [
        {"role": role, "content": f"{role} {turn} {words}"} for turn in range(turns) for role in ("user", "assistant")
    ]


def make_conversation(
    corpus: Corpus, turns: int = 5, messages: Sequence[dict[str, str]] | None = None, **changes: Any
) -> Conversation:
    written = write_messages(turns, f"kestrel {next(NUMBERS)}") if messages is None else list(messages)
    row = make_row(Record(written, **changes))
    return Conversation.objects.create(corpus=corpus, **row._asdict() | {"messages": written})


def make_endpoint(**changes: Any) -> Endpoint:
    given = {"name": f"model-{next(NUMBERS)}", "model": "scripted", "provider": "fake"} | changes
    return Endpoint.objects.create(**given)


def make_run(condition: str = "offline", study: Study | None = None, **changes: Any) -> Run:
    """A planned run of the small study of teas (two prompts), or of a benchmark if `benchmark` is given."""
    if not changes.get("benchmark"):
        study = study or make_study("draft")
        changes |= {"study": study, "version": study.current}
    endpoint = changes.pop("endpoint", None) or make_endpoint()
    run = Run.objects.create(condition=condition, endpoint=endpoint, created_by="tests", **changes)
    return run if run.study else shared(run)


def make_call(
    run: Run, question: Any = None, user: SimulatedUser | None = None, repeat: int = 0, **changes: Any
) -> Completion:
    """One planned call, by default of the study's first prompt."""
    question = question or run.version.prompts.order_by("position").first()
    asked = {"item": question} if isinstance(question, BenchmarkItem) else {"prompt": question}
    return Completion.objects.create(run=run, user=user, repeat=repeat, position=next(NUMBERS), **asked, **changes)


def make_personas(name: str, lines: Sequence[tuple[str, list[str]]]) -> PersonaSet:
    personas, _ = PersonaSet.objects.get_or_create(name=name)
    rows = [make_persona_row(personas, PersonaLine(description, sentences)) for description, sentences in lines]
    Persona.objects.bulk_create(rows)
    return shared(personas)


def make_item(number: int = 1, benchmark: str = "sums", **changes: Any) -> BenchmarkItem:
    given = {
        "item": f"{benchmark}/{number}",
        "subject": "small_sums",
        "question": f"What is {number} + {number}?",
        "choices": [str(number), str(number * 2), str(number * 3), str(number * 4)],
        "answer": "B",
    }
    return BenchmarkItem.objects.create(benchmark=benchmark, **given | changes)


def letter_vector(text: str) -> np.ndarray:
    """A made-up embedding of length 1: how often each letter occurs."""
    counts = np.zeros(384, "float32")
    for letter in text.lower():
        counts[ord(letter) % 384] += 1
    return counts / max(float(np.linalg.norm(counts)), 1e-9)


LETTERS = Embedder("letters", lambda texts: np.stack([letter_vector(text) for text in texts]))


def use_letters(monkeypatch: pytest.MonkeyPatch) -> Embedder:
    """Put the made-up embedding in the local model's place."""
    monkeypatch.setattr(embeddings, "LOCAL", LETTERS.name)
    monkeypatch.setattr(embeddings, "local_embedder", lambda: LETTERS)
    return LETTERS


def embed_all(corpus: Corpus, embedder: Embedder = LETTERS) -> int:
    return sum(embeddings.embed_corpus(corpus, embedder))


def add_vectors(rows: Sequence[Conversation], matrix: np.ndarray) -> None:
    ConversationVector.objects.bulk_create(
        ConversationVector(conversation=row, model="made-up", vector=vector)
        for row, vector in zip(rows, matrix, strict=True)
    )
