"""Offline and the three sock puppets: what stands in front of a prompt, and how each call is rebuilt from its recipe.

A run's simulated users get their recipes once (`make_users`): hashes of what is put in front, in order, after
fitting. Messages are written from the recipe alone, so a call can be rebuilt to the letter at any time.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from analysis.benchmark_prompts import examples_for, write_question
from analysis.corpora.turns import Message, by_turns
from analysis.drawing import draw, generator
from analysis.embeddings import embedder_named
from analysis.fitting import Fitted, TokenCounter, counter_for, fit
from analysis.models import Completion, Conversation, ConversationVector, Corpus, Run, SimulatedUser
from analysis.personas import Pools, draw_profiles, pools_of, rows_of, sentences_of, write_profile
from analysis.retrieval import nearest_to_many
from surveys.models import BenchmarkItem, Prompt

Recipe = dict[str, Any]
Question = Prompt | BenchmarkItem

HISTORY_SIZE = 100  # conversations, unless the run says otherwise
LONG = 4  # SP-History draws conversations with more turns than this
OWN_CONVERSATIONS = 3  # what a user of the corpus must have for SP-RAG within one user's history


class ConditionError(Exception):
    """The run can't be built from what there is; the message says what is missing."""


class Built(NamedTuple):
    messages: list[Message]
    included: int | None  # conversations, or descriptions and sentences, in front; None offline
    skipped: int  # conversations that alone exceed the window
    sha256: str


class Front(NamedTuple):
    """What stands before the question: for all prompts of a user the same, or for each its own (SP-RAG)."""

    messages: list[Message]
    included: int | None
    skipped: int
    digest: Any  # hashed so far


class Plan(NamedTuple):
    """A run and what all its users' recipes need."""

    run: Run
    counter: TokenCounter
    questions: dict[str, str]
    room: int  # tokens in front of the longest question


class Condition(NamedTuple):
    write_recipes: Callable[[Plan, list[int]], Iterable[Recipe]]
    write_front: Callable[[Run, Recipe, str], list[Message]]


# ------------------------------------------------------------------ the interface


def make_users(run: Run) -> None:
    """Make the run's simulated users, as far as they are not there yet. Offline has none."""
    if run.condition == Run.Condition.OFFLINE:
        return
    there = set(run.simulated_users.values_list("index", flat=True))
    missing = [index for index in range(run.users) if index not in there]
    if not missing:
        return
    recipes = CONDITIONS[run.condition].write_recipes(make_plan(run), missing)
    users = (
        SimulatedUser(run=run, index=index, recipe=recipe)
        for index, recipe in zip(missing, recipes, strict=True)
    )
    SimulatedUser.objects.bulk_create(users, batch_size=50)


def messages_for(completion: Completion) -> Built:
    """The exact messages of a call, from its recipe."""
    question = completion.prompt or completion.item
    front = front_of(completion.user_id, front_key(completion.run, question))
    asked = {"role": "user", "content": question_text(completion.run, question)}
    digest = front.digest.copy()
    add_to_digest(digest, [asked])
    return Built([*front.messages, asked], front.included, front.skipped, digest.hexdigest())


def estimate_prompt_tokens(run: Run, question: Question, user: SimulatedUser | None = None) -> int:
    """Tokens of a call's messages, by the endpoint's tokenizer or the estimate that analysis.fitting states."""
    asked = counter_for(run.endpoint).messages([{"role": "user", "content": question_text(run, question)}])
    if user is None:
        return asked
    return asked + part_of(recipe_of(user.pk), front_key(run, question))["tokens"]


def hash_messages(messages: Iterable[Message]) -> str:
    """SHA-256 over one line of JSON, [role, content], for each message."""
    digest = hashlib.sha256()
    add_to_digest(digest, messages)
    return digest.hexdigest()


# ------------------------------------------------------------------ questions


def questions_of(run: Run) -> dict[str, Question]:
    """What the run asks, by slug or item id, in order."""
    if run.benchmark:
        return {item.item: item for item in BenchmarkItem.objects.filter(benchmark=run.benchmark).order_by("id")}
    return {prompt.slug: prompt for prompt in run.version.prompts.order_by("position")}


def question_text(run: Run, question: Question) -> str:
    if isinstance(question, Prompt):
        return question.text
    examples = _examples(run.pk, question.subject) if run.worked_examples else ()
    return write_question(question, run.prompt_form, examples)


@lru_cache(maxsize=512)
def _examples(run_id: int, subject: str) -> tuple[BenchmarkItem, ...]:
    """Kept for each run, whose calls must all show the same ones."""
    run = Run.objects.get(pk=run_id)
    return examples_for(BenchmarkItem(benchmark=run.benchmark, subject=subject))


def front_key(run: Run, question: Question) -> str:
    """Which of a user's fronts belongs to the question: only SP-RAG has one for each."""
    if run.condition != Run.Condition.SP_RAG:
        return ""
    return question.slug if isinstance(question, Prompt) else question.item


# ------------------------------------------------------------------ recipes


