"""The conversations nearest to a question: exact by default, by an approximate index on request."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import numpy as np
from django.db import connection, transaction
from psycopg import sql

from analysis.models import Corpus
from analysis.models.corpora import DIMENSIONS
from analysis.ranking import Ranking

# One row of PostgreSQL's binary COPY: the number of fields, then each field's length and value.
ROW = np.dtype(
    [
        *(("fields", ">i2"), ("name_bytes", ">i4"), ("name", "S64"), ("vector_bytes", ">i4")),
        *(("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", (DIMENSIONS,))),
    ]
)
COPY_OUT = """
COPY (
  SELECT rpad(c.sha256, 64), v.vector
  FROM analysis_conversationvector v JOIN analysis_conversation c ON c.id = v.conversation_id
  WHERE c.corpus_id = {corpus} AND v.model = {model} AND ({user}::text IS NULL OR c."user" = {user})
) TO STDOUT (FORMAT BINARY)
"""
HEADER_BYTES = 19  # signature, flags, length of the header's extension
ROWS_AT_ONCE = 2000
TIE = 1e-6  # similarities from the database that differ less are equal
RECALL_QUESTIONS = 50
EXACT = {"enable_indexscan": "off"}  # the approximate index is only read by such a scan
APPROXIMATE = {
    "hnsw.ef_search": "400",
    "hnsw.iterative_scan": "strict_order",  # goes on until enough of what it finds is of this corpus
    "enable_sort": "off",  # the index gives them in order
}
INDEX = "vectors_by_likeness"


class Vectors(NamedTuple):
    """Embeddings in memory: `matrix` is float32, a row of length 1 for each conversation's hash."""

    hashes: np.ndarray
    matrix: np.ndarray


class Near(NamedTuple):
    sha256: str
    similarity: float


def read_vectors(corpus: Corpus, model: str, user: str | None = None) -> Iterator[Vectors]:
    """All embeddings of a corpus, or those of one of its users, in pieces and in no particular order.

    Hashes and vectors have one length each, so that many rows can be taken over as one array.
    """
    values = {"corpus": corpus.pk, "model": model, "user": user}
    query = sql.SQL(COPY_OUT).format(**{name: sql.Literal(value) for name, value in values.items()})
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        blocks, first = iter(copy), HEADER_BYTES
        while written := b"".join(islice(blocks, ROWS_AT_ONCE)):
            rows = np.frombuffer(written, ROW, (len(written) - first) // ROW.itemsize, first)
            first = 0
            if len(rows):  # the end of the copy may come alone
                yield Vectors(rows["name"].copy(), rows["vector"].astype("float32"))


def nearest_to_many(
    corpus: Corpus, model: str, questions: np.ndarray, number: int, user: str | None = None
) -> list[list[Near]]:
    """For each question the `number` nearest conversations, nearest first; equal ones by their hash."""
    pieces = list(read_vectors(corpus, model, user))  # first all: numpy's threads would slow PostgreSQL down
    ranking = Ranking(questions, number)
    for piece in pieces:
        ranking.add(*piece)
    return [list(map(Near._make, row)) for row in ranking.best()]


def _cut(rows: list[Near], number: int) -> list[Near]:
    return sorted(rows, key=lambda near: (-round(near.similarity / TIE), near.sha256))[:number]


def nearest(corpus: Corpus, model: str, question: np.ndarray, number: int, approximate: bool = False) -> list[Near]:
    """The `number` nearest conversations to one question, found in the database.

    `approximate` uses the index of `build_index`, which may miss some; `measure_recall` says how many.
    """
    with planner_settings(APPROXIMATE if approximate else EXACT), connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.sha256, -(v.vector <#> %s::vector) FROM analysis_conversationvector v"
            " JOIN analysis_conversation c ON c.id = v.conversation_id"
            " WHERE c.corpus_id = %s AND v.model = %s ORDER BY v.vector <#> %s::vector LIMIT %s",
            [literal := str(question.tolist()), corpus.pk, model, literal, number],
        )
        return _cut([Near(*row) for row in cursor.fetchall()], number)


@contextmanager
def planner_settings(settings: dict[str, str]) -> Iterator[None]:
    """For the queries inside; a transaction around it goes on with what it had."""
    with transaction.atomic(), connection.cursor() as cursor:
        for name, value in settings.items():
            cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
        yield
        for name in settings:
            cursor.execute("SELECT set_config(%s, NULL, true)", [name])


def build_index() -> None:
    """The approximate index over all embeddings (HNSW, by dot product: all vectors have length 1)."""
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute(
            f"CREATE INDEX IF NOT EXISTS {INDEX} ON analysis_conversationvector USING hnsw (vector vector_ip_ops)"
        )
        cursor.execute("RESET maintenance_work_mem")


def measure_recall(corpus: Corpus, model: str, number: int) -> float | None:
    """Share of the `number` nearest that the approximate index finds, over questions taken from the corpus.

    The questions are the vectors of conversations spread evenly over it. None for an empty corpus.
    """
    matrices = [piece.matrix for piece in read_vectors(corpus, model)]
    if not matrices:
        return None
    matrix = np.concatenate(matrices)
    found = wanted = 0
    for question in matrix[:: max(len(matrix) // RECALL_QUESTIONS, 1)][:RECALL_QUESTIONS]:
        exact = {near.sha256 for near in nearest(corpus, model, question, number)}
        found += len(exact & {near.sha256 for near in nearest(corpus, model, question, number, True)})
        wanted += len(exact)
    return found / wanted
