"""SP-Memory: in front of each prompt, the attributes of a corpus user that matter most for it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from analysis.models import Attribute, Corpus, CorpusStep, Run
from analysis.models.conditions import ConditionError, GoneError, number_in_front
from analysis.people.attributes import read_vectors
from analysis.people.corpora.embeddings import embedder_named
from analysis.people.corpora.records import Message
from analysis.people.corpora.retrieval import EQUAL
from analysis.people.corpora.seeded_sampling import draw, generator
from analysis.people.stages.judged import (
    MODELS,
    NOBODY,
    PEOPLE,
    KnownAttributes,
    StandingAttribute,
    judged_relevance,
    known_attributes,
)
from analysis.people.stages.relevant import without_details
from analysis.people.steps import NAMES, PeopleError, require_merged
from analysis.runs.asking.stages import ABOUT, ATTRIBUTES_HERE
from analysis.runs.recipes.fitting import Recipe, RecipeContext, base_recipe, corpus_of, part_of
from analysis.runs.recipes.questions import search_text
from surveys.studies.wording import RaisedAs

BY_WORDS = {PEOPLE: "called sensible by people", MODELS: "by models alone", NOBODY: "judged by nobody"}


class Remembered(NamedTuple):
    """Corpus users who can be simulated, by key, out of all whose attributes are known."""

    users: dict[str, list[StandingAttribute]]
    known: KnownAttributes
    model: str  # of the attributes' vectors

    @property
    def words(self) -> str:
        return f"{'sampled' if self.known.sampled else 'kept'} users"


def find_remembered(run: Run) -> Remembered:
    """Users with enough attributes to put in front. Raises ConditionError if the corpus's attributes aren't ready."""
    corpus, least = corpus_of(run), number_in_front(run)
    with RaisedAs(ConditionError, PeopleError):
        require_merged(corpus)
    merged = corpus.steps.filter(name=NAMES.MERGE, state=CorpusStep.State.DONE).first()
    if merged is None:
        raise ConditionError(
            f"The attributes of {corpus.name} are not merged yet: people {corpus.name} merge, after import_attributes "
            f"or people {corpus.name} extract."
        )
    known = known_attributes(corpus, toxic=run.toxic)
    enough = {key: rows for key, rows in known.users.items() if len(rows) >= least}
    return Remembered(enough, known, merged.settings["model"])


def say_remembered(run: Run) -> str:
    """How many users have enough attributes, and who let these stand; empty for other conditions.

    Raises ConditionError if they are fewer than the run simulates.
    """
    return say_enough(run, find_remembered(run)) if run.condition == "sp-memory" else ""


def say_enough(run: Run, found: Remembered) -> str:
    by = Counter(row.by for rows in found.users.values() for row in rows)
    stands = ", ".join(f"{by[name]:,} {words}" for name, words in BY_WORDS.items() if by[name])
    rejected = f" {found.known.rejected:,} judged otherwise are left out." if found.known.rejected else ""
    said = (
        f"{len(found.users):,} of {len(found.known.users):,} {found.words} have {number_in_front(run)} attributes or "
        f"more that stand{f' ({stands})' if stands else ''}.{rejected}"
    )
    if len(found.users) < run.users:
        raise ConditionError(
            f"{said} The run simulates {run.users:,}: ask for fewer users (--users) or attributes (--memory-size)."
        )
    return said


def memory_recipes(context: RecipeContext, indexes: Sequence[int]) -> Iterable[Recipe]:
    """Yield for each simulated user one of the corpus, drawn by seed, and for each prompt K of their attributes.

    Attributes judged relevant to the prompt come first, then those not judged, then those judged not relevant; within
    each by the likeness of their vectors to it.
    """
    run, corpus, number = context.run, corpus_of(context.run), number_in_front(context.run)
    found = find_remembered(run)
    say_enough(run, found)
    drawn = draw(sorted(found.users), len(found.users), generator(run.seed, "memory"))
    embedder = embedder_named(found.model)
    texts = {key: search_text(question) for key, question in context.questions.items()}
    vectors = dict(zip(texts, embedder.embed(list(texts.values())).astype("float64"), strict=True))
    judged = judged_relevance(corpus, set(texts.values()))
    pool = {"users": len(found.known.users), "enough": len(found.users)}
    base = base_recipe(context, corpus=corpus.name, drawn=number, vectors=found.model, pool=pool)
    for index in indexes:
        rows = sorted(found.users[drawn[index]], key=lambda row: row.sha256)
        own = vectors_of(corpus, rows, found.model)
        relevant = {key: [judged.get((text, row.pk)) for row in rows] for key, text in texts.items()}
        chosen = {key: nearest(rows, own @ vectors[key], number, relevant[key]) for key in texts}
        used = sorted({place for places in chosen.values() for place in places})
        wording = texts_of(corpus, drawn[index], [rows[place].sha256 for place in used])
        parts = {
            key: memory_part(context, wording, [used.index(place) for place in places])
            for key, places in chosen.items()
        }
        yield base | {
            "corpus_user": drawn[index],
            "attributes": [rows[place].sha256 for place in used],
            "stand_by": [rows[place].by for place in used],
            "questions": {
                key: part | {"judged_relevant": sum(relevant[key][used[at]] is True for at in part["attributes"])}
                for key, part in parts.items()
            },
        }


def vectors_of(corpus: Corpus, rows: Sequence[StandingAttribute], model: str) -> np.ndarray:
    try:
        return read_vectors([row.sha256 for row in rows], model).astype("float64")
    except KeyError:
        raise ConditionError(
            f"Attributes of {corpus.name} came after the last merge: people {corpus.name} merge."
        ) from None


def nearest(
    rows: Sequence[StandingAttribute], likeness: np.ndarray, number: int, relevant: Sequence[bool | None]
) -> list[int]:
    """Places of the `number` that matter most, most first; ties go by hash, so that every processor agrees."""
    rank = [1 if each is None else 0 if each else 2 for each in relevant]
    order = sorted(range(len(rows)), key=lambda at: (rank[at], -round(float(likeness[at]) / EQUAL), rows[at].sha256))
    return order[:number]


def memory_part(context: RecipeContext, wording: Sequence[str], places: Sequence[int]) -> Recipe:
    """As many attributes as fit the window; those that matter least are left out first."""
    kept = list(places)
    while kept and context.counter.messages(say_known(wording, kept)) > context.room:
        kept.pop()
    return {
        "attributes": kept,
        "included": len(kept),
        "left_out": len(places) - len(kept),
        "skipped": 0,
        "tokens": context.counter.messages(say_known(wording, kept)),
    }


def say_known(wording: Sequence[str], places: Sequence[int]) -> list[Message]:
    """The system message with which personalised responses are asked for, without personal details."""
    if not places:
        return []
    known = "\n".join(f"- {without_details(wording[place])}" for place in places)
    return [{"role": "system", "content": ABOUT.replace(ATTRIBUTES_HERE, known)}]


def memory_front(run: Run, recipe: Recipe, key: str) -> list[Message]:
    wording = texts_of(corpus_of(run), recipe["corpus_user"], recipe["attributes"])
    return say_known(wording, part_of(recipe, key)["attributes"])


def texts_of(corpus: Corpus, user: str, hashes: Sequence[str]) -> list[str]:
    """Texts of a user's attributes, in this order. Raises GoneError if one is gone, or the user."""
    rows = Attribute.objects.filter(user__corpus=corpus, user__key=user, sha256__in=hashes)
    found = dict(rows.values_list("sha256", "text"))
    gone = [sha256 for sha256 in hashes if sha256 not in found]
    if gone:
        raise GoneError(
            f"{len(gone)} attributes of the recipe ({gone[0][:12]}…) are no longer in the corpus {corpus.name}."
        )
    if not hashes:
        raise GoneError(f"The user of the recipe was erased from the corpus {corpus.name}.")
    return [found[sha256] for sha256 in hashes]


def memory_is_there(run: Run, recipe: Recipe) -> bool:
    try:
        return bool(texts_of(corpus_of(run), recipe["corpus_user"], recipe["attributes"]))
    except ConditionError:
        return False
