"""How simulated users are made: what is put in front is drawn by seed, fitted to the window and kept as hashes."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from django.conf.locale import LANG_INFO
from django.db.models import Count, Exists, OuterRef, QuerySet

from analysis.models import Conversation, ConversationVector, Corpus, Run
from analysis.models.conditions import ConditionError, GoneError, number_in_front
from analysis.people.corpora.embeddings import LOCAL, effort_of, embedder_named
from analysis.people.corpora.personas import draw_profiles, pools_of, profile_of, rows_of
from analysis.people.corpora.records import Message, by_turns
from analysis.people.corpora.retrieval import Near, Scope, nearest_to_many
from analysis.people.corpora.seeded_sampling import draw, generator
from analysis.runs.recipes.fitting import (
    Fitted,
    Recipe,
    RecipeContext,
    TokenCounter,
    base_recipe,
    corpus_of,
    fit,
    part_of,
)
from analysis.runs.recipes.memory import memory_front, memory_is_there, memory_recipes
from analysis.runs.recipes.questions import search_text
from surveys.studies.wording import dollars, duration

LONG = 4  # SP-History draws conversations with more turns than this
OWN_CONVERSATIONS = 3  # fewest that a corpus user needs for SP-RAG within one user's history


def history_recipes(context: RecipeContext, indexes: Sequence[int]) -> Iterable[Recipe]:
    """Yield for each user K conversations with more than 4 turns, drawn by seed without replacement.

    If not all fit, those drawn last are left out. The others are in order of age, those without a date first.
    """
    run, corpus, number = context.run, corpus_of(context.run), number_in_front(context.run)
    pool = sorted(drawable(run).filter(turns__gt=LONG).values_list("sha256", flat=True))
    if len(pool) < number:
        raise ConditionError(
            f"The corpus {corpus.name} has {len(pool)} conversations with more than {LONG} turns{say_pool(run)}, and "
            f"each history takes {number}. Import more, or ask for fewer (--history-size)."
        )
    drawn = [draw(pool, number, generator(run.seed, index, "history")) for index in indexes]
    sizes, begun = measure(corpus, {sha256 for one in drawn for sha256 in one}, context.counter)
    for one in drawn:
        fitted = fit(one[::-1], sizes, context.room)
        base = base_recipe(context, corpus=corpus.name, drawn=number, pool=len(pool))
        as_drawn = fitted.kept[::-1]
        yield base | part_recipe(fitted, sorted(as_drawn, key=begun.__getitem__))


def pool_of(run: Run) -> Scope:
    """What the run may draw from, including conversations of unknown language, since some sources never say."""
    if not run.language:
        return Scope(toxic=run.toxic)
    names = {"", *names_of(run.language)}
    spoken = corpus_of(run).conversations.order_by().values_list("language", flat=True).distinct()
    return Scope(languages=[language for language in spoken if language.casefold() in names], toxic=run.toxic)


def drawable(run: Run) -> QuerySet[Conversation]:
    pool, found = pool_of(run), corpus_of(run).conversations.all()
    if pool.languages is not None:
        found = found.filter(language__in=pool.languages)
    return found if pool.toxic else found.exclude(toxic=True).exclude(redacted=True)


def names_of(language: str) -> set[str]:
    """Names that sources use for a language given by code or name, in small letters: "en" is "english"."""
    base = language.casefold().partition("-")[0]
    of_base = {
        code: info["name"].casefold()
        for code, info in LANG_INFO.items()
        if code.split("-")[0] == base and "name" in info
    }
    general = {of_base[base]} if base in of_base else {name.split()[-1] for name in of_base.values()}
    return {language.casefold(), base, *of_base.values(), *general}


def say_pool(run: Run) -> str:
    language = f" in the language {run.language} (--language any takes all)" if run.language else ""
    return language + ("" if run.toxic else ", toxic and redacted ones left out (--toxic takes them)")


def rag_recipes(context: RecipeContext, indexes: Sequence[int]) -> Iterable[Recipe]:
    """Yield for each user, by prompt, the K nearest conversations that may be drawn: of all, or of one corpus user."""
    corpus, number, pool = corpus_of(context.run), number_in_front(context.run), pool_of(context.run)
    searched = find_searched(corpus, drawable(context.run))
    embedder = embedder_named(searched.model)
    texts = [search_text(question) for question in context.questions.values()]
    base = base_recipe(context, corpus=corpus.name, drawn=number, vectors=embedder.name, pool=searched.embedded)
    people = corpus_users(context.run) if context.run.per_user else []
    questions = embedder.embed(texts)
    for index in indexes:
        if people:
            found = nearest_to_many(corpus, embedder.name, questions, number, pool._replace(user=people[index]))
            yield base | {"corpus_user": people[index]} | rag_parts(context, corpus, found)
        elif index:
            yield base | {"same_as": 0}  # from the whole corpus everybody gets the same
        else:
            found = nearest_to_many(corpus, embedder.name, questions, number, pool)
            yield base | rag_parts(context, corpus, found)


def rag_front(run: Run, recipe: Recipe, key: str) -> list[Message]:
    return conversations_of(run, [recipe["hashes"][at] for at in part_of(recipe, key)["conversations"]])


def rag_parts(context: RecipeContext, corpus: Corpus, found: Sequence[Sequence[Near]]) -> Recipe:
    """Each prompt's conversations as places in one list of hashes, the most similar last."""
    hashes = sorted({near.sha256 for row in found for near in row})
    place = {sha256: at for at, sha256 in enumerate(hashes)}
    sizes, _ = measure(corpus, hashes, context.counter)
    parts = {}
    for key, row in zip(context.questions, found, strict=True):
        fitted = fit([near.sha256 for near in reversed(row)], sizes, context.room)
        parts[key] = part_recipe(fitted, [place[sha256] for sha256 in fitted.kept])
    return {"hashes": hashes, "questions": parts}


