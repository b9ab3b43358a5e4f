"""Asks an endpoint for second opinions: paced, retried, batch by batch, within a budget.

This is no run: opinions are kept beside the answers and counted nowhere, so they need no plan and no books.
"""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from analysis.endpoints.endpoints import calling, cost_of, most_tokens, price
from analysis.endpoints.limits import LONGEST_PAUSE, Limiter
from analysis.endpoints.providers.calls import STOPS_RUN, CallFailed, Provider, Reply
from analysis.models import Endpoint

BATCH = 50
ATTEMPTS = 4


@dataclass(frozen=True)
class Ask:
    """One thing to ask: what it is about, its idempotency key, and its messages."""

    about: Any
    key: str
    messages: list[dict[str, str]]


class Exchange(NamedTuple):
    ask: Ask
    reply: Reply
    milliseconds: int


@dataclass
class Spent:
    """The outcome: replies, calls that failed for good, dollars, and why it stopped early."""

    replies: int = 0
    failed: int = 0
    usd: Decimal = Decimal(0)
    stopped: str = ""


def ask_all(
    endpoint: Endpoint,
    temperature: float,
    things: Sequence[Any],
    make: Callable[[Sequence[Any]], list[Ask]],
    store: Callable[[list[Exchange]], None],
    budget: Decimal | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Spent:
    """Ask about `things` in batches: `make` writes a batch's messages, `store` keeps its replies.

    A caller who leaves out what is stored asks about nothing twice. Stops before a batch that could exceed `budget`
    dollars if every reply had its full length. Raises EndpointError for a missing key.
    """
    spent = Spent()
    for begin in range(0, len(things), BATCH):
        batch = things[begin : begin + BATCH]
        asks = make(batch)
        if budget is not None and spent.usd + cost_at_most(endpoint, asks) > budget:
            spent.stopped = f"The next {len(batch)} could exceed the budget of {budget} dollars."
            break
        told = asyncio.run(ask_batch(endpoint, temperature, asks, spent))  # connections belong to one event loop
        store(told)
        progress(begin + len(batch), len(things))
        if spent.stopped:
            break
    return spent


def cost_at_most(endpoint: Endpoint, asks: Sequence[Ask]) -> Decimal:
    """The most that one try each can cost: a token has at least one byte, and a reply has its limit."""
    tokens = sum(len(json.dumps(ask.messages)) for ask in asks)
    return price(endpoint, tokens, most_tokens(endpoint) * len(asks))


async def ask_batch(endpoint: Endpoint, temperature: float, asks: list[Ask], spent: Spent) -> list[Exchange]:
    room = asyncio.Semaphore(endpoint.concurrency)
    async with calling(endpoint, temperature) as (provider, limiter):

        async def one(ask: Ask) -> Exchange | None:
            async with room:
                return await call(provider, limiter, ask, spent)

        told = [done for done in await asyncio.gather(*map(one, asks)) if done]
    spent.replies += len(told)
    spent.usd += sum((cost_of(endpoint, done.reply, estimate_tokens(done.ask)) for done in told), Decimal(0))
    return told


def estimate_tokens(ask: Ask) -> int:
    return len(json.dumps(ask.messages)) // 4


async def call(provider: Provider, limiter: Limiter, ask: Ask, spent: Spent) -> Exchange | None:
    """Ask until there is a reply, or no hope of one; a failure that would hit every call stops everything."""
    body = provider.encode(ask.messages)
    for attempt in range(ATTEMPTS):
        if spent.stopped:
            return None
        await limiter.wait(estimate_tokens(ask))
        began = time.monotonic()
        try:
            reply = await provider.complete(body, f"{ask.key}-{attempt}")
            return Exchange(ask, reply, round((time.monotonic() - began) * 1000))
        except CallFailed as failure:
            if failure.kind in STOPS_RUN:
                spent.stopped = failure.reason
                return None
            if failure.retry_after and failure.retry_after > LONGEST_PAUSE:
                spent.stopped = f"The provider asks to wait {failure.retry_after / 60:.0f} minutes: {failure.reason}"
                return None
            if failure.kind == "refused":
                break
            await asyncio.sleep(failure.retry_after or 0.25 * 2**attempt)
    spent.failed += 1
    return None
