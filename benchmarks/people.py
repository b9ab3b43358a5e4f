"""Time and memory from simulated histories to a sample, beside numpy and scipy alone: `python -m benchmarks.people`.

    python -m benchmarks.people [--users 16573] [--conversations 4] [--attributes 10] [--size 5000] [--json]

The histories are made inside a temporary database of its own, so that the memory measured is that of filter, merge and
sample. Attributes are drawn from a thousand sentences with random vectors: embedding is the model's time and is not
measured. The limit is the same merging and sampling of vectors already in memory, with nothing read or stored: linkage,
representatives, scores, bands, farthest points and the intervals of the three distances.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import django
import numpy as np
from django.core.management import call_command

from benchmarks.server import services_folder
from fieldstudy.embedded import servers

SENTENCES, DIMENSIONS, TURNS = 1_000, 384, 6
CONVERSATIONS = """
INSERT INTO analysis_conversation (corpus_id, sha256, source_id, "user", language, turns, characters, messages)
SELECT %s, encode(sha256(('c' || u || '-' || c)::bytea), 'hex'), u || '-' || c, 'user' || lpad(u::text, 6, '0'),
  'English', %s, 9000, (
    SELECT jsonb_agg(m) FROM generate_series(1, %s) t, LATERAL (VALUES
      (jsonb_build_object('role', 'user', 'content', concat_ws(' ', u, c, t, repeat(md5(concat_ws('-', u, c, t)), 6)))),
      (jsonb_build_object('role', 'assistant', 'content', repeat(md5('r' || u || c || t), 40)))) v(m))
FROM generate_series(1, %s) u, generate_series(1, %s) c
"""
USERS = """
INSERT INTO analysis_corpususer (corpus_id, key, conversations, messages, verdicts, left_out_by)
SELECT %s, 'user' || lpad(u::text, 6, '0'), 0, 0, '{}', '' FROM generate_series(1, %s) u
"""
ATTRIBUTES = """
INSERT INTO analysis_attribute
  (user_id, place, text, sha256, confidence, reasoning, evidence, sensitive, generator, left_out_by, created_at)
SELECT u.id, n::text, 'sentence ' || s, encode(sha256(('sentence ' || s)::bytea), 'hex'),
  0.4 + 0.6 * (hashtext(u.key || n) & 1023) / 1023.0, '', '[]', '[]', '', '', now()
FROM analysis_corpususer u, generate_series(1, %s) n,
  LATERAL (SELECT (hashtext(u.key || '-' || n) & 1048575) %% %s) k(s)
WHERE u.corpus_id = %s
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=16_573)
    parser.add_argument("--conversations", type=int, default=4, help="of each user")
    parser.add_argument("--attributes", type=int, default=10, help="of each user")
    parser.add_argument("--size", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with services_folder():
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
        servers.attach()
        django.setup()
        call_command("migrate", verbosity=0)
        found = measure(options)
    print(json.dumps(found) if options.json else "\n".join(f"{name:24} {value}" for name, value in found.items()))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from analysis.models import Corpus
    from analysis.people.corpora.embeddings import Embedder
    from analysis.people.funnel import FilterSettings, filter_users
    from analysis.people.merging import merge_attributes
    from analysis.people.sampling import sample_users

    corpus = Corpus.objects.create(name="simulated", format="wildchat")
    fill(corpus.pk, options)
    vectors = draw_vectors()
    embedder = Embedder("drawn", lambda texts: np.stack([vectors[int(text.split()[1])] for text in texts]))
    before = peak_mb()
    seconds = {"filter_s": clock(lambda: filter_users(corpus, FilterSettings()))}
    filtered = peak_mb()
    seconds |= {
        "merge_s": clock(lambda: merge_attributes(corpus, embedder)),
        "sample_s": clock(lambda: sample_users(corpus, options.size)),
    }
    sampled = peak_mb()
    limit = clock(lambda: alone(corpus.pk, vectors, options.size))
    return {
        "users": options.users,
        "conversations": options.users * options.conversations,
        "attributes": options.users * options.attributes,
        **{name: round(value, 1) for name, value in seconds.items()},
        "all_s": round(sum(seconds.values()), 1),
        "numpy_alone_s": round(limit, 1),
        "merge_and_sample_ratio": round((seconds["merge_s"] + seconds["sample_s"]) / limit, 1),
        "peak_mb_before": before,
        "peak_mb_filter": filtered,
        "peak_mb": sampled,
    }


def fill(corpus: int, options: argparse.Namespace) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(CONVERSATIONS, [corpus, TURNS, TURNS, options.users, options.conversations])
        cursor.execute(USERS, [corpus, options.users])
        cursor.execute(ATTRIBUTES, [options.attributes, SENTENCES, corpus])
        cursor.execute("ANALYZE")


def draw_vectors() -> np.ndarray:
    """Draw vectors of sentences with a mean similarity of a fifth, as sentences about people have."""
    drawn = np.random.default_rng(0).normal(size=(SENTENCES, DIMENSIONS))
    drawn[:, 0] += np.sqrt(DIMENSIONS) / 2
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype("float32")


def alone(corpus: int, vectors: np.ndarray, size: int) -> None:
    """Merge and sample by numpy and scipy alone, with all vectors in memory."""
    from analysis.people.sampling import BANDS
    from analysis.stats import diversity
    from analysis.stats.diversity import clusters_of

    sums, scores, sizes = [], [], []
    for places, confidences in rows_of(corpus):
        own = vectors[places]
        heads = own[[cluster.representative for cluster in clusters_of(own, confidences, range(len(own)), 0.7)]]
        sums.append(heads.sum(axis=0))
        sizes.append(len(heads))
        scores.append(diversity.mean_distance(heads) or 0.0)
    whole, counts = np.stack(sums), np.array(sizes)
    bands, means = diversity.equal_bands(np.array(scores)), diversity.unit_rows(whole)
    slots = diversity.shares_of(size, np.bincount(bands, minlength=BANDS).tolist())
    for band, number in enumerate(slots):
        diversity.farthest_points(means[bands == band], number)
    for _ in ("all", "chosen"):
        diversity.distance_between(whole, counts)
        diversity.distance_between(means, np.ones(len(means), int))
        diversity.distance_within(np.array(scores))


def rows_of(corpus: int) -> Any:
    """Yield each user's sentences, by number, and confidences."""
    from itertools import groupby

    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT user_id, substr(text, 10)::int, confidence FROM analysis_attribute ORDER BY user_id, id")
        rows = cursor.fetchall()
    for _, group in groupby(rows, key=lambda row: row[0]):
        own = list(group)
        yield [place for _, place, _ in own], [confidence for _, _, confidence in own]


def clock(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def peak_mb() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
