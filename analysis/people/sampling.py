"""Draws a sample of people, spread as far as possible from specialists to generalists, and measures their diversity."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from django.db import connection, reset_queries, transaction

from analysis.models import Attribute, Corpus, CorpusStep
from analysis.people.attributes import Person, in_pieces, read_vectors
from analysis.people.corpora.seeded_sampling import draw, generator
from analysis.people.funnel import take_sample_back
from analysis.people.steps import (
    ACTOR,
    NAMES,
    PeopleBusy,
    PeopleError,
    Show,
    report_of,
    require_merged,
    say_busy,
    step_of,
)
from analysis.stats.diversity import (
    BANDS,
    distance_between,
    distance_within,
    equal_bands,
    farthest_points,
    mean_distance,
    shares_of,
    unit_rows,
)
from surveys.models import locks
from surveys.studies.wording import plural

SIZE = 5_000
NAME = re.compile(r"[-a-zA-Z0-9_]{1,30}")

COUNTS = """
SELECT u.id, u.key, count(*) FROM analysis_corpususer u JOIN analysis_attribute a ON a.user_id = u.id
WHERE u.corpus_id = %s AND u.left_out_by = '' AND a.merged_into_id = a.id GROUP BY u.id ORDER BY u.key
"""
TEXTS = """
SELECT user_id, sha256 FROM analysis_attribute
WHERE user_id = ANY(%s) AND merged_into_id = id ORDER BY array_position(%s, user_id), sha256
"""
STORE = """
UPDATE analysis_corpususer u SET generalist = m.generalist, band = m.band, place = m.place
FROM unnest(%s::bigint[], %s::float8[], %s::smallint[], %s::int[]) m(id, generalist, band, place) WHERE u.id = m.id
"""


class Pool(NamedTuple):
    """Users with at least one merged attribute, in the order of their keys."""

    ids: list[int]
    keys: list[str]
    sizes: np.ndarray  # merged attributes per person
    sums: np.ndarray  # float32, (people, dimensions): the sum of their vectors
    within: np.ndarray  # mean distance between a person's own; NaN with fewer than two
    scores: np.ndarray  # the generalist score: the same over a part of them, so that all can be as wide

    def part(self, places: np.ndarray) -> "Pool":
        ids, keys = ([values[place] for place in places] for values in (self.ids, self.keys))
        return Pool(ids, keys, self.sizes[places], self.sums[places], self.within[places], self.scores[places])


def sample_users(
    corpus: Corpus, size: int = SIZE, seed: int = 0, show: Show = lambda share, number: None, actor: str = ACTOR
) -> dict[str, Any]:
    """Choose `size` users, or all if there are fewer, and return the report. Raises PeopleError.

    Users with fewer than two merged attributes have no generalist score and can't be chosen.
    """
    merged = corpus.steps.filter(name=NAMES.MERGE).first()
    if size < 1:
        raise PeopleError("The sample needs at least one user.")
    if merged is None:
        raise PeopleError(f"The attributes of {corpus.name} are not merged yet: people {corpus.name} merge.")
    require_merged(corpus)
    later = Attribute.objects.filter(user__corpus=corpus, user__left_out_by="", left_out_by="", merged_into=None)
    if number := later.count():
        raise PeopleError(
            f"{plural(number, 'attribute')} of {corpus.name} came after the last merge: people {corpus.name} merge."
        )
    settings, beside = {"size": size, "seed": seed}, report_of(corpus, NAMES.SAMPLE).get("samples", {})
    with step_of(corpus, NAMES.SAMPLE, settings, actor) as step:

        def advance(share: float, number: int) -> None:
            step.show(share / 2)
            show(share, number)

        pool = read_pool(corpus, merged.settings["model"], seed, advance)
        eligible = pool.part(np.flatnonzero(~np.isnan(pool.scores)))
        bands, chosen = choose(eligible, size)
        _store(corpus, eligible, bands, chosen)
        step.report = {
            **{"corpus": corpus.name, "users": len(pool.ids), "eligible": len(eligible.ids), "seed": seed},
            **{"chosen": len(chosen), "diversity": diversity(pool, seed)},
            **{"diversity_chosen": diversity(eligible.part(np.array(chosen, np.intp)), seed)},
            **{"bands": _bands(eligible, bands, chosen), "model": merged.settings["model"]},
            **{"similarity": merged.settings["similarity"], "samples": beside},
        }
    return step.report | {"chosen_users": [eligible.keys[place] for place in chosen]}


class SampleDraw(NamedTuple):
    """How to draw a further sample: by which rule, from all who can be chosen or from the sampled ones."""

    size: int
    by: str = "farthest"
    of: str = "all"
    seed: int = 0


RULES = ("farthest", "random")
POOLS = ("all", "sampled")


def sample_beside(
    corpus: Corpus, name: str, how: SampleDraw, show: Show = lambda share, number: None
) -> dict[str, Any]:
    """Draw a further sample, keep it by its name beside the studied one, and return its report.

    It is removed with the sample when users are filtered or attributes merged again. Raises PeopleError.
    """
    step = corpus.steps.filter(name=NAMES.SAMPLE, state=CorpusStep.State.DONE).first()
    if step is None:
        raise PeopleError(f"{corpus.name} has no sample beside which another could stand: people {corpus.name} sample.")
    if not NAME.fullmatch(name):
        raise PeopleError(f"{name!r} names no sample: take up to 30 letters, digits, - and _.")
    if how.size < 1:
        raise PeopleError("The sample needs at least one user.")
    require_merged(corpus)
    with locks.alone("people", corpus.pk) as is_mine:
        if not is_mine:
            raise PeopleBusy(say_busy(corpus))
        pool = read_pool(corpus, step.report["model"], how.seed, show)
        eligible = pool.part(np.flatnonzero(~np.isnan(pool.scores)))
        if how.of == "sampled":
            sampled = set(corpus.users.filter(place__isnull=False).values_list("key", flat=True))
            eligible = eligible.part(np.array([at for at, key in enumerate(eligible.keys) if key in sampled], np.intp))
        chosen = choose(eligible, how.size)[1] if how.by == "farthest" else draw_random(eligible, how)
        found = {**how._asdict(), "chosen": len(chosen), "eligible": len(eligible.keys), "drawn_by": ACTOR}
        found["diversity"] = diversity(eligible.part(np.array(chosen, np.intp)), how.seed)
        kept = found | {"keys": [eligible.keys[place] for place in chosen]}
        with transaction.atomic():
            row = CorpusStep.objects.select_for_update().get(pk=step.pk)
            row.report["samples"] = row.report.get("samples", {}) | {name: kept}
            row.save(update_fields=["report"])
    return {"corpus": corpus.name, "name": name, **found, "chosen_users": kept["keys"]}


def draw_random(pool: Pool, how: SampleDraw) -> list[int]:
    """Draw `how.size` users, or all if there are fewer, each with the same chance; in the order of their keys."""
    return sorted(draw(range(len(pool.keys)), min(how.size, len(pool.keys)), generator(str(how.seed), "sample")))


def read_pool(corpus: Corpus, model: str, seed: int, show: Show) -> Pool:
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, [corpus.pk])
        people = cursor.fetchall()
    if not people:
        raise PeopleError(f"No user of {corpus.name} who passed the filters has a merged attribute.")
    sizes = np.array([n for _, _, n in people])
    part = max(int(np.median(sizes)), 2)
    sums, within, scores, done = [], [], [], 0
    for piece in in_pieces(people):
        for key, vectors in _vectors(piece, model):
            sums.append(vectors.sum(axis=0))
            within.append(own_distance(vectors))
            scores.append(own_distance(drawn_part(vectors, part, f"{seed} {key}")))
        done += len(piece)
        reset_queries()
        show(done / len(people), done)
    ids, keys = [number for number, _, _ in people], [key for _, key, _ in people]
    return Pool(ids, keys, sizes, np.stack(sums), np.array(within), np.array(scores))


def _vectors(people: list[Person], model: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each person's key and vectors, in an order that does not depend on the database."""
    keys = {number: key for number, key, _ in people}
    with connection.cursor() as cursor:
        cursor.execute(TEXTS, [list(keys), list(keys)])
        rows = cursor.fetchall()
    vectors, at = read_vectors([sha256 for _, sha256 in rows], model), 0
    for number, group in groupby(rows, key=lambda row: row[0]):
        n = len(list(group))
        yield keys[number], vectors[at : at + n]
        at += n