def corpus_users(run: Run) -> list[str]:
    """Corpus users with enough conversations that the run may draw, in an order decided by the seed."""
    counted = drawable(run).exclude(user="").order_by().values("user").annotate(number=Count("id"))
    pool = sorted(counted.filter(number__gte=OWN_CONVERSATIONS).values_list("user", flat=True))
    if len(pool) < run.users:
        raise ConditionError(
            f"The corpus {run.corpus.name} knows {len(pool)} users with {OWN_CONVERSATIONS} conversations or "
            f"more{say_pool(run)}, and the run simulates {run.users}. Ask for fewer users (--users), or take the whole "
            "corpus instead of one user's own history (without --per-user)."
        )
    return draw(pool, len(pool), generator(run.seed, "corpus users"))


class Searched(NamedTuple):
    """An embedding model, how many conversations it has vectors of, and which have none."""

    model: str
    embedded: int
    missing: QuerySet[Conversation]


def find_searched(corpus: Corpus, rows: QuerySet[Conversation]) -> Searched:
    """The embedding model with vectors of most of these conversations. Raises ConditionError if none has any."""
    wanted = rows.filter(turns__gt=0)
    counted = ConversationVector.objects.filter(conversation__in=wanted).order_by().values_list("model")
    best = counted.annotate(number=Count("id")).order_by("-number", "model").first()
    if best is None:
        raise ConditionError(
            f"sp-rag compares embeddings, and 0 of the {wanted.count():,} conversations of {corpus.name} that may be "
            f"drawn have one. Make them first: manage.py embed_corpus {corpus.name}{say_effort(wanted, LOCAL)}"
        )
    model, embedded = best
    there = ConversationVector.objects.filter(conversation=OuterRef("pk"), model=model)
    return Searched(model, embedded, wanted.filter(~Exists(there)))


def say_effort(missing: QuerySet[Conversation], model: str) -> str:
    """How long embedding them takes or what it costs, in brackets."""
    effort = effort_of(missing, model)
    if effort.seconds is not None:
        return f" (about {duration(effort.seconds)} on this computer)"
    return "" if effort.usd is None else f" (at most {dollars(effort.usd)})"


def say_unsearched(run: Run) -> str:
    """How many conversations SP-RAG ignores for lack of a vector; empty if all have one."""
    if run.condition != "sp-rag":
        return ""
    searched = find_searched(corpus_of(run), drawable(run))
    missing = searched.missing.count()
    if not missing:
        return ""
    whose = f" --endpoint {searched.model.partition('/')[0]}" if searched.model != LOCAL else ""
    return (
        f"{searched.embedded:,} of {searched.embedded + missing:,} conversations have a vector and are searched. "
        f"manage.py embed_corpus {run.corpus.name}{whose} makes the other "
        f"{missing:,}{say_effort(searched.missing, searched.model)}; simulated users keep what they were made with."
    )


def profile_recipes(context: RecipeContext, indexes: Sequence[int]) -> Iterable[Recipe]:
    """Yield for each user a persona and sentences, drawn by seed."""
    personas = context.run.personas
    if personas is None:
        raise ConditionError("sp-profile draws from a set of personas. Choose one (--personas NAME).")
    pools = pools_of(personas)
    if not any(pools):
        raise ConditionError(
            f"The personas {personas.name} are empty. Import some: manage.py import_personas {personas.name} FILE"
        )
    profiles = draw_profiles(pools, context.run.seed, max(indexes) + 1)
    for index in indexes:
        yield profile_recipe(context, profiles[index])


