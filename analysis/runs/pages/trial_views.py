"""The button that tries an endpoint: one cheap call shows its speed, model and cost."""

import asyncio
import time
import uuid
from decimal import Decimal
from typing import NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from analysis.endpoints.endpoints import EndpointError, calling, cost_of
from analysis.endpoints.providers.calls import CallFailed, Reply
from analysis.models import Endpoint
from analysis.people.corpora.embeddings import EmbeddingError, endpoint_embedder
from surveys.studies import audit
from surveys.studies.access import Role, within_limit
from surveys.studies.pages import study_page
from surveys.studies.wording import dollars, plural

BUSY = "This was tried often within an hour. Try again later; each try costs something."
QUESTION = "Reply with one word: ready"
MOST_TOKENS = 16
SECONDS = 20.0  # somebody waits for the page
SHOWN = 60  # characters of the reply


class TrialCall(NamedTuple):
    words: str
    usd: Decimal | None  # None if unknown


@study_page(Role.RESEARCHER, require_POST)
def try_one(request: HttpRequest, name: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.shown_to(request.user, request.study), name=name)
    if not within_limit(request, "trial"):
        messages.error(request, BUSY)
    else:
        try:
            done = try_embeddings(endpoint) if endpoint.embeddings else try_endpoint(endpoint)
        except (EndpointError, EmbeddingError) as error:
            words, usd, tell = str(error), None, messages.error
        else:
            (words, usd), tell = done, messages.success
        tell(request, words)
        audit.record(request.study, request.user.get_username(), "endpoint tried", name, usd=usd, result=words)
    return redirect("baselines:endpoints", request.study.slug)


def try_endpoint(endpoint: Endpoint) -> TrialCall:
    """Ask it for one word, once. Raises EndpointError with what went wrong in a sentence."""
    try:
        reply, seconds = asyncio.run(_ask(endpoint))
    except CallFailed as failure:
        raise EndpointError(f"{endpoint.name} does not answer: {failure.reason}") from None
    except TimeoutError:
        raise EndpointError(
            f"{endpoint.name} has not answered within {SECONDS:g} seconds. It may be loading its model, or be busy."
        ) from None
    usd = cost_of(endpoint, reply, len(QUESTION) // 4)
    return TrialCall(say_reply(endpoint, reply, seconds, usd), usd)


async def _ask(endpoint: Endpoint) -> tuple[Reply, float]:
    async with calling(endpoint, 1.0, min(endpoint.max_tokens, MOST_TOKENS)) as (provider, limiter):
        async with asyncio.timeout(SECONDS):
            await limiter.wait(len(QUESTION) // 4 + MOST_TOKENS)
            began = time.monotonic()
            reply = await provider.complete(provider.encode([{"role": "user", "content": QUESTION}]), uuid.uuid4().hex)
            return reply, time.monotonic() - began


def say_reply(endpoint: Endpoint, reply: Reply, seconds: float, usd: Decimal) -> str:
    text = " ".join(reply.text.split())
    said = f"“{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}”" if text else "without text"
    model = f" as {reply.model}" if reply.model else ""
    tokens = f"{reply.prompt_tokens or 0:,} tokens in, {reply.completion_tokens or 0:,} out"
    waited = plural(round(seconds * 1000), "millisecond")
    return f"{endpoint.name} answered {said} in {waited}{model}: {tokens}, {dollars(usd)}."


def try_embeddings(endpoint: Endpoint) -> TrialCall:
    """Make one vector of a few words. Its tokens are not reported, so the cost is unknown, below a cent."""
    began = time.monotonic()
    vectors = endpoint_embedder(endpoint).embed([QUESTION])
    waited = plural(round((time.monotonic() - began) * 1000), "millisecond")
    return TrialCall(f"{endpoint.name} made a vector of {vectors.shape[1]} numbers in {waited}.", None)


urlpatterns = [
    path("console/<slug:slug>/baselines/endpoints/<slug:name>/try/", try_one, name="try-endpoint"),
]
