"""The embeddings of a corpus as arrays, read from the database."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from django.db import connection
from psycopg import sql

from analysis.models import Corpus
from analysis.models.corpora import DIMENSIONS

NAME = np.dtype("S64")
# One row of PostgreSQL's binary COPY: the number of fields, then each field's length and value.
ROW = np.dtype(
    [
        *(("fields", ">i2"), ("name_bytes", ">i4"), ("name", NAME), ("vector_bytes", ">i4")),
        *(("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", (DIMENSIONS,))),
    ]
)
COPY_OUT = """
COPY (
  SELECT rpad(c.sha256, 64), v.vector
  FROM analysis_conversationvector v JOIN analysis_conversation c ON c.id = v.conversation_id
  WHERE c.corpus_id = {corpus} AND v.model = {model} AND ({user}::text IS NULL OR c."user" = {user})
    AND ({languages}::text[] IS NULL OR c.language = ANY ({languages}::text[]))
    AND ({toxic} OR (c.toxic IS NOT TRUE AND c.redacted IS NOT TRUE))
) TO STDOUT (FORMAT BINARY)
"""
HEADER_BYTES = 19  # signature, flags, length of the header's extension
ROWS_AT_ONCE = 8192  # so that products are few and large


class Scope(NamedTuple):
    """Which conversations of a corpus are looked at: one user's, those in these languages, toxic and redacted ones."""

    user: str | None = None
    languages: Sequence[str] | None = None
    toxic: bool = True


class Vectors(NamedTuple):
    """Embeddings in memory: `matrix` is float32, a row of length 1 for each conversation's hash."""

    hashes: np.ndarray
    matrix: np.ndarray


def read_vectors(corpus: Corpus, model: str, pool: Scope = Scope()) -> Iterator[Vectors]:  # noqa: B008
    """Embeddings of a corpus, or of a part of it, in pieces and in no particular order.

    All fields have one length each, so that many rows can be taken over as one array.
    """
    values = {"corpus": corpus.pk, "model": model, **pool._asdict()}
    query = sql.SQL(COPY_OUT).format(**{name: sql.Literal(value) for name, value in values.items()})
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        blocks, first = iter(copy), HEADER_BYTES
        while written := b"".join(islice(blocks, ROWS_AT_ONCE)):
            rows = np.frombuffer(written, ROW, (len(written) - first) // ROW.itemsize, first)
            first = 0
            if len(rows):  # the end of the copy may come alone
                yield Vectors(rows["name"].copy(), rows["vector"].astype("float32"))
