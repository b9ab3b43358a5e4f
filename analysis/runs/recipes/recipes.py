"""How a simulated user is made: what is put in front, drawn by seed, fitted to the window, kept as hashes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Count

from analysis.corpora.embeddings import embedder_named
from analysis.corpora.faults import ConditionError
from analysis.corpora.personas import draw_profiles, pools_of, profile_of, rows_of
from analysis.corpora.retrieval import Near, nearest_to_many
from analysis.corpora.turns import by_turns
from analysis.models import Conversation, ConversationVector, Corpus, Run
from analysis.runs.recipes.fitting import Fitted, TokenCounter, counter_for, fit
from analysis.runs.recipes.questions import Question, question_text, questions_of, search_text
from analysis.stats.seeded_sampling import draw, generator

Recipe = dict[str, Any]

HISTORY_SIZE = 100  # conversations, unless the run says otherwise
LONG = 4  # SP-History draws conversations with more turns than this
OWN_CONVERSATIONS = 3  # what a user of the corpus needs for SP-RAG within one user's history


class Plan(NamedTuple):
    """A run and what all its users' recipes need."""

    run: Run
    counter: TokenCounter
    questions: dict[str, Question]
    room: int  # tokens in front of the longest question


def make_plan(run: Run) -> Plan:
    """Room is what the longest question leaves, so that one user's calls all begin with the same messages."""
    counter, questions = counter_for(run.endpoint), questions_of(run)
    if not questions:
        raise ConditionError(f"There is nothing to ask: {run.benchmark or run.study} has no prompts.")
    texts = [question_text(run, question) for question in questions.values()]
    longest = max(counter.messages([{"role": "user", "content": text}]) for text in texts)
    room = run.endpoint.context_window - run.endpoint.max_tokens - longest
    if room < 0:
        raise ConditionError(
            f"The longest prompt has {longest} tokens. With {run.endpoint.max_tokens} for the reply it does "
            f"not fit into {run.endpoint.name}'s window of {run.endpoint.context_window}."
        )
    return Plan(run, counter, questions, room)


def history_recipes(plan: Plan, indexes: Sequence[int]) -> Iterable[Recipe]:
    """For each user K conversations with more than 4 turns, drawn by seed without replacement."""
    run, corpus, number = plan.run, corpus_of(plan.run), history_size(plan.run)
    pool = long_conversations(corpus)
    if len(pool) < number:
        raise ConditionError(
            f"The corpus {corpus.name} has {len(pool)} conversations with more than {LONG} turns, and each "
            f"history takes {number}. Import more, or ask for fewer (--history-size)."
        )
    drawn = [draw(pool, number, generator(run.seed, index, "history")) for index in indexes]
    sizes, begun = measure(corpus, {sha256 for one in drawn for sha256 in one}, plan.counter)
    for one in drawn:
        fitted = fit(by_age(one, begun), sizes, plan.room)
        yield base_recipe(plan, corpus=corpus.name, drawn=number) | part_recipe(fitted, fitted.kept)


def long_conversations(corpus: Corpus) -> list[str]:
    """Hashes of the conversations with more than 4 turns, in an order that no database decides."""
    return sorted(corpus.conversations.filter(turns__gt=LONG).values_list("sha256", flat=True))


def by_age(drawn: Sequence[str], begun: Mapping[str, str]) -> list[str]:
    """Oldest first. Those without a date come before all others, in the order in which they were drawn."""
    return sorted(drawn, key=lambda sha256: begun[sha256])


def rag_recipes(plan: Plan, indexes: Sequence[int]) -> Iterable[Recipe]:
    """For each prompt the K nearest conversations: of the whole corpus, or of one of its users."""
    corpus, number = corpus_of(plan.run), history_size(plan.run)
    embedder = embedder_named(vectors_of(corpus))
    texts = [search_text(question) for question in plan.questions.values()]
    base = base_recipe(plan, corpus=corpus.name, drawn=number, vectors=embedder.name)
    people = corpus_users(plan.run, corpus) if plan.run.per_user else []
    questions = embedder.embed(texts)
    for index in indexes:
        if people:
            found = nearest_to_many(corpus, embedder.name, questions, number, people[index])
            yield base | {"corpus_user": people[index]} | rag_parts(plan, corpus, found)
        elif index:
            yield base | {"same_as": 0}  # without users of its own the corpus gives everybody the same
        else:
            found = nearest_to_many(corpus, embedder.name, questions, number)
            yield base | rag_parts(plan, corpus, found)


