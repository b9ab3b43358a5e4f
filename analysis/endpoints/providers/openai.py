"""The provider for every OpenAI-compatible address: OpenAI itself, Gemini's compatible one, vLLM, llama.cpp."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from importlib import import_module
from typing import Any

import aiohttp

from analysis.endpoints.providers.addresses import PublicResolver
from analysis.endpoints.providers.calls import CallFailed, Messages, Reply, Settings, clean_reason, storable
from surveys.reading.nesting import read_json

NO_KEY = "none"  # local servers ask for no key, the package insists on one
RETRIED = (408, 409, 425)
TOO_LARGE = "Request too large"  # as OpenAI says it: more tokens than a minute allows, so that it never passes
MOST_TOKENS = 2**31 - 1


def openai_package() -> Any:
    """Import `openai` only for files, batches or embeddings: it takes 0.5 s of processor time, too long for runs."""
    return import_module("openai")


class OpenAIProvider:
    """Completions that go straight through aiohttp, with the address and headers of the `openai` client.

    Building that package's request and reply objects costs 1 to 2 ms of CPU a call, three to six times the call
    itself; files and batches, which are few, go through the package, on the same session.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.headers = {"Authorization": f"Bearer {settings.key or NO_KEY}", "Content-Type": "application/json"}
        self.address = settings.base_url.removesuffix("/") + "/"
        self.session: aiohttp.ClientSession | None = None

    @cached_property
    def client(self) -> Any:
        """The package's client, for files and batches."""
        openai = openai_package()
        transport = import_module("openai._vendor.httpx_aiohttp.transport").AiohttpTransport(client=self.open_session)
        return openai.AsyncOpenAI(
            base_url=self.settings.base_url,
            api_key=self.settings.key or NO_KEY,
            max_retries=0,  # the lane retries: it knows the other lanes, the budget and the books
            timeout=self.settings.timeout,
            http_client=openai.DefaultAioHttpClient(follow_redirects=False, transport=transport),
        )

    def encode(self, messages: Messages, response_format: dict[str, Any] | None = None) -> bytes:
        body = {
            "model": self.settings.model,
            "messages": list(messages),
            "temperature": self.settings.temperature,
            "max_tokens": self.settings.max_tokens,
            "response_format": response_format,
            **self.settings.extra,
        }
        if body.get("max_completion_tokens") is not None:
            body["max_tokens"] = None
        elif body["max_tokens"] is None:  # no length at all would be more than any budget sets aside
            body["max_tokens"] = self.settings.max_tokens
        return json.dumps({name: value for name, value in body.items() if value is not None}).encode()

    async def complete(self, body: bytes, key: str) -> Reply:
        status, headers, content = await self.send("POST", "chat/completions", body, {"Idempotency-Key": key})
        return read_reply(self.read_document(status, headers, content), headers, self.settings.key)

    async def check(self) -> None:
        status, headers, content = await self.send("GET", "models")
        if status in (401, 403) or not looks_like_json(content):
            self.read_document(status, headers, content)

    async def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            async with self.open_session().request(
                method,
                self.address + path,
                data=body,
                headers={**self.headers, **(headers or {})},
                allow_redirects=False,  # an address that was checked must not lead to one that was not
            ) as response:
                return response.status, response.headers, await response.read()
        except TimeoutError:
            reason = f"No whole answer within {self.settings.timeout:g} seconds."
            raise CallFailed("timeout", reason, maybe_paid=True) from None
        except aiohttp.ClientConnectorError as error:
            raise CallFailed("connection", self.clean(f"{self.address} cannot be reached: {error}")) from None
        except aiohttp.ClientError as error:
            reason = f"The connection broke before the whole answer arrived: {type(error).__name__} {error}"
            raise CallFailed("connection", self.clean(reason), maybe_paid=True) from None

    def open_session(self) -> aiohttp.ClientSession:
        if self.session is None:
            self.session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, resolver=PublicResolver() if self.settings.public_only else None
                ),
                timeout=aiohttp.ClientTimeout(total=self.settings.timeout),
            )
        return self.session

    def read_document(self, status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
        if status != 200:
            raise self.read_failure(status, headers, content)
        if not looks_like_json(content):
            raise self.no_api(status, content)
        try:
            return read_json(content)
        except ValueError as error:
            reason = f"The answer is not whole JSON: {error}"
            raise CallFailed("bad-reply", self.clean(reason), maybe_paid=True) from None

    def read_failure(self, status: int, headers: Mapping[str, str], content: bytes) -> CallFailed:
        message, code = read_error(content)
        reason = self.clean(f"{status}: {message}")
        if status in (401, 403):
            return CallFailed("authentication", reason)
        if status == 402:
            return CallFailed("quota", reason)
        if status == 429 and message.startswith(TOO_LARGE):
            return CallFailed("refused", reason)
        if status == 429:
            kind = "quota" if code == "insufficient_quota" else "rate-limit"
            return CallFailed(kind, reason, retry_after=read_retry_after(headers))
        if status in RETRIED or status >= 500:
            return CallFailed("server", reason, retry_after=read_retry_after(headers))
        if status < 400 or not looks_like_json(content):
            return self.no_api(status, content)
        return CallFailed("refused", reason)

    def no_api(self, status: int, content: bytes) -> CallFailed:
        what = "a web page" if content.lstrip()[:1] == b"<" else "something that is not JSON"
        return CallFailed(
            "not-an-api",
            f"{self.address} answers {what} (status {status}), not an OpenAI-compatible API. "
            "Check the base URL; it usually ends in /v1.",
        )

    def clean(self, text: str) -> str:
        return clean_reason(text, self.settings.key)

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
        if "client" in self.__dict__:
            await self.client.close()
        await asyncio.sleep(0)  # lets the transports close before the loop does


def looks_like_json(content: bytes) -> bool:
    return content.lstrip()[:1] in (b"{", b"[")


def read_error(content: bytes) -> tuple[str, str]:
    """The message and code in an error's body, in whatever form it has."""
    try:
        document = read_json(content)
    except ValueError:
        return content[:200].decode(errors="replace") or "no reason given", ""
    if isinstance(document, list) and document:  # Gemini's compatible address wraps its errors in a list
        document = document[0]
    error = document.get("error", document) if isinstance(document, dict) else document
    if isinstance(error, dict):
        return str(error.get("message") or error), str(error.get("code") or error.get("type") or "")
    return str(error), ""


def read_reply(document: Any, headers: Mapping[str, str], key: str = "") -> Reply:
    choices = document.get("choices") if isinstance(document, dict) else None
    if not choices:
        error = document.get("error") if isinstance(document, dict) else None
        reason = f"The model returned no choices{f': {error}' if error else '.'}"
        raise CallFailed("no-choices", clean_reason(reason, key)[:300], maybe_paid=True)
    try:
        message, usage = choices[0]["message"], object_of(document.get("usage"))
        return Reply(
            text=storable(message.get("content") or message.get("refusal") or ""),
            finish_reason=storable(str(choices[0].get("finish_reason") or ""))[:30],
            model=storable(str(document.get("model") or ""))[:200],
            fingerprint=storable(str(document.get("system_fingerprint") or ""))[:200],
            request_id=storable(str(headers.get("x-request-id") or document.get("id") or ""))[:200],
            prompt_tokens=read_count(usage.get("prompt_tokens")),
            cached_tokens=read_count(object_of(usage.get("prompt_tokens_details")).get("cached_tokens")),
            completion_tokens=read_count(usage.get("completion_tokens")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        reason = f"The answer is not a chat completion: {type(error).__name__} {error}"
        raise CallFailed("bad-reply", clean_reason(reason, key), maybe_paid=True) from None


def object_of(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def read_count(given: Any) -> int | None:
    """A number of tokens; None for anything else, since a strange count must not cost the answer."""
    return int(given) if isinstance(given, (int, float)) and 0 <= given <= MOST_TOKENS else None


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from either form of the header; None if there is none."""
    milliseconds, value = headers.get("retry-after-ms"), headers.get("Retry-After")
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(value)) if value else None
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value or "") - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
