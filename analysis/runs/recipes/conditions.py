"""Offline, judges and the three sock puppets: what stands in front of a prompt, and how a call is rebuilt.

A run's simulated users get their recipes once (`make_users`): hashes of what is put in front, in order, after
fitting. Messages are written from the recipe alone. What varies, the question, always stands last.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models.fields.json import KT

from analysis.corpora.faults import ConditionError
from analysis.corpora.personas import profile_of, rows_of
from analysis.corpora.turns import Message, by_turns
from analysis.models import Completion, Run, SimulatedUser
from analysis.runs.recipes.fitting import counter_for
from analysis.runs.recipes.questions import Asked, key_of, question_text
from analysis.runs.recipes.recipes import (
    Recipe,
    RecipeWriter,
    corpus_of,
    history_recipes,
    make_plan,
    profile_recipes,
    rag_recipes,
)

FRONTS_IN_MEMORY = 16  # a hundred conversations are about a megabyte


class Built(NamedTuple):
    messages: list[Message]
    included: int | None  # conversations, or descriptions and sentences, in front; None offline
    skipped: int  # conversations that alone exceed the window
    sha256: str


class Front(NamedTuple):
    """What stands before the question, hashed so far."""

    messages: list[Message]
    included: int | None
    skipped: int
    digest: Any


class Condition(NamedTuple):
    write_recipes: RecipeWriter
    write_front: Callable[[Run, Recipe, str], list[Message]]


def make_users(run: Run) -> None:
    """Make the run's simulated users, as far as they are not there yet. Offline and judges have none."""
    if run.condition not in CONDITIONS:
        return
    there = set(run.simulated_users.values_list("index", flat=True))
    missing = [index for index in range(run.users) if index not in there]
    if not missing:
        return
    recipes = CONDITIONS[run.condition].write_recipes(make_plan(run), missing)
    users = [SimulatedUser(run=run, index=index, recipe=recipe) for index, recipe in zip(missing, recipes, strict=True)]
    SimulatedUser.objects.bulk_create(users, batch_size=20)


def messages_for(completion: Completion) -> Built:
    """The exact messages of a call. The messages in front are shared between calls: don't change them."""
    run, question = completion.run, completion.asked
    front = front_of(owner_of(completion.user_id), front_key(run, question))
    asked = {"role": "user", "content": question_text(run, question, completion.left)}
    digest = front.digest.copy()
    add_to_digest(digest, [asked])
    return Built([*front.messages, asked], front.included, front.skipped, digest.hexdigest())


def estimate_prompt_tokens(run: Run, question: Asked, user: SimulatedUser | None = None, left: str = "") -> int:
    """Tokens of a call's messages, by the endpoint's tokenizer or by the estimate in analysis.fitting."""
    asked = counter_for(run.endpoint).messages([{"role": "user", "content": question_text(run, question, left)}])
    if user is None:
        return asked
    return asked + part_of(recipe_of(owner_of(user.pk)), front_key(run, question))["tokens"]


def hash_messages(messages: Iterable[Message]) -> str:
    """SHA-256 over one line of JSON, ["role", "content"], for each message."""
    digest = hashlib.sha256()
    add_to_digest(digest, messages)
    return digest.hexdigest()


def add_to_digest(digest: Any, messages: Iterable[Message]) -> None:
    for message in messages:
        line = json.dumps([message["role"], message["content"]], ensure_ascii=False, separators=(",", ":"))
        digest.update(line.encode() + b"\n")


def front_key(run: Run, question: Asked) -> str:
    """Which of a user's fronts belongs to the question: only SP-RAG has one for each, the others have one."""
    return key_of(question) if run.condition == Run.Condition.SP_RAG else ""


@lru_cache(maxsize=FRONTS_IN_MEMORY)
def front_of(user_id: int | None, key: str) -> Front:
    """Kept in memory: one user's calls stand next to each other. Recipes never change."""
    if user_id is None:
        return Front([], None, 0, hashlib.sha256())
    run = Run.objects.select_related("corpus", "personas").get(simulated_users=user_id)
    part = part_of(recipe := recipe_of(user_id), key)
    messages = CONDITIONS[run.condition].write_front(run, recipe, key)
    digest = hashlib.sha256()
    add_to_digest(digest, messages)
    return Front(messages, part["included"], part["skipped"], digest)


@lru_cache(maxsize=10_000)
def owner_of(user_id: int | None) -> int | None:
    """Whose recipe it is: SP-RAG over the whole corpus gives every user that of the first."""
    if user_id is None:
        return None
    user = SimulatedUser.objects.only("run_id").annotate(same_as=KT("recipe__same_as")).get(pk=user_id)
    if user.same_as is None:
        return user_id
    return SimulatedUser.objects.only("pk").get(run_id=user.run_id, index=int(user.same_as)).pk


@lru_cache(maxsize=64)
def recipe_of(user_id: int) -> Recipe:
    return SimulatedUser.objects.values_list("recipe", flat=True).get(pk=user_id)


def part_of(recipe: Recipe, key: str) -> Recipe:
    if not key:
        return recipe
    if key not in recipe["questions"]:
        raise ConditionError(f"Nothing was retrieved for {key}: it came after the simulated users were made.")
    return recipe["questions"][key]


def history_front(run: Run, recipe: Recipe, key: str) -> list[Message]:
    return conversations_of(run, recipe["conversations"])


def rag_front(run: Run, recipe: Recipe, key: str) -> list[Message]:
    return conversations_of(run, [recipe["hashes"][at] for at in part_of(recipe, key)["conversations"]])


def profile_front(run: Run, recipe: Recipe, key: str) -> list[Message]:
    rows = rows_of(run.personas, recipe["rows"])
    if len(rows) < len(recipe["rows"]):
        raise ConditionError(f"A persona of the recipe is no longer in {run.personas.name}. Import its file again.")
    return [{"role": "system", "content": profile_of(rows)}]


def conversations_of(run: Run, hashes: list[str]) -> list[Message]:
    """Real conversations, one after another, as if the user had had them with the model."""
    rows = corpus_of(run).conversations.filter(sha256__in=hashes).values_list("sha256", "messages")
    found = dict(rows)
    gone = [sha256 for sha256 in hashes if sha256 not in found]
    if gone:
        raise ConditionError(
            f"{len(gone)} conversations of the recipe ({gone[0][:12]}…) are no longer in the corpus "
            f"{run.corpus.name}. Import its file again."
        )
    return [message for sha256 in hashes for message in by_turns(found[sha256])]


CONDITIONS: dict[str, Condition] = {
    Run.Condition.SP_HISTORY: Condition(history_recipes, history_front),
    Run.Condition.SP_RAG: Condition(rag_recipes, rag_front),
    Run.Condition.SP_PROFILE: Condition(profile_recipes, profile_front),
}
