"""The conversations nearest to a question: exact by default, by an approximate index on request."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from django.db import connection, transaction

from analysis.corpora.ranking import Ranking
from analysis.corpora.vectors import load_vectors, read_vectors
from analysis.models import Corpus

TIE = 1e-6  # similarities from the database that differ less are equal
RECALL_QUESTIONS = 50
EXACT = {"enable_indexscan": "off"}  # the approximate index is only read by such a scan
APPROXIMATE = {
    "hnsw.ef_search": "400",
    "hnsw.iterative_scan": "strict_order",  # goes on until enough of what it finds is of this corpus
    "enable_sort": "off",  # the index gives them in order
}
INDEX = "vectors_by_likeness"


class Near(NamedTuple):
    sha256: str
    similarity: float


def nearest_to_many(
    corpus: Corpus, model: str, questions: np.ndarray, number: int, user: str | None = None
) -> list[list[Near]]:
    """For each question the `number` nearest conversations, nearest first; equal ones by their hash."""
    # First all of them: numpy's threads would slow PostgreSQL down.
    pieces = load_vectors(corpus, model) if user is None else list(read_vectors(corpus, model, user))
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
    matrices = [piece.matrix for piece in load_vectors(corpus, model)]
    if not matrices:
        return None
    matrix = np.concatenate(matrices)
    found = wanted = 0
    for question in matrix[:: max(len(matrix) // RECALL_QUESTIONS, 1)][:RECALL_QUESTIONS]:
        exact = {near.sha256 for near in nearest(corpus, model, question, number)}
        found += len(exact & {near.sha256 for near in nearest(corpus, model, question, number, True)})
        wanted += len(exact)
    return found / wanted