def rag_parts(plan: Plan, corpus: Corpus, found: Sequence[Sequence[Near]]) -> Recipe:
    """Each prompt's conversations as places in one list of hashes; the most similar stands last."""
    hashes = sorted({near.sha256 for row in found for near in row})
    place = {sha256: at for at, sha256 in enumerate(hashes)}
    sizes, _ = measure(corpus, hashes, plan.counter)
    parts = {}
    for key, row in zip(plan.questions, found, strict=True):
        fitted = fit([near.sha256 for near in reversed(row)], sizes, plan.room)
        parts[key] = part_recipe(fitted, [place[sha256] for sha256 in fitted.kept])
    return {"hashes": hashes, "questions": parts}


def corpus_users(run: Run, corpus: Corpus) -> list[str]:
    """The corpus's own users with enough conversations, in an order that the seed decides."""
    counted = corpus.conversations.exclude(user="").values("user").annotate(number=Count("id"))
    pool = sorted(counted.filter(number__gte=OWN_CONVERSATIONS).values_list("user", flat=True))
    if len(pool) < run.users:
        raise ConditionError(
            f"The corpus {corpus.name} knows {len(pool)} users with {OWN_CONVERSATIONS} conversations or "
            f"more, and the run simulates {run.users}. Ask for fewer users (--users), or take the whole "
            "corpus instead of one user's own history (without --per-user)."
        )
    return draw(pool, len(pool), generator(run.seed, "corpus users"))


def vectors_of(corpus: Corpus) -> str:
    """The embedding model that has read the whole corpus; raises when there is none."""
    wanted = corpus.conversations.filter(turns__gt=0).count()
    counted = ConversationVector.objects.filter(conversation__corpus=corpus, conversation__turns__gt=0)
    counts = dict(counted.order_by("model").values_list("model").annotate(number=Count("id")))
    for model, number in counts.items():
        if wanted and number == wanted:
            return model
    raise ConditionError(
        f"sp-rag compares embeddings, and {max(counts.values(), default=0)} of the {wanted} conversations of "
        f"{corpus.name} have one. Make them first: manage.py embed_corpus {corpus.name}"
    )


def profile_recipes(plan: Plan, indexes: Sequence[int]) -> Iterable[Recipe]:
    """For each user a persona and sentences, drawn by seed."""
    personas = plan.run.personas
    if personas is None:
        raise ConditionError("sp-profile draws from a set of personas. Choose one (--personas NAME).")
    pools = pools_of(personas)
    if not any(pools):
        raise ConditionError(
            f"The personas {personas.name} are empty. Import some: manage.py import_personas {personas.name} FILE"
        )
    profiles = draw_profiles(pools, plan.run.seed, max(indexes) + 1)
    for index in indexes:
        yield profile_recipe(plan, profiles[index])


def profile_recipe(plan: Plan, hashes: list[str]) -> Recipe:
    rows = rows_of(plan.run.personas, hashes)
    tokens = plan.counter.messages([{"role": "system", "content": profile_of(rows)}])
    if tokens > plan.room:
        raise ConditionError(
            f"A profile of {tokens} tokens does not fit into {plan.run.endpoint.name}'s window beside the prompt."
        )
    included = sum(bool(row.description) + len(row.sentences) for row in rows)
    base = base_recipe(plan, personas=plan.run.personas.name)
    return base | {"rows": hashes, "included": included, "left_out": 0, "skipped": 0, "tokens": tokens}


def base_recipe(plan: Plan, **facts: Any) -> Recipe:
    return {"condition": plan.run.condition, "seed": plan.run.seed, "tokens_by": plan.counter.name, **facts}


def part_recipe(fitted: Fitted, conversations: list) -> Recipe:
    return {"conversations": conversations, "included": len(conversations)} | {
        name: getattr(fitted, name) for name in ("left_out", "skipped", "tokens")
    }


def corpus_of(run: Run) -> Corpus:
    if run.corpus is None:
        raise ConditionError(f"{run.condition} takes conversations from a corpus. Choose one (--corpus NAME).")
    return run.corpus


def history_size(run: Run) -> int:
    return HISTORY_SIZE if run.history_size is None else run.history_size


def measure(corpus: Corpus, hashes: Iterable[str], counter: TokenCounter) -> tuple[dict[str, int], dict[str, str]]:
    """The tokens of each conversation as it would be sent, and when it began (empty when unknown)."""
    ordered, sizes, begun = sorted(hashes), {}, {}
    for start in range(0, len(ordered), 500):
        rows = Conversation.objects.filter(corpus=corpus, sha256__in=ordered[start : start + 500])
        for sha256, messages, began_at in rows.values_list("sha256", "messages", "began_at"):
            sizes[sha256] = counter.messages(by_turns(messages))
            begun[sha256] = began_at.isoformat() if began_at else ""
    return sizes, begun


RecipeWriter = Callable[[Plan, Sequence[int]], Iterable[Recipe]]
