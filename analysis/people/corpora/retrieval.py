"""Embeddings as arrays, and the conversations nearest to a question: exact by default, or by an approximate index."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from django.db import connection, transaction
from psycopg import sql

from analysis.models import Corpus
from analysis.models.corpora import DIMENSIONS

NAME = np.dtype("S64")
KEY = np.dtype(">i8")
SENT = np.dtype([("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", (DIMENSIONS,))])  # by `vector_send`
# A piece comes as one long row, since each row costs time in PostgreSQL and here: keys and hashes of conversations,
# then keys and vectors of those that have one.
COPY_OUT = """
COPY (
  SELECT keys, hashes, found.*
  FROM (
    SELECT array_agg(id) AS ids, string_agg(int8send(id), '') AS keys, string_agg(rpad(sha256, 64)::bytea, '') AS hashes
    FROM (
      SELECT id, sha256, (row_number() OVER (ORDER BY id) - 1) / {at_once} AS piece
      FROM analysis_conversation
      WHERE corpus_id = {corpus} AND ({user}::text IS NULL OR "user" = {user})
        AND ({languages}::text[] IS NULL OR language = ANY ({languages}::text[]))
        AND ({toxic} OR (toxic IS NOT TRUE AND redacted IS NOT TRUE))
    ) AS numbered
    GROUP BY piece
  ) AS pieces, LATERAL (
    SELECT string_agg(int8send(conversation_id), ''), string_agg(vector_send(vector), '')
    FROM analysis_conversationvector WHERE conversation_id = ANY (ids) AND model = {model} HAVING count(*) > 0
  ) AS found
) TO STDOUT (FORMAT BINARY)
"""
SIGNATURE, HEADER_BYTES = b"PGCOPY", 19  # signature, flags, length of the header's extension
ROWS_AT_ONCE = 8192  # so that matrix products are few and large


class Scope(NamedTuple):
    """Which conversations of a corpus to search: by user, by language, with or without toxic and redacted ones."""

    user: str | None = None
    languages: Sequence[str] | None = None
    toxic: bool = True


WHOLE = Scope()


class Vectors(NamedTuple):
    """Embeddings in memory: `matrix` is float32, a row of length 1 for each conversation's hash."""

    hashes: np.ndarray
    matrix: np.ndarray


def read_vectors(corpus: Corpus, model: str, pool: Scope = WHOLE) -> Iterator[Vectors]:
    """Yield the embeddings of a corpus, or of a part of it, in pieces and in no particular order."""
    values = {"corpus": corpus.pk, "model": model, "at_once": ROWS_AT_ONCE, **pool._asdict()}
    query = sql.SQL(COPY_OUT).format(**{name: sql.Literal(value) for name, value in values.items()})
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for block in copy:
            fields = fields_of(block[HEADER_BYTES:] if block[: len(SIGNATURE)] == SIGNATURE else block)
            if fields:  # the end of the copy has none
                keys, names, found, vectors = map(np.frombuffer, fields, (KEY, NAME, KEY, SENT))
                order = np.argsort(keys)
                yield Vectors(names[order[np.searchsorted(keys, found, sorter=order)]], vectors["vector"].astype("f4"))


def fields_of(row: memoryview) -> list[memoryview]:
    """Cut a row of PostgreSQL's binary COPY: the number of fields, then each field's length and value."""
    fields, at = [], 2
    while at + 4 <= len(row):
        begin, size = at + 4, int.from_bytes(row[at : at + 4])
        fields.append(row[begin : (at := begin + size)])
    return fields


TIE = 1e-6  # similarities from the database that differ less are equal
RECALL_QUESTIONS = 50
EXACT = {"enable_indexscan": "off"}  # only such a scan reads the approximate index
APPROXIMATE = {
    "hnsw.ef_search": "400",
    "hnsw.iterative_scan": "strict_order",  # goes on until it has found enough of this corpus
    "enable_sort": "off",  # the index gives them in order
}
INDEX = "vectors_by_likeness"

Chosen = tuple[np.ndarray, np.ndarray, np.ndarray]  # question, vector (both by number), similarity

ROUNDING = 1e-6  # of a float32 product: similarities closer than this are compared again, exactly
EQUAL = 1e-9  # exact similarities that differ less are equal, so that no processor's rounding decides
FULL = 4  # times the wanted number: beyond it, vectors without a chance are dropped


class Near(NamedTuple):
    sha256: str
    similarity: float


def nearest_to_many(
    corpus: Corpus, model: str, questions: np.ndarray, number: int, pool: Scope = WHOLE
) -> list[list[Near]]:
    """For each question, the `number` nearest conversations, nearest first; equally near ones by hash."""
    # Read all of them first: numpy's threads would slow PostgreSQL down.
    pieces = list(read_vectors(corpus, model, pool))
    ranking = Ranking(questions, number)
    for piece in pieces:
        ranking.add(*piece)
    return [list(map(Near._make, row)) for row in ranking.best()]


