"""Merges attributes of one user that say the same into clusters, each with its representative and confidence."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from django.db import connection, reset_queries, transaction
from django.db.models import Count, Q

from analysis.models import Attribute, Corpus, CorpusStep, CorpusUser
from analysis.people.attributes import LEAST_CONFIDENCE, Person, embed_attributes, in_pieces, read_vectors
from analysis.people.conflicts import CONFLICT_RULE, KINDS, conflict_matrix, conflicts_among
from analysis.people.corpora.embeddings import Embedder
from analysis.people.funnel import take_sample_back
from analysis.people.steps import ACTOR, NAMES, PeopleError, Show, require_whole, step_of
from analysis.stats.diversity import CONFIDENCE_RULE, clusters_of

SIMILARITY = 0.7
USERS = "users"
MOST = 10_000  # attributes of one user: 50 million distances

MARK = """
UPDATE analysis_attribute a
SET left_out_by = m.left_out_by, merged_into_id = NULL, cluster_size = NULL, cluster_confidence = NULL
FROM (
  SELECT a.id, u.left_out_by <> '' AS gone, CASE
    WHEN a.confidence < %(least)s THEN 'confidence'
    WHEN %(without_sensitive)s AND a.sensitive <> '[]' THEN 'sensitive' ELSE '' END AS left_out_by
  FROM analysis_attribute a JOIN analysis_corpususer u ON u.id = a.user_id WHERE u.corpus_id = %(corpus)s
) m
WHERE a.id = m.id
  AND (a.left_out_by <> m.left_out_by OR gone AND a.merged_into_id IS NOT NULL)
"""
ATTRIBUTES = """
SELECT a.user_id, a.id, a.sha256, a.confidence, a.text, coalesce(a.conversation_id::text, 'elsewhere ' || a.place)
FROM analysis_attribute a JOIN analysis_corpususer u ON u.id = a.user_id
WHERE u.corpus_id = %s AND u.left_out_by = '' AND a.left_out_by = '' AND a.user_id = ANY(%s)
ORDER BY a.user_id, a.id
"""
STORE = """
UPDATE analysis_attribute a
SET merged_into_id = m.into_id, cluster_size = m.size, cluster_confidence = m.confidence
FROM unnest(%s::bigint[], %s::bigint[], %s::int[], %s::float8[]) m(id, into_id, size, confidence)
WHERE a.id = m.id
  AND (a.merged_into_id, a.cluster_size, a.cluster_confidence) IS DISTINCT FROM (m.into_id, m.size, m.confidence)