def make_plan(run: Run) -> Plan:
    """Room is what the longest question leaves, so that one user's calls all begin with the same messages."""
    counter = counter_for(run.endpoint)
    questions = {key: question_text(run, question) for key, question in questions_of(run).items()}
    if not questions:
        raise ConditionError(f"There is nothing to ask: {run.benchmark or run.study} has no prompts.")
    longest = max(counter.messages([{"role": "user", "content": text}]) for text in questions.values())
    room = run.endpoint.context_window - run.endpoint.max_tokens - longest
    if room < 0:
        raise ConditionError(
            f"The longest prompt has {longest} tokens. With {run.endpoint.max_tokens} for the reply it does not "
            f"fit into {run.endpoint.name}'s window of {run.endpoint.context_window}."
        )
    return Plan(run, counter, questions, room)


def write_history_recipes(plan: Plan, indexes: list[int]) -> list[Recipe]:
    """For each user K conversations of the corpus with more than 4 turns, drawn by seed without replacement."""
    run, corpus, number = plan.run, corpus_of(plan.run), history_size(plan.run)
    long = Conversation.objects.filter(corpus=corpus, turns__gt=LONG)
    pool = sorted(long.values_list("sha256", flat=True))
    if len(pool) < number:
        raise ConditionError(
            f"The corpus {corpus.name} has {len(pool)} conversations with more than {LONG} turns, and each "
            f"history takes {number}. Import more, or ask for fewer with --history-size {max(len(pool), 1)}."
        )
    drawn = [draw(pool, number, generator(run.seed, index, "history")) for index in indexes]
    sizes, begun = measure(corpus, {sha256 for one in drawn for sha256 in one}, plan.counter)
    return [
        base_recipe(plan, drawn=number)
        | part_recipe(fit(by_age(one, begun), sizes, plan.room), lambda kept: kept)
        for one in drawn
    ]


def by_age(drawn: Sequence[str], begun: Mapping[str, str]) -> list[str]:
    """Oldest first. Those without a date come first of all, in the order in which they were drawn."""
    return sorted(drawn, key=lambda sha256: begun[sha256])


def write_rag_recipes(plan: Plan, indexes: list[int]) -> Iterable[Recipe]:
    """For each prompt the K nearest conversations: of the whole corpus, or of one user that the seed chooses."""
    corpus, number = corpus_of(plan.run), history_size(plan.run)
    embedder = embedder_named(vectors_of(corpus))
    questions = embedder.embed(list(plan.questions.values()))
    base = base_recipe(plan, drawn=number, vectors=embedder.name)
    if plan.run.per_user:
        people = corpus_users(plan.run, corpus)
        for index in indexes:
            found = nearest_to_many(corpus, embedder.name, questions, number, people[index])
            yield base | {"corpus_user": people[index]} | rag_parts(plan, corpus, found)
        return
    for index in indexes:  # the same for everybody, so written once
        if index:
            yield base | {"same_as": 0}
        else:
            yield base | rag_parts(plan, corpus, nearest_to_many(corpus, embedder.name, questions, number))


def rag_parts(plan: Plan, corpus: Corpus, found: Sequence[Sequence[Any]]) -> Recipe:
    """Each prompt's conversations as places in one list of hashes, least similar first, most similar last."""
    hashes = sorted({near.sha256 for row in found for near in row})
    place = {sha256: at for at, sha256 in enumerate(hashes)}
    sizes, _ = measure(corpus, set(hashes), plan.counter)
    parts = {}
    for key, row in zip(plan.questions, found, strict=True):
        fitted = fit([near.sha256 for near in reversed(row)], sizes, plan.room)
        parts[key] = part_recipe(fitted, lambda kept: [place[sha256] for sha256 in kept])
    return {"hashes": hashes, "questions": parts}


def write_profile_recipes(plan: Plan, indexes: list[int]) -> list[Recipe]:
    personas = plan.run.personas
    if personas is None:
        raise ConditionError("sp-profile draws from a set of personas. Name one: --personas NAME")
    pools = pools_of(personas)
    if not any(pools):
        raise ConditionError(f"The personas {personas.name} are empty. Import some: manage.py import_personas")
    profiles = draw_profiles(pools, plan.run.seed, max(indexes) + 1)
    return [profile_recipe(plan, profiles[index]) for index in indexes]


def profile_recipe(plan: Plan, hashes: list[str]) -> Recipe:
    rows = rows_of(plan.run.personas, hashes)
    message = {"role": "system", "content": profile_of(plan.run, hashes)}
    tokens = plan.counter.messages([message])
    if tokens > plan.room:
        raise ConditionError(
            f"A profile of {tokens} tokens does not fit into {plan.run.endpoint.name}'s window beside the prompt."
        )
    included = sum(bool(row.description) for row in rows) + len(sentences_of(rows))
    base = base_recipe(plan, personas=plan.run.personas.name)
    return base | {"rows": hashes, "included": included, "left_out": 0, "skipped": 0, "tokens": tokens}


def base_recipe(plan: Plan, **facts: Any) -> Recipe:
    return {"condition": plan.run.condition, "seed": plan.run.seed, "tokens_by": plan.counter.name, **facts}


def part_recipe(fitted: Fitted, name: Callable[[list[str]], list]) -> Recipe:
    return {
        "conversations": name(fitted.kept),
        "included": len(fitted.kept),
        "left_out": fitted.left_out,
        "skipped": fitted.skipped,
        "tokens": fitted.tokens,
    }