def nearest(corpus: Corpus, model: str, question: np.ndarray, number: int, approximate: bool = False) -> list[Near]:
    """The `number` conversations nearest to one question, found in the database; equally near ones by hash.

    `approximate` uses the index of `build_index`, which may miss some; `measure_recall` says how many.
    """
    with planner_settings(APPROXIMATE if approximate else EXACT), connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.sha256, -(v.vector <#> %s::vector) FROM analysis_conversationvector v"
            " JOIN analysis_conversation c ON c.id = v.conversation_id"
            " WHERE c.corpus_id = %s AND v.model = %s ORDER BY v.vector <#> %s::vector, c.sha256 LIMIT %s",
            [literal := str(question.tolist()), corpus.pk, model, literal, number],
        )
        rows = [Near(*row) for row in cursor.fetchall()]
    return sorted(rows, key=lambda near: (-round(near.similarity / TIE), near.sha256))


@contextmanager
def planner_settings(settings: dict[str, str]) -> Iterator[None]:
    """Apply the settings to the queries inside, and reset them for the rest of a transaction around it."""
    with transaction.atomic(), connection.cursor() as cursor:
        for name, value in settings.items():
            cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
        yield
        for name in settings:
            cursor.execute("SELECT set_config(%s, NULL, true)", [name])


def build_index() -> None:
    """Build the approximate index over all embeddings (HNSW, by dot product: all vectors have length 1)."""
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


# --- the vectors most similar to each of many questions, chosen while they come in, piece by piece


class Ranking:
    """The `number` vectors most similar to each question; all vectors have length 1.

    A vector is kept if it reaches what `number` earlier ones have reached (the question's floor), so most are ruled
    out by one comparison and none is sorted before it is among the best.
    """

    def __init__(self, questions: np.ndarray, number: int) -> None:
        self.questions, self.number = questions, number
        self.floor: np.ndarray = np.full(len(questions), -np.inf, "float32")
        self.names: list[np.ndarray] = []
        self.matrices: list[np.ndarray] = []
        self.ends: list[int] = []
        self.chosen: list[Chosen] = []
        self.most = FULL * number * len(questions)

    def add(self, names: np.ndarray, matrix: np.ndarray) -> None:
        """Add vectors, a row for each name."""
        start = self.ends[-1] if self.ends else 0
        self.names.append(names)
        self.matrices.append(matrix)
        self.ends.append(start + len(matrix))
        similarities = self.questions @ matrix.T
        if not start and len(matrix) >= self.number:
            self.floor = np.partition(similarities, -self.number, axis=1)[:, -self.number] - ROUNDING
        found = np.flatnonzero((similarities >= self.floor[:, None]).ravel())
        asked, place = np.divmod(found, max(len(matrix), 1))
        self.chosen.append((asked, place + start, similarities.ravel()[found]))
        if sum(len(part[0]) for part in self.chosen) > self.most:
            self.prune()

    def prune(self) -> Chosen:
        """Raise each floor to its `number`-th best; return what is left, by question, most similar first."""
        asked, place, similarity = (np.concatenate(column) for column in zip(*self.chosen, strict=True))
        order = np.argsort(4.0 * asked - similarity)  # similarities lie between -1 and 1
        asked, place, similarity = asked[order], place[order], similarity[order]
        if self.ends[-1] >= self.number:
            last = np.searchsorted(asked, np.arange(len(self.questions))) + self.number - 1
            self.floor = similarity[last] - ROUNDING
        left = similarity >= self.floor[asked]
        kept = asked[left], place[left], similarity[left]
        self.chosen, self.most = [kept], FULL * max(len(kept[0]), 1)
        return kept

    def best(self) -> list[list[tuple[str, float]]]:
        """For each question, names and similarities, most similar first; equal ones by name."""
        if not self.ends:
            return [[] for _ in self.questions]
        asked, place, similarity = self.prune()
        similarity = self.measure_close_ones(asked, place, similarity.astype("float64"))
        names = np.concatenate(self.names)[place]
        order = np.lexsort((names, -np.round(similarity / EQUAL), asked))
        pairs = list(zip(names[order].astype("U").tolist(), similarity[order].tolist(), strict=True))
        starts = np.searchsorted(asked, np.arange(len(self.questions) + 1)).tolist()
        return [pairs[a : min(b, a + self.number)] for a, b in zip(starts, starts[1:], strict=False)]

    def measure_close_ones(self, asked: np.ndarray, place: np.ndarray, similarity: np.ndarray) -> np.ndarray:
        """Measure again, in double precision, neighbours that rounding could have put in the wrong order."""
        near = (np.diff(similarity) > -2 * ROUNDING) & (np.diff(asked) == 0)
        close = np.flatnonzero(np.append(near, False) | np.insert(near, 0, False))
        piece = np.searchsorted(self.ends, place[close], side="right")
        for number in np.unique(piece):
            rows = close[piece == number]
            matrix = self.matrices[number]
            vectors = matrix[place[rows] - (self.ends[number] - len(matrix))].astype("float64")
            similarity[rows] = np.einsum("ij,ij->i", self.questions[asked[rows]].astype("float64"), vectors)
        return similarity
