"""Sentence embeddings of attributes: one for each text, however many users it is said of."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from django.db import connection, reset_queries

from analysis.models import Corpus, TextVector
from analysis.models.corpora import DIMENSIONS
from analysis.people.corpora.embeddings import Embedder

BATCH = 64
ATTRIBUTES_AT_ONCE = 5_000

Person = tuple[int, str, int]  # id, key, how many attributes

# In the order of their hashes, so that each query goes on where the last one ended.
WITHOUT = """
SELECT DISTINCT ON (a.sha256) a.sha256, a.text FROM analysis_attribute a JOIN analysis_corpususer u ON u.id = a.user_id
WHERE u.corpus_id = %s AND u.left_out_by = '' AND a.left_out_by = '' AND a.sha256 > %s
  AND NOT EXISTS (SELECT FROM analysis_textvector v WHERE v.sha256 = a.sha256 AND v.model = %s)
ORDER BY a.sha256 LIMIT %s
"""
COUNT = """
SELECT count(DISTINCT a.sha256) FROM analysis_attribute a JOIN analysis_corpususer u ON u.id = a.user_id
WHERE u.corpus_id = %s AND u.left_out_by = '' AND a.left_out_by = ''
  AND NOT EXISTS (SELECT FROM analysis_textvector v WHERE v.sha256 = a.sha256 AND v.model = %s)
"""
UNUSED = """
DELETE FROM analysis_textvector v WHERE v.sha256 = ANY(%s)
  AND NOT EXISTS (SELECT FROM analysis_attribute a WHERE a.sha256 = v.sha256)
"""


def embed_attributes(corpus: Corpus, embedder: Embedder, show: Callable[[float, int], None]) -> int:
    """Embed the texts without a vector of this model and return how many; if stopped, it goes on where it was."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [corpus.pk, embedder.name])
        wanted = cursor.fetchone()[0]
    done = 0
    for texts in _without(corpus, embedder.name):
        vectors = embedder.embed([text for _, text in texts])
        rows = [
            TextVector(sha256=sha256, model=embedder.name, vector=vector)
            for (sha256, _), vector in zip(texts, vectors, strict=True)
        ]
        TextVector.objects.bulk_create(rows, ignore_conflicts=True)
        reset_queries()
        done += len(texts)
        show(done / max(wanted, done), done)
    return done


def _without(corpus: Corpus, model: str) -> Iterator[list[tuple[str, str]]]:
    after = ""
    with connection.cursor() as cursor:
        while True:
            cursor.execute(WITHOUT, [corpus.pk, after, model, BATCH])
            texts = cursor.fetchall()
            if not texts:
                return
            yield texts
            after = texts[-1][0]


def read_vectors(hashes: Sequence[str], model: str) -> np.ndarray:
    """Read a float32 row of length 1 for each hash. Raises KeyError if one has no vector of this model."""
    names, place = np.unique(np.array(hashes, "U64"), return_inverse=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sha256, vector_send(vector) FROM analysis_textvector WHERE model = %s AND sha256 = ANY(%s)",
            [model, names.tolist()],
        )
        found = dict(cursor)
    written = b"".join(bytes(found[name])[4:] for name in names.tolist())  # after the number of dimensions
    return np.frombuffer(written, ">f4").reshape(-1, DIMENSIONS).astype("float32")[place.ravel()]


def in_pieces(people: Sequence[Person]) -> Iterator[list[Person]]:
    """Yield people in pieces of about ATTRIBUTES_AT_ONCE attributes."""
    piece, size = [], 0
    for person in people:
        piece.append(person)
        size += person[2]
        if size >= ATTRIBUTES_AT_ONCE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def remove_unused(hashes: Sequence[str]) -> None:
    """Delete vectors of texts that nobody has any more, since an embedding tells something about its text."""
    with connection.cursor() as cursor:
        cursor.execute(UNUSED, [list(hashes)])