def profile_front(run: Run, recipe: Recipe, key: str) -> list[Message]:
    rows = rows_of(run.personas, recipe["rows"])
    if len(rows) < len(recipe["rows"]):
        raise ConditionError(f"A persona of the recipe is no longer in {run.personas.name}. Import its file again.")
    return [{"role": "system", "content": profile_of(rows)}]


def profile_recipe(context: RecipeContext, hashes: list[str]) -> Recipe:
    rows = rows_of(context.run.personas, hashes)
    tokens = context.counter.messages([{"role": "system", "content": profile_of(rows)}])
    if tokens > context.room:
        raise ConditionError(
            f"A profile of {tokens} tokens does not fit into {context.run.endpoint.name}'s window beside the prompt."
        )
    included = sum(bool(row.description) + len(row.sentences) for row in rows)
    base = base_recipe(context, personas=context.run.personas.name)
    return base | {"rows": hashes, "included": included, "left_out": 0, "skipped": 0, "tokens": tokens}


def conversations_of(run: Run, hashes: list[str]) -> list[Message]:
    """Real conversations in sequence, as if the user had had them with the model."""
    rows = corpus_of(run).conversations.filter(sha256__in=hashes).values_list("sha256", "messages")
    found = dict(rows)
    gone = [sha256 for sha256 in hashes if sha256 not in found]
    if gone:
        raise GoneError(
            f"{len(gone)} conversations of the recipe ({gone[0][:12]}…) are no longer in the corpus "
            f"{run.corpus.name}. Import its file again."
        )
    return [message for sha256 in hashes for message in by_turns(found[sha256])]


def can_be_written(context: RecipeContext, recipe: Recipe) -> bool:
    """Whether an earlier recipe suits these questions and this window, and all that it names still exists."""
    if "same_as" in recipe:
        return True
    questions = recipe.get("questions")
    parts = [questions.get(key) for key in context.questions] if questions else [recipe]
    if any(part is None or part["tokens"] > context.room for part in parts):
        return False
    return BUILDERS[context.run.condition].is_there(context.run, recipe)


def conversations_are_there(run: Run, recipe: Recipe) -> bool:
    hashes = recipe["hashes"] if "questions" in recipe else recipe["conversations"]
    return corpus_of(run).conversations.filter(sha256__in=hashes).count() == len(hashes)


def part_recipe(fitted: Fitted, conversations: list) -> Recipe:
    return {"conversations": conversations, "included": len(conversations)} | {
        name: getattr(fitted, name) for name in ("left_out", "skipped", "tokens")
    }


def measure(corpus: Corpus, hashes: Iterable[str], counter: TokenCounter) -> tuple[dict[str, int], dict[str, str]]:
    """Tokens of each conversation as it would be sent, and when it began (empty if unknown)."""
    ordered, sizes, begun = sorted(hashes), {}, {}
    for start in range(0, len(ordered), 500):
        rows = Conversation.objects.filter(corpus=corpus, sha256__in=ordered[start : start + 500])
        for sha256, messages, began_at in rows.values_list("sha256", "messages", "began_at"):
            sizes[sha256] = counter.messages(by_turns(messages))
            begun[sha256] = began_at.isoformat() if began_at else ""
    return sizes, begun


class Builder(NamedTuple):
    """How a condition makes simulated users, rebuilds what each has in front of a question, and checks that it can."""

    write_recipes: Callable[[RecipeContext, Sequence[int]], Iterable[Recipe]]
    write_front: Callable[[Run, Recipe, str], list[Message]]
    is_there: Callable[[Run, Recipe], bool]  # whether all that a recipe names is
    by_question: bool = False  # otherwise the same is in front of all


# The sock puppets of `analysis.models.conditions`.
BUILDERS = {
    "sp-history": Builder(
        history_recipes,
        lambda run, recipe, key: conversations_of(run, recipe["conversations"]),
        conversations_are_there,
    ),
    "sp-rag": Builder(rag_recipes, rag_front, conversations_are_there, by_question=True),
    "sp-profile": Builder(
        profile_recipes,
        profile_front,
        lambda run, recipe: len(rows_of(run.personas, recipe["rows"])) == len(recipe["rows"]),
    ),
    "sp-memory": Builder(memory_recipes, memory_front, memory_is_there, by_question=True),
}
