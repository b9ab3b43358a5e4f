"""The conversations nearest to a question: exact by default, by an approximate index on request."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from django.db import connection, transaction
from psycopg import sql

from analysis.models import Conversation, Corpus
from analysis.models.corpora import DIMENSIONS

# One row of PostgreSQL's binary COPY: the number of fields, then each field's length and value.
ROW = np.dtype(
    [
        ("fields", ">i2"),
        ("id_bytes", ">i4"),
        ("id", ">i8"),
        ("vector_bytes", ">i4"),
        ("dimensions", ">i2"),
        ("unused", ">i2"),
        ("vector", ">f4", (DIMENSIONS,)),
    ]
)
COPY_OUT = """
COPY (
  SELECT v.conversation_id, v.vector
  FROM analysis_conversationvector v JOIN analysis_conversation c ON c.id = v.conversation_id
  WHERE c.corpus_id = {corpus} AND v.model = {model} AND ({user}::text IS NULL OR c."user" = {user})
) TO STDOUT (FORMAT BINARY)
"""
HEADER_BYTES = 19  # signature, flags, length of the header's extension
ROWS_AT_ONCE = 2000
QUESTIONS_AT_ONCE = 64
GROUP = 64
TIE = 1e-6  # similarities that differ less are equal, so that no processor's rounding decides
RECALL_QUESTIONS = 50
EXACT = {"enable_indexscan": "off"}  # the approximate index is only read by such a scan
APPROXIMATE = {
    "hnsw.ef_search": "400",
    "hnsw.iterative_scan": "strict_order",  # goes on until enough of what it finds is of this corpus
    "enable_sort": "off",  # the index gives them in order
}
INDEX = "vectors_by_likeness"


class Vectors(NamedTuple):
    """Embeddings in memory: `matrix` is float32, a row of length 1 for each conversation in `ids`."""

    ids: np.ndarray
    matrix: np.ndarray


class Near(NamedTuple):
    sha256: str
    similarity: float


def load_vectors(corpus: Corpus, model: str, user: str | None = None) -> Vectors:
    """All embeddings of a corpus, or those of one of its users, in no particular order."""
    values = {"corpus": corpus.pk, "model": model, "user": user}
    query = sql.SQL(COPY_OUT).format(**{name: sql.Literal(value) for name, value in values.items()})
    parts = list(_read_rows(query))
    if not parts:
        return Vectors(np.empty(0, "int64"), np.empty((0, DIMENSIONS), "float32"))
    ids, matrices = zip(*parts, strict=True)
    return Vectors(np.concatenate(ids), np.concatenate(matrices))


def _read_rows(query: sql.Composed) -> Iterator[Vectors]:
    """Ids and vectors have one length each, so the rows can be taken over as an array."""
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        waiting, first = bytearray(), HEADER_BYTES
        for block in copy:
            waiting += block
            if len(waiting) >= ROWS_AT_ONCE * ROW.itemsize:
                yield _as_vectors(waiting[first:])
                waiting, first = bytearray(), 0
        if len(waiting) - first >= ROW.itemsize:
            yield _as_vectors(waiting[first:])


def _as_vectors(written: bytearray) -> Vectors:
    rows = np.frombuffer(written, ROW, count=len(written) // ROW.itemsize)  # the last two bytes end the copy
    return Vectors(rows["id"].astype("int64"), rows["vector"].astype("float32"))


def rank(vectors: Vectors, questions: np.ndarray, number: int) -> list[list[tuple[int, float]]]:
    """For each question (a row of length 1) the `number` nearest, and those that tie with the last of them.

    Each is (id, cosine similarity), in no particular order.
    """
    number = min(number, len(vectors.ids))
    if not number:
        return [[] for _ in questions]
    found = []
    for start in range(0, len(questions), QUESTIONS_AT_ONCE):
        for similarities in questions[start : start + QUESTIONS_AT_ONCE] @ vectors.matrix.T:
            likely = np.flatnonzero(similarities >= _lower_bound(similarities, number) - TIE)
            edge = np.partition(similarities[likely], -number)[-number]
            places = likely[similarities[likely] >= edge - TIE]
            found.append(list(zip(vectors.ids[places].tolist(), similarities[places].tolist(), strict=True)))
    return found


def _lower_bound(similarities: np.ndarray, number: int) -> float:
    """What at least `number` of them reach, for a tenth of what choosing among all of them costs.

    Of groups of them, each has a largest; where `number` of these reach a value, so many similarities do.
    """
    groups = len(similarities) // GROUP
    if groups < number:
        return float("-inf")
    largest = similarities[: groups * GROUP].reshape(GROUP, groups).max(axis=0)
    return float(np.partition(largest, -number)[-number])


def nearest_to_many(
    corpus: Corpus, model: str, questions: np.ndarray, number: int, user: str | None = None
) -> list[list[Near]]:
    """For each question the `number` nearest conversations, nearest first; equal ones by their hash."""
    ranked = rank(load_vectors(corpus, model, user), questions, number)
    hashes = hashes_of({key for row in ranked for key, _ in row})
    return [_cut([Near(hashes[key], similarity) for key, similarity in row], number) for row in ranked]


def hashes_of(ids: set[int]) -> dict[int, str]:
    ordered, found = sorted(ids), {}
    for start in range(0, len(ordered), 10_000):
        rows = Conversation.objects.filter(pk__in=ordered[start : start + 10_000])
        found |= dict(rows.values_list("pk", "sha256"))
    return found


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
    vectors = load_vectors(corpus, model)
    if not len(vectors.ids):
        return None
    step = max(len(vectors.ids) // RECALL_QUESTIONS, 1)
    found = wanted = 0
    for question in vectors.matrix[::step][:RECALL_QUESTIONS]:
        exact = {near.sha256 for near in nearest(corpus, model, question, number)}
        found += len(exact & {near.sha256 for near in nearest(corpus, model, question, number, True)})
        wanted += len(exact)
    return found / wanted
