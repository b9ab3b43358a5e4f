"""What a provider is asked and what it gives back: a reply, or a failure that says what to do about it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Messages = Sequence[dict[str, str]]
LONGEST_REASON = 500

# What a failure means for its call and its run.
STOPS_RUN = ("authentication", "quota")  # nothing sent after it could succeed
FAILS_CALL = ("refused",)  # the same call would be refused again
MISLED = ("not-an-api", "no-choices")  # the address or model is wrong, unless other calls are answered


@dataclass(frozen=True)
class Settings:
    """How an endpoint is reached and what each of its requests carries."""

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    temperature: float = 1.0
    max_tokens: int = 1024
    extra: dict[str, Any] = field(default_factory=dict)
    timeout: float = 120.0
    public_only: bool = False  # no connection to an address inside our own network


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    finish_reason: str = ""
    model: str = ""
    fingerprint: str = ""
    request_id: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None


class CallFailed(Exception):
    """One attempt without an answer. `maybe_paid`: the provider may have answered, and charge for it."""

    def __init__(self, kind: str, reason: str, *, retry_after: float | None = None, maybe_paid: bool = False) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason
        self.retry_after, self.maybe_paid = retry_after, maybe_paid


class Provider(Protocol):
    def __init__(self, settings: Settings) -> None: ...

    def encode(self, messages: Messages, response_format: dict[str, Any] | None = None) -> bytes:
        """The body of a request; the same messages give the same bytes, so that prefixes can be cached."""

    async def complete(self, body: bytes, key: str) -> Reply:
        """Send the body once, under its idempotency key. Raises CallFailed."""

    async def check(self) -> None:
        """Ask something that costs nothing. Raises CallFailed if there is no such API, or no way in."""

    async def close(self) -> None: ...


def clean_reason(text: str, key: str) -> str:
    """One line without the key, however the other side repeats it."""
    if key:
        text = text.replace(key, "[key]")
    text = re.sub(r"(?i)(bearer\s+|\bsk-|\bAIza)[\w*.-]{6,}", r"\1[key]", text)
    return " ".join(storable(text).split())[:LONGEST_REASON]


def storable(text: str) -> str:
    """The text as PostgreSQL can hold it: without NUL, and with question marks for the lone surrogates of JSON."""
    return text.replace("\0", "").encode(errors="replace").decode()