"""


def merge_attributes(
    corpus: Corpus,
    embedder: Embedder,
    similarity: float = SIMILARITY,
    least: float = LEAST_CONFIDENCE,
    without_sensitive: bool = False,
    show: Show = lambda share, number: None,
    actor: str = ACTOR,
) -> dict[str, Any]:
    """Merge the attributes of each kept user, and return the report.

    Two clusters are joined while their members' mean cosine similarity is at least `similarity`, unless they contradict
    each other. Raises PeopleError, EmbeddingError.
    """
    _check(corpus, similarity, least)
    settings = {
        **{"similarity": similarity, "least_confidence": least, "without_sensitive": without_sensitive},
        **{"model": embedder.name, "confidence_rule": CONFIDENCE_RULE, "conflict_rule": CONFLICT_RULE},
    }
    with step_of(corpus, NAMES.MERGE, settings, actor) as step:
        take_sample_back(corpus)
        with connection.cursor() as cursor:
            cursor.execute(MARK, {"corpus": corpus.pk, "least": least, "without_sensitive": without_sensitive})
        users = _users(corpus)
        if large := next((user for user in users if user[2] > MOST), None):
            raise PeopleError(
                f"User {large[1]} has {large[2]:,} attributes, and at most {MOST:,} of one user can be merged. "
                "Raise --least-confidence, or leave the user out."
            )

        def advance(share: float, number: int) -> None:
            step.show(share)
            show(share, number)

        embedded = embed_attributes(corpus, embedder, lambda share, number: advance(share / 2, 0))
        total, done, merged = sum(n for *_, n in users), 0, 0
        conflicts: Counter[str] = Counter()
        for piece in in_pieces(users):
            chosen = [number for number, _, _ in piece]
            number, clusters = _merge(corpus, chosen, embedder.name, similarity, conflicts)
            done, merged = done + number, merged + clusters
            reset_queries()
            advance(0.5 + done / max(total, 1) / 2, done)
        step.report = {
            **{"corpus": corpus.name, "attributes": done, "merged": merged, "users": len(users)},
            **{"similarity": similarity, "least_confidence": least, "model": embedder.name, "embedded": embedded},
            **{"left_out": _left_out(corpus), "confidence_rule": CONFIDENCE_RULE, "conflict_rule": CONFLICT_RULE},
            **{"conflicts": {kind: conflicts[kind] for kind in KINDS}, "conflicting_users": conflicts[USERS]},
        }
    return step.report


def _check(corpus: Corpus, similarity: float, least: float) -> None:
    require_whole(corpus, NAMES.FILTER, "The funnel")
    if not 0 < similarity < 1:
        raise PeopleError(f"The similarity is {similarity:g}; it must lie between 0 and 1, such as {SIMILARITY}.")
    if not 0 <= least <= 1:
        raise PeopleError(f"The least confidence is {least:g}; it must be from 0 to 1.")
    if not Attribute.objects.filter(user__corpus=corpus).exists():
        raise PeopleError(f"{corpus.name} has no attributes yet. Extract some, or import them: import_attributes.")


def _users(corpus: Corpus) -> list[Person]:
    counted = corpus.users.filter(left_out_by="").annotate(n=Count("attributes", filter=Q(attributes__left_out_by="")))
    return list(counted.filter(n__gt=0).order_by("id").values_list("id", "key", "n"))


def _merge(corpus: Corpus, users: list[int], model: str, similarity: float, conflicts: Counter[str]) -> tuple[int, int]:
    """Merge a piece and count conflicts between its clusters; return the numbers of attributes and of clusters."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ATTRIBUTES, [corpus.pk, users])
        rows = cursor.fetchall()
        vectors = read_vectors([sha256 for _, _, sha256, *_ in rows], model)
        found: list[tuple[int, int, int | None, float | None]] = []
        number = at = 0
        for _, group in groupby(rows, key=lambda row: row[0]):
            own = list(group)
            number += _merge_one(own, vectors[at : at + len(own)], similarity, found, conflicts)
            at += len(own)
        cursor.execute(STORE, [list(column) for column in zip(*found, strict=True)])
    return len(rows), number


def _merge_one(
    rows: list[tuple], vectors: np.ndarray, similarity: float, found: list[tuple], conflicts: Counter[str]
) -> int:
    """Note in `found` where each attribute goes, with the cluster's size and confidence; return how many clusters."""
    texts = [row[4] for row in rows]

    def apart(places: Sequence[int]) -> np.ndarray:
        return conflict_matrix([texts[place] for place in places])

    clusters = clusters_of(vectors, [row[3] for row in rows], [row[5] for row in rows], similarity, apart)
    heads = [cluster.representative for cluster in clusters]
    between = conflicts_among([texts[head] for head in heads], vectors[heads], similarity)
    conflicts.update(kind for _, _, kind in between)
    conflicts[USERS] += bool(between)
    for cluster in clusters:
        into = rows[cluster.representative][1]
        for member in cluster.members:
            itself = member == cluster.representative
            whole = (len(cluster.members), cluster.confidence) if itself else (None, None)
            found.append((rows[member][1], into, *whole))
    return len(clusters)


def conflicts_of(user: CorpusUser, heads: Sequence[Attribute]) -> dict[int, list[Attribute]]:
    """By the id of a merged attribute, the others that contradict it and are near enough to merge with it."""
    merge = CorpusStep.objects.filter(corpus=user.corpus_id, name=NAMES.MERGE).first()
    heads = [row for row in heads if row.cluster_size is not None]
    found: dict[int, list[Attribute]] = {}
    if merge is None or len(heads) < 2:
        return found
    try:
        vectors = read_vectors([row.sha256 for row in heads], merge.settings["model"])
    except KeyError:  # such as while it is merged anew with another model
        return found
    for one, other, _ in conflicts_among([row.text for row in heads], vectors, merge.settings["similarity"]):
        found.setdefault(heads[one].pk, []).append(heads[other])
        found.setdefault(heads[other].pk, []).append(heads[one])
    return found


def _left_out(corpus: Corpus) -> dict[str, int]:
    """How many attributes of kept users are left out, by reason."""
    rows = Attribute.objects.filter(user__corpus=corpus, user__left_out_by="").exclude(left_out_by="")
    return dict(rows.order_by().values_list("left_out_by").annotate(n=Count("id")))
