"""Profiles for simulated users: a persona and sentences, drawn by seed."""

from collections.abc import Sequence
from typing import NamedTuple

from analysis.models import Persona, PersonaSet
from analysis.stats.seeded_sampling import draw, generator

SENTENCES = 5  # drawn when the sentences stand alone; a group of one person's sentences is used as it is


class Pools(NamedTuple):
    """The hashes of a set's rows, sorted, by what they give."""

    descriptions: list[str]  # rows with a description
    groups: list[str]  # several sentences of one person
    sentences: list[str]  # single sentences


def pools_of(personas: PersonaSet) -> Pools:
    pools = Pools([], [], [])
    rows = personas.personas.order_by("sha256").values_list("sha256", "description", "sentences")
    for sha256, description, sentences in rows.iterator():
        pool = pools.descriptions if description else pools.groups if len(sentences) > 1 else pools.sentences
        pool.append(sha256)
    return pools


def draw_profiles(pools: Pools, seed: int, number: int) -> list[list[str]]:
    """For each of the first `number` users the hashes of the rows that make up the profile.

    Nobody gets a persona that another one has until all are used; a larger `number` changes no profile.
    """
    people = pools.descriptions or pools.groups
    extra = pools.groups if pools.descriptions else []
    main = _dealt(people, seed, "persona", number)
    more = _dealt(extra, seed, "sentences", number)
    singles = [] if extra or (people and not pools.descriptions) else pools.sentences
    return [[*main[index], *more[index], *_single_sentences(singles, seed, index)] for index in range(number)]


def _dealt(pool: Sequence[str], seed: int, what: str, number: int) -> list[list[str]]:
    """One row for each user: the pool shuffled by seed, and shuffled anew whenever it is used up."""
    dealt: list[str] = []
    while pool and len(dealt) < number:
        dealt += draw(pool, len(pool), generator(seed, what, len(dealt) // len(pool)))
    return [[row] for row in dealt[:number]] if pool else [[] for _ in range(number)]


def _single_sentences(pool: Sequence[str], seed: int, index: int) -> list[str]:
    return draw(pool, min(SENTENCES, len(pool)), generator(seed, index, "single sentences"))


def rows_of(personas: PersonaSet, hashes: Sequence[str]) -> list[Persona]:
    """The rows in the order of their hashes, as far as they are there."""
    found = {row.sha256: row for row in personas.personas.filter(sha256__in=hashes)}
    return [found[sha256] for sha256 in hashes if sha256 in found]


def profile_of(rows: Sequence[Persona]) -> str:
    """The system message that describes the user; docs/corpora.md shows it."""
    parts = [f"Profile of the user:\n{row.description}" for row in rows if row.description]
    sentences = [f"- {sentence}" for row in rows for sentence in row.sentences]
    if sentences:
        parts.append("\n".join(["What the user says about themselves:", *sentences]))
    return "\n\n".join(parts)
