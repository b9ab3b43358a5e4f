"""The messages of a call: what is in front of the question, and how it is rebuilt.

A run's simulated users get their recipes once (`make_users`): hashes of what is put in front, in order, after
fitting. Messages are written from the recipe alone. The question, which varies, always comes last.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models.fields.json import KT

from analysis.models import Completion, Run, SimulatedUser, Task
from analysis.models.conditions import DRAWN, ConditionError
from analysis.people.corpora.records import Message
from analysis.runs.asking.registry import kind_of
from analysis.runs.recipes.fitting import Recipe, counter_for, make_context, part_of
from analysis.runs.recipes.questions import Question, key_of, question_text
from analysis.runs.recipes.recipes import BUILDERS, can_be_written

FRONTS_IN_MEMORY = 16  # a hundred conversations are about a megabyte


class Built(NamedTuple):
    messages: list[Message]
    included: int | None  # conversations, or descriptions and sentences, in front; None offline
    skipped: int  # conversations that alone exceed the window
    sha256: str


class Opening(NamedTuple):
    """The messages before the question, and their hash so far."""

    messages: list[Message]
    included: int | None
    skipped: int
    digest: Any


def make_users(run: Run) -> None:
    """Make the run's missing simulated users, with recipes of its first run that still hold. Offline has none."""
    if run.condition not in BUILDERS:
        return
    there = set(run.simulated_users.values_list("index", flat=True))
    missing = [index for index in range(run.users) if index not in there]
    if not missing:
        return
    context = make_context(run)
    # Recipes of the same simulated users in the run that this one repeats.
    earlier = SimulatedUser.objects.filter(run=run.first_run, index__in=missing).order_by("index")
    rows = earlier.values_list("index", "recipe").iterator(chunk_size=20)
    recipes = {index: recipe for index, recipe in rows if can_be_written(context, recipe)}
    if new := [index for index in missing if index not in recipes]:
        recipes |= zip(new, BUILDERS[run.condition].write_recipes(context, new), strict=True)
    users = [SimulatedUser(run=run, index=index, recipe=recipes[index]) for index in missing]
    SimulatedUser.objects.bulk_create(users, batch_size=20)


def messages_for(completion: Completion) -> Built:
    """The exact messages of a call. Those in front are shared between calls: don't change them."""
    run, question = completion.run, completion.asked
    if isinstance(question, Task):
        return task_messages(run, question)
    front = front_of(owner_of(completion.user_id), front_key(run, question))
    asked = {"role": "user", "content": question_text(run, question)}
    digest = front.digest.copy()
    add_to_digest(digest, [asked])
    return Built([*front.messages, asked], front.included, front.skipped, digest.hexdigest())


def task_messages(run: Run, task: Task) -> Built:
    """The messages of a task as planned. Raises ConditionError if what it is about has changed since."""
    task.run = run
    messages = kind_of(run).write(task)
    if (sha256 := hash_messages(messages)) != (task.sha256 or sha256):
        raise ConditionError(f"What {task.key} asks is not what was planned: {task.sha256[:8]}… is now {sha256[:8]}….")
    return Built(messages, None, 0, sha256)


def estimate_prompt_tokens(run: Run, question: Question, user: SimulatedUser | None = None) -> int:
    """Tokens of a call's messages, by the endpoint's tokenizer or the estimate of `recipes.fitting`."""
    asked = counter_for(run.endpoint).messages([{"role": "user", "content": question_text(run, question)}])
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


def forget_users() -> None:
    """Empty the caches of simulated users, as before each lane and page: a person may have been erased meanwhile."""
    for kept in (front_of, owner_of, recipe_of):
        kept.cache_clear()


def front_key(run: Run, question: Question) -> str:
    """Which of a user's fronts belongs to the question; empty if one serves all."""
    builder = BUILDERS.get(run.condition)
    return key_of(question) if builder and builder.by_question else ""


@lru_cache(maxsize=FRONTS_IN_MEMORY)
def front_of(user_id: int | None, key: str) -> Opening:
    """The messages in front, cached since one user's calls are adjacent."""
    if user_id is None:
        return Opening([], None, 0, hashlib.sha256())
    run = Run.objects.select_related(*DRAWN).get(simulated_users=user_id)
    part = part_of(recipe := recipe_of(user_id), key)
    messages = BUILDERS[run.condition].write_front(run, recipe, key)
    digest = hashlib.sha256()
    add_to_digest(digest, messages)
    return Opening(messages, part["included"], part["skipped"], digest)


@lru_cache(maxsize=10_000)
def owner_of(user_id: int | None) -> int | None:
    """The user whose recipe it is: SP-RAG over the whole corpus gives every user that of the first."""
    if user_id is None:
        return None
    user = SimulatedUser.objects.only("run_id").annotate(same_as=KT("recipe__same_as")).get(pk=user_id)
    if user.same_as is None:
        return user_id
    return SimulatedUser.objects.only("pk").get(run_id=user.run_id, index=int(user.same_as)).pk


@lru_cache(maxsize=64)
def recipe_of(user_id: int) -> Recipe:
    return SimulatedUser.objects.values_list("recipe", flat=True).get(pk=user_id)
