"""The provider that ships with the product: scripted answers without a network, marked as simulated."""

import asyncio
import json
from random import Random
from typing import Any

from analysis.endpoints.providers.calls import CallFailed, Messages, Reply, Settings
from analysis.endpoints.providers.lifelike import lifelike_reply, lifelike_wait
from analysis.endpoints.providers.scripts import scripted_reply

FAULTS = {
    "rate-limit": lambda: CallFailed("rate-limit", "429: Slow down.", retry_after=0.05),
    "server": lambda: CallFailed("server", "500: The script says so."),
    "timeout": lambda: CallFailed("timeout", "No whole answer in time.", maybe_paid=True),
    "refused": lambda: CallFailed("refused", "400: The script says so."),
    "authentication": lambda: CallFailed("authentication", "401: The script says so."),
}


class FakeProvider:
    """`extra` of its endpoint may hold `latency_ms`, `faults` ({kind: share}), `reply`, and `script`: "lifelike"."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.attempts: dict[str, int] = {}

    def encode(self, messages: Messages, response_format: dict[str, Any] | None = None) -> bytes:
        return json.dumps({"messages": list(messages)}).encode()

    async def complete(self, body: bytes, key: str) -> Reply:
        extra, messages = self.settings.extra, json.loads(body)["messages"]
        is_lifelike, wait = extra.get("script") == "lifelike", extra.get("latency_ms", 0)
        await asyncio.sleep((lifelike_wait(messages, key, wait) if is_lifelike else wait) / 1000)
        self.attempts[key] = self.attempts.get(key, 0) + 1
        share, dice = 0.0, Random(f"{key} {self.attempts[key]}").random()
        for kind, part in extra.get("faults", {}).items():
            share += part
            if dice < share:
                raise FAULTS[kind]()
        script = lifelike_reply(messages, key, self.settings) if is_lifelike else scripted_reply(messages, key)
        text = extra.get("reply") or script
        return Reply(
            text=text,
            finish_reason="stop",
            model=self.settings.model,
            fingerprint="scripted",
            request_id=key,
            prompt_tokens=sum(len(message["content"]) for message in messages) // 4 + 1,
            cached_tokens=0,
            completion_tokens=len(text) // 4 + 1,
        )

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        return None
