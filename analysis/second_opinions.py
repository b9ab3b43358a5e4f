"""A model's reading of the texts that the rules are not sure of: kept beside the answer, never in its place."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import QuerySet

from analysis.endpoints import find_endpoint, open_provider, price
from analysis.limits import Limiter
from analysis.models import Answer, Endpoint, SecondOpinion
from analysis.providers.calls import STOPS_RUN, CallFailed, Provider, Reply
from analysis.reviews import answers_of, asked_of, waiting
from surveys.answers import outer_text, read_answer
from surveys.models import Prompt, Study

BATCH = 50
ATTEMPTS = 4
TEMPERATURE = 0.0
ITEMS = (
    "Below is an answer that somebody got when they asked for recommendations. List what it recommends, in its order, "
    'at most {limit}, as JSON: {{"items": ["...", "..."]}}. Copy the names as they are written, without explanations. '
    'If it recommends nothing, for instance because it refuses, give {{"items": []}}. Give the JSON and nothing else.'
)
LETTER = (
    "Below are a question's options and an answer that somebody got to it. Which one option does the answer settle on? "
    'Give JSON: {{"choice": "A"}} with its letter, or {{"choice": ""}} if it settles on none or on several. Judge only '
    "what it says, not whether it is right. Give the JSON and nothing else.\n\nOptions:\n{options}"
)


@dataclass
class Given:
    """What became of an order: opinions stored, calls that failed, dollars spent, and why it stopped early."""

    opinions: int = 0
    failed: int = 0
    usd: Decimal = Decimal(0)
    stopped: str = ""


@dataclass(frozen=True)
class Question:
    """One text to read, with the request that asks for it."""

    answer: int
    kind: str
    limit: int
    choices: tuple[str, ...]
    body: bytes


def open_answers(study: Study, endpoint: Endpoint) -> QuerySet[Answer]:
    """Those in doubt that this model has not read yet."""
    return waiting(answers_of(study)).exclude(opinions__endpoint=endpoint)


def give_opinions(
    study: Study,
    endpoint_name: str,
    limit: int | None = None,
    budget: Decimal | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Given:
    """Ask the endpoint about the texts in doubt, batch by batch; each batch is stored as a whole.

    Stops when the next batch could exceed `budget` dollars, at the price of the batches before it. Raises
    EndpointError where there is no such endpoint or no key.
    """
    endpoint = find_endpoint(endpoint_name)
    keys = list(open_answers(study, endpoint).values_list("pk", flat=True)[:limit])
    given = Given()
    for begin in range(0, len(keys), BATCH):
        batch = keys[begin : begin + BATCH]
        if budget is not None and begin and given.usd / begin * len(batch) + given.usd > budget:
            given.stopped = f"The next {len(batch)} texts could exceed the budget of {budget} dollars."
            break
        provider = open_provider(endpoint, TEMPERATURE)  # its connections belong to one event loop
        asyncio.run(read_batch(endpoint, provider, ask_all(endpoint, provider, batch), given))
        progress(begin + len(batch), len(keys))
        if given.stopped:
            break
    return given


def ask_all(endpoint: Endpoint, provider: Provider, keys: Sequence[int]) -> list[Question]:
    own = ("response__prompt", "completion__prompt", "completion__item")
    return [ask(provider, answer) for answer in Answer.objects.filter(pk__in=keys).select_related(*own).order_by("pk")]


def ask(provider: Provider, answer: Answer) -> Question:
    asked = asked_of(answer)
    text = answer.response.text if answer.response_id else answer.completion.reply
    is_items = isinstance(asked, Prompt) and asked.kind == Prompt.Kind.RECOMMENDATION
    limit = (asked.items or 5) if is_items else 0
    options = "\n".join(f"{letter}. {words}" for letter, words in zip("ABCDEFGH", asked.choices, strict=False))
    words = ITEMS.format(limit=limit) if is_items else LETTER.format(options=options)
    body = provider.encode([{"role": "user", "content": f"{words}\n\nThe answer:\n{outer_text(text)}"}])
    return Question(answer.pk, "recommendation" if is_items else "choice", limit, tuple(asked.choices), body)


async def read_batch(endpoint: Endpoint, provider: Provider, questions: list[Question], given: Given) -> None:
    limiter, room = Limiter(endpoint), asyncio.Semaphore(endpoint.concurrency)

    async def one(question: Question) -> SecondOpinion | None:
        async with room:
            reply = await call(provider, limiter, question, given)
        return make_opinion(endpoint, question, reply, given) if reply else None

    try:
        opinions = [opinion for opinion in await asyncio.gather(*map(one, questions)) if opinion]
    finally:
        await limiter.close()
        await provider.close()
    await sync_to_async(SecondOpinion.objects.bulk_create)(opinions, ignore_conflicts=True)
    given.opinions += len(opinions)


async def call(provider: Provider, limiter: Limiter, question: Question, given: Given) -> Reply | None:
    """Ask until there is a reply, or no hope of one; what cannot succeed for any text stops the order."""
    tokens = len(question.body) // 4
    for attempt in range(ATTEMPTS):
        if given.stopped:
            return None
        await limiter.wait(tokens)
        try:
            return await provider.complete(question.body, f"opinion-{question.answer}-{attempt}")
        except CallFailed as failure:
            if failure.kind in STOPS_RUN:
                given.stopped = failure.reason
                return None
            if failure.kind == "refused":
                break
            await asyncio.sleep(failure.retry_after or 0.25 * 2**attempt)
    given.failed += 1
    return None


def make_opinion(endpoint: Endpoint, question: Question, reply: Reply, given: Given) -> SecondOpinion:
    """The reply read as any other one: by the rules, from its JSON or from what it says instead."""
    given.usd += price(endpoint, reply.prompt_tokens or 0, reply.completion_tokens or 0)
    letters = "ABCDEFGH"[: len(question.choices)]
    options: dict[str, Any] = {"limit": question.limit} if question.limit else {}
    said = read_answer(reply.text, question.kind, letters=letters, choices=question.choices, **options)
    return SecondOpinion(
        answer_id=question.answer, endpoint=endpoint, items=list(said.items), letter=said.letter, reply=reply.text
    )