def drawn_part(vectors: np.ndarray, most: int, seed: str) -> np.ndarray:
    if len(vectors) <= most:
        return vectors
    return vectors[sorted(draw(range(len(vectors)), most, generator(seed, "generalist")))]


def own_distance(vectors: np.ndarray) -> float:
    value = mean_distance(vectors)
    return np.nan if value is None else value


def choose(pool: Pool, size: int) -> tuple[np.ndarray, list[int]]:
    """Return each user's band, from 0, and the indices of the chosen users, by band and in the order of choice."""
    bands = equal_bands(pool.scores)
    slots = shares_of(size, [int((bands == band).sum()) for band in range(BANDS)])
    means = unit_rows(pool.sums)
    chosen: list[int] = []
    for band, number in enumerate(slots):
        own = np.flatnonzero(bands == band)
        chosen += own[farthest_points(means[own], number)].tolist()
    return bands, chosen


def diversity(pool: Pool, seed: int) -> dict[str, Any]:
    """Mean distances with intervals over users: between two users' attributes, between centroids, and within users."""
    return {
        "between_users": asdict(distance_between(pool.sums, pool.sizes, seed)),
        "between_centroids": asdict(distance_between(unit_rows(pool.sums), np.ones(len(pool.ids), int), seed)),
        "within_users": asdict(distance_within(pool.within, seed)),
    }


def _bands(pool: Pool, bands: np.ndarray, chosen: list[int]) -> list[dict[str, Any]]:
    taken = np.bincount(bands[chosen], minlength=BANDS) if chosen else np.zeros(BANDS, int)
    return [
        {
            "band": band + 1,
            "users": len(scores),
            "chosen": int(taken[band]),
            "from": float(scores.min()) if len(scores) else None,
            "to": float(scores.max()) if len(scores) else None,
        }
        for band in range(BANDS)
        for scores in [pool.scores[bands == band]]
    ]


def _store(corpus: Corpus, pool: Pool, bands: np.ndarray, chosen: list[int]) -> None:
    place = {number: at for at, number in enumerate(chosen, 1)}
    columns = [
        pool.ids,
        pool.scores.tolist(),
        (bands + 1).tolist(),
        [place.get(number) for number in range(len(pool.ids))],
    ]
    with transaction.atomic():
        take_sample_back(corpus)
        with connection.cursor() as cursor:
            cursor.execute(STORE, columns)
