"""Endpoints: making one, finding its key, and refusing addresses that a server must not call."""

import asyncio
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from analysis.endpoints.limits import Limiter
from analysis.endpoints.providers.addresses import is_private
from analysis.endpoints.providers.calls import CallFailed, Provider, Reply, Settings
from analysis.endpoints.providers.openai import OpenAIProvider
from analysis.endpoints.providers.scripted import FakeProvider
from analysis.models import Endpoint

PROVIDERS: dict[str, type[Provider]] = {"openai": OpenAIProvider, "fake": FakeProvider}
MILLION = Decimal(1_000_000)
NAME = re.compile(r"[-a-zA-Z0-9_]{1,50}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
LOCAL_NAMES = ("localhost", "metadata.google.internal", "metadata")
LIMITS = ("requests_per_minute", "tokens_per_minute", "concurrency", "context_window", "max_tokens")
OWN_FIELDS = ("model", "messages", "stream", "n")
LENGTHS = ("max_completion_tokens", "max_tokens")  # of a reply, as an endpoint's own fields name it
CALL_SECONDS = 120


class EndpointError(Exception):
    """An endpoint that cannot be used as it is; the message says what to do."""


def add_endpoint(name: str, **fields: Any) -> Endpoint:
    """Make an endpoint, or change one unless runs have used another model, address or provider under its name."""
    endpoint = Endpoint.objects.filter(name=name).first() or Endpoint(name=name)
    before = asked_of(endpoint)
    for field, value in fields.items():
        setattr(endpoint, field, value)
    check_fields(endpoint)
    if endpoint.pk and before != asked_of(endpoint) and endpoint.runs.exists():
        provider, address, model = before
        raise EndpointError(
            f"{name} has runs with {model} at {address or 'no address'} (provider {provider}), which would be "
            "mixed with the new one. Choose another name."
        )
    endpoint.save()
    return endpoint


def asked_of(endpoint: Endpoint) -> tuple[str, str, str]:
    """Provider, address and model, which all runs under one name have in common."""
    return str(endpoint.provider), endpoint.base_url, endpoint.model


def check_fields(endpoint: Endpoint) -> None:
    if not NAME.fullmatch(endpoint.name):
        raise EndpointError(f"{endpoint.name!r} is not a valid name: use up to 50 letters, digits, - and _.")
    if not endpoint.model.strip() or len(endpoint.model) > 200:
        raise EndpointError("Say which model to ask, in at most 200 characters.")
    if endpoint.key_env and not VARIABLE.fullmatch(endpoint.key_env):
        raise EndpointError(
            "Give the name of an environment variable, such as OPENAI_API_KEY, not the key itself (--key-env VAR)."
        )
    for field in LIMITS:
        value = getattr(endpoint, field)
        if value is not None and not 0 < value < 2**31:
            raise EndpointError(f"{field.replace('_', ' ')} is {value}; it must be above 0.")
    for field in ("price_in", "price_out"):
        price = getattr(endpoint, field)
        if not Decimal(price).is_finite() or not 0 <= price < 1_000_000:
            raise EndpointError(f"{field.replace('_', ' ')} is {price}; it must be dollars per million tokens.")
    taken = sorted(set(OWN_FIELDS) & set(endpoint.extra))
    if taken:
        raise EndpointError(f"extra may not set {', '.join(taken)}: the run does.")
    for field in LENGTHS:
        most = endpoint.extra.get(field)
        if most is not None and not is_length(most):
            raise EndpointError(f"{field} is {most!r} in extra; it must be a whole number above 0.")
    if endpoint.provider == Endpoint.Provider.OPENAI:
        check_address(endpoint.base_url)


def is_length(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def check_address(url: str) -> None:
    """Raise EndpointError for anything but a base URL, and in production for an address inside our own network."""
    try:
        host, port = host_of(url)
    except ValueError:
        raise EndpointError(f"{url!r} is not a base URL. It looks like https://api.openai.com/v1.") from None
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError("The base URL may hold no user, password or query: keys belong in --key-env.")
    if not settings.ALLOW_PRIVATE_ENDPOINTS:
        refuse_private(host, port)


def host_of(url: str) -> tuple[str, int]:
    """Host and port of a web address. Raises ValueError if it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(url)
    return parts.hostname, parts.port or 443


def refuse_private(host: str, port: int) -> None:
    """Raise EndpointError if the name is or leads to an address inside our own network."""
    if host in LOCAL_NAMES or any(is_private(address) for address in addresses_of(host, port)):
        raise EndpointError(
            f"{host} is a private, loopback or metadata address, which is refused in production. Set "
            "ALLOW_PRIVATE_ENDPOINTS=true if it really runs there."
        )


def addresses_of(host: str, port: int) -> set[str]:
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)}
    except (OSError, UnicodeError) as error:
        raise EndpointError(f"{host} cannot be found ({error}). Check the base URL.") from None


def find_endpoint(name: str) -> Endpoint:
    endpoint = Endpoint.objects.filter(name=name).first()
    if endpoint is None:
        known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
        raise EndpointError(f"There is no endpoint {name!r} ({known}). Make it with add_endpoint.")
    return endpoint


def find_key(endpoint: Endpoint) -> str:
    """The key, from the variable that the endpoint names; kept in memory only as long as a lane runs."""
    if not endpoint.key_env:
        return ""
    key = os.environ.get(endpoint.key_env, "").strip()
    if not key:
        raise EndpointError(
            f"{endpoint.key_env}, the environment variable with the key of {endpoint.name}, is not set here. "
            "Set it where this runs (for workers: in their environment) and start again."
        )
    if not key.isascii() or not key.isprintable():
        raise EndpointError(f"{endpoint.key_env} holds characters that a key cannot have. Set it again.")
    return key


def open_provider(endpoint: Endpoint, temperature: float, max_tokens: int | None = None) -> Provider:
    """Make a provider with the key; the address is checked again, and where its name leads at each connection."""
    if endpoint.provider == Endpoint.Provider.OPENAI:
        check_address(endpoint.base_url)
    return PROVIDERS[endpoint.provider](
        Settings(
            base_url=endpoint.base_url,
            model=endpoint.model,
            key=find_key(endpoint),
            temperature=temperature,
            max_tokens=endpoint.max_tokens if max_tokens is None else max_tokens,
            extra=endpoint.extra,
            public_only=not settings.ALLOW_PRIVATE_ENDPOINTS,
            timeout=getattr(settings, "CALL_SECONDS", CALL_SECONDS),
        )
    )


@asynccontextmanager
async def calling(
    endpoint: Endpoint, temperature: float, max_tokens: int | None = None
) -> AsyncIterator[tuple[Provider, Limiter]]:
    """The provider, and the limits that all lanes of the endpoint share; both are closed at the end."""
    provider, limiter = open_provider(endpoint, temperature, max_tokens), Limiter(endpoint)
    try:
        yield provider, limiter
    finally:
        await limiter.close()
        await provider.close()


def check_endpoint(endpoint: Endpoint, temperature: float) -> None:
    """Check, before anything is written, that the key is there and an API answers; listing its models is free."""

    async def check() -> None:
        async with calling(endpoint, temperature) as (provider, _):
            await provider.check()

    try:
        asyncio.run(check())
    except CallFailed as failure:
        raise EndpointError(f"{endpoint.name}: {failure.reason}") from None


def most_tokens(endpoint: Endpoint, asked: int | None = None) -> int:
    """Most tokens of a reply: as `asked`, at most the endpoint's limit, unless its own fields overrule both."""
    limits = [endpoint.extra[name] for name in LENGTHS if is_length(endpoint.extra.get(name))]
    return limits[0] if limits else min(endpoint.max_tokens, asked or endpoint.max_tokens)


def price(endpoint: Endpoint, prompt_tokens: int, completion_tokens: int, factor: Decimal = Decimal(1)) -> Decimal:
    """Dollars for this many tokens, to eight places."""
    dollars = endpoint.price_in * prompt_tokens + endpoint.price_out * completion_tokens
    return (dollars * factor / MILLION).quantize(Decimal("1e-8"))


def cost_of(endpoint: Endpoint, reply: Reply, planned_tokens: int, factor: Decimal = Decimal(1)) -> Decimal:
    """Dollars for a reply, by the provider's token counts or, if it gives none, or 0 for a text, by ours."""
    uncounted = len(reply.text) // 4 + 1 if reply.text or reply.completion_tokens is None else 0
    asked, written = reply.prompt_tokens or planned_tokens, reply.completion_tokens or uncounted
    return price(endpoint, asked, written, factor)
