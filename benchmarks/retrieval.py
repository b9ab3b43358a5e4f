"""Time to find the 100 nearest of 100,000 conversations for 514 questions: `python -m benchmarks.retrieval [--index]`.

The vectors are random, of length 1, in a temporary database of their own. The yardstick is a plain numpy product over
the same vectors, already in memory.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator

import django
import numpy as np
from django.core.management import call_command
from django.db import connection

from benchmarks.goals import ROWS, Goal
from benchmarks.server import copy_tables, services_folder
from fieldstudy.embedded import servers

MOST = 4.5  # times the product alone; why: retrieval.md
WIDTH, NEAREST, MODEL = 384, 100, "made-up"
CHUNK = 5_000
SAMPLE_QUESTIONS = 20

CONVERSATIONS = """
INSERT INTO analysis_conversation
  (corpus_id, sha256, source_id, "user", language, turns, characters, messages)
SELECT %s, encode(sha256(n::text::bytea), 'hex'), '', '', '', 5, 1, '[]' FROM generate_series(1, %s) AS n
RETURNING id
"""
VECTORS = "COPY analysis_conversationvector (conversation_id, model, vector) FROM STDIN (FORMAT BINARY)"
HEADER, END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
ROW = np.dtype(
    [
        *(("fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("model_bytes", ">i4")),
        *(("model", f"S{len(MODEL)}"), ("vector_bytes", ">i4"), ("dimensions", ">i2"), ("unused", ">i2")),
        ("vector", ">f4", (WIDTH,)),
    ]
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=514)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--index", action="store_true", help="also the approximate index")
    measure(parser.parse_args())


def goals(quick: bool) -> list[Goal]:
    conversations, rounds = (10_000, 2) if quick else (100_000, 9)
    ratio = measure(argparse.Namespace(conversations=conversations, questions=514, rounds=rounds, index=False))
    return [Goal(ROWS["retrieval"][0], ratio, MOST, "×")]


def measure(options: argparse.Namespace) -> float:
    """Return how many times as long retrieval takes as the product alone."""
    with services_folder() as folder:
        os.environ |= {"FIELDSTUDY_FSYNC": "off", "DJANGO_SETTINGS_MODULE": "fieldstudy.settings"}
        copy_tables(folder)
        servers.attach()
        django.setup()
        call_command("migrate", verbosity=0)
        ratio = compare(options)
        connection.close()
        return ratio


def compare(options: argparse.Namespace) -> float:
    from analysis.models import Corpus
    from analysis.people.corpora import retrieval

    matrix = unit_vectors(options.conversations, seed=1)
    questions = unit_vectors(options.questions, seed=2)
    corpus = Corpus.objects.create(name="benchmark", format="wildchat")
    seconds, _ = take_time(lambda: fill(corpus.pk, matrix))
    print(f"{options.conversations:,} conversations with vectors written in {seconds:.1f} s")

    def find() -> list:
        return retrieval.nearest_to_many(corpus, MODEL, questions, NEAREST)

    expected = plain_product(matrix, questions)
    check_same(expected, find(), matrix, questions)
    works = {
        "the product alone": lambda: questions @ matrix.T,
        "product and choice": lambda: plain_product(matrix, questions),
        "ours": find,
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.rounds):  # in turns, so that other work on this computer disturbs all alike
        for name, work in works.items():
            times[name].append(take_time(work)[0])
    for name, seconds_of in times.items():
        print(f"{name:28} median {statistics.median(seconds_of):6.2f} s  {rounded(seconds_of)}")
    beside = {}
    for other in ("the product alone", "product and choice"):
        ratios = sorted(mine / theirs for mine, theirs in zip(times["ours"], times[other], strict=True))
        beside[other] = statistics.median(ratios)
        print(f"ours, beside {other}: median {beside[other]:.2f} times  {rounded(ratios)}")
    for name, approximate in {"exact": False, **({"approximate": True} if options.index else {})}.items():
        if approximate:
            seconds, _ = take_time(retrieval.build_index)
            print(f"index built in {seconds:.0f} s")
        times = [
            take_time(lambda q=question, a=approximate: retrieval.nearest(corpus, MODEL, q, NEAREST, a))[0]
            for question in questions[:SAMPLE_QUESTIONS]
        ]
        print(f"one question in PostgreSQL, {name}: median {statistics.median(times) * 1000:.0f} ms")
    if options.index:
        print(f"recall@{NEAREST} of the index: {retrieval.measure_recall(corpus, MODEL, NEAREST):.1%}")
    return beside["the product alone"]


def fill(corpus: int, matrix: np.ndarray) -> None:
    with connection.cursor() as cursor:
        cursor.execute(CONVERSATIONS, [corpus, len(matrix)])
        keys = [key for (key,) in cursor.fetchall()]
        with cursor.copy(VECTORS) as copy:
            copy.write(HEADER)
            for start in range(0, len(keys), CHUNK):
                copy.write(as_copied(keys[start : start + CHUNK], matrix[start : start + CHUNK]))
            copy.write(END)
        cursor.execute("ANALYZE analysis_conversation, analysis_conversationvector")


def as_copied(keys: list[int], matrix: np.ndarray) -> bytes:
    rows = np.zeros(len(keys), ROW)
    rows["fields"], rows["model"] = 3, MODEL.encode()
    rows["id_bytes"], rows["model_bytes"], rows["vector_bytes"] = 8, len(MODEL), 4 + 4 * WIDTH
    rows["dimensions"], rows["id"], rows["vector"] = WIDTH, keys, matrix
    return rows.tobytes()


def unit_vectors(number: int, seed: int) -> np.ndarray:
    return np.concatenate(list(_unit_vectors(number, np.random.default_rng(seed))))


def _unit_vectors(number: int, dice: np.random.Generator) -> Iterator[np.ndarray]:
    for start in range(0, number, CHUNK):
        drawn = dice.standard_normal((min(CHUNK, number - start), WIDTH), "float32")
        yield drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def plain_product(matrix: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Return, as a yardstick, the places of each question's nearest, in order."""
    similarities = questions @ matrix.T
    places = np.argpartition(-similarities, NEAREST, axis=1)[:, :NEAREST]
    near = np.take_along_axis(similarities, places, axis=1)
    return np.take_along_axis(places, np.argsort(-near, axis=1), axis=1)


def check_same(expected: np.ndarray, found: list, matrix: np.ndarray, questions: np.ndarray) -> None:
    """Check that both found the same similarities; keys cannot be compared, since the database gives its own."""
    for places, near, question in zip(expected, found, questions, strict=True):
        assert np.allclose(matrix[places] @ question, [one.similarity for one in near], atol=1e-5)


def take_time(work: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def rounded(seconds: list[float]) -> str:
    return " ".join(f"{second:.2f}" for second in seconds)


if __name__ == "__main__":
    main()
